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
  %t = hova.tile_product %x[%row, %c0], %w[%c0, %c0] depth %depth
      : memref<9x40xf32, strided<[1, 48]>>, memref<40x16xf32> -> vector<2x16xf32>
  hova.tile_store %t, %y[%row, %c0] : vector<2x16xf32>, memref<9x48xf32>
  return
}
