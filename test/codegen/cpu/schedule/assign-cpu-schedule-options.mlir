// What the level changes: registers and chunks, not the layout of weights.

// RUN: hova-opt %s --split-input-file --hova-assign-cpu-schedule | FileCheck %s --check-prefix=AVX512
// RUN: hova-opt %s --split-input-file --hova-assign-cpu-schedule=avx512=false | FileCheck %s --check-prefix=AVX2
// RUN: hova-opt %s --split-input-file --hova-assign-cpu-schedule=one-fma | FileCheck %s --check-prefix=ONE

// AVX512-LABEL: func.func @main
// AVX512: hova.image_weight "w" {layout = #hova.column_strips<64>}
// AVX512: schedule = #hova_cpu.schedule<tile = 6x64, lanes = 64, grain = 48, k_block = 256, block = 256>
// AVX2-LABEL: func.func @main
// AVX2: hova.image_weight "w" {layout = #hova.column_strips<64>}
// AVX2: schedule = #hova_cpu.schedule<tile = 6x16, lanes = 32, grain = 48, k_block = 256, block = 256>
// ONE-LABEL: func.func @main
// ONE: hova.image_weight "w" {layout = #hova.column_strips<64>}
// ONE: schedule = #hova_cpu.schedule<tile = 6x64, lanes = 64, grain = 48, k_block = 4096, block = 256>
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

// -----

// Long sums of f32 are sums of sums; those of bf16 gain nothing by it, and what
// is short enough needs none.
// AVX512-LABEL: func.func @main
// AVX512: hova.kernel "long"{{.*}}reduction_split = 384
// AVX512: hova.kernel "rounded"
// AVX512-NOT: reduction_split
// AVX512: hova.kernel "short"
// AVX512-NOT: reduction_split
func.func @main(%x: tensor<1x100x400xf32>, %b: tensor<1x100x400xbf16>, %y: tensor<1x100x384xf32>)
    -> (tensor<1x100x8xf32>, tensor<1x100x8xf32>, tensor<1x100x8xf32>) {
  %w = hova.image_weight "w" : tensor<400x8xf32>
  %wb = hova.image_weight "wb" : tensor<400x8xbf16>
  %v = hova.image_weight "v" : tensor<384x8xf32>
  %long = hova.kernel "long" (%x, %w) {
  ^bb0(%a: tensor<1x100x400xf32>, %w_: tensor<400x8xf32>):
    %r = hova.linear %a, %w_ : tensor<1x100x400xf32>, tensor<400x8xf32> -> tensor<1x100x8xf32>
    hova.yield %r : tensor<1x100x8xf32>
  } : (tensor<1x100x400xf32>, tensor<400x8xf32>) -> tensor<1x100x8xf32>
  %rounded = hova.kernel "rounded" (%b, %wb) {
  ^bb0(%a: tensor<1x100x400xbf16>, %w_: tensor<400x8xbf16>):
    %r = hova.linear %a, %w_ : tensor<1x100x400xbf16>, tensor<400x8xbf16> -> tensor<1x100x8xf32>
    hova.yield %r : tensor<1x100x8xf32>
  } : (tensor<1x100x400xbf16>, tensor<400x8xbf16>) -> tensor<1x100x8xf32>
  %short = hova.kernel "short" (%y, %v) {
  ^bb0(%a: tensor<1x100x384xf32>, %w_: tensor<384x8xf32>):
    %r = hova.linear %a, %w_ : tensor<1x100x384xf32>, tensor<384x8xf32> -> tensor<1x100x8xf32>
    hova.yield %r : tensor<1x100x8xf32>
  } : (tensor<1x100x384xf32>, tensor<384x8xf32>) -> tensor<1x100x8xf32>
  return %long, %rounded, %short : tensor<1x100x8xf32>, tensor<1x100x8xf32>, tensor<1x100x8xf32>
}
func.func private @weights() {
  %w = hova.weight "w" : tensor<400x8xf32>
  hova.store_weight "w", %w : tensor<400x8xf32>
  %wb = hova.weight "wb" : tensor<400x8xbf16>
  hova.store_weight "wb", %wb : tensor<400x8xbf16>
  %v = hova.weight "v" : tensor<384x8xf32>
  hova.store_weight "v", %v : tensor<384x8xf32>
  return
}
