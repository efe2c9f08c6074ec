// RUN: hova-opt %s --split-input-file --hova-fuse-kernels | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// Rows of windows are the order of the kernel; the sum with the rows of the
// image joins, reads them where they are and writes its own there.
// CHECK-LABEL: func.func @main
// CHECK: %[[P:.*]] = hova.kernel {{.*}} units<batch 4, token 4>(%{{.*}}, %{{.*}}, %{{.*}}) attributes
// CHECK-SAME: input_placements = [unit, unit, #hova.window<2x2, shift 1x1, grid 4x4>]
// CHECK-SAME: result_placements = [#hova.window<2x2, shift 1x1, grid 4x4>]
// CHECK-NEXT: ^bb0(%[[A:.*]]: tensor<4x4x8xf32>, %[[W:.*]]: tensor<8x8xf32>, %[[X:.*]]: tensor<4x4x8xf32>)
// CHECK-NEXT: %[[L:.*]] = hova.linear %[[A]], %[[W]]
// CHECK-NEXT: %[[S:.*]] = hova.add %[[X]], %[[L]] : tensor<4x4x8xf32>, tensor<4x4x8xf32>
// CHECK-NEXT: hova.yield %[[S]]
// CHECK: (tensor<4x4x8xf32>, tensor<8x8xf32>, tensor<1x16x8xf32>) -> tensor<1x16x8xf32>
// CHECK-NEXT: return %[[P]]
func.func @main(%x: tensor<1x16x8xf32>, %a: tensor<4x4x8xf32>) -> tensor<1x16x8xf32> {
  %w = hova.image_weight "w" : tensor<8x8xf32>
  %l = hova.linear %a, %w : tensor<4x4x8xf32>, tensor<8x8xf32> -> tensor<4x4x8xf32>
  %r = hova.rearrange %l [#hova.inverse<#hova.window<2x2, shift 1x1, grid 4x4>>] : tensor<4x4x8xf32> -> tensor<1x16x8xf32>
  %s = hova.add %x, %r : tensor<1x16x8xf32>, tensor<1x16x8xf32>
  return %s : tensor<1x16x8xf32>
}

// -----

// From one cut to the next: both moves are where the result is written.
// CHECK-LABEL: func.func @main
// CHECK: hova.kernel
// CHECK-NOT: input_placements
// CHECK-SAME: result_placements = [#hova.chain<#hova.inverse<#hova.window<2x2, shift 1x1, grid 4x4>>, #hova.window<2x2, shift 0x0, grid 4x4>>]
// CHECK: hova.activation relu
// CHECK-NEXT: hova.layer_norm
// CHECK-NEXT: hova.yield
// CHECK-NOT: hova.kernel
func.func @main(%a: tensor<4x4x8xf32>, %g: tensor<8xf32>) -> tensor<4x4x8xf32> {
  %l = hova.activation relu %a : tensor<4x4x8xf32>
  %r = hova.rearrange %l [#hova.inverse<#hova.window<2x2, shift 0x0, grid 4x4>>] : tensor<4x4x8xf32> -> tensor<1x16x8xf32>
  %s = hova.rearrange %r [#hova.window<2x2, shift 1x1, grid 4x4>] : tensor<1x16x8xf32> -> tensor<4x4x8xf32>
  %n = hova.layer_norm %s, %g, %g {eps = 1.0e-6 : f64} : tensor<4x4x8xf32>, tensor<8xf32>
  return %n : tensor<4x4x8xf32>
}

// -----

// Back and forth is nothing.
// CHECK-LABEL: func.func @main
// CHECK-NOT: placements
// CHECK: hova.activation relu
// CHECK-NEXT: hova.add
// CHECK-NOT: hova.kernel
func.func @main(%a: tensor<4x4x8xf32>) -> tensor<4x4x8xf32> {
  %l = hova.activation relu %a : tensor<4x4x8xf32>
  %r = hova.rearrange %l [#hova.inverse<#hova.window<2x2, shift 1x1, grid 4x4>>] : tensor<4x4x8xf32> -> tensor<1x16x8xf32>
  %s = hova.rearrange %r [#hova.window<2x2, shift 1x1, grid 4x4>] : tensor<1x16x8xf32> -> tensor<4x4x8xf32>
  %n = hova.add %s, %l : tensor<4x4x8xf32>, tensor<4x4x8xf32>
  return %n : tensor<4x4x8xf32>
}

// -----

// Two orders of rows of one kernel's values cannot meet in it.
// CHECK-LABEL: func.func @main
// CHECK: hova.kernel
// CHECK: hova.activation relu
// CHECK-NEXT: hova.yield
// CHECK: hova.kernel {{.*}} attributes {input_placements = [#hova.window<4x4, shift 1x1, grid 4x4>, unit]}
// CHECK: hova.add {{.*}}hova.missed_fusions = {"0" = "'hova.add' reads rows of its operands in two orders; it joins if they have one order", "1" = "'hova.add' reads rows of its operands in two orders; it joins if they have one order"}
func.func @main(%a: tensor<1x16x8xf32>) -> tensor<1x16x8xf32> {
  %l = hova.activation relu %a : tensor<1x16x8xf32>
  %r = hova.rearrange %l [#hova.window<4x4, shift 1x1, grid 4x4>] : tensor<1x16x8xf32> -> tensor<1x16x8xf32>
  %n = hova.add %r, %l : tensor<1x16x8xf32>, tensor<1x16x8xf32>
  return %n : tensor<1x16x8xf32>
}

// -----

// A table of positions repeats in the order of the image alone.
// CHECK-LABEL: func.func @main
// CHECK: hova.kernel
// CHECK: hova.activation relu
// CHECK-NEXT: hova.yield
// CHECK: hova.kernel {{.*}} attributes {input_placements = [#hova.inverse<#hova.window<2x2, shift 0x0, grid 4x4>>, unit]}
// CHECK: hova.add {{.*}}hova.missed_fusions = {"0" = "'hova.add' cannot compute its rows in another order"}
func.func @main(%a: tensor<4x4x8xf32>, %t: tensor<16x8xf32>) -> tensor<1x16x8xf32> {
  %l = hova.activation relu %a : tensor<4x4x8xf32>
  %r = hova.rearrange %l [#hova.inverse<#hova.window<2x2, shift 0x0, grid 4x4>>] : tensor<4x4x8xf32> -> tensor<1x16x8xf32>
  %n = hova.add %r, %t : tensor<1x16x8xf32>, tensor<16x8xf32>
  return %n : tensor<1x16x8xf32>
}

// -----

// Merged patches are other rows: a kernel of their own begins with them.
// CHECK-LABEL: func.func @main
// CHECK: hova.kernel
// CHECK: hova.activation relu
// CHECK-NEXT: hova.yield
// CHECK: hova.kernel {{.*}}units<batch 1, token 4>
// CHECK: hova.rearrange %{{.*}}[#hova.merge<2x2, grid 4x4>]
// CHECK-NEXT: hova.layer_norm
func.func @main(%a: tensor<1x16x8xf32>, %g: tensor<32xf32>) -> tensor<1x4x32xf32> {
  %l = hova.activation relu %a : tensor<1x16x8xf32>
  %r = hova.rearrange %l [#hova.merge<2x2, grid 4x4>] : tensor<1x16x8xf32> -> tensor<1x4x32xf32>
  %n = hova.layer_norm %r, %g, %g {eps = 1.0e-6 : f64} : tensor<1x4x32xf32>, tensor<32xf32>
  return %n : tensor<1x4x32xf32>
}

// -----

// Who reads other rows than its own, and the caller, get a copy.
// CHECK-LABEL: func.func @main
// CHECK: hova.kernel
// CHECK: hova.rearrange
// CHECK-NEXT: hova.yield
// CHECK: hova.kernel
// CHECK: hova.attention
func.func @main(%a: tensor<1x16x8xf32>) -> tensor<4x4x8xf32> {
  %r = hova.rearrange %a [#hova.window<2x2, shift 1x1, grid 4x4>] : tensor<1x16x8xf32> -> tensor<4x4x8xf32>
  %o = hova.attention %r, %r, %r
      {heads = 2 : i64}
      : (tensor<4x4x8xf32>, tensor<4x4x8xf32>, tensor<4x4x8xf32>) -> tensor<4x4x8xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all
  }
  return %o : tensor<4x4x8xf32>
}

// -----

// A slice computes fewer rows than the image has, so the image is put together
// where the slice reads it.
// CHECK-LABEL: func.func @main
// CHECK: hova.kernel
// CHECK-NOT: input_placements
// CHECK: hova.rearrange %{{.*}}[#hova.inverse<#hova.window<1x1, shift 0x0, grid 1x2>>]
// CHECK: hova.slice {{.*}}"0" = "'hova.slice' computes 1 rows, and 'hova.rearrange' 2; it joins if it computes as many"
func.func @main(%a: tensor<2x1x8xf32>) -> tensor<1x1x8xf32> {
  %l = hova.activation relu %a : tensor<2x1x8xf32>
  %r = hova.rearrange %l [#hova.inverse<#hova.window<1x1, shift 0x0, grid 1x2>>] : tensor<2x1x8xf32> -> tensor<1x2x8xf32>
  %s = hova.slice %r {axis = 1 : i64, offset = 0 : i64} : tensor<1x2x8xf32> -> tensor<1x1x8xf32>
  return %s : tensor<1x1x8xf32>
}
