// RUN: hova-opt %s --split-input-file --hova-fuse-kernels='policy={#hova_cpu.fusion<few_rows = 5, least_macs = 64>}' | FileCheck %s
// RUN: hova-opt %s --split-input-file --hova-fuse-kernels='chain=false' | FileCheck %s --check-prefix=APART
// SPDX-License-Identifier: Apache-2.0
//
// Why an operation does not stand in the kernel of what it reads: one program
// for each reason. With chain=false every operation is a kernel of its own.

// It reads other rows.
// CHECK-LABEL: func.func @main
// CHECK: hova.pool {{.*}}hova.missed_fusions = {"0" = "'hova.pool' reads other rows of 'hova.activation' than it computes"}
// APART-LABEL: func.func @main
// APART: hova.pool {{.*}}hova.missed_fusions = {"0" = "every operation is to be a kernel of its own; it joins where 'hova-fuse-kernels' is not left out"}
func.func @main(%x: tensor<1x4x8xf32>) -> tensor<1x8xf32> {
  %a = hova.activation relu %x : tensor<1x4x8xf32>
  %p = hova.pool mean %a : tensor<1x4x8xf32> -> tensor<1x8xf32>
  return %p : tensor<1x8xf32>
}

// -----

// It divides heads, and so does not join rows; nor do rows join heads. Keys and
// values are read in other rows as well.
// CHECK-LABEL: func.func @main
// CHECK: hova.attention
// CHECK-SAME: hova.missed_fusions = {"0" = "'hova.attention' divides 1 batch x 2 head among threads, not rows", "1" = "'hova.attention' reads other rows of 'hova.activation' than it computes", "2" = "'hova.attention' reads other rows of 'hova.activation' than it computes"}
// CHECK: hova.activation tanh {{.*}}hova.missed_fusions = {"0" = "'hova.attention' divides 1 batch x 2 head among threads, not rows"}
func.func @main(%x: tensor<1x4x8xf32>) -> tensor<1x4x8xf32> {
  %a = hova.activation relu %x : tensor<1x4x8xf32>
  %o = hova.attention %a, %a, %a
      {heads = 2 : i64}
      : (tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<1x4x8xf32>) -> tensor<1x4x8xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all
  }
  %t = hova.activation tanh %o : tensor<1x4x8xf32>
  return %t : tensor<1x4x8xf32>
}

// -----

// It could join the first activation, but waits for the attention.
// CHECK-LABEL: func.func @main
// CHECK: hova.add {{.*}}hova.missed_fusions = {"0" = "'hova.attention' divides 1 batch x 2 head among threads, not rows", "1" = "'hova.add' also reads 'hova.attention', which is computed in a later kernel; it joins if all that it reads is computed in that kernel or before"}
func.func @main(%x: tensor<1x4x8xf32>) -> tensor<1x4x8xf32> {
  %a = hova.activation relu %x : tensor<1x4x8xf32>
  %o = hova.attention %a, %x, %x
      {heads = 2 : i64}
      : (tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<1x4x8xf32>) -> tensor<1x4x8xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all
  }
  %s = hova.add %o, %a : tensor<1x4x8xf32>, tensor<1x4x8xf32>
  return %s : tensor<1x4x8xf32>
}

// -----

// A product of three rows divides columns: it does not join the norm, and what
// needs whole rows does not join it. What is element-wise does.
// CHECK-LABEL: func.func @main
// CHECK: hova.linear {{.*}}hova.missed_fusions = {"0" = "dividing rows does not pay for 'hova.linear': 3 rows against 5, and 192 multiply-accumulates against 64; it pays from 5 rows on, or below 64 multiply-accumulates"}
// CHECK-NEXT: hova.activation relu %{{[a-z0-9_]*}} : tensor
// CHECK: hova.layer_norm {{.*}}hova.missed_fusions = {"0" = "'hova.layer_norm' is not element-wise, and dividing rows does not pay for 'hova.linear': 3 rows against 5, and 192 multiply-accumulates against 64; it pays from 5 rows on, or below 64 multiply-accumulates"}
func.func @main(%x: tensor<1x3x8xf32>) -> tensor<1x3x8xf32> {
  %w = hova.image_weight "w" : tensor<8x8xf32>
  %n = hova.layer_norm %x {eps = 1.0e-6 : f64} : tensor<1x3x8xf32>
  %y = hova.linear %n, %w : tensor<1x3x8xf32>, tensor<8x8xf32> -> tensor<1x3x8xf32>
  %a = hova.activation relu %y : tensor<1x3x8xf32>
  %m = hova.layer_norm %a {eps = 1.0e-6 : f64} : tensor<1x3x8xf32>
  return %m : tensor<1x3x8xf32>
}

// -----

// Five rows are not few.
// CHECK-LABEL: func.func @main
// CHECK-NOT: hova.missed_fusions
func.func @main(%x: tensor<1x5x8xf32>) -> tensor<1x5x8xf32> {
  %w = hova.image_weight "w" : tensor<8x8xf32>
  %n = hova.layer_norm %x {eps = 1.0e-6 : f64} : tensor<1x5x8xf32>
  %y = hova.linear %n, %w : tensor<1x5x8xf32>, tensor<8x8xf32> -> tensor<1x5x8xf32>
  return %y : tensor<1x5x8xf32>
}

// -----

// Where columns are divided, a column may be read by the thread that computes
// another.
// CHECK-LABEL: func.func @main
// CHECK: hova.multiply {{.*}}hova.missed_fusions = {"0" = "'hova.multiply' computes other columns than those that it reads of 'hova.linear'; it joins if they are the same", "1" = "'hova.multiply' computes other columns than those that it reads of 'hova.linear'; it joins if they are the same"}
func.func @main(%x: tensor<1x3x8xf32>) -> tensor<1x3x4xf32> {
  %w = hova.image_weight "w" : tensor<8x8xf32>
  %p = hova.linear %x, %w : tensor<1x3x8xf32>, tensor<8x8xf32> -> tensor<1x3x8xf32>
  %s = hova.slice %p {axis = 2 : i64, offset = 0 : i64} : tensor<1x3x8xf32> -> tensor<1x3x4xf32>
  %u = hova.slice %p {axis = 2 : i64, offset = 4 : i64} : tensor<1x3x8xf32> -> tensor<1x3x4xf32>
  %r = hova.multiply %s, %u : tensor<1x3x4xf32>, tensor<1x3x4xf32>
  return %r : tensor<1x3x4xf32>
}

// -----

// A table that repeats, unlike a vector, does not line up with a tile's rows.
// CHECK-LABEL: func.func @main
// CHECK: hova.linear
// CHECK-NEXT: hova.add {{[^{]*}} : tensor
// CHECK: hova.add {{.*}}hova.missed_fusions = {"0" = "a table of 2 rows that 'hova.add' reads does not line up with 4 rows; it joins if the table has 1 or 4"}
func.func @main(%x: tensor<2x2x8xf32>, %v: tensor<8xf32>, %t: tensor<2x8xf32>) -> tensor<2x2x8xf32> {
  %w = hova.image_weight "w" : tensor<8x8xf32>
  %p = hova.linear %x, %w : tensor<2x2x8xf32>, tensor<8x8xf32> -> tensor<2x2x8xf32>
  %q = hova.add %p, %v : tensor<2x2x8xf32>, tensor<8xf32>
  %r = hova.add %q, %t : tensor<2x2x8xf32>, tensor<2x8xf32>
  return %r : tensor<2x2x8xf32>
}

// -----

// A slice may have columns of another thread, even if it has all of them.
// CHECK-LABEL: func.func @main
// CHECK: hova.activation relu %{{[a-z0-9_]*}} : tensor
// CHECK: hova.multiply {{.*}}"1" = "'hova.multiply' reads columns of 'hova.linear' that may be another thread's; it joins if they begin and end at multiples of 1"}
func.func @main(%x: tensor<1x3x8xf32>) -> tensor<1x3x8xf32> {
  %w = hova.image_weight "w" : tensor<8x8xf32>
  %p = hova.linear %x, %w : tensor<1x3x8xf32>, tensor<8x8xf32> -> tensor<1x3x8xf32>
  %a = hova.activation relu %p : tensor<1x3x8xf32>
  %s = hova.slice %p {axis = 2 : i64, offset = 0 : i64} : tensor<1x3x8xf32> -> tensor<1x3x8xf32>
  %r = hova.multiply %a, %s : tensor<1x3x8xf32>, tensor<1x3x8xf32>
  return %r : tensor<1x3x8xf32>
}

// -----

// Where columns are divided, a tile has the rows of the product.
// CHECK-LABEL: func.func @main
// CHECK: hova.add {{.*}}hova.missed_fusions = {{.*}}"1" = "'hova.add' reads rows in another order than 'hova.linear' computes them; it joins if the order is one"}
func.func @main(%x: tensor<1x4x8xf32>, %a: tensor<2x2x8xf32>) -> tensor<1x4x8xf32> {
  %w = hova.image_weight "w" : tensor<8x8xf32>
  %l = hova.linear %a, %w : tensor<2x2x8xf32>, tensor<8x8xf32> -> tensor<2x2x8xf32>
  %r = hova.rearrange %l [#hova.inverse<#hova.window<1x2, shift 0x0, grid 2x2>>] : tensor<2x2x8xf32> -> tensor<1x4x8xf32>
  %s = hova.add %x, %r : tensor<1x4x8xf32>, tensor<1x4x8xf32>
  return %s : tensor<1x4x8xf32>
}

// -----

// Two sequences of an item may have as many tokens at most, and others in a run.
// CHECK-LABEL: func.func @main
// CHECK: hova.add {{.*}}hova.missed_fusions = {{.*}}"1" = "'hova.add' has other tokens than 'hova.activation'"}
func.func @main(%x: tensor<2x8x4xf32> {hova.extent = "tokens"}, %y: tensor<2x8x4xf32> {hova.extent = "other_tokens"})
    -> (tensor<2x8x4xf32> {hova.extent = "tokens"}) attributes {hova.ranges = array<i64: 1, 2, 1, 8, 1, 8>} {
  %a = hova.activation relu %x : tensor<2x8x4xf32>
  %b = hova.activation tanh %y : tensor<2x8x4xf32>
  %s = hova.add %a, %b : tensor<2x8x4xf32>, tensor<2x8x4xf32>
  return %s : tensor<2x8x4xf32>
}
