// Attention by pairs, where the level has an instruction for them.

// RUN: hova-opt %s --split-input-file --hova-assign-cpu-schedule --hova-verify-assigned | FileCheck %s
// RUN: hova-opt %s --split-input-file --hova-assign-cpu-schedule=bf16=false | FileCheck %s --check-prefix=WITHOUT
// SPDX-License-Identifier: Apache-2.0

// WITHOUT-NOT: {{pairs>|fastmath}}

// CHECK-LABEL: hova.kernel "multiplies_pairs_of_bf16"
// CHECK-SAME: pairs>
func.func @main(%q: tensor<2x9x8xbf16>, %v: tensor<2x9x8xbf16>, %w: tensor<8xf32>) -> tensor<2x9x8xf32> {
  %out = hova.kernel "multiplies_pairs_of_bf16" (%q, %v, %w) {
  ^bb0(%a: tensor<2x9x8xbf16>, %b: tensor<2x9x8xbf16>, %c: tensor<8xf32>):
    %r = hova.attention %a, %a, %b
        {heads = 2 : i64}
        : (tensor<2x9x8xbf16>, tensor<2x9x8xbf16>, tensor<2x9x8xbf16>) -> tensor<2x9x8xf32> scores {
    ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
      %all = arith.constant true
      hova.score_yield %raw kept %all
    }
    hova.yield %r : tensor<2x9x8xf32>
  } : (tensor<2x9x8xbf16>, tensor<2x9x8xbf16>, tensor<8xf32>) -> tensor<2x9x8xf32>
  return %out : tensor<2x9x8xf32>
}

// -----

// CHECK-LABEL: hova.kernel "has_no_pairs_of_f16"
// CHECK-NOT: pairs>
func.func @main(%q: tensor<2x9x8xf16>, %v: tensor<2x9x8xf16>, %w: tensor<8xf32>) -> tensor<2x9x8xf32> {
  %out = hova.kernel "has_no_pairs_of_f16" (%q, %v, %w) {
  ^bb0(%a: tensor<2x9x8xf16>, %b: tensor<2x9x8xf16>, %c: tensor<8xf32>):
    %r = hova.attention %a, %a, %b
        {heads = 2 : i64}
        : (tensor<2x9x8xf16>, tensor<2x9x8xf16>, tensor<2x9x8xf16>) -> tensor<2x9x8xf32> scores {
    ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
      %all = arith.constant true
      hova.score_yield %raw kept %all
    }
    hova.yield %r : tensor<2x9x8xf32>
  } : (tensor<2x9x8xf16>, tensor<2x9x8xf16>, tensor<8xf32>) -> tensor<2x9x8xf32>
  return %out : tensor<2x9x8xf32>
}

// -----

// CHECK-LABEL: hova.kernel "keeps_f32"
// CHECK-NOT: pairs>
func.func @main(%q: tensor<2x9x8xf32>, %v: tensor<2x9x8xf32>, %w: tensor<8xf32>) -> tensor<2x9x8xf32> {
  %out = hova.kernel "keeps_f32" (%q, %v, %w) {
  ^bb0(%a: tensor<2x9x8xf32>, %b: tensor<2x9x8xf32>, %c: tensor<8xf32>):
    %r = hova.attention %a, %a, %b
        {heads = 2 : i64}
        : (tensor<2x9x8xf32>, tensor<2x9x8xf32>, tensor<2x9x8xf32>) -> tensor<2x9x8xf32> scores {
    ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
      %all = arith.constant true
      hova.score_yield %raw kept %all
    }
    hova.yield %r : tensor<2x9x8xf32>
  } : (tensor<2x9x8xf32>, tensor<2x9x8xf32>, tensor<8xf32>) -> tensor<2x9x8xf32>
  return %out : tensor<2x9x8xf32>
}

// -----

// Scores are no product here.
// CHECK-LABEL: hova.kernel "keeps_additive_scores"
// CHECK-NOT: pairs>
func.func @main(%q: tensor<2x9x8xf32>, %v: tensor<2x9x8xbf16>, %w: tensor<8xf32>) -> tensor<2x9x8xf32> {
  %out = hova.kernel "keeps_additive_scores" (%q, %v, %w) {
  ^bb0(%a: tensor<2x9x8xf32>, %b: tensor<2x9x8xbf16>, %c: tensor<8xf32>):
    %r = hova.attention %a, %a, %b similarity(#hova.additive) score_vector(%c)
        {heads = 2 : i64}
        : (tensor<2x9x8xf32>, tensor<2x9x8xf32>, tensor<2x9x8xbf16>, tensor<8xf32>) -> tensor<2x9x8xf32> scores {
    ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
      %all = arith.constant true
      hova.score_yield %raw kept %all
    }
    hova.yield %r : tensor<2x9x8xf32>
  } : (tensor<2x9x8xf32>, tensor<2x9x8xbf16>, tensor<8xf32>) -> tensor<2x9x8xf32>
  return %out : tensor<2x9x8xf32>
}

// -----

// Weights that are rounded to bf16 need no digits of f32.
// CHECK-LABEL: hova.kernel "has_rough_tangents_of_pairs"
// CHECK: math.tanh %{{.*}} fastmath<afn> : f32
func.func @main(%q: tensor<2x9x8xbf16>, %v: tensor<2x9x8xbf16>) -> tensor<2x9x8xf32> {
  %out = hova.kernel "has_rough_tangents_of_pairs" (%q, %v) {
  ^bb0(%a: tensor<2x9x8xbf16>, %b: tensor<2x9x8xbf16>):
    %r = hova.attention %a, %a, %b
        {heads = 2 : i64}
        : (tensor<2x9x8xbf16>, tensor<2x9x8xbf16>, tensor<2x9x8xbf16>) -> tensor<2x9x8xf32> scores {
    ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
      %all = arith.constant true
      %score = math.tanh %raw : f32
      hova.score_yield %score kept %all
    }
    hova.yield %r : tensor<2x9x8xf32>
  } : (tensor<2x9x8xbf16>, tensor<2x9x8xbf16>) -> tensor<2x9x8xf32>
  return %out : tensor<2x9x8xf32>
}

// -----

// CHECK-LABEL: hova.kernel "has_exact_tangents_of_f32"
// CHECK: math.tanh
// CHECK-NOT: fastmath
// CHECK: return
func.func @main(%q: tensor<2x9x8xf32>, %v: tensor<2x9x8xf32>) -> tensor<2x9x8xf32> {
  %out = hova.kernel "has_exact_tangents_of_f32" (%q, %v) {
  ^bb0(%a: tensor<2x9x8xf32>, %b: tensor<2x9x8xf32>):
    %r = hova.attention %a, %a, %b
        {heads = 2 : i64}
        : (tensor<2x9x8xf32>, tensor<2x9x8xf32>, tensor<2x9x8xf32>) -> tensor<2x9x8xf32> scores {
    ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
      %all = arith.constant true
      %score = math.tanh %raw : f32
      hova.score_yield %score kept %all
    }
    hova.yield %r : tensor<2x9x8xf32>
  } : (tensor<2x9x8xf32>, tensor<2x9x8xf32>) -> tensor<2x9x8xf32>
  return %out : tensor<2x9x8xf32>
}
