// What the level changes: registers and chunks, not the layout of weights.

// RUN: hova-opt %s --hova-assign-cpu-schedule | FileCheck %s --check-prefix=AVX512
// RUN: hova-opt %s --hova-assign-cpu-schedule=avx512=false | FileCheck %s --check-prefix=AVX2
// RUN: hova-opt %s --hova-assign-cpu-schedule=one-fma | FileCheck %s --check-prefix=ONE

// AVX512-LABEL: func.func @main
// AVX512: hova.image_weight "w" {panel = 64 : i64}
// AVX512: hova.block = 256 : i64, hova.depth = 256 : i64, hova.grain = 48 : i64, hova.lanes = 64 : i64, hova.tile = array<i64: 6, 64>
// AVX2-LABEL: func.func @main
// AVX2: hova.image_weight "w" {panel = 64 : i64}
// AVX2: hova.block = 256 : i64, hova.depth = 256 : i64, hova.grain = 48 : i64, hova.lanes = 32 : i64, hova.tile = array<i64: 6, 16>
// ONE-LABEL: func.func @main
// ONE: hova.image_weight "w" {panel = 64 : i64}
// ONE: hova.block = 256 : i64, hova.depth = 4096 : i64, hova.grain = 48 : i64, hova.lanes = 64 : i64, hova.tile = array<i64: 6, 64>
func.func @main(%x: tensor<1x100x8xf32>) -> tensor<1x100x8xf32> {
  %w = hova.image_weight "w" : tensor<8x8xf32>
  %out = hova.kernel "layer" (%x, %w) {
  ^bb0(%a: tensor<1x100x8xf32>, %w_: tensor<8x8xf32>):
    %r = hova.linear %a, %w_ : tensor<1x100x8xf32>, tensor<8x8xf32> -> tensor<1x100x8xf32>
    hova.yield %r : tensor<1x100x8xf32>
  } : (tensor<1x100x8xf32>, tensor<8x8xf32>) -> tensor<1x100x8xf32>
  return %out : tensor<1x100x8xf32>
}
func.func private @weights() {
  %w = hova.weight "w" : tensor<8x8xf32>
  hova.store_weight "w", %w : tensor<8x8xf32>
  return
}
