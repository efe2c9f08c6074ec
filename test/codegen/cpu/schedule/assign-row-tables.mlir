// RUN: hova-opt %s --split-input-file --hova-assign-row-tables | FileCheck %s
// RUN: hova-opt %s --split-input-file --hova-assign-row-tables | hova-opt --split-input-file --hova-assign-row-tables | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// An input that is read by a placement gets a table of its rows, once.
// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[X:.*]]: tensor<1x16x8xf32>)
// CHECK: %[[ROWS:.*]] = hova.image_weight "rows.0" : tensor<16xi32>
// CHECK-NOT: hova.image_weight
// CHECK: hova.kernel "main" units<batch 4, token 4>(%[[X]], %[[ROWS]])
// CHECK-SAME: hova.input_rows = array<i64: 1>
// CHECK-SAME: input_placements = [#hova.window<2x2, shift 1x1, grid 4x4>, unit]
// CHECK-LABEL: func.func private @weights
// CHECK: %[[TABLE:.*]] = hova.row_table{{ ?}}[#hova.window<2x2, shift 1x1, grid 4x4>] source 1, 16, 8 : tensor<16xi32>
// CHECK-NEXT: hova.store_weight "rows.0", %[[TABLE]]
func.func @main(%x: tensor<1x16x8xf32>) -> tensor<4x4x8xf32> {
  %r = hova.kernel "main" units<batch 4, token 4> (%x)
      attributes {input_placements = [#hova.window<2x2, shift 1x1, grid 4x4>]} {
  ^bb0(%a: tensor<4x4x8xf32>):
    %s = hova.activation relu %a : tensor<4x4x8xf32>
    hova.yield %s : tensor<4x4x8xf32>
  } : (tensor<1x16x8xf32>) -> tensor<4x4x8xf32>
  return %r : tensor<4x4x8xf32>
}

// -----

// A norm finds each row by itself: nothing is copied.
// CHECK-LABEL: func.func @main
// CHECK: hova.kernel
// CHECK-SAME: hova.input_rows = array<i64: 2, -1>
// CHECK-NEXT: ^bb0(%[[IMAGE:.*]]: tensor<4x4x8xf32>, %{{.*}}
// CHECK-NEXT: hova.layer_norm %[[IMAGE]]
func.func @main(%x: tensor<1x16x8xf32>, %g: tensor<8xf32>) -> tensor<4x4x8xf32> {
  %r = hova.kernel "main" units<batch 4, token 4> (%x, %g)
      attributes {input_placements = [#hova.window<2x2, shift 1x1, grid 4x4>, unit]} {
  ^bb0(%a: tensor<4x4x8xf32>, %b: tensor<8xf32>):
    %s = hova.layer_norm %a, %b, %b {eps = 1.0e-05 : f64} : tensor<4x4x8xf32>, tensor<8xf32>
    hova.yield %s : tensor<4x4x8xf32>
  } : (tensor<1x16x8xf32>, tensor<8xf32>) -> tensor<4x4x8xf32>
  return %r : tensor<4x4x8xf32>
}

// -----

// A product reads its rows one after the other: they are copied in front of it.
// CHECK-LABEL: func.func @main
// CHECK: %[[ROWS:.*]] = hova.image_weight
// CHECK: hova.kernel "main" units<batch 4, token 4>(%{{.*}}, %{{.*}}, %[[ROWS]]) {
// CHECK-NEXT: ^bb0(%[[IMAGE:.*]]: tensor<1x16x8xf32>, %{{.*}}: tensor<8x4xf32>, %[[TABLE:.*]]: tensor<16xi32>):
// CHECK-NEXT: %[[COPY:.*]] = hova.rearrange %[[IMAGE]][#hova.window<2x2, shift 1x1, grid 4x4>] table(%[[TABLE]] : tensor<16xi32>)
// CHECK-NEXT: hova.linear %[[COPY]],
func.func @main(%x: tensor<1x16x8xf32>, %w: tensor<8x4xf32>) -> tensor<4x4x4xf32> {
  %r = hova.kernel "main" units<batch 4, token 4> (%x, %w)
      attributes {input_placements = [#hova.window<2x2, shift 1x1, grid 4x4>, unit]} {
  ^bb0(%a: tensor<4x4x8xf32>, %b: tensor<8x4xf32>):
    %s = hova.linear %a, %b : tensor<4x4x8xf32>, tensor<8x4xf32> -> tensor<4x4x4xf32>
    hova.yield %s : tensor<4x4x4xf32>
  } : (tensor<1x16x8xf32>, tensor<8x4xf32>) -> tensor<4x4x4xf32>
  return %r : tensor<4x4x4xf32>
}

// -----

// Without a placement nothing changes.
// CHECK-LABEL: func.func @main
// CHECK-NOT: input_rows
// CHECK-NOT: hova.row_table
// CHECK: hova.activation relu
func.func @main(%x: tensor<1x16x8xf32>) -> tensor<1x16x8xf32> {
  %r = hova.kernel "main" units<batch 1, token 16> (%x) {
  ^bb0(%a: tensor<1x16x8xf32>):
    %s = hova.activation relu %a : tensor<1x16x8xf32>
    hova.yield %s : tensor<1x16x8xf32>
  } : (tensor<1x16x8xf32>) -> tensor<1x16x8xf32>
  return %r : tensor<1x16x8xf32>
}
