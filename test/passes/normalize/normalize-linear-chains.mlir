// RUN: hova-opt %s --split-input-file --hova-normalize-linear-chains | FileCheck %s
// RUN: hova-opt %s --split-input-file --hova-normalize-linear-chains --hova-normalize-linear-chains | FileCheck %s
// RUN: hova-opt %s --split-input-file --hova-normalize-linear-chains --check-meaning -o /dev/null
// SPDX-License-Identifier: Apache-2.0

// CHECK-LABEL: @composes_with_a_linear_that_others_read
//  CHECK-SAME: %[[H:.*]]: tensor<1x4x8xf32>
//   CHECK-DAG: %[[A:.*]] = hova.weight "a"
//   CHECK-DAG: %[[B:.*]] = hova.weight "b"
//       CHECK: hova.linear %[[H]], %[[A]] : tensor<1x4x8xf32>
//       CHECK: %[[AB:.*]] = hova.linear %[[A]], %[[B]] : tensor<8x8xf32>, tensor<8x2xf32> -> tensor<8x2xf32>
//       CHECK: hova.linear %[[H]], %[[AB]] {hova.rewrites = {"hova-normalize-linear-chains" = {fired = true, why = "reads the input of the linear before it: 64 against 64 multiply-accumulates"}}} : tensor<1x4x8xf32>, tensor<8x2xf32> -> tensor<1x4x2xf32>
func.func @composes_with_a_linear_that_others_read(%h: tensor<1x4x8xf32>) -> (tensor<1x4x8xf32>, tensor<1x4x2xf32>) {
  %a = hova.weight "a" : tensor<8x8xf32>
  %b = hova.weight "b" : tensor<8x2xf32>
  %y = hova.linear %h, %a : tensor<1x4x8xf32>, tensor<8x8xf32> -> tensor<1x4x8xf32>
  %u = hova.linear %y, %b : tensor<1x4x8xf32>, tensor<8x2xf32> -> tensor<1x4x2xf32>
  return %y, %u : tensor<1x4x8xf32>, tensor<1x4x2xf32>
}

// -----

// CHECK-LABEL: @composes_biases
//   CHECK-DAG: %[[A:.*]] = hova.weight "a"
//   CHECK-DAG: %[[B:.*]] = hova.weight "b"
//   CHECK-DAG: %[[C:.*]] = hova.weight "c"
//   CHECK-DAG: %[[D:.*]] = hova.weight "d"
//       CHECK: %[[AB:.*]] = hova.linear %[[A]], %[[B]] :
//       CHECK: %[[BIAS:.*]] = hova.linear %[[C]], %[[B]] bias(%[[D]]) : tensor<8xf32>
//       CHECK: hova.linear %arg0, %[[AB]] bias(%[[BIAS]]) {{.*}}64 against 320 multiply-accumulates
//   CHECK-NOT: tensor<1x4x8xf32>, tensor<8x8xf32>
func.func @composes_biases(%h: tensor<1x4x8xf32>) -> tensor<1x4x2xf32> {
  %a = hova.weight "a" : tensor<8x8xf32>
  %b = hova.weight "b" : tensor<8x2xf32>
  %c = hova.weight "c" : tensor<8xf32>
  %d = hova.weight "d" : tensor<2xf32>
  %y = hova.linear %h, %a bias(%c) : tensor<1x4x8xf32>, tensor<8x8xf32>, tensor<8xf32> -> tensor<1x4x8xf32>
  %u = hova.linear %y, %b bias(%d) : tensor<1x4x8xf32>, tensor<8x2xf32>, tensor<2xf32> -> tensor<1x4x2xf32>
  return %u : tensor<1x4x2xf32>
}

// -----

// CHECK-LABEL: @composes_three
//       CHECK: hova.linear %arg0, %{{.*}} : tensor<1x4x8xf32>, tensor<8x8xf32> -> tensor<1x4x8xf32>
//   CHECK-NOT: -> tensor<1x4x8xf32>
//       CHECK: return
func.func @composes_three(%h: tensor<1x4x8xf32>) -> tensor<1x4x8xf32> {
  %a = hova.weight "a" : tensor<8x8xf32>
  %b = hova.weight "b" : tensor<8x8xf32>
  %x = hova.linear %h, %a : tensor<1x4x8xf32>, tensor<8x8xf32> -> tensor<1x4x8xf32>
  %y = hova.linear %x, %b : tensor<1x4x8xf32>, tensor<8x8xf32> -> tensor<1x4x8xf32>
  %z = hova.linear %y, %a : tensor<1x4x8xf32>, tensor<8x8xf32> -> tensor<1x4x8xf32>
  return %z : tensor<1x4x8xf32>
}

// -----

// The first linear runs in any case, and reads more than it writes.
// CHECK-LABEL: @keeps_a_narrow_value_that_others_read
//       CHECK: %[[Y:.*]] = hova.linear %arg0, %{{.*}} -> tensor<1x4x4xf32>
//       CHECK: hova.linear %[[Y]], %{{.*}} {{.*}}fired = false, fires_if = "the input of the first linear is at most 4 wide", why = "does not pay here: 64 against 32 multiply-accumulates"
func.func @keeps_a_narrow_value_that_others_read(%h: tensor<1x4x8xf32>) -> (tensor<1x4x4xf32>, tensor<1x4x2xf32>) {
  %a = hova.weight "a" : tensor<8x4xf32>
  %b = hova.weight "b" : tensor<4x2xf32>
  %y = hova.linear %h, %a : tensor<1x4x8xf32>, tensor<8x4xf32> -> tensor<1x4x4xf32>
  %u = hova.linear %y, %b : tensor<1x4x4xf32>, tensor<4x2xf32> -> tensor<1x4x2xf32>
  return %y, %u : tensor<1x4x4xf32>, tensor<1x4x2xf32>
}

// -----

// CHECK-LABEL: @keeps_a_factorised_matrix
//       CHECK: %[[Y:.*]] = hova.linear %arg0, %{{.*}} -> tensor<1x4x2xf32>
//       CHECK: hova.linear %[[Y]], %{{.*}} {{.*}}does not pay here: 256 against 128 multiply-accumulates
func.func @keeps_a_factorised_matrix(%h: tensor<1x4x8xf32>) -> tensor<1x4x8xf32> {
  %a = hova.weight "a" : tensor<8x2xf32>
  %b = hova.weight "b" : tensor<2x8xf32>
  %y = hova.linear %h, %a : tensor<1x4x8xf32>, tensor<8x2xf32> -> tensor<1x4x2xf32>
  %u = hova.linear %y, %b : tensor<1x4x2xf32>, tensor<2x8xf32> -> tensor<1x4x8xf32>
  return %u : tensor<1x4x8xf32>
}

// -----

// CHECK-LABEL: @keeps_a_tied_table
//       CHECK: hova.linear %{{.*}} {{{.*}}why = "a weight is shared with an embedding or depends on an input"}}, transposed}
func.func @keeps_a_tied_table(%h: tensor<1x4x8xf32>) -> tensor<1x4x6xf32> {
  %a = hova.weight "a" : tensor<8x8xf32>
  %t = hova.weight "table" : tensor<6x8xf32>
  %y = hova.linear %h, %a : tensor<1x4x8xf32>, tensor<8x8xf32> -> tensor<1x4x8xf32>
  %u = hova.linear %y, %t {transposed} : tensor<1x4x8xf32>, tensor<6x8xf32> -> tensor<1x4x6xf32>
  return %u : tensor<1x4x6xf32>
}

// -----

// CHECK-LABEL: @keeps_a_weight_that_is_an_input
//       CHECK: %[[Y:.*]] = hova.linear %arg0, %arg1
//       CHECK: hova.linear %[[Y]], %{{.*}}fired = false
func.func @keeps_a_weight_that_is_an_input(%h: tensor<1x4x8xf32>, %a: tensor<8x8xf32>) -> tensor<1x4x2xf32> {
  %b = hova.weight "b" : tensor<8x2xf32>
  %y = hova.linear %h, %a : tensor<1x4x8xf32>, tensor<8x8xf32> -> tensor<1x4x8xf32>
  %u = hova.linear %y, %b : tensor<1x4x8xf32>, tensor<8x2xf32> -> tensor<1x4x2xf32>
  return %u : tensor<1x4x2xf32>
}

// -----

// CHECK-LABEL: @keeps_an_activation_between
//       CHECK: hova.activation
//       CHECK: hova.linear %{{.*}} : tensor<1x4x8xf32>, tensor<8x2xf32>
//   CHECK-NOT: hova.rewrites
func.func @keeps_an_activation_between(%h: tensor<1x4x8xf32>) -> tensor<1x4x2xf32> {
  %a = hova.weight "a" : tensor<8x8xf32>
  %b = hova.weight "b" : tensor<8x2xf32>
  %y = hova.linear %h, %a : tensor<1x4x8xf32>, tensor<8x8xf32> -> tensor<1x4x8xf32>
  %r = hova.activation relu %y : tensor<1x4x8xf32>
  %u = hova.linear %r, %b : tensor<1x4x8xf32>, tensor<8x2xf32> -> tensor<1x4x2xf32>
  return %u : tensor<1x4x2xf32>
}

// -----

// CHECK-LABEL: @composes_what_is_stored_between
//       CHECK: %[[AB:.*]] = hova.linear %{{.*}} : tensor<8x8xbf16>, tensor<8x2xbf16> -> tensor<8x2xbf16>
//       CHECK: %[[BIAS:.*]] = hova.linear %{{.*}} : tensor<8xf32>, tensor<8x2xbf16> -> tensor<2xf32>
//       CHECK: hova.linear %arg0, %[[AB]] bias(%[[BIAS]])
//   CHECK-NOT: hova.convert
func.func @composes_what_is_stored_between(%h: tensor<1x4x8xbf16>) -> tensor<1x4x2xf32> {
  %a = hova.weight "a" : tensor<8x8xbf16>
  %b = hova.weight "b" : tensor<8x2xbf16>
  %c = hova.weight "c" : tensor<8xf32>
  %y = hova.linear %h, %a bias(%c) : tensor<1x4x8xbf16>, tensor<8x8xbf16>, tensor<8xf32> -> tensor<1x4x8xf32>
  %s = hova.convert %y : tensor<1x4x8xf32> -> tensor<1x4x8xbf16>
  %u = hova.linear %s, %b : tensor<1x4x8xbf16>, tensor<8x2xbf16> -> tensor<1x4x2xf32>
  return %u : tensor<1x4x2xf32>
}

// -----

// Where rows are not known, work is counted for one.
// CHECK-LABEL: func.func @composes_for_rows_that_are_not_known
// CHECK: "reads the input of the linear before it: 16 against 16 multiply-accumulates a row"
func.func @composes_for_rows_that_are_not_known(%h: tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?x2xf32>) {
  %a = hova.weight "a" : tensor<8x8xf32>
  %b = hova.weight "b" : tensor<8x2xf32>
  %y = hova.linear %h, %a : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  %u = hova.linear %y, %b : tensor<?x8xf32>, tensor<8x2xf32> -> tensor<?x2xf32>
  return %y, %u : tensor<?x8xf32>, tensor<?x2xf32>
}

// -----

// CHECK-LABEL: func.func @declines_in_f16
// CHECK: hova.linear %{{.*}}fired = false, fires_if = "weights are stored as f32 or bf16", why = "a product of weights may leave the range of f16"}
func.func @declines_in_f16(%h: tensor<1x4x8xf16>) -> tensor<1x4x2xf32> {
  %a = hova.weight "a" : tensor<8x8xf16>
  %b = hova.weight "b" : tensor<8x2xf16>
  %y = hova.linear %h, %a : tensor<1x4x8xf16>, tensor<8x8xf16> -> tensor<1x4x8xf32>
  %s = hova.convert %y : tensor<1x4x8xf32> -> tensor<1x4x8xf16>
  %u = hova.linear %s, %b : tensor<1x4x8xf16>, tensor<8x2xf16> -> tensor<1x4x2xf32>
  return %u : tensor<1x4x2xf32>
}
