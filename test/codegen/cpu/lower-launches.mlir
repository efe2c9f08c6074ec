// RUN: hova-opt %s --split-input-file --hova-lower-launches --canonicalize --cse | FileCheck %s
// RUN: hova-opt %s --split-input-file --hova-lower-launches=suffix=_0 --canonicalize --cse | FileCheck %s --check-prefix=SUFFIX
// RUN: hova-opt %s --split-input-file --hova-lower-launches --hova-lower-launches --canonicalize --cse | FileCheck %s

// Inputs and outputs come from two tables, scratch from the thread's number, and
// everybody meets behind every launch, whether there was a share or not.
// CHECK: llvm.func @hova_barrier(!llvm.ptr, i64, i64)
// CHECK-LABEL: func.func @hova_run(
// CHECK-SAME: %[[INPUTS:.*]]: !llvm.ptr, %[[OUTPUTS:.*]]: !llvm.ptr, %[[ARENA:.*]]: !llvm.ptr, %[[IMAGE:.*]]: !llvm.ptr, %[[THREAD:.*]]: i64, %[[THREADS:.*]]: i64, %[[TEAM:.*]]: !llvm.ptr)
// CHECK-DAG: %[[SECOND:.*]] = llvm.mlir.constant(1 : i64)
// CHECK-DAG: %[[FIRST:.*]] = llvm.mlir.constant(0 : i64)
// CHECK-DAG: %[[BYTES:.*]] = llvm.mlir.constant(4096 : i64)
// CHECK-DAG: %[[BEHIND:.*]] = llvm.mlir.constant(640 : i64)
// CHECK: %[[OWN:.*]] = arith.index_cast %[[THREAD]]
// CHECK: %[[COUNT:.*]] = arith.index_cast %[[THREADS]]
// CHECK: llvm.load %[[INPUTS]]
// CHECK: llvm.getelementptr %[[INPUTS]][1]
// CHECK: llvm.load %[[OUTPUTS]]
// CHECK: %[[SHARE:.*]] = llvm.mul %[[THREAD]], %[[BYTES]]
// CHECK: %[[PLACE:.*]] = llvm.add %[[SHARE]], %[[BEHIND]]
// CHECK: %[[SCRATCH:.*]] = llvm.getelementptr %[[ARENA]][%[[PLACE]]]
// CHECK: %[[PARTS:.*]] = arith.minui %[[COUNT]], %c4
// CHECK: %[[SIZE:.*]] = arith.divui %c9, %[[PARTS]]
// CHECK: %[[LONGER:.*]] = arith.remui %c9, %[[PARTS]]
// CHECK: %[[NEXT:.*]] = arith.addi %[[OWN]], %c1
// CHECK: %[[BUSY:.*]] = arith.cmpi ult, %[[OWN]], %[[PARTS]]
// CHECK: %[[WHOLE:.*]] = arith.muli %[[OWN]], %[[SIZE]]
// CHECK: %[[EXTRA:.*]] = arith.minui %[[OWN]], %[[LONGER]]
// CHECK: %[[BEGIN:.*]] = arith.addi %[[WHOLE]], %[[EXTRA]]
// CHECK: %[[ALL:.*]] = arith.muli %[[NEXT]], %[[SIZE]]
// CHECK: %[[MORE:.*]] = arith.minui %[[NEXT]], %[[LONGER]]
// CHECK: %[[END:.*]] = arith.addi %[[ALL]], %[[MORE]]
// CHECK: arith.minui %[[COUNT]], %c1
// CHECK: scf.if %[[BUSY]] {
// CHECK: llvm.getelementptr %[[ARENA]][64]
// CHECK: llvm.insertvalue %[[SCRATCH]], %{{.*}}[1]
// CHECK: func.call @kernel_a(%{{.*}}, %{{.*}}, %{{.*}}, %[[BEGIN]], %[[END]])
// CHECK: }
// CHECK: llvm.call @hova_barrier(%[[TEAM]], %[[THREAD]], %[[FIRST]])
// CHECK: scf.if
// CHECK: llvm.getelementptr %[[IMAGE]][64]
// CHECK: func.call @kernel_b
// CHECK: llvm.call @hova_barrier(%[[TEAM]], %[[THREAD]], %[[SECOND]])
// CHECK-NOT: llvm.call
// CHECK-NOT: @weights
// CHECK-NOT: @main
// CHECK: func.func private @kernel_a(
// SUFFIX-LABEL: func.func @hova_run_0(
func.func @main(%x: memref<9x8xf32>, %m: memref<2x3xi8>, %y: memref<9x8xf32>) attributes {hova.arena_bytes = 640 : i64, hova.image_bytes = 128 : i64, hova.inputs = 2 : i64, hova.scratch_bytes = 4096 : i64} {
  %p = hova.arena_buffer {offset = 64 : i64} : memref<9x8xf32, strided<[16, 1]>>
  hova.launch @kernel_a(%x, %m, %p) "a" {flops = 1000000 : i64, grain = 2 : i64, units = 9 : i64} : (memref<9x8xf32>, memref<2x3xi8>, memref<9x8xf32, strided<[16, 1]>>)
  %w = hova.image_buffer {offset = 64 : i64} : memref<1x8xf32>
  hova.launch @kernel_b(%p, %w, %y) "b" {flops = 1000000 : i64, grain = 100 : i64, units = 9 : i64} : (memref<9x8xf32, strided<[16, 1]>>, memref<1x8xf32>, memref<9x8xf32>)
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

// Launches of equal units and grain have the same shares.
// CHECK-LABEL: func.func @hova_run(
// CHECK: arith.divui
// CHECK-NOT: arith.divui
// CHECK: scf.if %[[BUSY:.*]] {
// CHECK: func.call @kernel_a(%{{.*}}, %{{.*}}, %[[BEGIN:.*]], %[[END:.*]])
// CHECK: scf.if %[[BUSY]] {
// CHECK: func.call @kernel_a(%{{.*}}, %{{.*}}, %[[BEGIN]], %[[END]])
func.func @main(%x: memref<9x8xf32>, %y: memref<9x8xf32>) attributes {hova.arena_bytes = 0 : i64, hova.image_bytes = 0 : i64, hova.inputs = 0 : i64, hova.scratch_bytes = 4096 : i64} {
  hova.launch @kernel_a(%x) "a" {flops = 1000000 : i64, grain = 2 : i64, units = 9 : i64} : (memref<9x8xf32>)
  hova.launch @kernel_a(%y) "b" {flops = 1000000 : i64, grain = 2 : i64, units = 9 : i64} : (memref<9x8xf32>)
  return
}
func.func private @kernel_a(%y: memref<9x8xf32>, %scratch: memref<64xi8>, %begin: index, %end: index) {
  return
}

// -----

// Between kernels of one part nobody meets, but behind the last of them.
// CHECK-LABEL: func.func @hova_run(
// CHECK-DAG: %[[FIRST:.*]] = llvm.mlir.constant(0 : i64)
// CHECK-DAG: %[[SECOND:.*]] = llvm.mlir.constant(1 : i64)
// CHECK: scf.if
// CHECK: func.call @kernel_a
// CHECK-NEXT: llvm.call @hova_end_kernel(%{{.*}}, %[[FIRST]])
// CHECK-NOT: hova_barrier
// CHECK: func.call @kernel_a
// CHECK-NEXT: }
// CHECK-NEXT: llvm.call @hova_barrier(%{{.*}}, %{{.*}}, %[[SECOND]])
// CHECK: scf.if
// CHECK: func.call @kernel_a
// CHECK-NEXT: }
// CHECK-NEXT: llvm.call @hova_barrier
// CHECK: scf.if
// CHECK: func.call @kernel_a
// CHECK-NEXT: }
// CHECK-NEXT: llvm.call @hova_barrier
func.func @main(%x: memref<9x8xf32>, %y: memref<9x8xf32>) attributes {hova.arena_bytes = 0 : i64, hova.image_bytes = 0 : i64, hova.inputs = 0 : i64, hova.scratch_bytes = 4096 : i64} {
  hova.launch @kernel_a(%x) "a" {flops = 1000000 : i64, grain = 9 : i64, units = 9 : i64} : (memref<9x8xf32>)
  hova.launch @kernel_a(%y) "b" {flops = 1000000 : i64, grain = 9 : i64, units = 9 : i64} : (memref<9x8xf32>)
  hova.launch @kernel_a(%y) "divided" {flops = 1000000 : i64, grain = 2 : i64, units = 9 : i64} : (memref<9x8xf32>)
  hova.launch @kernel_a(%y) "last" {flops = 1000000 : i64, grain = 9 : i64, units = 9 : i64} : (memref<9x8xf32>)
  return
}
func.func private @kernel_a(%y: memref<9x8xf32>, %scratch: memref<64xi8>, %begin: index, %end: index) {
  return
}

// -----

// However fine the grain, a kernel is divided into eight parts at most.
// CHECK-LABEL: func.func @hova_run(
// CHECK: arith.minui %{{.*}}, %c8
func.func @main(%y: memref<90x8xf32>) attributes {hova.arena_bytes = 0 : i64, hova.image_bytes = 0 : i64, hova.inputs = 0 : i64, hova.scratch_bytes = 4096 : i64} {
  hova.launch @kernel_a(%y) "a" {flops = 1000000 : i64, grain = 1 : i64, units = 90 : i64} : (memref<90x8xf32>)
  return
}
func.func private @kernel_a(%y: memref<90x8xf32>, %scratch: memref<64xi8>, %begin: index, %end: index) {
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
