// What becomes of the region of scores in vectors of keys (ScoreLanes.h, AttentionPanels.cpp).

// RUN: hova-opt %s --split-input-file --hova-tile-cpu-kernels --canonicalize --cse | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// The bias of a distance: columns fall with the key, so 16 lanes are one load of
// columns in their order and a shuffle.
// CHECK-LABEL: func.func private @kernel_reads_backwards(
// CHECK-SAME: %[[BIAS:[^ ]*]]: memref<2x35xf32>
// CHECK: hova_cpu.tile_product
// CHECK: %[[COLUMNS:.*]] = vector.load %[[BIAS]][%[[HEAD:.*]], %{{.*}}] : memref<2x35xf32>, vector<16xf32>
// CHECK: %[[FALLING:.*]] = vector.shuffle %[[COLUMNS]], %[[COLUMNS]] [15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]
// CHECK: arith.addf %{{.*}}, %[[FALLING]] : vector<16xf32>
func.func @main(%q: tensor<1x4x16xf32>, %k: tensor<1x32x16xf32>, %b: tensor<2x35xf32>) -> tensor<1x4x16xf32> {
  %out = hova.kernel "reads_backwards" units<batch 1, head 2> (%q, %k, %b) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 1>} {
  ^bb0(%q_: tensor<1x4x16xf32>, %k_: tensor<1x32x16xf32>, %b_: tensor<2x35xf32>):
    %r_out = hova.stage [#hova.layout<rows 16>] {
      %r = hova.attention %q_, %k_, %k_ captured(%b_) {heads = 2 : i64}
          : (tensor<1x4x16xf32>, tensor<1x32x16xf32>, tensor<1x32x16xf32>, tensor<2x35xf32>) -> tensor<1x4x16xf32> scores {
      ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index, %bias: tensor<2x35xf32>):
        %last = arith.constant 31 : index
        %distance = arith.subi %query, %key : index
        %place = arith.addi %distance, %last : index
        %added = hova.element %bias[%head, %place] : tensor<2x35xf32>
        %score = arith.addf %raw, %added : f32
        %all = arith.constant true
        hova.score_yield %score kept %all
      }
      hova.yield %r : tensor<1x4x16xf32>
    } : tensor<1x4x16xf32>
    hova.yield %r_out : tensor<1x4x16xf32>
  } : (tensor<1x4x16xf32>, tensor<1x32x16xf32>, tensor<2x35xf32>) -> tensor<1x4x16xf32>
  return %out : tensor<1x4x16xf32>
}

// -----

// Every second column is gathered.
// CHECK-LABEL: func.func private @kernel_gathers_columns_that_are_apart(
// CHECK-SAME: %[[BIAS:[^ ]*]]: memref<2x63xf32>
// CHECK-DAG: %[[ALL:.*]] = arith.constant dense<true> : vector<16xi1>
// CHECK: hova_cpu.tile_product
// CHECK: vector.gather %[[BIAS]][%c0, %c0] [%{{.*}}], %[[ALL]], %{{.*}} : memref<2x63xf32>, vector<16xi32>
func.func @main(%q: tensor<1x4x16xf32>, %k: tensor<1x32x16xf32>, %b: tensor<2x63xf32>) -> tensor<1x4x16xf32> {
  %out = hova.kernel "gathers_columns_that_are_apart" units<batch 1, head 2> (%q, %k, %b) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 1>} {
  ^bb0(%q_: tensor<1x4x16xf32>, %k_: tensor<1x32x16xf32>, %b_: tensor<2x63xf32>):
    %r_out = hova.stage [#hova.layout<rows 16>] {
      %r = hova.attention %q_, %k_, %k_ captured(%b_) {heads = 2 : i64}
          : (tensor<1x4x16xf32>, tensor<1x32x16xf32>, tensor<1x32x16xf32>, tensor<2x63xf32>) -> tensor<1x4x16xf32> scores {
      ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index, %bias: tensor<2x63xf32>):
        %two = arith.constant 2 : index
        %place = arith.muli %key, %two : index
        %added = hova.element %bias[%head, %place] : tensor<2x63xf32>
        %score = arith.addf %raw, %added : f32
        %all = arith.constant true
        hova.score_yield %score kept %all
      }
      hova.yield %r : tensor<1x4x16xf32>
    } : tensor<1x4x16xf32>
    hova.yield %r_out : tensor<1x4x16xf32>
  } : (tensor<1x4x16xf32>, tensor<1x32x16xf32>, tensor<2x63xf32>) -> tensor<1x4x16xf32>
  return %out : tensor<1x4x16xf32>
}

// -----

// A table says which bias a key has: its range is kept, and lanes need no mask.
// CHECK-LABEL: func.func private @kernel_looks_up_what_a_tensor_says(
// CHECK-SAME: %[[KINDS:[^ ]*]]: memref<1x32xi32> {llvm.noalias}, %[[BIAS:[^ ]*]]: memref<2x5xf32>
// CHECK-DAG: %[[ALL:.*]] = arith.constant dense<true> : vector<16xi1>
// CHECK-DAG: %[[LEAST:.*]] = arith.constant dense<0> : vector<16xi32>
// CHECK-DAG: %[[MOST:.*]] = arith.constant dense<4> : vector<16xi32>
// CHECK: %[[KIND:.*]] = vector.load %[[KINDS]]
// CHECK: %[[ABOVE:.*]] = arith.maxsi %[[KIND]], %[[LEAST]]
// CHECK: %[[INSIDE:.*]] = arith.minsi %[[ABOVE]], %[[MOST]]
// CHECK: vector.gather %[[BIAS]][%c0, %c0] [%{{.*}}], %[[ALL]], %{{.*}} : memref<2x5xf32>, vector<16xi32>
func.func @main(%q: tensor<1x4x16xf32>, %k: tensor<1x32x16xf32>, %i: tensor<1x32xi32>, %b: tensor<2x5xf32>) -> tensor<1x4x16xf32> {
  %out = hova.kernel "looks_up_what_a_tensor_says" units<batch 1, head 2> (%q, %k, %i, %b) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 1>} {
  ^bb0(%q_: tensor<1x4x16xf32>, %k_: tensor<1x32x16xf32>, %i_: tensor<1x32xi32>, %b_: tensor<2x5xf32>):
    %r_out = hova.stage [#hova.layout<rows 16>] {
      %r = hova.attention %q_, %k_, %k_ captured(%i_, %b_) {heads = 2 : i64}
          : (tensor<1x4x16xf32>, tensor<1x32x16xf32>, tensor<1x32x16xf32>, tensor<1x32xi32>, tensor<2x5xf32>) -> tensor<1x4x16xf32> scores {
      ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index, %kinds: tensor<1x32xi32>, %bias: tensor<2x5xf32>):
        %kind = hova.element %kinds[%batch, %key] {range = array<i64: 0, 5>} : tensor<1x32xi32>
        %place = arith.index_cast %kind : i32 to index
        %added = hova.element %bias[%head, %place] : tensor<2x5xf32>
        %score = arith.addf %raw, %added : f32
        %all = arith.constant true
        hova.score_yield %score kept %all
      }
      hova.yield %r : tensor<1x4x16xf32>
    } : tensor<1x4x16xf32>
    hova.yield %r_out : tensor<1x4x16xf32>
  } : (tensor<1x4x16xf32>, tensor<1x32x16xf32>, tensor<1x32xi32>, tensor<2x5xf32>) -> tensor<1x4x16xf32>
  return %out : tensor<1x4x16xf32>
}

// -----

// A bias of near keys alone: the lanes of others are compared with the size.
// CHECK-LABEL: func.func private @kernel_masks_reads_that_may_leave_a_table(
// CHECK-SAME: %[[BIAS:[^ ]*]]: memref<2x9xf32>
// CHECK-DAG: %[[SIZE:.*]] = arith.constant dense<9> : vector<16xi32>
// CHECK: hova_cpu.tile_product
// CHECK: %[[ISINSIDE:.*]] = arith.cmpi ult, %{{.*}}, %[[SIZE]] : vector<16xi32>
// CHECK: %[[ADDED:.*]] = vector.maskedload %[[BIAS]][%{{.*}}, %{{.*}}], %[[ISINSIDE]], %{{.*}}
// CHECK: arith.addf %{{.*}}, %[[ADDED]] : vector<16xf32>
func.func @main(%q: tensor<1x4x16xf32>, %k: tensor<1x32x16xf32>, %b: tensor<2x9xf32>) -> tensor<1x4x16xf32> {
  %out = hova.kernel "masks_reads_that_may_leave_a_table" units<batch 1, head 2> (%q, %k, %b) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 1>} {
  ^bb0(%q_: tensor<1x4x16xf32>, %k_: tensor<1x32x16xf32>, %b_: tensor<2x9xf32>):
    %r_out = hova.stage [#hova.layout<rows 16>] {
      %r = hova.attention %q_, %k_, %k_ captured(%b_) {heads = 2 : i64}
          : (tensor<1x4x16xf32>, tensor<1x32x16xf32>, tensor<1x32x16xf32>, tensor<2x9xf32>) -> tensor<1x4x16xf32> scores {
      ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index, %bias: tensor<2x9xf32>):
        %four = arith.constant 4 : index
        %distance = arith.subi %key, %query : index
        %place = arith.addi %distance, %four : index
        %added = hova.element %bias[%head, %place] : tensor<2x9xf32>
        %score = arith.addf %raw, %added : f32
        %all = arith.constant true
        hova.score_yield %score kept %all
      }
      hova.yield %r : tensor<1x4x16xf32>
    } : tensor<1x4x16xf32>
    hova.yield %r_out : tensor<1x4x16xf32>
  } : (tensor<1x4x16xf32>, tensor<1x32x16xf32>, tensor<2x9xf32>) -> tensor<1x4x16xf32>
  return %out : tensor<1x4x16xf32>
}

// -----

// Both ends of a window: panels before it are left out as those after it.
// CHECK-LABEL: func.func private @kernel_visits_the_panels_of_a_window(
// CHECK: scf.for %[[BLOCK:.*]] = %c0 to %c16
// CHECK: %[[ROW:.*]] = arith.muli %[[BLOCK]], %c4
// CHECK: %[[BEGIN:.*]] = arith.minui
// CHECK: %[[LAST:.*]] = arith.minui
// CHECK: %[[END:.*]] = arith.addi %[[LAST]], %c1
// CHECK: scf.for %{{.*}} = %[[BEGIN]] to %[[END]]
// CHECK: hova_cpu.tile_product
// CHECK: scf.for %{{.*}} = %[[BEGIN]] to %[[END]]
// CHECK: arith.maxnumf
// CHECK: %[[AFTER:.*]] = arith.muli %[[END]], %c16
// CHECK: %[[FIRST:.*]] = arith.muli %[[BEGIN]], %c16
// CHECK: %[[DEPTH:.*]] = arith.subi %{{.*}}, %[[FIRST]]
// CHECK: hova_cpu.tile_product %{{.*}}[%c0, %[[FIRST]]], %{{.*}} depth %[[DEPTH]]
func.func @main(%q: tensor<1x64x16xf32>, %k: tensor<1x64x16xf32>) -> tensor<1x64x16xf32> {
  %out = hova.kernel "visits_the_panels_of_a_window" units<batch 1, head 2> (%q, %k) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 1>} {
  ^bb0(%q_: tensor<1x64x16xf32>, %k_: tensor<1x64x16xf32>):
    %r_out = hova.stage [#hova.layout<rows 16>] {
      %r = hova.attention %q_, %k_, %k_ {heads = 2 : i64}
          : (tensor<1x64x16xf32>, tensor<1x64x16xf32>, tensor<1x64x16xf32>) -> tensor<1x64x16xf32> scores {
      ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
        %size = arith.constant 12 : index
        %distance = arith.subi %query, %key : index
        %is_near = arith.cmpi slt, %distance, %size : index
        %not_later = arith.cmpi sle, %key, %query : index
        %kept = arith.andi %is_near, %not_later : i1
        hova.score_yield %raw kept %kept
      }
      hova.yield %r : tensor<1x64x16xf32>
    } : tensor<1x64x16xf32>
    hova.yield %r_out : tensor<1x64x16xf32>
  } : (tensor<1x64x16xf32>, tensor<1x64x16xf32>) -> tensor<1x64x16xf32>
  return %out : tensor<1x64x16xf32>
}

// -----

// What depends on the head alone is a scalar in front of the loops.
// CHECK-LABEL: func.func private @kernel_reads_a_slope_once_per_head(
// CHECK-SAME: %[[SLOPES:[^ ]*]]: memref<1x2xf32>
// CHECK: %[[HEAD:.*]] = arith.remui %{{.*}}, %c2
// CHECK: %[[SLOPE:.*]] = memref.load %[[SLOPES]][%c0, %[[HEAD]]]
// CHECK: vector.shuffle
// CHECK-NOT: memref.load %[[SLOPES]]
// CHECK: hova_cpu.tile_product
// CHECK-NOT: memref.load %[[SLOPES]]
// CHECK: %[[DISTANCE:.*]] = arith.sitofp %{{.*}} : vector<16xi32> to vector<16xf32>
// CHECK: %[[LANES:.*]] = vector.broadcast %[[SLOPE]] : f32 to vector<16xf32>
// CHECK: math.fma %[[DISTANCE]], %[[LANES]], %{{.*}} : vector<16xf32>
func.func @main(%q: tensor<1x4x16xf32>, %k: tensor<1x32x16xf32>, %s: tensor<2xf32>) -> tensor<1x4x16xf32> {
  %out = hova.kernel "reads_a_slope_once_per_head" units<batch 1, head 2> (%q, %k, %s) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 1>} {
  ^bb0(%q_: tensor<1x4x16xf32>, %k_: tensor<1x32x16xf32>, %s_: tensor<2xf32>):
    %r_out = hova.stage [#hova.layout<rows 16>] {
      %r = hova.attention %q_, %k_, %k_ captured(%s_) {heads = 2 : i64}
          : (tensor<1x4x16xf32>, tensor<1x32x16xf32>, tensor<1x32x16xf32>, tensor<2xf32>) -> tensor<1x4x16xf32> scores {
      ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index, %slopes: tensor<2xf32>):
        %slope = hova.element %slopes[%head] : tensor<2xf32>
        %distance = arith.subi %key, %query : index
        %wide = arith.index_cast %distance : index to i64
        %number = arith.sitofp %wide : i64 to f32
        %bias = arith.mulf %number, %slope : f32
        %score = arith.addf %raw, %bias : f32
        %all = arith.constant true
        hova.score_yield %score kept %all
      }
      hova.yield %r : tensor<1x4x16xf32>
    } : tensor<1x4x16xf32>
    hova.yield %r_out : tensor<1x4x16xf32>
  } : (tensor<1x4x16xf32>, tensor<1x32x16xf32>, tensor<2xf32>) -> tensor<1x4x16xf32>
  return %out : tensor<1x4x16xf32>
}

// -----

// A cap is a function of lanes, in which nothing is divided; the factor after it
// joins the exponential.
// CHECK-LABEL: func.func private @kernel_caps_scores(
// CHECK-DAG: %[[CAP:.*]] = arith.constant dense<5.000000e-02> : vector<16xf32>
// CHECK-DAG: %[[FACTOR:.*]] = arith.constant dense<2.885390e+01> : vector<16xf32>
// CHECK: hova_cpu.tile_product
// CHECK: %[[PART:.*]] = arith.mulf %{{.*}}, %[[CAP]] : vector<16xf32>
// CHECK: %[[CAPPED:.*]] = math.tanh %[[PART]] : vector<16xf32>
// CHECK: math.fma %{{.*}}, %[[FACTOR]], %{{.*}} : vector<16xf32>
// CHECK: hova.exp2
func.func @main(%q: tensor<1x4x16xf32>, %k: tensor<1x32x16xf32>) -> tensor<1x4x16xf32> {
  %out = hova.kernel "caps_scores" units<batch 1, head 2> (%q, %k) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 1>} {
  ^bb0(%q_: tensor<1x4x16xf32>, %k_: tensor<1x32x16xf32>):
    %r_out = hova.stage [#hova.layout<rows 16>] {
      %r = hova.attention %q_, %k_, %k_ {heads = 2 : i64}
          : (tensor<1x4x16xf32>, tensor<1x32x16xf32>, tensor<1x32x16xf32>) -> tensor<1x4x16xf32> scores {
      ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
        %cap = hova.number 20.0
        %part = arith.divf %raw, %cap : f32
        %capped = math.tanh %part : f32
        %score = arith.mulf %capped, %cap : f32
        %all = arith.constant true
        hova.score_yield %score kept %all
      }
      hova.yield %r : tensor<1x4x16xf32>
    } : tensor<1x4x16xf32>
    hova.yield %r_out : tensor<1x4x16xf32>
  } : (tensor<1x4x16xf32>, tensor<1x32x16xf32>) -> tensor<1x4x16xf32>
  return %out : tensor<1x4x16xf32>
}

// -----

// The slope of a head is an exponential: it is taken once, before the head's keys, as an element of a vector.
// CHECK-LABEL: func.func private @kernel_takes_functions_of_a_head_once(
// CHECK: scf.for
// CHECK: %[[SLOPES:.*]] = math.exp %{{.*}} : vector<32xf32>
// CHECK: %[[SLOPE:.*]] = vector.extract %[[SLOPES]][0] : f32 from vector<32xf32>
// CHECK: hova_cpu.tile_product
// CHECK-NOT: math.exp
// CHECK: vector.broadcast %[[SLOPE]] : f32 to vector<16xf32>
// CHECK-NOT: math.exp
func.func @main(%q: tensor<1x4x16xf32>, %k: tensor<1x32x16xf32>) -> tensor<1x4x16xf32> {
  %out = hova.kernel "takes_functions_of_a_head_once" units<batch 1, head 2> (%q, %k) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 1>} {
  ^bb0(%q_: tensor<1x4x16xf32>, %k_: tensor<1x32x16xf32>):
    %r_out = hova.stage [#hova.layout<rows 16>] {
      %r = hova.attention %q_, %k_, %k_ {heads = 2 : i64}
          : (tensor<1x4x16xf32>, tensor<1x32x16xf32>, tensor<1x32x16xf32>) -> tensor<1x4x16xf32> scores {
      ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
        %number = arith.index_cast %head : index to i32
        %power = arith.sitofp %number : i32 to f32
        %slope = math.exp %power : f32
        %distance = arith.subi %query, %key : index
        %whole = arith.index_cast %distance : index to i32
        %far = arith.sitofp %whole : i32 to f32
        %less = arith.mulf %slope, %far : f32
        %score = arith.subf %raw, %less : f32
        %all = arith.constant true
        hova.score_yield %score kept %all
      }
      hova.yield %r : tensor<1x4x16xf32>
    } : tensor<1x4x16xf32>
    hova.yield %r_out : tensor<1x4x16xf32>
  } : (tensor<1x4x16xf32>, tensor<1x32x16xf32>) -> tensor<1x4x16xf32>
  return %out : tensor<1x4x16xf32>
}
