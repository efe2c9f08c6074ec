// RUN: hova-opt %s --verify-roundtrip | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// CHECK-LABEL: @attends
// CHECK: hova.linear_attention softmax %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} features(%{{[a-z0-9_]+}}) {eps = 1.250000e-01 : f64, heads = 2 : i64} : (tensor<1x9x8xf32>, tensor<1x7x8xf32>, tensor<1x7x6xf32>, tensor<4x10xf32>) -> tensor<1x9x6xf32>
func.func @attends(%q: tensor<1x9x8xf32>, %k: tensor<1x7x8xf32>, %v: tensor<1x7x6xf32>, %w: tensor<4x10xf32>) -> tensor<1x9x6xf32> {
  %r = hova.linear_attention softmax %q, %k, %v features(%w) {eps = 1.250000e-01 : f64, heads = 2 : i64} : (tensor<1x9x8xf32>, tensor<1x7x8xf32>, tensor<1x7x6xf32>, tensor<4x10xf32>) -> tensor<1x9x6xf32>
  return %r : tensor<1x9x6xf32>
}

// CHECK-LABEL: @attends_causally_without_features
// CHECK: hova.linear_attention relu %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} key_valid(%{{[a-z0-9_]+}}) {causal, heads = 2 : i64} : (tensor<1x9x8xf32>, tensor<1x9x8xf32>, tensor<1x9x6xf32>, tensor<1x9xi1>) -> tensor<1x9x6xf32>
func.func @attends_causally_without_features(%q: tensor<1x9x8xf32>, %k: tensor<1x9x8xf32>, %v: tensor<1x9x6xf32>, %valid: tensor<1x9xi1>) -> tensor<1x9x6xf32> {
  %r = hova.linear_attention relu %q, %k, %v key_valid(%valid) {causal, heads = 2 : i64} : (tensor<1x9x8xf32>, tensor<1x9x8xf32>, tensor<1x9x6xf32>, tensor<1x9xi1>) -> tensor<1x9x6xf32>
  return %r : tensor<1x9x6xf32>
}

// CHECK-LABEL: @attends_over_unknown_lengths
// CHECK: hova.linear_attention exp %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} features(%{{[a-z0-9_]+}}) {heads = 2 : i64} : (tensor<?x?x8xf32>, tensor<?x?x8xf32>, tensor<?x?x6xf32>, tensor<4x10xf32>) -> tensor<?x?x6xf32>
func.func @attends_over_unknown_lengths(%q: tensor<?x?x8xf32>, %k: tensor<?x?x8xf32>, %v: tensor<?x?x6xf32>, %w: tensor<4x10xf32>) -> tensor<?x?x6xf32> {
  %r = hova.linear_attention exp %q, %k, %v features(%w) {heads = 2 : i64} : (tensor<?x?x8xf32>, tensor<?x?x8xf32>, tensor<?x?x6xf32>, tensor<4x10xf32>) -> tensor<?x?x6xf32>
  return %r : tensor<?x?x6xf32>
}

// CHECK-LABEL: @summarizes_keys
// CHECK: hova.key_summary softmax %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} features(%{{[a-z0-9_]+}}) {block = 4 : i64, heads = 2 : i64} : (tensor<1x7x8xf32>, tensor<1x7x6xf32>, tensor<4x10xf32>) -> tensor<1x2x2x12x4xf32>
func.func @summarizes_keys(%k: tensor<1x7x8xf32>, %v: tensor<1x7x6xf32>, %w: tensor<4x10xf32>) -> tensor<1x2x2x12x4xf32> {
  %r = hova.key_summary softmax %k, %v features(%w) {block = 4 : i64, heads = 2 : i64} : (tensor<1x7x8xf32>, tensor<1x7x6xf32>, tensor<4x10xf32>) -> tensor<1x2x2x12x4xf32>
  return %r : tensor<1x2x2x12x4xf32>
}

// CHECK-LABEL: @summarizes_rectified_keys
// CHECK: hova.key_summary relu %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} key_valid(%{{[a-z0-9_]+}}) {block = 4 : i64, eps = 1.250000e-01 : f64, heads = 2 : i64} : (tensor<1x7x8xf32>, tensor<1x7x6xf32>, tensor<1x7xi1>) -> tensor<1x2x2x4x4xf32>
func.func @summarizes_rectified_keys(%k: tensor<1x7x8xf32>, %v: tensor<1x7x6xf32>, %valid: tensor<1x7xi1>) -> tensor<1x2x2x4x4xf32> {
  %r = hova.key_summary relu %k, %v key_valid(%valid) {block = 4 : i64, eps = 1.250000e-01 : f64, heads = 2 : i64} : (tensor<1x7x8xf32>, tensor<1x7x6xf32>, tensor<1x7xi1>) -> tensor<1x2x2x4x4xf32>
  return %r : tensor<1x2x2x4x4xf32>
}

// CHECK-LABEL: @merges_sums
// CHECK: hova.merge_summaries softmax %{{[a-z0-9_]+}} : tensor<?x2x3x12x4xf32> -> tensor<?x2x1x12x4xf32>
func.func @merges_sums(%s: tensor<?x2x3x12x4xf32>) -> tensor<?x2x1x12x4xf32> {
  %r = hova.merge_summaries softmax %s : tensor<?x2x3x12x4xf32> -> tensor<?x2x1x12x4xf32>
  return %r : tensor<?x2x1x12x4xf32>
}

// CHECK-LABEL: @merges_sums_of_any_length
// CHECK: hova.merge_summaries softmax %{{[a-z0-9_]+}} {block = 4 : i64}
func.func @merges_sums_of_any_length(%s: tensor<2x2x3x12x4xf32>) -> tensor<2x2x1x12x4xf32> {
  %r = hova.merge_summaries softmax %s {block = 4 : i64} : tensor<2x2x3x12x4xf32> -> tensor<2x2x1x12x4xf32>
  return %r : tensor<2x2x1x12x4xf32>
}

// CHECK-LABEL: @merges_sums_before_each_block
// CHECK: hova.merge_summaries softmax exclusive %{{[a-z0-9_]+}} : tensor<?x2x3x12x4xf32> -> tensor<?x2x3x12x4xf32>
func.func @merges_sums_before_each_block(%s: tensor<?x2x3x12x4xf32>) -> tensor<?x2x3x12x4xf32> {
  %r = hova.merge_summaries softmax exclusive %s : tensor<?x2x3x12x4xf32> -> tensor<?x2x3x12x4xf32>
  return %r : tensor<?x2x3x12x4xf32>
}

// CHECK-LABEL: @reads_sums
// CHECK: hova.summary_attention softmax %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} features(%{{[a-z0-9_]+}}) {block = 4 : i64, heads = 2 : i64} : (tensor<1x9x8xf32>, tensor<1x2x3x12x4xf32>, tensor<4x10xf32>) -> tensor<1x9x6xf32>
func.func @reads_sums(%q: tensor<1x9x8xf32>, %s: tensor<1x2x3x12x4xf32>, %w: tensor<4x10xf32>) -> tensor<1x9x6xf32> {
  %r = hova.summary_attention softmax %q, %s features(%w) {block = 4 : i64, heads = 2 : i64} : (tensor<1x9x8xf32>, tensor<1x2x3x12x4xf32>, tensor<4x10xf32>) -> tensor<1x9x6xf32>
  return %r : tensor<1x9x6xf32>
}

// CHECK-LABEL: @reads_sums_and_keys
// CHECK: hova.summary_attention softmax %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} key(%{{[a-z0-9_]+}}) value(%{{[a-z0-9_]+}}) features(%{{[a-z0-9_]+}}) key_valid(%{{[a-z0-9_]+}}) {block = 4 : i64, heads = 2 : i64} : (tensor<1x9x8xf32>, tensor<1x2x3x12x4xf32>, tensor<1x9x8xf32>, tensor<1x9x6xf32>, tensor<4x10xf32>, tensor<1x9xi1>) -> tensor<1x9x6xf32>
func.func @reads_sums_and_keys(%q: tensor<1x9x8xf32>, %s: tensor<1x2x3x12x4xf32>, %k: tensor<1x9x8xf32>, %v: tensor<1x9x6xf32>, %w: tensor<4x10xf32>, %valid: tensor<1x9xi1>) -> tensor<1x9x6xf32> {
  %r = hova.summary_attention softmax %q, %s key(%k) value(%v) features(%w) key_valid(%valid) {block = 4 : i64, heads = 2 : i64} : (tensor<1x9x8xf32>, tensor<1x2x3x12x4xf32>, tensor<1x9x8xf32>, tensor<1x9x6xf32>, tensor<4x10xf32>, tensor<1x9xi1>) -> tensor<1x9x6xf32>
  return %r : tensor<1x9x6xf32>
}

// CHECK-LABEL: @attends_with_narrow_factors
// CHECK: hova.linear_attention relu %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} {heads = 2 : i64, narrow} : (tensor<1x9x8xbf16>, tensor<1x9x8xbf16>, tensor<1x9x6xbf16>) -> tensor<1x9x6xbf16>
func.func @attends_with_narrow_factors(%q: tensor<1x9x8xbf16>, %k: tensor<1x9x8xbf16>, %v: tensor<1x9x6xbf16>) -> tensor<1x9x6xbf16> {
  %r = hova.linear_attention relu %q, %k, %v {heads = 2 : i64, narrow} : (tensor<1x9x8xbf16>, tensor<1x9x8xbf16>, tensor<1x9x6xbf16>) -> tensor<1x9x6xbf16>
  return %r : tensor<1x9x6xbf16>
}

// CHECK-LABEL: @summarizes_keys_by_narrow_factors
// CHECK: hova.key_summary exp %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} features(%{{[a-z0-9_]+}}) {block = 4 : i64, heads = 2 : i64, narrow} : (tensor<1x7x8xf16>, tensor<1x7x6xf16>, tensor<4x10xf32>) -> tensor<1x2x2x10x4xf32>
func.func @summarizes_keys_by_narrow_factors(%k: tensor<1x7x8xf16>, %v: tensor<1x7x6xf16>, %w: tensor<4x10xf32>) -> tensor<1x2x2x10x4xf32> {
  %r = hova.key_summary exp %k, %v features(%w) {block = 4 : i64, heads = 2 : i64, narrow} : (tensor<1x7x8xf16>, tensor<1x7x6xf16>, tensor<4x10xf32>) -> tensor<1x2x2x10x4xf32>
  return %r : tensor<1x2x2x10x4xf32>
}

// CHECK-LABEL: @reads_sums_by_narrow_factors
// CHECK: hova.summary_attention relu %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} {block = 4 : i64, heads = 2 : i64, narrow} : (tensor<1x9x8xbf16>, tensor<1x2x3x4x4xf32>) -> tensor<1x9x6xbf16>
func.func @reads_sums_by_narrow_factors(%q: tensor<1x9x8xbf16>, %s: tensor<1x2x3x4x4xf32>) -> tensor<1x9x6xbf16> {
  %r = hova.summary_attention relu %q, %s {block = 4 : i64, heads = 2 : i64, narrow} : (tensor<1x9x8xbf16>, tensor<1x2x3x4x4xf32>) -> tensor<1x9x6xbf16>
  return %r : tensor<1x9x6xbf16>
}

// CHECK-LABEL: @projects_tokens
// CHECK: hova.project_tokens %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} : tensor<?x9x8xf32>, tensor<9x2xf32> -> tensor<?x2x8xf32>
func.func @projects_tokens(%x: tensor<?x9x8xf32>, %w: tensor<9x2xf32>) -> tensor<?x2x8xf32> {
  %r = hova.project_tokens %x, %w : tensor<?x9x8xf32>, tensor<9x2xf32> -> tensor<?x2x8xf32>
  return %r : tensor<?x2x8xf32>
}
