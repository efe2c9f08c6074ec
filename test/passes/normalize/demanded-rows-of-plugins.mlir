// RUN: hova-opt %s --load-dialect-plugin=%plugin --split-input-file --hova-propagate-demanded-rows | FileCheck %s
// RUN: hova-opt %s --load-dialect-plugin=%plugin --split-input-file --hova-propagate-demanded-rows --hova-propagate-demanded-rows | FileCheck %s
// SPDX-License-Identifier: Apache-2.0
// What a pass may do with rows of an operation that it has never seen.

// CHECK-LABEL: @narrows_what_says_that_it_ignores_positions
//       CHECK: %[[ROW:.*]] = hova.slice %arg0 {axis = 1 : i64, offset = 8 : i64}
//       CHECK: rows.centre %[[ROW]] {{.*}}"computes 1 of 9 rows{{.*}} : tensor<2x1x8xf32>
func.func @narrows_what_says_that_it_ignores_positions(%x: tensor<2x9x8xf32>) -> tensor<2x1x8xf32> {
  %n = rows.centre %x : tensor<2x9x8xf32>
  %s = hova.slice %n {axis = 1 : i64, offset = 8 : i64} : tensor<2x9x8xf32> -> tensor<2x1x8xf32>
  return %s : tensor<2x1x8xf32>
}

// -----

// CHECK-LABEL: @keeps_rows_that_may_depend_on_their_position
//       CHECK: rows.rotate %arg0 : tensor<2x9x8xf32>
//       CHECK: hova.slice {{.*}}fires_if = "the operation says that they do not"{{.*}}why = "rows may depend on their position"
func.func @keeps_rows_that_may_depend_on_their_position(%x: tensor<2x9x8xf32>) -> tensor<2x1x8xf32> {
  %r = rows.rotate %x : tensor<2x9x8xf32>
  %s = hova.slice %r {axis = 1 : i64, offset = 8 : i64} : tensor<2x9x8xf32> -> tensor<2x1x8xf32>
  return %s : tensor<2x1x8xf32>
}

// -----

// CHECK-LABEL: @keeps_queries_that_must_be_as_many_as_the_keys
//       CHECK: rows.attend %arg0, %arg1 : tensor<2x9x8xf32>
//       CHECK: hova.pool {{.*}} : tensor<2x1x8xf32>
func.func @keeps_queries_that_must_be_as_many_as_the_keys(%q: tensor<2x9x8xf32>, %k: tensor<2x9x8xf32>) -> tensor<2x8xf32> {
  %a = rows.attend %q, %k : tensor<2x9x8xf32>
  %p = hova.pool first %a : tensor<2x9x8xf32> -> tensor<2x8xf32>
  return %p : tensor<2x8xf32>
}

// -----

// CHECK-LABEL: @keeps_rows_that_line_up_with_a_table
//       CHECK: rows.shift %arg0, %arg1 : tensor<2x9x8xf32>
//       CHECK: hova.slice {{.*}}why = "a table lines up with tokens"
func.func @keeps_rows_that_line_up_with_a_table(%x: tensor<2x9x8xf32>, %t: tensor<9x8xf32>) -> tensor<2x1x8xf32> {
  %a = rows.shift %x, %t : tensor<2x9x8xf32>, tensor<9x8xf32>
  %s = hova.slice %a {axis = 1 : i64, offset = 8 : i64} : tensor<2x9x8xf32> -> tensor<2x1x8xf32>
  return %s : tensor<2x1x8xf32>
}

// -----

// A table of one row is the same for all tokens.
// CHECK-LABEL: @narrows_beside_a_vector
//       CHECK: rows.shift %{{.*}}, %arg1 {{.*}} : tensor<2x1x8xf32>, tensor<8xf32>
func.func @narrows_beside_a_vector(%x: tensor<2x9x8xf32>, %t: tensor<8xf32>) -> tensor<2x1x8xf32> {
  %a = rows.shift %x, %t : tensor<2x9x8xf32>, tensor<8xf32>
  %s = hova.slice %a {axis = 1 : i64, offset = 8 : i64} : tensor<2x9x8xf32> -> tensor<2x1x8xf32>
  return %s : tensor<2x1x8xf32>
}

// -----

// CHECK-LABEL: @keeps_rows_of_two_results
//       CHECK: rows.halves %arg0 : tensor<2x9x8xf32> -> tensor<2x9x4xf32>, tensor<2x9x4xf32>
//       CHECK: hova.slice {{.*}}why = "operand is not computed row by row"
func.func @keeps_rows_of_two_results(%x: tensor<2x9x8xf32>) -> tensor<2x1x4xf32> {
  %a, %b = rows.halves %x : tensor<2x9x8xf32> -> tensor<2x9x4xf32>, tensor<2x9x4xf32>
  %s = hova.slice %a {axis = 1 : i64, offset = 8 : i64} : tensor<2x9x4xf32> -> tensor<2x1x4xf32>
  return %s : tensor<2x1x4xf32>
}

// -----

// What an operation says of its rows itself, and their index with it.
// CHECK-LABEL: @narrows_what_computes_ranges_of_rows
//       CHECK: %[[ROWS:.*]] = hova.slice %arg0 {axis = 1 : i64, offset = 7 : i64} : tensor<2x9x8xf32> -> tensor<2x2x8xf32>
//       CHECK: rows.turn %[[ROWS]] {first = 17 : i64, {{.*}}"computes 2 of 9 rows{{.*}} : tensor<2x2x8xf32>
func.func @narrows_what_computes_ranges_of_rows(%x: tensor<2x9x8xf32>) -> tensor<2x2x8xf32> {
  %r = rows.turn %x {first = 10 : i64} : tensor<2x9x8xf32>
  %s = hova.slice %r {axis = 1 : i64, offset = 7 : i64} : tensor<2x9x8xf32> -> tensor<2x2x8xf32>
  return %s : tensor<2x2x8xf32>
}

// -----

// CHECK-LABEL: @keeps_a_range_that_the_operation_declines
//       CHECK: rows.turn %arg0 {first = 10 : i64} : tensor<2x9x8xf32>
//       CHECK: hova.slice {{.*}}fires_if = "two rows are demanded", why = "more than two rows are turned at once"
func.func @keeps_a_range_that_the_operation_declines(%x: tensor<2x9x8xf32>) -> tensor<2x3x8xf32> {
  %r = rows.turn %x {first = 10 : i64} : tensor<2x9x8xf32>
  %s = hova.slice %r {axis = 1 : i64, offset = 6 : i64} : tensor<2x9x8xf32> -> tensor<2x3x8xf32>
  return %s : tensor<2x3x8xf32>
}

// -----

// CHECK-LABEL: @keeps_ranges_that_others_read
//       CHECK: hova.slice {{.*}}why = "'rows.turn' has other readers"
func.func @keeps_ranges_that_others_read(%x: tensor<2x9x8xf32>) -> (tensor<2x1x8xf32>, tensor<2x9x8xf32>) {
  %r = rows.turn %x {first = 10 : i64} : tensor<2x9x8xf32>
  %s = hova.slice %r {axis = 1 : i64, offset = 7 : i64} : tensor<2x9x8xf32> -> tensor<2x1x8xf32>
  return %s, %r : tensor<2x1x8xf32>, tensor<2x9x8xf32>
}

// -----

// CHECK-LABEL: @keeps_ranges_of_several_results
//       CHECK: rows.both %arg0 : tensor<2x9x8xf32> -> tensor<2x9x8xf32>, tensor<2x9x8xf32>
//       CHECK: hova.slice {{.*}}fires_if = "it has one", why = "'rows.both' has several results"
func.func @keeps_ranges_of_several_results(%x: tensor<2x9x8xf32>) -> (tensor<2x1x8xf32>, tensor<2x9x8xf32>) {
  %r, %o = rows.both %x : tensor<2x9x8xf32> -> tensor<2x9x8xf32>, tensor<2x9x8xf32>
  %s = hova.slice %r {axis = 1 : i64, offset = 7 : i64} : tensor<2x9x8xf32> -> tensor<2x1x8xf32>
  return %s, %o : tensor<2x1x8xf32>, tensor<2x9x8xf32>
}
