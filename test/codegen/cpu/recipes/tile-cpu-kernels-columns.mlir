// Parts of a product: each panel does what works on its columns alone.

// RUN: hova-opt %s --hova-tile-cpu-kernels --canonicalize --cse | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// The first panel is stored as it is, the second and the 40 columns after it
// with a sum, in 16 bits, from the first column of their own buffers on. The
// product itself has no buffer.
// CHECK-LABEL: func.func private @kernel_stores_column_groups(
// CHECK-SAME: %[[X:.*]]: memref<4x64xbf16> {llvm.noalias}, %[[W:.*]]: memref<3x32x64xi32> {llvm.noalias}, %[[V:.*]]: memref<4x104xf32> {llvm.noalias}, %[[O:.*]]: memref<4x64xf32> {llvm.noalias}, %[[C:.*]]: memref<4x104xbf16> {llvm.noalias}, %{{.*}}: memref<64xi8> {llvm.noalias}, %[[BEGIN:.*]]: index, %[[END:.*]]: index)
// CHECK: %[[ONE:.*]] = arith.minui %[[END]], %c1
// CHECK: scf.for %[[PANEL:.*]] = %[[BEGIN]] to %[[ONE]] step %c1
// CHECK: %[[COLUMN:.*]] = arith.muli %[[PANEL]], %c64
// CHECK: %[[T:.*]] = hova_cpu.tile_product %[[X]][%c0, %c0], %[[W]][%[[PANEL]], %c0, %c0] depth %c64
// CHECK-NEXT: hova_cpu.tile_store %[[T]], %[[O]][%c0, %[[COLUMN]]] : vector<4x64xf32>, memref<4x64xf32>
// CHECK-NEXT: }
// CHECK: %[[FIRST:.*]] = arith.maxui %[[BEGIN]], %c1
// CHECK: %[[LAST:.*]] = arith.minui %[[END]], %c2
// CHECK: scf.for %[[PANEL:.*]] = %[[FIRST]] to %[[LAST]] step %c1
// CHECK: %[[COLUMN:.*]] = arith.muli %[[PANEL]], %c64
// CHECK: hova_cpu.tile_product %[[X]][%c0, %c0], %[[W]][%[[PANEL]], %c0, %c0] depth %c64
// CHECK: %[[WITHIN:.*]] = arith.subi %[[COLUMN]], %c64
// CHECK: hova_cpu.tile_load %[[V]][%c0, %[[WITHIN]]]
// CHECK: hova_cpu.tile_store %{{.*}}, %[[C]][%c0, %[[WITHIN]]] : vector<4x64xf32>, memref<4x104xbf16>
// CHECK: scf.for %{{.*}} = %c2 to %[[END]] step %c1
// CHECK: hova_cpu.tile_product %[[X]][%c0, %c0], %[[W]][%c2, %c0, %c0] depth %c64
// CHECK: hova_cpu.tile_store %{{.*}}, %[[C]][%c0, %c64] : vector<4x32xf32>, memref<4x104xbf16>
// CHECK: hova_cpu.tile_store %{{.*}}, %[[C]][%c0, %c96] : vector<4x8xf32>, memref<4x104xbf16>
// CHECK-NOT: hova_cpu.tile_store
func.func @main(%x: tensor<1x4x64xbf16>, %v: tensor<1x4x104xf32>) -> (tensor<1x4x64xf32>, tensor<1x4x104xbf16>) {
  %w = hova.image_weight "w" {layout = #hova.column_strips<64, interleave 2>} : tensor<64x168xbf16>
  %out:2 = hova.kernel "stores_column_groups" units<column_strip 3> (%x, %w, %v) attributes {schedule = #hova_cpu.schedule<tile = 4x64, lanes = 32, grain = 1, k_block = 256, block = 256>} {
  ^bb0(%x_: tensor<1x4x64xbf16>, %w_: tensor<64x168xbf16>, %v_: tensor<1x4x104xf32>):
    %o_out, %c_out = hova.stage [#hova.layout<rows 64>, #hova.layout<rows 104>] {
      %y = hova.linear %x_, %w_ : tensor<1x4x64xbf16>, tensor<64x168xbf16> -> tensor<1x4x168xf32>
      %o = hova.slice %y {axis = 2 : i64, offset = 0 : i64} : tensor<1x4x168xf32> -> tensor<1x4x64xf32>
      %u = hova.slice %y {axis = 2 : i64, offset = 64 : i64} : tensor<1x4x168xf32> -> tensor<1x4x104xf32>
      %s = hova.add %u, %v_ : tensor<1x4x104xf32>, tensor<1x4x104xf32>
      %c = hova.convert %s : tensor<1x4x104xf32> -> tensor<1x4x104xbf16>
      hova.yield %o, %c : tensor<1x4x64xf32>, tensor<1x4x104xbf16>
    } : tensor<1x4x64xf32>, tensor<1x4x104xbf16>
    hova.yield %o_out, %c_out : tensor<1x4x64xf32>, tensor<1x4x104xbf16>
  } : (tensor<1x4x64xbf16>, tensor<64x168xbf16>, tensor<1x4x104xf32>) -> (tensor<1x4x64xf32>, tensor<1x4x104xbf16>)
  return %out#0, %out#1 : tensor<1x4x64xf32>, tensor<1x4x104xbf16>
}
func.func private @weights() {
  %w = hova.weight "w" : tensor<64x168xbf16>
  hova.store_weight "w", %w : tensor<64x168xbf16>
  return
}
