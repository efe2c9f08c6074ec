// RUN: hova-opt %s --split-input-file --hova-vectorize-tiles='steps=2 line-elements=16' --canonicalize --cse | FileCheck %s
// RUN: hova-opt %s --split-input-file --hova-vectorize-tiles='steps=2 line-elements=16' --canonicalize --cse -o %t.once
// RUN: hova-opt %t.once --split-input-file --hova-vectorize-tiles='steps=2 line-elements=16' --canonicalize --cse -o %t.twice
// RUN: diff %t.once %t.twice
// SPDX-License-Identifier: Apache-2.0

// Two steps of k a turn. One accumulator per row, one load of the right operand
// per step, and one index per access: a base that LLVM does not take apart, k and
// a constant.
// CHECK-LABEL: @writes_a_product_as_a_loop_over_k
// CHECK-SAME: %[[X:.*]]: memref<9x40xf32, strided<[48, 1]>>, %[[W:.*]]: memref<3x40x16xf32>
// CHECK-SAME: memref<9x48xf32>, %[[ROW:.*]]: index, %[[PANEL:.*]]: index
// CHECK-DAG: %[[C48:.*]] = arith.constant 48 : index
// CHECK-DAG: %[[C640:.*]] = arith.constant 640 : index
// CHECK-DAG: %[[C16:.*]] = arith.constant 16 : index
// CHECK-DAG: %[[C40:.*]] = arith.constant 40 : index
// CHECK-DAG: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : vector<16xf32>
// CHECK-DAG: %[[LEFT:.*]] = memref.reinterpret_cast %[[X]] to offset: [0], sizes: [424], strides: [1]
// CHECK-DAG: %[[RIGHT:.*]] = memref.reinterpret_cast %[[W]] to offset: [0], sizes: [1920], strides: [1]
// CHECK: %[[ROWSTART:.*]] = arith.muli %[[ROW]], %[[C48]]
// CHECK: %[[PINNEDROW:.*]] = llvm.freeze
// CHECK: %[[ROWBASE:.*]] = arith.index_cast %[[PINNEDROW]]
// CHECK: %[[PANELSTART:.*]] = arith.muli %[[PANEL]], %[[C640]]
// CHECK: %[[PINNEDPANEL:.*]] = llvm.freeze
// CHECK: %[[PANELBASE:.*]] = arith.index_cast %[[PINNEDPANEL]]
// CHECK: %[[SUMS:.*]]:2 = scf.for %[[K:.*]] = %{{.*}} to %[[C40]] step %{{.*}} iter_args(%[[S0:.*]] = %[[ZERO]], %[[S1:.*]] = %[[ZERO]]) -> (vector<16xf32>, vector<16xf32>)
// CHECK: %[[STEP:.*]] = arith.muli %[[K]], %[[C16]]
// CHECK: %[[AT:.*]] = arith.addi %[[PANELBASE]], %[[STEP]]
// CHECK: %[[A0:.*]] = arith.addi %[[ROWBASE]], %[[K]]
// CHECK: %[[B:.*]] = vector.load %[[RIGHT]][%[[AT]]]
// CHECK: %[[L0:.*]] = memref.load %[[LEFT]][%[[A0]]]
// CHECK: %[[V0:.*]] = vector.broadcast %[[L0]]
// CHECK: %[[N0:.*]] = vector.fma %[[V0]], %[[B]], %[[S0]]
// CHECK: %[[A1:.*]] = arith.addi %[[A0]], %[[C48]]
// CHECK: %[[L1:.*]] = memref.load %[[LEFT]][%[[A1]]]
// CHECK: %[[V1:.*]] = vector.broadcast %[[L1]]
// CHECK: %[[N1:.*]] = vector.fma %[[V1]], %[[B]], %[[S1]]
// CHECK: %[[ATNEXT:.*]] = arith.addi %[[AT]], %[[C16]]
// CHECK: %[[BNEXT:.*]] = vector.load %[[RIGHT]][%[[ATNEXT]]]
// CHECK: %[[M0:.*]] = vector.fma %{{.*}}, %[[BNEXT]], %[[N0]]
// CHECK: %[[M1:.*]] = vector.fma %{{.*}}, %[[BNEXT]], %[[N1]]
// CHECK: scf.yield %[[M0]], %[[M1]]
// CHECK: vector.store %[[SUMS]]#0
// CHECK: vector.store %[[SUMS]]#1
func.func @writes_a_product_as_a_loop_over_k(%x: memref<9x40xf32, strided<[48, 1]>>, %w: memref<3x40x16xf32>,
                                             %y: memref<9x48xf32>, %row: index, %panel: index) {
  %c0 = arith.constant 0 : index
  %depth = arith.constant 40 : index
  %t = hova_cpu.tile_product %x[%row, %c0], %w[%panel, %c0, %c0] depth %depth
      : memref<9x40xf32, strided<[48, 1]>>, memref<3x40x16xf32> -> vector<2x16xf32>
  hova_cpu.tile_store %t, %y[%row, %c0] : vector<2x16xf32>, memref<9x48xf32>
  return
}

// -----

// Where the sum begins, the step of an odd depth after the loop, and what is
// prefetched: two lines for up to 2 x 16 elements a turn.
// CHECK-LABEL: @prefetches
// CHECK-SAME: memref<9x16xf32>, %{{.*}}: index, %[[PREFETCH:[a-z0-9]+]]: index, %[[STEP:[a-z0-9]+]]: index
// CHECK: %[[PINNED:.*]] = llvm.freeze
// CHECK: %[[SUM:.*]] = scf.for %[[K:.*]] = %c0 to %c6 step %c2 iter_args(%{{.*}} = %cst)
// CHECK: %[[FAR:.*]] = arith.muli %[[K]], %[[STEP]]
// CHECK: %[[AT:.*]] = arith.addi %{{.*}}, %[[FAR]]
// CHECK: memref.prefetch %{{.*}}[%[[AT]]], read, locality<2>, data
// CHECK: %[[SECOND:.*]] = arith.addi %[[AT]], %c16
// CHECK: memref.prefetch %{{.*}}[%[[SECOND]]], read, locality<2>, data
// CHECK-NOT: memref.prefetch
// CHECK: scf.yield
// CHECK: %[[LAST:.*]] = vector.fma %{{.*}}, %{{.*}}, %[[SUM]]
// CHECK: vector.store %[[LAST]]
func.func @prefetches(%x: memref<9x7xf32>, %w: memref<2x7x16xf32>, %y: memref<9x16xf32>,
                                           %row: index, %offset: index, %step: index) {
  %c0 = arith.constant 0 : index
  %depth = arith.constant 7 : index
  %t = hova_cpu.tile_product %x[%row, %c0], %w[%c0, %c0, %c0] depth %depth
      prefetch(%offset by %step, 16)
      : memref<9x7xf32>, memref<2x7x16xf32> -> vector<1x16xf32>
  hova_cpu.tile_store %t, %y[%row, %c0] : vector<1x16xf32>, memref<9x16xf32>
  return
}

// -----

// CHECK-LABEL: @masks_the_last_columns
// CHECK: %[[MASK:.*]] = arith.constant dense<[true, true, true, false]> : vector<4xi1>
// CHECK: scf.for
// CHECK: vector.maskedload %{{.*}}[%{{.*}}], %[[MASK]]
// CHECK-NOT: vector.load
// CHECK: }
// CHECK: vector.maskedload %{{.*}}[%{{.*}}], %[[MASK]]
// CHECK: vector.maskedstore %{{.*}}[%{{.*}}], %[[MASK]]
func.func @masks_the_last_columns(%x: memref<9x7xf32>, %v: memref<7x3xf32>, %y: memref<9x3xf32>, %row: index) {
  %c0 = arith.constant 0 : index
  %depth = arith.constant 7 : index
  %t = hova_cpu.tile_product %x[%row, %c0], %v[%c0, %c0] depth %depth {columns = 3 : i64}
      : memref<9x7xf32>, memref<7x3xf32> -> vector<1x4xf32>
  %u = hova_cpu.tile_load %y[%row, %c0] {columns = 3 : i64} : memref<9x3xf32> -> vector<1x4xf32>
  %s = arith.addf %t, %u : vector<1x4xf32>
  hova_cpu.tile_store %s, %y[%row, %c0] {columns = 3 : i64} : vector<1x4xf32>, memref<9x3xf32>
  return
}

// -----

// CHECK-LABEL: @needs_no_mask_where_all_columns_are_there
// CHECK-NOT: vector.mask
// CHECK: return
func.func @needs_no_mask_where_all_columns_are_there(%y: memref<9x4xf32>, %row: index) {
  %c0 = arith.constant 0 : index
  %u = hova_cpu.tile_load %y[%row, %c0] {columns = 4 : i64} : memref<9x4xf32> -> vector<2x4xf32>
  %s = arith.mulf %u, %u : vector<2x4xf32>
  hova_cpu.tile_store %s, %y[%row, %c0] {columns = 4 : i64} : vector<2x4xf32>, memref<9x4xf32>
  return
}

// -----

// A view begins where its buffer begins; the offset is in the index.
// CHECK-LABEL: @adds_the_offset_of_a_view
// CHECK-DAG: %[[C8:.*]] = arith.constant 8 : index
// CHECK-DAG: %[[C24:.*]] = arith.constant 24 : index
// CHECK-DAG: %[[FLAT:.*]] = memref.reinterpret_cast %{{.*}} to offset: [0], sizes: [144], strides: [1] : memref<9x8xf32, strided<[16, 1], offset: 8>>
// CHECK-DAG: vector.load %[[FLAT]][%[[C8]]]
// CHECK-DAG: vector.load %[[FLAT]][%[[C24]]]
func.func @adds_the_offset_of_a_view(%buffer: memref<9x16xf32>, %y: memref<2x8xf32>) {
  %c0 = arith.constant 0 : index
  %view = memref.subview %buffer[0, 8] [9, 8] [1, 1]
      : memref<9x16xf32> to memref<9x8xf32, strided<[16, 1], offset: 8>>
  %t = hova_cpu.tile_load %view[%c0, %c0] : memref<9x8xf32, strided<[16, 1], offset: 8>> -> vector<2x8xf32>
  hova_cpu.tile_store %t, %y[%c0, %c0] : vector<2x8xf32>, memref<2x8xf32>
  return
}

// -----

// CHECK-LABEL: @broadcasts_rows_and_columns
// CHECK: %[[BIAS:.*]] = vector.load
// CHECK: %[[SUM0:.*]] = vector.reduction <add>, %[[T0:.*]] fastmath<reassoc>
// CHECK: %[[SUM1:.*]] = vector.reduction <add>, %[[T1:.*]] fastmath<reassoc>
// CHECK-DAG: arith.addf %[[T0]], %[[BIAS]]
// CHECK-DAG: arith.addf %[[T1]], %[[BIAS]]
// CHECK-DAG: vector.broadcast %[[SUM0]] : f32 to vector<4xf32>
// CHECK-DAG: vector.broadcast %[[SUM1]] : f32 to vector<4xf32>
func.func @broadcasts_rows_and_columns(%x: memref<2x4xf32>, %bias: memref<1x4xf32>) {
  %c0 = arith.constant 0 : index
  %b = hova_cpu.tile_load %bias[%c0, %c0] : memref<1x4xf32> -> vector<1x4xf32>
  %rows = vector.broadcast %b : vector<1x4xf32> to vector<2x4xf32>
  %t = hova_cpu.tile_load %x[%c0, %c0] : memref<2x4xf32> -> vector<2x4xf32>
  %sum = hova_cpu.tile_row_sum %t : vector<2x4xf32> -> vector<2x1xf32>
  %columns = vector.broadcast %sum : vector<2x1xf32> to vector<2x4xf32>
  %s = arith.addf %t, %rows : vector<2x4xf32>
  %p = arith.mulf %s, %columns : vector<2x4xf32>
  hova_cpu.tile_store %p, %x[%c0, %c0] : vector<2x4xf32>, memref<2x4xf32>
  return
}

// -----

// CHECK-LABEL: @clones_element_wise_operations_per_row
// CHECK-SAME: %{{.*}}: memref<2x4xf32>, %[[SCALAR:.*]]: f32, %[[FLAG:.*]]: i1
// CHECK: %[[TWO:.*]] = arith.constant dense<2.000000e+00> : vector<4xf32>
// CHECK: %[[SPLAT:.*]] = vector.broadcast %[[SCALAR]] : f32 to vector<4xf32>
// CHECK-COUNT-2: math.fma %{{.*}}, %[[TWO]], %[[SPLAT]] : vector<4xf32>
// CHECK-COUNT-2: hova.activation gelu_erf %{{.*}} : vector<4xf32>
// CHECK-COUNT-2: hova.exp2 %{{.*}} : vector<4xf32>
// CHECK-COUNT-2: arith.select %[[FLAG]], %{{.*}}, %{{.*}} : vector<4xf32>
func.func @clones_element_wise_operations_per_row(%x: memref<2x4xf32>, %scalar: f32, %flag: i1) {
  %c0 = arith.constant 0 : index
  %two = arith.constant dense<2.0> : vector<2x4xf32>
  %splat = vector.broadcast %scalar : f32 to vector<2x4xf32>
  %t = hova_cpu.tile_load %x[%c0, %c0] : memref<2x4xf32> -> vector<2x4xf32>
  %f = math.fma %t, %two, %splat : vector<2x4xf32>
  %g = hova.activation gelu_erf %f : vector<2x4xf32>
  %e = hova.exp2 %g : vector<2x4xf32>
  %s = arith.select %flag, %e, %g : vector<2x4xf32>
  hova_cpu.tile_store %s, %x[%c0, %c0] : vector<2x4xf32>, memref<2x4xf32>
  return
}

// -----

// CHECK-LABEL: @rewrites_inside_branches
// CHECK: scf.index_switch
// CHECK: case 3 {
// CHECK-COUNT-3: vector.store
// CHECK-NOT: vector.store
// CHECK: default {
// CHECK-COUNT-2: vector.store
// CHECK-NOT: vector.store
// CHECK: return
func.func @rewrites_inside_branches(%x: memref<9x4xf32>, %y: memref<9x4xf32>, %rows: index) {
  %c0 = arith.constant 0 : index
  scf.index_switch %rows
  case 3 {
    %t = hova_cpu.tile_load %x[%c0, %c0] : memref<9x4xf32> -> vector<3x4xf32>
    hova_cpu.tile_store %t, %y[%c0, %c0] : vector<3x4xf32>, memref<9x4xf32>
    scf.yield
  }
  default {
    %t = hova_cpu.tile_load %x[%c0, %c0] : memref<9x4xf32> -> vector<2x4xf32>
    hova_cpu.tile_store %t, %y[%c0, %c0] : vector<2x4xf32>, memref<9x4xf32>
  }
  return
}

// -----

// CHECK-LABEL: @leaves_row_vectors_alone
// CHECK-NEXT: %[[V:.*]] = vector.load %{{.*}} : memref<2x4xf32>, vector<4xf32>
// CHECK-NEXT: vector.store %[[V]]
// CHECK-NEXT: return
func.func @leaves_row_vectors_alone(%x: memref<2x4xf32>, %y: memref<2x4xf32>, %row: index) {
  %v = vector.load %x[%row, %row] : memref<2x4xf32>, vector<4xf32>
  vector.store %v, %y[%row, %row] : memref<2x4xf32>, vector<4xf32>
  return
}

// -----

// A view that begins where the program says.
// CHECK-LABEL: @reads_a_view_that_moves
// CHECK-SAME: %[[X:.*]]: memref<9x40xf32>, %[[Y:.*]]: memref<2x16xf32>, %[[ROW:.*]]: index, %[[OFFSET:.*]]: index
// CHECK: %[[VIEW:.*]] = memref.reinterpret_cast %[[X]] to offset: [%[[OFFSET]]]
// CHECK: %{{.*}}, %[[MOVED:.*]], %{{.*}}:2, %{{.*}}:2 = memref.extract_strided_metadata %[[VIEW]]
// CHECK: %[[FLAT:.*]] = memref.reinterpret_cast %[[X]] to offset: [0], sizes: [360], strides: [1]
// CHECK: %[[START:.*]] = arith.muli %[[ROW]], %c40
// CHECK: %[[AT:.*]] = arith.addi %[[START]], %[[MOVED]]
// CHECK: vector.load %[[FLAT]][%[[AT]]]
// CHECK: %[[SECOND:.*]] = arith.addi %[[AT]], %c40
// CHECK: vector.load %[[FLAT]][%[[SECOND]]]
func.func @reads_a_view_that_moves(%x: memref<9x40xf32>, %y: memref<2x16xf32>, %row: index, %offset: index) {
  %c0 = arith.constant 0 : index
  %view = memref.reinterpret_cast %x to offset: [%offset], sizes: [9, 40], strides: [40, 1] : memref<9x40xf32> to memref<9x40xf32, strided<[40, 1], offset: ?>>
  %t = hova_cpu.tile_load %view[%row, %c0] : memref<9x40xf32, strided<[40, 1], offset: ?>> -> vector<2x16xf32>
  hova_cpu.tile_store %t, %y[%c0, %c0] : vector<2x16xf32>, memref<2x16xf32>
  return
}
