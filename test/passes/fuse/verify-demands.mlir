// RUN: hova-opt %s --split-input-file --hova-verify-demands --verify-diagnostics
// SPDX-License-Identifier: Apache-2.0

func.func @main(%x: tensor<1x4x8xf32>) -> tensor<1x4x8xf32> {
  // expected-error@+1 {{norm is required to be fused, but 128 bytes pass through memory}}
  %n = hova.layer_norm %x {eps = 1.0e-6 : f64, hova.require = "fused", hova.verdict = {fused = false, why = "128 bytes pass through memory"}} : tensor<1x4x8xf32>
  return %n : tensor<1x4x8xf32>
}

// -----

// It is fused.
func.func @main(%x: tensor<1x4x8xf32>) -> tensor<1x4x8xf32> {
  %n = hova.layer_norm %x {eps = 1.0e-6 : f64, hova.require = "fused", hova.verdict = {fused = true}} : tensor<1x4x8xf32>
  return %n : tensor<1x4x8xf32>
}

// -----

// Nobody demands it.
func.func @main(%x: tensor<1x4x8xf32>) -> tensor<1x4x8xf32> {
  %n = hova.layer_norm %x {eps = 1.0e-6 : f64, hova.verdict = {fused = false, why = "128 bytes pass through memory"}} : tensor<1x4x8xf32>
  return %n : tensor<1x4x8xf32>
}
