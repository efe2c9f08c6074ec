// RUN: hova-opt %s --hova-assign-cuda-schedule | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// As many parts as no cluster has, or as do not divide the terms, are none; four are a cluster of four.
module attributes {hova_cuda.gpu = "sm_90a"} {
  // CHECK-LABEL: func.func @main
  // CHECK: hova.kernel "a"
  // CHECK-SAME: stages = 4, under_way = 1>
  // CHECK: hova.kernel "b"
  // CHECK-SAME: stages = 4, under_way = 1>
  // CHECK: hova.kernel "c"
  // CHECK-SAME: stages = 4, under_way = 1>
  // CHECK: hova.kernel "d"
  // CHECK-SAME: stages = 4, under_way = 1, cluster = 4>
  func.func @main(%x: tensor<1x10x2048xbf16> {hova.name = "x"}) -> (tensor<1x10x64xf32> {hova.name = "a"}, tensor<1x10x64xf32> {hova.name = "b"},
      tensor<1x10x64xf32> {hova.name = "c"}, tensor<1x10x64xf32> {hova.name = "d"}) {
    %w = hova.image_weight "w" : tensor<2048x64xbf16>
    %a = hova.kernel "a" (%x, %w) {
    ^bb0(%i: tensor<1x10x2048xbf16>, %j: tensor<2048x64xbf16>):
      %1 = hova.linear %i, %j {hova.added_parts = 288230376151711744 : i64} : tensor<1x10x2048xbf16>, tensor<2048x64xbf16> -> tensor<1x10x64xf32>
      hova.yield %1 : tensor<1x10x64xf32>
    } : (tensor<1x10x2048xbf16>, tensor<2048x64xbf16>) -> tensor<1x10x64xf32>
    %b = hova.kernel "b" (%x, %w) {
    ^bb0(%i: tensor<1x10x2048xbf16>, %j: tensor<2048x64xbf16>):
      %1 = hova.linear %i, %j {hova.added_parts = 16 : i64} : tensor<1x10x2048xbf16>, tensor<2048x64xbf16> -> tensor<1x10x64xf32>
      hova.yield %1 : tensor<1x10x64xf32>
    } : (tensor<1x10x2048xbf16>, tensor<2048x64xbf16>) -> tensor<1x10x64xf32>
    %c = hova.kernel "c" (%x, %w) {
    ^bb0(%i: tensor<1x10x2048xbf16>, %j: tensor<2048x64xbf16>):
      %1 = hova.linear %i, %j {hova.added_parts = 3 : i64} : tensor<1x10x2048xbf16>, tensor<2048x64xbf16> -> tensor<1x10x64xf32>
      hova.yield %1 : tensor<1x10x64xf32>
    } : (tensor<1x10x2048xbf16>, tensor<2048x64xbf16>) -> tensor<1x10x64xf32>
    %d = hova.kernel "d" (%x, %w) {
    ^bb0(%i: tensor<1x10x2048xbf16>, %j: tensor<2048x64xbf16>):
      %1 = hova.linear %i, %j {hova.added_parts = 4 : i64} : tensor<1x10x2048xbf16>, tensor<2048x64xbf16> -> tensor<1x10x64xf32>
      hova.yield %1 : tensor<1x10x64xf32>
    } : (tensor<1x10x2048xbf16>, tensor<2048x64xbf16>) -> tensor<1x10x64xf32>
    return %a, %b, %c, %d : tensor<1x10x64xf32>, tensor<1x10x64xf32>, tensor<1x10x64xf32>, tensor<1x10x64xf32>
  }
}
