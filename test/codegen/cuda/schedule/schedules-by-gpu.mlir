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

// -----

// 75 blocks of 64x256 leave multiprocessors of 9.0 idle.

// CHECK-LABEL: module @takes_as_many_columns_as_all_multiprocessors_have
// CHECK: hova.kernel "k"
// CHECK-SAME: schedule = #hova_cuda.schedule<rows = 64, columns = 160, row_warps = 4, column_warps = 1, step = 64, stages = 3, under_way = 1>
module @takes_as_many_columns_as_all_multiprocessors_have attributes {hova_cuda.gpu = "sm_90a"} {
  func.func @main(%x: tensor<8x197x3072xbf16>, %w: tensor<768x3072xbf16>) -> tensor<8x197x768xf32> {
    %r = hova.kernel "k" (%x, %w) {
    ^bb0(%x_: tensor<8x197x3072xbf16>, %w_: tensor<768x3072xbf16>):
      %1 = hova.linear %x_, %w_ {transposed} : tensor<8x197x3072xbf16>, tensor<768x3072xbf16> -> tensor<8x197x768xf32>
      hova.yield %1 : tensor<8x197x768xf32>
    } : (tensor<8x197x3072xbf16>, tensor<768x3072xbf16>) -> tensor<8x197x768xf32>
    return %r : tensor<8x197x768xf32>
  }
}

// -----

// 99 blocks in the place of 50.

// CHECK-LABEL: module @divides_few_rows_on_9_0
// CHECK: hova.kernel "k"
// CHECK-SAME: schedule = #hova_cuda.schedule<rows = 2, columns = 768, row_warps = 2, column_warps = 1>
module @divides_few_rows_on_9_0 attributes {hova_cuda.gpu = "sm_90a"} {
  func.func @main(%x: tensor<1x197x768xf32>) -> tensor<1x197x768xf32> {
    %r = hova.kernel "k" (%x) {
    ^bb0(%x_: tensor<1x197x768xf32>):
      %1 = hova.activation gelu_erf %x_ : tensor<1x197x768xf32>
      hova.yield %1 : tensor<1x197x768xf32>
    } : (tensor<1x197x768xf32>) -> tensor<1x197x768xf32>
    return %r : tensor<1x197x768xf32>
  }
}

// -----

// Of many the multiprocessor with most blocks has no fewer that matter.

// CHECK-LABEL: module @keeps_four_rows_of_many
// CHECK: hova.kernel "k"
// CHECK-SAME: schedule = #hova_cuda.schedule<rows = 4, columns = 64, row_warps = 4
module @keeps_four_rows_of_many attributes {hova_cuda.gpu = "sm_90a"} {
  func.func @main(%x: tensor<1x25088x32xf32>) -> tensor<1x25088x32xf32> {
    %r = hova.kernel "k" (%x) {
    ^bb0(%x_: tensor<1x25088x32xf32>):
      %1 = hova.activation gelu_erf %x_ : tensor<1x25088x32xf32>
      hova.yield %1 : tensor<1x25088x32xf32>
    } : (tensor<1x25088x32xf32>) -> tensor<1x25088x32xf32>
    return %r : tensor<1x25088x32xf32>
  }
}
