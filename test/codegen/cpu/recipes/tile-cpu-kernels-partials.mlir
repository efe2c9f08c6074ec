// Sums of a product that wait for its next K block.

// RUN: hova-opt %s --split-input-file --hova-tile-cpu-kernels --canonicalize --cse | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// Threads divide the columns: a call has all 300 rows, more than a block of
// rows has.
// CHECK-LABEL: func.func private @kernel_divides_columns(
// CHECK-SAME: %[[SCRATCH:[a-z0-9]+]]: memref<76800xi8>
// CHECK: memref.view %[[SCRATCH]][%c0][] : memref<76800xi8> to memref<300x64xf32>
func.func @main(%x: tensor<1x300x600xf32>) -> tensor<1x300x64xf32> {
  %w = hova.image_weight "w" {layout = #hova.column_strips<64>} : tensor<600x64xf32>
  %y = hova.kernel "divides_columns" units<column_strip 1> (%x, %w) attributes {schedule = #hova_cpu.schedule<tile = 4x64, lanes = 32, grain = 1, k_block = 256, block = 256>} {
  ^bb0(%x_: tensor<1x300x600xf32>, %w_: tensor<600x64xf32>):
    %o = hova.stage [#hova.layout<rows 64>] {
      %s = hova.linear %x_, %w_ : tensor<1x300x600xf32>, tensor<600x64xf32> -> tensor<1x300x64xf32>
      hova.yield %s : tensor<1x300x64xf32>
    } : tensor<1x300x64xf32>
    hova.yield %o : tensor<1x300x64xf32>
  } : (tensor<1x300x600xf32>, tensor<600x64xf32>) -> tensor<1x300x64xf32>
  return %y : tensor<1x300x64xf32>
}
func.func private @weights() {
  %w = hova.weight "w" : tensor<600x64xf32>
  hova.store_weight "w", %w : tensor<600x64xf32>
  return
}

// -----

// Threads divide the rows, which pass through the kernel 256 at a time.
// CHECK-LABEL: func.func private @kernel_divides_rows(
// CHECK: memref.view %{{.*}} : memref<65536xi8> to memref<256x64xf32>
func.func @main(%x: tensor<1x300x600xf32>) -> tensor<1x300x64xf32> {
  %w = hova.image_weight "w" {layout = #hova.column_strips<64>} : tensor<600x64xf32>
  %y = hova.kernel "divides_rows" units<row 300> (%x, %w) attributes {schedule = #hova_cpu.schedule<tile = 4x64, lanes = 32, grain = 1, k_block = 256, block = 256>} {
  ^bb0(%x_: tensor<1x300x600xf32>, %w_: tensor<600x64xf32>):
    %o = hova.stage [#hova.layout<rows 64>] {
      %s = hova.linear %x_, %w_ : tensor<1x300x600xf32>, tensor<600x64xf32> -> tensor<1x300x64xf32>
      hova.yield %s : tensor<1x300x64xf32>
    } : tensor<1x300x64xf32>
    hova.yield %o : tensor<1x300x64xf32>
  } : (tensor<1x300x600xf32>, tensor<600x64xf32>) -> tensor<1x300x64xf32>
  return %y : tensor<1x300x64xf32>
}
func.func private @weights() {
  %w = hova.weight "w" : tensor<600x64xf32>
  hova.store_weight "w", %w : tensor<600x64xf32>
  return
}
