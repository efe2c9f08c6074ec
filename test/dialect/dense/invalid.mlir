// RUN: hova-opt %s --split-input-file --verify-diagnostics
// SPDX-License-Identifier: Apache-2.0

func.func @linear_c1_weight_is_a_matrix(%x: tensor<2x9x64xf32>, %w: tensor<64xf32>) {
  // expected-error@+1 {{'hova.linear' op expects x with a last axis and a weight matrix, got 2x9x64 and 64}}
  %r = hova.linear %x, %w : tensor<2x9x64xf32>, tensor<64xf32> -> tensor<2x9x64xf32>
  return
}

// -----

func.func @linear_c1_weight_fits_x(%x: tensor<2x9x64xf32>, %w: tensor<32x64xf32>) {
  // expected-error@+1 {{'hova.linear' op expects a weight for inputs of width 64, got one for 32}}
  %r = hova.linear %x, %w : tensor<2x9x64xf32>, tensor<32x64xf32> -> tensor<2x9x64xf32>
  return
}

// -----

func.func @linear_c1_transposed_weight_fits_x(%x: tensor<2x9x64xf32>, %w: tensor<64x32xf32>) {
  // expected-error@+1 {{'hova.linear' op expects a weight for inputs of width 64, got one for 32}}
  %r = hova.linear %x, %w {transposed} : tensor<2x9x64xf32>, tensor<64x32xf32> -> tensor<2x9x64xf32>
  return
}

// -----

func.func @linear_c2_bias_has_all_columns(%x: tensor<2x9x64xf32>, %w: tensor<64x32xf32>, %b: tensor<64xf32>) {
  // expected-error@+1 {{'hova.linear' op expects a bias of shape 32, got 64}}
  %r = hova.linear %x, %w bias(%b) : tensor<2x9x64xf32>, tensor<64x32xf32>, tensor<64xf32> -> tensor<2x9x32xf32>
  return
}

// -----

func.func @linear_c3_result_has_all_columns(%x: tensor<2x9x64xf32>, %w: tensor<64x32xf32>) {
  // expected-error@+1 {{'hova.linear' op expects a result of shape 2x9x32, got 2x9x64}}
  %r = hova.linear %x, %w : tensor<2x9x64xf32>, tensor<64x32xf32> -> tensor<2x9x64xf32>
  return
}

// -----

func.func @layer_norm_c2_gain_has_width(%x: tensor<2x9x64xf32>, %g: tensor<9xf32>, %b: tensor<9xf32>) {
  // expected-error@+1 {{'hova.layer_norm' op expects gain and bias of the width of x 2x9x64, got 9}}
  %r = hova.layer_norm %x, %g, %b {eps = 1.0e-6 : f64} : tensor<2x9x64xf32>, tensor<9xf32>
  return
}

// -----

func.func @layer_norm_c3_eps_is_not_negative(%x: tensor<2x9x64xf32>, %g: tensor<64xf32>, %b: tensor<64xf32>) {
  // expected-error@+1 {{'hova.layer_norm' op expects eps >= 0, got -1}}
  %r = hova.layer_norm %x, %g, %b {eps = -1.0 : f64} : tensor<2x9x64xf32>, tensor<64xf32>
  return
}

// -----

func.func @add_c1_axes_of_rhs_are_those_of_lhs(%x: tensor<2x9x64xf32>, %p: tensor<2x64xf32>) {
  // expected-error@+1 {{'hova.add' op expects every axis of rhs, counted from the last, to be that of lhs or 1, got 2x64 and 2x9x64}}
  %r = hova.add %x, %p : tensor<2x9x64xf32>, tensor<2x64xf32>
  return
}

// -----

func.func @multiply_c1_rhs_is_not_larger(%x: tensor<2x9x64xf32>, %p: tensor<1x2x9x64xf32>) {
  // expected-error@+1 {{'hova.multiply' op expects every axis of rhs, counted from the last, to be that of lhs or 1, got 1x2x9x64 and 2x9x64}}
  %r = hova.multiply %x, %p : tensor<2x9x64xf32>, tensor<1x2x9x64xf32>
  return
}

// -----

func.func @multiply_c1_only_rhs_repeats(%x: tensor<2x1x64xf32>, %p: tensor<9x1xf32>) {
  // expected-error@+1 {{'hova.multiply' op expects every axis of rhs, counted from the last, to be that of lhs or 1, got 9x1 and 2x1x64}}
  %r = hova.multiply %x, %p : tensor<2x1x64xf32>, tensor<9x1xf32>
  return
}

// -----

func.func @subtract_c1_rhs_repeats(%x: tensor<2x9x64xf32>, %p: tensor<8x1xf32>) {
  // expected-error@+1 {{'hova.subtract' op expects every axis of rhs, counted from the last, to be that of lhs or 1, got 8x1 and 2x9x64}}
  %r = hova.subtract %x, %p : tensor<2x9x64xf32>, tensor<8x1xf32>
  return
}

// -----

func.func @divide_c1_rhs_is_not_larger(%x: tensor<9x64xf32>, %p: tensor<2x9x64xf32>) {
  // expected-error@+1 {{'hova.divide' op expects every axis of rhs, counted from the last, to be that of lhs or 1, got 2x9x64 and 9x64}}
  %r = hova.divide %x, %p {swapped} : tensor<9x64xf32>, tensor<2x9x64xf32>
  return
}

// -----

func.func @softmax_c1_x_has_an_axis(%x: tensor<f32>) {
  // expected-error@+1 {{'hova.softmax' op expects x with a last axis, got a scalar}}
  %r = hova.softmax %x : tensor<f32>
  return
}

// -----

func.func @scale_c1_factor_is_finite(%x: tensor<2x9x64xf32>) {
  // expected-error@+1 {{'hova.scale' op expects a finite factor}}
  %r = hova.scale %x {factor = 0x7FF0000000000000 : f64} : tensor<2x9x64xf32>
  return
}

// -----

func.func @convert_c1_shape_stays(%x: tensor<2x9x64xf32>) {
  // expected-error@+1 {{'hova.convert' op expects a result of shape 2x9x64, got 2x9x32}}
  %r = hova.convert %x : tensor<2x9x64xf32> -> tensor<2x9x32xbf16>
  return
}

// -----

func.func @layer_norm_c1_heads_divide_width(%x: tensor<2x9x64xf32>) {
  // expected-error@+1 {{'hova.layer_norm' op expects a last dimension divisible by 3 heads, got 2x9x64}}
  %r = hova.layer_norm %x {eps = 1.0e-6 : f64, heads = 3 : i64} : tensor<2x9x64xf32>
  return
}

// -----

func.func @layer_norm_c2_bias_is_of_a_head(%x: tensor<2x9x64xf32>, %b: tensor<64xf32>) {
  // expected-error@+1 {{'hova.layer_norm' op expects gain and bias of the width of a head of x 2x9x64, got 64}}
  %r = hova.layer_norm %x bias(%b) {eps = 1.0e-6 : f64, heads = 4 : i64} : tensor<2x9x64xf32>, tensor<64xf32>
  return
}

// -----

func.func @layer_norm_c3_least_length_is_above_zero_in_f32(%x: tensor<2x9x64xf32>) {
  // expected-error@+1 {{'hova.layer_norm' op expects eps > 0 in f32, got 1.000000e-60}}
  %r = hova.layer_norm %x kind(l2) {eps = 1.0e-60 : f64} : tensor<2x9x64xf32>
  return
}

// -----

func.func @exp2_c1_offset_makes_smaller(%x: vector<8xf32>) {
  // expected-error@+1 {{'hova.exp2' op attribute 'offset' failed to satisfy constraint: 64-bit signless integer attribute whose minimum value is -64 whose maximum value is 0}}
  %y = hova.exp2 %x offset(1) : vector<8xf32>
  return
}
