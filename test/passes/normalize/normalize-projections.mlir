// RUN: hova-opt %s --split-input-file --hova-normalize-projections | FileCheck %s
// RUN: hova-opt %s --split-input-file --hova-normalize-projections --hova-normalize-projections | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// CHECK-LABEL: @merges_linears_of_one_input
// CHECK-SAME: %[[X:.*]]: tensor<1x4x8xf32>
// CHECK-DAG: %[[WQ:.*]] = hova.weight "q.weight"
// CHECK-DAG: %[[WK:.*]] = hova.weight "k.weight"
// CHECK: %[[W:.*]] = hova.concat %[[WQ]], %[[WK]] {axis = 1 : i64} : tensor<8x8xf32>, tensor<8x2xf32> -> tensor<8x10xf32>
// CHECK: %[[Y:.*]] = hova.linear %[[X]], %[[W]] {hova.rewrites = {"hova-normalize-projections" = {fired = true, why = "2 linears read their input once, as 10 columns"}}} :
// CHECK: %[[Q:.*]] = hova.slice %[[Y]] {axis = 2 : i64, offset = 0 : i64} : tensor<1x4x10xf32> -> tensor<1x4x8xf32>
// CHECK: %[[K:.*]] = hova.slice %[[Y]] {axis = 2 : i64, offset = 8 : i64} : tensor<1x4x10xf32> -> tensor<1x4x2xf32>
// CHECK: return %[[Q]], %[[K]]
func.func @merges_linears_of_one_input(%x: tensor<1x4x8xf32>) -> (tensor<1x4x8xf32>, tensor<1x4x2xf32>) {
  %wq = hova.weight "q.weight" : tensor<8x8xf32>
  %q = hova.linear %x, %wq : tensor<1x4x8xf32>, tensor<8x8xf32> -> tensor<1x4x8xf32>
  %wk = hova.weight "k.weight" : tensor<8x2xf32>
  %k = hova.linear %x, %wk : tensor<1x4x8xf32>, tensor<8x2xf32> -> tensor<1x4x2xf32>
  return %q, %k : tensor<1x4x8xf32>, tensor<1x4x2xf32>
}

// -----

// CHECK-LABEL: @fills_a_missing_bias_with_zeros
// CHECK: %[[B:.*]] = hova.weight "q.bias"
// CHECK: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<2xf32>
// CHECK: %[[BIAS:.*]] = hova.concat %[[B]], %[[ZERO]] {axis = 0 : i64}
// CHECK: hova.linear %{{.*}}, %{{.*}} bias(%[[BIAS]])
// CHECK-NOT: hova.linear
func.func @fills_a_missing_bias_with_zeros(%x: tensor<1x4x8xf32>) -> (tensor<1x4x8xf32>, tensor<1x4x2xf32>) {
  %wq = hova.weight "q.weight" : tensor<8x8xf32>
  %wk = hova.weight "k.weight" : tensor<8x2xf32>
  %bq = hova.weight "q.bias" : tensor<8xf32>
  %q = hova.linear %x, %wq bias(%bq) : tensor<1x4x8xf32>, tensor<8x8xf32>, tensor<8xf32> -> tensor<1x4x8xf32>
  %k = hova.linear %x, %wk : tensor<1x4x8xf32>, tensor<8x2xf32> -> tensor<1x4x2xf32>
  return %q, %k : tensor<1x4x8xf32>, tensor<1x4x2xf32>
}

// -----

// CHECK-LABEL: @keeps_linears_of_different_inputs
// CHECK-COUNT-2: hova.linear
// CHECK-NOT: hova.concat
// CHECK: return
func.func @keeps_linears_of_different_inputs(%x: tensor<1x4x8xf32>, %z: tensor<1x4x8xf32>) -> (tensor<1x4x8xf32>, tensor<1x4x8xf32>) {
  %w = hova.weight "weight" : tensor<8x8xf32>
  %q = hova.linear %x, %w : tensor<1x4x8xf32>, tensor<8x8xf32> -> tensor<1x4x8xf32>
  %k = hova.linear %z, %w : tensor<1x4x8xf32>, tensor<8x8xf32> -> tensor<1x4x8xf32>
  return %q, %k : tensor<1x4x8xf32>, tensor<1x4x8xf32>
}

// -----

// CHECK-LABEL: @keeps_a_tied_table_whole
// CHECK: hova.linear %{{.*}}, %{{.*}} :
// CHECK: hova.linear %{{.*}}, %{{.*}} {{.*}}fired = false, fires_if = "the weight is [in, out]", why = "an embedding shares the table"}}, transposed}
func.func @keeps_a_tied_table_whole(%x: tensor<1x4x8xf32>) -> (tensor<1x4x8xf32>, tensor<1x4x8xf32>) {
  %w = hova.weight "weight" : tensor<8x8xf32>
  %q = hova.linear %x, %w : tensor<1x4x8xf32>, tensor<8x8xf32> -> tensor<1x4x8xf32>
  %k = hova.linear %x, %w {transposed} : tensor<1x4x8xf32>, tensor<8x8xf32> -> tensor<1x4x8xf32>
  return %q, %k : tensor<1x4x8xf32>, tensor<1x4x8xf32>
}

// -----

// CHECK-LABEL: @keeps_a_weight_that_an_input_reaches
// CHECK: hova.linear
// CHECK: hova.linear {{.*}}fired = false, fires_if = "both are computed from weights", why = "weight or bias depends on an input"
// CHECK-NOT: hova.concat
// CHECK: return
func.func @keeps_a_weight_that_an_input_reaches(%x: tensor<1x4x8xf32>, %z: tensor<8x8xf32>) -> (tensor<1x4x8xf32>, tensor<1x4x8xf32>) {
  %w = hova.weight "weight" : tensor<8x8xf32>
  %q = hova.linear %x, %w : tensor<1x4x8xf32>, tensor<8x8xf32> -> tensor<1x4x8xf32>
  %k = hova.linear %x, %z : tensor<1x4x8xf32>, tensor<8x8xf32> -> tensor<1x4x8xf32>
  return %q, %k : tensor<1x4x8xf32>, tensor<1x4x8xf32>
}

// -----

// CHECK-LABEL: @keeps_results_of_unknown_shape
// CHECK-COUNT-2: hova.linear {{.*}}why = "the result has no static shape"
func.func @keeps_results_of_unknown_shape(%x: tensor<1x?x8xf32>) -> (tensor<1x?x8xf32>, tensor<1x?x8xf32>) {
  %w = hova.weight "weight" : tensor<8x8xf32>
  %v = hova.weight "other" : tensor<8x8xf32>
  %q = hova.linear %x, %w : tensor<1x?x8xf32>, tensor<8x8xf32> -> tensor<1x?x8xf32>
  %k = hova.linear %x, %v : tensor<1x?x8xf32>, tensor<8x8xf32> -> tensor<1x?x8xf32>
  return %q, %k : tensor<1x?x8xf32>, tensor<1x?x8xf32>
}

// -----

// What other passes have found about a linear stays with its columns.
// CHECK-LABEL: @keeps_verdicts_of_linears
// CHECK: hova.slice %{{.*}} {axis = 2 : i64, hova.rewrites = {other = {fired = true, why = "so"}}, offset = 0 : i64}
func.func @keeps_verdicts_of_linears(%x: tensor<1x4x8xf32>) -> (tensor<1x4x8xf32>, tensor<1x4x2xf32>) {
  %wq = hova.weight "q.weight" : tensor<8x8xf32>
  %wk = hova.weight "k.weight" : tensor<8x2xf32>
  %q = hova.linear %x, %wq {hova.rewrites = {other = {fired = true, why = "so"}}} : tensor<1x4x8xf32>, tensor<8x8xf32> -> tensor<1x4x8xf32>
  %k = hova.linear %x, %wk : tensor<1x4x8xf32>, tensor<8x2xf32> -> tensor<1x4x2xf32>
  return %q, %k : tensor<1x4x8xf32>, tensor<1x4x2xf32>
}

// -----

// Products of weights alone belong to the folding function.
// CHECK-LABEL: @leaves_products_of_weights_alone
// CHECK-NOT: hova.concat
func.func @leaves_products_of_weights_alone() -> (tensor<8xf32>, tensor<2xf32>) {
  %b = hova.weight "bias" : tensor<8xf32>
  %wq = hova.weight "q.weight" : tensor<8x8xf32>
  %wk = hova.weight "k.weight" : tensor<8x2xf32>
  %q = hova.linear %b, %wq : tensor<8xf32>, tensor<8x8xf32> -> tensor<8xf32>
  %k = hova.linear %b, %wk : tensor<8xf32>, tensor<8x2xf32> -> tensor<2xf32>
  return %q, %k : tensor<8xf32>, tensor<2xf32>
}
