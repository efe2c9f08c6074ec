// RUN: hova-opt %s --split-input-file --verify-diagnostics
// SPDX-License-Identifier: Apache-2.0

func.func @pool_c2_last_of_something(%x: tensor<2x7x8xf32>) {
  // expected-error@+1 {{'hova.pool' op expects tokens chosen by booleans for last, got none}}
  %r = hova.pool last %x : tensor<2x7x8xf32> -> tensor<2x8xf32>
  return
}

// -----

func.func @pool_c2_mean_of_no_integers(%x: tensor<2x7x8xf32>, %i: tensor<2x7xi32>) {
  // expected-error@+1 {{'hova.pool' op expects tokens chosen by none or booleans for mean, got integers}}
  %r = hova.pool mean %x by %i : tensor<2x7x8xf32>, tensor<2x7xi32> -> tensor<2x8xf32>
  return
}

// -----

func.func @pool_c3_by_tokens(%x: tensor<2x7x8xf32>, %v: tensor<2x6xi1>) {
  // expected-error@+1 {{'hova.pool' op expects tokens chosen by [batch, tokens] = 2x7, got 2x6}}
  %r = hova.pool mean %x by %v : tensor<2x7x8xf32>, tensor<2x6xi1> -> tensor<2x8xf32>
  return
}

// -----

func.func @pool_c4_id_of_token(%x: tensor<2x7x8xf32>, %v: tensor<2x7xi1>) {
  // expected-error@+1 {{'hova.pool' op expects an id for token alone, got one for max}}
  %r = hova.pool max %x by %v {id = 3 : i64} : tensor<2x7x8xf32>, tensor<2x7xi1> -> tensor<2x8xf32>
  return
}
