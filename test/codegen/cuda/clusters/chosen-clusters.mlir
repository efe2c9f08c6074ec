// RUN: hova-opt %s --split-input-file --hova-assign-gpu=gpu=sm_90a --hova-split-reductions='policy={#hova_cuda.fusion<clusters = true>}' | FileCheck %s
// RUN: hova-opt %s --split-input-file --hova-assign-gpu=gpu=sm_90a --hova-split-reductions='policy={#hova_cuda.fusion}' | FileCheck %s --check-prefix=MEMORY
// SPDX-License-Identifier: Apache-2.0

// Parts of a long sum are blocks of a cluster where all levels have clusters, also where a norm could add them.
// CHECK-LABEL: func.func @main
// CHECK: hova.linear %{{.*}} {hova.added_parts = 8 : i64, hova.rewrites = {"hova-split-reductions" = {fired = true, why = "sums over 2048 are 8 parts, which are added in order: tiles of 20 x 64 leave multiprocessors idle, and blocks of a cluster add them"}}
// MEMORY-LABEL: func.func @main
// MEMORY: hova.linear_parts
func.func @main(%x: tensor<1x20x2048xbf16>, %w: tensor<2048x64xbf16>, %b: tensor<64xf32>, %r: tensor<1x20x64xf32>) -> tensor<1x20x64xf32> {
  %y = hova.linear %x, %w bias(%b) {hova.site = {kind = "linear", path = "y"}} : tensor<1x20x2048xbf16>, tensor<2048x64xbf16>, tensor<64xf32> -> tensor<1x20x64xf32>
  %s = hova.add %y, %r : tensor<1x20x64xf32>, tensor<1x20x64xf32>
  %n = hova.layer_norm %s {eps = 1.0e-6 : f64} : tensor<1x20x64xf32>
  return %n : tensor<1x20x64xf32>
}

// -----

// Columns that are read apart stay in one block, and many tiles fill a machine.
// CHECK-LABEL: func.func @main
// CHECK-NOT: added_parts
func.func @main(%x: tensor<8x197x2048xbf16>, %w: tensor<2048x768xbf16>, %a: tensor<1x4x2048xbf16>, %b: tensor<2048x64xbf16>)
    -> (tensor<8x197x768xf32>, tensor<1x4x32xf32>, tensor<1x4x32xf32>) {
  %y = hova.linear %x, %w : tensor<8x197x2048xbf16>, tensor<2048x768xbf16> -> tensor<8x197x768xf32>
  %c = hova.linear %a, %b : tensor<1x4x2048xbf16>, tensor<2048x64xbf16> -> tensor<1x4x64xf32>
  %d = hova.slice %c {axis = 2 : i64, offset = 0 : i64} : tensor<1x4x64xf32> -> tensor<1x4x32xf32>
  %e = hova.slice %c {axis = 2 : i64, offset = 32 : i64} : tensor<1x4x64xf32> -> tensor<1x4x32xf32>
  return %y, %d, %e : tensor<8x197x768xf32>, tensor<1x4x32xf32>, tensor<1x4x32xf32>
}
