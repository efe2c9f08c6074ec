// RUN: hova-opt %s --split-input-file --verify-roundtrip --verify-diagnostics | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// CHECK-LABEL: @writes_the_matrices_of_all_heads_as_one
// CHECK-SAME: %[[BLOCKS:.*]]: tensor<2x4x3xf32>
// CHECK: hova.block_diagonal %[[BLOCKS]] : tensor<2x4x3xf32> -> tensor<8x6xf32>
func.func @writes_the_matrices_of_all_heads_as_one(%blocks: tensor<2x4x3xf32>) -> tensor<8x6xf32> {
  %matrix = hova.block_diagonal %blocks : tensor<2x4x3xf32> -> tensor<8x6xf32>
  return %matrix : tensor<8x6xf32>
}

// -----

func.func @block_diagonal_c1_blocks_have_three_dimensions(%blocks: tensor<4x3xf32>) -> tensor<8x6xf32> {
  // expected-error@+1 {{'hova.block_diagonal' op expects [heads*in, heads*out] for [heads, in, out] = 4x3, got 8x6}}
  %matrix = hova.block_diagonal %blocks : tensor<4x3xf32> -> tensor<8x6xf32>
  return %matrix : tensor<8x6xf32>
}

// -----

func.func @block_diagonal_c1_result_has_all_heads(%blocks: tensor<2x4x3xf32>) -> tensor<4x6xf32> {
  // expected-error@+1 {{'hova.block_diagonal' op expects [heads*in, heads*out] for [heads, in, out] = 2x4x3, got 4x6}}
  %matrix = hova.block_diagonal %blocks : tensor<2x4x3xf32> -> tensor<4x6xf32>
  return %matrix : tensor<4x6xf32>
}
