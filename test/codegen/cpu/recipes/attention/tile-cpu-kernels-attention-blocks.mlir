// Loops of an attention whose queries see blocks of keys: these are listed, and scores are those of the list.

// RUN: hova-opt %s --split-input-file --hova-tile-cpu-kernels --canonicalize --cse | FileCheck %s
// RUN: hova-opt %s --split-input-file --hova-tile-cpu-kernels --check-meaning -o /dev/null 2>&1 | FileCheck %s --check-prefix=COUNT
// SPDX-License-Identifier: Apache-2.0

// COUNT: interpreted 6 kernel functions, 0 of them in part

// Blocks of 16 keys are panels of 16 lanes. A row of scores has room for five
// blocks, and the list for one more, which a number that does not count takes.
// CHECK-LABEL: func.func private @kernel_lists_blocks(
// CHECK-SAME: %[[QUERY:[a-z0-9]+]]: memref<80x16xf32>{{[^,]*}}, %{{[a-z0-9]+}}: memref<80x16xf32>{{[^,]*}}, %[[VALUE:[a-z0-9]+]]: memref<80x16xf32>
// CHECK: %[[KEYS:.*]] = memref.view {{.*}} to memref<5x8x16xf32>
// CHECK: %[[SCORES:.*]] = memref.view {{.*}} to memref<4x96xf32>
// CHECK: %[[LIST:.*]] = memref.view {{.*}} to memref<1x6xi32>
// CHECK: %[[SUMS:.*]] = memref.view {{.*}} to memref<4x32xf32>
// CHECK: %[[LENGTH_OF_LIST:.*]] = scf.for %seen_block = {{.*}} iter_args(%[[BEFORE:.*]] = %c0) -> (index) {
// CHECK: memref.store %{{.*}}, %[[LIST]][%c0, %[[BEFORE]]]
// CHECK: %[[NEXT:.*]] = arith.addi %[[BEFORE]], %c1
// CHECK: %[[CHOSEN:.*]] = arith.select %{{.*}}, %[[NEXT]], %[[BEFORE]]
// CHECK: scf.yield %[[CHOSEN]]
// CHECK: scf.for %[[TURN:.*]] = %c0 to %[[LENGTH_OF_LIST]]
// CHECK: %[[NUMBER:.*]] = memref.load %[[LIST]][%c0, %[[TURN]]]
// CHECK: %[[BLOCK:.*]] = arith.index_cast %[[NUMBER]]
// CHECK: %[[COLUMN:.*]] = arith.muli %[[TURN]], %c16
// CHECK: %[[TILE:.*]] = hova_cpu.tile_product %[[QUERY]]{{.*}}, %[[KEYS]][%[[BLOCK]], %c0, %c0] depth %c8
// CHECK: hova_cpu.tile_store %[[TILE]], %[[SCORES]][%c0, %[[COLUMN]]]
// CHECK: hova_cpu.tile_store %{{.*}}, %[[SUMS]][%c0, %c0]
// CHECK: scf.for %[[ENTRY:.*]] = %c0 to %[[LENGTH_OF_LIST]]
// CHECK: %[[BLOCKSUM:.*]] = hova_cpu.tile_product %[[SCORES]]{{.*}}, %[[VALUE]]{{.*}} depth %c16 :
// CHECK: %[[SUM:.*]] = hova_cpu.tile_load %[[SUMS]]
// CHECK: %[[MORE:.*]] = arith.addf %[[SUM]], %[[BLOCKSUM]]
// CHECK: hova_cpu.tile_store %[[MORE]], %[[SUMS]]
func.func @main(%q: tensor<1x80x16xf32>, %k: tensor<1x80x16xf32>, %v: tensor<1x80x16xf32>) -> tensor<1x80x16xf32> {
  %out = hova.kernel "lists_blocks" units<batch 1, head 2, query_block 5> (%q, %k, %v) attributes {schedule = #hova_cpu.schedule<tile = 4x32, lanes = 64, grain = 1>} {
  ^bb0(%q_: tensor<1x80x16xf32>, %k_: tensor<1x80x16xf32>, %v_: tensor<1x80x16xf32>):
    %r_out = hova.stage [#hova.layout<rows 16>] {
      %r = hova.attention %q_, %k_, %v_ {heads = 2 : i64, block = 16 : i64}
          : (tensor<1x80x16xf32>, tensor<1x80x16xf32>, tensor<1x80x16xf32>) -> tensor<1x80x16xf32> scores {
      ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
        %scale = hova.number 0.25
        %score = arith.mulf %raw, %scale : f32
        %all = arith.constant true
        hova.score_yield %score kept %all
      }
      hova.yield %r : tensor<1x80x16xf32>
    } : tensor<1x80x16xf32>
    hova.yield %r_out : tensor<1x80x16xf32>
  } : (tensor<1x80x16xf32>, tensor<1x80x16xf32>, tensor<1x80x16xf32>) -> tensor<1x80x16xf32>
  return %out : tensor<1x80x16xf32>
}

// -----

// A bias is read at the block's keys. Blocks after that of the last query are not listed.
// CHECK-LABEL: func.func private @kernel_adds_a_bias(
// CHECK: %[[LAST:.*]] = arith.minui %{{.*}}, %c4
// CHECK: %[[END:.*]] = arith.addi %[[LAST]], %c1
// CHECK: scf.for %seen_block
// CHECK: %[[IS_SEEN:.*]] = arith.cmpi ult, %[[SEEN:.*]], %[[END]] : index
// CHECK: %[[LENGTH_OF_LISTS:.*]] = arith.andi %{{.*}}, %[[IS_SEEN]]
// CHECK: arith.select %[[LENGTH_OF_LISTS]]
// CHECK: scf.for %queries
// CHECK: scf.for %keys
// CHECK: %[[NUMBER:.*]] = memref.load %{{.*}}[%c0, %keys{{.*}}] : memref<1x6xi32>
// CHECK: %[[BLOCK:.*]] = arith.index_cast %[[NUMBER]]
// CHECK: %[[KEY:.*]] = arith.muli %[[BLOCK]], %c16
// CHECK: %[[BIAS:.*]] = vector.load %{{.*}}[%{{.*}}, %[[KEY]]] : memref<160x80xf32>
// CHECK: math.fma %{{.*}}, %{{.*}}, %[[BIAS]]
// CHECK: arith.cmpi sle
func.func @main(%q: tensor<1x80x16xf32>, %k: tensor<1x80x16xf32>, %v: tensor<1x80x16xf32>, %c0: tensor<2x80x80xf32>) -> tensor<1x80x16xf32> {
  %out = hova.kernel "adds_a_bias" units<batch 1, head 2, query_block 5> (%q, %k, %v, %c0) attributes {schedule = #hova_cpu.schedule<tile = 4x32, lanes = 64, grain = 1>} {
  ^bb0(%q_: tensor<1x80x16xf32>, %k_: tensor<1x80x16xf32>, %v_: tensor<1x80x16xf32>, %c0_: tensor<2x80x80xf32>):
    %r_out = hova.stage [#hova.layout<rows 16>] {
      %r = hova.attention %q_, %k_, %v_ captured(%c0_) {heads = 2 : i64, block = 16 : i64}
          : (tensor<1x80x16xf32>, tensor<1x80x16xf32>, tensor<1x80x16xf32>, tensor<2x80x80xf32>) -> tensor<1x80x16xf32> scores {
      ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index, %bias: tensor<2x80x80xf32>):
        %scale = hova.number 0.25
        %scaled = arith.mulf %raw, %scale : f32
        %added = hova.element %bias[%head, %query, %key] : tensor<2x80x80xf32>
        %score = arith.addf %scaled, %added : f32
        %kept = arith.cmpi sle, %key, %query : index
        hova.score_yield %score kept %kept
      }
      hova.yield %r : tensor<1x80x16xf32>
    } : tensor<1x80x16xf32>
    hova.yield %r_out : tensor<1x80x16xf32>
  } : (tensor<1x80x16xf32>, tensor<1x80x16xf32>, tensor<1x80x16xf32>, tensor<2x80x80xf32>) -> tensor<1x80x16xf32>
  return %out : tensor<1x80x16xf32>
}

// -----

// The exponential takes the factor of a soft cap.
// CHECK-LABEL: func.func private @kernel_caps_scores(
// CHECK: %[[FACTOR:.*]] = arith.constant dense<43.2808495> : vector<16xf32>
// CHECK: %[[RAW:.*]] = vector.load %[[SCORES:.*]][%[[QUERY:.*]], %[[COLUMN:.*]]] : memref<4x96xf32>
// CHECK: %[[SMALL:.*]] = arith.mulf %[[RAW]], %{{.*}}
// CHECK: %[[TANH:.*]] = math.tanh %[[SMALL]]
// CHECK: vector.store %[[TANH]], %[[SCORES]][%[[QUERY]], %[[COLUMN]]]
// CHECK: math.fma %{{.*}}, %[[FACTOR]], %{{.*}}
func.func @main(%q: tensor<1x80x16xf32>, %k: tensor<1x80x16xf32>, %v: tensor<1x80x16xf32>) -> tensor<1x80x16xf32> {
  %out = hova.kernel "caps_scores" units<batch 1, head 2, query_block 5> (%q, %k, %v) attributes {schedule = #hova_cpu.schedule<tile = 4x32, lanes = 64, grain = 1>} {
  ^bb0(%q_: tensor<1x80x16xf32>, %k_: tensor<1x80x16xf32>, %v_: tensor<1x80x16xf32>):
    %r_out = hova.stage [#hova.layout<rows 16>] {
      %r = hova.attention %q_, %k_, %v_ {heads = 2 : i64, block = 16 : i64}
          : (tensor<1x80x16xf32>, tensor<1x80x16xf32>, tensor<1x80x16xf32>) -> tensor<1x80x16xf32> scores {
      ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
        %cap = hova.number 30.0
        %small = arith.divf %raw, %cap : f32
        %tanh = math.tanh %small : f32
        %score = arith.mulf %tanh, %cap : f32
        %all = arith.constant true
        hova.score_yield %score kept %all
      }
      hova.yield %r : tensor<1x80x16xf32>
    } : tensor<1x80x16xf32>
    hova.yield %r_out : tensor<1x80x16xf32>
  } : (tensor<1x80x16xf32>, tensor<1x80x16xf32>, tensor<1x80x16xf32>) -> tensor<1x80x16xf32>
  return %out : tensor<1x80x16xf32>
}

// -----

// What a key alone decides is a limit for each packed key, and written once for all queries.
// CHECK-LABEL: func.func private @kernel_limits_keys(
// CHECK-SAME: %[[VALID:[a-z0-9]+]]: memref<1x80xi8>
// CHECK: %[[LIMITS:.*]] = memref.view {{.*}} to memref<1x80xf32>
// CHECK: %[[BYTES:.*]] = vector.load %[[VALID]]
// CHECK: %[[IS_VALID:.*]] = arith.cmpi ne, %[[BYTES]]
// CHECK: %[[LIMIT:.*]] = arith.select %[[IS_VALID]]
// CHECK: vector.store %[[LIMIT]], %[[LIMITS]]
// CHECK: %[[NUMBER:.*]] = memref.load %{{.*}} : memref<1x6xi32>
// CHECK: %[[BLOCK:.*]] = arith.index_cast %[[NUMBER]]
// CHECK: %[[LANE:.*]] = arith.muli %[[BLOCK]], %c16
// CHECK: hova_cpu.tile_product
// CHECK: vector.load %[[LIMITS]][%c0, %[[LANE]]]
func.func @main(%q: tensor<1x80x16xf32>, %k: tensor<1x80x16xf32>, %v: tensor<1x80x16xf32>, %c0: tensor<1x80xi1>) -> tensor<1x80x16xf32> {
  %out = hova.kernel "limits_keys" units<batch 1, head 2, query_block 5> (%q, %k, %v, %c0) attributes {schedule = #hova_cpu.schedule<tile = 4x32, lanes = 64, grain = 1>} {
  ^bb0(%q_: tensor<1x80x16xf32>, %k_: tensor<1x80x16xf32>, %v_: tensor<1x80x16xf32>, %c0_: tensor<1x80xi1>):
    %r_out = hova.stage [#hova.layout<rows 16>] {
      %r = hova.attention %q_, %k_, %v_ captured(%c0_) {heads = 2 : i64, block = 16 : i64}
          : (tensor<1x80x16xf32>, tensor<1x80x16xf32>, tensor<1x80x16xf32>, tensor<1x80xi1>) -> tensor<1x80x16xf32> scores {
      ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index, %valid: tensor<1x80xi1>):
        %kept = hova.element %valid[%batch, %key] : tensor<1x80xi1>
        hova.score_yield %raw kept %kept
      }
      hova.yield %r : tensor<1x80x16xf32>
    } : tensor<1x80x16xf32>
    hova.yield %r_out : tensor<1x80x16xf32>
  } : (tensor<1x80x16xf32>, tensor<1x80x16xf32>, tensor<1x80x16xf32>, tensor<1x80xi1>) -> tensor<1x80x16xf32>
  return %out : tensor<1x80x16xf32>
}

// -----

// Blocks of 40 keys are two panels, of 64 lanes. Lanes after the last of a block
// are limits of -inf, and their rows of keys end with the last one of 172. A
// window of 8 keys leaves out blocks before and after it, and no bias is read
// after the last key.
// CHECK-LABEL: func.func private @kernel_sees_a_window(
// CHECK: memref.view {{.*}} to memref<10x16x32xf32>
// CHECK: %[[LAST_KEY:.*]] = arith.addi %{{.*}}, %c171
// CHECK: arith.minui %{{.*}}, %[[LAST_KEY]]
// CHECK: %[[BLOCK_END:.*]] = arith.minui %{{.*}}, %c172
// CHECK: %[[BOUND:.*]] = arith.index_cast %[[BLOCK_END]]
// CHECK: %[[BOUNDS:.*]] = vector.broadcast %[[BOUND]]
// CHECK: %[[IS_KEY:.*]] = arith.cmpi slt, %{{.*}}, %[[BOUNDS]]
// CHECK: arith.select %[[IS_KEY]]
// CHECK: %[[LENGTH_OF_LIST:.*]] = scf.for %seen_block
// CHECK: arith.cmpi uge, %[[SEEN:.*]], %{{.*}} : index
// CHECK: %[[PANELS:.*]] = arith.muli %[[LENGTH_OF_LIST]], %c2
// CHECK: scf.for %keys{{.*}} = %c0 to %[[PANELS]]
// CHECK: vector.maskedload %{{.*}} : memref<172x172xf32>
func.func @main(%q: tensor<1x172x16xf32>, %k: tensor<1x172x16xf32>, %v: tensor<1x172x16xf32>, %c0: tensor<172x172xf32>) -> tensor<1x172x16xf32> {
  %out = hova.kernel "sees_a_window" units<batch 1, head 1, query_block 5> (%q, %k, %v, %c0) attributes {schedule = #hova_cpu.schedule<tile = 4x32, lanes = 64, grain = 1>} {
  ^bb0(%q_: tensor<1x172x16xf32>, %k_: tensor<1x172x16xf32>, %v_: tensor<1x172x16xf32>, %c0_: tensor<172x172xf32>):
    %r_out = hova.stage [#hova.layout<rows 16>] {
      %r = hova.attention %q_, %k_, %v_ captured(%c0_) {heads = 1 : i64, block = 40 : i64}
          : (tensor<1x172x16xf32>, tensor<1x172x16xf32>, tensor<1x172x16xf32>, tensor<172x172xf32>) -> tensor<1x172x16xf32> scores {
      ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index, %bias: tensor<172x172xf32>):
        %width = arith.constant 8 : index
        %distance = arith.subi %query, %key : index
        %not_later = arith.cmpi sle, %key, %query : index
        %is_near = arith.cmpi slt, %distance, %width : index
        %kept = arith.andi %not_later, %is_near : i1
        %added = hova.element %bias[%query, %key] : tensor<172x172xf32>
        %score = arith.addf %raw, %added : f32
        hova.score_yield %score kept %kept
      }
      hova.yield %r : tensor<1x172x16xf32>
    } : tensor<1x172x16xf32>
    hova.yield %r_out : tensor<1x172x16xf32>
  } : (tensor<1x172x16xf32>, tensor<1x172x16xf32>, tensor<1x172x16xf32>, tensor<172x172xf32>) -> tensor<1x172x16xf32>
  return %out : tensor<1x172x16xf32>
}

// -----

// In pairs two values are one row of a block. The last of 87 is beside a zero.
// CHECK-LABEL: func.func private @kernel_multiplies_pairs(
// CHECK: %[[VALUES:.*]] = memref.view {{.*}} to memref<44x8xi32>
// CHECK: %[[EXPONENTIALS:.*]] = memref.view {{.*}}xbf16>
// CHECK: scf.for %seen_block
// CHECK: scf.for %seen_block
// CHECK: %[[REST:.*]] = arith.subi %c87, %{{.*}}
// CHECK: %[[LENGTH:.*]] = arith.minui %[[REST]], %c16
// CHECK: %[[UP:.*]] = arith.addi %[[LENGTH]], %c1
// CHECK: %[[PAIRS:.*]] = arith.divui %[[UP]], %c2
// CHECK: %[[EVEN:.*]] = arith.muli %[[PAIRS]], %c2
// CHECK: hova_cpu.tile_product %[[EXPONENTIALS]]{{.*}}, %[[VALUES]]{{.*}} depth %[[EVEN]]
func.func @main(%q: tensor<1x87x16xbf16>, %k: tensor<1x87x16xbf16>, %v: tensor<1x87x16xbf16>) -> tensor<1x87x16xbf16> {
  %out = hova.kernel "multiplies_pairs" units<batch 1, head 2, query_block 6> (%q, %k, %v) attributes {schedule = #hova_cpu.schedule<tile = 4x32, lanes = 64, grain = 1, pairs>} {
  ^bb0(%q_: tensor<1x87x16xbf16>, %k_: tensor<1x87x16xbf16>, %v_: tensor<1x87x16xbf16>):
    %r_out = hova.stage [#hova.layout<rows 16>] {
      %r = hova.attention %q_, %k_, %v_ {heads = 2 : i64, block = 16 : i64}
          : (tensor<1x87x16xbf16>, tensor<1x87x16xbf16>, tensor<1x87x16xbf16>) -> tensor<1x87x16xbf16> scores {
      ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
        %scale = hova.number 0.25
        %score = arith.mulf %raw, %scale : f32
        %all = arith.constant true
        hova.score_yield %score kept %all
      }
      hova.yield %r : tensor<1x87x16xbf16>
    } : tensor<1x87x16xbf16>
    hova.yield %r_out : tensor<1x87x16xbf16>
  } : (tensor<1x87x16xbf16>, tensor<1x87x16xbf16>, tensor<1x87x16xbf16>) -> tensor<1x87x16xbf16>
  return %out : tensor<1x87x16xbf16>
}
