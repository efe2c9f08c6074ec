// RUN: hova-opt %s --split-input-file --hova-fuse-kernels | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// What a kernel computes is read as it lies.
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = hova.kernel
// CHECK: %[[Y:.*]] = hova.reshape %[[A]]
// CHECK-NEXT: %[[O:.*]] = hova.kernel {{.*}}(%[[Y]])
// CHECK-NEXT: ^bb0
// CHECK-NEXT: hova.activation tanh {{.*}}hova.missed_fusions = {"0" = "'hova.activation' reads 'hova.reshape', which has other rows than the kernel that computes them"}
// CHECK: return %[[O]]
func.func @main(%x: tensor<6x4xf32>) -> tensor<3x8xf32> {
  %a = hova.activation relu %x : tensor<6x4xf32>
  %y = hova.reshape %a : tensor<6x4xf32> -> tensor<3x8xf32>
  %o = hova.activation tanh %y : tensor<3x8xf32>
  return %o : tensor<3x8xf32>
}

// -----

// The caller decides where an input is: it is copied.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: hova.kernel
// CHECK-NEXT: ^bb0
// CHECK-NEXT: hova.reshape %{{.*}} :
// CHECK-NEXT: = hova.activation
func.func @main(%x: tensor<6x4xf32>) -> tensor<3x8xf32> {
  %y = hova.reshape %x : tensor<6x4xf32> -> tensor<3x8xf32>
  %o = hova.activation tanh %y : tensor<3x8xf32>
  return %o : tensor<3x8xf32>
}

// -----

// And where an output is, whatever its axes are.
// CHECK-LABEL: func.func @main
// CHECK: hova.activation
// CHECK: hova.kernel
// CHECK-NEXT: ^bb0
// CHECK-NEXT: hova.reshape
// CHECK-NEXT: hova.yield
func.func @main(%x: tensor<6x4xf32>) -> tensor<3x8xf32> {
  %a = hova.activation relu %x : tensor<6x4xf32>
  %y = hova.reshape %a : tensor<6x4xf32> -> tensor<3x8xf32>
  return %y : tensor<3x8xf32>
}

// -----

// CHECK-LABEL: func.func @main
// CHECK: hova.activation
// CHECK: hova.kernel
// CHECK-NEXT: ^bb0
// CHECK-NEXT: hova.reshape {{.*}}hova.missed_fusions
// CHECK-NEXT: = hova.activation
func.func @main(%x: tensor<6x4xf32>) -> (tensor<6x4xf32>, tensor<3x8xf32>) {
  %a = hova.activation relu %x : tensor<6x4xf32>
  %y = hova.reshape %a : tensor<6x4xf32> -> tensor<3x8xf32>
  %o = hova.activation tanh %y : tensor<3x8xf32>
  return %a, %o : tensor<6x4xf32>, tensor<3x8xf32>
}

// -----

// Columns are no rows of their own.
// CHECK-LABEL: func.func @main
// CHECK: hova.kernel
// CHECK: hova.slice
// CHECK-NEXT: hova.reshape {{.*}}hova.missed_fusions
// CHECK-NEXT: = hova.activation
func.func @main(%x: tensor<6x4xf32>) -> tensor<3x4xf32> {
  %a = hova.activation relu %x : tensor<6x4xf32>
  %c = hova.slice %a {axis = 1 : i64, offset = 1 : i64} : tensor<6x4xf32> -> tensor<6x2xf32>
  %y = hova.reshape %c : tensor<6x2xf32> -> tensor<3x4xf32>
  %o = hova.activation tanh %y : tensor<3x4xf32>
  return %o : tensor<3x4xf32>
}

// -----

// Rows that stand among others are at a distance: the state that is reshaped is
// copied where it is interleaved.
// CHECK-LABEL: func.func @main
// CHECK-DAG: hova.reshape
// CHECK-DAG: hova.index_sort {{.*}}hova.missed_fusions
func.func @main(%x: tensor<1x4x8xf32>) -> (tensor<1x8x8xf32>, tensor<1x2x16xf32>) {
  %a = hova.activation relu %x : tensor<1x4x8xf32>
  %b = hova.activation tanh %a : tensor<1x4x8xf32>
  %z = hova.index_sort %a, %b : tensor<1x4x8xf32> -> tensor<1x8x8xf32>
  %o = hova.attention %z, %z, %z
      {heads = 2 : i64}
      : (tensor<1x8x8xf32>, tensor<1x8x8xf32>, tensor<1x8x8xf32>) -> tensor<1x8x8xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all
  }
  %y = hova.reshape %b : tensor<1x4x8xf32> -> tensor<1x2x16xf32>
  %p = hova.activation relu %y : tensor<1x2x16xf32>
  return %o, %p : tensor<1x8x8xf32>, tensor<1x2x16xf32>
}

// -----

// Nor is what is assembled of several kernels' rows.
// CHECK-LABEL: func.func @main
// CHECK: %[[Z:.*]] = hova.index_sort
// CHECK: hova.kernel {{.*}}(%[[Z]])
// CHECK-NEXT: ^bb0
// CHECK-NEXT: hova.reshape {{.*}}hova.missed_fusions
// CHECK-NEXT: = hova.activation
func.func @main(%x: tensor<1x4x8xf32>) -> tensor<1x4x16xf32> {
  %a = hova.activation relu %x : tensor<1x4x8xf32>
  %b = hova.activation tanh %a : tensor<1x4x8xf32>
  %z = hova.index_sort %a, %b : tensor<1x4x8xf32> -> tensor<1x8x8xf32>
  %y = hova.reshape %z : tensor<1x8x8xf32> -> tensor<1x4x16xf32>
  %o = hova.activation tanh %y : tensor<1x4x16xf32>
  return %o : tensor<1x4x16xf32>
}
