// RUN: hova-opt %s --split-input-file --verify-diagnostics
// SPDX-License-Identifier: Apache-2.0

func.func @linear_attention_c1_operands_share_batch(%q: tensor<2x9x8xf32>, %k: tensor<1x7x8xf32>, %v: tensor<1x7x6xf32>, %w: tensor<4x10xf32>) {
  // expected-error@+1 {{'hova.linear_attention' op expects query [batch, q_len, width], key and value [batch, kv_len, width], got 2x9x8, 1x7x8 and 1x7x6}}
  %r = hova.linear_attention softmax %q, %k, %v features(%w) {heads = 2 : i64} : (tensor<2x9x8xf32>, tensor<1x7x8xf32>, tensor<1x7x6xf32>, tensor<4x10xf32>) -> tensor<2x9x6xf32>
  return
}

// -----

func.func @linear_attention_c1_key_and_value_share_length(%q: tensor<1x9x8xf32>, %k: tensor<1x7x8xf32>, %v: tensor<1x6x6xf32>, %w: tensor<4x10xf32>) {
  // expected-error@+1 {{'hova.linear_attention' op expects query [batch, q_len, width]}}
  %r = hova.linear_attention softmax %q, %k, %v features(%w) {heads = 2 : i64} : (tensor<1x9x8xf32>, tensor<1x7x8xf32>, tensor<1x6x6xf32>, tensor<4x10xf32>) -> tensor<1x9x6xf32>
  return
}

// -----

func.func @linear_attention_c2_heads_divide_widths(%q: tensor<1x9x8xf32>, %k: tensor<1x7x8xf32>, %v: tensor<1x7x7xf32>, %w: tensor<4x10xf32>) {
  // expected-error@+1 {{'hova.linear_attention' op expects 2 heads and 2 of keys and values, which divide them and the widths, got 8, 8 and 7}}
  %r = hova.linear_attention softmax %q, %k, %v features(%w) {heads = 2 : i64} : (tensor<1x9x8xf32>, tensor<1x7x8xf32>, tensor<1x7x7xf32>, tensor<4x10xf32>) -> tensor<1x9x7xf32>
  return
}

// -----

func.func @linear_attention_c2_heads_of_keys_divide_heads(%q: tensor<1x9x8xf32>, %k: tensor<1x7x12xf32>, %v: tensor<1x7x6xf32>, %w: tensor<4x10xf32>) {
  // expected-error@+1 {{'hova.linear_attention' op expects 2 heads and 3 of keys and values, which divide them and the widths, got 8, 12 and 6}}
  %r = hova.linear_attention softmax %q, %k, %v features(%w) {heads = 2 : i64, key_value_heads = 3 : i64} : (tensor<1x9x8xf32>, tensor<1x7x12xf32>, tensor<1x7x6xf32>, tensor<4x10xf32>) -> tensor<1x9x4xf32>
  return
}

// -----

func.func @linear_attention_c2_query_and_key_share_width(%q: tensor<1x9x8xf32>, %k: tensor<1x7x10xf32>, %v: tensor<1x7x6xf32>, %w: tensor<4x10xf32>) {
  // expected-error@+1 {{'hova.linear_attention' op expects heads of query and key to share their width, got 4 and 5}}
  %r = hova.linear_attention softmax %q, %k, %v features(%w) {heads = 2 : i64} : (tensor<1x9x8xf32>, tensor<1x7x10xf32>, tensor<1x7x6xf32>, tensor<4x10xf32>) -> tensor<1x9x6xf32>
  return
}

// -----

func.func @linear_attention_c3_features_have_a_row_per_column(%q: tensor<1x9x8xf32>, %k: tensor<1x7x8xf32>, %v: tensor<1x7x6xf32>, %w: tensor<10x4xf32>) {
  // expected-error@+1 {{'hova.linear_attention' op expects features of shape 4x?, got 10x4}}
  %r = hova.linear_attention softmax %q, %k, %v features(%w) {heads = 2 : i64} : (tensor<1x9x8xf32>, tensor<1x7x8xf32>, tensor<1x7x6xf32>, tensor<10x4xf32>) -> tensor<1x9x6xf32>
  return
}

// -----

func.func @linear_attention_c3_softmax_has_features(%q: tensor<1x9x8xf32>, %k: tensor<1x7x8xf32>, %v: tensor<1x7x6xf32>) {
  // expected-error@+1 {{'hova.linear_attention' op expects features, which only relu does without}}
  %r = hova.linear_attention softmax %q, %k, %v {heads = 2 : i64} : (tensor<1x9x8xf32>, tensor<1x7x8xf32>, tensor<1x7x6xf32>) -> tensor<1x9x6xf32>
  return
}

// -----

func.func @linear_attention_c4_key_valid_is_of_keys(%q: tensor<1x9x8xf32>, %k: tensor<1x7x8xf32>, %v: tensor<1x7x6xf32>, %w: tensor<4x10xf32>, %valid: tensor<1x9xi1>) {
  // expected-error@+1 {{'hova.linear_attention' op expects key_valid of shape 1x7, got 1x9}}
  %r = hova.linear_attention softmax %q, %k, %v features(%w) key_valid(%valid) {heads = 2 : i64} : (tensor<1x9x8xf32>, tensor<1x7x8xf32>, tensor<1x7x6xf32>, tensor<4x10xf32>, tensor<1x9xi1>) -> tensor<1x9x6xf32>
  return
}

// -----

func.func @linear_attention_c5_result_has_value_width(%q: tensor<1x9x8xf32>, %k: tensor<1x7x8xf32>, %v: tensor<1x7x6xf32>, %w: tensor<4x10xf32>) {
  // expected-error@+1 {{'hova.linear_attention' op expects a result of shape 1x9x6, got 1x9x8}}
  %r = hova.linear_attention softmax %q, %k, %v features(%w) {heads = 2 : i64} : (tensor<1x9x8xf32>, tensor<1x7x8xf32>, tensor<1x7x6xf32>, tensor<4x10xf32>) -> tensor<1x9x8xf32>
  return
}

// -----

func.func @linear_attention_c6_causal_has_as_many_queries(%q: tensor<1x9x8xf32>, %k: tensor<1x7x8xf32>, %v: tensor<1x7x6xf32>, %w: tensor<4x10xf32>) {
  // expected-error@+1 {{'hova.linear_attention' op expects as many queries as keys where it is causal, got 9 and 7}}
  %r = hova.linear_attention softmax %q, %k, %v features(%w) {causal, heads = 2 : i64} : (tensor<1x9x8xf32>, tensor<1x7x8xf32>, tensor<1x7x6xf32>, tensor<4x10xf32>) -> tensor<1x9x6xf32>
  return
}

// -----

func.func @linear_attention_c7_scale_is_finite(%q: tensor<1x9x8xf32>, %k: tensor<1x7x8xf32>, %v: tensor<1x7x6xf32>, %w: tensor<4x10xf32>) {
  // expected-error@+1 {{'hova.linear_attention' op expects a finite scale}}
  %r = hova.linear_attention softmax %q, %k, %v features(%w) {heads = 2 : i64, scale = 0x7FF0000000000000 : f64} : (tensor<1x9x8xf32>, tensor<1x7x8xf32>, tensor<1x7x6xf32>, tensor<4x10xf32>) -> tensor<1x9x6xf32>
  return
}

// -----

func.func @linear_attention_c7_stabilizer_is_not_negative(%q: tensor<1x9x8xf32>, %k: tensor<1x7x8xf32>, %v: tensor<1x7x6xf32>, %w: tensor<4x10xf32>) {
  // expected-error@+1 {{'hova.linear_attention' op expects a finite scale, and a finite eps, stabilizer and denominator_eps of at least 0}}
  %r = hova.linear_attention softmax %q, %k, %v features(%w) {heads = 2 : i64, stabilizer = -1.0 : f64} : (tensor<1x9x8xf32>, tensor<1x7x8xf32>, tensor<1x7x6xf32>, tensor<4x10xf32>) -> tensor<1x9x6xf32>
  return
}

// -----

func.func @linear_attention_c7_exp_has_no_eps(%q: tensor<1x9x8xf32>, %k: tensor<1x7x8xf32>, %v: tensor<1x7x6xf32>, %w: tensor<4x10xf32>) {
  // expected-error@+1 {{'hova.linear_attention' op expects no eps with exp features, got 5.000000e-01}}
  %r = hova.linear_attention exp %q, %k, %v features(%w) {eps = 0.5 : f64, heads = 2 : i64} : (tensor<1x9x8xf32>, tensor<1x7x8xf32>, tensor<1x7x6xf32>, tensor<4x10xf32>) -> tensor<1x9x6xf32>
  return
}

// -----

func.func @key_summary_c1_key_and_value_share_length(%k: tensor<1x7x8xf32>, %v: tensor<1x6x6xf32>, %w: tensor<4x10xf32>) {
  // expected-error@+1 {{'hova.key_summary' op expects key and value [batch, kv_len, width], got 1x7x8 and 1x6x6}}
  %r = hova.key_summary softmax %k, %v features(%w) {block = 4 : i64, heads = 2 : i64} : (tensor<1x7x8xf32>, tensor<1x6x6xf32>, tensor<4x10xf32>) -> tensor<1x2x2x12x4xf32>
  return
}

// -----

func.func @key_summary_c2_heads_divide_widths(%k: tensor<1x7x8xf32>, %v: tensor<1x7x7xf32>, %w: tensor<4x10xf32>) {
  // expected-error@+1 {{'hova.key_summary' op expects widths divisible by 2 heads, got 7}}
  %r = hova.key_summary softmax %k, %v features(%w) {block = 4 : i64, heads = 2 : i64} : (tensor<1x7x8xf32>, tensor<1x7x7xf32>, tensor<4x10xf32>) -> tensor<1x2x2x12x4xf32>
  return
}

// -----

func.func @key_summary_c3_features_have_a_row_per_column(%k: tensor<1x7x8xf32>, %v: tensor<1x7x6xf32>, %w: tensor<10x4xf32>) {
  // expected-error@+1 {{'hova.key_summary' op expects features of shape 4x?, got 10x4}}
  %r = hova.key_summary softmax %k, %v features(%w) {block = 4 : i64, heads = 2 : i64} : (tensor<1x7x8xf32>, tensor<1x7x6xf32>, tensor<10x4xf32>) -> tensor<1x2x2x12x4xf32>
  return
}

// -----

func.func @key_summary_c4_key_valid_is_of_keys(%k: tensor<1x7x8xf32>, %v: tensor<1x7x6xf32>, %w: tensor<4x10xf32>, %valid: tensor<1x9xi1>) {
  // expected-error@+1 {{'hova.key_summary' op expects key_valid of shape 1x7, got 1x9}}
  %r = hova.key_summary softmax %k, %v features(%w) key_valid(%valid) {block = 4 : i64, heads = 2 : i64} : (tensor<1x7x8xf32>, tensor<1x7x6xf32>, tensor<4x10xf32>, tensor<1x9xi1>) -> tensor<1x2x2x12x4xf32>
  return
}

// -----

func.func @key_summary_c5_result_has_a_block_of_the_last_keys(%k: tensor<1x7x8xf32>, %v: tensor<1x7x6xf32>, %w: tensor<4x10xf32>) {
  // expected-error@+1 {{'hova.key_summary' op expects a result of shape 1x2x2x12x4, got 1x2x1x12x4}}
  %r = hova.key_summary softmax %k, %v features(%w) {block = 4 : i64, heads = 2 : i64} : (tensor<1x7x8xf32>, tensor<1x7x6xf32>, tensor<4x10xf32>) -> tensor<1x2x1x12x4xf32>
  return
}

// -----

func.func @key_summary_c5_relu_has_no_rows_for_eps(%k: tensor<1x7x8xf32>, %v: tensor<1x7x6xf32>, %w: tensor<4x10xf32>) {
  // expected-error@+1 {{'hova.key_summary' op expects a result of shape 1x2x2x10x4, got 1x2x2x12x4}}
  %r = hova.key_summary relu %k, %v features(%w) {block = 4 : i64, heads = 2 : i64} : (tensor<1x7x8xf32>, tensor<1x7x6xf32>, tensor<4x10xf32>) -> tensor<1x2x2x12x4xf32>
  return
}

// -----

func.func @key_summary_c6_softmax_has_no_eps(%k: tensor<1x7x8xf32>, %v: tensor<1x7x6xf32>, %w: tensor<4x10xf32>) {
  // expected-error@+1 {{'hova.key_summary' op expects no eps but with relu features, got 5.000000e-01}}
  %r = hova.key_summary softmax %k, %v features(%w) {block = 4 : i64, eps = 0.5 : f64, heads = 2 : i64} : (tensor<1x7x8xf32>, tensor<1x7x6xf32>, tensor<4x10xf32>) -> tensor<1x2x2x12x4xf32>
  return
}

// -----

func.func @key_summary_c6_eps_is_not_negative(%k: tensor<1x7x8xf32>, %v: tensor<1x7x6xf32>, %w: tensor<4x10xf32>) {
  // expected-error@+1 {{'hova.key_summary' op expects a finite scale}}
  %r = hova.key_summary relu %k, %v features(%w) {block = 4 : i64, eps = -0.5 : f64, heads = 2 : i64} : (tensor<1x7x8xf32>, tensor<1x7x6xf32>, tensor<4x10xf32>) -> tensor<1x2x2x10x4xf32>
  return
}

// -----

func.func @summary_attention_c1_heads_divide_width(%q: tensor<1x9x9xf32>, %s: tensor<1x2x3x12x4xf32>, %w: tensor<4x10xf32>) {
  // expected-error@+1 {{'hova.summary_attention' op expects widths divisible by 2 heads, got 9}}
  %r = hova.summary_attention softmax %q, %s features(%w) {block = 4 : i64, heads = 2 : i64} : (tensor<1x9x9xf32>, tensor<1x2x3x12x4xf32>, tensor<4x10xf32>) -> tensor<1x9x6xf32>
  return
}

// -----

func.func @summary_attention_c1_query_has_three_dimensions(%q: tensor<9x8xf32>, %s: tensor<1x2x3x12x4xf32>, %w: tensor<4x10xf32>) {
  // expected-error@+1 {{'hova.summary_attention' op expects query [batch, q_len, width], got 9x8}}
  %r = hova.summary_attention softmax %q, %s features(%w) {block = 4 : i64, heads = 2 : i64} : (tensor<9x8xf32>, tensor<1x2x3x12x4xf32>, tensor<4x10xf32>) -> tensor<1x9x6xf32>
  return
}

// -----

func.func @summary_attention_c2_features_have_a_row_per_column(%q: tensor<1x9x8xf32>, %s: tensor<1x2x3x12x4xf32>, %w: tensor<10x4xf32>) {
  // expected-error@+1 {{'hova.summary_attention' op expects features of shape 4x?, got 10x4}}
  %r = hova.summary_attention softmax %q, %s features(%w) {block = 4 : i64, heads = 2 : i64} : (tensor<1x9x8xf32>, tensor<1x2x3x12x4xf32>, tensor<10x4xf32>) -> tensor<1x9x6xf32>
  return
}

// -----

func.func @summary_attention_c3_summary_has_rows_for_eps(%q: tensor<1x9x8xf32>, %s: tensor<1x2x3x10x4xf32>, %w: tensor<4x10xf32>) {
  // expected-error@+1 {{'hova.summary_attention' op expects summary of shape 1x2x?x12x?, or of heads that divide these, got 1x2x3x10x4}}
  %r = hova.summary_attention softmax %q, %s features(%w) {block = 4 : i64, heads = 2 : i64} : (tensor<1x9x8xf32>, tensor<1x2x3x10x4xf32>, tensor<4x10xf32>) -> tensor<1x9x6xf32>
  return
}

// -----

func.func @summary_attention_c3_heads_of_keys_divide_heads(%q: tensor<1x9x8xf32>, %s: tensor<1x3x3x12x4xf32>, %w: tensor<4x10xf32>) {
  // expected-error@+1 {{'hova.summary_attention' op expects summary of shape 1x2x?x12x?, or of heads that divide these, got 1x3x3x12x4}}
  %r = hova.summary_attention softmax %q, %s features(%w) {block = 4 : i64, heads = 2 : i64} : (tensor<1x9x8xf32>, tensor<1x3x3x12x4xf32>, tensor<4x10xf32>) -> tensor<1x9x6xf32>
  return
}

// -----

func.func @summary_attention_c4_keys_have_the_heads_of_the_summary(%q: tensor<1x9x8xf32>, %s: tensor<1x1x3x12x4xf32>, %k: tensor<1x9x8xf32>, %v: tensor<1x9x6xf32>, %w: tensor<4x10xf32>) {
  // expected-error@+1 {{'hova.summary_attention' op expects key and value together, of shapes 1x9x4 and 1x9x3}}
  %r = hova.summary_attention softmax %q, %s key(%k) value(%v) features(%w) {block = 4 : i64, heads = 2 : i64} : (tensor<1x9x8xf32>, tensor<1x1x3x12x4xf32>, tensor<1x9x8xf32>, tensor<1x9x6xf32>, tensor<4x10xf32>) -> tensor<1x9x6xf32>
  return
}

// -----

func.func @summary_attention_c4_key_comes_with_value(%q: tensor<1x9x8xf32>, %s: tensor<1x2x3x12x4xf32>, %k: tensor<1x9x8xf32>, %w: tensor<4x10xf32>) {
  // expected-error@+1 {{'hova.summary_attention' op expects key and value together, of shapes 1x9x8 and 1x9x6}}
  %r = hova.summary_attention softmax %q, %s key(%k) features(%w) {block = 4 : i64, heads = 2 : i64} : (tensor<1x9x8xf32>, tensor<1x2x3x12x4xf32>, tensor<1x9x8xf32>, tensor<4x10xf32>) -> tensor<1x9x6xf32>
  return
}

// -----

func.func @summary_attention_c4_keys_are_as_many_as_queries(%q: tensor<1x9x8xf32>, %s: tensor<1x2x3x12x4xf32>, %k: tensor<1x7x8xf32>, %v: tensor<1x7x6xf32>, %w: tensor<4x10xf32>) {
  // expected-error@+1 {{'hova.summary_attention' op expects key and value together, of shapes 1x9x8 and 1x9x6}}
  %r = hova.summary_attention softmax %q, %s key(%k) value(%v) features(%w) {block = 4 : i64, heads = 2 : i64} : (tensor<1x9x8xf32>, tensor<1x2x3x12x4xf32>, tensor<1x7x8xf32>, tensor<1x7x6xf32>, tensor<4x10xf32>) -> tensor<1x9x6xf32>
  return
}

// -----

func.func @summary_attention_c5_key_valid_comes_with_key(%q: tensor<1x9x8xf32>, %s: tensor<1x2x3x12x4xf32>, %w: tensor<4x10xf32>, %valid: tensor<1x9xi1>) {
  // expected-error@+1 {{'hova.summary_attention' op expects key_valid with key alone}}
  %r = hova.summary_attention softmax %q, %s features(%w) key_valid(%valid) {block = 4 : i64, heads = 2 : i64} : (tensor<1x9x8xf32>, tensor<1x2x3x12x4xf32>, tensor<4x10xf32>, tensor<1x9xi1>) -> tensor<1x9x6xf32>
  return
}

// -----

func.func @summary_attention_c5_key_valid_is_of_keys(%q: tensor<1x9x8xf32>, %s: tensor<1x2x3x12x4xf32>, %k: tensor<1x9x8xf32>, %v: tensor<1x9x6xf32>, %w: tensor<4x10xf32>, %valid: tensor<1x7xi1>) {
  // expected-error@+1 {{'hova.summary_attention' op expects key_valid of shape 1x9, got 1x7}}
  %r = hova.summary_attention softmax %q, %s key(%k) value(%v) features(%w) key_valid(%valid) {block = 4 : i64, heads = 2 : i64} : (tensor<1x9x8xf32>, tensor<1x2x3x12x4xf32>, tensor<1x9x8xf32>, tensor<1x9x6xf32>, tensor<4x10xf32>, tensor<1x7xi1>) -> tensor<1x9x6xf32>
  return
}

// -----

func.func @summary_attention_c6_causal_blocks_are_those_of_queries(%q: tensor<1x9x8xf32>, %s: tensor<1x2x2x12x4xf32>, %k: tensor<1x9x8xf32>, %v: tensor<1x9x6xf32>, %w: tensor<4x10xf32>) {
  // expected-error@+1 {{'hova.summary_attention' op expects a summary of 3 blocks where it is causal, got 2}}
  %r = hova.summary_attention softmax %q, %s key(%k) value(%v) features(%w) {block = 4 : i64, heads = 2 : i64} : (tensor<1x9x8xf32>, tensor<1x2x2x12x4xf32>, tensor<1x9x8xf32>, tensor<1x9x6xf32>, tensor<4x10xf32>) -> tensor<1x9x6xf32>
  return
}

// -----

func.func @summary_attention_c7_result_has_value_width(%q: tensor<1x9x8xf32>, %s: tensor<1x2x3x12x4xf32>, %w: tensor<4x10xf32>) {
  // expected-error@+1 {{'hova.summary_attention' op expects a result of shape 1x9x6, got 1x9x8}}
  %r = hova.summary_attention softmax %q, %s features(%w) {block = 4 : i64, heads = 2 : i64} : (tensor<1x9x8xf32>, tensor<1x2x3x12x4xf32>, tensor<4x10xf32>) -> tensor<1x9x8xf32>
  return
}

// -----

func.func @summary_attention_c8_denominator_eps_is_not_negative(%q: tensor<1x9x8xf32>, %s: tensor<1x2x3x12x4xf32>, %w: tensor<4x10xf32>) {
  // expected-error@+1 {{'hova.summary_attention' op expects a finite scale}}
  %r = hova.summary_attention softmax %q, %s features(%w) {block = 4 : i64, denominator_eps = -1.0 : f64, heads = 2 : i64} : (tensor<1x9x8xf32>, tensor<1x2x3x12x4xf32>, tensor<4x10xf32>) -> tensor<1x9x6xf32>
  return
}

// -----

func.func @project_tokens_c1_x_has_three_dimensions(%x: tensor<9x8xf32>, %w: tensor<9x2xf32>) {
  // expected-error@+1 {{'hova.project_tokens' op expects x [batch, tokens, width], got 9x8}}
  %r = hova.project_tokens %x, %w : tensor<9x8xf32>, tensor<9x2xf32> -> tensor<2x8xf32>
  return
}

// -----

func.func @project_tokens_c2_weight_has_a_row_for_each_token(%x: tensor<1x9x8xf32>, %w: tensor<8x2xf32>) {
  // expected-error@+1 {{'hova.project_tokens' op expects a weight of shape 9x?, got 8x2}}
  %r = hova.project_tokens %x, %w : tensor<1x9x8xf32>, tensor<8x2xf32> -> tensor<1x2x8xf32>
  return
}

// -----

func.func @project_tokens_c3_result_has_a_row_for_each_sum(%x: tensor<1x9x8xf32>, %w: tensor<9x2xf32>) {
  // expected-error@+1 {{'hova.project_tokens' op expects a result of shape 1x2x8, got 1x3x8}}
  %r = hova.project_tokens %x, %w : tensor<1x9x8xf32>, tensor<9x2xf32> -> tensor<1x3x8xf32>
  return
}

// -----

func.func @merge_summaries_c1_five_dimensions(%s: tensor<2x3x12x4xf32>) {
  // expected-error@+1 {{'hova.merge_summaries' op expects summary [batch, heads, blocks, rows, columns] of more than 0 rows, got 2x3x12x4}}
  %r = hova.merge_summaries relu %s : tensor<2x3x12x4xf32> -> tensor<1x2x1x12x4xf32>
  return
}

// -----

func.func @merge_summaries_c1_rows_of_softmax(%s: tensor<1x2x3x2x4xf32>) {
  // expected-error@+1 {{'hova.merge_summaries' op expects summary [batch, heads, blocks, rows, columns] of more than 2 rows, got 1x2x3x2x4}}
  %r = hova.merge_summaries softmax %s : tensor<1x2x3x2x4xf32> -> tensor<1x2x1x2x4xf32>
  return
}

// -----

func.func @merge_summaries_c2_as_many_blocks(%s: tensor<1x2x3x12x4xf32>) {
  // expected-error@+1 {{'hova.merge_summaries' op expects a result of shape 1x2x3x12x4, got 1x2x1x12x4}}
  %r = hova.merge_summaries softmax exclusive %s : tensor<1x2x3x12x4xf32> -> tensor<1x2x1x12x4xf32>
  return
}

// -----

func.func @summary_attention_c9_merged_with_key(%q: tensor<1x9x8xf32>, %s: tensor<1x2x3x12x4xf32>, %w: tensor<4x10xf32>) {
  // expected-error@+1 {{'hova.summary_attention' op expects key and value beside a merged summary}}
  %r = hova.summary_attention softmax %q, %s features(%w) {block = 4 : i64, heads = 2 : i64, merged} : (tensor<1x9x8xf32>, tensor<1x2x3x12x4xf32>, tensor<4x10xf32>) -> tensor<1x9x6xf32>
  return
}

// -----

func.func @merge_summaries_c2_one_block(%s: tensor<1x2x3x12x4xf32>) {
  // expected-error@+1 {{'hova.merge_summaries' op expects a result of shape 1x2x1x12x4, got 1x2x3x12x4}}
  %r = hova.merge_summaries softmax %s : tensor<1x2x3x12x4xf32> -> tensor<1x2x3x12x4xf32>
  return
}

// -----

func.func @linear_attention_c8_narrow_of_f32(%q: tensor<1x9x8xf32>, %k: tensor<1x9x8xf32>, %v: tensor<1x9x6xf32>) {
  // expected-error@+1 {{'hova.linear_attention' op expects factors of one type of 16 bits where it is narrow, got 'f32' first}}
  %r = hova.linear_attention relu %q, %k, %v {heads = 2 : i64, narrow} : (tensor<1x9x8xf32>, tensor<1x9x8xf32>, tensor<1x9x6xf32>) -> tensor<1x9x6xf32>
  return
}

// -----

func.func @key_summary_c7_narrow_of_two_types(%k: tensor<1x9x8xbf16>, %v: tensor<1x9x6xf16>) {
  // expected-error@+1 {{'hova.key_summary' op expects factors of one type of 16 bits where it is narrow, got 'bf16' first}}
  %r = hova.key_summary relu %k, %v {block = 4 : i64, heads = 2 : i64, narrow} : (tensor<1x9x8xbf16>, tensor<1x9x6xf16>) -> tensor<1x2x3x4x4xf32>
  return
}

// -----

func.func @summary_attention_c10_narrow_of_f32(%q: tensor<1x9x8xf32>, %s: tensor<1x2x1x4x4xf32>) {
  // expected-error@+1 {{'hova.summary_attention' op expects factors of one type of 16 bits where it is narrow, got 'f32' first}}
  %r = hova.summary_attention relu %q, %s {block = 4 : i64, heads = 2 : i64, narrow} : (tensor<1x9x8xf32>, tensor<1x2x1x4x4xf32>) -> tensor<1x9x6xf32>
  return
}
