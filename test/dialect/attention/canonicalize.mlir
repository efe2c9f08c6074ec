// RUN: hova-opt %s --split-input-file --canonicalize --hova-decompose-compound | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// CHECK-LABEL: @folds_constants_of_the_region
// CHECK: hova.attention
// CHECK: %[[ALL:.*]] = arith.constant true
// CHECK: hova.score_yield %raw kept %[[ALL]]
func.func @folds_constants_of_the_region(%q: tensor<1x23x8xf32>, %v: tensor<1x23x6xf32>) -> tensor<1x23x6xf32> {
  %r = hova.attention %q, %q, %v {heads = 2 : i64} : (tensor<1x23x8xf32>, tensor<1x23x8xf32>, tensor<1x23x6xf32>) -> tensor<1x23x6xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %zero = arith.constant 0 : index
    %same = arith.addi %key, %zero : index
    %kept = arith.cmpi sle, %same, %key : index
    hova.score_yield %raw kept %kept
  }
  return %r : tensor<1x23x6xf32>
}

// -----

// CHECK-LABEL: @captures_what_the_region_reads
// CHECK-SAME: %{{.*}}: tensor<1x23xi1>, %[[BIAS:.*]]: tensor<2xf32>
// CHECK: hova.attention {{.*}} captured(%[[BIAS]])
// CHECK-NEXT: ^bb0({{.*}}, %[[SLOPES:.*]]: tensor<2xf32>):
// CHECK: hova.element %[[SLOPES]][%head]
func.func @captures_what_the_region_reads(%q: tensor<1x23x8xf32>, %v: tensor<1x23x6xf32>, %valid: tensor<1x23xi1>, %bias: tensor<2xf32>) -> tensor<1x23x6xf32> {
  %r = hova.attention %q, %q, %v captured(%valid, %bias) {heads = 2 : i64} : (tensor<1x23x8xf32>, tensor<1x23x8xf32>, tensor<1x23x6xf32>, tensor<1x23xi1>, tensor<2xf32>) -> tensor<1x23x6xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index, %unread: tensor<1x23xi1>, %slopes: tensor<2xf32>):
    %number = hova.element %slopes[%head] : tensor<2xf32>
    %score = arith.addf %raw, %number : f32
    %all = arith.constant true
    hova.score_yield %score kept %all
  }
  return %r : tensor<1x23x6xf32>
}
