// RUN: hova-opt %s --split-input-file --hova-fuse-kernels | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// Rows that are only moved wait for their reader, where they need no memory,
// though an earlier kernel has as many rows.
// CHECK-LABEL: func.func @main
// CHECK: hova.activation  tanh
// CHECK-NEXT: hova.yield
// CHECK: hova.attention
// CHECK: hova.kernel
// CHECK-NEXT: ^bb0
// CHECK-NEXT: %[[P:.*]] = hova.pad
// CHECK-NEXT: hova.add %{{.*}}, %[[P]]
func.func @main(%x: tensor<1x4x8xf32>, %z: tensor<1x5x8xf32>) -> tensor<1x5x8xf32> {
  %a = hova.activation relu %x : tensor<1x4x8xf32>
  %b = hova.activation tanh %z : tensor<1x5x8xf32>
  %p = hova.pad %a {axis = 1 : i64, before = 1 : i64} : tensor<1x4x8xf32> -> tensor<1x5x8xf32>
  %o = hova.attention %b, %b, %b
      {heads = 2 : i64}
      : (tensor<1x5x8xf32>, tensor<1x5x8xf32>, tensor<1x5x8xf32>) -> tensor<1x5x8xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all
  }
  %s = hova.add %o, %p : tensor<1x5x8xf32>, tensor<1x5x8xf32>
  return %s : tensor<1x5x8xf32>
}

// -----

// Somebody needs all of them at once: they are moved as soon as they are there.
// CHECK-LABEL: func.func @main
// CHECK: hova.activation  tanh
// CHECK-NEXT: hova.pad
// CHECK: hova.attention
// CHECK: hova.add
func.func @main(%x: tensor<1x4x8xf32>, %z: tensor<1x5x8xf32>) -> (tensor<1x5x8xf32>, tensor<1x8xf32>) {
  %a = hova.activation relu %x : tensor<1x4x8xf32>
  %b = hova.activation tanh %z : tensor<1x5x8xf32>
  %p = hova.pad %a {axis = 1 : i64, before = 1 : i64} : tensor<1x4x8xf32> -> tensor<1x5x8xf32>
  %o = hova.attention %b, %b, %b
      {heads = 2 : i64}
      : (tensor<1x5x8xf32>, tensor<1x5x8xf32>, tensor<1x5x8xf32>) -> tensor<1x5x8xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all
  }
  %s = hova.add %o, %p : tensor<1x5x8xf32>, tensor<1x5x8xf32>
  %m = hova.pool mean %p : tensor<1x5x8xf32> -> tensor<1x8xf32>
  return %s, %m : tensor<1x5x8xf32>, tensor<1x8xf32>
}

// -----

// Or the caller does.
// CHECK-LABEL: func.func @main
// CHECK: hova.activation  tanh
// CHECK-NEXT: hova.pad
// CHECK: hova.attention
func.func @main(%x: tensor<1x4x8xf32>, %z: tensor<1x5x8xf32>) -> (tensor<1x5x8xf32>, tensor<1x5x8xf32>) {
  %a = hova.activation relu %x : tensor<1x4x8xf32>
  %b = hova.activation tanh %z : tensor<1x5x8xf32>
  %p = hova.pad %a {axis = 1 : i64, before = 1 : i64} : tensor<1x4x8xf32> -> tensor<1x5x8xf32>
  %o = hova.attention %b, %b, %b
      {heads = 2 : i64}
      : (tensor<1x5x8xf32>, tensor<1x5x8xf32>, tensor<1x5x8xf32>) -> tensor<1x5x8xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all
  }
  return %o, %p : tensor<1x5x8xf32>, tensor<1x5x8xf32>
}

// -----

// Columns of what is moved are an address, which needs memory.
// CHECK-LABEL: func.func @main
// CHECK: hova.activation  tanh
// CHECK-NEXT: hova.pad
// CHECK: hova.attention
// CHECK: hova.slice
func.func @main(%x: tensor<1x4x16xf32>, %z: tensor<1x5x8xf32>) -> tensor<1x5x8xf32> {
  %a = hova.activation relu %x : tensor<1x4x16xf32>
  %b = hova.activation tanh %z : tensor<1x5x8xf32>
  %p = hova.pad %a {axis = 1 : i64, before = 1 : i64} : tensor<1x4x16xf32> -> tensor<1x5x16xf32>
  %c = hova.slice %p {axis = 2 : i64, offset = 8 : i64} : tensor<1x5x16xf32> -> tensor<1x5x8xf32>
  %o = hova.attention %b, %b, %b
      {heads = 2 : i64}
      : (tensor<1x5x8xf32>, tensor<1x5x8xf32>, tensor<1x5x8xf32>) -> tensor<1x5x8xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all
  }
  %s = hova.add %o, %c : tensor<1x5x8xf32>, tensor<1x5x8xf32>
  return %s : tensor<1x5x8xf32>
}
