// RUN: hova-opt %s --split-input-file --hova-fuse-kernels='policy={#hova_cpu.fusion<few_rows = 5, least_macs = 256>} column-group-width=64' | FileCheck %s --check-prefixes=CHECK,FEW
// RUN: hova-opt %s --split-input-file --hova-fuse-kernels=column-group-width=64 | FileCheck %s --check-prefixes=CHECK,MANY
// RUN: hova-opt %s --split-input-file --hova-fuse-kernels='chain=0 column-group-width=64' | FileCheck %s --check-prefix=APART
// SPDX-License-Identifier: Apache-2.0

// Parts of a product: what works on the tiles of one stays with it, and the
// kernel yields the others instead of the whole.
// CHECK-LABEL: func.func @main
// CHECK: hova.kernel
// FEW-SAME: units<column_strip
// MANY-SAME: units<{{batch|row}}
// CHECK: %[[Y:.*]] = hova.linear
// CHECK-NEXT: %[[O:.*]] = hova.slice %[[Y]] {axis = 2 : i64, offset = 0
// CHECK-NEXT: %[[U:.*]] = hova.slice %[[Y]] {axis = 2 : i64, offset = 64
// CHECK-NEXT: %[[S:.*]] = hova.add %[[U]]
// CHECK-NEXT: %[[R:.*]] = hova.activation relu %[[S]]
// CHECK-NEXT: hova.yield %[[O]], %[[R]]
// CHECK-NOT: hova.kernel
// APART-LABEL: func.func @main
// APART-COUNT-4: hova.kernel
func.func @main(%x: tensor<1x4x64xf32>, %v: tensor<1x4x32xf32>) -> (tensor<1x4x64xf32>, tensor<1x4x32xf32>) {
  %w = hova.image_weight "w" : tensor<64x96xf32>
  %y = hova.linear %x, %w : tensor<1x4x64xf32>, tensor<64x96xf32> -> tensor<1x4x96xf32>
  %o = hova.slice %y {axis = 2 : i64, offset = 0 : i64} : tensor<1x4x96xf32> -> tensor<1x4x64xf32>
  %u = hova.slice %y {axis = 2 : i64, offset = 64 : i64} : tensor<1x4x96xf32> -> tensor<1x4x32xf32>
  %s = hova.add %u, %v : tensor<1x4x32xf32>, tensor<1x4x32xf32>
  %r = hova.activation relu %s : tensor<1x4x32xf32>
  return %o, %r : tensor<1x4x64xf32>, tensor<1x4x32xf32>
}

// -----

// Two column groups of one product meet: nothing has both tiles.
// CHECK-LABEL: func.func @main
// FEW: hova.kernel {{.*}}units<column_strip
// FEW-NEXT: ^bb0
// FEW-NEXT: hova.linear
// FEW-NEXT: hova.yield
// FEW: hova.kernel {{.*}}units<{{batch|row}}
// FEW: hova.multiply
func.func @main(%x: tensor<1x4x64xf32>) -> tensor<1x4x64xf32> {
  %w = hova.image_weight "w" : tensor<64x128xf32>
  %y = hova.linear %x, %w : tensor<1x4x64xf32>, tensor<64x128xf32> -> tensor<1x4x128xf32>
  %s = hova.slice %y {axis = 2 : i64, offset = 0 : i64} : tensor<1x4x128xf32> -> tensor<1x4x64xf32>
  %u = hova.slice %y {axis = 2 : i64, offset = 64 : i64} : tensor<1x4x128xf32> -> tensor<1x4x64xf32>
  %r = hova.multiply %s, %u : tensor<1x4x64xf32>, tensor<1x4x64xf32>
  return %r : tensor<1x4x64xf32>
}

// -----

// A slice that is no column group, as it begins between two, stays an address.
// CHECK-LABEL: func.func @main
// FEW: hova.kernel {{.*}}units<column_strip
// FEW-NEXT: ^bb0
// FEW-NEXT: hova.linear
// FEW-NEXT: hova.yield
// FEW: hova.kernel {{.*}}units<{{batch|row}}
// FEW: hova.activation
func.func @main(%x: tensor<1x4x64xf32>) -> tensor<1x4x64xf32> {
  %w = hova.image_weight "w" : tensor<64x96xf32>
  %y = hova.linear %x, %w : tensor<1x4x64xf32>, tensor<64x96xf32> -> tensor<1x4x96xf32>
  %u = hova.slice %y {axis = 2 : i64, offset = 32 : i64} : tensor<1x4x96xf32> -> tensor<1x4x64xf32>
  %r = hova.activation relu %u : tensor<1x4x64xf32>
  return %r : tensor<1x4x64xf32>
}
