// RUN: hova-opt %s --split-input-file --hova-verify-normalized --verify-diagnostics
// SPDX-License-Identifier: Apache-2.0

func.func @main(%x: tensor<1x8xf32>) -> tensor<1x8xf32> {
  %w = hova.image_weight "a" : tensor<8x8xf32>
  %y = hova.linear %x, %w : tensor<1x8xf32>, tensor<8x8xf32> -> tensor<1x8xf32>
  return %y : tensor<1x8xf32>
}
func.func private @weights() {
  %w = hova.weight "a" : tensor<8x8xf32>
  hova.store_weight "a", %w : tensor<8x8xf32>
  return
}

// -----

func.func @main() -> tensor<8x8xf32> {
  // expected-error@+1 {{normalized program still holds 'hova.weight'}}
  %w = hova.weight "a" : tensor<8x8xf32>
  return %w : tensor<8x8xf32>
}

// -----

func.func @main(%i: tensor<1x3x32x32xf32>, %w: tensor<768x64xf32>) -> tensor<1x4x64xf32> {
  // expected-error@+1 {{normalized program still holds 'hova.patch_embedding'}}
  %y = hova.patch_embedding %i, %w {patch = 16 : i64} : tensor<1x3x32x32xf32>, tensor<768x64xf32> -> tensor<1x4x64xf32>
  return %y : tensor<1x4x64xf32>
}

// -----

func.func @main(%x: tensor<1x8xf32>, %w: tensor<4x8xf32>) -> tensor<1x4xf32> {
  // expected-error@+1 {{normalized program still holds a transposed linear}}
  %y = hova.linear %x, %w {transposed} : tensor<1x8xf32>, tensor<4x8xf32> -> tensor<1x4xf32>
  return %y : tensor<1x4xf32>
}

// -----

func.func @main() -> tensor<8x8xf32> {
  // expected-error@+1 {{folding function does not store 'a'}}
  %w = hova.image_weight "a" : tensor<8x8xf32>
  return %w : tensor<8x8xf32>
}

// -----

func.func private @weights() {
  %w = hova.weight "a" : tensor<8x8xf32>
  hova.store_weight "a", %w : tensor<8x8xf32>
  // expected-error@+1 {{folding function stores 'a' twice}}
  hova.store_weight "a", %w : tensor<8x8xf32>
  return
}
