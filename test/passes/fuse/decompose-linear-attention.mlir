// RUN: hova-opt %s --split-input-file --hova-decompose-linear-attention='block-tokens=4 causal-block-tokens=4' -o %t.once
// RUN: FileCheck %s < %t.once
// RUN: hova-opt %t.once --split-input-file --hova-decompose-linear-attention='block-tokens=4 causal-block-tokens=4' -o %t.twice
// RUN: diff %t.once %t.twice
// RUN: hova-opt %s --split-input-file --hova-decompose-linear-attention | FileCheck %s --check-prefix=WHOLE
// RUN: hova-opt %s --split-input-file --hova-decompose-linear-attention='block-tokens=4 causal-block-tokens=3 merges-blocks' | FileCheck %s --check-prefix=MERGED
// SPDX-License-Identifier: Apache-2.0

// Seven keys are blocks of four and three, nine queries three of three. Softmax
// adds eps when the sums are read, and keeps what it is multiplied with.
// CHECK-LABEL: @divides_keys_and_queries
// CHECK-SAME: %[[Q:.*]]: tensor<1x9x8xf32>, %[[K:.*]]: tensor<1x7x8xf32>, %[[V:.*]]: tensor<1x7x6xf32>, %[[W:.*]]: tensor<4x10xf32>, %[[VALID:.*]]: tensor<1x7xi1>
// CHECK: %[[SUMS:.*]] = hova.key_summary softmax %[[K]], %[[V]] features(%[[W]]) key_valid(%[[VALID]]) {block = 4 : i64, heads = 2 : i64, scale = 5.000000e-01 : f64} : {{.*}} -> tensor<1x2x2x12x4xf32>
// CHECK: hova.summary_attention softmax %[[Q]], %[[SUMS]] features(%[[W]]) {block = 3 : i64, eps = 1.250000e-01 : f64, heads = 2 : i64, hova.require = "fused", scale = 5.000000e-01 : f64, stabilizer = 2.500000e-01 : f64}
// CHECK-NOT: hova.linear_attention
// MERGED-LABEL: @divides_keys_and_queries
// MERGED: %[[SUMS:.*]] = hova.key_summary softmax {{.*}} -> tensor<1x2x2x12x4xf32>
// MERGED: %[[ALL:.*]] = hova.merge_summaries softmax %[[SUMS]] : tensor<1x2x2x12x4xf32> -> tensor<1x2x1x12x4xf32>
// MERGED: hova.summary_attention softmax %{{.*}}, %[[ALL]] features
// MERGED-LABEL: @keeps_the_keys_of_causal_blocks
// MERGED: %[[SUMS:.*]] = hova.key_summary relu {{.*}}block = 3 : i64{{.*}} -> tensor<1x2x3x4x4xf32>
// MERGED: %[[BEFORE:.*]] = hova.merge_summaries relu exclusive %[[SUMS]]
// MERGED: hova.summary_attention relu %{{.*}}, %[[BEFORE]] key({{.*}}block = 3 : i64{{.*}}merged
// WHOLE-LABEL: @divides_keys_and_queries
// WHOLE: hova.key_summary {{.*}}block = 7 : i64
// WHOLE: hova.summary_attention {{.*}}block = 9 : i64
func.func @divides_keys_and_queries(%q: tensor<1x9x8xf32>, %k: tensor<1x7x8xf32>, %v: tensor<1x7x6xf32>,
                                    %w: tensor<4x10xf32>, %valid: tensor<1x7xi1>) -> tensor<1x9x6xf32> {
  %o = hova.linear_attention softmax %q, %k, %v features(%w) key_valid(%valid)
      {heads = 2 : i64, scale = 0.5 : f64, eps = 0.125 : f64, stabilizer = 0.25 : f64, hova.require = "fused"}
      : (tensor<1x9x8xf32>, tensor<1x7x8xf32>, tensor<1x7x6xf32>, tensor<4x10xf32>, tensor<1x7xi1>) -> tensor<1x9x6xf32>
  return %o : tensor<1x9x6xf32>
}

// -----

// A causal block of queries reads the keys of its own block as well. Rectified
// features have their eps from the start.
// CHECK-LABEL: @keeps_the_keys_of_causal_blocks
// CHECK-SAME: %[[Q:.*]]: tensor<1x9x8xf32>, %[[K:.*]]: tensor<1x9x8xf32>, %[[V:.*]]: tensor<1x9x6xf32>, %[[VALID:.*]]: tensor<1x9xi1>
// CHECK: %[[SUMS:.*]] = hova.key_summary relu %[[K]], %[[V]] key_valid(%[[VALID]]) {block = 4 : i64, eps = 1.250000e-01 : f64, {{.*}} -> tensor<1x2x3x4x4xf32>
// CHECK: hova.summary_attention relu %[[Q]], %[[SUMS]] key(%[[K]]) value(%[[V]]) key_valid(%[[VALID]]) {block = 4 : i64,
func.func @keeps_the_keys_of_causal_blocks(%q: tensor<1x9x8xf32>, %k: tensor<1x9x8xf32>, %v: tensor<1x9x6xf32>,
                                           %valid: tensor<1x9xi1>) -> tensor<1x9x6xf32> {
  %o = hova.linear_attention relu %q, %k, %v key_valid(%valid) {causal, heads = 2 : i64, eps = 0.125 : f64}
      : (tensor<1x9x8xf32>, tensor<1x9x8xf32>, tensor<1x9x6xf32>, tensor<1x9xi1>) -> tensor<1x9x6xf32>
  return %o : tensor<1x9x6xf32>
}

// -----

// CHECK-LABEL: @keeps_what_has_no_static_shape
// CHECK: hova.linear_attention
// CHECK-NOT: hova.key_summary
func.func @keeps_what_has_no_static_shape(%q: tensor<1x?x8xf32>, %k: tensor<1x7x8xf32>) -> tensor<1x?x8xf32> {
  %o = hova.linear_attention relu %q, %k, %k {heads = 2 : i64}
      : (tensor<1x?x8xf32>, tensor<1x7x8xf32>, tensor<1x7x8xf32>) -> tensor<1x?x8xf32>
  return %o : tensor<1x?x8xf32>
}
