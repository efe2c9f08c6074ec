// RUN: hova-opt %s --split-input-file --hova-normalize-norms=columns=4 | FileCheck %s
// RUN: hova-opt %s --split-input-file --hova-normalize-norms=columns=4 --hova-normalize-norms=columns=4 | FileCheck %s
// RUN: hova-opt %s --split-input-file --hova-normalize-norms=columns=4 --check-meaning -o /dev/null
// RUN: hova-opt %s --split-input-file --hova-normalize-norms | FileCheck %s --check-prefix=UNASKED
// RUN: not hova-opt %s --split-input-file --hova-normalize-norms=columns=-1 2>&1 | FileCheck %s --check-prefix=OPTION
// SPDX-License-Identifier: Apache-2.0

// UNASKED-NOT: hova.row_squares
// OPTION: expects 'columns' from 0 on, got -1

// The stream begins with %x, which is centred once; both products that are added to it are centred, with their biases. The second norm
// is read by two products, of which each is divided.
// CHECK-LABEL: @main
//  CHECK-SAME: %[[X:.*]]: tensor<1x4x8xf32>, %[[H:.*]]: tensor<1x4x16xf32>, %[[K:.*]]: tensor<1x4x16xf32>
//       CHECK: %[[X0:.*]] = hova.center %[[X]]
//       CHECK: %[[A0:.*]] = hova.center %{{.*}} : tensor<16x8xf32>
//       CHECK: %[[B0:.*]] = hova.center %{{.*}} : tensor<8xf32>
//       CHECK: %[[P:.*]] = hova.linear %[[H]], %[[A0]] bias(%[[B0]])
//       CHECK: %[[S:.*]] = hova.add %[[X0]], %[[P]]
//       CHECK: %[[Q:.*]] = hova.row_squares %[[S]] {columns = 4 : i64} : tensor<1x4x8xf32> -> tensor<1x4x2xf32>
//       CHECK: %[[G:.*]] = hova.multiply %[[S]], %[[GAIN:.*]] :
//       CHECK: %[[Y:.*]] = hova.linear %[[G]], %[[U:.*]] : tensor<1x4x8xf32>, tensor<8x32xf32>
//       CHECK: %[[SHIFT:.*]] = hova.linear %{{.*}}, %[[U]] bias(%{{.*}}) : tensor<8xf32>, tensor<8x32xf32>, tensor<32xf32> -> tensor<32xf32>
//       CHECK: hova.divide_by_rms %[[Y]], %[[Q]] bias(%[[SHIFT]]) {eps = 5.000000e-01 : f64, hova.rewrites = {"hova-normalize-norms" = {fired = true, why = "the norm is applied behind 1 product, to rows whose squares are summed as they are made"}}, width = 8 : i64}
//       CHECK: %[[P1:.*]] = hova.linear %[[K]], %{{.*}}
//       CHECK: %[[S1:.*]] = hova.add %[[P1]], %[[S]]
//       CHECK: %[[Q1:.*]] = hova.row_squares %[[S1]]
//       CHECK: %[[V:.*]] = hova.linear %[[S1]], %{{.*}} : tensor<1x4x8xf32>, tensor<8x8xf32>
//       CHECK: hova.divide_by_rms %[[V]], %[[Q1]] {eps = 5.000000e-01 : f64, {{.*}}behind 2 products
//       CHECK: %[[W:.*]] = hova.linear %[[S1]], %{{.*}} : tensor<1x4x8xf32>, tensor<8x8xf32>
//       CHECK: hova.divide_by_rms %[[W]], %[[Q1]] {{.*}}behind 2 products
//   CHECK-NOT: hova.layer_norm
func.func @main(%x: tensor<1x4x8xf32>, %h: tensor<1x4x16xf32>, %k: tensor<1x4x16xf32>) -> (tensor<1x4x32xf32>, tensor<1x4x8xf32>, tensor<1x4x8xf32>) {
  %a = hova.weight "a" : tensor<16x8xf32>
  %b = hova.weight "b" : tensor<8xf32>
  %g = hova.weight "g" : tensor<8xf32>
  %t = hova.weight "t" : tensor<8xf32>
  %u = hova.weight "u" : tensor<8x32xf32>
  %c = hova.weight "c" : tensor<32xf32>
  %d = hova.weight "d" : tensor<16x8xf32>
  %v = hova.weight "v" : tensor<8x8xf32>
  %w = hova.weight "w" : tensor<8x8xf32>
  %p = hova.linear %h, %a bias(%b) : tensor<1x4x16xf32>, tensor<16x8xf32>, tensor<8xf32> -> tensor<1x4x8xf32>
  %s = hova.add %x, %p : tensor<1x4x8xf32>, tensor<1x4x8xf32>
  %n = hova.layer_norm %s, %g, %t {eps = 0.5 : f64} : tensor<1x4x8xf32>, tensor<8xf32>
  %y = hova.linear %n, %u bias(%c) : tensor<1x4x8xf32>, tensor<8x32xf32>, tensor<32xf32> -> tensor<1x4x32xf32>
  %p1 = hova.linear %k, %d : tensor<1x4x16xf32>, tensor<16x8xf32> -> tensor<1x4x8xf32>
  %s1 = hova.add %p1, %s : tensor<1x4x8xf32>, tensor<1x4x8xf32>
  %n1 = hova.layer_norm %s1 {eps = 0.5 : f64} : tensor<1x4x8xf32>
  %z = hova.linear %n1, %v : tensor<1x4x8xf32>, tensor<8x8xf32> -> tensor<1x4x8xf32>
  %z1 = hova.linear %n1, %w : tensor<1x4x8xf32>, tensor<8x8xf32> -> tensor<1x4x8xf32>
  return %y, %z, %z1 : tensor<1x4x32xf32>, tensor<1x4x8xf32>, tensor<1x4x8xf32>
}

// -----

// A root mean square norm subtracts no mean: others may read the rows. One row of the norm is read, and so one row of sums.
// CHECK-LABEL: @main
//       CHECK: %[[S:.*]] = hova.add %arg0, %{{.*}}
//   CHECK-NOT: hova.center
//       CHECK: %[[Q:.*]] = hova.row_squares %[[S]]
//   CHECK-DAG: %[[N:.*]] = hova.convert %[[S]] : tensor<1x4x8xf32> -> tensor<1x4x8xbf16>
//   CHECK-DAG: %[[R:.*]] = hova.slice %[[N]] {axis = 1 : i64, offset = 2 : i64} : tensor<1x4x8xbf16> -> tensor<1x1x8xbf16>
//   CHECK-DAG: %[[R1:.*]] = hova.slice %[[Q]] {axis = 1 : i64, offset = 2 : i64} : tensor<1x4x2xf32> -> tensor<1x1x2xf32>
//       CHECK: %[[Y:.*]] = hova.linear %[[R]], %{{.*}} : tensor<1x1x8xbf16>
//       CHECK: hova.divide_by_rms %[[Y]], %[[R1]]
//       CHECK: return %{{.*}}, %[[S]]
func.func @main(%x: tensor<1x4x8xf32>, %h: tensor<1x4x16xbf16>) -> (tensor<1x1x8xf32>, tensor<1x4x8xf32>) {
  %a = hova.weight "a" : tensor<16x8xbf16>
  %v = hova.weight "v" : tensor<8x8xbf16>
  %p = hova.linear %h, %a : tensor<1x4x16xbf16>, tensor<16x8xbf16> -> tensor<1x4x8xf32>
  %s = hova.add %x, %p : tensor<1x4x8xf32>, tensor<1x4x8xf32>
  %n = hova.layer_norm %s kind(rms) {eps = 0.5 : f64} : tensor<1x4x8xf32>
  %c = hova.convert %n : tensor<1x4x8xf32> -> tensor<1x4x8xbf16>
  %r = hova.slice %c {axis = 1 : i64, offset = 2 : i64} : tensor<1x4x8xbf16> -> tensor<1x1x8xbf16>
  %y = hova.linear %r, %v : tensor<1x1x8xbf16>, tensor<8x8xbf16> -> tensor<1x1x8xf32>
  return %y, %s : tensor<1x1x8xf32>, tensor<1x4x8xf32>
}

// -----

// CHECK-LABEL: @main
//   CHECK-NOT: hova.center
//       CHECK: hova.layer_norm {{.*}}fires_if = "nothing else does", why = "something else than norms reads the rows, so that they keep their mean"
//   CHECK-NOT: hova.divide_by_rms
func.func @main(%x: tensor<1x4x8xf32>, %h: tensor<1x4x16xf32>) -> (tensor<1x4x8xf32>, tensor<1x4x8xf32>) {
  %a = hova.weight "a" : tensor<16x8xf32>
  %v = hova.weight "v" : tensor<8x8xf32>
  %p = hova.linear %h, %a : tensor<1x4x16xf32>, tensor<16x8xf32> -> tensor<1x4x8xf32>
  %s = hova.add %x, %p : tensor<1x4x8xf32>, tensor<1x4x8xf32>
  %n = hova.layer_norm %s {eps = 0.5 : f64} : tensor<1x4x8xf32>
  %y = hova.linear %n, %v : tensor<1x4x8xf32>, tensor<8x8xf32> -> tensor<1x4x8xf32>
  return %y, %s : tensor<1x4x8xf32>, tensor<1x4x8xf32>
}

// -----

// As in a model whose norm is the residual.
// CHECK-LABEL: @main
//       CHECK: hova.layer_norm {{.*}}why = "something else than products with weights reads the norm"
//   CHECK-NOT: hova.divide_by_rms
func.func @main(%x: tensor<1x4x8xf32>, %h: tensor<1x4x16xf32>) -> tensor<1x4x8xf32> {
  %a = hova.weight "a" : tensor<16x8xf32>
  %v = hova.weight "v" : tensor<8x8xf32>
  %p = hova.linear %h, %a : tensor<1x4x16xf32>, tensor<16x8xf32> -> tensor<1x4x8xf32>
  %s = hova.add %x, %p : tensor<1x4x8xf32>, tensor<1x4x8xf32>
  %n = hova.layer_norm %s {eps = 0.5 : f64} : tensor<1x4x8xf32>
  %y = hova.linear %n, %v : tensor<1x4x8xf32>, tensor<8x8xf32> -> tensor<1x4x8xf32>
  %z = hova.add %n, %y : tensor<1x4x8xf32>, tensor<1x4x8xf32>
  return %z : tensor<1x4x8xf32>
}

// -----

// The first norm of a model, that of heads, one whose rows no product of weights makes: nothing is said of them.
// CHECK-LABEL: @main
// CHECK-COUNT-3: hova.layer_norm
//   CHECK-NOT: hova.rewrites
//   CHECK-NOT: hova.divide_by_rms
func.func @main(%x: tensor<1x4x8xf32>, %h: tensor<1x4x16xf32>, %i: tensor<16x8xf32>) -> (tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<1x4x8xf32>) {
  %a = hova.weight "a" : tensor<16x8xf32>
  %v = hova.weight "v" : tensor<8x8xf32>
  %n = hova.layer_norm %x {eps = 0.5 : f64} : tensor<1x4x8xf32>
  %y = hova.linear %n, %v : tensor<1x4x8xf32>, tensor<8x8xf32> -> tensor<1x4x8xf32>
  %p = hova.linear %h, %a : tensor<1x4x16xf32>, tensor<16x8xf32> -> tensor<1x4x8xf32>
  %s = hova.add %x, %p : tensor<1x4x8xf32>, tensor<1x4x8xf32>
  %m = hova.layer_norm %s {eps = 0.5 : f64, heads = 2 : i64} : tensor<1x4x8xf32>
  %z = hova.linear %m, %v : tensor<1x4x8xf32>, tensor<8x8xf32> -> tensor<1x4x8xf32>
  %q = hova.linear %h, %i : tensor<1x4x16xf32>, tensor<16x8xf32> -> tensor<1x4x8xf32>
  %t = hova.add %x, %q : tensor<1x4x8xf32>, tensor<1x4x8xf32>
  %k = hova.layer_norm %t {eps = 0.5 : f64} : tensor<1x4x8xf32>
  %w = hova.linear %k, %v : tensor<1x4x8xf32>, tensor<8x8xf32> -> tensor<1x4x8xf32>
  return %y, %z, %w : tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<1x4x8xf32>
}
