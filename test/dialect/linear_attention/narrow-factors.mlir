// RUN: hova-opt %s --hova-split-reductions='policy={#hova_cuda.fusion}' | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// Where a policy asks for narrow parts, those of an attention are if all of its factors are of one type of 16 bits: values of f32 stay so.
// CHECK-LABEL: @main
// CHECK: hova.key_summary relu {{.*}}narrow
// CHECK: hova.summary_attention relu {{.*}}narrow
// CHECK-NOT: narrow
// CHECK: hova.summary_attention relu
// CHECK-NOT: narrow
func.func @main(%k: tensor<1x9x8xbf16>, %v: tensor<1x9x8xf32>) -> (tensor<1x9x8xbf16>, tensor<1x9x8xbf16>) {
  %o = hova.linear_attention relu %k, %k, %k {heads = 2 : i64}
      : (tensor<1x9x8xbf16>, tensor<1x9x8xbf16>, tensor<1x9x8xbf16>) -> tensor<1x9x8xbf16>
  %p = hova.linear_attention relu %k, %k, %v {heads = 2 : i64}
      : (tensor<1x9x8xbf16>, tensor<1x9x8xbf16>, tensor<1x9x8xf32>) -> tensor<1x9x8xbf16>
  return %o, %p : tensor<1x9x8xbf16>, tensor<1x9x8xbf16>
}
