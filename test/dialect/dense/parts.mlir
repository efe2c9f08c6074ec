// RUN: hova-opt %s --split-input-file --verify-diagnostics | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// CHECK-LABEL: @adds_parts_of_a_product
// CHECK: hova.linear_parts %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} : tensor<2x9x64xbf16>, tensor<64x32xbf16> -> tensor<4x2x9x32xf32>
// CHECK: hova.linear_parts %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} {transposed} : tensor<2x9x64xbf16>, tensor<32x64xbf16> -> tensor<1x2x9x32xf32>
// CHECK: hova.sum_parts %{{[a-z0-9_]+}} : tensor<1x2x9x32xf32> -> tensor<2x9x32xf32>
// CHECK: hova.sum_parts %{{[a-z0-9_]+}} bias(%{{[a-z0-9_]+}}) : tensor<4x2x9x32xf32>, tensor<32xf32> -> tensor<2x9x32xf32>
func.func @adds_parts_of_a_product(%x: tensor<2x9x64xbf16>, %w: tensor<64x32xbf16>, %v: tensor<32x64xbf16>, %b: tensor<32xf32>) -> (tensor<2x9x32xf32>, tensor<2x9x32xf32>) {
  %p = hova.linear_parts %x, %w : tensor<2x9x64xbf16>, tensor<64x32xbf16> -> tensor<4x2x9x32xf32>
  %q = hova.linear_parts %x, %v {transposed} : tensor<2x9x64xbf16>, tensor<32x64xbf16> -> tensor<1x2x9x32xf32>
  %r = hova.sum_parts %q : tensor<1x2x9x32xf32> -> tensor<2x9x32xf32>
  %s = hova.sum_parts %p bias(%b) : tensor<4x2x9x32xf32>, tensor<32xf32> -> tensor<2x9x32xf32>
  return %r, %s : tensor<2x9x32xf32>, tensor<2x9x32xf32>
}

// -----

func.func @linear_parts_c1_weight_is_a_matrix(%x: tensor<9x64xf32>, %w: tensor<64xf32>) {
  // expected-error@+1 {{'hova.linear_parts' op expects x with a last axis and a weight matrix, got 9x64 and 64}}
  %r = hova.linear_parts %x, %w : tensor<9x64xf32>, tensor<64xf32> -> tensor<2x9x64xf32>
  return
}

// -----

func.func @linear_parts_c1_weight_fits_x(%x: tensor<9x64xf32>, %w: tensor<32x64xf32>) {
  // expected-error@+1 {{'hova.linear_parts' op expects a weight for inputs of width 64, got one for 32}}
  %r = hova.linear_parts %x, %w : tensor<9x64xf32>, tensor<32x64xf32> -> tensor<2x9x64xf32>
  return
}

// -----

func.func @linear_parts_c2_parts_divide(%x: tensor<9x64xf32>, %w: tensor<64x32xf32>) {
  // expected-error@+1 {{'hova.linear_parts' op expects parts that divide an inner dimension of 64, got a result of shape 3x9x32}}
  %r = hova.linear_parts %x, %w : tensor<9x64xf32>, tensor<64x32xf32> -> tensor<3x9x32xf32>
  return
}

// -----

func.func @linear_parts_c2_there_is_a_part(%x: tensor<9x64xf32>, %w: tensor<64x32xf32>) {
  // expected-error@+1 {{'hova.linear_parts' op expects parts that divide an inner dimension of 64, got a result of shape 0x9x32}}
  %r = hova.linear_parts %x, %w : tensor<9x64xf32>, tensor<64x32xf32> -> tensor<0x9x32xf32>
  return
}

// -----

func.func @linear_parts_c2_parts_are_known(%x: tensor<9x64xf32>, %w: tensor<64x32xf32>) {
  // expected-error@+1 {{'hova.linear_parts' op expects parts that divide an inner dimension of 64, got a result of shape ?x9x32}}
  %r = hova.linear_parts %x, %w : tensor<9x64xf32>, tensor<64x32xf32> -> tensor<?x9x32xf32>
  return
}

// -----

func.func @linear_parts_c3_a_part_has_all_columns(%x: tensor<9x64xf32>, %w: tensor<64x32xf32>) {
  // expected-error@+1 {{'hova.linear_parts' op expects parts of shape 9x32, got 9x64}}
  %r = hova.linear_parts %x, %w : tensor<9x64xf32>, tensor<64x32xf32> -> tensor<2x9x64xf32>
  return
}

// -----

func.func @sum_parts_c1_there_are_parts(%x: tensor<9xf32>) {
  // expected-error@+1 {{'hova.sum_parts' op expects parts of one dimension at least, got 9}}
  %r = hova.sum_parts %x : tensor<9xf32> -> tensor<9xf32>
  return
}

// -----

func.func @sum_parts_c2_the_sum_is_as_large_as_a_part(%x: tensor<2x9x32xf32>) {
  // expected-error@+1 {{'hova.sum_parts' op expects a result of shape 9x32, got 2x9x32}}
  %r = hova.sum_parts %x : tensor<2x9x32xf32> -> tensor<2x9x32xf32>
  return
}

// -----

func.func @sum_parts_c3_bias_has_all_columns(%x: tensor<2x9x32xf32>, %b: tensor<9xf32>) {
  // expected-error@+1 {{'hova.sum_parts' op expects a bias of shape 32, got 9}}
  %r = hova.sum_parts %x bias(%b) : tensor<2x9x32xf32>, tensor<9xf32> -> tensor<9x32xf32>
  return
}
