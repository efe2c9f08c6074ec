// Rows of a residual connection that lie where windows were taken from.

// RUN: hova-opt %s --hova-tile-cpu-kernels --canonicalize --cse | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// The table is no part of the image.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: hova.image_bytes = 2048 : i64
// CHECK-SAME: hova.table_bytes = 64 : i64
// CHECK-DAG: %[[ROWS:.*]] = hova.table_buffer {offset = 0 : i64} : memref<1x16xi32>
// CHECK-DAG: %[[W:.*]] = hova.image_buffer {offset = 0 : i64} : memref<1x16x32xf32>
// CHECK: hova.launch @kernel_adds_rows_of_an_image(%{{.*}}, %[[W]], %{{.*}}, %[[ROWS]], %{{.*}})
// CHECK-LABEL: func.func private @weights()
// CHECK-NOT: hova.row_table
// CHECK: hova.store_weight "w", %{{.*}} {hova.offset = 0 : i64}
// CHECK-LABEL: func.func private @tables()
// CHECK-NEXT: %[[NUMBERS:.*]] = hova.row_table
// CHECK-NEXT: hova.store_weight "rows", %[[NUMBERS]] {hova.offset = 0 : i64} : tensor<16xi32>
// CHECK-NEXT: return

// While two rows are multiplied, the rows that the next two are added to are
// prefetched into the first-level cache, each where its table says; after the
// last two there are none, and the last two are. A row of 32 columns has two lines.
// CHECK-LABEL: func.func private @kernel_adds_rows_of_an_image(
// CHECK-SAME: %[[A:.*]]: memref<16x16xf32> {llvm.noalias}, %{{.*}}: memref<1x16x32xf32> {llvm.noalias}, %[[X:.*]]: memref<16x32xf32> {llvm.noalias}, %[[TABLE:.*]]: memref<1x16xi32> {llvm.noalias}, %{{.*}}: memref<16x32xf32> {llvm.noalias}, %{{.*}}: index, %[[END:.*]]: index)
// CHECK: default {
// CHECK: %[[NEXT:.*]] = arith.addi %[[ROW:.*]], %c2
// CHECK: %[[LAST:.*]] = arith.subi %[[END]], %c2
// CHECK: %[[FIRST:.*]] = arith.minui %[[NEXT]], %[[LAST]]
// CHECK: %[[NUMBER:.*]] = memref.load %[[TABLE]][%c0, %[[FIRST]]]
// CHECK: %[[PLACE:.*]] = arith.index_cast %[[NUMBER]]
// CHECK: memref.prefetch %[[X]][%[[PLACE]], %c0], read, locality<3>, data
// CHECK: memref.prefetch %[[X]][%[[PLACE]], %c16], read, locality<3>, data
// CHECK: %[[SECOND:.*]] = arith.addi %[[FIRST]], %c1
// CHECK: memref.load %[[TABLE]][%c0, %[[SECOND]]]
// CHECK-COUNT-2: memref.prefetch %[[X]]
// CHECK-NOT: memref.prefetch
// CHECK: hova_cpu.tile_product %[[A]][%[[ROW]], %c0]
// CHECK: hova_cpu.tile_load %[[X]][%[[ROW]], %c0] rows(%[[TABLE]]
func.func @main(%a: tensor<4x4x16xf32>, %x: tensor<1x16x32xf32>) -> tensor<1x16x32xf32> {
  %w = hova.image_weight "w" {layout = #hova.column_strips<32>} : tensor<16x32xf32>
  %rows = hova.image_weight "rows" : tensor<16xi32>
  %out = hova.kernel "adds_rows_of_an_image" units<batch 4, token 4> (%a, %w, %x, %rows) attributes {schedule = #hova_cpu.schedule<tile = 2x32, lanes = 32, grain = 2, k_block = 256, block = 64>, hova.input_rows = array<i64: -1, -1, 3>, hova.result_rows = array<i64: 3>, input_placements = [unit, unit, #hova.window<2x2, shift 1x1, grid 4x4>, unit], result_placements = [#hova.window<2x2, shift 1x1, grid 4x4>]} {
  ^bb0(%a_: tensor<4x4x16xf32>, %w_: tensor<16x32xf32>, %x_: tensor<4x4x32xf32>, %rows_: tensor<16xi32>):
    %s_out = hova.stage [#hova.layout<rows 32>] {
      %l = hova.linear %a_, %w_ : tensor<4x4x16xf32>, tensor<16x32xf32> -> tensor<4x4x32xf32>
      %s = hova.add %x_, %l : tensor<4x4x32xf32>, tensor<4x4x32xf32>
      hova.yield %s : tensor<4x4x32xf32>
    } : tensor<4x4x32xf32>
    hova.yield %s_out : tensor<4x4x32xf32>
  } : (tensor<4x4x16xf32>, tensor<16x32xf32>, tensor<1x16x32xf32>, tensor<16xi32>) -> tensor<1x16x32xf32>
  return %out : tensor<1x16x32xf32>
}
func.func private @weights() {
  %rows = hova.row_table[#hova.window<2x2, shift 1x1, grid 4x4>] source 1, 16, 32 : tensor<16xi32>
  hova.store_weight "rows", %rows : tensor<16xi32>
  %w = hova.weight "w" : tensor<16x32xf32>
  hova.store_weight "w", %w : tensor<16x32xf32>
  return
}
