// Stages that a run of few rows takes one after the other.

// RUN: hova-opt %s --split-input-file --hova-tile-cpu-kernels --canonicalize --cse | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// Columns are divided from 64 rows on, of which 64 times strips are a part.
// CHECK: hova_cpu.step_buffer {hova.contents = array<i64: 0, 4294967295, 0, 0>} : memref<1x4xi64>
// CHECK: hova.launch @kernel_multiplies_and_rectifies({{.*}}shape = #hova_cpu.launch<units = 120, grain = 3, block = 256, stages = [2, 64, 64, 3, 19456, 131072, 0, 0, 0, 128, 4096, 0]>

// A call does the stages that its step says, on rows, or where units are strips
// on all rows of the run.
// CHECK-LABEL: func.func private @kernel_multiplies_and_rectifies(
// CHECK-SAME: %[[STEP:[a-z0-9]+]]: memref<1x4xi64> {llvm.noalias}, %{{.*}}: memref<64xi8> {llvm.noalias}, %[[BEGIN:.*]]: index, %[[END:.*]]: index)
// CHECK-DAG: %[[OF:.*]] = memref.load %[[STEP]][%c0, %c2]
// CHECK-DAG: %[[ALL:.*]] = memref.load %[[STEP]][%c0, %c3]
// CHECK-DAG: %[[FROM:.*]] = memref.load %[[STEP]][%c0, %c0]
// CHECK-DAG: %[[TO:.*]] = memref.load %[[STEP]][%c0, %c1]
// CHECK: scf.if
// CHECK: scf.for
// CHECK: hova_cpu.tile_product
// CHECK: scf.if
// CHECK-NOT: hova_cpu.tile_product
// CHECK: hova_cpu.tile_store
func.func @main(%x: tensor<2x60x64xf32>) -> tensor<2x60x128xf32> attributes {hova.ranges = array<i64: 1, 2, 1, 60>} {
  %w = hova.image_weight "w" {layout = #hova.column_strips<64>} : tensor<64x128xf32>
  %y = hova.kernel "multiplies_and_rectifies" units<batch 2, token 60> (%x, %w) attributes {schedule = #hova_cpu.schedule<tile = 6x64, lanes = 64, grain = 3, k_block = 256, block = 256>} {
  ^bb0(%x_: tensor<2x60x64xf32>, %w_: tensor<64x128xf32>):
    %p = hova.stage [#hova.layout<rows 144>] {
      %y = hova.linear %x_, %w_ : tensor<2x60x64xf32>, tensor<64x128xf32> -> tensor<2x60x128xf32>
      hova.yield %y : tensor<2x60x128xf32>
    } : tensor<2x60x128xf32>
    %r = hova.stage [#hova.layout<rows 128>] {
      %y = hova.activation relu %p : tensor<2x60x128xf32>
      hova.yield %y : tensor<2x60x128xf32>
    } : tensor<2x60x128xf32>
    hova.yield %r : tensor<2x60x128xf32>
  } : (tensor<2x60x64xf32>, tensor<64x128xf32>) -> tensor<2x60x128xf32>
  return %y : tensor<2x60x128xf32>
}
func.func private @weights() {
  %w = hova.weight "w" : tensor<64x128xf32>
  hova.store_weight "w", %w : tensor<64x128xf32>
  return
}

// -----

// Where the largest run has few rows, or nobody would divide columns, a kernel
// has no steps.
// CHECK-NOT: hova_cpu.step_buffer
// CHECK: hova.launch @kernel_has_few_rows
// CHECK-NOT: stages
func.func @main(%x: tensor<2x40x64xf32>) -> tensor<2x40x128xf32> attributes {hova.ranges = array<i64: 1, 2, 1, 40>} {
  %w = hova.image_weight "w" {layout = #hova.column_strips<64>} : tensor<64x128xf32>
  %y = hova.kernel "has_few_rows" units<batch 2, token 40> (%x, %w) attributes {schedule = #hova_cpu.schedule<tile = 6x64, lanes = 64, grain = 3, k_block = 256, block = 256>} {
  ^bb0(%x_: tensor<2x40x64xf32>, %w_: tensor<64x128xf32>):
    %p = hova.stage [#hova.layout<rows 128>] {
      %y = hova.linear %x_, %w_ : tensor<2x40x64xf32>, tensor<64x128xf32> -> tensor<2x40x128xf32>
      hova.yield %y : tensor<2x40x128xf32>
    } : tensor<2x40x128xf32>
    hova.yield %p : tensor<2x40x128xf32>
  } : (tensor<2x40x64xf32>, tensor<64x128xf32>) -> tensor<2x40x128xf32>
  return %y : tensor<2x40x128xf32>
}
func.func private @weights() {
  %w = hova.weight "w" : tensor<64x128xf32>
  hova.store_weight "w", %w : tensor<64x128xf32>
  return
}
