// RUN: hova-opt %s --split-input-file --verify-diagnostics
// SPDX-License-Identifier: Apache-2.0

func.func @attention_c11_mean_needs_all_keys(%x: tensor<1x23x8xf32>) {
  // expected-error@+1 {{'hova.attention' op expects empty_row zero with a block}}
  %r = hova.attention %x, %x, %x {heads = 2 : i64, block = 4 : i64, empty_row = #hova<empty_row uniform>} : (tensor<1x23x8xf32>, tensor<1x23x8xf32>, tensor<1x23x8xf32>) -> tensor<1x23x8xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all
  }
  return
}

// -----

func.func @attention_c12_as_many_queries_as_keys(%x: tensor<1x23x8xf32>, %k: tensor<1x22x8xf32>) {
  // expected-error@+1 {{'hova.attention' op expects as many queries as keys with a block, got 23 and 22}}
  %r = hova.attention %x, %k, %k {heads = 2 : i64, block = 4 : i64} : (tensor<1x23x8xf32>, tensor<1x22x8xf32>, tensor<1x22x8xf32>) -> tensor<1x23x8xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all
  }
  return
}

// -----

func.func @attention_c12_four_blocks(%x: tensor<1x23x8xf32>) {
  // expected-error@+1 {{'hova.attention' op expects at least 4 blocks of 8 tokens, got 3}}
  %r = hova.attention %x, %x, %x {heads = 2 : i64, block = 8 : i64} : (tensor<1x23x8xf32>, tensor<1x23x8xf32>, tensor<1x23x8xf32>) -> tensor<1x23x8xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all
  }
  return
}

// -----

func.func @attention_c12_blocks_have_no_slots(%x: tensor<1x23x8xf32>, %m: tensor<5x8xf32>) {
  // expected-error@+1 {{'hova.attention' op expects neither a memory nor scores as a result with a block}}
  %r = hova.attention %x, %x, %x memory(%m, %m) {heads = 2 : i64, block = 4 : i64} : (tensor<1x23x8xf32>, tensor<1x23x8xf32>, tensor<1x23x8xf32>, tensor<5x8xf32>, tensor<5x8xf32>) -> tensor<1x23x8xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all
  }
  return
}

// -----

func.func @attention_c12_blocks_give_no_scores(%x: tensor<1x23x8xf32>) {
  // expected-error@+1 {{'hova.attention' op expects neither a memory nor scores as a result with a block}}
  %r, %s = hova.attention %x, %x, %x {heads = 2 : i64, block = 4 : i64} : (tensor<1x23x8xf32>, tensor<1x23x8xf32>, tensor<1x23x8xf32>) -> (tensor<1x23x8xf32>, tensor<1x2x23x23xf32>) scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all carried %raw
  }
  return
}

// -----

func.func @attention_c13_a_table_is_of_blocks(%x: tensor<1x23x8xf32>, %t: tensor<2x4x1xi32>) {
  // expected-error@+1 {{'hova.attention' op expects a block beside random_blocks}}
  %r = hova.attention %x, %x, %x random_blocks(%t) {heads = 2 : i64} : (tensor<1x23x8xf32>, tensor<1x23x8xf32>, tensor<1x23x8xf32>, tensor<2x4x1xi32>) -> tensor<1x23x8xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all
  }
  return
}

// -----

func.func @attention_c13_a_row_per_inner_block(%x: tensor<1x23x8xf32>, %t: tensor<2x6x1xi32>) {
  // expected-error@+1 {{'hova.attention' op expects random_blocks of shape 2x4x?, got 2x6x1}}
  %r = hova.attention %x, %x, %x random_blocks(%t) {heads = 2 : i64, block = 4 : i64} : (tensor<1x23x8xf32>, tensor<1x23x8xf32>, tensor<1x23x8xf32>, tensor<2x6x1xi32>) -> tensor<1x23x8xf32> scores {
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
