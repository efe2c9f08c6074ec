// RUN: hova-opt %s --hova-vectorize-tiles='steps=2' --canonicalize --cse | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// A left operand that is read down its columns: a step of k is as far as its
// rows are apart, and the rows of the tile lie side by side.
// CHECK-LABEL: @reads_columns
// CHECK-DAG: %[[C48:.*]] = arith.constant 48 : index
// CHECK-DAG: %[[C1:.*]] = arith.constant 1 : index
// CHECK: scf.for %[[K:[a-z0-9]+]] =
// CHECK: %[[STEP:.*]] = arith.muli %[[K]], %[[C48]]
// CHECK: %[[A0:.*]] = arith.addi %{{.*}}, %[[STEP]]
// CHECK: memref.load %[[LEFT:.*]][%[[A0]]]
// CHECK: %[[A1:.*]] = arith.addi %[[A0]], %[[C1]]
// CHECK: memref.load %[[LEFT]][%[[A1]]]
// CHECK: %[[NEXT:.*]] = arith.addi %[[A0]], %[[C48]]
// CHECK: memref.load %[[LEFT]][%[[NEXT]]]
func.func @reads_columns(%x: memref<9x40xf32, strided<[1, 48]>>, %w: memref<40x16xf32>, %y: memref<9x48xf32>, %row: index) {
  %c0 = arith.constant 0 : index
  %depth = arith.constant 40 : index
  %t = hova_cpu.tile_product %x[%row, %c0], %w[%c0, %c0] depth %depth
      : memref<9x40xf32, strided<[1, 48]>>, memref<40x16xf32> -> vector<2x16xf32>
  hova_cpu.tile_store %t, %y[%row, %c0] : vector<2x16xf32>, memref<9x48xf32>
  return
}

// Sums begin with the rows of another tile.
// CHECK-LABEL: @begins_with_a_tile
// CHECK: %[[B0:.*]] = vector.load %{{.*}} : memref<{{.*}}>, vector<16xf32>
// CHECK: %[[B1:.*]] = vector.load %{{.*}} : memref<{{.*}}>, vector<16xf32>
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %[[B0]], %{{.*}} = %[[B1]])
func.func @begins_with_a_tile(%x: memref<9x40xf32>, %w: memref<40x16xf32>, %z: memref<9x16xf32>, %y: memref<9x16xf32>, %row: index) {
  %c0 = arith.constant 0 : index
  %depth = arith.constant 40 : index
  %z0 = hova_cpu.tile_load %z[%row, %c0] : memref<9x16xf32> -> vector<2x16xf32>
  %t = hova_cpu.tile_product %x[%row, %c0], %w[%c0, %c0] depth %depth init(%z0 : vector<2x16xf32>)
      : memref<9x40xf32>, memref<40x16xf32> -> vector<2x16xf32>
  hova_cpu.tile_store %t, %y[%row, %c0] : vector<2x16xf32>, memref<9x16xf32>
  return
}

// CHECK-LABEL: @takes_rows_of_a_tile
// CHECK: %[[R0:.*]] = vector.load
// CHECK: %[[R1:.*]] = vector.load
// CHECK: arith.maximumf %[[R0]], %[[R1]] : vector<16xf32>
func.func @takes_rows_of_a_tile(%z: memref<9x16xf32>, %row: index) -> vector<16xf32> {
  %c0 = arith.constant 0 : index
  %t = hova_cpu.tile_load %z[%row, %c0] : memref<9x16xf32> -> vector<2x16xf32>
  %a = vector.extract %t[0] : vector<16xf32> from vector<2x16xf32>
  %b = vector.extract %t[1] : vector<16xf32> from vector<2x16xf32>
  %m = arith.maximumf %a, %b : vector<16xf32>
  return %m : vector<16xf32>
}
