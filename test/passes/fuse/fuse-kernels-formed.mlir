// RUN: hova-opt %s --split-input-file --hova-fuse-kernels | FileCheck %s
// RUN: hova-opt %s --split-input-file --hova-fuse-kernels --hova-fuse-kernels | FileCheck %s
// RUN: hova-opt %s --split-input-file --hova-fuse-kernels=chain=false | FileCheck %s --check-prefix=APART
// SPDX-License-Identifier: Apache-2.0
//
// Kernels that another pass has formed stay as they are.

// What is before and after a kernel is grouped around it; nothing joins it.
// CHECK-LABEL: func.func @main
// CHECK: %[[BEFORE:.*]] = hova.kernel "main"
// CHECK-NEXT: ^bb0
// CHECK-NEXT: hova.activation relu
// CHECK-NEXT: hova.activation tanh
// CHECK-NEXT: hova.yield
// CHECK: %[[FORMED:.*]] = hova.kernel "own" units<batch 1, token 4>(%[[BEFORE]])
// CHECK-NEXT: ^bb0
// CHECK-NEXT: hova.layer_norm
// CHECK-NEXT: hova.yield
// CHECK: %[[AFTER:.*]] = hova.kernel "main" units<batch 1, token 4>(%[[FORMED]])
// CHECK-NEXT: ^bb0
// CHECK-NEXT: hova.activation relu {{.*}} {hova.missed_fusions = {"0" = "another pass has formed kernel 'own'; it joins if that pass is left out"}}
// CHECK-NEXT: hova.activation sigmoid
// CHECK: return %[[AFTER]]
// APART-LABEL: func.func @main
// APART-COUNT-5: hova.kernel "
// APART: return
func.func @main(%x: tensor<1x4x8xf32>) -> tensor<1x4x8xf32> {
  %a = hova.activation relu %x : tensor<1x4x8xf32>
  %b = hova.activation tanh %a : tensor<1x4x8xf32>
  %k = hova.kernel "own" units<batch 1, token 4>(%b) {
  ^bb0(%c: tensor<1x4x8xf32>):
    %n = hova.layer_norm %c {eps = 1.0e-6 : f64} : tensor<1x4x8xf32>
    hova.yield %n : tensor<1x4x8xf32>
  } : (tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
  %d = hova.activation relu %k : tensor<1x4x8xf32>
  %e = hova.activation sigmoid %d : tensor<1x4x8xf32>
  return %e : tensor<1x4x8xf32>
}

// -----

// A chain that the kernel does not depend on passes it by.
// CHECK-LABEL: func.func @main
// CHECK-DAG: hova.kernel "own"
// CHECK-DAG: hova.kernel "main"
// CHECK-NOT: hova.kernel
func.func @main(%x: tensor<1x4x8xf32>, %y: tensor<1x4x8xf32>) -> (tensor<1x4x8xf32>, tensor<1x4x8xf32>) {
  %a = hova.activation relu %x : tensor<1x4x8xf32>
  %k = hova.kernel "own" units<batch 1, token 4>(%y) {
  ^bb0(%c: tensor<1x4x8xf32>):
    %n = hova.layer_norm %c {eps = 1.0e-6 : f64} : tensor<1x4x8xf32>
    hova.yield %n : tensor<1x4x8xf32>
  } : (tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
  %b = hova.activation tanh %a : tensor<1x4x8xf32>
  return %k, %b : tensor<1x4x8xf32>, tensor<1x4x8xf32>
}

// -----

// Columns that it reads are computed, as are those that leave the program.
// CHECK-LABEL: func.func @main
// CHECK: %[[PART:.*]] = hova.kernel "main"
// CHECK: hova.linear
// CHECK: hova.slice
// CHECK: hova.kernel "own" units<batch 1, token 4>(%[[PART]])
func.func @main(%x: tensor<1x4x8xf32>) -> tensor<1x4x4xf32> {
  %w = hova.image_weight "w" : tensor<8x8xf32>
  %p = hova.linear %x, %w : tensor<1x4x8xf32>, tensor<8x8xf32> -> tensor<1x4x8xf32>
  %s = hova.slice %p {axis = 2 : i64, offset = 4 : i64} : tensor<1x4x8xf32> -> tensor<1x4x4xf32>
  %k = hova.kernel "own" units<batch 1, token 4>(%s) {
  ^bb0(%c: tensor<1x4x4xf32>):
    %n = hova.activation relu %c : tensor<1x4x4xf32>
    hova.yield %n : tensor<1x4x4xf32>
  } : (tensor<1x4x4xf32>) -> tensor<1x4x4xf32>
  return %k : tensor<1x4x4xf32>
}
