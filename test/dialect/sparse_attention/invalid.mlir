// RUN: hova-opt %s --split-input-file --verify-diagnostics
// SPDX-License-Identifier: Apache-2.0

func.func @block_sparse_attention_c1_operands_share_tokens(%q: tensor<1x23x8xf32>, %k: tensor<1x22x8xf32>, %v: tensor<1x22x6xf32>) {
  // expected-error@+1 {{'hova.block_sparse_attention' op expects query, key and value [batch, tokens, width] of the same tokens, got 1x23x8, 1x22x8 and 1x22x6}}
  %r = hova.block_sparse_attention %q, %k, %v {heads = 2 : i64, block = 4 : i64} : (tensor<1x23x8xf32>, tensor<1x22x8xf32>, tensor<1x22x6xf32>) -> tensor<1x23x6xf32>
  return
}

// -----

func.func @block_sparse_attention_c2_heads_divide_widths(%q: tensor<1x23x8xf32>, %k: tensor<1x23x8xf32>, %v: tensor<1x23x7xf32>) {
  // expected-error@+1 {{'hova.block_sparse_attention' op expects widths divisible by 2 heads, got 7}}
  %r = hova.block_sparse_attention %q, %k, %v {heads = 2 : i64, block = 4 : i64} : (tensor<1x23x8xf32>, tensor<1x23x8xf32>, tensor<1x23x7xf32>) -> tensor<1x23x7xf32>
  return
}

// -----

func.func @block_sparse_attention_c3_query_and_key_share_width(%q: tensor<1x23x8xf32>, %k: tensor<1x23x10xf32>, %v: tensor<1x23x6xf32>) {
  // expected-error@+1 {{'hova.block_sparse_attention' op expects query and key to share their width, got 8 and 10}}
  %r = hova.block_sparse_attention %q, %k, %v {heads = 2 : i64, block = 4 : i64} : (tensor<1x23x8xf32>, tensor<1x23x10xf32>, tensor<1x23x6xf32>) -> tensor<1x23x6xf32>
  return
}

// -----

func.func @block_sparse_attention_c4_four_blocks(%q: tensor<1x23x8xf32>, %k: tensor<1x23x8xf32>, %v: tensor<1x23x6xf32>) {
  // expected-error@+1 {{'hova.block_sparse_attention' op expects at least 4 blocks of 8 tokens, got 3}}
  %r = hova.block_sparse_attention %q, %k, %v {heads = 2 : i64, block = 8 : i64} : (tensor<1x23x8xf32>, tensor<1x23x8xf32>, tensor<1x23x6xf32>) -> tensor<1x23x6xf32>
  return
}

// -----

func.func @block_sparse_attention_c5_a_row_per_inner_block(%q: tensor<1x23x8xf32>, %k: tensor<1x23x8xf32>, %v: tensor<1x23x6xf32>, %t: tensor<2x6x1xi32>) {
  // expected-error@+1 {{'hova.block_sparse_attention' op expects random_blocks of shape 2x4x?, got 2x6x1}}
  %r = hova.block_sparse_attention %q, %k, %v random_blocks(%t) {heads = 2 : i64, block = 4 : i64} : (tensor<1x23x8xf32>, tensor<1x23x8xf32>, tensor<1x23x6xf32>, tensor<2x6x1xi32>) -> tensor<1x23x6xf32>
  return
}

// -----

func.func @block_sparse_attention_c6_key_valid_is_of_tokens(%q: tensor<1x23x8xf32>, %k: tensor<1x23x8xf32>, %v: tensor<1x23x6xf32>, %m: tensor<1x6xi1>) {
  // expected-error@+1 {{'hova.block_sparse_attention' op expects key_valid of shape 1x23, got 1x6}}
  %r = hova.block_sparse_attention %q, %k, %v key_valid(%m) {heads = 2 : i64, block = 4 : i64} : (tensor<1x23x8xf32>, tensor<1x23x8xf32>, tensor<1x23x6xf32>, tensor<1x6xi1>) -> tensor<1x23x6xf32>
  return
}

// -----

func.func @block_sparse_attention_c7_result_has_values(%q: tensor<1x23x8xf32>, %k: tensor<1x23x8xf32>, %v: tensor<1x23x6xf32>) {
  // expected-error@+1 {{'hova.block_sparse_attention' op expects a result of shape 1x23x6, got 1x23x8}}
  %r = hova.block_sparse_attention %q, %k, %v {heads = 2 : i64, block = 4 : i64} : (tensor<1x23x8xf32>, tensor<1x23x8xf32>, tensor<1x23x6xf32>) -> tensor<1x23x8xf32>
  return
}

// -----

func.func @block_sparse_attention_c8_causal_is_positive(%q: tensor<1x23x8xf32>, %k: tensor<1x23x8xf32>, %v: tensor<1x23x6xf32>) {
  // expected-error@+1 {{'hova.block_sparse_attention' op expects causal to be positive and scale to be finite, got 0 and 1}}
  %r = hova.block_sparse_attention %q, %k, %v {heads = 2 : i64, block = 4 : i64, causal = 0 : i64} : (tensor<1x23x8xf32>, tensor<1x23x8xf32>, tensor<1x23x6xf32>) -> tensor<1x23x6xf32>
  return
}

// -----

func.func @block_sparse_attention_c8_scale_is_finite(%q: tensor<1x23x8xf32>, %k: tensor<1x23x8xf32>, %v: tensor<1x23x6xf32>) {
  // expected-error@+1 {{'hova.block_sparse_attention' op expects causal to be positive and scale to be finite, got 1 and}}
  %r = hova.block_sparse_attention %q, %k, %v {heads = 2 : i64, block = 4 : i64, scale = 0x7FF0000000000000 : f64} : (tensor<1x23x8xf32>, tensor<1x23x8xf32>, tensor<1x23x6xf32>) -> tensor<1x23x6xf32>
  return
}

// -----

func.func @index_table_c1_shape_stays(%x: tensor<2x4x1xf32>) {
  // expected-error@+1 {{'hova.index_table' op expects a result of shape 2x4x1, got 2x4}}
  %t = hova.index_table %x : tensor<2x4x1xf32> -> tensor<2x4xi32>
  return
}
