// RUN: hova-opt %s --hova-assign-cuda-schedule --hova-verify-cuda-assigned | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// A GPU that has products under way multiplies operands of 16 bits by groups of warps, and those of f32 as others do.
module attributes {hova_cuda.gpu = "sm_90a"} {
  // CHECK-LABEL: func.func @main
  // CHECK: hova.kernel "many"
  // CHECK-SAME: schedule = #hova_cuda.schedule<rows = 128, columns = 256, row_warps = 8, column_warps = 1, step = 64, stages = 3, under_way = 1>
  // CHECK: hova.kernel "few"
  // CHECK-SAME: schedule = #hova_cuda.schedule<rows = 64, columns = 64, row_warps = 4, column_warps = 1, step = 32, stages = 4, under_way = 1>
  // CHECK: hova.kernel "f32"
  // CHECK-SAME: schedule = #hova_cuda.schedule<rows = 64, columns = 64, row_warps = 2, column_warps = 2, step = 32, stages = 3>
  func.func @main(%x: tensor<1x16384x128xbf16> {hova.name = "x"}, %y: tensor<1x10x24xbf16> {hova.name = "y"}, %z: tensor<1x10x24xf32> {hova.name = "z"})
      -> (tensor<1x16384x256xf32> {hova.name = "a"}, tensor<1x10x40xf32> {hova.name = "b"}, tensor<1x10x40xf32> {hova.name = "c"}) {
    %w = hova.image_weight "w" : tensor<128x256xbf16>
    %v = hova.image_weight "v" : tensor<24x40xbf16>
    %u = hova.image_weight "u" : tensor<24x40xf32>
    %a = hova.kernel "many" (%x, %w) {
    ^bb0(%i: tensor<1x16384x128xbf16>, %j: tensor<128x256xbf16>):
      %1 = hova.linear %i, %j : tensor<1x16384x128xbf16>, tensor<128x256xbf16> -> tensor<1x16384x256xf32>
      hova.yield %1 : tensor<1x16384x256xf32>
    } : (tensor<1x16384x128xbf16>, tensor<128x256xbf16>) -> tensor<1x16384x256xf32>
    %b = hova.kernel "few" (%y, %v) {
    ^bb0(%i: tensor<1x10x24xbf16>, %j: tensor<24x40xbf16>):
      %1 = hova.linear %i, %j : tensor<1x10x24xbf16>, tensor<24x40xbf16> -> tensor<1x10x40xf32>
      hova.yield %1 : tensor<1x10x40xf32>
    } : (tensor<1x10x24xbf16>, tensor<24x40xbf16>) -> tensor<1x10x40xf32>
    %c = hova.kernel "f32" (%z, %u) {
    ^bb0(%i: tensor<1x10x24xf32>, %j: tensor<24x40xf32>):
      %1 = hova.linear %i, %j : tensor<1x10x24xf32>, tensor<24x40xf32> -> tensor<1x10x40xf32>
      hova.yield %1 : tensor<1x10x40xf32>
    } : (tensor<1x10x24xf32>, tensor<24x40xf32>) -> tensor<1x10x40xf32>
    return %a, %b, %c : tensor<1x16384x256xf32>, tensor<1x10x40xf32>, tensor<1x10x40xf32>
  }
}
