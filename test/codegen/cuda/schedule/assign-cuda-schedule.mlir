// RUN: hova-opt %s --hova-assign-cuda-schedule --hova-verify-cuda-assigned | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// The tile of a block is the one that costs least: large where there are many, small where most multiprocessors would be idle, in halves for two by
// two warps. A turn takes 64 elements of k, or fewer where there are no more. What has no main loop has a warp for each row.
// CHECK-LABEL: func.func @main
// CHECK: hova.image_weight "w" {layout = #hova.transposed<align 16>}
// CHECK: hova.image_weight "v" {layout = #hova.transposed<align 16>}
// CHECK: hova.image_weight "gain" : tensor<96xf32>
// CHECK: hova.kernel "many"
// CHECK-SAME: schedule = #hova_cuda.schedule<rows = 128, columns = 128, row_warps = 2, column_warps = 2, step = 64, stages = 3>
// CHECK: hova.stage
// CHECK: hova.kernel "few"
// CHECK-SAME: schedule = #hova_cuda.schedule<rows = 64, columns = 64, row_warps = 2, column_warps = 2, step = 32, stages = 3>
// CHECK: hova.kernel "projection"
// CHECK-SAME: schedule = #hova_cuda.schedule<rows = 64, columns = 64, row_warps = 2, column_warps = 2, step = 64, stages = 3>
// CHECK: hova.kernel "layer"
// CHECK-SAME: schedule = #hova_cuda.schedule<rows = 64, columns = 128, row_warps = 2, column_warps = 2, step = 64, stages = 3>
// CHECK: hova.kernel "high"
// CHECK-SAME: schedule = #hova_cuda.schedule<rows = 128, columns = 64, row_warps = 2, column_warps = 2, step = 64, stages = 3>
// CHECK: hova.kernel "attention"
// CHECK-SAME: schedule = #hova_cuda.schedule<rows = 64, columns = 32, row_warps = 2, column_warps = 1, step = 64, stages = 2>
// CHECK: hova.kernel "norm"
// CHECK-SAME: schedule = #hova_cuda.schedule<rows = 4, columns = 128, row_warps = 4, column_warps = 1>
// CHECK: hova.kernel "sum"
// CHECK-SAME: schedule = #hova_cuda.schedule<rows = 4, columns = 1024, row_warps = 4, column_warps = 1>
func.func @main(%x: tensor<1x16384x128xbf16> {hova.name = "x"}, %y: tensor<1x10x24xbf16> {hova.name = "y"}, %q: tensor<2x50x64xbf16> {hova.name = "q"},
    %n: tensor<1x5x96xf32> {hova.name = "n"}, %s: tensor<1x6x3000xf32> {hova.name = "s"}, %t: tensor<1x197x768xbf16> {hova.name = "t"},
    %h: tensor<1x28224x96xbf16> {hova.name = "h"})
    -> (tensor<1x16384x256xf32> {hova.name = "a"}, tensor<1x10x40xf32> {hova.name = "b"}, tensor<2x50x64xbf16> {hova.name = "c"},
        tensor<1x5x96xf32> {hova.name = "d"}, tensor<1x6x3000xf32> {hova.name = "e"}, tensor<1x197x768xf32> {hova.name = "f"},
        tensor<1x197x3072xf32> {hova.name = "g"}, tensor<1x28224x288xf32> {hova.name = "k"}) {
  %w = hova.image_weight "w" : tensor<128x256xbf16>
  %v = hova.image_weight "v" : tensor<24x40xbf16>
  %gain = hova.image_weight "gain" : tensor<96xf32>
  %bias = hova.image_weight "bias" : tensor<96xf32>
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
  %pw = hova.image_weight "pw" : tensor<768x768xbf16>
  %lw = hova.image_weight "lw" : tensor<768x3072xbf16>
  %hw = hova.image_weight "hw" : tensor<96x288xbf16>
  %f = hova.kernel "projection" (%t, %pw) {
  ^bb0(%i: tensor<1x197x768xbf16>, %j: tensor<768x768xbf16>):
    %1 = hova.linear %i, %j : tensor<1x197x768xbf16>, tensor<768x768xbf16> -> tensor<1x197x768xf32>
    hova.yield %1 : tensor<1x197x768xf32>
  } : (tensor<1x197x768xbf16>, tensor<768x768xbf16>) -> tensor<1x197x768xf32>
  %g = hova.kernel "layer" (%t, %lw) {
  ^bb0(%i: tensor<1x197x768xbf16>, %j: tensor<768x3072xbf16>):
    %1 = hova.linear %i, %j : tensor<1x197x768xbf16>, tensor<768x3072xbf16> -> tensor<1x197x3072xf32>
    hova.yield %1 : tensor<1x197x3072xf32>
  } : (tensor<1x197x768xbf16>, tensor<768x3072xbf16>) -> tensor<1x197x3072xf32>
  %o = hova.kernel "high" (%h, %hw) {
  ^bb0(%i: tensor<1x28224x96xbf16>, %j: tensor<96x288xbf16>):
    %1 = hova.linear %i, %j : tensor<1x28224x96xbf16>, tensor<96x288xbf16> -> tensor<1x28224x288xf32>
    hova.yield %1 : tensor<1x28224x288xf32>
  } : (tensor<1x28224x96xbf16>, tensor<96x288xbf16>) -> tensor<1x28224x288xf32>
  %c = hova.kernel "attention" (%q) {
  ^bb0(%i: tensor<2x50x64xbf16>):
    %1 = hova.attention %i, %i, %i
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
  return %a, %b, %c, %d, %e, %f, %g, %o : tensor<1x16384x256xf32>, tensor<1x10x40xf32>, tensor<2x50x64xbf16>, tensor<1x5x96xf32>, tensor<1x6x3000xf32>, tensor<1x197x768xf32>,
      tensor<1x197x3072xf32>, tensor<1x28224x288xf32>
}
