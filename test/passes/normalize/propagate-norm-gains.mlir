// RUN: hova-opt %s --split-input-file --hova-propagate-norm-gains | FileCheck %s
// RUN: hova-opt %s --split-input-file --hova-propagate-norm-gains --hova-propagate-norm-gains | FileCheck %s
// RUN: hova-opt %s --split-input-file --hova-propagate-norm-gains --check-meaning -o /dev/null
// SPDX-License-Identifier: Apache-2.0

// CHECK-LABEL: @gives_gain_and_bias_to_a_linear
//  CHECK-SAME: %[[X:.*]]: tensor<1x4x8xf32>
//   CHECK-DAG: %[[GAIN:.*]] = hova.weight "gain"
//   CHECK-DAG: %[[SHIFT:.*]] = hova.weight "shift"
//   CHECK-DAG: %[[W:.*]] = hova.weight "w"
//   CHECK-DAG: %[[B:.*]] = hova.weight "b"
//       CHECK: %[[NORM:.*]] = hova.layer_norm %[[X]] {eps = {{.*}}, hova.rewrites = {"hova-propagate-norm-gains" = {fired = true, why = "gain and bias are in the weights behind the norm, of 1 linear"}}} : tensor<1x4x8xf32>
//       CHECK: %[[SCALED:.*]] = hova.scale_rows %[[W]], %[[GAIN]]
//       CHECK: %[[BIAS:.*]] = hova.linear %[[SHIFT]], %[[W]] bias(%[[B]]) : tensor<8xf32>, tensor<8x6xf32>, tensor<6xf32> -> tensor<6xf32>
//       CHECK: hova.linear %[[NORM]], %[[SCALED]] bias(%[[BIAS]])
func.func @gives_gain_and_bias_to_a_linear(%x: tensor<1x4x8xf32>) -> tensor<1x4x6xf32> {
  %g = hova.weight "gain" : tensor<8xf32>
  %s = hova.weight "shift" : tensor<8xf32>
  %w = hova.weight "w" : tensor<8x6xf32>
  %b = hova.weight "b" : tensor<6xf32>
  %n = hova.layer_norm %x, %g, %s {eps = 1.0e-6 : f64} : tensor<1x4x8xf32>, tensor<8xf32>
  %y = hova.linear %n, %w bias(%b) : tensor<1x4x8xf32>, tensor<8x6xf32>, tensor<6xf32> -> tensor<1x4x6xf32>
  return %y : tensor<1x4x6xf32>
}

// -----

// A weight with other readers stays as it is for them.
// CHECK-LABEL: @scales_a_shared_weight_for_its_own_reader
//   CHECK-DAG: %[[W:.*]] = hova.weight "w"
//       CHECK: %[[SCALED:.*]] = hova.scale_rows %[[W]]
//       CHECK: %[[BIAS:.*]] = hova.linear %{{.*}}, %[[W]] : tensor<8xf32>
//       CHECK: hova.linear %{{.*}}, %[[SCALED]] bias(%[[BIAS]])
//       CHECK: hova.linear %arg0, %[[W]] : tensor<1x4x8xf32>
func.func @scales_a_shared_weight_for_its_own_reader(%x: tensor<1x4x8xf32>) -> (tensor<1x4x6xf32>, tensor<1x4x6xf32>) {
  %g = hova.weight "gain" : tensor<8xf32>
  %w = hova.weight "w" : tensor<8x6xf32>
  %n = hova.layer_norm %x, %g, %g {eps = 1.0e-6 : f64} : tensor<1x4x8xf32>, tensor<8xf32>
  %y = hova.linear %n, %w : tensor<1x4x8xf32>, tensor<8x6xf32> -> tensor<1x4x6xf32>
  %z = hova.linear %x, %w : tensor<1x4x8xf32>, tensor<8x6xf32> -> tensor<1x4x6xf32>
  return %y, %z : tensor<1x4x6xf32>, tensor<1x4x6xf32>
}

// -----

// CHECK-LABEL: @reaches_a_linear_of_some_rows
//       CHECK: hova.layer_norm %arg0 {{.*}}of 2 linears"
//       CHECK: %[[ROW:.*]] = hova.slice
//       CHECK: hova.scale_rows
//       CHECK: hova.linear %[[ROW]], %{{.*}} bias
func.func @reaches_a_linear_of_some_rows(%x: tensor<1x4x8xf32>) -> (tensor<1x1x6xf32>, tensor<1x4x6xf32>) {
  %g = hova.weight "gain" : tensor<8xf32>
  %w = hova.weight "w" : tensor<8x6xf32>
  %n = hova.layer_norm %x, %g, %g {eps = 1.0e-6 : f64} : tensor<1x4x8xf32>, tensor<8xf32>
  %r = hova.slice %n {axis = 1 : i64, offset = 0 : i64} : tensor<1x4x8xf32> -> tensor<1x1x8xf32>
  %q = hova.linear %r, %w : tensor<1x1x8xf32>, tensor<8x6xf32> -> tensor<1x1x6xf32>
  %k = hova.linear %n, %w : tensor<1x4x8xf32>, tensor<8x6xf32> -> tensor<1x4x6xf32>
  return %q, %k : tensor<1x1x6xf32>, tensor<1x4x6xf32>
}

// -----

// CHECK-LABEL: @reaches_a_linear_of_the_mean
//       CHECK: %[[NORM:.*]] = hova.layer_norm %arg0 {{.*}}of 1 linear"
//       CHECK: %[[MEAN:.*]] = hova.pool mean %[[NORM]]
//       CHECK: hova.linear %[[MEAN]], %{{.*}} bias
func.func @reaches_a_linear_of_the_mean(%x: tensor<1x4x8xf32>) -> tensor<1x6xf32> {
  %g = hova.weight "gain" : tensor<8xf32>
  %w = hova.weight "w" : tensor<8x6xf32>
  %n = hova.layer_norm %x, %g, %g {eps = 1.0e-6 : f64} : tensor<1x4x8xf32>, tensor<8xf32>
  %p = hova.pool mean %n : tensor<1x4x8xf32> -> tensor<1x8xf32>
  %y = hova.linear %p, %w : tensor<1x8xf32>, tensor<8x6xf32> -> tensor<1x6xf32>
  return %y : tensor<1x6xf32>
}

// -----

// CHECK-LABEL: @keeps_the_gain_that_a_residual_reads
//       CHECK: hova.layer_norm %{{.*}}, %{{.*}}, %{{.*}} {{.*}}fired = false, fires_if = "every reader of the norm is a linear", why = "the norm is read by 'hova.add'"
//   CHECK-NOT: hova.scale_rows
func.func @keeps_the_gain_that_a_residual_reads(%x: tensor<1x4x8xf32>) -> tensor<1x4x8xf32> {
  %g = hova.weight "gain" : tensor<8xf32>
  %w = hova.weight "w" : tensor<8x8xf32>
  %n = hova.layer_norm %x, %g, %g {eps = 1.0e-6 : f64} : tensor<1x4x8xf32>, tensor<8xf32>
  %y = hova.linear %n, %w : tensor<1x4x8xf32>, tensor<8x8xf32> -> tensor<1x4x8xf32>
  %s = hova.add %n, %y : tensor<1x4x8xf32>, tensor<1x4x8xf32>
  return %s : tensor<1x4x8xf32>
}

// -----

// CHECK-LABEL: @keeps_the_gain_of_some_columns
//       CHECK: hova.layer_norm {{.*}}why = "the norm is read by 'hova.slice'"
//   CHECK-NOT: hova.scale_rows
func.func @keeps_the_gain_of_some_columns(%x: tensor<1x4x8xf32>) -> tensor<1x4x6xf32> {
  %g = hova.weight "gain" : tensor<8xf32>
  %w = hova.weight "w" : tensor<4x6xf32>
  %n = hova.layer_norm %x, %g, %g {eps = 1.0e-6 : f64} : tensor<1x4x8xf32>, tensor<8xf32>
  %h = hova.slice %n {axis = 2 : i64, offset = 4 : i64} : tensor<1x4x8xf32> -> tensor<1x4x4xf32>
  %y = hova.linear %h, %w : tensor<1x4x4xf32>, tensor<4x6xf32> -> tensor<1x4x6xf32>
  return %y : tensor<1x4x6xf32>
}

// -----

// CHECK-LABEL: @keeps_the_gain_before_a_tied_table
//       CHECK: hova.layer_norm {{.*}}why = "a linear reads a table that an embedding shares"
//   CHECK-NOT: hova.scale_rows
func.func @keeps_the_gain_before_a_tied_table(%x: tensor<1x4x8xf32>) -> tensor<1x4x6xf32> {
  %g = hova.weight "gain" : tensor<8xf32>
  %t = hova.weight "table" : tensor<6x8xf32>
  %n = hova.layer_norm %x, %g, %g {eps = 1.0e-6 : f64} : tensor<1x4x8xf32>, tensor<8xf32>
  %y = hova.linear %n, %t {transposed} : tensor<1x4x8xf32>, tensor<6x8xf32> -> tensor<1x4x6xf32>
  return %y : tensor<1x4x6xf32>
}

// -----

// CHECK-LABEL: @keeps_a_gain_that_is_an_input
//       CHECK: hova.layer_norm {{.*}}why = "gain or bias depends on an input"
//   CHECK-NOT: hova.scale_rows
func.func @keeps_a_gain_that_is_an_input(%x: tensor<1x4x8xf32>, %g: tensor<8xf32>) -> tensor<1x4x6xf32> {
  %w = hova.weight "w" : tensor<8x6xf32>
  %n = hova.layer_norm %x, %g, %g {eps = 1.0e-6 : f64} : tensor<1x4x8xf32>, tensor<8xf32>
  %y = hova.linear %n, %w : tensor<1x4x8xf32>, tensor<8x6xf32> -> tensor<1x4x6xf32>
  return %y : tensor<1x4x6xf32>
}

// -----

// CHECK-LABEL: @keeps_the_gain_before_a_weight_that_is_an_input
//       CHECK: hova.layer_norm {{.*}}why = "weight or bias of a linear depends on an input"
//   CHECK-NOT: hova.scale_rows
func.func @keeps_the_gain_before_a_weight_that_is_an_input(%x: tensor<1x4x8xf32>, %w: tensor<8x6xf32>) -> tensor<1x4x6xf32> {
  %g = hova.weight "gain" : tensor<8xf32>
  %n = hova.layer_norm %x, %g, %g {eps = 1.0e-6 : f64} : tensor<1x4x8xf32>, tensor<8xf32>
  %y = hova.linear %n, %w : tensor<1x4x8xf32>, tensor<8x6xf32> -> tensor<1x4x6xf32>
  return %y : tensor<1x4x6xf32>
}

// -----

// CHECK-LABEL: @keeps_the_gain_that_nothing_reads
//       CHECK: hova.layer_norm {{.*}}why = "nothing reads the norm"
func.func @keeps_the_gain_that_nothing_reads(%x: tensor<1x4x8xf32>) {
  %g = hova.weight "gain" : tensor<8xf32>
  %n = hova.layer_norm %x, %g, %g {eps = 1.0e-6 : f64} : tensor<1x4x8xf32>, tensor<8xf32>
  return
}

// -----

// CHECK-LABEL: @reaches_a_linear_of_stored_rows
//       CHECK: %[[NORM:.*]] = hova.layer_norm %arg0 {{.*}}of 1 linear"
//       CHECK: %[[STORED:.*]] = hova.convert %[[NORM]]
//       CHECK: %[[SCALED:.*]] = hova.scale_rows %{{.*}} : tensor<8x6xbf16>, tensor<8xf32>
//       CHECK: %[[BIAS:.*]] = hova.linear {{.*}} -> tensor<6xf32>
//       CHECK: hova.linear %[[STORED]], %[[SCALED]] bias(%[[BIAS]])
func.func @reaches_a_linear_of_stored_rows(%x: tensor<1x4x8xf32>) -> tensor<1x4x6xf32> {
  %g = hova.weight "gain" : tensor<8xf32>
  %w = hova.weight "w" : tensor<8x6xf32>
  %v = hova.convert %w : tensor<8x6xf32> -> tensor<8x6xbf16>
  %n = hova.layer_norm %x, %g, %g {eps = 1.0e-6 : f64} : tensor<1x4x8xf32>, tensor<8xf32>
  %c = hova.convert %n : tensor<1x4x8xf32> -> tensor<1x4x8xbf16>
  %y = hova.linear %c, %v : tensor<1x4x8xbf16>, tensor<8x6xbf16> -> tensor<1x4x6xf32>
  return %y : tensor<1x4x6xf32>
}
