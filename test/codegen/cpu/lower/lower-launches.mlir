// RUN: hova-opt %s --split-input-file --hova-lower-launches | FileCheck %s
// RUN: hova-opt %s --split-input-file --hova-lower-launches=suffix=_0 | FileCheck %s --check-prefix=SUFFIX
// RUN: hova-opt %s --split-input-file --hova-lower-launches --hova-lower-launches | FileCheck %s

// Two launches of three buffers at most. Then kernel, parts, units, number of
// buffers, bytes of scratch, block, numbers of costs and of chunks, what makes them those of a run (three), number of stages, and buffers: inputs 0 and 1
// (2, 10), arena and weights at 64 (64, 65), output 0 (3).
// CHECK: llvm.mlir.global external constant @hova_launches(dense<[2, 3,
// CHECK-SAME: 0, 4, 9, 3, 64, 9, 0, 0, 0, 0, 0, 0, 2, 10, 64,
// CHECK-SAME: 1, 1, 9, 3, 128, 9, 0, 0, 0, 0, 0, 0, 64, 65, 3]> : tensor<32xi64>)

// CHECK-LABEL: func.func @hova_call(
// CHECK-SAME: %[[KERNEL:.*]]: i64, %[[BUFFERS:.*]]: !llvm.ptr, %[[SCRATCH:.*]]: !llvm.ptr, %[[BEGIN:.*]]: i64, %[[END:.*]]: i64)
// CHECK: %[[NUMBER:.*]] = arith.index_cast %[[KERNEL]]
// CHECK: scf.index_switch %[[NUMBER]]
// CHECK: case 0 {
// CHECK: %[[FIRST:.*]] = llvm.getelementptr %[[BUFFERS]][0]
// CHECK: %[[X:.*]] = llvm.load %[[FIRST]]
// CHECK: llvm.insertvalue %[[X]], %{{.*}}[1]
// CHECK: llvm.getelementptr %[[BUFFERS]][1]
// CHECK: llvm.getelementptr %[[BUFFERS]][2]
// CHECK: llvm.insertvalue %[[SCRATCH]], %{{.*}}[1]
// CHECK: %[[FROM:.*]] = arith.index_cast %[[BEGIN]]
// CHECK: %[[TO:.*]] = arith.index_cast %[[END]]
// CHECK: func.call @kernel_a(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[FROM]], %[[TO]])
// CHECK: case 1 {
// CHECK: func.call @kernel_b

// CHECK-LABEL: func.func @hova_run(
// CHECK-SAME: %[[INPUTS:.*]]: !llvm.ptr, %[[OUTPUTS:.*]]: !llvm.ptr, %[[ARENA:.*]]: !llvm.ptr, %[[IMAGE:.*]]: !llvm.ptr, %[[THREAD:.*]]: i64, %[[THREADS:.*]]: i64, %[[TEAM:.*]]: !llvm.ptr)
// CHECK: %[[LAUNCHES:.*]] = llvm.mlir.addressof @hova_launches
// CHECK: %[[FUNCTION:.*]] = constant @hova_call
// CHECK: %[[CALL:.*]] = builtin.unrealized_conversion_cast %[[FUNCTION]]
// CHECK: llvm.call @hova_run_launches(%[[INPUTS]], %[[OUTPUTS]], %[[ARENA]], %[[IMAGE]], %[[THREAD]], %[[THREADS]], %[[TEAM]], %[[LAUNCHES]], %[[CALL]])
// CHECK-NEXT: return
// CHECK: llvm.func @hova_run_launches(
// CHECK-NOT: @weights
// CHECK-NOT: @main
// CHECK: func.func private @kernel_a(
// SUFFIX: @hova_launches_0(
// SUFFIX: func.func @hova_call_0(
// SUFFIX: func.func @hova_run_0(
// SUFFIX: llvm.mlir.addressof @hova_launches_0
// SUFFIX: constant @hova_call_0
func.func @main(%x: memref<9x8xf32>, %m: memref<2x3xi8>, %y: memref<9x8xf32>) attributes {hova.arena_bytes = 640 : i64, hova.image_bytes = 128 : i64, hova.inputs = 2 : i64} {
  %p = hova.arena_buffer {offset = 64 : i64} : memref<9x8xf32, strided<[16, 1]>>
  hova.launch @kernel_a(%x, %m, %p) "a" {flops = 1000000 : i64, shape = #hova_cpu.launch<units = 9, grain = 2>} : (memref<9x8xf32>, memref<2x3xi8>, memref<9x8xf32, strided<[16, 1]>>)
  %w = hova.image_buffer {offset = 64 : i64} : memref<1x8xf32>
  hova.launch @kernel_b(%p, %w, %y) "b" {flops = 1000000 : i64, shape = #hova_cpu.launch<units = 9, grain = 100>} : (memref<9x8xf32, strided<[16, 1]>>, memref<1x8xf32>, memref<9x8xf32>)
  return
}
func.func private @weights() {
  return
}
func.func private @kernel_a(%x: memref<9x8xf32>, %m: memref<2x3xi8>, %y: memref<9x8xf32, strided<[16, 1]>>, %scratch: memref<64xi8>, %begin: index, %end: index) {
  return
}
func.func private @kernel_b(%x: memref<9x8xf32, strided<[16, 1]>>, %w: memref<1x8xf32>, %y: memref<9x8xf32>, %scratch: memref<128xi8>, %begin: index, %end: index) {
  return
}

// -----

// Launches of one kernel are one case: code does not grow with their number.
// CHECK: @hova_launches(dense<[3, 1, 0, 4, 9, 1, 64, 9, 0, 0, 0, 0, 0, 0, 3, 1, 1, 9, 1, 64, 9, 0, 0, 0, 0, 0, 0, 11, 0, 4, 9, 1, 64, 9, 0, 0, 0, 0, 0, 0, 11]> : tensor<41xi64>)
// CHECK-LABEL: func.func @hova_call(
// CHECK-COUNT-2: func.call
// CHECK-NOT: func.call
// CHECK-LABEL: func.func @hova_run(
func.func @main(%x: memref<9x8xf32>, %y: memref<9x8xf32>) attributes {hova.arena_bytes = 0 : i64, hova.image_bytes = 0 : i64, hova.inputs = 0 : i64} {
  hova.launch @kernel_a(%x) "a" {flops = 1000000 : i64, shape = #hova_cpu.launch<units = 9, grain = 2>} : (memref<9x8xf32>)
  hova.launch @kernel_b(%y) "b" {flops = 1000000 : i64, shape = #hova_cpu.launch<units = 9, grain = 9>} : (memref<9x8xf32>)
  hova.launch @kernel_a(%y) "c" {flops = 1000000 : i64, shape = #hova_cpu.launch<units = 9, grain = 2>} : (memref<9x8xf32>)
  return
}
func.func private @kernel_a(%y: memref<9x8xf32>, %scratch: memref<64xi8>, %begin: index, %end: index) {
  return
}
func.func private @kernel_b(%y: memref<9x8xf32>, %scratch: memref<64xi8>, %begin: index, %end: index) {
  return
}

// -----

// A kernel has as many parts as its grain allows, however many those are.
// CHECK: @hova_launches(dense<[1, 1, 0, 90, 90, 1, 64, 90, 0, 0, 0, 0, 0, 0, 3]>
func.func @main(%y: memref<90x8xf32>) attributes {hova.arena_bytes = 0 : i64, hova.image_bytes = 0 : i64, hova.inputs = 0 : i64} {
  hova.launch @kernel_a(%y) "a" {flops = 1000000 : i64, shape = #hova_cpu.launch<units = 90, grain = 1>} : (memref<90x8xf32>)
  return
}
func.func private @kernel_a(%y: memref<90x8xf32>, %scratch: memref<64xi8>, %begin: index, %end: index) {
  return
}

// -----

// A buffer of a thread's chunk is told by the bytes of its row (64 | 4), and how
// many rows of it a block has; costs as sums of the first 1, 2 and 3; and where
// the rows begin.
// CHECK: @hova_launches(dense<[1, 2, 0, 9, 9, 2, 64, 4, 3, 1, 0, 0, 0, 0, 3, 68, 10, 12, 13, 128, 64]>
func.func @main(%y: memref<9x8xf32>) attributes {hova.arena_bytes = 0 : i64, hova.image_bytes = 0 : i64, hova.inputs = 0 : i64} {
  %h = hova.chunk_buffer {offset = 128 : i64, row_bytes_before = 64 : i64} : memref<9x8xf32, strided<[16, 1]>>
  hova.launch @kernel_a(%y, %h) "a" {flops = 1000000 : i64, shape = #hova_cpu.launch<units = 9, grain = 1, block = 4, costs = [10, 2, 1]>} : (memref<9x8xf32>, memref<9x8xf32, strided<[16, 1]>>)
  return
}
func.func private @kernel_a(%y: memref<9x8xf32>, %h: memref<9x8xf32, strided<[16, 1]>>, %scratch: memref<64xi8>, %begin: index, %end: index) {
  return
}

// -----

// In a program with ranges a launch says of what it has so many units (items 1,
// tokens 2), of how many a part is at least, and from how many on they are
// divided. The table of sequences (6) is a buffer.
// CHECK: @hova_launches(dense<[2, 2, 0, 4, 8, 2, 64, 8, 0, 0, 1, 2, 1, 0, 3, 6, 0, 1, 4, 2, 64, 4, 0, 0, 0, 0, 0, 0, 3, 6]>
func.func @main(%y: memref<8x8xf32>) attributes {hova.ranges = array<i64: 1, 2, 1, 4>, hova.arena_bytes = 0 : i64, hova.image_bytes = 0 : i64, hova.inputs = 0 : i64} {
  %s = hova.sequence_buffer : memref<1x13xi32>
  hova.launch @kernel_a(%y, %s) "a" {flops = 1000000 : i64, hova.extent = "items", shape = #hova_cpu.launch<units = 8, grain = 2>} : (memref<8x8xf32>, memref<1x13xi32>)
  hova.launch @kernel_a(%y, %s) "b" {flops = 1000000 : i64, shape = #hova_cpu.launch<units = 4, grain = 4>} : (memref<8x8xf32>, memref<1x13xi32>)
  return
}
func.func private @kernel_a(%y: memref<8x8xf32>, %s: memref<1x13xi32>, %scratch: memref<64xi8>, %begin: index, %end: index) {
  return
}

// -----

// Stages that a run of few rows takes one after the other: how few (96), the
// work of a part of rows, and steps of this run, of which there is one. Six
// numbers of each, and room for as many steps: all stages (0 to 4294967295) on
// all rows. A kernel is told which by a buffer of its own (7).
// CHECK: @hova_launches(dense<[1, 2, 0, 4, 8, 2, 64, 8, 0, 0, 2, 2, 1, 2, 3, 7, 96, 0, 1,
// CHECK-SAME: 24, 2, 11, 3, 1000, 500, 0, 0, 0, 40, 10, 0,
// CHECK-SAME: 0, 4294967295, 0, 8, 8, 4, 0, 0, 0, 0, 0, 0]> : tensor<43xi64>)
func.func @main(%y: memref<8x8xf32>) attributes {hova.ranges = array<i64: 1, 2, 1, 4>, hova.arena_bytes = 0 : i64, hova.image_bytes = 0 : i64, hova.inputs = 0 : i64} {
  %s = hova_cpu.step_buffer : memref<1x4xi64>
  hova.launch @kernel_a(%y, %s) "a" {flops = 1000000 : i64, hova.extent = "tokens", shape = #hova_cpu.launch<units = 8, grain = 2, stages = [24, 2, 11, 3, 1000, 500, 0, 0, 0, 40, 10, 0]>} : (memref<8x8xf32>, memref<1x4xi64>)
  return
}
func.func private @kernel_a(%y: memref<8x8xf32>, %s: memref<1x4xi64>, %scratch: memref<64xi8>, %begin: index, %end: index) {
  return
}

// -----

// A program that was not tiled stays.
// CHECK-LABEL: func.func @main(
// CHECK-NOT: hova_run
// CHECK: hova.activation
func.func @main(%x: tensor<9x8xf32>) -> tensor<9x8xf32> {
  %y = hova.activation relu %x : tensor<9x8xf32>
  return %y : tensor<9x8xf32>
}
