// RUN: hova-opt %s --split-input-file --hova-normalize-token-projections | FileCheck %s
// RUN: hova-opt %s --split-input-file --hova-normalize-token-projections --hova-normalize-token-projections | FileCheck %s
// RUN: hova-opt %s --split-input-file --hova-normalize-token-projections --check-meaning -o /dev/null
// SPDX-License-Identifier: Apache-2.0

// Keys and values are linears of the same projected rows.
// CHECK-LABEL: @projects_one_input_once
//  CHECK-SAME: %[[X:.*]]: tensor<1x9x8xf32>
//   CHECK-DAG: %[[K:.*]] = hova.weight "k"
//   CHECK-DAG: %[[V:.*]] = hova.weight "v"
//   CHECK-DAG: %[[E:.*]] = hova.weight "e"
//       CHECK: %[[P:.*]] = hova.project_tokens %[[X]], %[[E]] {hova.rewrites = {"hova-normalize-token-projections" = {fired = true, why = "projects the input of the linear before it: 272 against 720 multiply-accumulates"}}}
//  CHECK-NEXT: hova.linear %[[P]], %[[K]] : tensor<1x2x8xf32>, tensor<8x8xf32> -> tensor<1x2x8xf32>
//  CHECK-NEXT: hova.linear %[[P]], %[[V]] : tensor<1x2x8xf32>, tensor<8x6xf32> -> tensor<1x2x6xf32>
func.func @projects_one_input_once(%x: tensor<1x9x8xf32>) -> (tensor<1x2x8xf32>, tensor<1x2x6xf32>) {
  %k = hova.weight "k" : tensor<8x8xf32>
  %v = hova.weight "v" : tensor<8x6xf32>
  %e = hova.weight "e" : tensor<9x2xf32>
  %a = hova.linear %x, %k : tensor<1x9x8xf32>, tensor<8x8xf32> -> tensor<1x9x8xf32>
  %b = hova.linear %x, %v : tensor<1x9x8xf32>, tensor<8x6xf32> -> tensor<1x9x6xf32>
  %c = hova.project_tokens %a, %e : tensor<1x9x8xf32>, tensor<9x2xf32> -> tensor<1x2x8xf32>
  %d = hova.project_tokens %b, %e : tensor<1x9x6xf32>, tensor<9x2xf32> -> tensor<1x2x6xf32>
  return %c, %d : tensor<1x2x8xf32>, tensor<1x2x6xf32>
}

// -----

// The bias counts as often as the weights of all tokens say.
// CHECK-LABEL: @projects_a_bias
//   CHECK-DAG: %[[B:.*]] = hova.weight "b"
//   CHECK-DAG: %[[E:.*]] = hova.weight "e"
//       CHECK: %[[Y:.*]] = hova.linear {{.*}} -> tensor<2x2x8xf32>
//       CHECK: %[[T:.*]] = hova.transpose %[[E]] : tensor<9x2xf32> -> tensor<2x9xf32>
//       CHECK: %[[S:.*]] = hova.linear %[[T]], {{.*}} -> tensor<2x1xf32>
//       CHECK: %[[R:.*]] = hova.add {{.*}}, %[[B]] : tensor<1x8xf32>, tensor<8xf32>
//       CHECK: %[[M:.*]] = hova.linear %[[S]], %[[R]] : tensor<2x1xf32>, tensor<1x8xf32> -> tensor<2x8xf32>
//       CHECK: hova.add %[[Y]], %[[M]]
func.func @projects_a_bias(%x: tensor<2x9x8xf32>) -> tensor<2x2x8xf32> {
  %k = hova.weight "k" : tensor<8x8xf32>
  %b = hova.weight "b" : tensor<8xf32>
  %e = hova.weight "e" : tensor<9x2xf32>
  %a = hova.linear %x, %k bias(%b) : tensor<2x9x8xf32>, tensor<8x8xf32>, tensor<8xf32> -> tensor<2x9x8xf32>
  %c = hova.project_tokens %a, %e : tensor<2x9x8xf32>, tensor<9x2xf32> -> tensor<2x2x8xf32>
  return %c : tensor<2x2x8xf32>
}

// -----

// CHECK-LABEL: @keeps_a_linear_that_others_read
//       CHECK: %[[A:.*]] = hova.linear
//       CHECK: hova.project_tokens %[[A]], {{.*}} {hova.rewrites = {"hova-normalize-token-projections" = {fired = false, fires_if = "nothing else reads the linear", why = "does not pay here: 272 against 144 multiply-accumulates"}}}
func.func @keeps_a_linear_that_others_read(%x: tensor<1x9x8xf32>) -> (tensor<1x9x8xf32>, tensor<1x2x8xf32>) {
  %k = hova.weight "k" : tensor<8x8xf32>
  %e = hova.weight "e" : tensor<9x2xf32>
  %a = hova.linear %x, %k : tensor<1x9x8xf32>, tensor<8x8xf32> -> tensor<1x9x8xf32>
  %c = hova.project_tokens %a, %e : tensor<1x9x8xf32>, tensor<9x2xf32> -> tensor<1x2x8xf32>
  return %a, %c : tensor<1x9x8xf32>, tensor<1x2x8xf32>
}

// -----

// CHECK-LABEL: @keeps_more_rows_than_tokens
//       CHECK: hova.project_tokens {{.*}} fires_if = "tokens become fewer rows", why = "does not pay here: 1360 against 1296 multiply-accumulates"
func.func @keeps_more_rows_than_tokens(%x: tensor<1x9x8xf32>) -> tensor<1x10x8xf32> {
  %k = hova.weight "k" : tensor<8x8xf32>
  %e = hova.weight "e" : tensor<9x10xf32>
  %a = hova.linear %x, %k : tensor<1x9x8xf32>, tensor<8x8xf32> -> tensor<1x9x8xf32>
  %c = hova.project_tokens %a, %e : tensor<1x9x8xf32>, tensor<9x10xf32> -> tensor<1x10x8xf32>
  return %c : tensor<1x10x8xf32>
}

// -----

// CHECK-LABEL: @keeps_a_weight_that_is_an_input
//       CHECK: hova.project_tokens {{.*}} why = "a weight is shared with an embedding or depends on an input"
func.func @keeps_a_weight_that_is_an_input(%x: tensor<1x9x8xf32>, %k: tensor<8x8xf32>) -> tensor<1x2x8xf32> {
  %e = hova.weight "e" : tensor<9x2xf32>
  %a = hova.linear %x, %k : tensor<1x9x8xf32>, tensor<8x8xf32> -> tensor<1x9x8xf32>
  %c = hova.project_tokens %a, %e : tensor<1x9x8xf32>, tensor<9x2xf32> -> tensor<1x2x8xf32>
  return %c : tensor<1x2x8xf32>
}

// -----

// CHECK-LABEL: @keeps_what_has_no_static_shape
//       CHECK: hova.project_tokens {{.*}} why = "a shape is not known"
func.func @keeps_what_has_no_static_shape(%x: tensor<?x9x8xf32>) -> tensor<?x2x8xf32> {
  %k = hova.weight "k" : tensor<8x8xf32>
  %e = hova.weight "e" : tensor<9x2xf32>
  %a = hova.linear %x, %k : tensor<?x9x8xf32>, tensor<8x8xf32> -> tensor<?x9x8xf32>
  %c = hova.project_tokens %a, %e : tensor<?x9x8xf32>, tensor<9x2xf32> -> tensor<?x2x8xf32>
  return %c : tensor<?x2x8xf32>
}
