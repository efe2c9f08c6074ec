// RUN: hova-opt %s --hova-lower-device-program | FileCheck %s
// RUN: hova-opt %s --hova-lower-device-program --hova-lower-device-program | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// Kernels stay, and are found by their names; what launches them is the program's data.
// CHECK-NOT: @main
// CHECK-LABEL: func.func @first(%{{.*}}: memref<4x64xf32>, %{{.*}}: memref<4x64xf32>, %{{.*}}: index, %{{.*}}: index, %{{.*}}: index)
// CHECK-NOT: private
// CHECK-LABEL: func.func @second(
// CHECK-NOT: hova.launch
func.func @main(%x: memref<4x64xf32>, %y: memref<4x64xf32>) attributes {hova.arena_bytes = 0 : i64} {
  hova.launch @first(%x, %y) "a" {flops = 0 : i64, shape = #hova_cuda.launch<x = 1, y = 1, z = 1, threads = 128>}
      : (memref<4x64xf32>, memref<4x64xf32>)
  hova.launch @second(%y, %y) "b" {flops = 0 : i64, shape = #hova_cuda.launch<x = 1, y = 1, z = 1, threads = 128>}
      : (memref<4x64xf32>, memref<4x64xf32>)
  return
}
func.func private @first(%x: memref<4x64xf32>, %y: memref<4x64xf32>, %bx: index, %by: index, %bz: index) {
  return
}
func.func private @second(%x: memref<4x64xf32>, %y: memref<4x64xf32>, %bx: index, %by: index, %bz: index) {
  return
}
