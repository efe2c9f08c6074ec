// Values between the stages of a kernel whose rows are taken in blocks.

// RUN: hova-opt %s --split-input-file --hova-tile-cpu-kernels --canonicalize --cse | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// The hidden value is of one block: row `from` of a block lies where the first
// row of the thread does. The kernel's inputs and results keep their places. Each
// thread has memory for as many rows as a block, not the arena for all.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: hova.arena_bytes = 0 : i64
// CHECK: %[[CHUNK:.*]] = hova.chunk_buffer : memref<20x16xf32>
// CHECK: hova.launch @kernel_takes_rows_in_blocks(%{{.*}}, %{{.*}}, %{{.*}}, %[[CHUNK]]) "takes_rows_in_blocks" {flops = {{[0-9]+}} : i64, shape = #hova_cpu.launch<units = 20, grain = 8, block = 8>}
// CHECK-LABEL: func.func private @kernel_takes_rows_in_blocks(
// CHECK-SAME: %[[X:.*]]: memref<20x16xf32> {llvm.noalias}, %[[W:.*]]: memref<1x16x16xf32> {llvm.noalias}, %[[Y:.*]]: memref<20x16xf32> {llvm.noalias}, %[[HIDDEN:.*]]: memref<20x16xf32> {llvm.noalias}, %{{.*}}: memref<64xi8> {llvm.noalias}, %[[BEGIN:.*]]: index, %{{.*}}: index)
// CHECK: scf.for
// CHECK: %[[FROM:.*]] = arith.addi %[[BEGIN]], %{{.*}}
// CHECK: %[[DISTANCE:.*]] = arith.subi %[[BEGIN]], %[[FROM]]
// CHECK: %[[OFFSET:.*]] = arith.muli %[[DISTANCE]], %c16
// CHECK: %[[MOVED:.*]] = memref.reinterpret_cast %[[HIDDEN]] to offset: [%[[OFFSET]]], sizes: [20, 16], strides: [16, 1] : memref<20x16xf32> to memref<20x16xf32, strided<[16, 1], offset: ?>>
// CHECK: vector.load %[[X]][%[[ROW:.*]], %c0]
// CHECK: hova_cpu.tile_store %{{.*}}, %[[MOVED]][%[[ROW]], %c0]
// CHECK: hova_cpu.tile_product %[[MOVED]][%[[TILE:.*]], %c0], %[[W]]
// CHECK: hova_cpu.tile_store %{{.*}}, %[[Y]][%[[TILE]], %c0]
func.func @main(%x: tensor<1x20x16xf32>) -> tensor<1x20x16xf32> {
  %w = hova.image_weight "w" {layout = #hova.column_strips<16>} : tensor<16x16xf32>
  %out = hova.kernel "takes_rows_in_blocks" units<batch 1, token 20> (%x, %w) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 16, grain = 8, k_block = 256, block = 8>} {
  ^bb0(%x_: tensor<1x20x16xf32>, %w_: tensor<16x16xf32>):
    %n_out = hova.stage [#hova.layout<rows 16>] {
      %n = hova.layer_norm %x_ {eps = 1.0e-5 : f64} : tensor<1x20x16xf32>
      hova.yield %n : tensor<1x20x16xf32>
    } : tensor<1x20x16xf32>
    %r_out = hova.stage [#hova.layout<rows 16>] {
      %r = hova.linear %n_out, %w_ : tensor<1x20x16xf32>, tensor<16x16xf32> -> tensor<1x20x16xf32>
      hova.yield %r : tensor<1x20x16xf32>
    } : tensor<1x20x16xf32>
    hova.yield %r_out : tensor<1x20x16xf32>
  } : (tensor<1x20x16xf32>, tensor<16x16xf32>) -> tensor<1x20x16xf32>
  return %out : tensor<1x20x16xf32>
}
func.func private @weights() {
  %w = hova.weight "w" : tensor<16x16xf32>
  hova.store_weight "w", %w : tensor<16x16xf32>
  return
}

// -----

// Rows of chunks lie where nothing is alive during their launch: after two values
// of 1280 bytes, then in the place of the first of them. What does not fit into
// that follows after the second, one after the other.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: hova.arena_bytes = 2560 : i64
// CHECK: hova.launch @kernel_before(%{{.*}}) "before" {flops
// CHECK-SAME: shape = #hova_cpu.launch<units = 20, grain = 8>}
// CHECK: %[[FIRST:.*]] = hova.chunk_buffer {offset = 2560 : i64} : memref<20x16xf32>
// CHECK: hova.launch @kernel_first(%{{.*}}, %{{.*}}, %{{.*}}, %[[FIRST]]) "first"
// CHECK: %[[IN_GAP:.*]] = hova.chunk_buffer : memref<20x16xf32>
// CHECK: %[[AFTER:.*]] = hova.chunk_buffer {offset = 2560 : i64} : memref<20x16xf32>
// CHECK: %[[LAST:.*]] = hova.chunk_buffer {offset = 2560 : i64, row_bytes_before = 64 : i64} : memref<20x16xf32>
// CHECK: hova.launch @kernel_second(%{{.*}}, %{{.*}}, %{{.*}}, %[[IN_GAP]], %[[AFTER]], %[[LAST]]) "second"
func.func @main(%x: tensor<1x20x16xf32>) -> tensor<1x20x16xf32> {
  %w = hova.image_weight "w" {layout = #hova.column_strips<16>} : tensor<16x16xf32>
  %p = hova.kernel "before" units<batch 1, token 20> (%x) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 16, grain = 8, k_block = 256, block = 8>} {
  ^bb0(%x_: tensor<1x20x16xf32>):
    %r_out = hova.stage [#hova.layout<rows 16>] {
      %r = hova.activation relu %x_ : tensor<1x20x16xf32>
      hova.yield %r : tensor<1x20x16xf32>
    } : tensor<1x20x16xf32>
    hova.yield %r_out : tensor<1x20x16xf32>
  } : (tensor<1x20x16xf32>) -> tensor<1x20x16xf32>
  %q = hova.kernel "first" units<batch 1, token 20> (%p, %w) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 16, grain = 8, k_block = 256, block = 8>} {
  ^bb0(%x_: tensor<1x20x16xf32>, %w_: tensor<16x16xf32>):
    %n_out = hova.stage [#hova.layout<rows 16>] {
      %n = hova.layer_norm %x_ {eps = 1.0e-5 : f64} : tensor<1x20x16xf32>
      hova.yield %n : tensor<1x20x16xf32>
    } : tensor<1x20x16xf32>
    %r_out = hova.stage [#hova.layout<rows 16>] {
      %r = hova.linear %n_out, %w_ : tensor<1x20x16xf32>, tensor<16x16xf32> -> tensor<1x20x16xf32>
      hova.yield %r : tensor<1x20x16xf32>
    } : tensor<1x20x16xf32>
    hova.yield %r_out : tensor<1x20x16xf32>
  } : (tensor<1x20x16xf32>, tensor<16x16xf32>) -> tensor<1x20x16xf32>
  %s = hova.kernel "second" units<batch 1, token 20> (%q, %w) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 16, grain = 8, k_block = 256, block = 8>} {
  ^bb0(%x_: tensor<1x20x16xf32>, %w_: tensor<16x16xf32>):
    %n_out = hova.stage [#hova.layout<rows 16>] {
      %n = hova.layer_norm %x_ {eps = 1.0e-5 : f64} : tensor<1x20x16xf32>
      hova.yield %n : tensor<1x20x16xf32>
    } : tensor<1x20x16xf32>
    %a_out = hova.stage [#hova.layout<rows 16>] {
      %a = hova.activation relu %n_out : tensor<1x20x16xf32>
      hova.yield %a : tensor<1x20x16xf32>
    } : tensor<1x20x16xf32>
    %b_out = hova.stage [#hova.layout<rows 16>] {
      %b = hova.activation tanh %a_out : tensor<1x20x16xf32>
      hova.yield %b : tensor<1x20x16xf32>
    } : tensor<1x20x16xf32>
    %r_out = hova.stage [#hova.layout<rows 16>] {
      %r = hova.linear %b_out, %w_ : tensor<1x20x16xf32>, tensor<16x16xf32> -> tensor<1x20x16xf32>
      hova.yield %r : tensor<1x20x16xf32>
    } : tensor<1x20x16xf32>
    hova.yield %r_out : tensor<1x20x16xf32>
  } : (tensor<1x20x16xf32>, tensor<16x16xf32>) -> tensor<1x20x16xf32>
  return %s : tensor<1x20x16xf32>
}
func.func private @weights() {
  %w = hova.weight "w" : tensor<16x16xf32>
  hova.store_weight "w", %w : tensor<16x16xf32>
  return
}
