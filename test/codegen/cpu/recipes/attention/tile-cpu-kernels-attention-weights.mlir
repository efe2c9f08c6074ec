// RUN: hova-opt %s --split-input-file --hova-tile-cpu-kernels --canonicalize --cse | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// Scores are weights: no maximum is looked for, nothing becomes an exponential
// and nothing is divided. Where a key is hidden, or its score is -inf, the
// weight is 0.
// CHECK-LABEL: func.func private @kernel_weighs(
// CHECK: %[[KEPT:.*]] = arith.cmpi sge
// CHECK-NEXT: %[[SCORE:.*]] = arith.select %[[KEPT]], %{{.*}}, %[[ZERO:[a-z0-9_]+]] : vector<16xi1>, vector<16xf32>
// CHECK-NEXT: %[[MASKED:.*]] = arith.cmpf oeq, %[[SCORE]], %{{.*}} : vector<16xf32>
// CHECK-NEXT: %[[WEIGHT:.*]] = arith.select %[[MASKED]], %[[ZERO]], %[[SCORE]]
// CHECK-NOT: hova.exp2
// CHECK-NOT: arith.divf
// CHECK-NOT: vector.reduction
// CHECK: return
func.func @main(%q: tensor<1x4x16xf32>, %k: tensor<1x32x16xf32>) -> tensor<1x4x16xf32> {
  %out = hova.kernel "weighs" units<batch 1, head 2> (%q, %k) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 1>} {
  ^bb0(%q_: tensor<1x4x16xf32>, %k_: tensor<1x32x16xf32>):
    %s = hova.stage [#hova.layout<rows 16>] {
      %r = hova.attention %q_, %k_, %k_ {heads = 2 : i64, normalization = #hova<normalization none>}
          : (tensor<1x4x16xf32>, tensor<1x32x16xf32>, tensor<1x32x16xf32>) -> tensor<1x4x16xf32> scores {
      ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
        %scale = hova.number 0.25
        %score = arith.mulf %raw, %scale : f32
        %eight = arith.constant 8 : index
        %far = arith.muli %query, %eight : index
        %kept = arith.cmpi sge, %far, %key : index
        hova.score_yield %score kept %kept
      }
      hova.yield %r : tensor<1x4x16xf32>
    } : tensor<1x4x16xf32>
    hova.yield %s : tensor<1x4x16xf32>
  } : (tensor<1x4x16xf32>, tensor<1x32x16xf32>) -> tensor<1x4x16xf32>
  return %out : tensor<1x4x16xf32>
}
