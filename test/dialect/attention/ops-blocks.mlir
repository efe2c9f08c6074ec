// RUN: hova-opt %s --verify-roundtrip | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// CHECK-LABEL: @attends_to_blocks
// CHECK: hova.attention %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} {block = 4 : i64, heads = 2 : i64} : (tensor<1x23x8xf32>, tensor<1x23x8xf32>, tensor<1x23x6xf32>) -> tensor<1x23x6xf32> scores {
// CHECK-NEXT: ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
// CHECK: hova.score_yield %raw kept %{{.*}}
func.func @attends_to_blocks(%q: tensor<1x23x8xf32>, %k: tensor<1x23x8xf32>, %v: tensor<1x23x6xf32>) -> tensor<1x23x6xf32> {
  %r = hova.attention %q, %k, %v {block = 4 : i64, heads = 2 : i64} : (tensor<1x23x8xf32>, tensor<1x23x8xf32>, tensor<1x23x6xf32>) -> tensor<1x23x6xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all
  }
  return %r : tensor<1x23x6xf32>
}

// CHECK-LABEL: @attends_to_drawn_blocks
// CHECK: %[[TABLE:.*]] = hova.index_table %{{[a-z0-9_]+}} : tensor<2x4x1xf32> -> tensor<2x4x1xi32>
// CHECK: hova.attention %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} random_blocks(%[[TABLE]]) captured(%{{[a-z0-9_]+}}) {block = 4 : i64, heads = 2 : i64} : (tensor<?x23x8xf32>, tensor<?x23x8xf32>, tensor<?x23x6xf32>, tensor<2x4x1xi32>, tensor<?x23xi1>) -> tensor<?x23x6xf32> scores {
// CHECK-NEXT: ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index, %[[VALID:.*]]: tensor<?x23xi1>):
// CHECK: hova.element %[[VALID]][%batch, %key] : tensor<?x23xi1>
func.func @attends_to_drawn_blocks(%q: tensor<?x23x8xf32>, %k: tensor<?x23x8xf32>, %v: tensor<?x23x6xf32>, %w: tensor<2x4x1xf32>, %valid: tensor<?x23xi1>) -> tensor<?x23x6xf32> {
  %t = hova.index_table %w : tensor<2x4x1xf32> -> tensor<2x4x1xi32>
  %r = hova.attention %q, %k, %v random_blocks(%t) captured(%valid) {block = 4 : i64, heads = 2 : i64} : (tensor<?x23x8xf32>, tensor<?x23x8xf32>, tensor<?x23x6xf32>, tensor<2x4x1xi32>, tensor<?x23xi1>) -> tensor<?x23x6xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index, %is_valid: tensor<?x23xi1>):
    %scale = hova.number 0.5
    %score = arith.mulf %raw, %scale : f32
    %valid_key = hova.element %is_valid[%batch, %key] : tensor<?x23xi1>
    %not_later = arith.cmpi sle, %key, %query : index
    %kept = arith.andi %valid_key, %not_later : i1
    hova.score_yield %score kept %kept
  }
  return %r : tensor<?x23x6xf32>
}
