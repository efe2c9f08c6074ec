// RUN: hova-opt %s --hova-form-sequence-kernels --hova-assign-cpu-schedule --hova-tile-cpu-kernels --check-meaning -o /dev/null 2>&1 | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// A weight that is [out, in] is read as it is where tokens are in lanes.
// CHECK: interpreted 1 kernel functions, 0 of them in part
func.func @main(%x: tensor<8x16x12xf32>) -> tensor<8x16x20xf32> {
  %w = hova.image_weight "w" : tensor<20x12xf32>
  %a = hova.attention %x, %x, %x
      {heads = 2 : i64}
      : (tensor<8x16x12xf32>, tensor<8x16x12xf32>, tensor<8x16x12xf32>) -> tensor<8x16x12xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all
  }
  %y = hova.linear %a, %w {transposed} : tensor<8x16x12xf32>, tensor<20x12xf32> -> tensor<8x16x20xf32>
  return %y : tensor<8x16x20xf32>
}
func.func private @weights() {
  %w = hova.weight "w" : tensor<20x12xf32>
  hova.store_weight "w", %w : tensor<20x12xf32>
  return
}
