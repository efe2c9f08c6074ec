// RUN: hova-opt %s --split-input-file --verify-diagnostics
// SPDX-License-Identifier: Apache-2.0

func.func @attention_c1_operands_share_batch(%q: tensor<2x9x64xf32>, %k: tensor<1x7x64xf32>, %v: tensor<1x7x96xf32>) {
  // expected-error@+1 {{'hova.attention' op expects query [batch, q_len, width], key and value [batch, kv_len, width], got 2x9x64, 1x7x64 and 1x7x96}}
  %r = hova.attention softmax %q, %k, %v {heads = 4 : i64} : (tensor<2x9x64xf32>, tensor<1x7x64xf32>, tensor<1x7x96xf32>) -> tensor<2x9x96xf32>
  return
}

// -----

func.func @attention_c1_key_and_value_share_length(%q: tensor<1x9x64xf32>, %k: tensor<1x7x64xf32>, %v: tensor<1x8x96xf32>) {
  // expected-error@+1 {{'hova.attention' op expects query [batch, q_len, width]}}
  %r = hova.attention softmax %q, %k, %v {heads = 4 : i64} : (tensor<1x9x64xf32>, tensor<1x7x64xf32>, tensor<1x8x96xf32>) -> tensor<1x9x96xf32>
  return
}

// -----

func.func @attention_c2_heads_divide_widths(%q: tensor<1x9x64xf32>, %k: tensor<1x7x64xf32>, %v: tensor<1x7x98xf32>) {
  // expected-error@+1 {{'hova.attention' op expects widths divisible by 4 heads, got 64, 64 and 98}}
  %r = hova.attention softmax %q, %k, %v {heads = 4 : i64} : (tensor<1x9x64xf32>, tensor<1x7x64xf32>, tensor<1x7x98xf32>) -> tensor<1x9x98xf32>
  return
}

// -----

func.func @attention_c3_query_and_key_share_width(%q: tensor<1x9x64xf32>, %k: tensor<1x7x32xf32>, %v: tensor<1x7x96xf32>) {
  // expected-error@+1 {{'hova.attention' op expects query and key to share their width, got 64 and 32}}
  %r = hova.attention softmax %q, %k, %v {heads = 4 : i64} : (tensor<1x9x64xf32>, tensor<1x7x32xf32>, tensor<1x7x96xf32>) -> tensor<1x9x96xf32>
  return
}

// -----

func.func @attention_c4_result_has_value_width(%q: tensor<1x9x64xf32>, %k: tensor<1x7x64xf32>, %v: tensor<1x7x96xf32>) {
  // expected-error@+1 {{'hova.attention' op expects a result of shape 1x9x96, got 1x9x64}}
  %r = hova.attention softmax %q, %k, %v {heads = 4 : i64} : (tensor<1x9x64xf32>, tensor<1x7x64xf32>, tensor<1x7x96xf32>) -> tensor<1x9x64xf32>
  return
}

// -----

func.func @attention_c5_additive_has_a_score_vector(%q: tensor<1x9x64xf32>, %k: tensor<1x7x64xf32>, %v: tensor<1x7x96xf32>) {
  // expected-error@+1 {{'hova.attention' op expects score_vector exactly for additive attention}}
  %r = hova.attention additive %q, %k, %v {heads = 4 : i64} : (tensor<1x9x64xf32>, tensor<1x7x64xf32>, tensor<1x7x96xf32>) -> tensor<1x9x96xf32>
  return
}

// -----

func.func @attention_c5_softmax_has_none(%q: tensor<1x9x64xf32>, %k: tensor<1x7x64xf32>, %v: tensor<1x7x96xf32>, %w: tensor<64xf32>) {
  // expected-error@+1 {{'hova.attention' op expects score_vector exactly for additive attention}}
  %r = hova.attention softmax %q, %k, %v score_vector(%w) {heads = 4 : i64} : (tensor<1x9x64xf32>, tensor<1x7x64xf32>, tensor<1x7x96xf32>, tensor<64xf32>) -> tensor<1x9x96xf32>
  return
}

// -----

func.func @attention_c6_bias_broadcasts(%q: tensor<1x9x64xf32>, %k: tensor<1x7x64xf32>, %v: tensor<1x7x96xf32>, %b: tensor<1x3x1x7xf32>) {
  // expected-error@+1 {{'hova.attention' op expects score_bias and mask to broadcast to 1x4x9x7, got 1x3x1x7}}
  %r = hova.attention softmax %q, %k, %v score_bias(%b) {heads = 4 : i64} : (tensor<1x9x64xf32>, tensor<1x7x64xf32>, tensor<1x7x96xf32>, tensor<1x3x1x7xf32>) -> tensor<1x9x96xf32>
  return
}

// -----

func.func @attention_c6_mask_has_all_keys(%q: tensor<1x9x64xf32>, %k: tensor<1x7x64xf32>, %v: tensor<1x7x96xf32>, %m: tensor<1x1x9x1xi1>) {
  // expected-error@+1 {{'hova.attention' op expects score_bias and mask to broadcast to 1x4x9x7, got 1x1x9x1}}
  %r = hova.attention softmax %q, %k, %v mask(%m) {heads = 4 : i64} : (tensor<1x9x64xf32>, tensor<1x7x64xf32>, tensor<1x7x96xf32>, tensor<1x1x9x1xi1>) -> tensor<1x9x96xf32>
  return
}

// -----

func.func @attention_c7_key_valid_has_all_keys(%q: tensor<1x9x64xf32>, %k: tensor<1x7x64xf32>, %v: tensor<1x7x96xf32>, %valid: tensor<1x9xi1>) {
  // expected-error@+1 {{'hova.attention' op expects key_valid of shape 1x7, got 1x9}}
  %r = hova.attention softmax %q, %k, %v key_valid(%valid) {heads = 4 : i64} : (tensor<1x9x64xf32>, tensor<1x7x64xf32>, tensor<1x7x96xf32>, tensor<1x9xi1>) -> tensor<1x9x96xf32>
  return
}

// -----

func.func @attention_c8_causal_is_positive(%q: tensor<1x9x64xf32>, %k: tensor<1x7x64xf32>, %v: tensor<1x7x96xf32>) {
  // expected-error@+1 {{'hova.attention' op expects causal to be positive, got 0}}
  %r = hova.attention softmax %q, %k, %v {causal = 0 : i64, heads = 4 : i64} : (tensor<1x9x64xf32>, tensor<1x7x64xf32>, tensor<1x7x96xf32>) -> tensor<1x9x96xf32>
  return
}

// -----

func.func @attention_c9_additive_has_no_scale(%q: tensor<1x9x64xf32>, %k: tensor<1x7x64xf32>, %v: tensor<1x7x96xf32>, %w: tensor<64xf32>) {
  // expected-error@+1 {{'hova.attention' op expects a finite scale, 1 for additive attention}}
  %r = hova.attention additive %q, %k, %v score_vector(%w) {heads = 4 : i64, scale = 0.5 : f64} : (tensor<1x9x64xf32>, tensor<1x7x64xf32>, tensor<1x7x96xf32>, tensor<64xf32>) -> tensor<1x9x96xf32>
  return
}

// -----

func.func @attention_c9_scale_is_finite(%q: tensor<1x9x64xf32>, %k: tensor<1x7x64xf32>, %v: tensor<1x7x96xf32>) {
  // expected-error@+1 {{'hova.attention' op expects a finite scale, 1 for additive attention}}
  %r = hova.attention softmax %q, %k, %v {heads = 4 : i64, scale = 0x7FF0000000000000 : f64} : (tensor<1x9x64xf32>, tensor<1x7x64xf32>, tensor<1x7x96xf32>) -> tensor<1x9x96xf32>
  return
}

// -----

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

// -----

func.func @attention_c10_bias_index_divides_the_batch(%q: tensor<3x9x64xf32>, %b: tensor<2x1x1x9xf32>, %i: tensor<2xi32>) {
  // expected-error@+1 {{'hova.attention' op expects bias_index with a score_bias and a size that divides the batch, got 2 for a batch of 3}}
  %o = hova.attention softmax %q, %q, %q score_bias(%b) bias_index(%i) {heads = 4 : i64}
      : (tensor<3x9x64xf32>, tensor<3x9x64xf32>, tensor<3x9x64xf32>, tensor<2x1x1x9xf32>, tensor<2xi32>) -> tensor<3x9x64xf32>
  return
}

// -----

func.func @attention_c10_bias_index_needs_a_bias(%q: tensor<2x9x64xf32>, %i: tensor<2xi32>) {
  // expected-error@+1 {{'hova.attention' op expects bias_index with a score_bias and a size that divides the batch, got 2 for a batch of 2}}
  %o = hova.attention softmax %q, %q, %q bias_index(%i) {heads = 4 : i64}
      : (tensor<2x9x64xf32>, tensor<2x9x64xf32>, tensor<2x9x64xf32>, tensor<2xi32>) -> tensor<2x9x64xf32>
  return
}

// -----

func.func @attention_c11_slots_have_the_widths(%q: tensor<2x9x64xf32>, %k: tensor<5x32xf32>, %v: tensor<5x64xf32>) {
  // expected-error@+1 {{'hova.attention' op expects memory_key and memory_value [slots, width] with the widths of key and value, got 5x32 and 5x64}}
  %o = hova.attention softmax %q, %q, %q memory(%k, %v) {heads = 4 : i64}
      : (tensor<2x9x64xf32>, tensor<2x9x64xf32>, tensor<2x9x64xf32>, tensor<5x32xf32>, tensor<5x64xf32>) -> tensor<2x9x64xf32>
  return
}

// -----

func.func @attention_c11_as_many_keys_as_values(%q: tensor<2x9x64xf32>, %k: tensor<5x64xf32>, %v: tensor<4x64xf32>) {
  // expected-error@+1 {{'hova.attention' op expects memory_key and memory_value [slots, width] with the widths of key and value, got 5x64 and 4x64}}
  %o = hova.attention softmax %q, %q, %q memory(%k, %v) {heads = 4 : i64}
      : (tensor<2x9x64xf32>, tensor<2x9x64xf32>, tensor<2x9x64xf32>, tensor<5x64xf32>, tensor<4x64xf32>) -> tensor<2x9x64xf32>
  return
}

// -----

func.func @attention_c11_has_a_slot(%q: tensor<2x9x64xf32>, %k: tensor<0x64xf32>) {
  // expected-error@+1 {{'hova.attention' op expects memory_key and memory_value [slots, width] with the widths of key and value, got 0x64 and 0x64}}
  %o = hova.attention softmax %q, %q, %q memory(%k, %k) {heads = 4 : i64}
      : (tensor<2x9x64xf32>, tensor<2x9x64xf32>, tensor<2x9x64xf32>, tensor<0x64xf32>, tensor<0x64xf32>) -> tensor<2x9x64xf32>
  return
}

// -----

func.func @attention_c12_a_score_for_each_pair(%q: tensor<2x9x64xf32>) {
  // expected-error@+1 {{'hova.attention' op expects scores 2x4x9x9 of f32, got 'tensor<2x4x9x8xf32>'}}
  %o:2 = hova.attention softmax %q, %q, %q {heads = 4 : i64}
      : (tensor<2x9x64xf32>, tensor<2x9x64xf32>, tensor<2x9x64xf32>) -> (tensor<2x9x64xf32>, tensor<2x4x9x8xf32>)
  return
}

// -----

func.func @attention_c12_scores_are_exact(%q: tensor<2x9x64xf32>) {
  // expected-error@+1 {{'hova.attention' op expects scores 2x4x9x9 of f32, got 'tensor<2x4x9x9xbf16>'}}
  %o:2 = hova.attention softmax %q, %q, %q {heads = 4 : i64}
      : (tensor<2x9x64xf32>, tensor<2x9x64xf32>, tensor<2x9x64xf32>) -> (tensor<2x9x64xf32>, tensor<2x4x9x9xbf16>)
  return
}

// -----

func.func @attention_c13_temperature_is_positive(%q: tensor<2x9x64xf32>) {
  // expected-error@+1 {{'hova.attention' op expects a finite and positive temperature, got 0}}
  %o = hova.attention softmax %q, %q, %q {heads = 4 : i64, temperature = 0.0 : f64}
      : (tensor<2x9x64xf32>, tensor<2x9x64xf32>, tensor<2x9x64xf32>) -> tensor<2x9x64xf32>
  return
}
