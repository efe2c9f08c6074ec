// RUN: hova-opt %s --split-input-file --verify-diagnostics
// SPDX-License-Identifier: Apache-2.0

func.func @element_c1_an_index_for_each_axis(%t: tensor<4x9xf32>, %i: index) {
  // expected-error@+1 {{'hova.element' op expects an index for each of 2 axes, got 1}}
  %x = hova.element %t[%i] : tensor<4x9xf32>
  return
}

// -----

func.func @element_c1_no_more_indices_than_axes(%t: tensor<4xf32>, %i: index) {
  // expected-error@+1 {{'hova.element' op expects an index for each of 1 axes, got 2}}
  %x = hova.element %t[%i, %i] : tensor<4xf32>
  return
}

// -----

func.func @element_c2_range_is_of_integers(%t: tensor<4xf32>, %i: index) {
  // expected-error@+1 {{'hova.element' op expects a range [low, high] of integers with low < high, got array<i64: 0, 4> of 'f32'}}
  %x = hova.element %t[%i] {range = array<i64: 0, 4>} : tensor<4xf32>
  return
}

// -----

func.func @element_c2_range_is_not_empty(%t: tensor<4xi32>, %i: index) {
  // expected-error@+1 {{'hova.element' op expects a range [low, high] of integers with low < high, got array<i64: 4, 4> of 'i32'}}
  %x = hova.element %t[%i] {range = array<i64: 4, 4>} : tensor<4xi32>
  return
}

// -----

func.func @element_c2_range_has_two_ends(%t: tensor<4xi32>, %i: index) {
  // expected-error@+1 {{'hova.element' op expects a range [low, high] of integers with low < high, got array<i64: 4> of 'i32'}}
  %x = hova.element %t[%i] {range = array<i64: 4>} : tensor<4xi32>
  return
}
