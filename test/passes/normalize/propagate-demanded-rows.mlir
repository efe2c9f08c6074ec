// RUN: hova-opt %s --split-input-file --hova-propagate-demanded-rows | FileCheck %s
// RUN: hova-opt %s --split-input-file --hova-propagate-demanded-rows --hova-propagate-demanded-rows | FileCheck %s

// CHECK-LABEL: @demands_the_first_row_of_a_norm
//       CHECK: %[[ROW:.*]] = hova.slice %arg0 {axis = 1 : i64, offset = 0 : i64} : tensor<2x9x8xf32> -> tensor<2x1x8xf32>
//       CHECK: %[[NORM:.*]] = hova.layer_norm %[[ROW]]
//       CHECK: hova.pool first %[[NORM]] : tensor<2x1x8xf32> -> tensor<2x8xf32>
func.func @demands_the_first_row_of_a_norm(%x: tensor<2x9x8xf32>, %g: tensor<8xf32>) -> tensor<2x8xf32> {
  %n = hova.layer_norm %x, %g, %g {eps = 1.0e-6 : f64} : tensor<2x9x8xf32>, tensor<8xf32>
  %p = hova.pool first %n : tensor<2x9x8xf32> -> tensor<2x8xf32>
  return %p : tensor<2x8xf32>
}

// -----

// Both sides demand the same row, so one slice serves them.
// CHECK-LABEL: @demands_both_sides_of_a_residual
//       CHECK: %[[ROW:.*]] = hova.slice %arg0
//       CHECK: %[[F:.*]] = hova.linear %[[ROW]], %arg1 {hova.rewrites = {"hova-propagate-demanded-rows" = {fired = true, why = "computes 1 of 9 rows, which is what is read"}}} : tensor<1x1x8xf32>
//   CHECK-NOT: hova.slice
//       CHECK: hova.add %[[F]], %[[ROW]] {{{.*}}} : tensor<1x1x8xf32>, tensor<1x1x8xf32>
func.func @demands_both_sides_of_a_residual(%x: tensor<1x9x8xf32>, %w: tensor<8x8xf32>) -> tensor<1x8xf32> {
  %f = hova.linear %x, %w : tensor<1x9x8xf32>, tensor<8x8xf32> -> tensor<1x9x8xf32>
  %s = hova.add %f, %x : tensor<1x9x8xf32>, tensor<1x9x8xf32>
  %p = hova.pool first %s : tensor<1x9x8xf32> -> tensor<1x8xf32>
  return %p : tensor<1x8xf32>
}

// -----

// CHECK-LABEL: @demands_one_query_and_all_keys
//       CHECK: %[[Q:.*]] = hova.slice %arg0
//       CHECK: hova.attention %[[Q]], %arg1, %arg1
//  CHECK-SAME: (tensor<1x1x8xf32>, tensor<1x9x8xf32>, tensor<1x9x8xf32>) -> tensor<1x1x8xf32>
func.func @demands_one_query_and_all_keys(%q: tensor<1x9x8xf32>, %k: tensor<1x9x8xf32>) -> tensor<1x8xf32> {
  %o = hova.attention %q, %k, %k {heads = 2 : i64}
      : (tensor<1x9x8xf32>, tensor<1x9x8xf32>, tensor<1x9x8xf32>) -> tensor<1x9x8xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all
  }
  %p = hova.pool first %o : tensor<1x9x8xf32> -> tensor<1x8xf32>
  return %p : tensor<1x8xf32>
}

// -----

// Query 0 stands where query 8 did.
// CHECK-LABEL: @demands_the_last_row_of_causal_attention
//       CHECK: hova.slice %arg0 {axis = 1 : i64, offset = 8 : i64}
//       CHECK: hova.attention {{.*}} -> tensor<1x1x8xf32> scores {
//  CHECK-NEXT: ^bb0(%[[RAW:.*]]: f32, %{{.*}}: index, %{{.*}}: index, %[[QUERY:.*]]: index, %[[KEY:.*]]: index):
//   CHECK-DAG: %[[FIRST:.*]] = arith.constant 8 : index
//   CHECK-DAG: %[[SHIFTED:.*]] = arith.addi %[[QUERY]], %[[FIRST]] : index
//       CHECK: %[[KEPT:.*]] = arith.cmpi sle, %[[KEY]], %[[SHIFTED]] : index
//       CHECK: hova.score_yield %[[RAW]] kept %[[KEPT]]
func.func @demands_the_last_row_of_causal_attention(%q: tensor<1x9x8xf32>) -> tensor<1x1x8xf32> {
  %o = hova.attention %q, %q, %q {heads = 2 : i64}
      : (tensor<1x9x8xf32>, tensor<1x9x8xf32>, tensor<1x9x8xf32>) -> tensor<1x9x8xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %not_later = arith.cmpi sle, %key, %query : index
    hova.score_yield %raw kept %not_later
  }
  %s = hova.slice %o {axis = 1 : i64, offset = 8 : i64} : tensor<1x9x8xf32> -> tensor<1x1x8xf32>
  return %s : tensor<1x1x8xf32>
}

// -----

// The first rows are queries of the same numbers.
// CHECK-LABEL: @demands_the_first_row_of_causal_attention
//       CHECK: %[[ROW:.*]] = hova.slice %arg0 {axis = 1 : i64, offset = 0 : i64}
//       CHECK: hova.attention %[[ROW]], %arg0, %arg0 {{.*}} -> tensor<1x1x8xf32> scores {
//  CHECK-NEXT: ^bb0(%{{.*}}: f32, %{{.*}}: index, %{{.*}}: index, %[[QUERY:.*]]: index, %[[KEY:.*]]: index):
//  CHECK-NEXT: arith.cmpi sle, %[[KEY]], %[[QUERY]] : index
func.func @demands_the_first_row_of_causal_attention(%q: tensor<1x9x8xf32>) -> tensor<1x1x8xf32> {
  %o = hova.attention %q, %q, %q {heads = 2 : i64}
      : (tensor<1x9x8xf32>, tensor<1x9x8xf32>, tensor<1x9x8xf32>) -> tensor<1x9x8xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %not_later = arith.cmpi sle, %key, %query : index
    hova.score_yield %raw kept %not_later
  }
  %s = hova.slice %o {axis = 1 : i64, offset = 0 : i64} : tensor<1x9x8xf32> -> tensor<1x1x8xf32>
  return %s : tensor<1x1x8xf32>
}

// -----

// All that depends on where a query stands is shifted, and the bias keeps all of
// its rows.
// CHECK-LABEL: @demands_rows_with_a_bias_for_every_query
//       CHECK: %[[ROWS:.*]] = hova.slice %arg0 {axis = 1 : i64, offset = 3 : i64}
//       CHECK: hova.attention %[[ROWS]], %arg0, %arg0 captured(%arg1, %arg2) {{.*}} -> tensor<1x2x8xf32> scores {
//  CHECK-NEXT: ^bb0(%{{.*}}: f32, %{{.*}}: index, %{{.*}}: index, %[[QUERY:.*]]: index, %[[KEY:.*]]: index, %[[BIAS:.*]]: tensor<1x1x9x9xf32>, %[[MASK:.*]]: tensor<1x1x9x9xi1>):
//   CHECK-DAG: %[[FIRST:.*]] = arith.constant 3 : index
//   CHECK-DAG: %[[SHIFTED:.*]] = arith.addi %[[QUERY]], %[[FIRST]] : index
//       CHECK: hova.element %[[BIAS]][%{{.*}}, %{{.*}}, %[[SHIFTED]], %[[KEY]]] : tensor<1x1x9x9xf32>
//       CHECK: hova.element %[[MASK]][%{{.*}}, %{{.*}}, %[[SHIFTED]], %[[KEY]]] : tensor<1x1x9x9xi1>
func.func @demands_rows_with_a_bias_for_every_query(%q: tensor<1x9x8xf32>, %b: tensor<1x1x9x9xf32>, %m: tensor<1x1x9x9xi1>) -> tensor<1x2x8xf32> {
  %o = hova.attention %q, %q, %q captured(%b, %m) {heads = 2 : i64}
      : (tensor<1x9x8xf32>, tensor<1x9x8xf32>, tensor<1x9x8xf32>, tensor<1x1x9x9xf32>, tensor<1x1x9x9xi1>) -> tensor<1x9x8xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index, %bias: tensor<1x1x9x9xf32>, %mask: tensor<1x1x9x9xi1>):
    %zero = arith.constant 0 : index
    %added = hova.element %bias[%zero, %zero, %query, %key] : tensor<1x1x9x9xf32>
    %biased = arith.addf %raw, %added : f32
    %is_kept = hova.element %mask[%zero, %zero, %query, %key] : tensor<1x1x9x9xi1>
    hova.score_yield %biased kept %is_kept
  }
  %s = hova.slice %o {axis = 1 : i64, offset = 3 : i64} : tensor<1x9x8xf32> -> tensor<1x2x8xf32>
  return %s : tensor<1x2x8xf32>
}

// -----

// CHECK-LABEL: @keeps_rows_that_others_read
//       CHECK: hova.layer_norm {{.*}} : tensor<1x9x8xf32>
//   CHECK-NOT: hova.slice
//       CHECK: hova.pool first {{.*}}fired = false, fires_if = "all readers demand the same rows", why = "pooled value has other readers"
func.func @keeps_rows_that_others_read(%x: tensor<1x9x8xf32>, %g: tensor<8xf32>) -> (tensor<1x8xf32>, tensor<1x9x8xf32>) {
  %n = hova.layer_norm %x, %g, %g {eps = 1.0e-6 : f64} : tensor<1x9x8xf32>, tensor<8xf32>
  %p = hova.pool first %n : tensor<1x9x8xf32> -> tensor<1x8xf32>
  return %p, %n : tensor<1x8xf32>, tensor<1x9x8xf32>
}

// -----

// CHECK-LABEL: @keeps_rows_that_line_up_with_a_table
//       CHECK: hova.add %arg0, %arg1 : tensor<1x9x8xf32>, tensor<9x8xf32>
//       CHECK: hova.slice {{.*}}why = "a table lines up with tokens"
func.func @keeps_rows_that_line_up_with_a_table(%x: tensor<1x9x8xf32>, %t: tensor<9x8xf32>) -> tensor<1x1x8xf32> {
  %s = hova.add %x, %t : tensor<1x9x8xf32>, tensor<9x8xf32>
  %r = hova.slice %s {axis = 1 : i64, offset = 0 : i64} : tensor<1x9x8xf32> -> tensor<1x1x8xf32>
  return %r : tensor<1x1x8xf32>
}

// -----

// CHECK-LABEL: @keeps_queries_whose_scores_are_read
//       CHECK: hova.attention {{.*}} -> (tensor<1x9x8xf32>, tensor<1x1x9x9xf32>)
//       CHECK: hova.slice {{.*}}why = "attention gives the scores of all queries"
func.func @keeps_queries_whose_scores_are_read(%x: tensor<1x9x8xf32>) -> (tensor<1x1x8xf32>, tensor<1x1x9x9xf32>) {
  %o:2 = hova.attention %x, %x, %x {heads = 1 : i64}
      : (tensor<1x9x8xf32>, tensor<1x9x8xf32>, tensor<1x9x8xf32>) -> (tensor<1x9x8xf32>, tensor<1x1x9x9xf32>) scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all carried %raw
  }
  %r = hova.slice %o#0 {axis = 1 : i64, offset = 0 : i64} : tensor<1x9x8xf32> -> tensor<1x1x8xf32>
  return %r, %o#1 : tensor<1x1x8xf32>, tensor<1x1x9x9xf32>
}

// -----

// CHECK-LABEL: @keeps_gathered_rows
//       CHECK: hova.class_token {{.*}} -> tensor<1x9x8xf32>
//       CHECK: hova.slice {{.*}}why = "operand gathers its rows"
func.func @keeps_gathered_rows(%x: tensor<1x8x8xf32>, %t: tensor<8xf32>) -> tensor<1x8xf32> {
  %c = hova.class_token %x, %t : tensor<1x8x8xf32>, tensor<8xf32> -> tensor<1x9x8xf32>
  %p = hova.pool first %c : tensor<1x9x8xf32> -> tensor<1x8xf32>
  return %p : tensor<1x8xf32>
}

// -----

// CHECK-LABEL: @keeps_the_mean_of_all_rows
//   CHECK-NOT: hova.slice
//       CHECK: hova.pool mean
func.func @keeps_the_mean_of_all_rows(%x: tensor<1x9x8xf32>, %g: tensor<8xf32>) -> tensor<1x8xf32> {
  %n = hova.layer_norm %x, %g, %g {eps = 1.0e-6 : f64} : tensor<1x9x8xf32>, tensor<8xf32>
  %p = hova.pool mean %n : tensor<1x9x8xf32> -> tensor<1x8xf32>
  return %p : tensor<1x8xf32>
}

// -----

// Two readers want different rows: the value has all of them.
// CHECK-LABEL: @keeps_rows_of_which_two_are_read
//       CHECK: hova.layer_norm {{.*}} : tensor<1x9x8xf32>
// CHECK-COUNT-2: hova.slice {{.*}}fired = false, fires_if = "all readers demand the same rows", why = "operand has other readers"
func.func @keeps_rows_of_which_two_are_read(%x: tensor<1x9x8xf32>, %g: tensor<8xf32>) -> (tensor<1x1x8xf32>, tensor<1x1x8xf32>) {
  %n = hova.layer_norm %x, %g, %g {eps = 1.0e-6 : f64} : tensor<1x9x8xf32>, tensor<8xf32>
  %a = hova.slice %n {axis = 1 : i64, offset = 0 : i64} : tensor<1x9x8xf32> -> tensor<1x1x8xf32>
  %b = hova.slice %n {axis = 1 : i64, offset = 8 : i64} : tensor<1x9x8xf32> -> tensor<1x1x8xf32>
  return %a, %b : tensor<1x1x8xf32>, tensor<1x1x8xf32>
}

// -----

// CHECK-LABEL: @keeps_an_attention_that_others_read
//       CHECK: hova.attention {{.*}} -> tensor<1x9x8xf32>
//       CHECK: hova.slice {{.*}}why = "attention has other readers"
func.func @keeps_an_attention_that_others_read(%q: tensor<1x9x8xf32>) -> (tensor<1x1x8xf32>, tensor<1x9x8xf32>) {
  %o = hova.attention %q, %q, %q {heads = 2 : i64}
      : (tensor<1x9x8xf32>, tensor<1x9x8xf32>, tensor<1x9x8xf32>) -> tensor<1x9x8xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all
  }
  %s = hova.slice %o {axis = 1 : i64, offset = 0 : i64} : tensor<1x9x8xf32> -> tensor<1x1x8xf32>
  return %s, %o : tensor<1x1x8xf32>, tensor<1x9x8xf32>
}

// -----

// CHECK-LABEL: @keeps_rows_whose_number_is_not_known
//       CHECK: hova.linear {{.*}} -> tensor<1x9x8xf32>
//       CHECK: hova.slice {{.*}}why = "rows do not line up"
func.func @keeps_rows_whose_number_is_not_known(%x: tensor<1x?x8xf32>, %w: tensor<8x8xf32>) -> tensor<1x1x8xf32> {
  %y = hova.linear %x, %w : tensor<1x?x8xf32>, tensor<8x8xf32> -> tensor<1x9x8xf32>
  %s = hova.slice %y {axis = 1 : i64, offset = 0 : i64} : tensor<1x9x8xf32> -> tensor<1x1x8xf32>
  return %s : tensor<1x1x8xf32>
}

// -----

// A value that no operation of hova computes.
// CHECK-LABEL: @keeps_rows_of_foreign_operations
//       CHECK: arith.addf {{.*}} : tensor<1x9x8xf32>
//       CHECK: hova.slice {{.*}}why = "operand is not computed row by row"
func.func @keeps_rows_of_foreign_operations(%x: tensor<1x9x8xf32>) -> tensor<1x1x8xf32> {
  %y = arith.addf %x, %x : tensor<1x9x8xf32>
  %s = hova.slice %y {axis = 1 : i64, offset = 0 : i64} : tensor<1x9x8xf32> -> tensor<1x1x8xf32>
  return %s : tensor<1x1x8xf32>
}

// -----

// Linear attention answers the queries that are demanded.
// CHECK-LABEL: @narrows_queries_of_linear_attention
//       CHECK: %[[Q:.*]] = hova.slice %{{.*}} {axis = 1 : i64, offset = 3 : i64} : tensor<1x9x8xf32> -> tensor<1x2x8xf32>
//       CHECK: %[[Y:.*]] = hova.linear_attention relu %[[Q]], %{{.*}}, %{{.*}} {{.*}}computes 2 of 9 rows{{.*}} -> tensor<1x2x8xf32>
//       CHECK: return %[[Y]]
func.func @narrows_queries_of_linear_attention(%q: tensor<1x9x8xf32>, %k: tensor<1x7x8xf32>) -> tensor<1x2x8xf32> {
  %o = hova.linear_attention relu %q, %k, %k {heads = 2 : i64, eps = 1.0e-3 : f64} : (tensor<1x9x8xf32>, tensor<1x7x8xf32>, tensor<1x7x8xf32>) -> tensor<1x9x8xf32>
  %s = hova.slice %o {axis = 1 : i64, offset = 3 : i64} : tensor<1x9x8xf32> -> tensor<1x2x8xf32>
  return %s : tensor<1x2x8xf32>
}

// -----

// CHECK-LABEL: @keeps_queries_of_causal_linear_attention
//       CHECK: hova.linear_attention {{.*}} -> tensor<1x9x8xf32>
//       CHECK: hova.slice {{.*}}fires_if = "the attention is not causal", why = "row i of causal linear attention is that of key i"
func.func @keeps_queries_of_causal_linear_attention(%q: tensor<1x9x8xf32>) -> tensor<1x1x8xf32> {
  %o = hova.linear_attention relu %q, %q, %q {heads = 2 : i64, causal, eps = 1.0e-3 : f64} : (tensor<1x9x8xf32>, tensor<1x9x8xf32>, tensor<1x9x8xf32>) -> tensor<1x9x8xf32>
  %s = hova.slice %o {axis = 1 : i64, offset = 8 : i64} : tensor<1x9x8xf32> -> tensor<1x1x8xf32>
  return %s : tensor<1x1x8xf32>
}

// -----

// A token of a maximum over three states is three rows.
// CHECK-LABEL: @demands_all_states_of_a_token
//       CHECK: %[[S:.*]] = hova.slice %{{.*}} {axis = 1 : i64, offset = 6 : i64} : tensor<1x12x8xf32> -> tensor<1x3x8xf32>
//       CHECK: %[[R:.*]] = hova.activation relu %[[S]]
//       CHECK: hova.layer_pool %[[R]] {{.*}}computes 1 of 4 rows{{.*}}layers = 3 : i64} : tensor<1x3x8xf32> -> tensor<1x1x8xf32>
func.func @demands_all_states_of_a_token(%x: tensor<1x12x8xf32>) -> tensor<1x1x8xf32> {
  %r = hova.activation relu %x : tensor<1x12x8xf32>
  %p = hova.layer_pool %r {layers = 3 : i64} : tensor<1x12x8xf32> -> tensor<1x4x8xf32>
  %s = hova.slice %p {axis = 1 : i64, offset = 2 : i64} : tensor<1x4x8xf32> -> tensor<1x1x8xf32>
  return %s : tensor<1x1x8xf32>
}

// -----

// CHECK-LABEL: @keeps_a_maximum_over_states_that_others_read
//       CHECK: hova.layer_pool {{.*}} -> tensor<1x4x8xf32>
//       CHECK: hova.slice {{.*}}why = "maximum over states has other readers"
func.func @keeps_a_maximum_over_states_that_others_read(%x: tensor<1x12x8xf32>) -> (tensor<1x1x8xf32>, tensor<1x4x8xf32>) {
  %p = hova.layer_pool %x {layers = 3 : i64} : tensor<1x12x8xf32> -> tensor<1x4x8xf32>
  %s = hova.slice %p {axis = 1 : i64, offset = 2 : i64} : tensor<1x4x8xf32> -> tensor<1x1x8xf32>
  return %s, %p : tensor<1x1x8xf32>, tensor<1x4x8xf32>
}

// -----

// The sum of a residual has two readers that want one row, so it has one row, and
// so has what it adds up.
// CHECK-LABEL: @demands_the_row_that_all_readers_want
//       CHECK: %[[X:.*]] = hova.slice %arg0
//       CHECK: %[[A:.*]] = hova.slice %arg1
//       CHECK: %[[M:.*]] = hova.add %[[X]], %[[A]] {{.*}} : tensor<1x1x8xf32>, tensor<1x1x8xf32>
//       CHECK: %[[F:.*]] = hova.linear %[[M]]
//       CHECK: hova.add %[[M]], %[[F]]
func.func @demands_the_row_that_all_readers_want(%x: tensor<1x9x8xf32>, %a: tensor<1x9x8xf32>, %w: tensor<8x8xf32>) -> tensor<1x8xf32> {
  %m = hova.add %x, %a : tensor<1x9x8xf32>, tensor<1x9x8xf32>
  %f = hova.linear %m, %w : tensor<1x9x8xf32>, tensor<8x8xf32> -> tensor<1x9x8xf32>
  %s = hova.add %m, %f : tensor<1x9x8xf32>, tensor<1x9x8xf32>
  %p = hova.pool first %s : tensor<1x9x8xf32> -> tensor<1x8xf32>
  return %p : tensor<1x8xf32>
}

// -----

// However many residuals there are, and whichever of their sides comes first.
// CHECK-LABEL: @demands_one_row_of_many_residuals
//       CHECK: hova.slice %arg0
//   CHECK-NOT: hova.slice
//   CHECK-NOT: tensor<1x9x8xf32>,
//       CHECK: hova.pool first
func.func @demands_one_row_of_many_residuals(%x0: tensor<1x9x8xf32>, %g: tensor<8xf32>, %w: tensor<8x8xf32>) -> tensor<1x8xf32> {
  %n0 = hova.layer_norm %x0, %g, %g {eps = 1.0e-6 : f64} : tensor<1x9x8xf32>, tensor<8xf32>
  %f0 = hova.linear %n0, %w : tensor<1x9x8xf32>, tensor<8x8xf32> -> tensor<1x9x8xf32>
  %x1 = hova.add %f0, %x0 : tensor<1x9x8xf32>, tensor<1x9x8xf32>
  %n1 = hova.layer_norm %x1, %g, %g {eps = 1.0e-6 : f64} : tensor<1x9x8xf32>, tensor<8xf32>
  %f1 = hova.linear %n1, %w : tensor<1x9x8xf32>, tensor<8x8xf32> -> tensor<1x9x8xf32>
  %x2 = hova.add %f1, %x1 : tensor<1x9x8xf32>, tensor<1x9x8xf32>
  %n2 = hova.layer_norm %x2, %g, %g {eps = 1.0e-6 : f64} : tensor<1x9x8xf32>, tensor<8xf32>
  %f2 = hova.linear %n2, %w : tensor<1x9x8xf32>, tensor<8x8xf32> -> tensor<1x9x8xf32>
  %x3 = hova.add %f2, %x2 : tensor<1x9x8xf32>, tensor<1x9x8xf32>
  %n3 = hova.layer_norm %x3, %g, %g {eps = 1.0e-6 : f64} : tensor<1x9x8xf32>, tensor<8xf32>
  %f3 = hova.linear %n3, %w : tensor<1x9x8xf32>, tensor<8x8xf32> -> tensor<1x9x8xf32>
  %x4 = hova.add %f3, %x3 : tensor<1x9x8xf32>, tensor<1x9x8xf32>
  %n4 = hova.layer_norm %x4, %g, %g {eps = 1.0e-6 : f64} : tensor<1x9x8xf32>, tensor<8xf32>
  %f4 = hova.linear %n4, %w : tensor<1x9x8xf32>, tensor<8x8xf32> -> tensor<1x9x8xf32>
  %x5 = hova.add %f4, %x4 : tensor<1x9x8xf32>, tensor<1x9x8xf32>
  %n5 = hova.layer_norm %x5, %g, %g {eps = 1.0e-6 : f64} : tensor<1x9x8xf32>, tensor<8xf32>
  %f5 = hova.linear %n5, %w : tensor<1x9x8xf32>, tensor<8x8xf32> -> tensor<1x9x8xf32>
  %x6 = hova.add %f5, %x5 : tensor<1x9x8xf32>, tensor<1x9x8xf32>
  %n6 = hova.layer_norm %x6, %g, %g {eps = 1.0e-6 : f64} : tensor<1x9x8xf32>, tensor<8xf32>
  %f6 = hova.linear %n6, %w : tensor<1x9x8xf32>, tensor<8x8xf32> -> tensor<1x9x8xf32>
  %x7 = hova.add %f6, %x6 : tensor<1x9x8xf32>, tensor<1x9x8xf32>
  %n7 = hova.layer_norm %x7, %g, %g {eps = 1.0e-6 : f64} : tensor<1x9x8xf32>, tensor<8xf32>
  %f7 = hova.linear %n7, %w : tensor<1x9x8xf32>, tensor<8x8xf32> -> tensor<1x9x8xf32>
  %x8 = hova.add %f7, %x7 : tensor<1x9x8xf32>, tensor<1x9x8xf32>
  %n8 = hova.layer_norm %x8, %g, %g {eps = 1.0e-6 : f64} : tensor<1x9x8xf32>, tensor<8xf32>
  %f8 = hova.linear %n8, %w : tensor<1x9x8xf32>, tensor<8x8xf32> -> tensor<1x9x8xf32>
  %x9 = hova.add %f8, %x8 : tensor<1x9x8xf32>, tensor<1x9x8xf32>
  %n9 = hova.layer_norm %x9, %g, %g {eps = 1.0e-6 : f64} : tensor<1x9x8xf32>, tensor<8xf32>
  %f9 = hova.linear %n9, %w : tensor<1x9x8xf32>, tensor<8x8xf32> -> tensor<1x9x8xf32>
  %x10 = hova.add %f9, %x9 : tensor<1x9x8xf32>, tensor<1x9x8xf32>
  %n10 = hova.layer_norm %x10, %g, %g {eps = 1.0e-6 : f64} : tensor<1x9x8xf32>, tensor<8xf32>
  %f10 = hova.linear %n10, %w : tensor<1x9x8xf32>, tensor<8x8xf32> -> tensor<1x9x8xf32>
  %x11 = hova.add %f10, %x10 : tensor<1x9x8xf32>, tensor<1x9x8xf32>
  %n11 = hova.layer_norm %x11, %g, %g {eps = 1.0e-6 : f64} : tensor<1x9x8xf32>, tensor<8xf32>
  %f11 = hova.linear %n11, %w : tensor<1x9x8xf32>, tensor<8x8xf32> -> tensor<1x9x8xf32>
  %x12 = hova.add %f11, %x11 : tensor<1x9x8xf32>, tensor<1x9x8xf32>
  %p = hova.pool first %x12 : tensor<1x9x8xf32> -> tensor<1x8xf32>
  return %p : tensor<1x8xf32>
}

// -----

// Two pools and a slice of one row.
// CHECK-LABEL: @demands_the_row_of_all_pools
//       CHECK: %[[S:.*]] = hova.slice %arg0
//       CHECK: %[[Y:.*]] = hova.activation relu %[[S]]
//       CHECK: hova.pool first %[[Y]]
//       CHECK: hova.pool first %[[Y]]
//       CHECK: return %{{.*}}, %{{.*}}, %[[Y]]
func.func @demands_the_row_of_all_pools(%x: tensor<1x9x8xf32>) -> (tensor<1x8xf32>, tensor<1x8xf32>, tensor<1x1x8xf32>) {
  %y = hova.activation relu %x : tensor<1x9x8xf32>
  %p = hova.pool first %y : tensor<1x9x8xf32> -> tensor<1x8xf32>
  %q = hova.pool first %y : tensor<1x9x8xf32> -> tensor<1x8xf32>
  %s = hova.slice %y {axis = 1 : i64, offset = 0 : i64} : tensor<1x9x8xf32> -> tensor<1x1x8xf32>
  return %p, %q, %s : tensor<1x8xf32>, tensor<1x8xf32>, tensor<1x1x8xf32>
}
