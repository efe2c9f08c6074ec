// RUN: hova-opt %s --verify-roundtrip | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// CHECK-LABEL: @attends
// CHECK: hova.attention %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} {heads = 4 : i64} : (tensor<1x9x64xf32>, tensor<1x7x64xf32>, tensor<1x7x96xf32>) -> tensor<1x9x96xf32> scores {
// CHECK-NEXT: ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
// CHECK-NEXT: %[[SCALE:.*]] = hova.number 2.500000e-01
// CHECK-NEXT: %[[SCALED:.*]] = arith.mulf %raw, %[[SCALE]] : f32
// CHECK-NEXT: %[[ALL:.*]] = arith.constant true
// CHECK-NEXT: hova.score_yield %[[SCALED]] kept %[[ALL]]
// CHECK-NEXT: }
func.func @attends(%q: tensor<1x9x64xf32>, %k: tensor<1x7x64xf32>, %v: tensor<1x7x96xf32>) -> tensor<1x9x96xf32> {
  %r = hova.attention %q, %k, %v
      {heads = 4 : i64}
      : (tensor<1x9x64xf32>, tensor<1x7x64xf32>, tensor<1x7x96xf32>) -> tensor<1x9x96xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %scale = hova.number 2.500000e-01
    %scaled = arith.mulf %raw, %scale : f32
    %all = arith.constant true
    hova.score_yield %scaled kept %all
  }
  return %r : tensor<1x9x96xf32>
}

// CHECK-LABEL: @attends_additively
// CHECK: hova.attention %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} similarity(#hova.additive) score_vector(%{{[a-z0-9_]+}}) {heads = 4 : i64} : (tensor<1x9x64xf32>, tensor<1x7x64xf32>, tensor<1x7x96xf32>, tensor<64xf32>) -> tensor<1x9x96xf32>
func.func @attends_additively(%q: tensor<1x9x64xf32>, %k: tensor<1x7x64xf32>, %v: tensor<1x7x96xf32>, %w: tensor<64xf32>) -> tensor<1x9x96xf32> {
  %r = hova.attention %q, %k, %v similarity(#hova.additive) score_vector(%w)
      {heads = 4 : i64}
      : (tensor<1x9x64xf32>, tensor<1x7x64xf32>, tensor<1x7x96xf32>, tensor<64xf32>) -> tensor<1x9x96xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all
  }
  return %r : tensor<1x9x96xf32>
}

// CHECK-LABEL: @attends_with_biases_and_masks
// CHECK: hova.attention %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} captured(%{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}) {empty_row = #hova<empty_row uniform>, heads = 4 : i64} : (tensor<1x9x64xf32>, tensor<1x7x64xf32>, tensor<1x7x96xf32>, tensor<1x4x1x7xf32>, tensor<1x1x9x7xi1>, tensor<1x7xi1>) -> tensor<1x9x96xf32> scores {
// CHECK-NEXT: ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index, %[[BIAS:.*]]: tensor<1x4x1x7xf32>, %[[MASK:.*]]: tensor<1x1x9x7xi1>, %[[VALID:.*]]: tensor<1x7xi1>):
// CHECK: hova.element %[[BIAS]][%[[ZERO:.*]], %head, %[[ZERO]], %key] : tensor<1x4x1x7xf32>
// CHECK: hova.element %[[VALID]][%batch, %key] : tensor<1x7xi1>
// CHECK: hova.element %[[MASK]][%[[ZERO]], %[[ZERO]], %query, %key] : tensor<1x1x9x7xi1>
func.func @attends_with_biases_and_masks(%q: tensor<1x9x64xf32>, %k: tensor<1x7x64xf32>, %v: tensor<1x7x96xf32>, %b: tensor<1x4x1x7xf32>, %m: tensor<1x1x9x7xi1>, %valid: tensor<1x7xi1>) -> tensor<1x9x96xf32> {
  %r = hova.attention %q, %k, %v captured(%b, %m, %valid)
      {empty_row = #hova<empty_row uniform>, heads = 4 : i64}
      : (tensor<1x9x64xf32>, tensor<1x7x64xf32>, tensor<1x7x96xf32>, tensor<1x4x1x7xf32>, tensor<1x1x9x7xi1>, tensor<1x7xi1>) -> tensor<1x9x96xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index, %bias: tensor<1x4x1x7xf32>, %mask: tensor<1x1x9x7xi1>, %not_padding: tensor<1x7xi1>):
    %zero = arith.constant 0 : index
    %added = hova.element %bias[%zero, %head, %zero, %key] : tensor<1x4x1x7xf32>
    %biased = arith.addf %raw, %added : f32
    %shift = arith.constant -2 : index
    %position = arith.addi %query, %shift : index
    %not_later = arith.cmpi sle, %key, %position : index
    %is_valid = hova.element %not_padding[%batch, %key] : tensor<1x7xi1>
    %seen = arith.andi %not_later, %is_valid : i1
    %is_kept = hova.element %mask[%zero, %zero, %query, %key] : tensor<1x1x9x7xi1>
    %both = arith.andi %seen, %is_kept : i1
    hova.score_yield %biased kept %both
  }
  return %r : tensor<1x9x96xf32>
}

// CHECK-LABEL: @attends_over_unknown_lengths
// CHECK: hova.attention %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} {heads = 4 : i64} : (tensor<?x?x64xf32>, tensor<?x?x64xf32>, tensor<?x?x96xf32>) -> tensor<?x?x96xf32>
func.func @attends_over_unknown_lengths(%q: tensor<?x?x64xf32>, %k: tensor<?x?x64xf32>, %v: tensor<?x?x96xf32>) -> tensor<?x?x96xf32> {
  %r = hova.attention %q, %k, %v
      {heads = 4 : i64}
      : (tensor<?x?x64xf32>, tensor<?x?x64xf32>, tensor<?x?x96xf32>) -> tensor<?x?x96xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all
  }
  return %r : tensor<?x?x96xf32>
}

// CHECK-LABEL: @reweights_heads
// CHECK: hova.head_reweight %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} {heads = 4 : i64} : (tensor<1x9x64xf32>, tensor<1x9x32xf32>, tensor<16x16xf32>, tensor<32x16xf32>, tensor<16xf32>) -> tensor<1x9x64xf32>
func.func @reweights_heads(%h: tensor<1x9x64xf32>, %x: tensor<1x9x32xf32>, %a1: tensor<16x16xf32>, %a2: tensor<32x16xf32>, %b: tensor<16xf32>) -> tensor<1x9x64xf32> {
  %r = hova.head_reweight %h, %x, %a1, %a2, %b {heads = 4 : i64} : (tensor<1x9x64xf32>, tensor<1x9x32xf32>, tensor<16x16xf32>, tensor<32x16xf32>, tensor<16xf32>) -> tensor<1x9x64xf32>
  return %r : tensor<1x9x64xf32>
}

// CHECK-LABEL: @reweights_heads_with_a_bias
// CHECK: hova.head_reweight %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} score_bias(%{{[a-z0-9_]+}}) {heads = 4 : i64} : (tensor<1x9x64xf32>, tensor<1x9x32xf32>, tensor<16x16xf32>, tensor<32x16xf32>, tensor<16xf32>, tensor<1xf32>) -> tensor<1x9x64xf32>
func.func @reweights_heads_with_a_bias(%h: tensor<1x9x64xf32>, %x: tensor<1x9x32xf32>, %a1: tensor<16x16xf32>, %a2: tensor<32x16xf32>, %b: tensor<16xf32>, %c: tensor<1xf32>) -> tensor<1x9x64xf32> {
  %r = hova.head_reweight %h, %x, %a1, %a2, %b score_bias(%c) {heads = 4 : i64} : (tensor<1x9x64xf32>, tensor<1x9x32xf32>, tensor<16x16xf32>, tensor<32x16xf32>, tensor<16xf32>, tensor<1xf32>) -> tensor<1x9x64xf32>
  return %r : tensor<1x9x64xf32>
}

// CHECK-LABEL: @scores_heads
// CHECK: hova.head_logits %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} {heads = 4 : i64} : (tensor<1x9x64xf32>, tensor<1x9x16xf32>, tensor<16x16xf32>, tensor<16xf32>) -> tensor<1x9x4xf32>
func.func @scores_heads(%h: tensor<1x9x64xf32>, %s: tensor<1x9x16xf32>, %a: tensor<16x16xf32>, %b: tensor<16xf32>) -> tensor<1x9x4xf32> {
  %r = hova.head_logits %h, %s, %a, %b {heads = 4 : i64} : (tensor<1x9x64xf32>, tensor<1x9x16xf32>, tensor<16x16xf32>, tensor<16xf32>) -> tensor<1x9x4xf32>
  return %r : tensor<1x9x4xf32>
}

// CHECK-LABEL: @scales_heads
// CHECK: hova.scale_heads %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} : tensor<1x9x64xf32>, tensor<1x9x4xf32>
func.func @scales_heads(%h: tensor<1x9x64xf32>, %b: tensor<1x9x4xf32>) -> tensor<1x9x64xf32> {
  %r = hova.scale_heads %h, %b : tensor<1x9x64xf32>, tensor<1x9x4xf32>
  return %r : tensor<1x9x64xf32>
}

// CHECK-LABEL: @normalizes_heads
func.func @normalizes_heads(%q: tensor<1x9x64xf32>, %k: tensor<7x64xbf16>, %t: tensor<4xf32>) -> (tensor<1x9x64xf32>, tensor<7x64xbf16>) {
  // CHECK: %[[FACTORS:.*]] = hova.head_factors %{{.*}} {most = 1.000000e+02 : f64} : tensor<4xf32>
  %f = hova.head_factors %t {most = 100.0 : f64} : tensor<4xf32>
  // CHECK: hova.normalize_heads %{{.*}} gain(%[[FACTORS]]) {eps = {{.*}} : f64, heads = 4 : i64} : tensor<1x9x64xf32>, tensor<4xf32>
  %a = hova.normalize_heads %q gain(%f) {heads = 4 : i64, eps = 1.0e-12 : f64} : tensor<1x9x64xf32>, tensor<4xf32>
  // CHECK: hova.normalize_heads %{{.*}} {eps = {{.*}} : f64, heads = 8 : i64} : tensor<7x64xbf16>
  %b = hova.normalize_heads %k {heads = 8 : i64, eps = 1.0e-12 : f64} : tensor<7x64xbf16>
  return %a, %b : tensor<1x9x64xf32>, tensor<7x64xbf16>
}

// CHECK-LABEL: @gates_channels
// CHECK: hova.channel_gate %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} gate_bias(%{{[a-z0-9_]+}}) : (tensor<1x9x32xf32>, tensor<1x9x24xf32>, tensor<24x8xf32>, tensor<32x8xf32>, tensor<8x32xf32>, tensor<32xf32>) -> tensor<1x9x32xf32>
func.func @gates_channels(%y: tensor<1x9x32xf32>, %x: tensor<1x9x24xf32>, %u1: tensor<24x8xf32>, %u2: tensor<32x8xf32>, %u: tensor<8x32xf32>, %g: tensor<32xf32>) -> tensor<1x9x32xf32> {
  %r = hova.channel_gate %y, %x, %u1, %u2, %u gate_bias(%g) : (tensor<1x9x32xf32>, tensor<1x9x24xf32>, tensor<24x8xf32>, tensor<32x8xf32>, tensor<8x32xf32>, tensor<32xf32>) -> tensor<1x9x32xf32>
  return %r : tensor<1x9x32xf32>
}

// CHECK-LABEL: @scores_heads_with_a_bias
// CHECK: hova.head_logits %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} score_bias(%{{[a-z0-9_]+}}) {heads = 4 : i64}
func.func @scores_heads_with_a_bias(%h: tensor<1x9x64xf32>, %s: tensor<1x9x16xf32>, %a: tensor<16x16xf32>, %b: tensor<16xf32>, %c: tensor<1xf32>) -> tensor<1x9x4xf32> {
  %r = hova.head_logits %h, %s, %a, %b score_bias(%c) {heads = 4 : i64} : (tensor<1x9x64xf32>, tensor<1x9x16xf32>, tensor<16x16xf32>, tensor<16xf32>, tensor<1xf32>) -> tensor<1x9x4xf32>
  return %r : tensor<1x9x4xf32>
}

// CHECK-LABEL: @attends_to_a_memory
// CHECK: hova.attention %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} memory(%{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}) {heads = 4 : i64}
func.func @attends_to_a_memory(%q: tensor<2x9x64xf32>, %m: tensor<5x64xf32>) -> tensor<2x9x64xf32> {
  %r = hova.attention %q, %q, %q memory(%m, %m)
      {heads = 4 : i64}
      : (tensor<2x9x64xf32>, tensor<2x9x64xf32>, tensor<2x9x64xf32>, tensor<5x64xf32>, tensor<5x64xf32>) -> tensor<2x9x64xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all
  }
  return %r : tensor<2x9x64xf32>
}

// CHECK-LABEL: @gives_scores
// CHECK: hova.attention %{{.*}} {heads = 4 : i64} : {{.*}} -> (tensor<2x9x64xf32>, tensor<2x4x9x9xf32>) scores {
// CHECK: %[[TEMPERED:.*]] = arith.divf %raw, %{{.*}} : f32
// CHECK: hova.score_yield %[[TEMPERED]] kept %{{.*}} carried %raw
func.func @gives_scores(%q: tensor<2x9x64xf32>) -> tensor<2x4x9x9xf32> {
  %r:2 = hova.attention %q, %q, %q
      {heads = 4 : i64}
      : (tensor<2x9x64xf32>, tensor<2x9x64xf32>, tensor<2x9x64xf32>) -> (tensor<2x9x64xf32>, tensor<2x4x9x9xf32>) scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %temperature = hova.number 2.0
    %tempered = arith.divf %raw, %temperature : f32
    %all = arith.constant true
    hova.score_yield %tempered kept %all carried %raw
  }
  return %r#1 : tensor<2x4x9x9xf32>
}
