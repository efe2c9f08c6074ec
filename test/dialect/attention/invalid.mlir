// RUN: hova-opt %s --split-input-file --verify-diagnostics
// SPDX-License-Identifier: Apache-2.0

func.func @attention_c1_operands_share_batch(%q: tensor<2x9x64xf32>, %k: tensor<1x7x64xf32>, %v: tensor<1x7x96xf32>) {
  // expected-error@+1 {{'hova.attention' op expects query [batch, q_len, width], key and value [batch, kv_len, width], got 2x9x64, 1x7x64 and 1x7x96}}
  %r = hova.attention %q, %k, %v {heads = 4 : i64}
      : (tensor<2x9x64xf32>, tensor<1x7x64xf32>, tensor<1x7x96xf32>) -> tensor<2x9x96xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all
  }
  return
}

// -----

func.func @attention_c1_key_and_value_share_length(%q: tensor<1x9x64xf32>, %k: tensor<1x7x64xf32>, %v: tensor<1x8x96xf32>) {
  // expected-error@+1 {{'hova.attention' op expects query [batch, q_len, width]}}
  %r = hova.attention %q, %k, %v {heads = 4 : i64}
      : (tensor<1x9x64xf32>, tensor<1x7x64xf32>, tensor<1x8x96xf32>) -> tensor<1x9x96xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all
  }
  return
}

// -----

func.func @attention_c2_heads_divide_widths(%q: tensor<1x9x64xf32>, %k: tensor<1x7x64xf32>, %v: tensor<1x7x98xf32>) {
  // expected-error@+1 {{'hova.attention' op expects 4 heads and 4 of keys and values, which divide them and the widths, got 64, 64 and 98}}
  %r = hova.attention %q, %k, %v {heads = 4 : i64}
      : (tensor<1x9x64xf32>, tensor<1x7x64xf32>, tensor<1x7x98xf32>) -> tensor<1x9x98xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all
  }
  return
}

// -----

func.func @attention_c3_query_and_key_share_width(%q: tensor<1x9x64xf32>, %k: tensor<1x7x32xf32>, %v: tensor<1x7x96xf32>) {
  // expected-error@+1 {{'hova.attention' op expects heads of query and key to share their width, got 16 and 8}}
  %r = hova.attention %q, %k, %v {heads = 4 : i64}
      : (tensor<1x9x64xf32>, tensor<1x7x32xf32>, tensor<1x7x96xf32>) -> tensor<1x9x96xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all
  }
  return
}

// -----

func.func @attention_c4_result_has_value_width(%q: tensor<1x9x64xf32>, %k: tensor<1x7x64xf32>, %v: tensor<1x7x96xf32>) {
  // expected-error@+1 {{'hova.attention' op expects a result of shape 1x9x96, got 1x9x64}}
  %r = hova.attention %q, %k, %v {heads = 4 : i64}
      : (tensor<1x9x64xf32>, tensor<1x7x64xf32>, tensor<1x7x96xf32>) -> tensor<1x9x64xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all
  }
  return
}

// -----

func.func @attention_c5_additive_has_a_score_vector(%q: tensor<1x9x64xf32>, %k: tensor<1x7x64xf32>, %v: tensor<1x7x96xf32>) {
  // expected-error@+1 {{'hova.attention' op expects score_vector exactly where the similarity has a vector, with one element per column of the query}}
  %r = hova.attention %q, %k, %v similarity(#hova.additive) {heads = 4 : i64}
      : (tensor<1x9x64xf32>, tensor<1x7x64xf32>, tensor<1x7x96xf32>) -> tensor<1x9x96xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all
  }
  return
}

// -----

func.func @attention_c5_products_have_none(%q: tensor<1x9x64xf32>, %k: tensor<1x7x64xf32>, %v: tensor<1x7x96xf32>, %w: tensor<64xf32>) {
  // expected-error@+1 {{'hova.attention' op expects score_vector exactly where the similarity has a vector, with one element per column of the query}}
  %r = hova.attention %q, %k, %v score_vector(%w) {heads = 4 : i64}
      : (tensor<1x9x64xf32>, tensor<1x7x64xf32>, tensor<1x7x96xf32>, tensor<64xf32>) -> tensor<1x9x96xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all
  }
  return
}

// -----

func.func @attention_c5_score_vector_has_the_columns_of_the_query(%q: tensor<1x9x64xf32>, %k: tensor<1x7x64xf32>, %v: tensor<1x7x96xf32>, %w: tensor<96xf32>) {
  // expected-error@+1 {{'hova.attention' op expects score_vector exactly where the similarity has a vector, with one element per column of the query}}
  %r = hova.attention %q, %k, %v similarity(#hova.additive) score_vector(%w) {heads = 4 : i64}
      : (tensor<1x9x64xf32>, tensor<1x7x64xf32>, tensor<1x7x96xf32>, tensor<96xf32>) -> tensor<1x9x96xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all
  }
  return
}

// -----

func.func @attention_c6_scores_have_four_indices(%q: tensor<1x9x64xf32>, %k: tensor<1x7x64xf32>, %v: tensor<1x7x96xf32>) {
  // expected-error@+1 {{'hova.attention' op expects scores of a raw score, four indices and the captured tensors, which end with 'hova.score_yield'}}
  %r = hova.attention %q, %k, %v {heads = 4 : i64}
      : (tensor<1x9x64xf32>, tensor<1x7x64xf32>, tensor<1x7x96xf32>) -> tensor<1x9x96xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all
  }
  return
}

// -----

func.func @attention_c6_scores_are_of_f32(%q: tensor<1x9x64xf32>, %k: tensor<1x7x64xf32>, %v: tensor<1x7x96xf32>) {
  // expected-error@+1 {{'hova.attention' op expects scores of a raw score, four indices and the captured tensors, which end with 'hova.score_yield'}}
  %r = hova.attention %q, %k, %v {heads = 4 : i64}
      : (tensor<1x9x64xf32>, tensor<1x7x64xf32>, tensor<1x7x96xf32>) -> tensor<1x9x96xf32> scores {
  ^bb0(%raw: f64, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    %zero = hova.number 0.0
    hova.score_yield %zero kept %all
  }
  return
}

// -----

func.func @attention_c6_captured_tensors_are_arguments(%q: tensor<1x9x64xf32>, %k: tensor<1x7x64xf32>, %v: tensor<1x7x96xf32>, %valid: tensor<1x7xi1>) {
  // expected-error@+1 {{'hova.attention' op expects scores of a raw score, four indices and the captured tensors, which end with 'hova.score_yield'}}
  %r = hova.attention %q, %k, %v captured(%valid) {heads = 4 : i64}
      : (tensor<1x9x64xf32>, tensor<1x7x64xf32>, tensor<1x7x96xf32>, tensor<1x7xi1>) -> tensor<1x9x96xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all
  }
  return
}

// -----

func.func @attention_c6_arguments_have_the_types_of_captured_tensors(%q: tensor<1x9x64xf32>, %k: tensor<1x7x64xf32>, %v: tensor<1x7x96xf32>, %valid: tensor<1x7xi1>) {
  // expected-error@+1 {{'hova.attention' op expects scores of a raw score, four indices and the captured tensors, which end with 'hova.score_yield'}}
  %r = hova.attention %q, %k, %v captured(%valid) {heads = 4 : i64}
      : (tensor<1x9x64xf32>, tensor<1x7x64xf32>, tensor<1x7x96xf32>, tensor<1x7xi1>) -> tensor<1x9x96xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index, %not_padding: tensor<1x8xi1>):
    %kept = hova.element %not_padding[%batch, %key] : tensor<1x8xi1>
    hova.score_yield %raw kept %kept
  }
  return
}

// -----

func.func @attention_c6_scores_end_with_a_yield(%q: tensor<1x9x64xf32>, %k: tensor<1x7x64xf32>, %v: tensor<1x7x96xf32>) {
  // expected-error@+1 {{'hova.attention' op expects scores of a raw score, four indices and the captured tensors, which end with 'hova.score_yield'}}
  %r = hova.attention %q, %k, %v {heads = 4 : i64}
      : (tensor<1x9x64xf32>, tensor<1x7x64xf32>, tensor<1x7x96xf32>) -> tensor<1x9x96xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    llvm.unreachable
  }
  return
}

// -----

func.func @attention_c7_operations_have_a_meaning(%q: tensor<1x9x64xf32>, %k: tensor<1x7x64xf32>, %v: tensor<1x7x96xf32>) {
  %r = hova.attention %q, %k, %v {heads = 4 : i64}
      : (tensor<1x9x64xf32>, tensor<1x7x64xf32>, tensor<1x7x96xf32>) -> tensor<1x9x96xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    // expected-error@+1 {{'math.sin' op has no meaning among the scores of an attention: these are scalars of arith and math and elements of captured tensors}}
    %sine = math.sin %raw : f32
    %all = arith.constant true
    hova.score_yield %sine kept %all
  }
  return
}

// -----

func.func @attention_c7_operations_are_of_scalars(%q: tensor<1x9x64xf32>, %k: tensor<1x7x64xf32>, %v: tensor<1x7x96xf32>) {
  %r = hova.attention %q, %k, %v {heads = 4 : i64}
      : (tensor<1x9x64xf32>, tensor<1x7x64xf32>, tensor<1x7x96xf32>) -> tensor<1x9x96xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    // expected-error@+1 {{'arith.constant' op has no meaning among the scores of an attention: these are scalars of arith and math and elements of captured tensors}}
    %unread = arith.constant dense<0.0> : vector<4xf32>
    %all = arith.constant true
    hova.score_yield %raw kept %all
  }
  return
}

// -----

func.func @attention_c7_numbers_are_of_f32(%q: tensor<1x9x64xf32>, %k: tensor<1x7x64xf32>, %v: tensor<1x7x96xf32>) {
  %r = hova.attention %q, %k, %v {heads = 4 : i64}
      : (tensor<1x9x64xf32>, tensor<1x7x64xf32>, tensor<1x7x96xf32>) -> tensor<1x9x96xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    // expected-error@+1 {{'arith.constant' op has no meaning among the scores of an attention: these are scalars of arith and math and elements of captured tensors}}
    %unread = arith.constant 0.5 : f64
    %all = arith.constant true
    hova.score_yield %raw kept %all
  }
  return
}

// -----

func.func @attention_c7_elements_are_of_captured_tensors(%q: tensor<1x9x64xf32>, %k: tensor<1x7x64xf32>, %v: tensor<1x7x96xf32>) {
  %r = hova.attention %q, %k, %v {heads = 4 : i64}
      : (tensor<1x9x64xf32>, tensor<1x7x64xf32>, tensor<1x7x96xf32>) -> tensor<1x9x96xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    // expected-error@+1 {{'hova.weight' op has no meaning among the scores of an attention: these are scalars of arith and math and elements of captured tensors}}
    %slopes = hova.weight "slopes" : tensor<4xf32>
    %slope = hova.element %slopes[%head] : tensor<4xf32>
    %score = arith.mulf %raw, %slope : f32
    %all = arith.constant true
    hova.score_yield %score kept %all
  }
  return
}

// -----

func.func @attention_c7_elements_are_of_f32(%q: tensor<1x9x64xf32>, %k: tensor<1x7x64xf32>, %v: tensor<1x7x96xf32>, %b: tensor<4xbf16>) {
  %r = hova.attention %q, %k, %v captured(%b) {heads = 4 : i64}
      : (tensor<1x9x64xf32>, tensor<1x7x64xf32>, tensor<1x7x96xf32>, tensor<4xbf16>) -> tensor<1x9x96xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index, %slopes: tensor<4xbf16>):
    // expected-error@+1 {{'hova.element' op has no meaning among the scores of an attention: these are scalars of arith and math and elements of captured tensors}}
    %slope = hova.element %slopes[%head] : tensor<4xbf16>
    %all = arith.constant true
    hova.score_yield %raw kept %all
  }
  return
}

// -----

func.func @attention_c8_divisors_are_constants(%q: tensor<1x9x64xf32>, %k: tensor<1x7x64xf32>, %v: tensor<1x7x96xf32>) {
  %r = hova.attention %q, %k, %v {heads = 4 : i64}
      : (tensor<1x9x64xf32>, tensor<1x7x64xf32>, tensor<1x7x96xf32>) -> tensor<1x9x96xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    // expected-error@+1 {{'arith.floordivsi' op among scores expects a positive constant divisor}}
    %block = arith.floordivsi %key, %query : index
    %kept = arith.cmpi eq, %block, %head : index
    hova.score_yield %raw kept %kept
  }
  return
}

// -----

func.func @attention_c8_divisors_are_positive(%q: tensor<1x9x64xf32>, %k: tensor<1x7x64xf32>, %v: tensor<1x7x96xf32>) {
  %r = hova.attention %q, %k, %v {heads = 4 : i64}
      : (tensor<1x9x64xf32>, tensor<1x7x64xf32>, tensor<1x7x96xf32>) -> tensor<1x9x96xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %zero = arith.constant 0 : index
    // expected-error@+1 {{'arith.remsi' op among scores expects a positive constant divisor}}
    %rest = arith.remsi %key, %zero : index
    %kept = arith.cmpi eq, %rest, %zero : index
    hova.score_yield %raw kept %kept
  }
  return
}

// -----

func.func @attention_c9_a_score_for_each_pair(%q: tensor<2x9x64xf32>) {
  // expected-error@+1 {{'hova.attention' op expects scores 2x4x9x9 of f32, got 'tensor<2x4x9x8xf32>'}}
  %r:2 = hova.attention %q, %q, %q {heads = 4 : i64}
      : (tensor<2x9x64xf32>, tensor<2x9x64xf32>, tensor<2x9x64xf32>) -> (tensor<2x9x64xf32>, tensor<2x4x9x8xf32>) scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all carried %raw
  }
  return
}

// -----

func.func @attention_c9_scores_are_exact(%q: tensor<2x9x64xf32>) {
  // expected-error@+1 {{'hova.attention' op expects scores 2x4x9x9 of f32, got 'tensor<2x4x9x9xbf16>'}}
  %r:2 = hova.attention %q, %q, %q {heads = 4 : i64}
      : (tensor<2x9x64xf32>, tensor<2x9x64xf32>, tensor<2x9x64xf32>) -> (tensor<2x9x64xf32>, tensor<2x4x9x9xbf16>) scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all carried %raw
  }
  return
}

// -----

func.func @attention_c9_scores_are_carried(%q: tensor<2x9x64xf32>) {
  // expected-error@+1 {{'hova.attention' op expects a carried score exactly where it gives scores}}
  %r:2 = hova.attention %q, %q, %q {heads = 4 : i64}
      : (tensor<2x9x64xf32>, tensor<2x9x64xf32>, tensor<2x9x64xf32>) -> (tensor<2x9x64xf32>, tensor<2x4x9x9xf32>) scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all
  }
  return
}

// -----

func.func @attention_c9_nothing_is_carried_without_scores(%q: tensor<1x9x64xf32>, %k: tensor<1x7x64xf32>, %v: tensor<1x7x96xf32>) {
  // expected-error@+1 {{'hova.attention' op expects a carried score exactly where it gives scores}}
  %r = hova.attention %q, %k, %v {heads = 4 : i64}
      : (tensor<1x9x64xf32>, tensor<1x7x64xf32>, tensor<1x7x96xf32>) -> tensor<1x9x96xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all carried %raw
  }
  return
}

// -----

func.func @attention_c10_slots_have_the_widths(%q: tensor<2x9x64xf32>, %k: tensor<5x32xf32>, %v: tensor<5x64xf32>) {
  // expected-error@+1 {{'hova.attention' op expects memory_key and memory_value [slots, width] with the widths of key and value, got 5x32 and 5x64}}
  %o = hova.attention %q, %q, %q memory(%k, %v) {heads = 4 : i64}
      : (tensor<2x9x64xf32>, tensor<2x9x64xf32>, tensor<2x9x64xf32>, tensor<5x32xf32>, tensor<5x64xf32>) -> tensor<2x9x64xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all
  }
  return
}

// -----

func.func @attention_c10_as_many_keys_as_values(%q: tensor<2x9x64xf32>, %k: tensor<5x64xf32>, %v: tensor<4x64xf32>) {
  // expected-error@+1 {{'hova.attention' op expects memory_key and memory_value [slots, width] with the widths of key and value, got 5x64 and 4x64}}
  %o = hova.attention %q, %q, %q memory(%k, %v) {heads = 4 : i64}
      : (tensor<2x9x64xf32>, tensor<2x9x64xf32>, tensor<2x9x64xf32>, tensor<5x64xf32>, tensor<4x64xf32>) -> tensor<2x9x64xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all
  }
  return
}

// -----

func.func @attention_c10_has_a_slot(%q: tensor<2x9x64xf32>, %k: tensor<0x64xf32>, %v: tensor<0x64xf32>) {
  // expected-error@+1 {{'hova.attention' op expects memory_key and memory_value [slots, width] with the widths of key and value, got 0x64 and 0x64}}
  %o = hova.attention %q, %q, %q memory(%k, %v) {heads = 4 : i64}
      : (tensor<2x9x64xf32>, tensor<2x9x64xf32>, tensor<2x9x64xf32>, tensor<0x64xf32>, tensor<0x64xf32>) -> tensor<2x9x64xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all
  }
  return
}

// -----

func.func @attention_c11_mean_needs_a_softmax(%q: tensor<1x9x64xf32>, %k: tensor<1x7x64xf32>) {
  // expected-error@+1 {{'hova.attention' op expects empty_row zero without a softmax: the weights of a row without kept keys are 0}}
  %r = hova.attention %q, %k, %k {heads = 4 : i64, normalization = #hova<normalization sum>, empty_row = #hova<empty_row uniform>}
      : (tensor<1x9x64xf32>, tensor<1x7x64xf32>, tensor<1x7x64xf32>) -> tensor<1x9x64xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all
  }
  return
}
