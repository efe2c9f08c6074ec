// RUN: hova-opt %s --split-input-file --hova-fuse-kernels | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// Who computes a state writes it where it stands among the others: interleaving
// them is no kernel.
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]]:2 = hova.kernel
// CHECK: hova.yield
// CHECK: %[[Z:.*]] = hova.index_sort %[[A]]#0, %[[A]]#1
// CHECK-NEXT: %[[O:.*]] = hova.kernel {{.*}}(%[[Z]])
// CHECK: hova.attention {{.*}}hova.missed_fusions = {"0" = "'hova.attention' reads 'hova.index_sort', whose rows several kernels write"
// CHECK: return %[[O]]
func.func @main(%x: tensor<1x4x8xf32>) -> tensor<1x8x8xf32> {
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
  return %o : tensor<1x8x8xf32>
}

// -----

// Tokens one after the other are the same, where no batch stands before them.
// CHECK-LABEL: func.func @main
// CHECK: hova.kernel
// CHECK: %[[Z:.*]] = hova.concat
// CHECK-NEXT: hova.kernel {{.*}}(%[[Z]])
// CHECK-NEXT: ^bb0
// CHECK-NEXT: hova.attention
func.func @main(%x: tensor<1x4x8xf32>, %y: tensor<1x3x8xf32>) -> tensor<1x7x8xf32> {
  %a = hova.activation relu %x : tensor<1x4x8xf32>
  %b = hova.activation relu %y : tensor<1x3x8xf32>
  %z = hova.concat %a, %b {axis = 1 : i64} : tensor<1x4x8xf32>, tensor<1x3x8xf32> -> tensor<1x7x8xf32>
  %o = hova.attention %z, %z, %z
      {heads = 2 : i64}
      : (tensor<1x7x8xf32>, tensor<1x7x8xf32>, tensor<1x7x8xf32>) -> tensor<1x7x8xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all
  }
  return %o : tensor<1x7x8xf32>
}

// -----

// With a batch their rows are at no even distance: they are copied.
// CHECK-LABEL: func.func @main
// CHECK: hova.kernel
// CHECK: hova.kernel
// CHECK: hova.concat
// CHECK-NEXT: hova.yield
func.func @main(%x: tensor<2x4x8xf32>) -> tensor<2x8x8xf32> {
  %a = hova.activation relu %x : tensor<2x4x8xf32>
  %b = hova.activation tanh %a : tensor<2x4x8xf32>
  %z = hova.concat %a, %b {axis = 1 : i64} : tensor<2x4x8xf32>, tensor<2x4x8xf32> -> tensor<2x8x8xf32>
  %o = hova.attention %z, %z, %z
      {heads = 2 : i64}
      : (tensor<2x8x8xf32>, tensor<2x8x8xf32>, tensor<2x8x8xf32>) -> tensor<2x8x8xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all
  }
  return %o : tensor<2x8x8xf32>
}

// -----

// The caller decides where inputs and outputs are.
// CHECK-LABEL: func.func @main
// CHECK: hova.kernel
// CHECK: hova.index_sort
// CHECK-NEXT: hova.yield
func.func @main(%x: tensor<1x4x8xf32>) -> tensor<1x8x8xf32> {
  %a = hova.activation relu %x : tensor<1x4x8xf32>
  %z = hova.index_sort %x, %a : tensor<1x4x8xf32> -> tensor<1x8x8xf32>
  %o = hova.attention %z, %z, %z
      {heads = 2 : i64}
      : (tensor<1x8x8xf32>, tensor<1x8x8xf32>, tensor<1x8x8xf32>) -> tensor<1x8x8xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all
  }
  return %o : tensor<1x8x8xf32>
}

// -----

// A state can stand in one place alone: the second time it is copied.
// CHECK-LABEL: func.func @main
// CHECK: hova.kernel
// CHECK: %[[Z:.*]] = hova.index_sort
// CHECK-NEXT: hova.kernel {{.*}}(%[[Z]])
// CHECK: hova.attention
// CHECK: %[[Y:.*]] = hova.kernel
// CHECK-NEXT: ^bb0
// CHECK-NEXT: hova.index_sort
// CHECK-NEXT: hova.yield
// CHECK: hova.kernel {{.*}}(%[[Y]])
func.func @main(%x: tensor<1x4x8xf32>) -> (tensor<1x8x8xf32>, tensor<1x8x8xf32>) {
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
  %y = hova.index_sort %b, %a : tensor<1x4x8xf32> -> tensor<1x8x8xf32>
  %p = hova.attention %y, %y, %y
      {heads = 2 : i64}
      : (tensor<1x8x8xf32>, tensor<1x8x8xf32>, tensor<1x8x8xf32>) -> tensor<1x8x8xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all
  }
  return %o, %p : tensor<1x8x8xf32>, tensor<1x8x8xf32>
}
