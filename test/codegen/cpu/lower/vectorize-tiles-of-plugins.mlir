// An operation on tiles that is a plugin's says itself what becomes of its rows, and what its numbers are.

// RUN: hova-opt %s --load-dialect-plugin=%plugin --split-input-file --hova-vectorize-tiles | FileCheck %s --check-prefix=CHECK
// RUN: not hova-opt %s --load-dialect-plugin=%plugin --split-input-file --hova-tile-cpu-kernels --hova-vectorize-tiles --check-meaning -o /dev/null 2>&1 | FileCheck %s --check-prefix=WRONG
// SPDX-License-Identifier: Apache-2.0

// CHECK-LABEL: @swaps
// CHECK: %[[FIRST:.*]] = vector.shuffle %[[A:.*]], %[[A]] [1, 0, 3, 2]
// CHECK: %[[SECOND:.*]] = vector.shuffle %[[B:.*]], %[[B]] [1, 0, 3, 2]
// CHECK: vector.store %[[FIRST]]
// CHECK: vector.store %[[SECOND]]
func.func @swaps(%x: memref<2x4xf32>, %y: memref<2x4xf32>) {
  %zero = arith.constant 0 : index
  %tile = hova_cpu.tile_load %x[%zero, %zero] : memref<2x4xf32> -> vector<2x4xf32>
  %swapped = rows.tile_swap %tile : vector<2x4xf32>
  hova_cpu.tile_store %swapped, %y[%zero, %zero] : vector<2x4xf32>, memref<2x4xf32>
  return
}

// -----

// WRONG: error: pass 'hova-vectorize-tiles' changes kernel_wrong (wrong)
func.func @main(%x: tensor<1x3x8xf32>) -> tensor<1x3x8xf32> {
  %y = hova.kernel "wrong" units<batch 1, token 3> (%x) attributes {schedule = #hova_cpu.schedule<tile = 6x64, lanes = 64, grain = 3, k_block = 256, block = 256>} {
  ^bb0(%tile: tensor<1x3x8xf32>):
    %stored = hova.stage [#hova.layout<rows 8>] {
      %swapped = rows.swap %tile {wrong} : tensor<1x3x8xf32>
      hova.yield %swapped : tensor<1x3x8xf32>
    } : tensor<1x3x8xf32>
    hova.yield %stored : tensor<1x3x8xf32>
  } : (tensor<1x3x8xf32>) -> tensor<1x3x8xf32>
  return %y : tensor<1x3x8xf32>
}
