// RUN: hova-opt %s --split-input-file --hova-decompose-compound | FileCheck %s
// RUN: hova-opt %s --split-input-file --hova-decompose-compound --hova-decompose-compound | FileCheck %s
// RUN: hova-opt %s --split-input-file --hova-decompose-compound --cse | FileCheck %s --check-prefix=SHARED
// SPDX-License-Identifier: Apache-2.0
//
// That the numbers stay the same is checked by codegen/reference/DecomposeTest.

// CHECK-LABEL: @writes_patches_as_a_linear
// CHECK-SAME: %[[IMAGE:.*]]: tensor<1x3x32x32xf32>, %[[WEIGHT:.*]]: tensor<768x64xf32>, %[[BIAS:.*]]: tensor<64xf32>
// CHECK-NEXT: %[[ROWS:.*]] = hova.unfold %[[IMAGE]] {{{.*}}kernel = array<i64: 16, 16>, stride = array<i64: 16, 16>}
// CHECK-NEXT: %[[Y:.*]] = hova.linear %[[ROWS]], %[[WEIGHT]] bias(%[[BIAS]])
// CHECK-NEXT: return %[[Y]]
func.func @writes_patches_as_a_linear(%i: tensor<1x3x32x32xf32>, %w: tensor<768x64xf32>, %b: tensor<64xf32>) -> tensor<1x4x64xf32> {
  %y = hova.patch_embedding %i, %w bias(%b) {patch = 16 : i64}
      : tensor<1x3x32x32xf32>, tensor<768x64xf32>, tensor<64xf32> -> tensor<1x4x64xf32>
  return %y : tensor<1x4x64xf32>
}

// -----

// CHECK-LABEL: @writes_horizontal_attention_as_scores_and_scaling
// CHECK-SAME: %[[H:.*]]: tensor<1x9x64xf32>, %[[X:.*]]: tensor<1x9x32xf32>, %[[A1:.*]]: tensor<16x16xf32>, %[[A2:.*]]: tensor<32x16xf32>, %[[B:.*]]: tensor<16xf32>
// CHECK-NEXT: %[[SHIFT:.*]] = hova.linear %[[X]], %[[A2]]
// CHECK-NEXT: %[[LOGITS:.*]] = hova.head_logits %[[H]], %[[SHIFT]], %[[A1]], %[[B]] {heads = 4 : i64
// CHECK-NEXT: %[[Y:.*]] = hova.scale_heads %[[H]], %[[LOGITS]]
// CHECK-NEXT: return %[[Y]]
func.func @writes_horizontal_attention_as_scores_and_scaling(%h: tensor<1x9x64xf32>, %x: tensor<1x9x32xf32>,
    %a1: tensor<16x16xf32>, %a2: tensor<32x16xf32>, %b: tensor<16xf32>) -> tensor<1x9x64xf32> {
  %y = hova.head_reweight %h, %x, %a1, %a2, %b {heads = 4 : i64}
      : (tensor<1x9x64xf32>, tensor<1x9x32xf32>, tensor<16x16xf32>, tensor<32x16xf32>, tensor<16xf32>) -> tensor<1x9x64xf32>
  return %y : tensor<1x9x64xf32>
}

// -----

// CHECK-LABEL: @writes_vertical_attention_as_a_gate
// CHECK-SAME: %[[Y:.*]]: tensor<1x9x32xf32>, %[[X:.*]]: tensor<1x9x24xf32>
// CHECK-DAG: %[[UX:.*]] = hova.linear %[[X]]
// CHECK-DAG: %[[UY:.*]] = hova.linear %[[Y]]
// CHECK: %[[SUM:.*]] = hova.add
// CHECK: %[[U:.*]] = hova.activation relu %[[SUM]]
// CHECK: %[[G:.*]] = hova.linear %[[U]]
// CHECK: %[[BETA:.*]] = hova.activation sigmoid %[[G]]
// CHECK: hova.multiply
func.func @writes_vertical_attention_as_a_gate(%y: tensor<1x9x32xf32>, %x: tensor<1x9x24xf32>, %u1: tensor<24x8xf32>,
    %u2: tensor<32x8xf32>, %u: tensor<8x32xf32>, %b: tensor<32xf32>) -> tensor<1x9x32xf32> {
  %r = hova.channel_gate %y, %x, %u1, %u2, %u gate_bias(%b)
      : (tensor<1x9x32xf32>, tensor<1x9x24xf32>, tensor<24x8xf32>, tensor<32x8xf32>, tensor<8x32xf32>, tensor<32xf32>) -> tensor<1x9x32xf32>
  return %r : tensor<1x9x32xf32>
}

// -----

// CHECK-LABEL: @leaves_simple_operations_alone
// CHECK-NEXT: hova.activation
// CHECK-NEXT: return
func.func @leaves_simple_operations_alone(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %y = hova.activation tanh %x : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

// CHECK-LABEL: @keeps_the_bias_of_head_scores
// CHECK: hova.head_logits %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} score_bias(%arg5) {heads = 4 : i64
func.func @keeps_the_bias_of_head_scores(%h: tensor<1x9x64xf32>, %x: tensor<1x9x32xf32>,
    %a1: tensor<16x16xf32>, %a2: tensor<32x16xf32>, %b: tensor<16xf32>, %c: tensor<1xf32>) -> tensor<1x9x64xf32> {
  %y = hova.head_reweight %h, %x, %a1, %a2, %b score_bias(%c) {heads = 4 : i64}
      : (tensor<1x9x64xf32>, tensor<1x9x32xf32>, tensor<16x16xf32>, tensor<32x16xf32>, tensor<16xf32>, tensor<1xf32>) -> tensor<1x9x64xf32>
  return %y : tensor<1x9x64xf32>
}

// -----

// The parts are the site that the whole was, with what was demanded of it; the
// rest is a site of its own or none.
// CHECK-LABEL: @keeps_the_site_of_what_it_writes
// CHECK: hova.layer_norm %{{[a-z0-9_.]*}} {eps = {{[^,]*}}} :
// CHECK: hova.linear {{.*}}{hova.require = "fused", hova.site = {kind = "reweight", path = "attn.horizontal"}}
// CHECK: hova.head_logits {{.*}}hova.require = "fused", hova.site = {kind = "reweight", path = "attn.horizontal"}
// CHECK: hova.scale_heads {{.*}}hova.require = "fused", hova.site = {kind = "reweight", path = "attn.horizontal"}
// CHECK: hova.activation relu %{{[a-z0-9_.]*}} :
func.func @keeps_the_site_of_what_it_writes(%h: tensor<1x9x64xf32>, %x: tensor<1x9x32xf32>,
    %a1: tensor<16x16xf32>, %a2: tensor<32x16xf32>, %b: tensor<16xf32>) -> tensor<1x9x64xf32> {
  %n = hova.layer_norm %x {eps = 1.0e-6 : f64} : tensor<1x9x32xf32>
  %y = hova.head_reweight %h, %n, %a1, %a2, %b {heads = 4 : i64, hova.require = "fused"}
      : (tensor<1x9x64xf32>, tensor<1x9x32xf32>, tensor<16x16xf32>, tensor<32x16xf32>, tensor<16xf32>) -> tensor<1x9x64xf32> loc("attn.horizontal")
  %z = hova.activation relu %y : tensor<1x9x64xf32>
  return %z : tensor<1x9x64xf32>
}

// -----

// A part of a larger site stays one.
// CHECK-LABEL: @keeps_a_larger_site
// CHECK-COUNT-3: hova.site = {kind = "block", path = "omni"}
func.func @keeps_a_larger_site(%h: tensor<1x9x64xf32>, %x: tensor<1x9x32xf32>,
    %a1: tensor<16x16xf32>, %a2: tensor<32x16xf32>, %b: tensor<16xf32>) -> tensor<1x9x64xf32> {
  %y = hova.head_reweight %h, %x, %a1, %a2, %b {heads = 4 : i64, hova.site = {kind = "block", path = "omni"}}
      : (tensor<1x9x64xf32>, tensor<1x9x32xf32>, tensor<16x16xf32>, tensor<32x16xf32>, tensor<16xf32>) -> tensor<1x9x64xf32>
  return %y : tensor<1x9x64xf32>
}

// -----

// CHECK-LABEL: @takes_keys_for_values_that_nobody_reads
// CHECK-SAME: %[[Q:.*]]: tensor<1x3x8xf32>, %[[K:.*]]: tensor<1x4x8xf32>, %[[V:.*]]: tensor<1x4x6xf32>, %[[BIAS:.*]]: tensor<1x1x3x4xf32>
// CHECK-NEXT: %[[BOTH:.*]]:2 = hova.attention %[[Q]], %[[K]], %[[K]] captured(%[[BIAS]]) {
// CHECK-SAME: heads = 2 : i64} :
// CHECK-SAME: -> (tensor<1x3x8xf32>, tensor<1x2x3x4xf32>) scores {
// CHECK-NEXT: ^bb0(%[[RAW:.*]]: f32, %{{.*}}, %[[TABLE:.*]]: tensor<1x1x3x4xf32>):
// CHECK-NOT: arith.divf
// CHECK-NOT: arith.cmpi
// CHECK: %[[SCALED:.*]] = arith.mulf %[[RAW]], %
// CHECK: %[[ADDED:.*]] = hova.element %[[TABLE]]
// CHECK: %[[BIASED:.*]] = arith.addf %[[SCALED]], %[[ADDED]]
// CHECK-NOT: arith.divf
// CHECK-NOT: arith.cmpi
// CHECK: hova.score_yield %[[BIASED]] kept %true carried %[[BIASED]]
// CHECK: return %[[BOTH]]#1
func.func @takes_keys_for_values_that_nobody_reads(%q: tensor<1x3x8xf32>, %k: tensor<1x4x8xf32>, %v: tensor<1x4x6xf32>,
    %b: tensor<1x1x3x4xf32>, %valid: tensor<1x4xi1>, %mk: tensor<2x8xf32>, %mv: tensor<2x6xf32>) -> tensor<1x2x3x4xf32> {
  %o, %s = hova.attention %q, %k, %v memory(%mk, %mv) captured(%b, %valid)
      {heads = 2 : i64}
      : (tensor<1x3x8xf32>, tensor<1x4x8xf32>, tensor<1x4x6xf32>, tensor<2x8xf32>, tensor<2x6xf32>, tensor<1x1x3x4xf32>, tensor<1x4xi1>) -> (tensor<1x3x6xf32>, tensor<1x2x3x4xf32>) scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index, %bias: tensor<1x1x3x4xf32>, %not_padding: tensor<1x4xi1>):
    %scale = hova.number 0.5
    %scaled = arith.mulf %raw, %scale : f32
    %zero = arith.constant 0 : index
    %added = hova.element %bias[%zero, %zero, %query, %key] : tensor<1x1x3x4xf32>
    %biased = arith.addf %scaled, %added : f32
    %temperature = hova.number 2.0
    %tempered = arith.divf %biased, %temperature : f32
    %shift = arith.constant 1 : index
    %position = arith.addi %query, %shift : index
    %not_later = arith.cmpi sle, %key, %position : index
    %is_valid = hova.element %not_padding[%batch, %key] : tensor<1x4xi1>
    %seen = arith.andi %not_later, %is_valid : i1
    %keys = arith.constant 4 : index
    %is_slot = arith.cmpi sge, %key, %keys : index
    %kept = arith.ori %seen, %is_slot : i1
    hova.score_yield %tempered kept %kept carried %biased
  }
  return %s : tensor<1x2x3x4xf32>
}

// -----

// CHECK-LABEL: @keeps_values_of_a_result_that_is_read
// CHECK-SAME: %{{.*}}: tensor<1x3x8xf32>, %{{.*}}: tensor<1x4x8xf32>, %[[V:.*]]: tensor<1x4x6xf32>, %[[VALID:.*]]: tensor<1x4xi1>)
// CHECK: hova.attention %{{.*}}, %{{.*}}, %[[V]] captured(%[[VALID]])
func.func @keeps_values_of_a_result_that_is_read(%q: tensor<1x3x8xf32>, %k: tensor<1x4x8xf32>, %v: tensor<1x4x6xf32>,
    %valid: tensor<1x4xi1>) -> (tensor<1x3x6xf32>, tensor<1x2x3x4xf32>) {
  %o, %s = hova.attention %q, %k, %v captured(%valid)
      {heads = 2 : i64}
      : (tensor<1x3x8xf32>, tensor<1x4x8xf32>, tensor<1x4x6xf32>, tensor<1x4xi1>) -> (tensor<1x3x6xf32>, tensor<1x2x3x4xf32>) scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index, %not_padding: tensor<1x4xi1>):
    %is_valid = hova.element %not_padding[%batch, %key] : tensor<1x4xi1>
    hova.score_yield %raw kept %is_valid carried %raw
  }
  return %o, %s : tensor<1x3x6xf32>, tensor<1x2x3x4xf32>
}

// -----

// Tensors that no score depends on.
// CHECK-LABEL: @drops_captures_that_are_not_read
// CHECK-SAME: %[[X:.*]]: tensor<1x4x8xf32>, %[[A:.*]]: tensor<2xf32>, %[[B:.*]]: tensor<1x4xi1>, %[[C:.*]]: tensor<4xf32>)
// CHECK-NEXT: hova.attention %[[X]], %[[X]], %[[X]] captured(%[[B]])
// CHECK-NEXT: ^bb0(%[[RAW:.*]]: f32, %[[BATCH:.*]]: index, %{{.*}}: index, %{{.*}}: index, %[[KEY:.*]]: index, %[[MASK:.*]]: tensor<1x4xi1>):
// CHECK-NEXT: %[[KEPT:.*]] = hova.element %[[MASK]][%[[BATCH]], %[[KEY]]]
// CHECK-NEXT: hova.score_yield %[[RAW]] kept %[[KEPT]]
func.func @drops_captures_that_are_not_read(%x: tensor<1x4x8xf32>, %a: tensor<2xf32>, %b: tensor<1x4xi1>, %c: tensor<4xf32>) -> tensor<1x4x8xf32> {
  %o = hova.attention %x, %x, %x captured(%a, %b, %c)
      {heads = 2 : i64}
      : (tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<2xf32>, tensor<1x4xi1>, tensor<4xf32>) -> tensor<1x4x8xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index, %slopes: tensor<2xf32>, %not_padding: tensor<1x4xi1>, %biases: tensor<4xf32>):
    %slope = hova.element %slopes[%head] : tensor<2xf32>
    %unread = arith.mulf %raw, %slope : f32
    %is_valid = hova.element %not_padding[%batch, %key] : tensor<1x4xi1>
    hova.score_yield %raw kept %is_valid
  }
  return %o : tensor<1x4x8xf32>
}

// -----

// The tables of two rotations are equal, whatever the sites are called: what weights alone make belongs to none.
// CHECK-LABEL: @tables_belong_to_no_site
// CHECK-NOT: hova.concat {{.*}}hova.site
// CHECK-NOT: hova.scale {{.*}}hova.site
// CHECK-COUNT-2: hova.rotate
// SHARED-LABEL: @tables_belong_to_no_site
// SHARED-COUNT-2: hova.concat
// SHARED-NOT: hova.concat
// SHARED-COUNT-2: hova.rotate
func.func @tables_belong_to_no_site(%x: tensor<1x4x16xf32>, %y: tensor<1x4x16xf32>) -> (tensor<1x4x16xf32>, tensor<1x4x16xf32>) {
  %c = hova.weight "cosines" : tensor<4x4xf32>
  %s = hova.weight "sines" : tensor<4x4xf32>
  %a = hova.rotary halves %x, %c, %s {heads = 2 : i64} : tensor<1x4x16xf32>, tensor<4x4xf32> loc("attn.query")
  %b = hova.rotary halves %y, %c, %s {heads = 2 : i64} : tensor<1x4x16xf32>, tensor<4x4xf32> loc("attn.key")
  return %a, %b : tensor<1x4x16xf32>, tensor<1x4x16xf32>
}
