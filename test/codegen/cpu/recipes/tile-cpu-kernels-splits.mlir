// Products whose sums are split.

// RUN: hova-opt %s --split-input-file --hova-tile-cpu-kernels --canonicalize --cse | FileCheck %s
// RUN: hova-opt %s --split-input-file --hova-tile-cpu-kernels --hova-tile-cpu-kernels --canonicalize --cse | FileCheck %s

// Forty steps of k are three chunks of 16, 16 and 8. The sums of the first two wait
// in scratch; the last hands them on. Every K block prefetches the one after it.
// CHECK-LABEL: func.func private @kernel_divides_the_inner_dimension(
// CHECK-SAME: %[[X:.*]]: memref<9x40xf32, strided<[48, 1]>> {llvm.noalias}, %[[W:.*]]: memref<2x40x16xf32> {llvm.noalias}, %[[Y:.*]]: memref<9x32xf32> {llvm.noalias}, %[[SCRATCH:.*]]: memref<576xi8>
// CHECK: %[[SUMS:.*]] = memref.view %[[SCRATCH]][%c0][] : memref<576xi8> to memref<9x16xf32>
// CHECK: scf.for %[[PANEL:.*]] = %c0 to %c2 step %c1
// CHECK: scf.for %[[ROW:.*]] =
// CHECK: vector.store %cst, %[[SUMS]][%[[ROW]], %c0]
// CHECK: scf.for %[[FROM:.*]] = %c0 to %c32 step %c16
// CHECK: %[[NEXT:.*]] = hova_cpu.tile_product %[[X]][%{{.*}}, %[[FROM]]], %[[W]][%[[PANEL]], %[[FROM]], %c0] depth %c16 prefetch(%{{.*}} by %{{.*}}, 6)
// CHECK: %[[PARTIAL:.*]] = hova_cpu.tile_load %[[SUMS]]
// CHECK: %[[SUM:.*]] = arith.addf %[[NEXT]], %[[PARTIAL]]
// CHECK: hova_cpu.tile_store %[[SUM]], %[[SUMS]]
// CHECK: %[[LAST:.*]] = hova_cpu.tile_product %[[X]][%{{.*}}, %c32], %[[W]][%[[PANEL]], %c32, %c0] depth %c8
// CHECK: %[[PARTIAL:.*]] = hova_cpu.tile_load %[[SUMS]]
// CHECK: %[[ALL:.*]] = arith.addf %[[LAST]], %[[PARTIAL]]
// CHECK: hova_cpu.tile_store %[[ALL]], %[[Y]]
func.func @main(%x: tensor<1x9x8xf32>) -> tensor<1x9x32xf32> {
  %e = hova.image_weight "e" {layout = #hova.column_strips<16>} : tensor<8x40xf32>
  %w = hova.image_weight "w" {layout = #hova.column_strips<16>} : tensor<40x32xf32>
  %wide = hova.kernel "widens" units<batch 1, token 9> (%x, %e) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 16, block = 9>} {
  ^bb0(%x_: tensor<1x9x8xf32>, %w_: tensor<8x40xf32>):
    %r_out = hova.stage [#hova.layout<rows 48>] {
      %r = hova.linear %x_, %w_ : tensor<1x9x8xf32>, tensor<8x40xf32> -> tensor<1x9x40xf32>
      hova.yield %r : tensor<1x9x40xf32>
    } : tensor<1x9x40xf32>
    hova.yield %r_out : tensor<1x9x40xf32>
  } : (tensor<1x9x8xf32>, tensor<8x40xf32>) -> tensor<1x9x40xf32>
  %out = hova.kernel "divides_the_inner_dimension" units<batch 1, token 9> (%wide, %w) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 16, block = 9>} {
  ^bb0(%x_: tensor<1x9x40xf32>, %w_: tensor<40x32xf32>):
    %r_out = hova.stage [#hova.layout<rows 32>] {
      %r = hova.linear %x_, %w_ : tensor<1x9x40xf32>, tensor<40x32xf32> -> tensor<1x9x32xf32>
      hova.yield %r : tensor<1x9x32xf32>
    } : tensor<1x9x32xf32>
    hova.yield %r_out : tensor<1x9x32xf32>
  } : (tensor<1x9x40xf32>, tensor<40x32xf32>) -> tensor<1x9x32xf32>
  return %out : tensor<1x9x32xf32>
}
func.func private @weights() {
  %e = hova.weight "e" : tensor<8x40xf32>
  hova.store_weight "e", %e : tensor<8x40xf32>
  %w = hova.weight "w" : tensor<40x32xf32>
  hova.store_weight "w", %w : tensor<40x32xf32>
  return
}

// -----

// Fifty-six steps in one chunk, at most 16 summed in a row: four sums for every
// tile. What they add up to waits in scratch.
// CHECK-LABEL: func.func private @kernel_adds_up_sums(
// CHECK-SAME: %[[X:.*]]: memref<9x56xf32, strided<[64, 1]>> {llvm.noalias}, %[[W:.*]]: memref<2x56x16xf32> {llvm.noalias}, %[[Y:.*]]: memref<9x32xf32> {llvm.noalias}, %[[SCRATCH:.*]]: memref<256xi8>
// CHECK: %[[SUMS:.*]] = memref.view %[[SCRATCH]][%c0][] : memref<256xi8> to memref<4x16xf32>
// CHECK: scf.for %[[PANEL:.*]] = %c0 to %c2 step %c1
// CHECK: %[[FIRST:.*]] = hova_cpu.tile_product %[[X]][%{{.*}}, %c0], %[[W]][%[[PANEL]], %c0, %c0] depth %c16 prefetch(%[[PREFETCH:.*]] by %[[STEP:.*]], 6)
// CHECK: hova_cpu.tile_store %[[FIRST]], %[[SUMS]][%c0, %c0]
// CHECK: scf.for %[[FROM:.*]] = %c16 to %c48 step %c16
// CHECK: %[[FAR:.*]] = arith.muli %[[FROM]], %[[STEP]]
// CHECK: %[[THEN:.*]] = arith.addi %[[PREFETCH]], %[[FAR]]
// CHECK: %[[NEXT:.*]] = hova_cpu.tile_product %[[X]][%{{.*}}, %[[FROM]]], %[[W]][%[[PANEL]], %[[FROM]], %c0] depth %c16 prefetch(%[[THEN]] by %[[STEP]], 6)
// CHECK: %[[BEFORE:.*]] = hova_cpu.tile_load %[[SUMS]][%c0, %c0]
// CHECK: %[[SUM:.*]] = arith.addf %[[NEXT]], %[[BEFORE]]
// CHECK: hova_cpu.tile_store %[[SUM]], %[[SUMS]][%c0, %c0]
// CHECK: %[[LAST:.*]] = hova_cpu.tile_product %[[X]][%{{.*}}, %c48], %[[W]][%[[PANEL]], %c48, %c0] depth %c8
// CHECK: %[[BEFORE:.*]] = hova_cpu.tile_load %[[SUMS]][%c0, %c0]
// CHECK: %[[ALL:.*]] = arith.addf %[[LAST]], %[[BEFORE]]
// CHECK: hova_cpu.tile_store %[[ALL]], %[[Y]]
func.func @main(%x: tensor<1x9x8xf32>) -> tensor<1x9x32xf32> {
  %e = hova.image_weight "e" {layout = #hova.column_strips<16>} : tensor<8x56xf32>
  %w = hova.image_weight "w" {layout = #hova.column_strips<16>} : tensor<56x32xf32>
  %wide = hova.kernel "widens" units<batch 1, token 9> (%x, %e) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 16, block = 9>} {
  ^bb0(%x_: tensor<1x9x8xf32>, %w_: tensor<8x56xf32>):
    %r_out = hova.stage [#hova.layout<rows 64>] {
      %r = hova.linear %x_, %w_ : tensor<1x9x8xf32>, tensor<8x56xf32> -> tensor<1x9x56xf32>
      hova.yield %r : tensor<1x9x56xf32>
    } : tensor<1x9x56xf32>
    hova.yield %r_out : tensor<1x9x56xf32>
  } : (tensor<1x9x8xf32>, tensor<8x56xf32>) -> tensor<1x9x56xf32>
  %out = hova.kernel "adds_up_sums" units<batch 1, token 9> (%wide, %w) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 9, reduction_split = 16>} {
  ^bb0(%x_: tensor<1x9x56xf32>, %w_: tensor<56x32xf32>):
    %r_out = hova.stage [#hova.layout<rows 32>] {
      %r = hova.linear %x_, %w_ : tensor<1x9x56xf32>, tensor<56x32xf32> -> tensor<1x9x32xf32>
      hova.yield %r : tensor<1x9x32xf32>
    } : tensor<1x9x32xf32>
    hova.yield %r_out : tensor<1x9x32xf32>
  } : (tensor<1x9x56xf32>, tensor<56x32xf32>) -> tensor<1x9x32xf32>
  return %out : tensor<1x9x32xf32>
}
func.func private @weights() {
  %e = hova.weight "e" : tensor<8x56xf32>
  hova.store_weight "e", %e : tensor<8x56xf32>
  %w = hova.weight "w" : tensor<56x32xf32>
  hova.store_weight "w", %w : tensor<56x32xf32>
  return
}
