// What comes next is prefetched while exponentials are taken.

// RUN: hova-opt %s --split-input-file --hova-tile-cpu-kernels --canonicalize --cse | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// The first query of the next unit, or of this one where it is the last, with a
// share of its keys and values: five for each of the seven queries, at most the
// last one. A row of 40 columns is three lines.
// CHECK-LABEL: func.func private @kernel_prefetches_the_next_head(
// CHECK-SAME: %[[Q:.*]]: memref<14x80xf32> {llvm.noalias}, %[[K:.*]]: memref<64x80xf32> {llvm.noalias}, %[[V:.*]]: memref<64x80xf32> {llvm.noalias}, %{{.*}}: index, %[[END:.*]]: index)
// CHECK: scf.for %[[UNIT:.*]] = %{{.*}} to %[[END]]
// CHECK: %[[AFTER:.*]] = arith.addi %[[UNIT]], %c1
// CHECK: %[[LAST:.*]] = arith.subi %[[END]], %c1
// CHECK: %[[NEXT:.*]] = arith.minui %[[AFTER]], %[[LAST]]
// CHECK: vector.reduction <maxnumf>
// CHECK: %[[BATCH:.*]] = arith.divui %[[NEXT]], %c2
// CHECK: %[[HEAD:.*]] = arith.remui %[[NEXT]], %c2
// CHECK: %[[COLUMN:.*]] = arith.muli %[[HEAD]], %c40
// CHECK: %[[QUERY:.*]] = arith.muli %[[BATCH]], %c7
// CHECK: %[[LASTROW:.*]] = arith.minui %[[ROW:.*]], %c6
// CHECK: %[[AT:.*]] = arith.addi %[[QUERY]], %[[LASTROW]]
// CHECK: scf.for %[[LINE:.*]] = %c0 to %c40 step %c16
// CHECK: %[[PLACE:.*]] = arith.addi %[[COLUMN]], %[[LINE]]
// CHECK: memref.prefetch %[[Q]][%[[AT]], %[[PLACE]]], read, locality<2>, data
// CHECK: %[[KEY:.*]] = arith.muli %[[BATCH]], %c32
// CHECK: scf.for %[[I:.*]] = %c0 to %c5 step %c1
// CHECK: %[[SHARE:.*]] = arith.muli %[[ROW]], %c5
// CHECK: %[[NUMBER:.*]] = arith.addi %[[SHARE]], %[[I]]
// CHECK: %[[INSIDE:.*]] = arith.minui %[[NUMBER]], %c31
// CHECK: %[[KEY_AT:.*]] = arith.addi %[[KEY]], %[[INSIDE]]
// CHECK: memref.prefetch %[[K]][%[[KEY_AT]], %{{.*}}], read, locality<2>, data
// CHECK: memref.prefetch %[[V]]
// CHECK: hova.exp2
// CHECK-NOT: memref.prefetch
func.func @main(%q: tensor<2x7x80xf32>, %k: tensor<2x32x80xf32>, %v: tensor<2x32x80xf32>) -> tensor<2x7x80xf32> {
  %out = hova.kernel "prefetches_the_next_head" units<batch 2, head 2> (%q, %k, %v) attributes {schedule = #hova_cpu.schedule<tile = 7x16, lanes = 32, grain = 1>} {
  ^bb0(%q_: tensor<2x7x80xf32>, %k_: tensor<2x32x80xf32>, %v_: tensor<2x32x80xf32>):
    %r_out = hova.stage [#hova.layout<rows 80>] {
      %r = hova.attention %q_, %k_, %v_
          {heads = 2 : i64}
          : (tensor<2x7x80xf32>, tensor<2x32x80xf32>, tensor<2x32x80xf32>) -> tensor<2x7x80xf32> scores {
      ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
        %scale = hova.number 0.25
        %scaled = arith.mulf %raw, %scale : f32
        %all = arith.constant true
        hova.score_yield %scaled kept %all
      }
      hova.yield %r : tensor<2x7x80xf32>
    } : tensor<2x7x80xf32>
    hova.yield %r_out : tensor<2x7x80xf32>
  } : (tensor<2x7x80xf32>, tensor<2x32x80xf32>, tensor<2x32x80xf32>) -> tensor<2x7x80xf32>
  return %out : tensor<2x7x80xf32>
}

// -----

// Caches keep no result or queries of more than 2 MiB: each query prefetches
// its row of the result, and the row of the next block's query, at most the
// last one.
// CHECK-LABEL: func.func private @kernel_prefetches_the_next_block(
// CHECK-SAME: %[[Q:.*]]: memref<6559x80xf32> {llvm.noalias}, %{{.*}}: memref<32x80xf32> {llvm.noalias}, %{{.*}}: memref<32x80xf32> {llvm.noalias}, %[[R:.*]]: memref<6559x80xf32> {llvm.noalias}, %{{.*}}: index, %{{.*}}: index)
// CHECK: %[[COLUMN:.*]] = arith.muli %{{.*}}, %c40
// CHECK: vector.reduction <or>
// CHECK: memref.store
// CHECK: scf.for %[[I:.*]] = %c0 to %c7 step %c1
// CHECK: %[[QUERY:.*]] = arith.addi %{{.*}}, %[[I]]
// CHECK: %[[ROW:.*]] = arith.addi %{{.*}}, %[[QUERY]]
// CHECK: scf.for %[[LINE:.*]] = %c0 to %c40 step %c16
// CHECK: %[[PLACE:.*]] = arith.addi %[[COLUMN]], %[[LINE]]
// CHECK: memref.prefetch %[[R]][%[[ROW]], %[[PLACE]]], read, locality<2>, data
// CHECK: %[[LATER:.*]] = arith.addi %[[ROW]], %c7
// CHECK: %[[AT:.*]] = arith.minui %[[LATER]], %c6558
// CHECK: memref.prefetch %[[Q]][%[[AT]], %{{.*}}], read, locality<2>, data
// CHECK: hova.exp2
func.func @main(%q: tensor<1x6559x80xf32>, %k: tensor<1x32x80xf32>, %v: tensor<1x32x80xf32>) -> tensor<1x6559x80xf32> {
  %out = hova.kernel "prefetches_the_next_block" units<batch 1, head 2> (%q, %k, %v) attributes {schedule = #hova_cpu.schedule<tile = 7x16, lanes = 32, grain = 1>} {
  ^bb0(%q_: tensor<1x6559x80xf32>, %k_: tensor<1x32x80xf32>, %v_: tensor<1x32x80xf32>):
    %r_out = hova.stage [#hova.layout<rows 80>] {
      %r = hova.attention %q_, %k_, %v_
          {heads = 2 : i64}
          : (tensor<1x6559x80xf32>, tensor<1x32x80xf32>, tensor<1x32x80xf32>) -> tensor<1x6559x80xf32> scores {
      ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
        %scale = hova.number 0.25
        %scaled = arith.mulf %raw, %scale : f32
        %all = arith.constant true
        hova.score_yield %scaled kept %all
      }
      hova.yield %r : tensor<1x6559x80xf32>
    } : tensor<1x6559x80xf32>
    hova.yield %r_out : tensor<1x6559x80xf32>
  } : (tensor<1x6559x80xf32>, tensor<1x32x80xf32>, tensor<1x32x80xf32>) -> tensor<1x6559x80xf32>
  return %out : tensor<1x6559x80xf32>
}
