// RUN: hova-opt %s --split-input-file --hova-split-reductions='length=4' -o %t.once
// RUN: FileCheck %s < %t.once
// RUN: hova-opt %t.once --split-input-file --hova-split-reductions='length=4' -o %t.twice
// RUN: diff %t.once %t.twice
// RUN: hova-opt %s --split-input-file --hova-split-reductions | FileCheck %s --check-prefix=WHOLE
// RUN: hova-opt %s --split-input-file --hova-split-reductions=only-necessary | FileCheck %s --check-prefix=WHOLE
// RUN: hova-opt %s --split-input-file --hova-split-reductions='length=4 merges-apart' | FileCheck %s --check-prefix=MERGED
// RUN: hova-opt %s --split-input-file --hova-split-reductions='policy={#hova_cpu.fusion<part_terms = 5>}' | FileCheck %s --check-prefix=CPU
// RUN: hova-opt %s --split-input-file --hova-split-reductions='policy={#hova_cuda.fusion}' | FileCheck %s --check-prefix=CUDA
// SPDX-License-Identifier: Apache-2.0

// Seven keys are blocks of four and three, nine queries three of three. Softmax
// adds eps when the sums are read, and keeps what it is multiplied with.
// CHECK-LABEL: @main
// CHECK-SAME: %[[Q:.*]]: tensor<1x9x8xf32>, %[[K:.*]]: tensor<1x7x8xf32>, %[[V:.*]]: tensor<1x7x6xf32>, %[[W:.*]]: tensor<4x10xf32>, %[[VALID:.*]]: tensor<1x7xi1>
// CHECK: %[[SUMS:.*]] = hova.key_summary softmax %[[K]], %[[V]] features(%[[W]]) key_valid(%[[VALID]]) {block = 4 : i64, heads = 2 : i64, scale = 5.000000e-01 : f64} : {{.*}} -> tensor<1x2x2x12x4xf32>
// CHECK: hova.summary_attention softmax %[[Q]], %[[SUMS]] features(%[[W]]) {block = 3 : i64, eps = 1.250000e-01 : f64, heads = 2 : i64, hova.require = "fused", scale = 5.000000e-01 : f64, stabilizer = 2.500000e-01 : f64}
// CHECK-NOT: hova.linear_attention
// MERGED-LABEL: @main
// MERGED: %[[SUMS:.*]] = hova.key_summary softmax {{.*}} -> tensor<1x2x2x12x4xf32>
// MERGED: %[[ALL:.*]] = hova.merge_summaries softmax %[[SUMS]] : tensor<1x2x2x12x4xf32> -> tensor<1x2x1x12x4xf32>
// MERGED: hova.summary_attention softmax %{{.*}}, %[[ALL]] features
// WHOLE-LABEL: @main
// WHOLE: hova.key_summary {{.*}}block = 7 : i64
// WHOLE: hova.summary_attention {{.*}}block = 5 : i64
// CPU-LABEL: @main
// CPU: hova.key_summary {{.*}}block = 5 : i64
// CPU-NOT: hova.merge_summaries
// CPU: hova.summary_attention {{.*}}block = 5 : i64
// Of one block there is nothing to merge.
// CUDA-LABEL: @main
// CUDA: hova.key_summary {{.*}}block = 7 : i64
// CUDA-NOT: hova.merge_summaries
// CUDA: hova.summary_attention {{.*}}block = 9 : i64
func.func @main(%q: tensor<1x9x8xf32>, %k: tensor<1x7x8xf32>, %v: tensor<1x7x6xf32>,
                                    %w: tensor<4x10xf32>, %valid: tensor<1x7xi1>) -> tensor<1x9x6xf32> {
  %o = hova.linear_attention softmax %q, %k, %v features(%w) key_valid(%valid)
      {heads = 2 : i64, scale = 0.5 : f64, eps = 0.125 : f64, stabilizer = 0.25 : f64, hova.require = "fused"}
      : (tensor<1x9x8xf32>, tensor<1x7x8xf32>, tensor<1x7x6xf32>, tensor<4x10xf32>, tensor<1x7xi1>) -> tensor<1x9x6xf32>
  return %o : tensor<1x9x6xf32>
}

// -----

// A causal block of queries reads the keys of its own block as well. Rectified
// features have their eps from the start.
// CHECK-LABEL: @main
// CHECK-SAME: %[[Q:.*]]: tensor<1x9x8xf32>, %[[K:.*]]: tensor<1x9x8xf32>, %[[V:.*]]: tensor<1x9x6xf32>, %[[VALID:.*]]: tensor<1x9xi1>
// CHECK: %[[SUMS:.*]] = hova.key_summary relu %[[K]], %[[V]] key_valid(%[[VALID]]) {block = 4 : i64, eps = 1.250000e-01 : f64, {{.*}} -> tensor<1x2x3x4x4xf32>
// MERGED-LABEL: @main
// MERGED: %[[SUMS:.*]] = hova.key_summary relu {{.*}}block = 4 : i64{{.*}} -> tensor<1x2x3x4x4xf32>
// MERGED: %[[BEFORE:.*]] = hova.merge_summaries relu exclusive %[[SUMS]]
// MERGED: hova.summary_attention relu %{{.*}}, %[[BEFORE]] key({{.*}}block = 4 : i64{{.*}}merged
// CHECK: hova.summary_attention relu %[[Q]], %[[SUMS]] key(%[[K]]) value(%[[V]]) key_valid(%[[VALID]]) {block = 4 : i64,
func.func @main(%q: tensor<1x9x8xf32>, %k: tensor<1x9x8xf32>, %v: tensor<1x9x6xf32>,
                                           %valid: tensor<1x9xi1>) -> tensor<1x9x6xf32> {
  %o = hova.linear_attention relu %q, %k, %v key_valid(%valid) {causal, heads = 2 : i64, eps = 0.125 : f64}
      : (tensor<1x9x8xf32>, tensor<1x9x8xf32>, tensor<1x9x6xf32>, tensor<1x9xi1>) -> tensor<1x9x6xf32>
  return %o : tensor<1x9x6xf32>
}

// -----

// CHECK-LABEL: @main
// CHECK: hova.linear_attention
// CHECK-NOT: hova.key_summary
func.func @main(%q: tensor<1x?x8xf32>, %k: tensor<1x7x8xf32>) -> tensor<1x?x8xf32> {
  %o = hova.linear_attention relu %q, %k, %k {heads = 2 : i64}
      : (tensor<1x?x8xf32>, tensor<1x7x8xf32>, tensor<1x7x8xf32>) -> tensor<1x?x8xf32>
  return %o : tensor<1x?x8xf32>
}

// -----

// Where tokens are a range, queries are divided as keys are, so that how many blocks an item has says how many of either:
// nine queries in blocks of four, not three. What merges sums is told how many tokens a block has.
// CHECK-LABEL: @main
// CHECK: hova.key_summary relu {{.*}}block = 4 : i64
// CHECK: hova.summary_attention relu {{.*}}block = 4 : i64
// MERGED-LABEL: @main
// MERGED: hova.key_summary relu {{.*}}block = 4 : i64
// MERGED: hova.merge_summaries relu %{{.*}} {block = 4 : i64}
// MERGED: hova.summary_attention relu {{.*}}block = 4 : i64
func.func @main(%q: tensor<2x9x8xf32>) -> tensor<2x9x8xf32> attributes {hova.ranges = array<i64: 1, 2, 1, 9>} {
  %o = hova.linear_attention relu %q, %q, %q {heads = 2 : i64}
      : (tensor<2x9x8xf32>, tensor<2x9x8xf32>, tensor<2x9x8xf32>) -> tensor<2x9x8xf32>
  return %o : tensor<2x9x8xf32>
}

// -----

// Causal queries compute what their own part holds again, so that a GPU has shorter parts for them.
// CUDA-LABEL: @main
// CUDA: %[[SUMS:.*]] = hova.key_summary relu {{.*}}block = 256 : i64{{.*}} -> tensor<1x2x4x4x5xf32>
// CUDA: %[[ALL:.*]] = hova.merge_summaries relu %[[SUMS]]
// CUDA: hova.summary_attention relu %{{.*}}, %[[ALL]] {block = 250 : i64
// CUDA: hova.key_summary relu {{.*}}block = 64 : i64
// CUDA: hova.merge_summaries relu exclusive
// CUDA: hova.summary_attention {{.*}}block = 64 : i64{{.*}}merged
func.func @main(%q: tensor<1x1000x8xf32>, %k: tensor<1x1000x8xf32>) -> (tensor<1x1000x8xf32>, tensor<1x1000x8xf32>) {
  %o = hova.linear_attention relu %q, %k, %k {heads = 2 : i64}
      : (tensor<1x1000x8xf32>, tensor<1x1000x8xf32>, tensor<1x1000x8xf32>) -> tensor<1x1000x8xf32>
  %c = hova.linear_attention relu %q, %k, %k {causal, heads = 2 : i64}
      : (tensor<1x1000x8xf32>, tensor<1x1000x8xf32>, tensor<1x1000x8xf32>) -> tensor<1x1000x8xf32>
  return %o, %c : tensor<1x1000x8xf32>, tensor<1x1000x8xf32>
}

// -----

// Parts belong to the site that the whole was a part of.
// CHECK-LABEL: @main
// CHECK: hova.key_summary {{.*}}hova.site = {kind = "attention", path = "a"}
// CHECK: hova.summary_attention {{.*}}hova.site = {kind = "attention", path = "a"}
// CHECK-NOT: hova.rewrites
func.func @main(%q: tensor<1x9x8xf32>) -> tensor<1x9x8xf32> {
  %o = hova.linear_attention relu %q, %q, %q {heads = 2 : i64, hova.site = {kind = "attention", path = "a"}}
      : (tensor<1x9x8xf32>, tensor<1x9x8xf32>, tensor<1x9x8xf32>) -> tensor<1x9x8xf32>
  return %o : tensor<1x9x8xf32>
}
