// RUN: hova-opt %s --load-dialect-plugin=%plugin --split-input-file --hova-fuse-kernels | FileCheck %s
// SPDX-License-Identifier: Apache-2.0
// Rows of windows are the order of a kernel; who joins it has rows of the image.

// CHECK-LABEL: func.func @main
// CHECK: hova.kernel
// CHECK-SAME: result_placements = [#hova.window<2x2, shift 1x1, grid 4x4>]
// CHECK: hova.linear
// CHECK-NEXT: rows.centre %{{.*}} : tensor<4x4x8xf32>
// CHECK-NOT: hova.kernel
func.func @main(%a: tensor<4x4x8xf32>) -> tensor<1x16x8xf32> {
  %w = hova.image_weight "w" : tensor<8x8xf32>
  %l = hova.linear %a, %w : tensor<4x4x8xf32>, tensor<8x8xf32> -> tensor<4x4x8xf32>
  %r = hova.rearrange %l [#hova.inverse<#hova.window<2x2, shift 1x1, grid 4x4>>] : tensor<4x4x8xf32> -> tensor<1x16x8xf32>
  %s = rows.centre %r : tensor<1x16x8xf32>
  return %s : tensor<1x16x8xf32>
}

// -----

// CHECK-LABEL: func.func @main
// CHECK: hova.kernel
// CHECK: hova.linear
// CHECK-NEXT: hova.yield
// CHECK: hova.kernel
// CHECK-SAME: input_placements = [#hova.inverse<#hova.window<2x2, shift 1x1, grid 4x4>>]
// CHECK: rows.rotate {{.*}}"rows of 'rows.rotate' may depend on their position"{{.*}} : tensor<1x16x8xf32>
func.func @main(%a: tensor<4x4x8xf32>) -> tensor<1x16x8xf32> {
  %w = hova.image_weight "w" : tensor<8x8xf32>
  %l = hova.linear %a, %w : tensor<4x4x8xf32>, tensor<8x8xf32> -> tensor<4x4x8xf32>
  %r = hova.rearrange %l [#hova.inverse<#hova.window<2x2, shift 1x1, grid 4x4>>] : tensor<4x4x8xf32> -> tensor<1x16x8xf32>
  %s = rows.rotate %r : tensor<1x16x8xf32>
  return %s : tensor<1x16x8xf32>
}

// -----

// A table that lines up with the tokens of the image.
// CHECK-LABEL: func.func @main
// CHECK: rows.shift {{.*}}"'rows.shift' cannot compute its rows in another order"{{.*}} : tensor<1x16x8xf32>
func.func @main(%a: tensor<4x4x8xf32>) -> tensor<1x16x8xf32> {
  %w = hova.image_weight "w" : tensor<8x8xf32>
  %t = hova.image_weight "t" : tensor<16x8xf32>
  %l = hova.linear %a, %w : tensor<4x4x8xf32>, tensor<8x8xf32> -> tensor<4x4x8xf32>
  %r = hova.rearrange %l [#hova.inverse<#hova.window<2x2, shift 1x1, grid 4x4>>] : tensor<4x4x8xf32> -> tensor<1x16x8xf32>
  %s = rows.shift %r, %t : tensor<1x16x8xf32>, tensor<16x8xf32>
  return %s : tensor<1x16x8xf32>
}

// -----

// Its verifier wants a batch of one.
// CHECK-LABEL: func.func @main
// CHECK: rows.single {{.*}}"'rows.single' is not valid for rows in another order"{{.*}} : tensor<1x16x8xf32>
func.func @main(%a: tensor<4x4x8xf32>) -> tensor<1x16x8xf32> {
  %w = hova.image_weight "w" : tensor<8x8xf32>
  %l = hova.linear %a, %w : tensor<4x4x8xf32>, tensor<8x8xf32> -> tensor<4x4x8xf32>
  %r = hova.rearrange %l [#hova.inverse<#hova.window<2x2, shift 1x1, grid 4x4>>] : tensor<4x4x8xf32> -> tensor<1x16x8xf32>
  %s = rows.single %r : tensor<1x16x8xf32>
  return %s : tensor<1x16x8xf32>
}
