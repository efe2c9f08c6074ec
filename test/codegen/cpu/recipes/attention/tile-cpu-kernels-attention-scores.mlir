// Scores that are all that is read of an attention.

// RUN: hova-opt %s --hova-tile-cpu-kernels --canonicalize --cse | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// They go from registers to scratch and, scaled, to the result. Nothing reads
// values, and masks come after them.
// CHECK-LABEL: func.func private @kernel_gives_scores_alone(
// CHECK: %[[SCORES:.*]] = memref.view %{{.*}} to memref<3x{{[0-9]+}}xf32>
// CHECK: %[[TILE:.*]] = hova_cpu.tile_product %{{.*}} depth %c8
// CHECK: hova_cpu.tile_store %[[TILE]], %[[SCORES]]
// CHECK: %[[SCORE:.*]] = vector.load %[[SCORES]]
// CHECK: %[[SCALED:.*]] = arith.mulf %[[SCORE]], %{{.*}} : vector<16xf32>
// CHECK: vector.maskedstore %{{.*}}, %{{.*}}, %[[SCALED]]
// CHECK-NOT: hova.exp2
// CHECK-NOT: hova_cpu.tile_product
// CHECK: return
func.func @main(%q: tensor<1x3x16xf32>, %k: tensor<1x9x16xf32>, %v: tensor<1x9x16xf32>, %valid: tensor<1x9xi1>) -> tensor<1x2x3x9xf32> {
  %out = hova.kernel "gives_scores_alone" units<batch 1, head 2> (%q, %k, %v, %valid) attributes {schedule = #hova_cpu.schedule<tile = 4x32, lanes = 64, grain = 1>} {
  ^bb0(%q_: tensor<1x3x16xf32>, %k_: tensor<1x9x16xf32>, %v_: tensor<1x9x16xf32>, %valid_: tensor<1x9xi1>):
    %r_out = hova.stage [#hova.layout<rows 9>] {
      %r, %s = hova.attention %q_, %k_, %v_ captured(%valid_)
          {heads = 2 : i64}
          : (tensor<1x3x16xf32>, tensor<1x9x16xf32>, tensor<1x9x16xf32>, tensor<1x9xi1>) -> (tensor<1x3x16xf32>, tensor<1x2x3x9xf32>) scores {
      ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index, %not_padding: tensor<1x9xi1>):
        %scale = hova.number 0.25
        %scaled = arith.mulf %raw, %scale : f32
        %shift = arith.constant 6 : index
        %position = arith.addi %query, %shift : index
        %not_later = arith.cmpi sle, %key, %position : index
        %is_valid = hova.element %not_padding[%batch, %key] : tensor<1x9xi1>
        %seen = arith.andi %not_later, %is_valid : i1
        hova.score_yield %scaled kept %seen carried %scaled
      }
      hova.yield %s : tensor<1x2x3x9xf32>
    } : tensor<1x2x3x9xf32>
    hova.yield %r_out : tensor<1x2x3x9xf32>
  } : (tensor<1x3x16xf32>, tensor<1x9x16xf32>, tensor<1x9x16xf32>, tensor<1x9xi1>) -> tensor<1x2x3x9xf32>
  return %out : tensor<1x2x3x9xf32>
}
