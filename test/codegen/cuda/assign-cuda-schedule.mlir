// RUN: hova-opt %s --hova-assign-cuda-schedule --hova-verify-cuda-assigned | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// The tile of a block follows from the rows: 64 of few, 128 of many, in halves for two by two warps. Columns of a narrow result are 64. A turn takes
// 64 elements of k, or fewer where there are no more. What has no main loop has a warp for each row.
// CHECK-LABEL: func.func @main
// CHECK: hova.image_weight "w" {layout = #hova.transposed<align 16>}
// CHECK: hova.image_weight "v" {layout = #hova.transposed<align 16>}
// CHECK: hova.image_weight "gain" : tensor<96xf32>
// CHECK: hova.kernel "many"
// CHECK-SAME: schedule = #hova_cuda.schedule<rows = 128, columns = 128, row_warps = 2, column_warps = 2, step = 64, stages = 3>
// CHECK: hova.stage
// CHECK: hova.kernel "few"
// CHECK-SAME: schedule = #hova_cuda.schedule<rows = 64, columns = 64, row_warps = 2, column_warps = 2, step = 32, stages = 3>
// CHECK: hova.kernel "attention"
// CHECK-SAME: schedule = #hova_cuda.schedule<rows = 64, columns = 32, row_warps = 2, column_warps = 1, step = 64, stages = 2>
// CHECK: hova.kernel "norm"
// CHECK-SAME: schedule = #hova_cuda.schedule<rows = 4, columns = 128, row_warps = 4, column_warps = 1>
// CHECK: hova.kernel "sum"
// CHECK-SAME: schedule = #hova_cuda.schedule<rows = 4, columns = 1024, row_warps = 4, column_warps = 1>
func.func @main(%x: tensor<1x2048x128xbf16> {hova.name = "x"}, %y: tensor<1x10x24xbf16> {hova.name = "y"}, %q: tensor<2x50x64xbf16> {hova.name = "q"},
    %n: tensor<1x5x96xf32> {hova.name = "n"}, %s: tensor<1x6x3000xf32> {hova.name = "s"})
    -> (tensor<1x2048x256xf32> {hova.name = "a"}, tensor<1x10x40xf32> {hova.name = "b"}, tensor<2x50x64xbf16> {hova.name = "c"},
        tensor<1x5x96xf32> {hova.name = "d"}, tensor<1x6x3000xf32> {hova.name = "e"}) {
  %w = hova.image_weight "w" : tensor<128x256xbf16>
  %v = hova.image_weight "v" : tensor<24x40xbf16>
  %gain = hova.image_weight "gain" : tensor<96xf32>
  %bias = hova.image_weight "bias" : tensor<96xf32>
  %a = hova.kernel "many" (%x, %w) {
  ^bb0(%i: tensor<1x2048x128xbf16>, %j: tensor<128x256xbf16>):
    %1 = hova.linear %i, %j : tensor<1x2048x128xbf16>, tensor<128x256xbf16> -> tensor<1x2048x256xf32>
    hova.yield %1 : tensor<1x2048x256xf32>
  } : (tensor<1x2048x128xbf16>, tensor<128x256xbf16>) -> tensor<1x2048x256xf32>
  %b = hova.kernel "few" (%y, %v) {
  ^bb0(%i: tensor<1x10x24xbf16>, %j: tensor<24x40xbf16>):
    %1 = hova.linear %i, %j : tensor<1x10x24xbf16>, tensor<24x40xbf16> -> tensor<1x10x40xf32>
    hova.yield %1 : tensor<1x10x40xf32>
  } : (tensor<1x10x24xbf16>, tensor<24x40xbf16>) -> tensor<1x10x40xf32>
  %c = hova.kernel "attention" (%q) {
  ^bb0(%i: tensor<2x50x64xbf16>):
    %1 = hova.attention softmax %i, %i, %i
        {heads = 2 : i64}
        : (tensor<2x50x64xbf16>, tensor<2x50x64xbf16>, tensor<2x50x64xbf16>) -> tensor<2x50x64xbf16> scores {
    ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
      %scale = hova.number 0.125
      %scaled = arith.mulf %raw, %scale : f32
      %all = arith.constant true
      hova.score_yield %scaled kept %all
    }
    hova.yield %1 : tensor<2x50x64xbf16>
  } : (tensor<2x50x64xbf16>) -> tensor<2x50x64xbf16>
  %d = hova.kernel "norm" (%n, %gain, %bias) {
  ^bb0(%i: tensor<1x5x96xf32>, %j: tensor<96xf32>, %k: tensor<96xf32>):
    %1 = hova.layer_norm %i, %j, %k {eps = 1.0e-6 : f64} : tensor<1x5x96xf32>, tensor<96xf32>
    hova.yield %1 : tensor<1x5x96xf32>
  } : (tensor<1x5x96xf32>, tensor<96xf32>, tensor<96xf32>) -> tensor<1x5x96xf32>
  %e = hova.kernel "sum" (%s) {
  ^bb0(%i: tensor<1x6x3000xf32>):
    %1 = hova.add %i, %i : tensor<1x6x3000xf32>, tensor<1x6x3000xf32>
    hova.yield %1 : tensor<1x6x3000xf32>
  } : (tensor<1x6x3000xf32>) -> tensor<1x6x3000xf32>
  return %a, %b, %c, %d, %e : tensor<1x2048x256xf32>, tensor<1x10x40xf32>, tensor<2x50x64xbf16>, tensor<1x5x96xf32>, tensor<1x6x3000xf32>
}
