// RUN: hova-opt %s --split-input-file --verify-diagnostics
// SPDX-License-Identifier: Apache-2.0

func.func @block_sparse_attention_c1_operands_share_tokens(%q: tensor<1x23x8xf32>, %k: tensor<1x22x8xf32>, %v: tensor<1x22x6xf32>) {
  // expected-error@+1 {{'hova.block_sparse_attention' op expects query, key and value [batch, tokens, width] of the same tokens, got 1x23x8, 1x22x8 and 1x22x6}}
  %r = hova.block_sparse_attention %q, %k, %v {heads = 2 : i64, block = 4 : i64} : (tensor<1x23x8xf32>, tensor<1x22x8xf32>, tensor<1x22x6xf32>) -> tensor<1x23x6xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all
  }
  return
}

// -----

func.func @block_sparse_attention_c2_heads_divide_widths(%q: tensor<1x23x8xf32>, %k: tensor<1x23x8xf32>, %v: tensor<1x23x7xf32>) {
  // expected-error@+1 {{'hova.block_sparse_attention' op expects 2 heads and 2 of keys and values, which divide them and the widths, got 8, 8 and 7}}
  %r = hova.block_sparse_attention %q, %k, %v {heads = 2 : i64, block = 4 : i64} : (tensor<1x23x8xf32>, tensor<1x23x8xf32>, tensor<1x23x7xf32>) -> tensor<1x23x7xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all
  }
  return
}

// -----

func.func @block_sparse_attention_c3_query_and_key_share_width(%q: tensor<1x23x8xf32>, %k: tensor<1x23x10xf32>, %v: tensor<1x23x6xf32>) {
  // expected-error@+1 {{'hova.block_sparse_attention' op expects heads of query and key to share their width, got 4 and 5}}
  %r = hova.block_sparse_attention %q, %k, %v {heads = 2 : i64, block = 4 : i64} : (tensor<1x23x8xf32>, tensor<1x23x10xf32>, tensor<1x23x6xf32>) -> tensor<1x23x6xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all
  }
  return
}

// -----

func.func @block_sparse_attention_c4_four_blocks(%q: tensor<1x23x8xf32>, %k: tensor<1x23x8xf32>, %v: tensor<1x23x6xf32>) {
  // expected-error@+1 {{'hova.block_sparse_attention' op expects at least 4 blocks of 8 tokens, got 3}}
  %r = hova.block_sparse_attention %q, %k, %v {heads = 2 : i64, block = 8 : i64} : (tensor<1x23x8xf32>, tensor<1x23x8xf32>, tensor<1x23x6xf32>) -> tensor<1x23x6xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all
  }
  return
}

// -----

func.func @block_sparse_attention_c5_a_row_per_inner_block(%q: tensor<1x23x8xf32>, %k: tensor<1x23x8xf32>, %v: tensor<1x23x6xf32>, %t: tensor<2x6x1xi32>) {
  // expected-error@+1 {{'hova.block_sparse_attention' op expects random_blocks of shape 2x4x?, got 2x6x1}}
  %r = hova.block_sparse_attention %q, %k, %v random_blocks(%t) {heads = 2 : i64, block = 4 : i64} : (tensor<1x23x8xf32>, tensor<1x23x8xf32>, tensor<1x23x6xf32>, tensor<2x6x1xi32>) -> tensor<1x23x6xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all
  }
  return
}

// -----

func.func @block_sparse_attention_c6_region_has_the_captured_tensors(%q: tensor<1x23x8xf32>, %k: tensor<1x23x8xf32>, %v: tensor<1x23x6xf32>, %m: tensor<1x23xi1>) {
  // expected-error@+1 {{'hova.block_sparse_attention' op expects scores of a raw score, four indices and the captured tensors, which end with 'hova.score_yield'}}
  %r = hova.block_sparse_attention %q, %k, %v captured(%m) {heads = 2 : i64, block = 4 : i64} : (tensor<1x23x8xf32>, tensor<1x23x8xf32>, tensor<1x23x6xf32>, tensor<1x23xi1>) -> tensor<1x23x6xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all
  }
  return
}

// -----

func.func @block_sparse_attention_c7_operation_has_a_meaning(%q: tensor<1x23x8xf32>, %k: tensor<1x23x8xf32>, %v: tensor<1x23x6xf32>) {
  %r = hova.block_sparse_attention %q, %k, %v {heads = 2 : i64, block = 4 : i64} : (tensor<1x23x8xf32>, tensor<1x23x8xf32>, tensor<1x23x6xf32>) -> tensor<1x23x6xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    // expected-error@+1 {{'math.sin' op has no meaning among the scores of an attention}}
    %sine = math.sin %raw : f32
    hova.score_yield %sine kept %all
  }
  return
}

// -----

func.func @block_sparse_attention_c8_divisor_is_positive(%q: tensor<1x23x8xf32>, %k: tensor<1x23x8xf32>, %v: tensor<1x23x6xf32>) {
  %r = hova.block_sparse_attention %q, %k, %v {heads = 2 : i64, block = 4 : i64} : (tensor<1x23x8xf32>, tensor<1x23x8xf32>, tensor<1x23x6xf32>) -> tensor<1x23x6xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %size = arith.constant 0 : index
    // expected-error@+1 {{'arith.floordivsi' op among scores expects a positive constant divisor}}
    %own = arith.floordivsi %query, %size : index
    %kept = arith.cmpi sle, %key, %own : index
    hova.score_yield %raw kept %kept
  }
  return
}

// -----

func.func @block_sparse_attention_c9_carries_nothing(%q: tensor<1x23x8xf32>, %k: tensor<1x23x8xf32>, %v: tensor<1x23x6xf32>) {
  // expected-error@+1 {{'hova.block_sparse_attention' op expects a carried score exactly where it gives scores}}
  %r = hova.block_sparse_attention %q, %k, %v {heads = 2 : i64, block = 4 : i64} : (tensor<1x23x8xf32>, tensor<1x23x8xf32>, tensor<1x23x6xf32>) -> tensor<1x23x6xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all carried %raw
  }
  return
}

// -----

func.func @block_sparse_attention_c10_result_has_values(%q: tensor<1x23x8xf32>, %k: tensor<1x23x8xf32>, %v: tensor<1x23x6xf32>) {
  // expected-error@+1 {{'hova.block_sparse_attention' op expects a result of shape 1x23x6, got 1x23x8}}
  %r = hova.block_sparse_attention %q, %k, %v {heads = 2 : i64, block = 4 : i64} : (tensor<1x23x8xf32>, tensor<1x23x8xf32>, tensor<1x23x6xf32>) -> tensor<1x23x8xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all
  }
  return
}

// -----

func.func @index_table_c1_shape_stays(%x: tensor<2x4x1xf32>) {
  // expected-error@+1 {{'hova.index_table' op expects a result of shape 2x4x1, got 2x4}}
  %t = hova.index_table %x : tensor<2x4x1xf32> -> tensor<2x4xi32>
  return
}
