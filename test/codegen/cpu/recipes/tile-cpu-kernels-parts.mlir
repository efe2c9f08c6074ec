// RUN: hova-opt %s --split-input-file --hova-tile-cpu-kernels | FileCheck %s
// SPDX-License-Identifier: Apache-2.0
//
// A program says what each stage of its kernels computes for which place: what
// its loops execute, twice the multiply-accumulates, and the bytes of results.

// Operations of one site count together, another one by its place.
// CHECK: hova.parts = [{bytes = 288 : i64, flops = 0 : i64, kernel = 0 : i64, path = "norm", stage = 0 : i64},
// CHECK-SAME: {bytes = 1152 : i64, flops = 2304 : i64, kernel = 0 : i64, path = "ffn", stage = 1 : i64},
// CHECK-SAME: {bytes = 576 : i64, flops = 0 : i64, kernel = 0 : i64, path = "after", stage = 1 : i64}]
func.func @main(%x: tensor<1x9x8xf32>) -> tensor<1x9x16xf32> {
  %w = hova.image_weight "w" {layout = #hova.column_strips<16>} : tensor<8x16xf32>
  %y = hova.kernel "ffn" units<batch 1, token 9> (%x, %w) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%a: tensor<1x9x8xf32>, %v: tensor<8x16xf32>):
    %n_out = hova.stage [#hova.layout<rows 16>] {
      %n = hova.layer_norm %a {eps = 1.0e-6 : f64} : tensor<1x9x8xf32> loc("norm")
      hova.yield %n : tensor<1x9x8xf32>
    } : tensor<1x9x8xf32>
    %r_out = hova.stage [#hova.layout<rows 16>] {
      %h = hova.linear %n_out, %v {hova.site = {kind = "feed-forward", path = "ffn"}} : tensor<1x9x8xf32>, tensor<8x16xf32> -> tensor<1x9x16xf32> loc("ffn.hidden")
      %g = hova.activation relu %h {hova.site = {kind = "feed-forward", path = "ffn"}} : tensor<1x9x16xf32>
      %o = hova.activation tanh %g : tensor<1x9x16xf32> loc("after")
      hova.yield %o : tensor<1x9x16xf32>
    } : tensor<1x9x16xf32>
    hova.yield %r_out : tensor<1x9x16xf32>
  } : (tensor<1x9x8xf32>, tensor<8x16xf32>) -> tensor<1x9x16xf32>
  return %y : tensor<1x9x16xf32>
}
func.func private @weights() {
  %w = hova.weight "w" : tensor<8x16xf32>
  hova.store_weight "w", %w : tensor<8x16xf32>
  return
}
