// RUN: hova-opt %s --split-input-file --verify-diagnostics | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// CHECK-LABEL: @norm_behind_a_product
// CHECK: hova.center %{{[a-z0-9_]+}} : tensor<2x9x80xf32>
// CHECK: hova.row_squares %{{[a-z0-9_]+}} {columns = 32 : i64} : tensor<2x9x80xf32> -> tensor<2x9x3xf32>
// CHECK: hova.divide_by_rms %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} {eps = 5.000000e-01 : f64, width = 80 : i64} : tensor<2x9x64xf32>, tensor<2x9x3xf32>
// CHECK: hova.divide_by_rms %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} bias(%{{[a-z0-9_]+}}) {eps = 5.000000e-01 : f64, width = 80 : i64} : tensor<2x9x64xf32>, tensor<2x9x3xf32>, tensor<64xf32>
func.func @norm_behind_a_product(%x: tensor<2x9x80xf32>, %y: tensor<2x9x64xf32>, %b: tensor<64xf32>) -> (tensor<2x9x64xf32>, tensor<2x9x64xf32>) {
  %c = hova.center %x : tensor<2x9x80xf32>
  %q = hova.row_squares %c {columns = 32 : i64} : tensor<2x9x80xf32> -> tensor<2x9x3xf32>
  %r = hova.divide_by_rms %y, %q {eps = 0.5 : f64, width = 80 : i64} : tensor<2x9x64xf32>, tensor<2x9x3xf32>
  %s = hova.divide_by_rms %y, %q bias(%b) {eps = 0.5 : f64, width = 80 : i64} : tensor<2x9x64xf32>, tensor<2x9x3xf32>, tensor<64xf32>
  return %r, %s : tensor<2x9x64xf32>, tensor<2x9x64xf32>
}

// -----

func.func @center_c1_x_has_an_axis(%x: tensor<f32>) {
  // expected-error@+1 {{'hova.center' op expects x with a last axis, got a scalar}}
  %r = hova.center %x : tensor<f32>
  return
}

// -----

func.func @row_squares_c1_the_width_is_known(%x: tensor<4x?xf32>) {
  // expected-error@+1 {{'hova.row_squares' op expects x with a last axis of known width, got 4x?}}
  %r = hova.row_squares %x {columns = 32 : i64} : tensor<4x?xf32> -> tensor<4x1xf32>
  return
}

// -----

func.func @row_squares_c2_parts_cover_the_row(%x: tensor<4x80xf32>) {
  // expected-error@+1 {{'hova.row_squares' op expects a result of shape 4x3 and of f32, got 'tensor<4x2xf32>'}}
  %r = hova.row_squares %x {columns = 32 : i64} : tensor<4x80xf32> -> tensor<4x2xf32>
  return
}

// -----

func.func @divide_by_rms_c1_rows_are_the_same(%x: tensor<4x8xf32>, %q: tensor<5x2xf32>) {
  // expected-error@+1 {{'hova.divide_by_rms' op expects squares of the rows of 4x8, got 5x2}}
  %r = hova.divide_by_rms %x, %q {eps = 0.0 : f64, width = 8 : i64} : tensor<4x8xf32>, tensor<5x2xf32>
  return
}

// -----

func.func @divide_by_rms_c2_bias_has_all_columns(%x: tensor<4x8xf32>, %q: tensor<4x2xf32>, %b: tensor<4xf32>) {
  // expected-error@+1 {{'hova.divide_by_rms' op expects a bias of shape 8, got 4}}
  %r = hova.divide_by_rms %x, %q bias(%b) {eps = 0.0 : f64, width = 8 : i64} : tensor<4x8xf32>, tensor<4x2xf32>, tensor<4xf32>
  return
}

// -----

func.func @divide_by_rms_c3_eps_is_not_negative(%x: tensor<4x8xf32>, %q: tensor<4x2xf32>) {
  // expected-error@+1 {{'hova.divide_by_rms' op expects eps >= 0, got -1}}
  %r = hova.divide_by_rms %x, %q {eps = -1.0 : f64, width = 8 : i64} : tensor<4x8xf32>, tensor<4x2xf32>
  return
}
