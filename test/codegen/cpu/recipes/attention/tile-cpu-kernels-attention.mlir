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
      %r = hova.attention %q_, %k_, %v_
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
      %r = hova.attention %q_, %k_, %v_
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

// The last query of a block at rows r .. r+2 sees keys up to r + 2 + 28: those of the
// second block are in three panels.
// CHECK-LABEL: func.func private @kernel_limits_panels_to_what_is_not_in_the_future(
// CHECK: %[[ROW:.*]] = arith.muli %{{.*}}, %c3
// CHECK: %[[STEPS:.*]] = arith.divui %[[ROW]], %c2
// CHECK: %[[TAKEN:.*]] = arith.minui %[[STEPS]], %c1
// CHECK: %[[PANELS:.*]] = arith.addi %[[TAKEN]], %c2
// CHECK: scf.for %{{.*}} = %c0 to %[[PANELS]]
// CHECK: hova_cpu.tile_product
// CHECK: %[[QUERY:.*]] = arith.addi %[[ROW]], %{{.*}}
// CHECK: %[[POSITION:.*]] = arith.addi %[[QUERY]], %c28
// CHECK: %[[BOUND:.*]] = arith.index_cast %[[POSITION]]
// CHECK: %[[BOUNDS:.*]] = vector.broadcast %[[BOUND]]
// CHECK: arith.cmpi sle, %{{.*}}, %[[BOUNDS]]
// CHECK: %[[READ:.*]] = arith.muli %[[PANELS]], %c16
// CHECK: %[[DEPTH:.*]] = arith.minui %[[READ]], %c40
// CHECK: hova_cpu.tile_product {{.*}} depth %[[DEPTH]]
func.func @main(%q: tensor<2x6x8xf32>, %k: tensor<2x40x8xf32>, %v: tensor<2x40x8xf32>) -> tensor<2x6x8xf32> {
  %out = hova.kernel "limits_panels_to_what_is_not_in_the_future" units<batch 2, head 2> (%q, %k, %v) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 1>} {
  ^bb0(%q_: tensor<2x6x8xf32>, %k_: tensor<2x40x8xf32>, %v_: tensor<2x40x8xf32>):
    %r_out = hova.stage [#hova.layout<rows 8>] {
      %r = hova.attention %q_, %k_, %v_
          {heads = 2 : i64}
          : (tensor<2x6x8xf32>, tensor<2x40x8xf32>, tensor<2x40x8xf32>) -> tensor<2x6x8xf32> scores {
      ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
        %shift = arith.constant 28 : index
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

// With fewer keys than queries the first ones see none: what is compared with keys
// is negative, -inf is not subtracted, and a sum of zero is not divided by.
// CHECK-LABEL: func.func private @kernel_hides_all_keys_from_queries_before_the_first(
// CHECK-DAG: %[[LAST:.*]] = arith.constant 0xFF800000 : f32
// CHECK: %[[POSITION:.*]] = arith.addi %{{.*}}, %c-3 : index
// CHECK: %[[NARROW:.*]] = arith.index_cast %[[POSITION]] : index to i32
// CHECK: %[[POSITIONS:.*]] = vector.broadcast %[[NARROW]]
// CHECK: arith.cmpi sle, %{{.*}}, %[[POSITIONS]]
// CHECK: arith.cmpf oeq, %{{.*}}, %[[LAST]]
// CHECK: %[[EMPTY:.*]] = arith.andi %{{.*}}, %{{.*}} : i1
// CHECK: %[[TOP:.*]] = arith.select %[[EMPTY]], %{{.*}}, %{{.*}} : f32
// CHECK: vector.broadcast %[[TOP]]
// CHECK: %[[NONE:.*]] = arith.cmpf oeq, %[[SUM:.*]], %{{.*}} : f32
// CHECK: arith.select %[[NONE]], %{{.*}}, %{{.*}} : f32
func.func @main(%q: tensor<2x6x8xf32>, %k: tensor<2x3x8xf32>, %v: tensor<2x3x8xf32>) -> tensor<2x6x8xf32> {
  %out = hova.kernel "hides_all_keys_from_queries_before_the_first" units<batch 2, head 2> (%q, %k, %v) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 1>} {
  ^bb0(%q_: tensor<2x6x8xf32>, %k_: tensor<2x3x8xf32>, %v_: tensor<2x3x8xf32>):
    %r_out = hova.stage [#hova.layout<rows 8>] {
      %r = hova.attention %q_, %k_, %v_
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

// A group of a query is a number of all lanes.
// CHECK-LABEL: func.func private @kernel_lets_groups_see_all_of_themselves(
// CHECK: hova_cpu.tile_product
// CHECK: %[[GROUP:.*]] = arith.divui %{{.*}}, %c3
// CHECK: %[[NEXT:.*]] = arith.addi %[[GROUP]], %c1
// CHECK: %[[LIMIT:.*]] = arith.muli %[[NEXT]], %c3
// CHECK: arith.index_cast %[[LIMIT]]
func.func @main(%q: tensor<2x6x8xf32>, %k: tensor<2x6x8xf32>, %v: tensor<2x6x8xf32>) -> tensor<2x6x8xf32> {
  %out = hova.kernel "lets_groups_see_all_of_themselves" units<batch 2, head 2> (%q, %k, %v) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 1>} {
  ^bb0(%q_: tensor<2x6x8xf32>, %k_: tensor<2x6x8xf32>, %v_: tensor<2x6x8xf32>):
    %r_out = hova.stage [#hova.layout<rows 8>] {
      %r = hova.attention %q_, %k_, %v_
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
      %r = hova.attention %q_, %k_, %v_ captured(%m_)
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
// CHECK: %[[SCALED:.*]] = arith.mulf %{{.*}}, %[[SCALE]]
// CHECK: arith.maxnumf %[[SCALED]], %{{.*}}
func.func @main(%q: tensor<2x3x8xf32>, %k: tensor<2x32x8xf32>, %v: tensor<2x32x8xf32>) -> tensor<2x3x8xf32> {
  %out = hova.kernel "scales_early_where_the_scale_is_not_positive" units<batch 2, head 2> (%q, %k, %v) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 1>} {
  ^bb0(%q_: tensor<2x3x8xf32>, %k_: tensor<2x32x8xf32>, %v_: tensor<2x32x8xf32>):
    %r_out = hova.stage [#hova.layout<rows 8>] {
      %r = hova.attention %q_, %k_, %v_
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
