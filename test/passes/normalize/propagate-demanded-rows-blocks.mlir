// The queries of attention to blocks.

// RUN: hova-opt %s --split-input-file --hova-propagate-demanded-rows | FileCheck %s
// RUN: hova-opt %s --split-input-file --hova-propagate-demanded-rows --check-meaning -o /dev/null
// SPDX-License-Identifier: Apache-2.0

// The first and the last block see all keys.
// CHECK-LABEL: @narrows_queries_of_global_blocks
//       CHECK: %[[FIRST:.*]] = hova.slice %{{.*}} {axis = 1 : i64, offset = 0 : i64} : tensor<1x23x8xf32> -> tensor<1x4x8xf32>
//       CHECK: hova.attention %[[FIRST]], %{{.*}}, %{{.*}} captured(%{{.*}}) {{.*}}computes 4 of 23 rows
//       CHECK: hova.element %{{.*}}[%batch, %key] : tensor<1x23xi1>
//       CHECK: %[[LAST:.*]] = hova.slice %{{.*}} {axis = 1 : i64, offset = 20 : i64} : tensor<1x23x8xf32> -> tensor<1x3x8xf32>
//       CHECK: hova.attention %[[LAST]]
//   CHECK-NOT: block
//       CHECK: return
func.func @narrows_queries_of_global_blocks(%q: tensor<1x23x8xf32>, %valid: tensor<1x23xi1>) -> (tensor<1x4x8xf32>, tensor<1x3x8xf32>) {
  %o = hova.attention %q, %q, %q captured(%valid) {heads = 2 : i64, block = 4 : i64} : (tensor<1x23x8xf32>, tensor<1x23x8xf32>, tensor<1x23x8xf32>, tensor<1x23xi1>) -> tensor<1x23x8xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index, %is_valid: tensor<1x23xi1>):
    %scale = hova.number 0.5
    %score = arith.mulf %raw, %scale : f32
    %kept = hova.element %is_valid[%batch, %key] : tensor<1x23xi1>
    hova.score_yield %score kept %kept
  }
  %s = hova.slice %o {axis = 1 : i64, offset = 0 : i64} : tensor<1x23x8xf32> -> tensor<1x4x8xf32>
  %p = hova.attention %q, %q, %q {heads = 2 : i64, block = 4 : i64} : (tensor<1x23x8xf32>, tensor<1x23x8xf32>, tensor<1x23x8xf32>) -> tensor<1x23x8xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all
  }
  %t = hova.slice %p {axis = 1 : i64, offset = 20 : i64} : tensor<1x23x8xf32> -> tensor<1x3x8xf32>
  return %s, %t : tensor<1x4x8xf32>, tensor<1x3x8xf32>
}

// -----

// CHECK-LABEL: @keeps_queries_of_other_blocks
//       CHECK: hova.attention {{.*}} -> tensor<1x23x8xf32>
//       CHECK: hova.slice {{.*}}fires_if = "rows of the first or of the last block are demanded", why = "queries see other keys in each block"
func.func @keeps_queries_of_other_blocks(%q: tensor<1x23x8xf32>) -> tensor<1x5x8xf32> {
  %o = hova.attention %q, %q, %q {heads = 2 : i64, block = 4 : i64} : (tensor<1x23x8xf32>, tensor<1x23x8xf32>, tensor<1x23x8xf32>) -> tensor<1x23x8xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all
  }
  %s = hova.slice %o {axis = 1 : i64, offset = 0 : i64} : tensor<1x23x8xf32> -> tensor<1x5x8xf32>
  return %s : tensor<1x5x8xf32>
}

// -----

// The region comes along, and query 0 is the first that is demanded.
// CHECK-LABEL: @narrows_queries_of_causal_blocks
//       CHECK: hova.attention {{.*}}computes 2 of 23 rows{{.*}} -> tensor<1x2x8xf32>
//       CHECK: %[[FIRST:.*]] = arith.constant 21 : index
//       CHECK: %[[QUERY:.*]] = arith.addi %query, %[[FIRST]] : index
//       CHECK: arith.cmpi sle, %key, %[[QUERY]] : index
//   CHECK-NOT: block
//       CHECK: return
func.func @narrows_queries_of_causal_blocks(%q: tensor<1x23x8xf32>) -> tensor<1x2x8xf32> {
  %o = hova.attention %q, %q, %q {heads = 2 : i64, block = 4 : i64} : (tensor<1x23x8xf32>, tensor<1x23x8xf32>, tensor<1x23x8xf32>) -> tensor<1x23x8xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %kept = arith.cmpi sle, %key, %query : index
    hova.score_yield %raw kept %kept
  }
  %s = hova.slice %o {axis = 1 : i64, offset = 21 : i64} : tensor<1x23x8xf32> -> tensor<1x2x8xf32>
  return %s : tensor<1x2x8xf32>
}
