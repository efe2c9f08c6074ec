// Sums over tokens by a matrix unit.

// RUN: hova-opt %s --hova-tile-cpu-kernels --canonicalize --cse | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// A thread turns the weight once. 45 tokens are two steps of 32: behind the
// last one the weight has its row again, and the pairs of tokens zeros. 40 rows
// are two blocks of two tiles of ten.
// CHECK-LABEL: func.func private @kernel_projects(
// CHECK-SAME: %[[X:.*]]: memref<90x40xbf16> {llvm.noalias}, %[[W:.*]]: memref<45x40xbf16> {llvm.noalias}, %[[Y:.*]]: memref<80x40xf32> {llvm.noalias}
// CHECK-SAME: %[[BEGIN:[a-z0-9]+]]: index, %[[END:[a-z0-9]+]]: index)
// CHECK-DAG: %[[TURNED:.*]] = memref.view {{.*}} to memref<40x64xbf16>
// CHECK-DAG: %[[PAIRS:.*]] = memref.view {{.*}} to memref<32x32xi32>
// CHECK-DAG: %[[SUMS:.*]] = memref.view {{.*}} to memref<32x32xf32>
// CHECK: scf.for %[[TOKEN:.*]] = %c0 to %c45 step %c32
// CHECK: arith.minui %[[TOKEN]], %c44
// CHECK: vector.load %[[W]]
// CHECK: vector.store {{.*}}, %[[TURNED]][{{.*}}, %[[TOKEN]]] : memref<40x64xbf16>, vector<32xbf16>
// CHECK: scf.for %{{.*}} = %[[BEGIN]] to %[[END]]
// CHECK: scf.for %{{.*}} = %c0 to %c22
// CHECK: vector.load %[[X]]
// CHECK: vector.interleave {{.*}} : vector<16xbf16>
// CHECK: vector.store {{.*}}, %[[PAIRS]]
// CHECK: scf.for %[[ZERO:.*]] = %c23 to %c32
// CHECK-NEXT: vector.store %{{cst.*}}, %[[PAIRS]][%[[ZERO]], %c0]
// CHECK: scf.for %[[BLOCK:.*]] = %c0 to %c2
// CHECK: %[[BEFORE:.*]] = arith.muli %[[BLOCK]], %c20
// CHECK: %[[ROW:.*]] = arith.minui %[[BEFORE]], %c20
// CHECK: hova_cpu.block_product %[[SUMS]][%c0, %c0], %[[TURNED]][%[[ROW]], %c0], %[[PAIRS]][%c0, %c0] rows %c20 by %c10 depth %c64 columns 32
// CHECK: hova_cpu.tile_load %[[SUMS]]
// CHECK: hova_cpu.tile_store {{.*}}, %[[Y]]
// The last eight columns.
// CHECK: vector.maskedload %[[X]]
// CHECK: hova_cpu.block_product
// CHECK: hova_cpu.tile_store {{.*}}, %[[Y]][{{.*}}, %c32] {columns = 8 : i64}
func.func @main(%x: tensor<2x45x40xbf16>, %w: tensor<45x40xbf16>) -> tensor<2x40x40xf32> {
  %out = hova.kernel "projects" units<batch 2> (%x, %w) attributes {schedule = #hova_cpu.schedule<tile = 14x32, lanes = 64, grain = 1, matrix_unit>} {
  ^bb0(%x_: tensor<2x45x40xbf16>, %w_: tensor<45x40xbf16>):
    %r_out = hova.stage [#hova.layout<rows 40>] {
      %r = hova.project_tokens %x_, %w_ : tensor<2x45x40xbf16>, tensor<45x40xbf16> -> tensor<2x40x40xf32>
      hova.yield %r : tensor<2x40x40xf32>
    } : tensor<2x40x40xf32>
    hova.yield %r_out : tensor<2x40x40xf32>
  } : (tensor<2x45x40xbf16>, tensor<45x40xbf16>) -> tensor<2x40x40xf32>
  return %out : tensor<2x40x40xf32>
}
