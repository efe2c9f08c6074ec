// RUN: hova-opt %s --split-input-file --hova-verify-fused --verify-diagnostics
// SPDX-License-Identifier: Apache-2.0

func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %w = hova.image_weight "w" : tensor<8x8xf32>
  %y = hova.kernel "a" units<row 4> (%x, %w) {
  ^bb0(%a: tensor<4x8xf32>, %b: tensor<8x8xf32>):
    %l = hova.linear %a, %b {hova.verdict = {fused = true, kernels = ["a"]}} : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
    hova.yield %l : tensor<4x8xf32>
  } : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error@+1 {{fused program still holds 'hova.activation'}}
  %y = hova.activation relu %x : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

func.func @main(%x: tensor<1x4x8xf32>) -> tensor<1x4x8xf32> {
  %y = hova.kernel "a" units<batch 1, token 4> (%x) {
  ^bb0(%a: tensor<1x4x8xf32>):
    // expected-error@+1 {{attention site carries no verdict}}
    %o = hova.attention %a, %a, %a
        {heads = 2 : i64}
        : (tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<1x4x8xf32>) -> tensor<1x4x8xf32> scores {
    ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
      %all = arith.constant true
      hova.score_yield %raw kept %all
    }
    hova.yield %o : tensor<1x4x8xf32>
  } : (tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
  return %y : tensor<1x4x8xf32>
}

// -----

// One verdict for all parts of a compound operation.
func.func @main(%x: tensor<1x4x8xf32>) -> tensor<1x4x8xf32> {
  %y = hova.kernel "a" units<batch 1, token 4> (%x) {
  ^bb0(%a: tensor<1x4x8xf32>):
    %n = hova.layer_norm %a {eps = 1.0e-6 : f64, hova.site = {kind = "block", path = "b"}} : tensor<1x4x8xf32>
    %o = hova.activation relu %n {hova.site = {kind = "block", path = "b"}, hova.verdict = {fused = true}} : tensor<1x4x8xf32>
    hova.yield %o : tensor<1x4x8xf32>
  } : (tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
  return %y : tensor<1x4x8xf32>
}

// -----

func.func @main(%x: tensor<1x4x8xf32>) -> tensor<1x4x8xf32> {
  %y = hova.kernel "a" units<batch 1, token 4> (%x) {
  ^bb0(%a: tensor<1x4x8xf32>):
    // expected-error@+1 {{block site carries no verdict}}
    %n = hova.layer_norm %a {eps = 1.0e-6 : f64, hova.site = {kind = "block", path = "b"}} : tensor<1x4x8xf32>
    %o = hova.activation relu %n {hova.site = {kind = "block", path = "c"}, hova.verdict = {fused = true}} : tensor<1x4x8xf32>
    hova.yield %o : tensor<1x4x8xf32>
  } : (tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
  return %y : tensor<1x4x8xf32>
}

// -----

func.func @main(%x: tensor<1x4x8xf32>) -> tensor<1x4x8xf32> {
  // expected-error@+1 {{'hova.kernel' op does not say what its threads divide}}
  %y = hova.kernel "a" (%x) {
  ^bb0(%a: tensor<1x4x8xf32>):
    %r = hova.activation relu %a : tensor<1x4x8xf32>
    hova.yield %r : tensor<1x4x8xf32>
  } : (tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
  return %y : tensor<1x4x8xf32>
}
