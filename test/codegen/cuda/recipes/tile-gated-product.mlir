// RUN: hova-opt %s --split-input-file --target=cuda --start-at=normalize --stop-after=tile | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// A gate and what it multiplies are halves of a product. A block of 64 columns has 32 of each half: a warp has 16 gates and then the 16 columns that
// stand in the same places of the other half, of which the copy of the weight asks for the rows.
// CHECK-LABEL: func.func private @kernel_main
// CHECK-SAME: %{{.*}}: memref<128x768xbf16>, %[[W:.*]]: memref<4000x768xbf16>, %[[B:.*]]: memref<1x4000xf32>, %[[Y:.*]]: memref<128x2000xbf16>, %{{.*}}: index, %[[BLOCK:.*]]: index, %{{.*}}: index
// CHECK-DAG: %[[HALF:.*]] = arith.constant 2000 : index
// CHECK-DAG: %[[TWO:.*]] = arith.constant 2 : index
// CHECK-DAG: %[[COLUMNS:.*]] = arith.constant 16 : index
// CHECK-DAG: %[[WARP:.*]] = arith.constant 32 : index
// CHECK: hova.group_copy %[[W]][%{{.*}}] to %{{.*}} rows {
// CHECK-NEXT: ^bb0(%[[COLUMN:.*]]: index):
// CHECK-NEXT: %[[NUMBER:.*]] = arith.divui %[[COLUMN]], %[[WARP]]
// CHECK-NEXT: %[[START:.*]] = arith.muli %[[NUMBER]], %[[COLUMNS]]
// CHECK-NEXT: %[[WITHIN:.*]] = arith.remui %[[COLUMN]], %[[COLUMNS]]
// CHECK-NEXT: %[[FIRST:.*]] = arith.addi %[[START]], %[[WITHIN]]
// CHECK-NEXT: %[[PART:.*]] = arith.divui %[[COLUMN]], %[[COLUMNS]]
// CHECK-NEXT: %[[WHICH:.*]] = arith.remui %[[PART]], %[[TWO]]
// CHECK-NEXT: %[[FURTHER:.*]] = arith.muli %[[WHICH]], %[[HALF]]
// CHECK-NEXT: %[[ROW:.*]] = arith.addi %[[FIRST]], %[[FURTHER]]
// CHECK-NEXT: hova.group_yield %[[ROW]]
// CHECK: %[[SUMS:.*]]:2 = scf.for
// CHECK: %[[GATE:.*]] = arith.muli %[[BLOCK]], %[[WARP]]
// CHECK: %[[UP:.*]] = arith.addi %[[GATE]], %[[HALF]]
// CHECK: %[[G:.*]] = hova.group_half %[[SUMS]]#0 : <64x64xf32, product 2x2> -> <64x32xf32, product 2x2>
// CHECK: hova.group_load %[[B]][%{{.*}}, %[[GATE]]]
// CHECK: %[[U:.*]] = hova.group_half %[[SUMS]]#0 second : <64x64xf32, product 2x2> -> <64x32xf32, product 2x2>
// CHECK: hova.group_load %[[B]][%{{.*}}, %[[UP]]]
// CHECK: hova.activation silu
// CHECK: arith.mulf
// CHECK: hova.group_store %{{.*}}, %[[Y]][%{{.*}}, %[[GATE]]] {{.*}} : <64x32xbf16, product 2x2>
// CHECK-NOT: hova.group_store
module {
  func.func @main(%x: tensor<1x128x768xbf16> {hova.name = "x"}) -> (tensor<1x128x2000xbf16> {hova.name = "y"}) {
    %w = hova.weight "w" : tensor<768x2000xbf16>
    %v = hova.weight "v" : tensor<768x2000xbf16>
    %b = hova.weight "b" : tensor<2000xf32>
    %g = hova.linear %x, %w {hova.site = {kind = "linear", path = "g"}} : tensor<1x128x768xbf16>, tensor<768x2000xbf16> -> tensor<1x128x2000xf32>
    %a = hova.activation silu %g {hova.site = {kind = "linear", path = "g"}} : tensor<1x128x2000xf32>
    %u = hova.linear %x, %v bias(%b) {hova.site = {kind = "linear", path = "u"}} : tensor<1x128x768xbf16>, tensor<768x2000xbf16>, tensor<2000xf32> -> tensor<1x128x2000xf32>
    %m = hova.multiply %a, %u {hova.site = {kind = "multiply", path = "m"}} : tensor<1x128x2000xf32>, tensor<1x128x2000xf32>
    %c = hova.convert %m : tensor<1x128x2000xf32> -> tensor<1x128x2000xbf16>
    return %c : tensor<1x128x2000xbf16>
  }
}

// -----

// Where nothing reads both halves a block has columns beside each other.
// CHECK-LABEL: func.func private @kernel_main
// CHECK-NOT: rows {
// CHECK-NOT: hova.group_half
// CHECK: return
module {
  func.func @main(%x: tensor<1x128x768xbf16> {hova.name = "x"})
      -> (tensor<1x128x96xf32> {hova.name = "y"}, tensor<1x128x96xf32> {hova.name = "z"}) {
    %w = hova.weight "w" : tensor<768x96xbf16>
    %v = hova.weight "v" : tensor<768x96xbf16>
    %g = hova.linear %x, %w {hova.site = {kind = "linear", path = "g"}} : tensor<1x128x768xbf16>, tensor<768x96xbf16> -> tensor<1x128x96xf32>
    %a = hova.activation silu %g {hova.site = {kind = "linear", path = "g"}} : tensor<1x128x96xf32>
    %u = hova.linear %x, %v {hova.site = {kind = "linear", path = "u"}} : tensor<1x128x768xbf16>, tensor<768x96xbf16> -> tensor<1x128x96xf32>
    return %a, %u : tensor<1x128x96xf32>, tensor<1x128x96xf32>
  }
}
