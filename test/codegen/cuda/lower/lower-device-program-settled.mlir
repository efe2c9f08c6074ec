// RUN: hova-opt %s --hova-lower-device-program | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// Weights and tables are settled where they are in every launch of a kernel.
// CHECK: func.func @once(
// CHECK-SAME: attributes {hova_cuda.settled = array<i64: 1>}
// CHECK: func.func @twice(
// CHECK-SAME: attributes {hova_cuda.settled = array<i64>}
module attributes {hova_cuda.gpu = "sm_120"} {
  func.func @main(%x: memref<4x64xf32>, %y: memref<4x64xf32>) attributes {hova.arena_bytes = 1024 : i64} {
    %w = hova.image_buffer {offset = 0 : i64} : memref<4x64xf32>
    %a = hova.arena_buffer {offset = 0 : i64} : memref<4x64xf32>
    hova.launch @once(%x, %w, %a) "a" {flops = 0 : i64, shape = #hova_cuda.launch<x = 1, y = 1, z = 1, threads = 128>}
        : (memref<4x64xf32>, memref<4x64xf32>, memref<4x64xf32>)
    hova.launch @twice(%w, %a) "b" {flops = 0 : i64, shape = #hova_cuda.launch<x = 1, y = 1, z = 1, threads = 128>}
        : (memref<4x64xf32>, memref<4x64xf32>)
    hova.launch @twice(%a, %y) "c" {flops = 0 : i64, shape = #hova_cuda.launch<x = 1, y = 1, z = 1, threads = 128>}
        : (memref<4x64xf32>, memref<4x64xf32>)
    return
  }
  func.func private @once(%x: memref<4x64xf32>, %w: memref<4x64xf32>, %y: memref<4x64xf32>, %bx: index, %by: index, %bz: index) {
    return
  }
  func.func private @twice(%x: memref<4x64xf32>, %y: memref<4x64xf32>, %bx: index, %by: index, %bz: index) {
    return
  }
}
