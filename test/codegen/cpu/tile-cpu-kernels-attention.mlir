// Loops of attention.

// RUN: hova-opt %s --split-input-file --hova-tile-cpu-kernels --canonicalize --cse | FileCheck %s
// RUN: hova-opt %s --split-input-file --hova-tile-cpu-kernels --hova-tile-cpu-kernels --canonicalize --cse | FileCheck %s

// One scale and the base of the exponential are one constant, 0.25 log2(e).
// CHECK-LABEL: func.func @main(
// CHECK: hova.launch @kernel_attends_in_whole_panels{{.*}} {flops = 32768 : i64, shape = #hova_cpu.launch<units = 4, grain = 1>}
// CHECK-LABEL: func.func private @kernel_attends_in_whole_panels(
// CHECK-SAME: %[[Q:.*]]: memref<8x32xf32> {llvm.noalias}, %[[K:.*]]: memref<64x32xf32> {llvm.noalias}, %[[V:.*]]: memref<64x32xf32> {llvm.noalias}, %[[O:.*]]: memref<8x32xf32> {llvm.noalias}, %[[SCRATCH:.*]]: memref<2880xi8>
// CHECK-DAG: %[[FACTOR:.*]] = arith.constant dense<0.360673755>
// CHECK: %[[PACKED:.*]] = memref.view %[[SCRATCH]][%c0][] : memref<2880xi8> to memref<2x16x16xf32>
// CHECK: %[[SCORES:.*]] = memref.view %[[SCRATCH]][%c2048][] : memref<2880xi8> to memref<4x48xf32>
// CHECK: %[[SUMS:.*]] = memref.view %[[SCRATCH]][%c2816][] : memref<2880xi8> to memref<4x1xf32>
// CHECK: scf.for %[[UNIT:.*]] = %
// CHECK: %[[BATCH:.*]] = arith.divui %[[UNIT]], %c2
// CHECK: %[[HEAD:.*]] = arith.remui %[[UNIT]], %c2
// CHECK: %[[QUERY:.*]] = arith.muli %[[BATCH]], %c4
// CHECK: %[[KEY:.*]] = arith.muli %[[BATCH]], %c32
// CHECK: %[[COLUMN:.*]] = arith.muli %[[HEAD]], %c16
// CHECK: vector.load %[[K]]
// CHECK-COUNT-64: vector.shuffle
// CHECK-COUNT-16: vector.store %{{.*}}, %[[PACKED]]
// CHECK: hova_cpu.tile_product %[[Q]][%[[QUERY]], %[[COLUMN]]], %[[PACKED]][%{{.*}}, %c0, %c0] depth %c16
// CHECK: hova_cpu.tile_store %{{.*}}, %[[SCORES]]
// CHECK: vector.reduction <maxnumf>
// CHECK: scf.if
// CHECK: %[[SHIFTED:.*]] = math.fma %{{.*}}, %[[FACTOR]]
// CHECK-NOT: arith.select
// CHECK: hova.exp2
// CHECK: arith.divf
// CHECK: %[[SUM:.*]] = hova_cpu.tile_product %[[SCORES]][%c0, %c0], %[[V]][%[[KEY]], %[[COLUMN]]] depth %c32
// CHECK: %[[INVERSE:.*]] = hova_cpu.tile_load %[[SUMS]]
// CHECK: hova_cpu.tile_store %{{.*}}, %[[O]][%[[QUERY]], %[[COLUMN]]]
func.func @main(%q: tensor<2x4x32xf32>, %k: tensor<2x32x32xf32>, %v: tensor<2x32x32xf32>) -> tensor<2x4x32xf32> {
  %out = hova.kernel "attends_in_whole_panels" units<batch 2, head 2> (%q, %k, %v) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 1>} {
  ^bb0(%q_: tensor<2x4x32xf32>, %k_: tensor<2x32x32xf32>, %v_: tensor<2x32x32xf32>):
    %r_out = hova.stage [#hova.layout<rows 32>] {
      %r = hova.attention softmax %q_, %k_, %v_
          {heads = 2 : i64}
          : (tensor<2x4x32xf32>, tensor<2x32x32xf32>, tensor<2x32x32xf32>) -> tensor<2x4x32xf32> scores {
      ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
        %scale = hova.number 0.25
        %scaled = arith.mulf %raw, %scale : f32
        %all = arith.constant true
        hova.score_yield %scaled kept %all
      }
      hova.yield %r : tensor<2x4x32xf32>
    } : tensor<2x4x32xf32>
    hova.yield %r_out : tensor<2x4x32xf32>
  } : (tensor<2x4x32xf32>, tensor<2x32x32xf32>, tensor<2x32x32xf32>) -> tensor<2x4x32xf32>
  return %out : tensor<2x4x32xf32>
}

// -----

// Five queries are blocks of three and two; the second panel has four keys, and
// only there scores are masked; values have a second tile of four columns.
// CHECK-LABEL: func.func private @kernel_attends_with_tails_of_keys_and_columns(
// CHECK-DAG: %[[CHANNELS:.*]] = arith.constant dense<[true, true, true, true, true, true, false
// CHECK-DAG: %[[KEYS:.*]] = arith.constant dense<[true, true, true, true, false
// CHECK: vector.maskedload %{{.*}}, %[[CHANNELS]]
// CHECK: scf.index_switch
// CHECK: case 2 {
// CHECK: hova_cpu.tile_product {{.*}} depth %c6 {{.*}} -> vector<2x16xf32>
// CHECK: arith.select %[[KEYS]], %{{.*}}, %{{.*}} : vector<16xi1>, vector<16xf32>
// CHECK: hova_cpu.tile_product {{.*}} depth %c20 {{.*}} -> vector<2x16xf32>
// CHECK: hova_cpu.tile_product {{.*}} depth %c20 {{.*}} -> vector<2x4xf32>
// CHECK: default {
// CHECK: hova_cpu.tile_product {{.*}} depth %c6 {{.*}} -> vector<3x16xf32>
func.func @main(%q: tensor<2x5x12xf32>, %k: tensor<2x20x12xf32>, %v: tensor<2x20x40xf32>) -> tensor<2x5x40xf32> {
  %out = hova.kernel "attends_with_tails_of_keys_and_columns" units<batch 2, head 2> (%q, %k, %v) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 1>} {
  ^bb0(%q_: tensor<2x5x12xf32>, %k_: tensor<2x20x12xf32>, %v_: tensor<2x20x40xf32>):
    %r_out = hova.stage [#hova.layout<rows 40>] {
      %r = hova.attention softmax %q_, %k_, %v_
          {heads = 2 : i64}
          : (tensor<2x5x12xf32>, tensor<2x20x12xf32>, tensor<2x20x40xf32>) -> tensor<2x5x40xf32> scores {
      ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
        %scale = hova.number 0.25
        %scaled = arith.mulf %raw, %scale : f32
        %all = arith.constant true
        hova.score_yield %scaled kept %all
      }
      hova.yield %r : tensor<2x5x40xf32>
    } : tensor<2x5x40xf32>
    hova.yield %r_out : tensor<2x5x40xf32>
  } : (tensor<2x5x12xf32>, tensor<2x20x12xf32>, tensor<2x20x40xf32>) -> tensor<2x5x40xf32>
  return %out : tensor<2x5x40xf32>
}

// -----

// The last query of a block at rows r .. r+2 sees keys up to r + 2 + 34.
// CHECK-LABEL: func.func private @kernel_limits_panels_to_what_is_not_in_the_future(
// CHECK: %[[ROW:.*]] = arith.muli %{{.*}}, %c3
// CHECK: %[[LIMIT:.*]] = arith.addi %[[ROW]], %c52
// CHECK: %[[SEEN:.*]] = arith.divui %[[LIMIT]], %c16
// CHECK: %[[PANELS:.*]] = arith.minui %[[SEEN]], %c3
// CHECK: scf.for %{{.*}} = %c0 to %[[PANELS]]
// CHECK: hova_cpu.tile_product
// CHECK: %[[QUERY:.*]] = arith.addi %[[ROW]], %{{.*}}
// CHECK: %[[END:.*]] = arith.addi %[[QUERY]], %c35
// CHECK: %[[BOUND:.*]] = arith.index_cast %[[END]]
// CHECK: %[[BOUNDS:.*]] = vector.broadcast %[[BOUND]]
// CHECK: arith.cmpi slt, %{{.*}}, %[[BOUNDS]]
// CHECK: %[[READ:.*]] = arith.muli %[[PANELS]], %c16
// CHECK: %[[DEPTH:.*]] = arith.minui %[[READ]], %c40
// CHECK: hova_cpu.tile_product {{.*}} depth %[[DEPTH]]
func.func @main(%q: tensor<2x6x8xf32>, %k: tensor<2x40x8xf32>, %v: tensor<2x40x8xf32>) -> tensor<2x6x8xf32> {
  %out = hova.kernel "limits_panels_to_what_is_not_in_the_future" units<batch 2, head 2> (%q, %k, %v) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 1>} {
  ^bb0(%q_: tensor<2x6x8xf32>, %k_: tensor<2x40x8xf32>, %v_: tensor<2x40x8xf32>):
    %r_out = hova.stage [#hova.layout<rows 8>] {
      %r = hova.attention softmax %q_, %k_, %v_
          {heads = 2 : i64}
          : (tensor<2x6x8xf32>, tensor<2x40x8xf32>, tensor<2x40x8xf32>) -> tensor<2x6x8xf32> scores {
      ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
        %shift = arith.constant 34 : index
        %position = arith.addi %query, %shift : index
        %not_later = arith.cmpi sle, %key, %position : index
        hova.score_yield %raw kept %not_later
      }
      hova.yield %r : tensor<2x6x8xf32>
    } : tensor<2x6x8xf32>
    hova.yield %r_out : tensor<2x6x8xf32>
  } : (tensor<2x6x8xf32>, tensor<2x40x8xf32>, tensor<2x40x8xf32>) -> tensor<2x6x8xf32>
  return %out : tensor<2x6x8xf32>
}

// -----

// With fewer keys than queries the first ones see none: the limit is not
// negative, -inf is not subtracted, and a sum of zero is not divided by.
// CHECK-LABEL: func.func private @kernel_hides_all_keys_from_queries_before_the_first(
// CHECK-DAG: %[[LAST:.*]] = arith.constant 0xFF800000 : f32
// CHECK: arith.maxsi %{{.*}}, %c0
// CHECK: %[[EMPTY:.*]] = arith.cmpf oeq, %{{.*}}, %[[LAST]]
// CHECK: %[[TOP:.*]] = arith.select %[[EMPTY]], %{{.*}}, %{{.*}} : f32
// CHECK: vector.broadcast %[[TOP]]
// CHECK: %[[NONE:.*]] = arith.cmpf oeq, %[[SUM:.*]], %{{.*}} : f32
// CHECK: arith.select %[[NONE]], %{{.*}}, %{{.*}} : f32
func.func @main(%q: tensor<2x6x8xf32>, %k: tensor<2x3x8xf32>, %v: tensor<2x3x8xf32>) -> tensor<2x6x8xf32> {
  %out = hova.kernel "hides_all_keys_from_queries_before_the_first" units<batch 2, head 2> (%q, %k, %v) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 1>} {
  ^bb0(%q_: tensor<2x6x8xf32>, %k_: tensor<2x3x8xf32>, %v_: tensor<2x3x8xf32>):
    %r_out = hova.stage [#hova.layout<rows 8>] {
      %r = hova.attention softmax %q_, %k_, %v_
          {heads = 2 : i64}
          : (tensor<2x6x8xf32>, tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x6x8xf32> scores {
      ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
        %shift = arith.constant -3 : index
        %position = arith.addi %query, %shift : index
        %not_later = arith.cmpi sle, %key, %position : index
        hova.score_yield %raw kept %not_later
      }
      hova.yield %r : tensor<2x6x8xf32>
    } : tensor<2x6x8xf32>
    hova.yield %r_out : tensor<2x6x8xf32>
  } : (tensor<2x6x8xf32>, tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x6x8xf32>
  return %out : tensor<2x6x8xf32>
}

// -----

// CHECK-LABEL: func.func private @kernel_lets_groups_see_all_of_themselves(
// CHECK: %[[GROUP:.*]] = arith.divui %{{.*}}, %c3
// CHECK: %[[NEXT:.*]] = arith.addi %[[GROUP]], %c1
// CHECK: %[[LAST:.*]] = arith.muli %[[NEXT]], %c3
// CHECK: %[[LASTPANEL:.*]] = arith.addi %[[LAST]], %c15
// CHECK: arith.divui %[[LASTPANEL]], %c16
// CHECK: %[[OWNGROUP:.*]] = arith.divui %{{.*}}, %c3
// CHECK: %[[OWNNEXT:.*]] = arith.addi %[[OWNGROUP]], %c1
// CHECK: %[[LIMIT:.*]] = arith.muli %[[OWNNEXT]], %c3
// CHECK: arith.index_cast %[[LIMIT]]
func.func @main(%q: tensor<2x6x8xf32>, %k: tensor<2x6x8xf32>, %v: tensor<2x6x8xf32>) -> tensor<2x6x8xf32> {
  %out = hova.kernel "lets_groups_see_all_of_themselves" units<batch 2, head 2> (%q, %k, %v) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 1>} {
  ^bb0(%q_: tensor<2x6x8xf32>, %k_: tensor<2x6x8xf32>, %v_: tensor<2x6x8xf32>):
    %r_out = hova.stage [#hova.layout<rows 8>] {
      %r = hova.attention softmax %q_, %k_, %v_
          {heads = 2 : i64}
          : (tensor<2x6x8xf32>, tensor<2x6x8xf32>, tensor<2x6x8xf32>) -> tensor<2x6x8xf32> scores {
      ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
        %group = arith.constant 3 : index
        %one = arith.constant 1 : index
        %number = arith.floordivsi %query, %group : index
        %next = arith.addi %number, %one : index
        %limit = arith.muli %next, %group : index
        %not_later = arith.cmpi slt, %key, %limit : index
        hova.score_yield %raw kept %not_later
      }
      hova.yield %r : tensor<2x6x8xf32>
    } : tensor<2x6x8xf32>
    hova.yield %r_out : tensor<2x6x8xf32>
  } : (tensor<2x6x8xf32>, tensor<2x6x8xf32>, tensor<2x6x8xf32>) -> tensor<2x6x8xf32>
  return %out : tensor<2x6x8xf32>
}

// -----

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
      %r = hova.attention softmax %q_, %k_, %v_ captured(%m_)
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
// CHECK-LABEL: func.func private @kernel_limits_scores_behind_a_bias(
// CHECK: %[[LIMITS:.*]] = memref.view %{{.*}} to memref<1x16xf32>
// CHECK: %[[TILE:.*]] = hova_cpu.tile_product
// CHECK: hova_cpu.tile_store %[[TILE]]
// CHECK: %[[BIASED:.*]] = math.fma
// CHECK: %[[LIMIT:.*]] = vector.load %[[LIMITS]]
// CHECK: %[[ISLESS:.*]] = arith.cmpf olt, %[[BIASED]], %[[LIMIT]]
// CHECK: %[[SCORE:.*]] = arith.select %[[ISLESS]], %[[BIASED]], %[[LIMIT]]
// CHECK: vector.store %[[SCORE]]
func.func @main(%q: tensor<2x2x8xf32>, %k: tensor<2x16x8xf32>, %v: tensor<2x16x8xf32>, %s: tensor<1x1x2x16xf32>, %m: tensor<2x16xi1>) -> tensor<2x2x8xf32> {
  %out = hova.kernel "limits_scores_behind_a_bias" units<batch 2, head 2> (%q, %k, %v, %s, %m) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 1>} {
  ^bb0(%q_: tensor<2x2x8xf32>, %k_: tensor<2x16x8xf32>, %v_: tensor<2x16x8xf32>, %s_: tensor<1x1x2x16xf32>, %m_: tensor<2x16xi1>):
    %r_out = hova.stage [#hova.layout<rows 8>] {
      %r = hova.attention softmax %q_, %k_, %v_ captured(%s_, %m_)
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
// CHECK: %[[OWN:.*]] = arith.addi %{{.*}}, %[[HEAD]] : index
// CHECK: %[[FIRST:.*]] = arith.muli %[[OWN]], %c3
// CHECK: %[[ROW:.*]] = arith.addi %[[FIRST]], %{{.*}}
// CHECK: vector.maskedload %[[MASK]][%[[ROW]], %{{.*}}]
func.func @main(%q: tensor<2x3x8xf32>, %k: tensor<2x20x8xf32>, %v: tensor<2x20x8xf32>, %m: tensor<2x2x3x20xi1>) -> tensor<2x3x8xf32> {
  %out = hova.kernel "broadcasts_a_mask_full" units<batch 2, head 2> (%q, %k, %v, %m) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 1>} {
  ^bb0(%q_: tensor<2x3x8xf32>, %k_: tensor<2x20x8xf32>, %v_: tensor<2x20x8xf32>, %m_: tensor<2x2x3x20xi1>):
    %r_out = hova.stage [#hova.layout<rows 8>] {
      %r = hova.attention softmax %q_, %k_, %v_ captured(%m_)
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
      %r = hova.attention softmax %q_, %k_, %v_ captured(%m_)
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
      %r = hova.attention softmax %q_, %k_, %v_ captured(%m_)
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
      %r = hova.attention softmax %q_, %k_, %v_ captured(%m_)
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

// The scale comes before the bias, so the exponential has base e alone.
// CHECK-LABEL: func.func private @kernel_adds_a_bias_before_the_softmax(
// CHECK-SAME: %[[BIAS:[^ ]*]]: memref<6x20xf32> {llvm.noalias}, %{{.*}}: memref<6x8xf32>
// CHECK-DAG: %[[SCALE:.*]] = arith.constant dense<5.000000e-01>
// CHECK-DAG: %[[BASE:.*]] = arith.constant dense<1.44269502>
// CHECK: %[[SHIFT:.*]] = vector.maskedload %[[BIAS]]
// CHECK: math.fma %{{.*}}, %[[SCALE]], %[[SHIFT]]
// CHECK: math.fma %{{.*}}, %[[BASE]], %{{.*}}
func.func @main(%q: tensor<2x3x8xf32>, %k: tensor<2x20x8xf32>, %v: tensor<2x20x8xf32>, %m: tensor<1x2x3x20xf32>) -> tensor<2x3x8xf32> {
  %out = hova.kernel "adds_a_bias_before_the_softmax" units<batch 2, head 2> (%q, %k, %v, %m) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 1>} {
  ^bb0(%q_: tensor<2x3x8xf32>, %k_: tensor<2x20x8xf32>, %v_: tensor<2x20x8xf32>, %m_: tensor<1x2x3x20xf32>):
    %r_out = hova.stage [#hova.layout<rows 8>] {
      %r = hova.attention softmax %q_, %k_, %v_ captured(%m_)
          {heads = 2 : i64}
          : (tensor<2x3x8xf32>, tensor<2x20x8xf32>, tensor<2x20x8xf32>, tensor<1x2x3x20xf32>) -> tensor<2x3x8xf32> scores {
      ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index, %bias: tensor<1x2x3x20xf32>):
        %scale = hova.number 0.5
        %scaled = arith.mulf %raw, %scale : f32
        %zero = arith.constant 0 : index
        %added = hova.element %bias[%zero, %head, %query, %key] : tensor<1x2x3x20xf32>
        %biased = arith.addf %scaled, %added : f32
        %all = arith.constant true
        hova.score_yield %biased kept %all
      }
      hova.yield %r : tensor<2x3x8xf32>
    } : tensor<2x3x8xf32>
    hova.yield %r_out : tensor<2x3x8xf32>
  } : (tensor<2x3x8xf32>, tensor<2x20x8xf32>, tensor<2x20x8xf32>, tensor<1x2x3x20xf32>) -> tensor<2x3x8xf32>
  return %out : tensor<2x3x8xf32>
}

// -----

// A maximum of scores is not a maximum of what a negative scale makes of them.
// CHECK-LABEL: func.func private @kernel_scales_early_where_the_scale_is_not_positive(
// CHECK: %[[SCALE:.*]] = arith.constant dense<-5.000000e-01>
// CHECK: %[[SCALED:.*]] = math.fma %{{.*}}, %[[SCALE]]
// CHECK: arith.maxnumf %[[SCALED]], %{{.*}}
func.func @main(%q: tensor<2x3x8xf32>, %k: tensor<2x32x8xf32>, %v: tensor<2x32x8xf32>) -> tensor<2x3x8xf32> {
  %out = hova.kernel "scales_early_where_the_scale_is_not_positive" units<batch 2, head 2> (%q, %k, %v) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 1>} {
  ^bb0(%q_: tensor<2x3x8xf32>, %k_: tensor<2x32x8xf32>, %v_: tensor<2x32x8xf32>):
    %r_out = hova.stage [#hova.layout<rows 8>] {
      %r = hova.attention softmax %q_, %k_, %v_
          {heads = 2 : i64}
          : (tensor<2x3x8xf32>, tensor<2x32x8xf32>, tensor<2x32x8xf32>) -> tensor<2x3x8xf32> scores {
      ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
        %scale = hova.number -0.5
        %scaled = arith.mulf %raw, %scale : f32
        %all = arith.constant true
        hova.score_yield %scaled kept %all
      }
      hova.yield %r : tensor<2x3x8xf32>
    } : tensor<2x3x8xf32>
    hova.yield %r_out : tensor<2x3x8xf32>
  } : (tensor<2x3x8xf32>, tensor<2x32x8xf32>, tensor<2x32x8xf32>) -> tensor<2x3x8xf32>
  return %out : tensor<2x3x8xf32>
}

// -----

// CHECK-LABEL: func.func private @kernel_averages_all_values_in_empty_rows(
// CHECK-DAG: %[[ZEROS:.*]] = arith.constant dense<[0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0xFF800000,
// CHECK: %[[EMPTY:.*]] = arith.cmpf oeq, %{{.*}} : f32
// CHECK: arith.select %[[EMPTY]], %{{.*}} : vector<16xf32>
// CHECK: arith.select %[[EMPTY]], %[[ZEROS]], %{{.*}} : vector<16xf32>
// CHECK-COUNT-2: hova.exp2
// CHECK-NOT: arith.select
// CHECK: arith.divf
func.func @main(%q: tensor<2x3x8xf32>, %k: tensor<2x20x8xf32>, %v: tensor<2x20x8xf32>, %m: tensor<2x20xi1>) -> tensor<2x3x8xf32> {
  %out = hova.kernel "averages_all_values_in_empty_rows" units<batch 2, head 2> (%q, %k, %v, %m) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 1>} {
  ^bb0(%q_: tensor<2x3x8xf32>, %k_: tensor<2x20x8xf32>, %v_: tensor<2x20x8xf32>, %m_: tensor<2x20xi1>):
    %r_out = hova.stage [#hova.layout<rows 8>] {
      %r = hova.attention softmax %q_, %k_, %v_ captured(%m_)
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
