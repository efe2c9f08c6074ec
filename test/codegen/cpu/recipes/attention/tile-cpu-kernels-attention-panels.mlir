// Panels of keys and what is after the last whole one.

// RUN: hova-opt %s --split-input-file --hova-tile-cpu-kernels --canonicalize --cse | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// Nine keys after two panels fit 16 lanes: the packed keys of the tail lie
// after the panels, and a row of scores has 80 lanes and 16 more.
// CHECK-LABEL: func.func private @kernel_gives_nine_keys_sixteen_lanes(
// CHECK: %[[PANELS:.*]] = memref.view %{{.*}} to memref<2x8x32xf32>
// CHECK: %[[TAIL:.*]] = memref.view %{{.*}}[%c2048][] : {{.*}} to memref<8x16xf32>
// CHECK: %[[SCORES:.*]] = memref.view %{{.*}}[%c2560][] : {{.*}} to memref<3x96xf32>
// CHECK: hova_cpu.tile_product %{{.*}}, %[[PANELS]][%{{.*}}, %c0, %c0] depth %c8 {{.*}} -> vector<3x32xf32>
// CHECK: hova_cpu.tile_product %{{.*}}, %[[TAIL]][%c0, %c0] depth %c8 {{.*}} -> vector<3x16xf32>
// CHECK: hova_cpu.tile_store %{{.*}}, %[[SCORES]][%c0, %c64]
// The halves of what the panels had join the tail.
// CHECK: %[[KEPT:.*]] = arith.select %{{.*}} : vector<16xi1>, vector<16xf32>
// CHECK: %[[LOW:.*]] = vector.extract_strided_slice %[[TOP:.*]] {offsets = [0], sizes = [16]
// CHECK: %[[ONE:.*]] = arith.maxnumf %[[KEPT]], %[[LOW]]
// CHECK: %[[HIGH:.*]] = vector.extract_strided_slice %[[TOP]] {offsets = [16], sizes = [16]
// CHECK: %[[BOTH:.*]] = arith.maxnumf %[[ONE]], %[[HIGH]]
// CHECK: vector.reduction <maxnumf>, %[[BOTH]]
// CHECK: hova_cpu.tile_product %[[SCORES]][%c0, %c0], %{{.*}} depth %c73
func.func @main(%q: tensor<1x3x16xf32>, %k: tensor<1x73x16xf32>, %v: tensor<1x73x16xf32>) -> tensor<1x3x16xf32> {
  %out = hova.kernel "gives_nine_keys_sixteen_lanes" units<batch 1, head 2> (%q, %k, %v) attributes {schedule = #hova_cpu.schedule<tile = 4x32, lanes = 64, grain = 1>} {
  ^bb0(%q_: tensor<1x3x16xf32>, %k_: tensor<1x73x16xf32>, %v_: tensor<1x73x16xf32>):
    %r_out = hova.stage [#hova.layout<rows 16>] {
      %r = hova.attention %q_, %k_, %v_
          {heads = 2 : i64}
          : (tensor<1x3x16xf32>, tensor<1x73x16xf32>, tensor<1x73x16xf32>) -> tensor<1x3x16xf32> scores {
      ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
        %scale = hova.number 0.25
        %scaled = arith.mulf %raw, %scale : f32
        %all = arith.constant true
        hova.score_yield %scaled kept %all
      }
      hova.yield %r : tensor<1x3x16xf32>
    } : tensor<1x3x16xf32>
    hova.yield %r_out : tensor<1x3x16xf32>
  } : (tensor<1x3x16xf32>, tensor<1x73x16xf32>, tensor<1x73x16xf32>) -> tensor<1x3x16xf32>
  return %out : tensor<1x3x16xf32>
}

// -----

// Seventeen keys need 32 lanes.
// CHECK-LABEL: func.func private @kernel_gives_seventeen_keys_a_panel(
// CHECK: memref.view %{{.*}} to memref<1x8x32xf32>
// CHECK: memref.view %{{.*}} to memref<8x32xf32>
func.func @main(%q: tensor<1x3x16xf32>, %k: tensor<1x49x16xf32>, %v: tensor<1x49x16xf32>) -> tensor<1x3x16xf32> {
  %out = hova.kernel "gives_seventeen_keys_a_panel" units<batch 1, head 2> (%q, %k, %v) attributes {schedule = #hova_cpu.schedule<tile = 4x32, lanes = 64, grain = 1>} {
  ^bb0(%q_: tensor<1x3x16xf32>, %k_: tensor<1x49x16xf32>, %v_: tensor<1x49x16xf32>):
    %r_out = hova.stage [#hova.layout<rows 16>] {
      %r = hova.attention %q_, %k_, %v_
          {heads = 2 : i64}
          : (tensor<1x3x16xf32>, tensor<1x49x16xf32>, tensor<1x49x16xf32>) -> tensor<1x3x16xf32> scores {
      ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
        %scale = hova.number 0.25
        %scaled = arith.mulf %raw, %scale : f32
        %all = arith.constant true
        hova.score_yield %scaled kept %all
      }
      hova.yield %r : tensor<1x3x16xf32>
    } : tensor<1x3x16xf32>
    hova.yield %r_out : tensor<1x3x16xf32>
  } : (tensor<1x3x16xf32>, tensor<1x49x16xf32>, tensor<1x49x16xf32>) -> tensor<1x3x16xf32>
  return %out : tensor<1x3x16xf32>
}

// -----

// Blocks end at different panels, so the last one is like the others.
// CHECK-LABEL: func.func private @kernel_keeps_whole_panels_with_a_causal_mask(
// CHECK: memref.view %{{.*}} to memref<3x8x32xf32>
// CHECK: memref.view %{{.*}} to memref<4x112xf32>
// CHECK: memref.view %{{.*}} to memref<4x1xf32>
func.func @main(%q: tensor<1x6x16xf32>, %k: tensor<1x73x16xf32>, %v: tensor<1x73x16xf32>) -> tensor<1x6x16xf32> {
  %out = hova.kernel "keeps_whole_panels_with_a_causal_mask" units<batch 1, head 2> (%q, %k, %v) attributes {schedule = #hova_cpu.schedule<tile = 4x32, lanes = 64, grain = 1>} {
  ^bb0(%q_: tensor<1x6x16xf32>, %k_: tensor<1x73x16xf32>, %v_: tensor<1x73x16xf32>):
    %r_out = hova.stage [#hova.layout<rows 16>] {
      %r = hova.attention %q_, %k_, %v_
          {heads = 2 : i64}
          : (tensor<1x6x16xf32>, tensor<1x73x16xf32>, tensor<1x73x16xf32>) -> tensor<1x6x16xf32> scores {
      ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
        %shift = arith.constant 60 : index
        %position = arith.addi %query, %shift : index
        %not_later = arith.cmpi sle, %key, %position : index
        hova.score_yield %raw kept %not_later
      }
      hova.yield %r : tensor<1x6x16xf32>
    } : tensor<1x6x16xf32>
    hova.yield %r_out : tensor<1x6x16xf32>
  } : (tensor<1x6x16xf32>, tensor<1x73x16xf32>, tensor<1x73x16xf32>) -> tensor<1x6x16xf32>
  return %out : tensor<1x6x16xf32>
}

// -----

// Queries that see a key of every panel visit all of them, whatever the mask.
// CHECK-LABEL: func.func private @kernel_has_a_tail_where_no_panel_is_left_out(
// CHECK: memref.view %{{.*}} to memref<2x8x32xf32>
// CHECK: memref.view %{{.*}} to memref<8x16xf32>
// CHECK: memref.view %{{.*}} to memref<3x96xf32>
// CHECK: hova_cpu.tile_product {{.*}} -> vector<3x32xf32>
// CHECK: hova_cpu.tile_product {{.*}} -> vector<3x16xf32>
// CHECK: hova_cpu.tile_product {{.*}} depth %c73
func.func @main(%q: tensor<1x3x16xf32>, %k: tensor<1x73x16xf32>, %v: tensor<1x73x16xf32>) -> tensor<1x3x16xf32> {
  %out = hova.kernel "has_a_tail_where_no_panel_is_left_out" units<batch 1, head 2> (%q, %k, %v) attributes {schedule = #hova_cpu.schedule<tile = 4x32, lanes = 64, grain = 1>} {
  ^bb0(%q_: tensor<1x3x16xf32>, %k_: tensor<1x73x16xf32>, %v_: tensor<1x73x16xf32>):
    %r_out = hova.stage [#hova.layout<rows 16>] {
      %r = hova.attention %q_, %k_, %v_
          {heads = 2 : i64}
          : (tensor<1x3x16xf32>, tensor<1x73x16xf32>, tensor<1x73x16xf32>) -> tensor<1x3x16xf32> scores {
      ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
        %shift = arith.constant 70 : index
        %position = arith.addi %query, %shift : index
        %not_later = arith.cmpi sle, %key, %position : index
        hova.score_yield %raw kept %not_later
      }
      hova.yield %r : tensor<1x3x16xf32>
    } : tensor<1x3x16xf32>
    hova.yield %r_out : tensor<1x3x16xf32>
  } : (tensor<1x3x16xf32>, tensor<1x73x16xf32>, tensor<1x73x16xf32>) -> tensor<1x3x16xf32>
  return %out : tensor<1x3x16xf32>
}

// -----

// A block whose queries see no key visits no panel.
// CHECK-LABEL: func.func private @kernel_visits_nothing_for_queries_without_keys(
// CHECK: scf.for %[[BLOCK:.*]] = %c0 to %c2
// CHECK: %[[ROW:.*]] = arith.muli %[[BLOCK]], %c3
// CHECK: %[[PANELS:.*]] = arith.minui %[[ROW]], %c1
// CHECK: scf.for %{{.*}} = %c0 to %[[PANELS]]
// CHECK: %[[READ:.*]] = arith.muli %[[PANELS]], %c32
// CHECK: arith.minui %[[READ]], %c3
func.func @main(%q: tensor<1x6x16xf32>, %k: tensor<1x3x16xf32>, %v: tensor<1x3x16xf32>) -> tensor<1x6x16xf32> {
  %out = hova.kernel "visits_nothing_for_queries_without_keys" units<batch 1, head 2> (%q, %k, %v) attributes {schedule = #hova_cpu.schedule<tile = 3x32, lanes = 64, grain = 1>} {
  ^bb0(%q_: tensor<1x6x16xf32>, %k_: tensor<1x3x16xf32>, %v_: tensor<1x3x16xf32>):
    %r_out = hova.stage [#hova.layout<rows 16>] {
      %r = hova.attention %q_, %k_, %v_
          {heads = 2 : i64}
          : (tensor<1x6x16xf32>, tensor<1x3x16xf32>, tensor<1x3x16xf32>) -> tensor<1x6x16xf32> scores {
      ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
        %shift = arith.constant -3 : index
        %position = arith.addi %query, %shift : index
        %not_later = arith.cmpi sle, %key, %position : index
        hova.score_yield %raw kept %not_later
      }
      hova.yield %r : tensor<1x6x16xf32>
    } : tensor<1x6x16xf32>
    hova.yield %r_out : tensor<1x6x16xf32>
  } : (tensor<1x6x16xf32>, tensor<1x3x16xf32>, tensor<1x3x16xf32>) -> tensor<1x6x16xf32>
  return %out : tensor<1x6x16xf32>
}

// -----

// More panels than stand side by side: a loop carries one vector.
// CHECK-LABEL: func.func private @kernel_carries_maxima_over_many_panels(
// CHECK: %[[TOP:.*]] = scf.for %{{.*}} = %c0 to %c9 step %c1 iter_args(%[[SO_FAR:.*]] = %{{.*}}) -> (vector<32xf32>)
// CHECK: arith.maxnumf %[[SO_FAR]], %{{.*}}
// CHECK: vector.reduction <maxnumf>, %[[TOP]]
func.func @main(%q: tensor<1x3x16xf32>, %k: tensor<1x288x16xf32>, %v: tensor<1x288x16xf32>) -> tensor<1x3x16xf32> {
  %out = hova.kernel "carries_maxima_over_many_panels" units<batch 1, head 2> (%q, %k, %v) attributes {schedule = #hova_cpu.schedule<tile = 4x32, lanes = 64, grain = 1>} {
  ^bb0(%q_: tensor<1x3x16xf32>, %k_: tensor<1x288x16xf32>, %v_: tensor<1x288x16xf32>):
    %r_out = hova.stage [#hova.layout<rows 16>] {
      %r = hova.attention %q_, %k_, %v_
          {heads = 2 : i64}
          : (tensor<1x3x16xf32>, tensor<1x288x16xf32>, tensor<1x288x16xf32>) -> tensor<1x3x16xf32> scores {
      ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
        %scale = hova.number 0.25
        %scaled = arith.mulf %raw, %scale : f32
        %all = arith.constant true
        hova.score_yield %scaled kept %all
      }
      hova.yield %r : tensor<1x3x16xf32>
    } : tensor<1x3x16xf32>
    hova.yield %r_out : tensor<1x3x16xf32>
  } : (tensor<1x3x16xf32>, tensor<1x288x16xf32>, tensor<1x288x16xf32>) -> tensor<1x3x16xf32>
  return %out : tensor<1x3x16xf32>
}
