// RUN: hova-opt %s --split-input-file --hova-fuse-kernels='policy={#hova_cpu.fusion<few_rows = 5, least_macs = 256>}' | FileCheck %s
// RUN: hova-opt %s --split-input-file --hova-fuse-kernels='policy={#hova_cpu.fusion<few_rows = 5, least_macs = 257>}' | FileCheck %s --check-prefix=MANY
// RUN: hova-opt %s --split-input-file --hova-fuse-kernels='policy={#hova_cpu.fusion<few_rows = 4, least_macs = 256>}' | FileCheck %s --check-prefix=MANY
// SPDX-License-Identifier: Apache-2.0

// Four rows are few, 4 x 8 x 8 = 256 multiply-accumulates enough: the norm divides
// rows, each product its columns, together with
// what works element by element on its result.
// CHECK-LABEL: func.func @main
// CHECK: hova.kernel {{.*}}units<{{batch|row}}
// CHECK-NEXT: ^bb0
// CHECK-NEXT: hova.layer_norm
// CHECK-NEXT: hova.yield
// CHECK: hova.kernel {{.*}}units<column_strip
// CHECK-NEXT: ^bb0
// CHECK-NEXT: hova.linear
// CHECK-NEXT: hova.activation
// CHECK-NEXT: hova.yield
// CHECK: hova.kernel {{.*}}units<column_strip
// CHECK-NEXT: ^bb0
// CHECK-NEXT: hova.linear
// CHECK-NEXT: hova.add
// CHECK-NEXT: hova.yield
// CHECK-NOT: hova.kernel
// MANY-LABEL: func.func @main
// MANY: hova.kernel {{.*}}units<{{batch|row}}
// MANY-NOT: hova.kernel
// MANY: return
func.func @main(%x: tensor<1x4x8xf32>, %g: tensor<8xf32>) -> tensor<1x4x8xf32> {
  %w = hova.image_weight "w" : tensor<8x8xf32>
  %n = hova.layer_norm %x, %g, %g {eps = 1.0e-6 : f64} : tensor<1x4x8xf32>, tensor<8xf32>
  %l = hova.linear %n, %w : tensor<1x4x8xf32>, tensor<8x8xf32> -> tensor<1x4x8xf32>
  %a = hova.activation relu %l : tensor<1x4x8xf32>
  %m = hova.linear %a, %w : tensor<1x4x8xf32>, tensor<8x8xf32> -> tensor<1x4x8xf32>
  %s = hova.add %m, %x : tensor<1x4x8xf32>, tensor<1x4x8xf32>
  return %s : tensor<1x4x8xf32>
}

// -----

// Columns of the product's own result may belong to another thread.
// CHECK-LABEL: func.func @main
// CHECK: hova.kernel {{.*}}units<column_strip
// CHECK-NEXT: ^bb0
// CHECK-NEXT: hova.linear
// CHECK-NEXT: hova.yield
// CHECK: hova.kernel {{.*}}units<{{batch|row}}
// CHECK: hova.slice
// CHECK: hova.multiply
func.func @main(%x: tensor<1x4x8xf32>) -> tensor<1x4x4xf32> {
  %w = hova.image_weight "w" : tensor<8x8xf32>
  %p = hova.linear %x, %w : tensor<1x4x8xf32>, tensor<8x8xf32> -> tensor<1x4x8xf32>
  %s = hova.slice %p {axis = 2 : i64, offset = 0 : i64} : tensor<1x4x8xf32> -> tensor<1x4x4xf32>
  %u = hova.slice %p {axis = 2 : i64, offset = 4 : i64} : tensor<1x4x8xf32> -> tensor<1x4x4xf32>
  %r = hova.multiply %s, %u : tensor<1x4x4xf32>, tensor<1x4x4xf32>
  return %r : tensor<1x4x4xf32>
}

// -----

// A table that repeats every two rows does not line up with a tile's rows; a
// vector does.
// CHECK-LABEL: func.func @main
// CHECK: hova.kernel {{.*}}units<column_strip
// CHECK-NEXT: ^bb0
// CHECK-NEXT: hova.linear
// CHECK-NEXT: hova.add
// CHECK-NEXT: hova.yield
// CHECK: hova.kernel {{.*}}units<{{batch|row}}
// CHECK-NEXT: ^bb0
// CHECK-NEXT: hova.add
func.func @main(%x: tensor<2x2x8xf32>, %v: tensor<8xf32>, %t: tensor<2x8xf32>) -> tensor<2x2x8xf32> {
  %w = hova.image_weight "w" : tensor<8x8xf32>
  %p = hova.linear %x, %w : tensor<2x2x8xf32>, tensor<8x8xf32> -> tensor<2x2x8xf32>
  %q = hova.add %p, %v : tensor<2x2x8xf32>, tensor<8xf32>
  %r = hova.add %q, %t : tensor<2x2x8xf32>, tensor<2x8xf32>
  return %r : tensor<2x2x8xf32>
}
