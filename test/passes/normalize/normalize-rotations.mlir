// RUN: hova-opt %s --split-input-file --hova-normalize-rotations | FileCheck %s
// RUN: hova-opt %s --split-input-file --hova-normalize-rotations -o %t.once
// RUN: hova-opt %t.once --split-input-file --hova-normalize-rotations | diff %t.once -
// RUN: hova-opt %s --split-input-file --hova-normalize-rotations --check-meaning -o /dev/null
// SPDX-License-Identifier: Apache-2.0

// Queries and keys that scores alone read: the columns of both weights, of the
// bias and of the tables get one order. The table of the queries is as wide as
// they are, since 4 columns are no multiple of 64.
// CHECK-LABEL: @main
//       CHECK: %[[WEIGHT:.*]] = hova.reshape %{{.*}} : tensor<16x2x2xf32> -> tensor<8x8xf32>
//       CHECK: %[[BIAS:.*]] = hova.reshape %{{.*}} : tensor<2x2x2xf32> -> tensor<8xf32>
//       CHECK: %[[Q:.*]] = hova.linear %{{.*}}, %[[WEIGHT]] bias(%[[BIAS]])
//       CHECK: %[[K:.*]] = hova.linear %{{.*}} : tensor<1x9x8xf32>, tensor<8x4xf32>
//       CHECK: %[[C:.*]] = hova.concat %{{.*}} : tensor<9x4xf32>, tensor<9x4xf32> -> tensor<9x8xf32>
//       CHECK: %[[QR:.*]] = hova.rotate %[[Q]], %[[C]], %{{.*}} {hova.rewrites = {"hova-normalize-rotations" = {fired = true, why = "partners that were 2 columns apart are neighbours: scores alone read them, in any order of columns"}}} : tensor<1x9x8xf32>, tensor<9x8xf32>
//       CHECK: %[[KR:.*]] = hova.rotate %[[K]]
//       CHECK: hova.attention %[[QR]], %[[KR]]
func.func @main(%x: tensor<1x9x8xf32>) -> tensor<1x9x16xf32> {
  %c = hova.weight "cosine" : tensor<9x4xf32>
  %s = hova.weight "sine" : tensor<9x4xf32>
  %wq = hova.weight "q.weight" : tensor<8x8xf32>
  %bq = hova.weight "q.bias" : tensor<8xf32>
  %wk = hova.weight "k.weight" : tensor<8x4xf32>
  %q = hova.linear %x, %wq bias(%bq) : tensor<1x9x8xf32>, tensor<8x8xf32>, tensor<8xf32> -> tensor<1x9x8xf32>
  %k = hova.linear %x, %wk : tensor<1x9x8xf32>, tensor<8x4xf32> -> tensor<1x9x4xf32>
  %qr = hova.rotate %q, %c, %s {distance = 2 : i64} : tensor<1x9x8xf32>, tensor<9x4xf32>
  %kr = hova.rotate %k, %c, %s {distance = 2 : i64} : tensor<1x9x4xf32>, tensor<9x4xf32>
  %y = hova.attention %qr, %kr, %x {heads = 2 : i64, key_value_heads = 1 : i64} : (tensor<1x9x8xf32>, tensor<1x9x4xf32>, tensor<1x9x8xf32>) -> tensor<1x9x16xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all
  }
  return %y : tensor<1x9x16xf32>
}

// -----

// The same where both are stored in 16 bits.
// CHECK-LABEL: @main
//       CHECK: %[[Q:.*]] = hova.rotate {{.*}}fired = true
//       CHECK: %[[K:.*]] = hova.rotate {{.*}}fired = true
//       CHECK: %[[QB:.*]] = hova.convert %[[Q]]
//       CHECK: %[[KB:.*]] = hova.convert %[[K]]
//       CHECK: hova.attention %[[QB]], %[[KB]]
func.func @main(%x: tensor<1x9x8xf32>, %v: tensor<1x9x8xbf16>) -> tensor<1x9x8xbf16> {
  %c = hova.weight "cosine" : tensor<9x4xf32>
  %s = hova.weight "sine" : tensor<9x4xf32>
  %wq = hova.weight "q.weight" : tensor<8x8xf32>
  %wk = hova.weight "k.weight" : tensor<8x8xf32>
  %q = hova.linear %x, %wq : tensor<1x9x8xf32>, tensor<8x8xf32> -> tensor<1x9x8xf32>
  %k = hova.linear %x, %wk : tensor<1x9x8xf32>, tensor<8x8xf32> -> tensor<1x9x8xf32>
  %qr = hova.rotate %q, %c, %s {distance = 2 : i64} : tensor<1x9x8xf32>, tensor<9x4xf32>
  %kr = hova.rotate %k, %c, %s {distance = 2 : i64} : tensor<1x9x8xf32>, tensor<9x4xf32>
  %qb = hova.convert %qr : tensor<1x9x8xf32> -> tensor<1x9x8xbf16>
  %kb = hova.convert %kr : tensor<1x9x8xf32> -> tensor<1x9x8xbf16>
  %y = hova.attention %qb, %kb, %v {heads = 2 : i64} : (tensor<1x9x8xbf16>, tensor<1x9x8xbf16>, tensor<1x9x8xbf16>) -> tensor<1x9x8xbf16> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all
  }
  return %y : tensor<1x9x8xbf16>
}

// -----

// What is stored is read by itself too.
// CHECK-LABEL: @main
//   CHECK-NOT: hova.rotate
//       CHECK: hova.add
//       CHECK: hova.attention
func.func @main(%x: tensor<1x9x8xf32>) -> (tensor<1x9x8xbf16>, tensor<1x9x8xbf16>) {
  %c = hova.weight "cosine" : tensor<9x4xf32>
  %s = hova.weight "sine" : tensor<9x4xf32>
  %w = hova.weight "w" : tensor<8x8xf32>
  %q = hova.linear %x, %w : tensor<1x9x8xf32>, tensor<8x8xf32> -> tensor<1x9x8xf32>
  %qr = hova.rotate %q, %c, %s {distance = 2 : i64} : tensor<1x9x8xf32>, tensor<9x4xf32>
  %qb = hova.convert %qr : tensor<1x9x8xf32> -> tensor<1x9x8xbf16>
  %y = hova.attention %qb, %qb, %qb {heads = 2 : i64} : (tensor<1x9x8xbf16>, tensor<1x9x8xbf16>, tensor<1x9x8xbf16>) -> tensor<1x9x8xbf16> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all
  }
  return %y, %qb : tensor<1x9x8xbf16>, tensor<1x9x8xbf16>
}

// -----

// The columns of what a program gives have the order that they have.
// CHECK-LABEL: @main
//   CHECK-NOT: hova.rotate
//       CHECK: hova.concat
//       CHECK: hova.add {{.*}}fired = false, fires_if = "partners are neighbours, or a linear of its own makes what is rotated, and scores with keys that are rotated alike alone read it", why = "partners are 2 columns apart, and their order is read"
func.func @main(%x: tensor<1x9x64xf32>, %c: tensor<9x4xf32>, %s: tensor<9x4xf32>) -> tensor<1x9x4xf32> {
  %w = hova.weight "w" : tensor<64x4xf32>
  %q = hova.linear %x, %w : tensor<1x9x64xf32>, tensor<64x4xf32> -> tensor<1x9x4xf32>
  %y = hova.rotate %q, %c, %s {distance = 2 : i64} : tensor<1x9x4xf32>, tensor<9x4xf32>
  return %y : tensor<1x9x4xf32>
}

// -----

// Neighbours stay, whatever reads them; 80 columns are written four times, 16
// columns as often as 64 hold.
// CHECK-LABEL: @main
//       CHECK: %[[C:.*]] = hova.concat %{{.*}} -> tensor<9x320xf32>
//       CHECK: hova.rotate %{{.*}}, %[[C]], %{{.*}} : tensor<2x9x640xf32>, tensor<9x320xf32>
//       CHECK: %[[SMALL:.*]] = hova.concat %{{.*}} -> tensor<9x64xf32>
//       CHECK: hova.rotate %{{.*}}, %[[SMALL]], %{{.*}} : tensor<2x9x640xf32>, tensor<9x64xf32>
func.func @main(%x: tensor<2x9x640xf32>, %c: tensor<9x80xf32>, %s: tensor<9x80xf32>, %cc: tensor<9x16xf32>, %ss: tensor<9x16xf32>) -> tensor<2x9x640xf32> {
  %y = hova.rotate %x, %c, %s : tensor<2x9x640xf32>, tensor<9x80xf32>
  %z = hova.rotate %y, %cc, %ss : tensor<2x9x640xf32>, tensor<9x16xf32>
  return %z : tensor<2x9x640xf32>
}

// -----

// Keys that are not rotated have another order of columns.
// CHECK-LABEL: @main
//   CHECK-NOT: hova.rotate
//       CHECK: hova.add
//       CHECK: hova.attention
func.func @main(%x: tensor<1x9x8xf32>, %k: tensor<1x9x8xf32>, %c: tensor<9x8xf32>, %s: tensor<9x8xf32>) -> tensor<1x9x8xf32> {
  %w = hova.weight "w" : tensor<8x8xf32>
  %q = hova.linear %x, %w : tensor<1x9x8xf32>, tensor<8x8xf32> -> tensor<1x9x8xf32>
  %r = hova.rotate %q, %c, %s {distance = 4 : i64} : tensor<1x9x8xf32>, tensor<9x8xf32>
  %y = hova.attention %r, %k, %k {heads = 1 : i64} : (tensor<1x9x8xf32>, tensor<1x9x8xf32>, tensor<1x9x8xf32>) -> tensor<1x9x8xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all
  }
  return %y : tensor<1x9x8xf32>
}

// -----

// Norms of heads on the way have gains and biases in the same order.
// CHECK-LABEL: @main
//       CHECK: %[[Q:.*]] = hova.linear
//       CHECK: %[[GAIN:.*]] = hova.reshape %{{.*}} : tensor<1x2x2xf32> -> tensor<4xf32>
//       CHECK: %[[BIAS:.*]] = hova.reshape %{{.*}} : tensor<1x2x2xf32> -> tensor<4xf32>
//       CHECK: %[[QN:.*]] = hova.layer_norm %[[Q]], %[[GAIN]], %[[BIAS]]
//       CHECK: %[[QR:.*]] = hova.rotate %[[QN]]
//       CHECK: hova.attention %[[QR]]
func.func @main(%x: tensor<1x9x8xf32>) -> tensor<1x9x16xf32> {
  %c = hova.weight "cosine" : tensor<9x4xf32>
  %s = hova.weight "sine" : tensor<9x4xf32>
  %wq = hova.weight "q.weight" : tensor<8x8xf32>
  %g = hova.weight "q.gain" : tensor<4xf32>
  %b = hova.weight "q.bias" : tensor<4xf32>
  %wk = hova.weight "k.weight" : tensor<8x4xf32>
  %h = hova.weight "k.gain" : tensor<4xf32>
  %q = hova.linear %x, %wq : tensor<1x9x8xf32>, tensor<8x8xf32> -> tensor<1x9x8xf32>
  %qn = hova.layer_norm %q, %g, %b {eps = 1.0e-5 : f64, heads = 2 : i64} : tensor<1x9x8xf32>, tensor<4xf32>
  %k = hova.linear %x, %wk : tensor<1x9x8xf32>, tensor<8x4xf32> -> tensor<1x9x4xf32>
  %kn = hova.layer_norm %k, %h kind(rms) {eps = 1.0e-5 : f64} : tensor<1x9x4xf32>, tensor<4xf32>
  %qr = hova.rotate %qn, %c, %s {distance = 2 : i64} : tensor<1x9x8xf32>, tensor<9x4xf32>
  %kr = hova.rotate %kn, %c, %s {distance = 2 : i64} : tensor<1x9x4xf32>, tensor<9x4xf32>
  %y = hova.attention %qr, %kr, %x {heads = 2 : i64, key_value_heads = 1 : i64} : (tensor<1x9x8xf32>, tensor<1x9x4xf32>, tensor<1x9x8xf32>) -> tensor<1x9x16xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all
  }
  return %y : tensor<1x9x16xf32>
}

// -----

// The slots of a memory, which queries meet too, are not rotated.
// CHECK-LABEL: @main
//   CHECK-NOT: hova.rotate
//       CHECK: hova.add {{.*}}their order is read
//       CHECK: hova.attention
func.func @main(%x: tensor<1x9x8xf32>) -> tensor<1x9x8xf32> {
  %c = hova.weight "cosine" : tensor<9x4xf32>
  %s = hova.weight "sine" : tensor<9x4xf32>
  %wq = hova.weight "q.weight" : tensor<8x4xf32>
  %wk = hova.weight "k.weight" : tensor<8x4xf32>
  %mk = hova.weight "memory.key" : tensor<3x4xf32>
  %mv = hova.weight "memory.value" : tensor<3x8xf32>
  %q = hova.linear %x, %wq : tensor<1x9x8xf32>, tensor<8x4xf32> -> tensor<1x9x4xf32>
  %k = hova.linear %x, %wk : tensor<1x9x8xf32>, tensor<8x4xf32> -> tensor<1x9x4xf32>
  %qr = hova.rotate %q, %c, %s {distance = 2 : i64} : tensor<1x9x4xf32>, tensor<9x4xf32>
  %kr = hova.rotate %k, %c, %s {distance = 2 : i64} : tensor<1x9x4xf32>, tensor<9x4xf32>
  %y = hova.attention %qr, %kr, %x memory(%mk, %mv) {heads = 1 : i64} : (tensor<1x9x4xf32>, tensor<1x9x4xf32>, tensor<1x9x8xf32>, tensor<3x4xf32>, tensor<3x8xf32>) -> tensor<1x9x8xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all
  }
  return %y : tensor<1x9x8xf32>
}
