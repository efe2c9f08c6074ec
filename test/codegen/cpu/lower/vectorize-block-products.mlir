// RUN: hova-opt %s --hova-vectorize-block-products --canonicalize --cse | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// CHECK-LABEL: @adds_row_by_row
// CHECK-SAME: (%[[S:.*]]: memref<64x64xf32>, %[[A:.*]]: memref<9x64xbf16>, %[[B:.*]]: memref<32x64xi32>, %[[I:.*]]: index, %[[N:.*]]: index, %[[T:.*]]: index)
// CHECK-DAG: %[[K:.*]] = arith.constant 64 : index
// CHECK-DAG: %[[HALF:.*]] = arith.constant 32 : index
// CHECK: scf.for %[[ROW:.*]] = %{{.*}} to %[[N]] step
// CHECK: %[[SUM:.*]] = hova_cpu.tile_load %[[S]][%[[TO:.*]], %[[I]]] : memref<64x64xf32> -> vector<1x32xf32>
// CHECK: %[[P:.*]] = hova_cpu.tile_product %[[A]][%[[FROM:.*]], %[[I]]], %[[B]][%[[I]], %[[I]]] depth %[[K]] init(%[[SUM]] : vector<1x32xf32>)
// CHECK: hova_cpu.tile_store %[[P]], %[[S]][%[[TO]], %[[I]]]
// CHECK: %[[COLUMN:.*]] = arith.addi %[[I]], %[[HALF]] : index
// CHECK: hova_cpu.tile_product %[[A]][%{{.*}}, %[[I]]], %[[B]][%[[I]], %[[COLUMN]]] depth %[[K]]
// CHECK: scf.for %[[TURN:.*]] = %{{.*}} to %[[T]] step
// CHECK: memref.prefetch %[[A]][%[[TURN]], %[[I]]]
// CHECK-NOT: block_product
func.func @adds_row_by_row(%s: memref<64x64xf32>, %a: memref<9x64xbf16>, %b: memref<32x64xi32>, %i: index, %n: index, %t: index) {
  %k = arith.constant 64 : index
  hova_cpu.block_product %s[%i, %i], %a[%i, %i], %b[%i, %i] rows %n by %n depth %k columns 64 added meanwhile(%t) {
  ^bb0(%turn: index):
    memref.prefetch %a[%turn, %i], read, locality<2>, data : memref<9x64xbf16>
  } : memref<64x64xf32>, memref<9x64xbf16>, memref<32x64xi32>
  return
}

// CHECK-LABEL: @begins_with_nothing
// CHECK-NOT: tile_load
// CHECK: hova_cpu.tile_product
func.func @begins_with_nothing(%s: memref<64x32xf32>, %a: memref<9x64xbf16>, %b: memref<32x64xi32>, %i: index, %k: index) {
  hova_cpu.block_product %s[%i, %i], %a[%i, %i], %b[%i, %i] rows %i by %i depth %k columns 32 : memref<64x32xf32>, memref<9x64xbf16>, memref<32x64xi32>
  return
}
