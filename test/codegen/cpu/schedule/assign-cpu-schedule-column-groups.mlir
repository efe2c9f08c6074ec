// Stages of the column groups of a product.

// RUN: hova-opt %s --hova-assign-cpu-schedule --hova-verify-assigned | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// Column groups and what works on their tiles are of the product's stage. The
// product of two column groups has neither tile; the slices of what only it reads are
// addresses.
// CHECK-LABEL: hova.kernel "column_groups"
// CHECK: hova.stage
// CHECK-NEXT: hova.linear
// CHECK-NEXT: hova.slice
// CHECK-NEXT: hova.slice
// CHECK-NEXT: hova.add
// CHECK: hova.stage
// CHECK-NEXT: hova.multiply
// CHECK: hova.stage
// CHECK-NEXT: hova.linear
// CHECK-NOT: hova.slice {{.*}}hova.stage
// CHECK: hova.stage
// CHECK-NEXT: hova.multiply
func.func @main(%x: tensor<1x9x64xf32>, %v: tensor<1x9x64xf32>) -> (tensor<1x9x64xf32>, tensor<1x9x64xf32>) {
  %w = hova.image_weight "w" : tensor<64x128xf32>
  %out:2 = hova.kernel "column_groups" units<batch 1, token 9> (%x, %w, %v) {
  ^bb0(%a: tensor<1x9x64xf32>, %w_: tensor<64x128xf32>, %v_: tensor<1x9x64xf32>):
    %y = hova.linear %a, %w_ : tensor<1x9x64xf32>, tensor<64x128xf32> -> tensor<1x9x128xf32>
    %o = hova.slice %y {axis = 2 : i64, offset = 0 : i64} : tensor<1x9x128xf32> -> tensor<1x9x64xf32>
    %u = hova.slice %y {axis = 2 : i64, offset = 64 : i64} : tensor<1x9x128xf32> -> tensor<1x9x64xf32>
    %s = hova.add %u, %v_ : tensor<1x9x64xf32>, tensor<1x9x64xf32>
    %m = hova.multiply %s, %o : tensor<1x9x64xf32>, tensor<1x9x64xf32>
    %z = hova.linear %m, %w_ : tensor<1x9x64xf32>, tensor<64x128xf32> -> tensor<1x9x128xf32>
    %p = hova.slice %z {axis = 2 : i64, offset = 0 : i64} : tensor<1x9x128xf32> -> tensor<1x9x64xf32>
    %q = hova.slice %z {axis = 2 : i64, offset = 64 : i64} : tensor<1x9x128xf32> -> tensor<1x9x64xf32>
    %r = hova.multiply %p, %q : tensor<1x9x64xf32>, tensor<1x9x64xf32>
    hova.yield %m, %r : tensor<1x9x64xf32>, tensor<1x9x64xf32>
  } : (tensor<1x9x64xf32>, tensor<64x128xf32>, tensor<1x9x64xf32>) -> (tensor<1x9x64xf32>, tensor<1x9x64xf32>)
  return %out#0, %out#1 : tensor<1x9x64xf32>, tensor<1x9x64xf32>
}
func.func private @weights() {
  %w = hova.weight "w" : tensor<64x128xf32>
  hova.store_weight "w", %w : tensor<64x128xf32>
  return
}
