// RUN: hova-opt %s --verify-roundtrip | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// CHECK-LABEL: @attends_to_blocks
// CHECK: hova.block_sparse_attention %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} {block = 4 : i64, heads = 2 : i64} : (tensor<1x23x8xf32>, tensor<1x23x8xf32>, tensor<1x23x6xf32>) -> tensor<1x23x6xf32>
func.func @attends_to_blocks(%q: tensor<1x23x8xf32>, %k: tensor<1x23x8xf32>, %v: tensor<1x23x6xf32>) -> tensor<1x23x6xf32> {
  %r = hova.block_sparse_attention %q, %k, %v {block = 4 : i64, heads = 2 : i64} : (tensor<1x23x8xf32>, tensor<1x23x8xf32>, tensor<1x23x6xf32>) -> tensor<1x23x6xf32>
  return %r : tensor<1x23x6xf32>
}

// CHECK-LABEL: @attends_to_drawn_blocks
// CHECK: %[[TABLE:.*]] = hova.index_table %{{[a-z0-9_]+}} : tensor<2x4x1xf32> -> tensor<2x4x1xi32>
// CHECK: hova.block_sparse_attention %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} random_blocks(%[[TABLE]]) key_valid(%{{[a-z0-9_]+}}) {block = 4 : i64, causal = 3 : i64, heads = 2 : i64, scale = 5.000000e-01 : f64} : (tensor<?x23x8xf32>, tensor<?x23x8xf32>, tensor<?x23x6xf32>, tensor<2x4x1xi32>, tensor<?x23xi1>) -> tensor<?x23x6xf32>
func.func @attends_to_drawn_blocks(%q: tensor<?x23x8xf32>, %k: tensor<?x23x8xf32>, %v: tensor<?x23x6xf32>, %w: tensor<2x4x1xf32>, %valid: tensor<?x23xi1>) -> tensor<?x23x6xf32> {
  %t = hova.index_table %w : tensor<2x4x1xf32> -> tensor<2x4x1xi32>
  %r = hova.block_sparse_attention %q, %k, %v random_blocks(%t) key_valid(%valid) {block = 4 : i64, causal = 3 : i64, heads = 2 : i64, scale = 5.000000e-01 : f64} : (tensor<?x23x8xf32>, tensor<?x23x8xf32>, tensor<?x23x6xf32>, tensor<2x4x1xi32>, tensor<?x23xi1>) -> tensor<?x23x6xf32>
  return %r : tensor<?x23x6xf32>
}
