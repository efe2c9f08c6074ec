// Loops of operations that unfold, pad and reshape.

// RUN: hova-opt %s --split-input-file --hova-tile-cpu-kernels --canonicalize --cse | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// Of a padded image a row is zeros, then the lines and pixels that are inside.
// CHECK-LABEL: func.func private @kernel_puts_rows_together_in_scratch(
// CHECK-SAME: %[[IMAGE:.*]]: memref<12x5xf32> {llvm.noalias}, %[[Y:.*]]: memref<12x18xf32> {llvm.noalias}, %{{.*}}: memref<72xi8>
// CHECK: scf.for %[[ROW:.*]] =
// CHECK: vector.maskedstore %[[SCRATCH:.*]][%c0, %c0]
// CHECK: %[[FIRST:.*]] = arith.maxsi %{{.*}}, %c0
// CHECK: %[[LAST:.*]] = arith.minsi %{{.*}}, %c3
// CHECK: %[[LEFT:.*]] = arith.maxsi %{{.*}}, %c0
// CHECK: %[[RIGHT:.*]] = arith.minsi %{{.*}}, %c3
// CHECK: scf.for %{{.*}} = %c0 to %c2 step %c1
// CHECK-NEXT: scf.for %{{.*}} = %[[FIRST]] to %[[LAST]] step %c1
// CHECK: scf.for %{{.*}} = %[[LEFT]] to %[[RIGHT]] step %c1
// CHECK: %[[PIXEL:.*]] = memref.load %[[IMAGE]]
// CHECK: memref.store %[[PIXEL]], %[[SCRATCH]]
// CHECK: hova_cpu.tile_store %{{.*}}, %[[Y]][%[[ROW]], %c0] {columns = 18 : i64} : vector<1x32xf32>
func.func @main(%x: tensor<2x2x3x5xf32>) -> tensor<2x6x18xf32> {
  %out = hova.kernel "puts_rows_together_in_scratch" units<batch 2, patch 6> (%x) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%x_: tensor<2x2x3x5xf32>):
    %r_out = hova.stage [#hova.layout<rows 18>] {
      %r = hova.unfold %x_ {kernel = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 1, 1>} : tensor<2x2x3x5xf32> -> tensor<2x6x18xf32>
      hova.yield %r : tensor<2x6x18xf32>
    } : tensor<2x6x18xf32>
    hova.yield %r_out : tensor<2x6x18xf32>
  } : (tensor<2x2x3x5xf32>) -> tensor<2x6x18xf32>
  return %out : tensor<2x6x18xf32>
}

// -----

// Channels of a token are a kernel's pixels apart.
// CHECK-LABEL: func.func private @kernel_gathers_tokens(
// CHECK-SAME: %[[X:.*]]: memref<12x5xf32> {llvm.noalias}
// CHECK-NOT: vector.maskedstore
// CHECK: scf.for %[[LINE:.*]] = %c0 to %c2 step %c1
// CHECK: scf.for %[[PIXEL:.*]] = %c0 to %c2 step %c1
// CHECK: %[[TOKEN:.*]] = arith.addi
// CHECK: scf.for %[[CHANNEL:.*]] = %c0 to %c5 step %c1
// CHECK: arith.muli %[[CHANNEL]], %c4
// CHECK: memref.load %[[X]][%{{.*}}, %[[CHANNEL]]]
// CHECK: memref.store
func.func @main(%x: tensor<1x12x5xf32>) -> tensor<1x6x20xf32> {
  %out = hova.kernel "gathers_tokens" units<batch 1, patch 6> (%x) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%x_: tensor<1x12x5xf32>):
    %r_out = hova.stage [#hova.layout<rows 20>] {
      %r = hova.unfold %x_ {kernel = array<i64: 2, 2>, stride = array<i64: 1, 1>, grid = array<i64: 3, 4>} : tensor<1x12x5xf32> -> tensor<1x6x20xf32>
      hova.yield %r : tensor<1x6x20xf32>
    } : tensor<1x6x20xf32>
    hova.yield %r_out : tensor<1x6x20xf32>
  } : (tensor<1x12x5xf32>) -> tensor<1x6x20xf32>
  return %out : tensor<1x6x20xf32>
}

// -----

// Rows in front of x and after it are zeros.
// CHECK-LABEL: func.func private @kernel_pads_rows(
// CHECK-SAME: %[[X:.*]]: memref<6x8xf32> {llvm.noalias}, %[[Y:.*]]: memref<10x8xf32>
// CHECK: %[[TOKEN:.*]] = arith.remui %{{.*}}, %c5
// CHECK: %[[PATCH:.*]] = arith.subi %[[TOKEN]], %c1
// CHECK: %[[INSIDE:.*]] = arith.cmpi ult, %[[PATCH]], %c3
// CHECK: scf.if %[[INSIDE]]
// CHECK: vector.load %[[X]]
// CHECK: } else {
// CHECK: hova_cpu.tile_store %{{.*}}, %[[Y]]
func.func @main(%x: tensor<2x3x8xf32>) -> tensor<2x5x8xf32> {
  %out = hova.kernel "pads_rows" units<batch 2, token 5> (%x) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%x_: tensor<2x3x8xf32>):
    %r_out = hova.stage [#hova.layout<rows 8>] {
      %r = hova.pad %x_ {axis = 1 : i64, before = 1 : i64} : tensor<2x3x8xf32> -> tensor<2x5x8xf32>
      hova.yield %r : tensor<2x5x8xf32>
    } : tensor<2x5x8xf32>
    hova.yield %r_out : tensor<2x5x8xf32>
  } : (tensor<2x3x8xf32>) -> tensor<2x5x8xf32>
  return %out : tensor<2x5x8xf32>
}

// -----

// CHECK-LABEL: func.func private @kernel_pads_columns(
// CHECK-SAME: %[[X:.*]]: memref<6x8xf32> {llvm.noalias}, %[[Y:.*]]: memref<6x11xf32>
// CHECK: hova_cpu.tile_store %{{.*}}, %[[Y]][%[[ROW:.*]], %c0] : vector<1x1xf32>
// CHECK: hova_cpu.tile_store %{{.*}}, %[[Y]][%[[ROW]], %c1] : vector<1x8xf32>
// CHECK: hova_cpu.tile_store %{{.*}}, %[[Y]][%[[ROW]], %c9] : vector<1x2xf32>
func.func @main(%x: tensor<2x3x8xf32>) -> tensor<2x3x11xf32> {
  %out = hova.kernel "pads_columns" units<batch 2, token 3> (%x) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%x_: tensor<2x3x8xf32>):
    %r_out = hova.stage [#hova.layout<rows 11>] {
      %r = hova.pad %x_ {axis = 2 : i64, before = 1 : i64} : tensor<2x3x8xf32> -> tensor<2x3x11xf32>
      hova.yield %r : tensor<2x3x11xf32>
    } : tensor<2x3x11xf32>
    hova.yield %r_out : tensor<2x3x11xf32>
  } : (tensor<2x3x8xf32>) -> tensor<2x3x11xf32>
  return %out : tensor<2x3x11xf32>
}

// -----

// Pieces that divide the rows of both.
// CHECK-LABEL: func.func private @kernel_copies_what_is_reshaped(
// CHECK-SAME: %[[X:.*]]: memref<6x8xf32> {llvm.noalias}, %[[Y:.*]]: memref<4x12xf32>
// CHECK: scf.for %[[PIECE:.*]] = %c0 to %c3 step %c1
// CHECK: arith.divui %[[ELEMENT:.*]], %c8
// CHECK: arith.remui %[[ELEMENT]], %c8
// CHECK: vector.load %[[X]]{{.*}}, vector<4xf32>
// CHECK: hova_cpu.tile_store %{{.*}}, %[[Y]]
func.func @main(%x: tensor<6x8xf32>) -> tensor<4x12xf32> {
  %out = hova.kernel "copies_what_is_reshaped" units<row 4> (%x) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%x_: tensor<6x8xf32>):
    %r_out = hova.stage [#hova.layout<rows 12>] {
      %r = hova.reshape %x_ : tensor<6x8xf32> -> tensor<4x12xf32>
      hova.yield %r : tensor<4x12xf32>
    } : tensor<4x12xf32>
    hova.yield %r_out : tensor<4x12xf32>
  } : (tensor<6x8xf32>) -> tensor<4x12xf32>
  return %out : tensor<4x12xf32>
}
