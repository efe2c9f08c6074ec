// RUN: hova-opt %s --split-input-file --target=cuda --start-at=normalize --stop-after=tile | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// A product with the scaled heads of horizontal attention: a block copies all of its rows, a box for each turn, and the first boxes of the weight.
// While they are on their way it computes the softmax over heads, then it scales the rows where they are, and rounds them. A turn copies and reads
// the weight in a ring, and the rows by its own number.
// CHECK-LABEL: func.func private @kernel_main
// CHECK-SAME: (%[[H:.*]]: memref<197x768xbf16>, %[[L:.*]]: memref<197x12xf32>, %[[W:.*]]: memref<768x768xbf16>, %{{.*}}: memref<197x768xf32>
// CHECK-DAG: %[[ZERO:.*]] = arith.constant 0 : index
// CHECK-DAG: %[[LAST:.*]] = arith.constant 11 : index
// CHECK-DAG: %[[WIDTH:.*]] = arith.constant 64 : index
// CHECK: %[[ROWS:.*]] = hova.group_alloc : <12x32x64xbf16>
// CHECK: %[[RING:.*]] = hova.group_alloc : <3x256x64xbf16>
// CHECK: %[[X0:.*]] = hova.group_copy %[[H]][%{{.*}}, %[[ZERO]]] to %[[ROWS]][%[[ZERO]]] {{.*}} : memref<197x768xbf16>
// CHECK-COUNT-10: hova.group_copy %[[H]]
// CHECK: %[[X11:.*]] = hova.group_copy %[[H]][%{{.*}}, %{{.*}}] to %[[ROWS]][%[[LAST]]]
// CHECK: %[[W0:.*]] = hova.group_copy %[[W]][%{{.*}}] to %[[RING]]
// CHECK: %[[W1:.*]] = hova.group_copy %[[W]][%{{.*}}] to %[[RING]]
// CHECK: hova.group_load %[[L]]
// CHECK: math.exp2
// CHECK: hova.group_share %{{.*}}, %[[SHARES:.*]][%[[ZERO]]] : <32x32xf32, row 8x1>
// CHECK-NEXT: hova.group_wait %[[X0]], {{.*}}, %[[X11]]{{$}}
// CHECK-NEXT: %[[X:.*]] = hova.group_gather %[[ROWS]] {in_bounds = array<i1: true, true>} : !hova.slots<12x32x64xbf16> -> <32x768xbf16, row 8x1>
// CHECK: hova.group_yield %{{.*}}, %{{.*}} : index, index
// CHECK: %[[OF_HEAD:.*]] = hova.group_gather %[[SHARES]][%[[ZERO]]] {{.*}} -> <32x768xf32, row 8x1>
// CHECK-NEXT: ^bb0(%[[I:.*]]: index, %[[J:.*]]: index):
// CHECK-NEXT: %[[HEAD:.*]] = arith.divui %[[J]], %[[WIDTH]] : index
// CHECK-NEXT: hova.group_yield %[[I]], %[[HEAD]]
// CHECK: %[[SCALED:.*]] = hova.group_map(%[[X]], %[[OF_HEAD]])
// CHECK: arith.extf
// CHECK-NEXT: arith.mulf
// CHECK-NEXT: arith.truncf
// CHECK: hova.group_share %[[SCALED]], %[[ROWS]] : <32x768xbf16, row 8x1>, <12x32x64xbf16>
// CHECK-NEXT: scf.for %[[TURN:[a-z0-9_]+]] = {{.*}} iter_args(%[[SUM:.*]] = %{{.*}}, %[[SLOT:.*]] = %{{.*}}, %[[OLD:.*]] = %[[W0]], %{{.*}} = %[[W1]])
// CHECK-NEXT: hova.group_wait %[[OLD]]
// CHECK-NOT: hova.group_copy %[[H]]
// CHECK: hova.group_copy %[[W]]
// CHECK-NEXT: hova.group_product %[[ROWS]][%[[TURN]]], %[[RING]][%[[SLOT]]] transposed, %[[SUM]]
// CHECK-NOT: hova.group_map
// CHECK: scf.yield
// CHECK: hova.group_wait
// CHECK: scf.for %[[END:[a-z0-9_]+]] =
// CHECK-NEXT: %[[OFFSET:.*]] = arith.addi %[[END]], %{{.*}} : index
// CHECK-NEXT: hova.group_product %[[ROWS]][%[[OFFSET]]], %[[RING]]
module {
  func.func @main(%h: tensor<1x197x768xbf16> {hova.name = "h"}, %l: tensor<1x197x12xf32> {hova.name = "l"})
      -> (tensor<1x197x768xf32> {hova.name = "y"}) {
    %w = hova.weight "w" : tensor<768x768xbf16>
    %a = hova.scale_heads %h, %l {hova.site = {kind = "reweight", path = "a"}} : tensor<1x197x768xbf16>, tensor<1x197x12xf32>
    %y = hova.linear %a, %w {hova.site = {kind = "linear", path = "y"}} : tensor<1x197x768xbf16>, tensor<768x768xbf16> -> tensor<1x197x768xf32>
    return %y : tensor<1x197x768xf32>
  }
}

// -----

// In f32 a block has no room for such rows: the heads are scaled by a kernel of their own, and the product is divided.
// CHECK-LABEL: func.func @main
// CHECK: hova.launch @kernel_main(
// CHECK: hova.launch @kernel_main_1(
// CHECK-LABEL: func.func private @kernel_main(
// CHECK-NOT: hova.group_product
// CHECK-LABEL: func.func private @kernel_main_1(
// CHECK-NOT: hova.group_share
// CHECK: hova.group_product
module {
  func.func @main(%h: tensor<1x197x768xf32> {hova.name = "h"}, %l: tensor<1x197x12xf32> {hova.name = "l"})
      -> (tensor<1x197x768xf32> {hova.name = "y"}) {
    %w = hova.weight "w" : tensor<768x768xf32>
    %a = hova.scale_heads %h, %l {hova.site = {kind = "reweight", path = "a"}} : tensor<1x197x768xf32>, tensor<1x197x12xf32>
    %y = hova.linear %a, %w {hova.site = {kind = "linear", path = "y"}} : tensor<1x197x768xf32>, tensor<768x768xf32> -> tensor<1x197x768xf32>
    return %y : tensor<1x197x768xf32>
  }
}
