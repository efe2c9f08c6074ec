// RUN: hova-opt %s --hova-assign-cuda-schedule --split-input-file | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// Recipes ask the row of the GPU that the module names.

// CHECK-LABEL: module @takes_a_large_tile_on_8_0
// CHECK: hova.kernel "k"
// CHECK-SAME: schedule = #hova_cuda.schedule<rows = 128, columns = 128, row_warps = 2, column_warps = 2, step = 64, stages = 3>
module @takes_a_large_tile_on_8_0 {
  func.func @main(%x: tensor<1x4096x768xbf16>, %w: tensor<3072x768xbf16>) -> tensor<1x4096x3072xbf16> {
    %r = hova.kernel "k" (%x, %w) {
    ^bb0(%x_: tensor<1x4096x768xbf16>, %w_: tensor<3072x768xbf16>):
      %1 = hova.linear %x_, %w_ {transposed} : tensor<1x4096x768xbf16>, tensor<3072x768xbf16> -> tensor<1x4096x3072xbf16>
      hova.yield %1 : tensor<1x4096x3072xbf16>
    } : (tensor<1x4096x768xbf16>, tensor<3072x768xbf16>) -> tensor<1x4096x3072xbf16>
    return %r : tensor<1x4096x3072xbf16>
  }
}

// -----

// CHECK-LABEL: module @takes_smaller_slots_on_8_6
// CHECK: hova.kernel "k"
// CHECK-SAME: schedule = #hova_cuda.schedule<rows = 64, columns = 128, row_warps = 2, column_warps = 2, step = 32, stages = 3>
module @takes_smaller_slots_on_8_6 attributes {hova_cuda.gpu = "sm_86"} {
  func.func @main(%x: tensor<1x4096x768xbf16>, %w: tensor<3072x768xbf16>) -> tensor<1x4096x3072xbf16> {
    %r = hova.kernel "k" (%x, %w) {
    ^bb0(%x_: tensor<1x4096x768xbf16>, %w_: tensor<3072x768xbf16>):
      %1 = hova.linear %x_, %w_ {transposed} : tensor<1x4096x768xbf16>, tensor<3072x768xbf16> -> tensor<1x4096x3072xbf16>
      hova.yield %1 : tensor<1x4096x3072xbf16>
    } : (tensor<1x4096x768xbf16>, tensor<3072x768xbf16>) -> tensor<1x4096x3072xbf16>
    return %r : tensor<1x4096x3072xbf16>
  }
}
