// RUN: hova-opt %s --split-input-file --hova-fuse-kernels='policy={#hova_cuda.fusion}' | FileCheck %s
// RUN: hova-opt %s --split-input-file --hova-fuse-kernels | FileCheck %s --check-prefix=COPY
// SPDX-License-Identifier: Apache-2.0

// Rows of one sequence lie next to each other: who reads them reads them there. Without a target's word a kernel copies them.
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = hova.kernel
// CHECK: %[[Y:.*]] = hova.slice %[[A]]
// CHECK-NEXT: %[[Z:.*]] = hova.slice %[[Y]]
// CHECK-NEXT: %[[O:.*]] = hova.kernel {{.*}}(%[[Z]])
// CHECK-NEXT: ^bb0
// CHECK-NEXT: hova.activation tanh {{.*}}hova.missed_fusions = {"0" = "'hova.activation' reads 'hova.slice', which has other rows than the kernel that computes them"}
// CHECK: return %[[O]]
// COPY-LABEL: func.func @main
// COPY-NOT: hova.slice
// COPY: hova.kernel
func.func @main(%x: tensor<1x6x4xf32>) -> tensor<1x2x4xf32> {
  %a = hova.activation relu %x : tensor<1x6x4xf32>
  %y = hova.slice %a {axis = 1 : i64, offset = 1 : i64} : tensor<1x6x4xf32> -> tensor<1x4x4xf32>
  %z = hova.slice %y {axis = 1 : i64, offset = 2 : i64} : tensor<1x4x4xf32> -> tensor<1x2x4xf32>
  %o = hova.activation tanh %z : tensor<1x2x4xf32>
  return %o : tensor<1x2x4xf32>
}

// -----

// So do single rows of several, each a sequence apart.
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = hova.kernel
// CHECK: %[[Y:.*]] = hova.slice %[[A]]
// CHECK-NEXT: hova.kernel {{.*}}(%[[Y]])
// CHECK: %[[Z:.*]] = hova.pool first %[[A]]
// CHECK-NEXT: hova.kernel {{.*}}(%[[Z]])
func.func @main(%x: tensor<3x6x4xf32>) -> (tensor<3x1x4xf32>, tensor<3x4xf32>) {
  %a = hova.activation relu %x : tensor<3x6x4xf32>
  %y = hova.slice %a {axis = 1 : i64, offset = 5 : i64} : tensor<3x6x4xf32> -> tensor<3x1x4xf32>
  %o = hova.activation tanh %y : tensor<3x1x4xf32>
  %z = hova.pool first %a : tensor<3x6x4xf32> -> tensor<3x4xf32>
  %p = hova.activation tanh %z : tensor<3x4xf32>
  return %o, %p : tensor<3x1x4xf32>, tensor<3x4xf32>
}

// -----

// Two rows of each are at two distances, and a mean is none of them.
// CHECK-LABEL: func.func @main
// CHECK: hova.kernel
// CHECK: hova.kernel
// CHECK-NEXT: ^bb0
// CHECK-NEXT: hova.slice
// CHECK: hova.kernel
// CHECK-NEXT: ^bb0
// CHECK-NEXT: hova.pool
func.func @main(%x: tensor<3x6x4xf32>) -> (tensor<3x2x4xf32>, tensor<3x4xf32>) {
  %a = hova.activation relu %x : tensor<3x6x4xf32>
  %y = hova.slice %a {axis = 1 : i64, offset = 1 : i64} : tensor<3x6x4xf32> -> tensor<3x2x4xf32>
  %o = hova.activation tanh %y : tensor<3x2x4xf32>
  %z = hova.pool mean %a : tensor<3x6x4xf32> -> tensor<3x4xf32>
  %p = hova.activation tanh %z : tensor<3x4xf32>
  return %o, %p : tensor<3x2x4xf32>, tensor<3x4xf32>
}

// -----

// The caller's memory has one name: inputs, and outputs.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: hova.kernel
// CHECK-NEXT: ^bb0
// CHECK-NEXT: hova.slice
func.func @main(%x: tensor<1x6x4xf32>) -> tensor<1x2x4xf32> {
  %y = hova.slice %x {axis = 1 : i64, offset = 1 : i64} : tensor<1x6x4xf32> -> tensor<1x2x4xf32>
  %o = hova.activation tanh %y : tensor<1x2x4xf32>
  return %o : tensor<1x2x4xf32>
}

// -----

// CHECK-LABEL: func.func @main
// CHECK: hova.kernel
// CHECK: hova.kernel
// CHECK-NEXT: ^bb0
// CHECK-NEXT: hova.slice
// CHECK-NEXT: hova.yield
func.func @main(%x: tensor<1x6x4xf32>) -> tensor<1x2x4xf32> {
  %a = hova.activation relu %x : tensor<1x6x4xf32>
  %y = hova.slice %a {axis = 1 : i64, offset = 1 : i64} : tensor<1x6x4xf32> -> tensor<1x2x4xf32>
  return %y : tensor<1x2x4xf32>
}

// -----

// CHECK-LABEL: func.func @main
// CHECK: hova.kernel
// CHECK: hova.kernel
// CHECK-NEXT: ^bb0
// CHECK-NEXT: hova.slice
func.func @main(%x: tensor<1x6x4xf32>) -> (tensor<1x6x4xf32>, tensor<1x2x4xf32>) {
  %a = hova.activation relu %x : tensor<1x6x4xf32>
  %y = hova.slice %a {axis = 1 : i64, offset = 1 : i64} : tensor<1x6x4xf32> -> tensor<1x2x4xf32>
  %o = hova.activation tanh %y : tensor<1x2x4xf32>
  return %a, %o : tensor<1x6x4xf32>, tensor<1x2x4xf32>
}

// -----

// Rows of what several kernels write, which are put together first.
// CHECK-LABEL: func.func @main
// CHECK: %[[Z:.*]] = hova.concat
// CHECK-NEXT: %[[Y:.*]] = hova.slice %[[Z]]
// CHECK-NEXT: hova.kernel {{.*}}(%[[Y]])
func.func @main(%x: tensor<1x4x8xf32>) -> tensor<1x5x8xf32> {
  %a = hova.activation relu %x : tensor<1x4x8xf32>
  %b = hova.activation tanh %x : tensor<1x4x8xf32>
  %z = hova.concat %a, %b {axis = 1 : i64} : tensor<1x4x8xf32>, tensor<1x4x8xf32> -> tensor<1x8x8xf32>
  %y = hova.slice %z {axis = 1 : i64, offset = 2 : i64} : tensor<1x8x8xf32> -> tensor<1x5x8xf32>
  %o = hova.activation gelu_erf %y : tensor<1x5x8xf32>
  return %o : tensor<1x5x8xf32>
}
