// Attention that multiplies pairs of bf16.

// RUN: hova-opt %s --split-input-file --hova-tile-cpu-kernels --canonicalize --cse | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// Seven channels are four pairs, the last with a zero; seventeen keys are nine,
// as well. What is stored is rounded, and what is summed: by a product with
// ones.
// CHECK-LABEL: func.func private @kernel_multiplies_odd_pairs(
// CHECK-SAME: %[[Q:.*]]: memref<3x14xbf16> {llvm.noalias}, %[[K:.*]]: memref<49x14xbf16> {llvm.noalias}, %[[V:.*]]: memref<49x14xbf16> {llvm.noalias}
// CHECK: %[[ONES:.*]] = arith.constant dense<1.000000e+00> : vector<32xbf16>
// CHECK: %[[PANELS:.*]] = memref.view %{{.*}} to memref<1x4x32xi32>
// CHECK: %[[TAIL:.*]] = memref.view %{{.*}} to memref<4x32xi32>
// CHECK: %[[VALUES:.*]] = memref.view %{{.*}} to memref<25x7xi32>
// CHECK: %[[SCORES:.*]] = memref.view %{{.*}} to memref<3x80xf32>
// CHECK: %[[EXPONENTIALS:.*]] = memref.view %{{.*}} to memref<3x64xbf16
// CHECK: %[[CHANNELS:.*]] = vector.maskedload %[[K]]{{.*}} : memref<49x14xbf16>, vector<32xi1>, vector<32xbf16>
// CHECK: vector.bitcast %[[CHANNELS]] : vector<32xbf16> to vector<16xi32>
// CHECK-COUNT-4: vector.store %{{.*}}, %[[PANELS]]
// CHECK: scf.for %[[PAIR:.*]] = %c0 to %c24 step %c1
// CHECK: %[[FIRST:.*]] = vector.maskedload %[[V]]
// CHECK: %[[SECOND:.*]] = vector.maskedload %[[V]]
// CHECK: %[[BOTH:.*]] = vector.shuffle %[[FIRST]], %[[SECOND]] [0, 32, 1, 33, 2, 34, 3, 35, 4, 36, 5, 37, 6, 38, 7, 39, 8, 40, 9, 41, 10, 42, 11, 43, 12, 44, 13, 45, 14, 46, 15, 47]
// CHECK: %[[WORDS:.*]] = vector.bitcast %[[BOTH]] : vector<32xbf16> to vector<16xi32>
// CHECK: vector.maskedstore %[[VALUES]][%[[PAIR]], %c0], %{{.*}}, %[[WORDS]]
// CHECK: %[[LAST:.*]] = vector.maskedload %[[V]]
// CHECK: vector.shuffle %[[LAST]], %{{.*}} [0, 32
// CHECK: vector.maskedstore %[[VALUES]][%c24, %c0]
// CHECK: hova_cpu.tile_product %[[Q]][%{{.*}}], %[[PANELS]][%{{.*}}, %c0, %c0] depth %c7 {{.*}} -> vector<3x32xf32>
// CHECK: hova_cpu.tile_product %[[Q]][%{{.*}}], %[[TAIL]][%c0, %c0] depth %c7 {{.*}} -> vector<3x32xf32>
// CHECK: %[[EXPONENTIAL:.*]] = hova.exp2 %{{.*}} : vector<32xf32>
// CHECK: %[[NARROW:.*]] = arith.truncf %[[EXPONENTIAL]] : vector<32xf32> to vector<32xbf16>
// CHECK: vector.store %[[NARROW]], %[[EXPONENTIALS]]
// CHECK: %[[WHOLE:.*]] = hova_cpu.pair_dot %[[NARROW]], %[[ONES]], %{{.*}} : vector<32xbf16>, vector<16xf32>
// CHECK: hova.exp2
// CHECK: %[[SUM:.*]] = hova_cpu.pair_dot
// CHECK: %[[ALL:.*]] = arith.addf %[[SUM]], %[[WHOLE]]
// CHECK: vector.reduction <add>, %[[ALL]]
// CHECK: hova_cpu.tile_product %[[EXPONENTIALS]][%c0, %c0], %[[VALUES]][%c0, %c0] depth %c50 {columns = 7 : i64} {{.*}} -> vector<3x8xf32>
func.func @main(%q: tensor<1x3x14xbf16>, %k: tensor<1x49x14xbf16>, %v: tensor<1x49x14xbf16>) -> tensor<1x3x14xbf16> {
  %out = hova.kernel "multiplies_odd_pairs" units<batch 1, head 2> (%q, %k, %v) attributes {schedule = #hova_cpu.schedule<tile = 4x32, lanes = 64, grain = 1, pairs>} {
  ^bb0(%q_: tensor<1x3x14xbf16>, %k_: tensor<1x49x14xbf16>, %v_: tensor<1x49x14xbf16>):
    %r_out = hova.stage [#hova.layout<rows 14>] {
      %r = hova.attention %q_, %k_, %v_
          {heads = 2 : i64}
          : (tensor<1x3x14xbf16>, tensor<1x49x14xbf16>, tensor<1x49x14xbf16>) -> tensor<1x3x14xbf16> scores {
      ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
        %scale = hova.number 0.25
        %scaled = arith.mulf %raw, %scale : f32
        %all = arith.constant true
        hova.score_yield %scaled kept %all
      }
      hova.yield %r : tensor<1x3x14xbf16>
    } : tensor<1x3x14xbf16>
    hova.yield %r_out : tensor<1x3x14xbf16>
  } : (tensor<1x3x14xbf16>, tensor<1x49x14xbf16>, tensor<1x49x14xbf16>) -> tensor<1x3x14xbf16>
  return %out : tensor<1x3x14xbf16>
}

// -----

// Whole panels make an even depth, and so does the last pair.
// CHECK-LABEL: func.func private @kernel_multiplies_pairs_up_to_the_causal_limit(
// CHECK: %[[TAKEN:.*]] = arith.divui %{{[0-9]+}}, %c2
// CHECK-NEXT: %[[STEPS:.*]] = arith.minui %[[TAKEN]], %c1
// CHECK: %[[PANELS:.*]] = arith.addi %[[STEPS]], %c1
// CHECK: %[[READ:.*]] = arith.muli %[[PANELS]], %c32
// CHECK: %[[DEPTH:.*]] = arith.minui %[[READ]], %c50
// CHECK: hova_cpu.tile_product %{{.*}}, %{{.*}} depth %[[DEPTH]] {{.*}} -> vector<3x16xf32>
func.func @main(%q: tensor<1x6x32xbf16>, %k: tensor<1x49x32xbf16>, %v: tensor<1x49x32xbf16>) -> tensor<1x6x32xbf16> {
  %out = hova.kernel "multiplies_pairs_up_to_the_causal_limit" units<batch 1, head 2> (%q, %k, %v) attributes {schedule = #hova_cpu.schedule<tile = 4x32, lanes = 64, grain = 1, pairs>} {
  ^bb0(%q_: tensor<1x6x32xbf16>, %k_: tensor<1x49x32xbf16>, %v_: tensor<1x49x32xbf16>):
    %r_out = hova.stage [#hova.layout<rows 32>] {
      %r = hova.attention %q_, %k_, %v_
          {heads = 2 : i64}
          : (tensor<1x6x32xbf16>, tensor<1x49x32xbf16>, tensor<1x49x32xbf16>) -> tensor<1x6x32xbf16> scores {
      ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
        %shift = arith.constant 28 : index
        %position = arith.addi %query, %shift : index
        %not_later = arith.cmpi sle, %key, %position : index
        hova.score_yield %raw kept %not_later
      }
      hova.yield %r : tensor<1x6x32xbf16>
    } : tensor<1x6x32xbf16>
    hova.yield %r_out : tensor<1x6x32xbf16>
  } : (tensor<1x6x32xbf16>, tensor<1x49x32xbf16>, tensor<1x49x32xbf16>) -> tensor<1x6x32xbf16>
  return %out : tensor<1x6x32xbf16>
}

// -----

// Without the attribute numbers are widened where they are read.
// CHECK-LABEL: func.func private @kernel_widens_without_pairs(
// CHECK-SAME: memref<3x14xbf16> {llvm.noalias}, %{{.*}}: memref<49x14xbf16> {llvm.noalias}, %[[V:.*]]: memref<49x14xbf16>
// CHECK: memref.view %{{.*}} to memref<1x7x32xf32>
// CHECK-NOT: i32>
// CHECK: hova_cpu.tile_product %{{.*}}, %[[V]][%{{.*}}] depth %c49
func.func @main(%q: tensor<1x3x14xbf16>, %k: tensor<1x49x14xbf16>, %v: tensor<1x49x14xbf16>) -> tensor<1x3x14xbf16> {
  %out = hova.kernel "widens_without_pairs" units<batch 1, head 2> (%q, %k, %v) attributes {schedule = #hova_cpu.schedule<tile = 4x32, lanes = 64, grain = 1>} {
  ^bb0(%q_: tensor<1x3x14xbf16>, %k_: tensor<1x49x14xbf16>, %v_: tensor<1x49x14xbf16>):
    %r_out = hova.stage [#hova.layout<rows 14>] {
      %r = hova.attention %q_, %k_, %v_
          {heads = 2 : i64}
          : (tensor<1x3x14xbf16>, tensor<1x49x14xbf16>, tensor<1x49x14xbf16>) -> tensor<1x3x14xbf16> scores {
      ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
        %scale = hova.number 0.25
        %scaled = arith.mulf %raw, %scale : f32
        %all = arith.constant true
        hova.score_yield %scaled kept %all
      }
      hova.yield %r : tensor<1x3x14xbf16>
    } : tensor<1x3x14xbf16>
    hova.yield %r_out : tensor<1x3x14xbf16>
  } : (tensor<1x3x14xbf16>, tensor<1x49x14xbf16>, tensor<1x49x14xbf16>) -> tensor<1x3x14xbf16>
  return %out : tensor<1x3x14xbf16>
}
