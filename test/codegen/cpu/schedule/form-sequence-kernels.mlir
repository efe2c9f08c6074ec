// RUN: hova-opt %s --split-input-file --hova-form-sequence-kernels | FileCheck %s
// RUN: hova-opt %s --split-input-file --hova-form-sequence-kernels --hova-form-sequence-kernels | FileCheck %s
// RUN: hova-opt %s --split-input-file --hova-form-sequence-kernels --check-meaning -o /dev/null
// SPDX-License-Identifier: Apache-2.0

// All that depends on each other, from the norm to the sum.
// CHECK-LABEL: func.func @main
// CHECK: %[[R:.*]] = hova.kernel "main" units<sequence_group 3>(%{{.*}}, %{{.*}}, %{{.*}}) {
// CHECK-NEXT: ^bb0(%[[X:.*]]: tensor<12x16x8xf32>, %[[G:.*]]: tensor<8xf32>, %[[W:.*]]: tensor<8x8xf32>):
// CHECK-NEXT: hova.layer_norm %[[X]], %[[G]], %[[G]]
// CHECK-NEXT: hova.attention {{.*}}"hova-form-sequence-kernels" = {fired = true, why = "4 operations on 12 sequences are one kernel"}
// CHECK: hova.score_yield
// CHECK-NEXT: }
// CHECK-NEXT: hova.linear
// CHECK-NEXT: hova.add %[[X]]
// CHECK-NEXT: hova.yield
// CHECK: return %[[R]]
func.func @main(%x: tensor<12x16x8xf32>) -> tensor<12x16x8xf32> {
  %g = hova.image_weight "g" : tensor<8xf32>
  %w = hova.image_weight "w" : tensor<8x8xf32>
  %n = hova.layer_norm %x, %g, %g {eps = 1.0e-6 : f64} : tensor<12x16x8xf32>, tensor<8xf32>
  %a = hova.attention %n, %n, %n
      {heads = 2 : i64}
      : (tensor<12x16x8xf32>, tensor<12x16x8xf32>, tensor<12x16x8xf32>) -> tensor<12x16x8xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all
  }
  %l = hova.linear %a, %w : tensor<12x16x8xf32>, tensor<8x8xf32> -> tensor<12x16x8xf32>
  %s = hova.add %x, %l : tensor<12x16x8xf32>, tensor<12x16x8xf32>
  return %s : tensor<12x16x8xf32>
}
func.func private @weights() {
  %g = hova.weight "g" : tensor<8xf32>
  hova.store_weight "g", %g : tensor<8xf32>
  %w = hova.weight "w" : tensor<8x8xf32>
  hova.store_weight "w", %w : tensor<8x8xf32>
  return
}

// -----

// The pool reads a value inside of the kernel, and the sum after the pool does not
// come back into it. A slice that both sides read exists for each.
// CHECK-LABEL: func.func @main
// CHECK: %[[K:.*]]:2 = hova.kernel "main" units<sequence_group 9>
// CHECK-NEXT: ^bb0(%[[X:.*]]: tensor<9x16x12xf32>):
// CHECK-NEXT: %[[E:.*]] = hova.activation relu %[[X]]
// CHECK-NEXT: %[[C:.*]] = hova.slice %[[E]] {axis = 2 : i64, offset = 4 : i64}
// CHECK-NEXT: %[[A:.*]] = hova.attention %[[C]], %[[C]], %[[C]]
// CHECK: hova.score_yield
// CHECK-NEXT: }
// CHECK-NEXT: hova.yield %[[E]], %[[A]]
// CHECK: %[[O:.*]] = hova.slice %[[K]]#0 {axis = 2 : i64, offset = 4 : i64}
// CHECK-NEXT: %[[P:.*]] = hova.pool mean %[[O]]
// CHECK: return %[[P]], %[[K]]#1
func.func @main(%x: tensor<9x16x12xf32>) -> (tensor<9x8xf32>, tensor<9x16x8xf32>) {
  %e = hova.activation relu %x : tensor<9x16x12xf32>
  %c = hova.slice %e {axis = 2 : i64, offset = 4 : i64} : tensor<9x16x12xf32> -> tensor<9x16x8xf32>
  %p = hova.pool mean %c : tensor<9x16x8xf32> -> tensor<9x8xf32>
  %a = hova.attention %c, %c, %c
      {heads = 2 : i64}
      : (tensor<9x16x8xf32>, tensor<9x16x8xf32>, tensor<9x16x8xf32>) -> tensor<9x16x8xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all
  }
  return %p, %a : tensor<9x8xf32>, tensor<9x16x8xf32>
}

// -----

// A norm of what was computed from all tokens of a sequence and left the kernel
// stands after it: no kernel waits for itself.
// CHECK-LABEL: func.func @main
// CHECK: hova.kernel
// CHECK: hova.attention
// CHECK: hova.concat
// CHECK-NEXT: hova.slice
// CHECK-NEXT: hova.add
// CHECK-NEXT: return
func.func @main(%x: tensor<8x16x8xf32>) -> tensor<8x16x8xf32> {
  %a = hova.attention %x, %x, %x
      {heads = 2 : i64}
      : (tensor<8x16x8xf32>, tensor<8x16x8xf32>, tensor<8x16x8xf32>) -> tensor<8x16x8xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all
  }
  %c = hova.concat %a, %a {axis = 1 : i64} : tensor<8x16x8xf32>, tensor<8x16x8xf32> -> tensor<8x32x8xf32>
  %b = hova.slice %c {axis = 1 : i64, offset = 16 : i64} : tensor<8x32x8xf32> -> tensor<8x16x8xf32>
  %s = hova.add %a, %b : tensor<8x16x8xf32>, tensor<8x16x8xf32>
  return %s : tensor<8x16x8xf32>
}

// -----

// Other numbers of tokens, wide values, masks, bf16, keys of another
// batch, and no attention. Of long sequences nothing is said.
// CHECK-LABEL: func.func @main
// CHECK-NOT: hova.kernel
// CHECK: hova.attention {{.*}}fires_if = "they have 16", why = "sequences of 15 tokens"
// CHECK: hova.attention {{.*}}fires_if = "at most 128", why = "136 channels"
// CHECK: hova.attention {{.*}}fires_if = "softmax attention of as many queries as keys, not causal, with a scale that is not 0, without masks and biases", why = "'hova.attention' has no such loops as it is"
// CHECK: hova.attention {{.*}}fires_if = "storage of f32", why = "values of bf16"
// CHECK: hova.attention {{.*}}fires_if = "its operands are sequences of that kind, too", why = "'hova.attention' reads more than such sequences"
// CHECK: hova.attention {{.*}}not causal{{.*}}why = "'hova.attention' has no such loops as it is"
// CHECK: arith.cmpi sle
// CHECK-NOT: hova.rewrites
func.func @main(%tokens: tensor<8x15x8xf32>, %wide: tensor<8x16x136xf32>, %x: tensor<8x16x8xf32>, %v: tensor<8x16xi1>,
                %narrow: tensor<8x16x8xbf16>, %long: tensor<8x80x8xf32>)
    -> (tensor<8x15x8xf32>, tensor<8x16x136xf32>, tensor<8x16x8xf32>, tensor<8x16x8xbf16>, tensor<8x16x8xf32>, tensor<8x80x8xf32>, tensor<8x16x8xf32>, tensor<8x16x8xf32>) {
  %1 = hova.attention %tokens, %tokens, %tokens
      {heads = 2 : i64}
      : (tensor<8x15x8xf32>, tensor<8x15x8xf32>, tensor<8x15x8xf32>) -> tensor<8x15x8xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all
  }
  %2 = hova.attention %wide, %wide, %wide
      {heads = 2 : i64}
      : (tensor<8x16x136xf32>, tensor<8x16x136xf32>, tensor<8x16x136xf32>) -> tensor<8x16x136xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all
  }
  %3 = hova.attention %x, %x, %x captured(%v)
      {heads = 2 : i64}
      : (tensor<8x16x8xf32>, tensor<8x16x8xf32>, tensor<8x16x8xf32>, tensor<8x16xi1>) -> tensor<8x16x8xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index, %valid: tensor<8x16xi1>):
    %is_valid = hova.element %valid[%batch, %key] : tensor<8x16xi1>
    hova.score_yield %raw kept %is_valid
  }
  %4 = hova.attention %narrow, %narrow, %narrow
      {heads = 2 : i64}
      : (tensor<8x16x8xbf16>, tensor<8x16x8xbf16>, tensor<8x16x8xbf16>) -> tensor<8x16x8xbf16> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all
  }
  %5 = hova.attention %wide, %wide, %x
      {heads = 2 : i64}
      : (tensor<8x16x136xf32>, tensor<8x16x136xf32>, tensor<8x16x8xf32>) -> tensor<8x16x8xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all
  }
  %8 = hova.attention %x, %x, %x
      {heads = 2 : i64}
      : (tensor<8x16x8xf32>, tensor<8x16x8xf32>, tensor<8x16x8xf32>) -> tensor<8x16x8xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %not_later = arith.cmpi sle, %key, %query : index
    hova.score_yield %raw kept %not_later
  }
  %6 = hova.attention %long, %long, %long
      {heads = 2 : i64}
      : (tensor<8x80x8xf32>, tensor<8x80x8xf32>, tensor<8x80x8xf32>) -> tensor<8x80x8xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all
  }
  %7 = hova.activation relu %x : tensor<8x16x8xf32>
  return %1, %2, %3, %4, %5, %6, %7, %8 : tensor<8x15x8xf32>, tensor<8x16x136xf32>, tensor<8x16x8xf32>, tensor<8x16x8xbf16>, tensor<8x16x8xf32>, tensor<8x80x8xf32>, tensor<8x16x8xf32>, tensor<8x16x8xf32>
}

// -----

// Windows are rows that are read and written where they stand in the image.
// CHECK-LABEL: func.func @main
// CHECK-NOT: hova.kernel
// CHECK: hova.attention {{.*}}fires_if = "nothing in it rearranges rows", why = "its kernel would need a copy of rearranged rows"
func.func @main(%x: tensor<2x64x8xf32>) -> tensor<2x64x8xf32> {
  %r = hova.rearrange %x [#hova.window<4x4, shift 0x0, grid 8x8>] : tensor<2x64x8xf32> -> tensor<8x16x8xf32>
  %a = hova.attention %r, %r, %r
      {heads = 2 : i64}
      : (tensor<8x16x8xf32>, tensor<8x16x8xf32>, tensor<8x16x8xf32>) -> tensor<8x16x8xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all
  }
  %b = hova.rearrange %a [#hova.inverse<#hova.window<4x4, shift 0x0, grid 8x8>>] : tensor<8x16x8xf32> -> tensor<2x64x8xf32>
  return %b : tensor<2x64x8xf32>
}

// -----

// Two numbers of sequences: the kernel of 8 reads what the kernel of 16 makes, so
// that the latter takes nothing that reads the former.
// CHECK-LABEL: func.func @main
// CHECK: hova.kernel "main" units<sequence_group 4>
// CHECK-NOT: hova.add
// CHECK: hova.kernel "main" units<sequence_group 2>
// CHECK: hova.add
// CHECK: hova.concat
// CHECK-NEXT: hova.add
// CHECK-NEXT: return
func.func @main(%x: tensor<8x16x8xf32>, %y: tensor<16x16x8xf32>, %z: tensor<8x16x8xf32>) -> (tensor<8x16x8xf32>, tensor<16x16x8xf32>) {
  %a = hova.attention %x, %x, %x
      {heads = 2 : i64}
      : (tensor<8x16x8xf32>, tensor<8x16x8xf32>, tensor<8x16x8xf32>) -> tensor<8x16x8xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all
  }
  %b = hova.attention %y, %y, %y
      {heads = 2 : i64}
      : (tensor<16x16x8xf32>, tensor<16x16x8xf32>, tensor<16x16x8xf32>) -> tensor<16x16x8xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all
  }
  %h = hova.slice %b {axis = 0 : i64, offset = 8 : i64} : tensor<16x16x8xf32> -> tensor<8x16x8xf32>
  %c = hova.add %h, %z : tensor<8x16x8xf32>, tensor<8x16x8xf32>
  %w = hova.concat %a, %x {axis = 0 : i64} : tensor<8x16x8xf32>, tensor<8x16x8xf32> -> tensor<16x16x8xf32>
  %d = hova.add %b, %w : tensor<16x16x8xf32>, tensor<16x16x8xf32>
  return %c, %d : tensor<8x16x8xf32>, tensor<16x16x8xf32>
}

// -----

// One sequence has the kernel of many, so that its sums are in the same order.
// Weights that look like a batch of one are added outside, as those of a larger
// batch would be.
// CHECK-LABEL: func.func @main
// CHECK: hova.kernel {{.*}} units<sequence_group 1>
// CHECK: hova.attention
// CHECK-NOT: hova.add
// CHECK: } : (tensor<1x16x8xf32>) -> tensor<1x16x8xf32>
// CHECK: hova.add
func.func @main(%x: tensor<1x16x8xf32>) -> tensor<1x16x8xf32> {
  %t = hova.image_weight "table" : tensor<1x16x8xf32>
  %a = hova.attention %x, %x, %x
      {heads = 2 : i64}
      : (tensor<1x16x8xf32>, tensor<1x16x8xf32>, tensor<1x16x8xf32>) -> tensor<1x16x8xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all
  }
  %s = hova.add %a, %t : tensor<1x16x8xf32>, tensor<1x16x8xf32>
  return %s : tensor<1x16x8xf32>
}
