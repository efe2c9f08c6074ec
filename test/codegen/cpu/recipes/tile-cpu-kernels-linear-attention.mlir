// Loops of linear attention.

// RUN: hova-opt %s --split-input-file --hova-tile-cpu-kernels --canonicalize --cse | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// Seven keys of two heads are blocks of four and three, each with loops of its
// own. The features of a block are read down their columns, and what they add
// up to becomes the last column of the slot.
// CHECK-LABEL: func.func @main(
// CHECK: hova.launch @kernel_sums{{.*}} shape = #hova_cpu.launch<units = 4, grain = {{[0-9]+}}>}
// CHECK-LABEL: func.func private @kernel_sums(
// CHECK-SAME: %[[K:.*]]: memref<7x8xf32> {llvm.noalias}, %[[V:.*]]: memref<7x6xf32> {llvm.noalias}, %[[SLOTS:.*]]: memref<16x4xf32> {llvm.noalias}, %[[SCRATCH:.*]]: memref<{{.*}}xi8>
// CHECK: %[[F:.*]] = memref.view %[[SCRATCH]]{{.*}} to memref<4x16xf32>
// CHECK: %[[COLUMNS:.*]] = memref.reinterpret_cast %[[F]] {{.*}} to memref<4x4xf32, strided<[1, 16]>>
// CHECK: scf.for %[[UNIT:.*]] = %
// CHECK: %[[BLOCK:.*]] = arith.remui %[[UNIT]], %c2
// CHECK: %[[SLOT:.*]] = arith.muli %[[UNIT]], %c4
// CHECK: arith.cmpi ne, %[[BLOCK]], %c1
// CHECK: scf.if
// CHECK: hova_cpu.tile_load %[[K]]{{.*}} -> vector<4x4xf32>
// CHECK: hova_cpu.tile_store {{.*}}, %[[F]]
// CHECK: hova_cpu.tile_product %[[COLUMNS]]{{.*}}, %[[V]]{{.*}} depth %c4 {{.*}} -> vector<4x4xf32>
// CHECK: hova_cpu.tile_store {{.*}}, %[[SLOTS]]
// CHECK: memref.store {{.*}}, %[[SLOTS]][%{{.*}}, %c3]
// CHECK: scf.if
// CHECK: hova_cpu.tile_product %[[COLUMNS]]{{.*}}, %[[V]]{{.*}} depth %c3 {{.*}} -> vector<4x4xf32>
func.func @main(%k: tensor<1x7x8xf32>, %v: tensor<1x7x6xf32>) -> tensor<1x2x2x4x4xf32> {
  %out = hova.kernel "sums" units<batch 1, head 2, token_block 2> (%k, %v) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 1>} {
  ^bb0(%k_: tensor<1x7x8xf32>, %v_: tensor<1x7x6xf32>):
    %r_out = hova.stage [#hova.layout<rows 4>] {
      %r = hova.key_summary relu %k_, %v_ {heads = 2 : i64, block = 4 : i64, eps = 0.125 : f64} : (tensor<1x7x8xf32>, tensor<1x7x6xf32>) -> tensor<1x2x2x4x4xf32>
      hova.yield %r : tensor<1x2x2x4x4xf32>
    } : tensor<1x2x2x4x4xf32>
    hova.yield %r_out : tensor<1x2x2x4x4xf32>
  } : (tensor<1x7x8xf32>, tensor<1x7x6xf32>) -> tensor<1x2x2x4x4xf32>
  return %out : tensor<1x2x2x4x4xf32>
}

// -----

// A thread merges all slots of a head with the first block of it that it has,
// and none with the next.
// CHECK-LABEL: func.func private @kernel_merges(
// CHECK-SAME: %[[Q:.*]]: memref<8x8xf32> {llvm.noalias}, %[[SLOTS:.*]]: memref<24x4xf32> {llvm.noalias}, %[[OUT:.*]]: memref<8x6xf32> {llvm.noalias}
// CHECK-SAME: %[[BEGIN:[a-z0-9]+]]: index, %{{[a-z0-9]+}}: index)
// CHECK: scf.for %[[UNIT:.*]] = %[[BEGIN]]
// CHECK: %[[BLOCK:.*]] = arith.remui %[[UNIT]], %c2
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[UNIT]], %[[BEGIN]]
// CHECK: %[[START:.*]] = arith.cmpi eq, %[[BLOCK]], %c0
// CHECK: %[[NEW:.*]] = arith.ori %[[FIRST]], %[[START]]
// CHECK: %[[MOST:.*]] = arith.select %[[NEW]], %c3, %c0
// CHECK: scf.for %{{.*}} = %c0 to %[[MOST]]
// CHECK: vector.maskedload %[[SLOTS]]
// CHECK: arith.divf
// CHECK: hova_cpu.tile_product {{.*}} depth %c4
// CHECK: hova_cpu.tile_store {{.*}}, %[[OUT]]
func.func @main(%q: tensor<1x8x8xf32>, %s: tensor<1x2x3x4x4xf32>) -> tensor<1x8x6xf32> {
  %out = hova.kernel "merges" units<batch 1, head 2, query_block 2> (%q, %s) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 1>} {
  ^bb0(%q_: tensor<1x8x8xf32>, %s_: tensor<1x2x3x4x4xf32>):
    %r_out = hova.stage [#hova.layout<rows 6>] {
      %r = hova.summary_attention relu %q_, %s_ {heads = 2 : i64, block = 4 : i64, eps = 0.125 : f64} : (tensor<1x8x8xf32>, tensor<1x2x3x4x4xf32>) -> tensor<1x8x6xf32>
      hova.yield %r : tensor<1x8x6xf32>
    } : tensor<1x8x6xf32>
    hova.yield %r_out : tensor<1x8x6xf32>
  } : (tensor<1x8x8xf32>, tensor<1x2x3x4x4xf32>) -> tensor<1x8x6xf32>
  return %out : tensor<1x8x6xf32>
}

// -----

// A causal block goes on from the slots before it: one more, or all of them
// where a thread begins. Scores of keys after the query are replaced by zero.
// CHECK-LABEL: func.func private @kernel_sees_the_past(
// CHECK: scf.for %[[UNIT:.*]] = %[[BEGIN:.*]] to
// CHECK: %[[BLOCK:.*]] = arith.remui %[[UNIT]], %c2
// CHECK: %[[NEW:.*]] = arith.ori
// CHECK: %[[BEFORE:.*]] = arith.maxui %[[BLOCK]], %c1
// CHECK: %[[LAST:.*]] = arith.subi %[[BEFORE]], %c1
// CHECK: %[[FROM:.*]] = arith.select %[[NEW]], %c0, %[[LAST]]
// CHECK: scf.for %{{.*}} = %[[FROM]] to %[[BLOCK]]
// CHECK: vector.shuffle
// CHECK: %[[KEEP:.*]] = arith.cmpi {{sle|sge}}, %{{.*}}, %{{.*}} : vector<16xi32>
// CHECK: arith.select %[[KEEP]]
func.func @main(%q: tensor<1x8x8xf32>, %s: tensor<1x2x2x4x4xf32>, %k: tensor<1x8x8xf32>, %v: tensor<1x8x6xf32>) -> tensor<1x8x6xf32> {
  %out = hova.kernel "sees_the_past" units<batch 1, head 2, query_block 2> (%q, %s, %k, %v) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 1>} {
  ^bb0(%q_: tensor<1x8x8xf32>, %s_: tensor<1x2x2x4x4xf32>, %k_: tensor<1x8x8xf32>, %v_: tensor<1x8x6xf32>):
    %r_out = hova.stage [#hova.layout<rows 6>] {
      %r = hova.summary_attention relu %q_, %s_ key(%k_) value(%v_) {heads = 2 : i64, block = 4 : i64, eps = 0.125 : f64} : (tensor<1x8x8xf32>, tensor<1x2x2x4x4xf32>, tensor<1x8x8xf32>, tensor<1x8x6xf32>) -> tensor<1x8x6xf32>
      hova.yield %r : tensor<1x8x6xf32>
    } : tensor<1x8x6xf32>
    hova.yield %r_out : tensor<1x8x6xf32>
  } : (tensor<1x8x8xf32>, tensor<1x2x2x4x4xf32>, tensor<1x8x8xf32>, tensor<1x8x6xf32>) -> tensor<1x8x6xf32>
  return %out : tensor<1x8x6xf32>
}

// -----

// No maximum is subtracted from what features are exponentials of: above 126
// hova.exp2 is given four less.
// CHECK-LABEL: func.func private @kernel_exponentials(
// CHECK-DAG: %[[LARGE:.*]] = arith.constant dense<1.260000e+02>
// CHECK-DAG: %[[FOUR:.*]] = arith.constant dense<4.000000e+00>
// CHECK-DAG: %[[SIXTEEN:.*]] = arith.constant dense<1.600000e+01>
// CHECK: %[[CAPPED:.*]] = arith.select
// CHECK: %[[IS:.*]] = arith.cmpf ogt, %[[CAPPED]], %[[LARGE]]
// CHECK: %[[LESS:.*]] = arith.select %[[IS]], %[[FOUR]]
// CHECK: %[[FACTOR:.*]] = arith.select %[[IS]], %[[SIXTEEN]]
// CHECK: %[[X:.*]] = arith.subf %[[CAPPED]], %[[LESS]]
// CHECK: %[[POWER:.*]] = hova.exp2 %[[X]]
// CHECK: arith.mulf %[[POWER]], %[[FACTOR]]
func.func private @weights() {
  %w = hova.weight "w" : tensor<4x16xf32>
  hova.store_weight "w", %w : tensor<4x16xf32>
  return
}
func.func @main(%k: tensor<1x8x8xf32>, %v: tensor<1x8x8xf32>) -> tensor<1x2x1x16x5xf32> {
  %w = hova.image_weight "w" {layout = #hova.column_strips<64>} : tensor<4x16xf32>
  %out = hova.kernel "exponentials" units<batch 1, head 2, token_block 1> (%k, %v, %w) attributes {schedule = #hova_cpu.schedule<tile = 6x16, lanes = 32, grain = 1>} {
  ^bb0(%k_: tensor<1x8x8xf32>, %v_: tensor<1x8x8xf32>, %w_: tensor<4x16xf32>):
    %r_out = hova.stage [#hova.layout<rows 5>] {
      %r = hova.key_summary exp %k_, %v_ features(%w_) {block = 8 : i64, heads = 2 : i64} : (tensor<1x8x8xf32>, tensor<1x8x8xf32>, tensor<4x16xf32>) -> tensor<1x2x1x16x5xf32>
      hova.yield %r : tensor<1x2x1x16x5xf32>
    } : tensor<1x2x1x16x5xf32>
    hova.yield %r_out : tensor<1x2x1x16x5xf32>
  } : (tensor<1x8x8xf32>, tensor<1x8x8xf32>, tensor<4x16xf32>) -> tensor<1x2x1x16x5xf32>
  return %out : tensor<1x2x1x16x5xf32>
}
