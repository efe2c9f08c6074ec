// RUN: hova-opt %s --split-input-file --verify-diagnostics
// SPDX-License-Identifier: Apache-2.0

func.func @head_reweight_c1_heads_divide_width(%h: tensor<1x9x64xf32>, %x: tensor<1x9x32xf32>, %a1: tensor<16x16xf32>, %a2: tensor<32x16xf32>, %b: tensor<16xf32>) {
  // expected-error@+1 {{'hova.head_reweight' op expects heads_in and x [batch, tokens, width] with 3 heads}}
  %r = hova.head_reweight %h, %x, %a1, %a2, %b {heads = 3 : i64} : (tensor<1x9x64xf32>, tensor<1x9x32xf32>, tensor<16x16xf32>, tensor<32x16xf32>, tensor<16xf32>) -> tensor<1x9x64xf32>
  return
}

// -----

func.func @head_reweight_c2_head_weight_is_square(%h: tensor<1x9x64xf32>, %x: tensor<1x9x32xf32>, %a1: tensor<16x8xf32>, %a2: tensor<32x16xf32>, %b: tensor<16xf32>) {
  // expected-error@+1 {{'hova.head_reweight' op expects head_weight of shape 16x16, got 16x8}}
  %r = hova.head_reweight %h, %x, %a1, %a2, %b {heads = 4 : i64} : (tensor<1x9x64xf32>, tensor<1x9x32xf32>, tensor<16x8xf32>, tensor<32x16xf32>, tensor<16xf32>) -> tensor<1x9x64xf32>
  return
}

// -----

func.func @head_reweight_c3_input_weight_fits_x(%h: tensor<1x9x64xf32>, %x: tensor<1x9x32xf32>, %a1: tensor<16x16xf32>, %a2: tensor<16x16xf32>, %b: tensor<16xf32>) {
  // expected-error@+1 {{'hova.head_reweight' op expects input_weight of shape 32x16, got 16x16}}
  %r = hova.head_reweight %h, %x, %a1, %a2, %b {heads = 4 : i64} : (tensor<1x9x64xf32>, tensor<1x9x32xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16xf32>) -> tensor<1x9x64xf32>
  return
}

// -----

func.func @head_reweight_c4_score_weight_has_head_width(%h: tensor<1x9x64xf32>, %x: tensor<1x9x32xf32>, %a1: tensor<16x16xf32>, %a2: tensor<32x16xf32>, %b: tensor<8xf32>) {
  // expected-error@+1 {{'hova.head_reweight' op expects score_weight of shape 16}}
  %r = hova.head_reweight %h, %x, %a1, %a2, %b {heads = 4 : i64} : (tensor<1x9x64xf32>, tensor<1x9x32xf32>, tensor<16x16xf32>, tensor<32x16xf32>, tensor<8xf32>) -> tensor<1x9x64xf32>
  return
}

// -----

func.func @head_logits_c1_shift_has_hidden_width(%h: tensor<1x9x64xf32>, %s: tensor<1x9x8xf32>, %a: tensor<16x16xf32>, %b: tensor<16xf32>) {
  // expected-error@+1 {{'hova.head_logits' op expects heads_in [batch, tokens, heads*head_dim], shift}}
  %r = hova.head_logits %h, %s, %a, %b {heads = 4 : i64} : (tensor<1x9x64xf32>, tensor<1x9x8xf32>, tensor<16x16xf32>, tensor<16xf32>) -> tensor<1x9x4xf32>
  return
}

// -----

func.func @head_logits_c2_result_has_heads(%h: tensor<1x9x64xf32>, %s: tensor<1x9x16xf32>, %a: tensor<16x16xf32>, %b: tensor<16xf32>) {
  // expected-error@+1 {{'hova.head_logits' op expects a result of shape 1x9x4, got 1x9x8}}
  %r = hova.head_logits %h, %s, %a, %b {heads = 4 : i64} : (tensor<1x9x64xf32>, tensor<1x9x16xf32>, tensor<16x16xf32>, tensor<16xf32>) -> tensor<1x9x8xf32>
  return
}

// -----

func.func @scale_heads_c1_heads_divide_width(%h: tensor<1x9x64xf32>, %b: tensor<1x9x3xf32>) {
  // expected-error@+1 {{'hova.scale_heads' op expects heads_in [batch, tokens, heads*head_dim] and logits [batch, tokens, heads], got 1x9x64 and 1x9x3}}
  %r = hova.scale_heads %h, %b : tensor<1x9x64xf32>, tensor<1x9x3xf32>
  return
}

// -----

func.func @normalize_heads_c1_heads_divide_width(%x: tensor<1x9x64xf32>) {
  // expected-error@+1 {{'hova.normalize_heads' op expects a last dimension divisible by 3 heads, got 1x9x64}}
  %y = hova.normalize_heads %x {heads = 3 : i64, eps = 1.0e-12 : f64} : tensor<1x9x64xf32>
  return
}

// -----

func.func @normalize_heads_c2_gain_is_of_heads(%x: tensor<1x9x64xf32>, %g: tensor<3xf32>) {
  // expected-error@+1 {{'hova.normalize_heads' op expects a gain of shape 4, got 3}}
  %y = hova.normalize_heads %x gain(%g) {heads = 4 : i64, eps = 1.0e-12 : f64} : tensor<1x9x64xf32>, tensor<3xf32>
  return
}

// -----

func.func @normalize_heads_c3_eps_is_above_zero_in_f32(%x: tensor<1x9x64xf32>) {
  // expected-error@+1 {{'hova.normalize_heads' op expects eps > 0 in f32, got 1.000000e-60}}
  %y = hova.normalize_heads %x {heads = 4 : i64, eps = 1.0e-60 : f64} : tensor<1x9x64xf32>
  return
}

// -----

func.func @head_factors_c1_are_a_vector(%x: tensor<1x4xf32>) {
  // expected-error@+1 {{'hova.head_factors' op expects a vector with an element per head, got 1x4}}
  %y = hova.head_factors %x {most = 100.0 : f64} : tensor<1x4xf32>
  return
}

// -----

func.func @head_factors_c2_have_a_bound(%x: tensor<4xf32>) {
  // expected-error@+1 {{'hova.head_factors' op expects most to be positive and finite, got 0.000000e+00}}
  %y = hova.head_factors %x {most = 0.0 : f64} : tensor<4xf32>
  return
}

// -----

func.func @channel_gate_c1_x_and_y_share_tokens(%y: tensor<1x9x32xf32>, %x: tensor<1x8x24xf32>, %u1: tensor<24x8xf32>, %u2: tensor<32x8xf32>, %u: tensor<8x32xf32>) {
  // expected-error@+1 {{'hova.channel_gate' op expects y and x to share [batch, tokens], got 1x9x32 and 1x8x24}}
  %r = hova.channel_gate %y, %x, %u1, %u2, %u : (tensor<1x9x32xf32>, tensor<1x8x24xf32>, tensor<24x8xf32>, tensor<32x8xf32>, tensor<8x32xf32>) -> tensor<1x9x32xf32>
  return
}

// -----

func.func @channel_gate_c2_output_weight_fits_y(%y: tensor<1x9x32xf32>, %x: tensor<1x9x24xf32>, %u1: tensor<24x8xf32>, %u2: tensor<24x8xf32>, %u: tensor<8x32xf32>) {
  // expected-error@+1 {{'hova.channel_gate' op expects input_weight 24x8 and output_weight 32x8, got 24x8 and 24x8}}
  %r = hova.channel_gate %y, %x, %u1, %u2, %u : (tensor<1x9x32xf32>, tensor<1x9x24xf32>, tensor<24x8xf32>, tensor<24x8xf32>, tensor<8x32xf32>) -> tensor<1x9x32xf32>
  return
}

// -----

func.func @channel_gate_c3_gate_has_width_of_y(%y: tensor<1x9x32xf32>, %x: tensor<1x9x24xf32>, %u1: tensor<24x8xf32>, %u2: tensor<32x8xf32>, %u: tensor<8x24xf32>) {
  // expected-error@+1 {{'hova.channel_gate' op expects gate_weight 8x32}}
  %r = hova.channel_gate %y, %x, %u1, %u2, %u : (tensor<1x9x32xf32>, tensor<1x9x24xf32>, tensor<24x8xf32>, tensor<32x8xf32>, tensor<8x24xf32>) -> tensor<1x9x32xf32>
  return
}

// -----

func.func @head_logits_c3_score_bias_is_one_number(%h: tensor<1x9x64xf32>, %s: tensor<1x9x16xf32>, %a: tensor<16x16xf32>, %b: tensor<16xf32>, %c: tensor<4xf32>) {
  // expected-error@+1 {{'hova.head_logits' op expects a score_bias of shape 1, got 4}}
  %r = hova.head_logits %h, %s, %a, %b score_bias(%c) {heads = 4 : i64} : (tensor<1x9x64xf32>, tensor<1x9x16xf32>, tensor<16x16xf32>, tensor<16xf32>, tensor<4xf32>) -> tensor<1x9x4xf32>
  return
}
