// Grains of kernels without a product.

// RUN: hova-opt %s --split-input-file --hova-assign-cpu-schedule --hova-verify-assigned | FileCheck %s
// RUN: hova-opt %s --split-input-file --hova-assign-cpu-schedule --hova-assign-cpu-schedule | FileCheck %s

// Without a product a thread chunk is counted in elements: 16,384 of them.
// CHECK-LABEL: hova.kernel "takes_elements_without_a_product"
// CHECK-SAME: grain = 2048, k_block
func.func @main(%x: tensor<1x100x8xf32>) -> tensor<1x100x8xf32> {
  %out = hova.kernel "takes_elements_without_a_product" (%x) {
  ^bb0(%a: tensor<1x100x8xf32>):
    %r = hova.activation relu %a : tensor<1x100x8xf32>
    hova.yield %r : tensor<1x100x8xf32>
  } : (tensor<1x100x8xf32>) -> tensor<1x100x8xf32>
  return %out : tensor<1x100x8xf32>
}

// -----

// CHECK-LABEL: func.func @main
// CHECK: hova.image_weight "w" {layout = #hova.column_strips<16>}
// CHECK: hova.kernel "keeps_a_schedule_that_is_there"
// CHECK-SAME: schedule = #hova_cpu.schedule<tile = 2x16, lanes = 8, grain = 1, k_block = 256, block = 256>
// CHECK: hova.stage
// CHECK-NEXT: hova.linear
func.func @main(%x: tensor<2x9x8xf32>) -> tensor<2x9x8xf32> {
  %w = hova.image_weight "w" {layout = #hova.column_strips<16>} : tensor<8x8xf32>
  %out = hova.kernel "keeps_a_schedule_that_is_there" units<batch 2, token 9> (%x, %w) attributes {schedule = #hova_cpu.schedule<tile = 2x16, lanes = 8, grain = 1, k_block = 256, block = 256>} {
  ^bb0(%a: tensor<2x9x8xf32>, %w_: tensor<8x8xf32>):
    %p_out = hova.stage [#hova.layout<rows 8>] {
      %p = hova.linear %a, %w_ : tensor<2x9x8xf32>, tensor<8x8xf32> -> tensor<2x9x8xf32>
      hova.yield %p : tensor<2x9x8xf32>
    } : tensor<2x9x8xf32>
    hova.yield %p_out : tensor<2x9x8xf32>
  } : (tensor<2x9x8xf32>, tensor<8x8xf32>) -> tensor<2x9x8xf32>
  return %out : tensor<2x9x8xf32>
}
func.func private @weights() {
  %w = hova.weight "w" : tensor<8x8xf32>
  hova.store_weight "w", %w : tensor<8x8xf32>
  return
}
