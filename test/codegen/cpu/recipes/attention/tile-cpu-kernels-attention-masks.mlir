// Masks and limits of scores, and rows without a key.

// RUN: hova-opt %s --split-input-file --hova-tile-cpu-kernels --canonicalize --cse | FileCheck %s
// RUN: hova-opt %s --split-input-file --hova-tile-cpu-kernels --hova-tile-cpu-kernels --canonicalize --cse | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// Which keys are padding is one row of limits, -inf for them and for lanes
// without a key. Scores meet it before they are stored, and no mask afterwards.
// CHECK-LABEL: func.func private @kernel_masks_invalid_keys(
// CHECK-SAME: %[[VALID:[^ ]*]]: memref<2x20xi8> {llvm.noalias}, %{{.*}}: memref<4x8xf32>
// CHECK-DAG: %[[ALL:.*]] = arith.constant dense<0x7F800000> : vector<16xf32>
// CHECK-DAG: %[[NONE:.*]] = arith.constant dense<0xFF800000> : vector<16xf32>
// CHECK: %[[LIMITS:.*]] = memref.view %{{.*}} to memref<1x32xf32>
// CHECK: %[[BATCH:.*]] = arith.divui %{{.*}}, %c2
// CHECK: %[[FIRST:.*]] = vector.load %[[VALID]][%[[BATCH]], %c0]
// CHECK: %[[ISVALID:.*]] = arith.cmpi ne, %[[FIRST]]
// CHECK: %[[LIMIT:.*]] = arith.select %[[ISVALID]], %[[ALL]], %[[NONE]]
// CHECK: vector.store %[[LIMIT]], %[[LIMITS]][%c0, %c0]
// CHECK: %[[REST:.*]] = vector.maskedload %[[VALID]][%[[BATCH]], %c16]
// CHECK: vector.store %{{.*}}, %[[LIMITS]][%c0, %c16]
// CHECK: %[[TILE:.*]] = hova_cpu.tile_product
// CHECK: %[[ROW:.*]] = vector.load %[[LIMITS]][%c0, %c0]
// CHECK: %[[ROWS:.*]] = vector.broadcast %[[ROW]] : vector<16xf32> to vector<2x16xf32>
// CHECK: %[[ISLESS:.*]] = arith.cmpf olt, %[[TILE]], %[[ROWS]]
// CHECK: %[[SCORES:.*]] = arith.select %[[ISLESS]], %[[TILE]], %[[ROWS]]
// CHECK: hova_cpu.tile_store %[[SCORES]], %[[SCRATCH:.*]][%c0, %c0]
// CHECK: hova_cpu.tile_store %{{.*}}, %[[SCRATCH]][%c0, %c16]
// CHECK-NOT: arith.select
// CHECK-NOT: vector.store
// CHECK: vector.reduction <maxnumf>
// CHECK: hova.exp2
// CHECK-NOT: arith.select
// CHECK: vector.reduction <add>
func.func @main(%q: tensor<2x2x8xf32>, %k: tensor<2x20x8xf32>, %v: tensor<2x20x8xf32>, %m: tensor<2x20xi1>) -> tensor<2x2x8xf32> {
  %out = hova.kernel "masks_invalid_keys" units<batch 2, head 2> (%q, %k, %v, %m) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 1>} {
  ^bb0(%q_: tensor<2x2x8xf32>, %k_: tensor<2x20x8xf32>, %v_: tensor<2x20x8xf32>, %m_: tensor<2x20xi1>):
    %r_out = hova.stage [#hova.layout<rows 8>] {
      %r = hova.attention %q_, %k_, %v_ captured(%m_)
          {heads = 2 : i64}
          : (tensor<2x2x8xf32>, tensor<2x20x8xf32>, tensor<2x20x8xf32>, tensor<2x20xi1>) -> tensor<2x2x8xf32> scores {
      ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index, %valid: tensor<2x20xi1>):
        %is_valid = hova.element %valid[%batch, %key] : tensor<2x20xi1>
        hova.score_yield %raw kept %is_valid
      }
      hova.yield %r : tensor<2x2x8xf32>
    } : tensor<2x2x8xf32>
    hova.yield %r_out : tensor<2x2x8xf32>
  } : (tensor<2x2x8xf32>, tensor<2x20x8xf32>, tensor<2x20x8xf32>, tensor<2x20xi1>) -> tensor<2x2x8xf32>
  return %out : tensor<2x2x8xf32>
}

// -----

// A bias comes before the limits.
// CHECK-LABEL: func.func private @kernel_limits_scores_after_a_bias(
// CHECK: %[[LIMITS:.*]] = memref.view %{{.*}} to memref<1x16xf32>
// CHECK: %[[TILE:.*]] = hova_cpu.tile_product
// CHECK: hova_cpu.tile_store %[[TILE]]
// CHECK: %[[BIASED:.*]] = arith.addf
// CHECK: %[[LIMIT:.*]] = vector.load %[[LIMITS]]
// CHECK: %[[ISLESS:.*]] = arith.cmpf olt, %[[BIASED]], %[[LIMIT]]
// CHECK: %[[SCORE:.*]] = arith.select %[[ISLESS]], %[[BIASED]], %[[LIMIT]]
// CHECK: vector.store %[[SCORE]]
func.func @main(%q: tensor<2x2x8xf32>, %k: tensor<2x16x8xf32>, %v: tensor<2x16x8xf32>, %s: tensor<1x1x2x16xf32>, %m: tensor<2x16xi1>) -> tensor<2x2x8xf32> {
  %out = hova.kernel "limits_scores_after_a_bias" units<batch 2, head 2> (%q, %k, %v, %s, %m) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 1>} {
  ^bb0(%q_: tensor<2x2x8xf32>, %k_: tensor<2x16x8xf32>, %v_: tensor<2x16x8xf32>, %s_: tensor<1x1x2x16xf32>, %m_: tensor<2x16xi1>):
    %r_out = hova.stage [#hova.layout<rows 8>] {
      %r = hova.attention %q_, %k_, %v_ captured(%s_, %m_)
          {heads = 2 : i64}
          : (tensor<2x2x8xf32>, tensor<2x16x8xf32>, tensor<2x16x8xf32>, tensor<1x1x2x16xf32>, tensor<2x16xi1>) -> tensor<2x2x8xf32> scores {
      ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index, %bias: tensor<1x1x2x16xf32>, %valid: tensor<2x16xi1>):
        %zero = arith.constant 0 : index
        %added = hova.element %bias[%zero, %zero, %query, %key] : tensor<1x1x2x16xf32>
        %biased = arith.addf %raw, %added : f32
        %is_valid = hova.element %valid[%batch, %key] : tensor<2x16xi1>
        hova.score_yield %biased kept %is_valid
      }
      hova.yield %r : tensor<2x2x8xf32>
    } : tensor<2x2x8xf32>
    hova.yield %r_out : tensor<2x2x8xf32>
  } : (tensor<2x2x8xf32>, tensor<2x16x8xf32>, tensor<2x16x8xf32>, tensor<1x1x2x16xf32>, tensor<2x16xi1>) -> tensor<2x2x8xf32>
  return %out : tensor<2x2x8xf32>
}

// -----

// CHECK-LABEL: func.func private @kernel_broadcasts_a_mask_full(
// CHECK-SAME: %[[MASK:[^ ]*]]: memref<12x20xi8>
// CHECK: %[[BATCH:.*]] = arith.divui %[[UNIT:.*]], %c2
// CHECK: %[[HEAD:.*]] = arith.remui %[[UNIT]], %c2
// CHECK: %[[AT:.*]] = arith.addi %{{.*}}, %[[HEAD]] : index
// CHECK: %[[FIRST:.*]] = arith.muli %[[AT]], %c3
// CHECK: %[[ROW:.*]] = arith.addi %[[FIRST]], %{{.*}}
// CHECK: vector.maskedload %[[MASK]][%[[ROW]], %{{.*}}]
func.func @main(%q: tensor<2x3x8xf32>, %k: tensor<2x20x8xf32>, %v: tensor<2x20x8xf32>, %m: tensor<2x2x3x20xi1>) -> tensor<2x3x8xf32> {
  %out = hova.kernel "broadcasts_a_mask_full" units<batch 2, head 2> (%q, %k, %v, %m) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 1>} {
  ^bb0(%q_: tensor<2x3x8xf32>, %k_: tensor<2x20x8xf32>, %v_: tensor<2x20x8xf32>, %m_: tensor<2x2x3x20xi1>):
    %r_out = hova.stage [#hova.layout<rows 8>] {
      %r = hova.attention %q_, %k_, %v_ captured(%m_)
          {heads = 2 : i64}
          : (tensor<2x3x8xf32>, tensor<2x20x8xf32>, tensor<2x20x8xf32>, tensor<2x2x3x20xi1>) -> tensor<2x3x8xf32> scores {
      ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index, %mask: tensor<2x2x3x20xi1>):
        %is_kept = hova.element %mask[%batch, %head, %query, %key] : tensor<2x2x3x20xi1>
        hova.score_yield %raw kept %is_kept
      }
      hova.yield %r : tensor<2x3x8xf32>
    } : tensor<2x3x8xf32>
    hova.yield %r_out : tensor<2x3x8xf32>
  } : (tensor<2x3x8xf32>, tensor<2x20x8xf32>, tensor<2x20x8xf32>, tensor<2x2x3x20xi1>) -> tensor<2x3x8xf32>
  return %out : tensor<2x3x8xf32>
}

// -----

// CHECK-LABEL: func.func private @kernel_broadcasts_a_mask_shared(
// CHECK-SAME: %[[MASK:[^ ]*]]: memref<1x20xi8>
// CHECK: %[[BATCH:.*]] = arith.divui %[[UNIT:.*]], %c2
// CHECK: %[[HEAD:.*]] = arith.remui %[[UNIT]], %c2
// CHECK: vector.maskedload %[[MASK]][%c0, %{{.*}}]
func.func @main(%q: tensor<2x3x8xf32>, %k: tensor<2x20x8xf32>, %v: tensor<2x20x8xf32>, %m: tensor<1x1x1x20xi1>) -> tensor<2x3x8xf32> {
  %out = hova.kernel "broadcasts_a_mask_shared" units<batch 2, head 2> (%q, %k, %v, %m) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 1>} {
  ^bb0(%q_: tensor<2x3x8xf32>, %k_: tensor<2x20x8xf32>, %v_: tensor<2x20x8xf32>, %m_: tensor<1x1x1x20xi1>):
    %r_out = hova.stage [#hova.layout<rows 8>] {
      %r = hova.attention %q_, %k_, %v_ captured(%m_)
          {heads = 2 : i64}
          : (tensor<2x3x8xf32>, tensor<2x20x8xf32>, tensor<2x20x8xf32>, tensor<1x1x1x20xi1>) -> tensor<2x3x8xf32> scores {
      ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index, %mask: tensor<1x1x1x20xi1>):
        %zero = arith.constant 0 : index
        %is_kept = hova.element %mask[%zero, %zero, %zero, %key] : tensor<1x1x1x20xi1>
        hova.score_yield %raw kept %is_kept
      }
      hova.yield %r : tensor<2x3x8xf32>
    } : tensor<2x3x8xf32>
    hova.yield %r_out : tensor<2x3x8xf32>
  } : (tensor<2x3x8xf32>, tensor<2x20x8xf32>, tensor<2x20x8xf32>, tensor<1x1x1x20xi1>) -> tensor<2x3x8xf32>
  return %out : tensor<2x3x8xf32>
}

// -----

// CHECK-LABEL: func.func private @kernel_broadcasts_a_mask_by_head(
// CHECK-SAME: %[[MASK:[^ ]*]]: memref<2x20xi8>
// CHECK: %[[BATCH:.*]] = arith.divui %[[UNIT:.*]], %c2
// CHECK: %[[HEAD:.*]] = arith.remui %[[UNIT]], %c2
// CHECK: vector.maskedload %[[MASK]][%[[HEAD]], %{{.*}}]
func.func @main(%q: tensor<2x3x8xf32>, %k: tensor<2x20x8xf32>, %v: tensor<2x20x8xf32>, %m: tensor<1x2x1x20xi1>) -> tensor<2x3x8xf32> {
  %out = hova.kernel "broadcasts_a_mask_by_head" units<batch 2, head 2> (%q, %k, %v, %m) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 1>} {
  ^bb0(%q_: tensor<2x3x8xf32>, %k_: tensor<2x20x8xf32>, %v_: tensor<2x20x8xf32>, %m_: tensor<1x2x1x20xi1>):
    %r_out = hova.stage [#hova.layout<rows 8>] {
      %r = hova.attention %q_, %k_, %v_ captured(%m_)
          {heads = 2 : i64}
          : (tensor<2x3x8xf32>, tensor<2x20x8xf32>, tensor<2x20x8xf32>, tensor<1x2x1x20xi1>) -> tensor<2x3x8xf32> scores {
      ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index, %mask: tensor<1x2x1x20xi1>):
        %zero = arith.constant 0 : index
        %is_kept = hova.element %mask[%zero, %head, %zero, %key] : tensor<1x2x1x20xi1>
        hova.score_yield %raw kept %is_kept
      }
      hova.yield %r : tensor<2x3x8xf32>
    } : tensor<2x3x8xf32>
    hova.yield %r_out : tensor<2x3x8xf32>
  } : (tensor<2x3x8xf32>, tensor<2x20x8xf32>, tensor<2x20x8xf32>, tensor<1x2x1x20xi1>) -> tensor<2x3x8xf32>
  return %out : tensor<2x3x8xf32>
}

// -----

// CHECK-LABEL: func.func private @kernel_broadcasts_a_mask_by_batch_and_query(
// CHECK-SAME: %[[MASK:[^ ]*]]: memref<6x20xi8>
// CHECK: %[[BATCH:.*]] = arith.divui %[[UNIT:.*]], %c2
// CHECK: %[[HEAD:.*]] = arith.remui %[[UNIT]], %c2
// CHECK: %[[FIRST:.*]] = arith.muli %[[BATCH]], %c3
// CHECK: %[[ROW:.*]] = arith.addi %[[FIRST]], %{{.*}}
// CHECK: vector.maskedload %[[MASK]][%[[ROW]], %{{.*}}]
func.func @main(%q: tensor<2x3x8xf32>, %k: tensor<2x20x8xf32>, %v: tensor<2x20x8xf32>, %m: tensor<2x1x3x20xi1>) -> tensor<2x3x8xf32> {
  %out = hova.kernel "broadcasts_a_mask_by_batch_and_query" units<batch 2, head 2> (%q, %k, %v, %m) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 1>} {
  ^bb0(%q_: tensor<2x3x8xf32>, %k_: tensor<2x20x8xf32>, %v_: tensor<2x20x8xf32>, %m_: tensor<2x1x3x20xi1>):
    %r_out = hova.stage [#hova.layout<rows 8>] {
      %r = hova.attention %q_, %k_, %v_ captured(%m_)
          {heads = 2 : i64}
          : (tensor<2x3x8xf32>, tensor<2x20x8xf32>, tensor<2x20x8xf32>, tensor<2x1x3x20xi1>) -> tensor<2x3x8xf32> scores {
      ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index, %mask: tensor<2x1x3x20xi1>):
        %zero = arith.constant 0 : index
        %is_kept = hova.element %mask[%batch, %zero, %query, %key] : tensor<2x1x3x20xi1>
        hova.score_yield %raw kept %is_kept
      }
      hova.yield %r : tensor<2x3x8xf32>
    } : tensor<2x3x8xf32>
    hova.yield %r_out : tensor<2x3x8xf32>
  } : (tensor<2x3x8xf32>, tensor<2x20x8xf32>, tensor<2x20x8xf32>, tensor<2x1x3x20xi1>) -> tensor<2x3x8xf32>
  return %out : tensor<2x3x8xf32>
}

// -----

// CHECK-LABEL: func.func private @kernel_averages_all_values_in_empty_rows(
// CHECK-DAG: %[[ZEROS:.*]] = arith.constant dense<[0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0xFF800000,
// CHECK: %[[EMPTY:.*]] = arith.andi %{{.*}}, %{{.*}} : i1
// CHECK: arith.select %[[EMPTY]], %{{.*}} : vector<16xf32>
// CHECK: arith.select %[[EMPTY]], %[[ZEROS]], %{{.*}} : vector<16xf32>
// CHECK-COUNT-2: hova.exp2
// CHECK-NOT: arith.select
// CHECK: arith.divf
func.func @main(%q: tensor<2x3x8xf32>, %k: tensor<2x20x8xf32>, %v: tensor<2x20x8xf32>, %m: tensor<2x20xi1>) -> tensor<2x3x8xf32> {
  %out = hova.kernel "averages_all_values_in_empty_rows" units<batch 2, head 2> (%q, %k, %v, %m) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 1>} {
  ^bb0(%q_: tensor<2x3x8xf32>, %k_: tensor<2x20x8xf32>, %v_: tensor<2x20x8xf32>, %m_: tensor<2x20xi1>):
    %r_out = hova.stage [#hova.layout<rows 8>] {
      %r = hova.attention %q_, %k_, %v_ captured(%m_)
          {heads = 2 : i64, empty_row = #hova<empty_row uniform>}
          : (tensor<2x3x8xf32>, tensor<2x20x8xf32>, tensor<2x20x8xf32>, tensor<2x20xi1>) -> tensor<2x3x8xf32> scores {
      ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index, %valid: tensor<2x20xi1>):
        %is_valid = hova.element %valid[%batch, %key] : tensor<2x20xi1>
        hova.score_yield %raw kept %is_valid
      }
      hova.yield %r : tensor<2x3x8xf32>
    } : tensor<2x3x8xf32>
    hova.yield %r_out : tensor<2x3x8xf32>
  } : (tensor<2x3x8xf32>, tensor<2x20x8xf32>, tensor<2x20x8xf32>, tensor<2x20xi1>) -> tensor<2x3x8xf32>
  return %out : tensor<2x3x8xf32>
}
