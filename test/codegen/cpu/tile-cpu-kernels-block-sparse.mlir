// What becomes of scores in loops over few blocks of keys: queries are in lanes.

// RUN: hova-opt %s --split-input-file --hova-tile-cpu-kernels --canonicalize --cse | FileCheck %s
// RUN: hova-opt %s --split-input-file --hova-tile-cpu-kernels --check-meaning -o /dev/null 2>&1 | FileCheck %s --check-prefix=COUNT
// SPDX-License-Identifier: Apache-2.0

// COUNT: emulated 5 kernel functions, 0 of them in part

// A scale alone is that of the packed queries; scores are stored as they are,
// and no block is left out.
// CHECK-LABEL: func.func private @kernel_packs_the_scale(
// CHECK: %[[SCALE:.*]] = arith.constant dense<2.500000e-01> : vector<16xf32>
// CHECK: %[[PACKED:.*]] = memref.view {{.*}} to memref<8x16xf32>
// CHECK: %[[SCORES:.*]] = memref.view {{.*}} to memref<16x16xf32>
// CHECK: arith.mulf %{{.*}}, %[[SCALE]] : vector<16xf32>
// CHECK: %[[TILE:.*]] = hova_cpu.tile_product %{{.*}}, %[[PACKED]]
// CHECK: %[[ROW:.*]] = vector.extract %[[TILE]][0]
// CHECK-NEXT: vector.store %[[ROW]], %[[SCORES]]
func.func @main(%q: tensor<1x80x16xf32>, %k: tensor<1x80x16xf32>, %v: tensor<1x80x16xf32>) -> tensor<1x80x16xf32> {
  %out = hova.kernel "packs_the_scale" units<batch 1, head 2, query_block 5> (%q, %k, %v) attributes {schedule = #hova_cpu.schedule<tile = 4x32, lanes = 64, grain = 1>} {
  ^bb0(%q_: tensor<1x80x16xf32>, %k_: tensor<1x80x16xf32>, %v_: tensor<1x80x16xf32>):
    %r_out = hova.stage [#hova.layout<rows 16>] {
      %r = hova.block_sparse_attention %q_, %k_, %v_ {heads = 2 : i64, block = 16 : i64}
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

// A bias for each query and key is gathered: its rows are 80 elements apart.
// Blocks after that of the last query are left out.
// CHECK-LABEL: func.func private @kernel_adds_a_bias(
// CHECK-SAME: %[[BIAS:[a-z0-9]+]]: memref<160x80xf32>
// CHECK-DAG: %[[NONE:.*]] = arith.constant dense<0xFF800000> : vector<16xf32>
// CHECK-DAG: %[[SCALE:.*]] = arith.constant dense<2.500000e-01> : vector<16xf32>
// CHECK-DAG: %[[ROWS:.*]] = arith.constant dense<[0, 80, 160, {{.*}}, 1200]> : vector<16xi32>
// CHECK-DAG: %[[LANES:.*]] = arith.constant dense<[0, 1, 2, {{.*}}, 15]> : vector<16xi32>
// CHECK: %[[SCORES:.*]] = memref.view {{.*}} to memref<16x16xf32>
// CHECK: scf.for %[[QUERY:queries.*]] =
// CHECK: %[[TAKEN:.*]] = arith.minui %{{.*}}, %c4
// CHECK: %[[END:.*]] = arith.addi %[[TAKEN]], %c1
// CHECK: scf.for %seen_block
// CHECK: arith.cmpi ult, %{{.*}}, %[[END]] : index
// CHECK: scf.for %keys
// CHECK: %[[OWN:.*]] = arith.addi %{{.*}}, %[[LANES]] : vector<16xi32>
// CHECK: %[[TILE:.*]] = hova_cpu.tile_product
// CHECK: %[[RAW:.*]] = vector.extract %[[TILE]][0]
// CHECK: %[[PLACES:.*]] = arith.addi %{{.*}}, %[[ROWS]] : vector<16xi32>
// CHECK: %[[ADDED:.*]] = vector.gather %[[BIAS]][%c0, %c0] [%[[PLACES]]]
// CHECK: %[[SCORE:.*]] = math.fma %[[RAW]], %[[SCALE]], %[[ADDED]]
// CHECK: %[[KEEP:.*]] = arith.cmpi sle, %{{.*}}, %[[OWN]] : vector<16xi32>
// CHECK: %[[MASKED:.*]] = arith.select %[[KEEP]], %[[SCORE]], %[[NONE]]
// CHECK: vector.store %[[MASKED]], %[[SCORES]]
func.func @main(%q: tensor<1x80x16xf32>, %k: tensor<1x80x16xf32>, %v: tensor<1x80x16xf32>, %c0: tensor<2x80x80xf32>) -> tensor<1x80x16xf32> {
  %out = hova.kernel "adds_a_bias" units<batch 1, head 2, query_block 5> (%q, %k, %v, %c0) attributes {schedule = #hova_cpu.schedule<tile = 4x32, lanes = 64, grain = 1>} {
  ^bb0(%q_: tensor<1x80x16xf32>, %k_: tensor<1x80x16xf32>, %v_: tensor<1x80x16xf32>, %c0_: tensor<2x80x80xf32>):
    %r_out = hova.stage [#hova.layout<rows 16>] {
      %r = hova.block_sparse_attention %q_, %k_, %v_ captured(%c0_) {heads = 2 : i64, block = 16 : i64}
          : (tensor<1x80x16xf32>, tensor<1x80x16xf32>, tensor<1x80x16xf32>, tensor<2x80x80xf32>) -> tensor<1x80x16xf32> scores {
      ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index, %bias: tensor<2x80x80xf32>):
        %scale = hova.number 0.25
        %scaled = arith.mulf %raw, %scale : f32
        %own = hova.element %bias[%head, %query, %key] : tensor<2x80x80xf32>
        %score = arith.addf %scaled, %own : f32
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

// CHECK-LABEL: func.func private @kernel_caps_scores(
// CHECK-DAG: %[[CAP:.*]] = arith.constant dense<3.000000e+01> : vector<16xf32>
// CHECK: %[[SCORES:.*]] = memref.view {{.*}} to memref<16x16xf32>
// CHECK: %[[RAW:.*]] = vector.extract %{{.*}}[0] : vector<16xf32> from vector<4x16xf32>
// CHECK: %[[SMALL:.*]] = arith.mulf %[[RAW]], %{{.*}}
// CHECK: %[[TANH:.*]] = math.tanh %[[SMALL]]
// CHECK: %[[SCORE:.*]] = arith.mulf %[[TANH]], %[[CAP]]
// CHECK: vector.store %[[SCORE]], %[[SCORES]]
func.func @main(%q: tensor<1x80x16xf32>, %k: tensor<1x80x16xf32>, %v: tensor<1x80x16xf32>) -> tensor<1x80x16xf32> {
  %out = hova.kernel "caps_scores" units<batch 1, head 2, query_block 5> (%q, %k, %v) attributes {schedule = #hova_cpu.schedule<tile = 4x32, lanes = 64, grain = 1>} {
  ^bb0(%q_: tensor<1x80x16xf32>, %k_: tensor<1x80x16xf32>, %v_: tensor<1x80x16xf32>):
    %r_out = hova.stage [#hova.layout<rows 16>] {
      %r = hova.block_sparse_attention %q_, %k_, %v_ {heads = 2 : i64, block = 16 : i64}
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

// What a key alone decides is a limit, written with keys in lanes and read as a
// scalar.
// CHECK-LABEL: func.func private @kernel_limits_keys(
// CHECK-SAME: %[[VALID:[a-z0-9]+]]: memref<1x80xi8>
// CHECK: %[[LIMITS:.*]] = memref.view {{.*}} to memref<1x16xf32>
// CHECK: %[[BYTES:.*]] = vector.load %[[VALID]]
// CHECK: %[[IS_VALID:.*]] = arith.cmpi ne, %[[BYTES]]
// CHECK: %[[COUNTS:.*]] = arith.andi %{{.*}}, %[[IS_VALID]] : vector<16xi1>
// CHECK: %[[LIMIT:.*]] = arith.select %[[COUNTS]]
// CHECK: vector.store %[[LIMIT]], %[[LIMITS:.*]][%c0, %c0]
// CHECK: %[[ROW:.*]] = vector.extract %{{.*}}[0]
// CHECK: %[[ONE:.*]] = memref.load %[[LIMITS]][%c0, %{{.*}}]
// CHECK: %[[OF_KEY:.*]] = vector.broadcast %[[ONE]] : f32 to vector<16xf32>
// CHECK: %[[LESS:.*]] = arith.cmpf olt, %[[ROW]], %[[OF_KEY]]
// CHECK: arith.select %[[LESS]], %[[ROW]], %[[OF_KEY]]
func.func @main(%q: tensor<1x80x16xf32>, %k: tensor<1x80x16xf32>, %v: tensor<1x80x16xf32>, %c0: tensor<1x80xi1>) -> tensor<1x80x16xf32> {
  %out = hova.kernel "limits_keys" units<batch 1, head 2, query_block 5> (%q, %k, %v, %c0) attributes {schedule = #hova_cpu.schedule<tile = 4x32, lanes = 64, grain = 1>} {
  ^bb0(%q_: tensor<1x80x16xf32>, %k_: tensor<1x80x16xf32>, %v_: tensor<1x80x16xf32>, %c0_: tensor<1x80xi1>):
    %r_out = hova.stage [#hova.layout<rows 16>] {
      %r = hova.block_sparse_attention %q_, %k_, %v_ captured(%c0_) {heads = 2 : i64, block = 16 : i64}
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

// Blocks of 40 are a vector of 32 queries and one of 8, which see others: a
// window of 8 keys ends and begins with either. Lanes after the last of 172
// queries read no bias.
// CHECK-LABEL: func.func private @kernel_sees_a_window(
// CHECK: %[[IS_REST:.*]] = arith.cmpi eq, %queries
// CHECK: scf.for %seen_block
// CHECK: %[[IS_AFTER:.*]] = arith.cmpi uge
// CHECK: %[[WHOLE:.*]] = arith.andi %{{.*}}, %[[IS_AFTER]] : i1
// CHECK: %[[REST:.*]] = arith.andi %{{.*}}, %[[IS_AFTER]] : i1
// CHECK: %[[VISITED:.*]] = arith.select %[[IS_REST]], %[[REST]], %[[WHOLE]] : i1
// CHECK: arith.andi %{{.*}}, %[[VISITED]] : i1
// CHECK: vector.gather {{.*}}, %[[INSIDE:[0-9a-z_]+]], %{{.*}} : memref<172x172xf32>
func.func @main(%q: tensor<1x172x16xf32>, %k: tensor<1x172x16xf32>, %v: tensor<1x172x16xf32>, %c0: tensor<172x172xf32>) -> tensor<1x172x16xf32> {
  %out = hova.kernel "sees_a_window" units<batch 1, head 1, query_block 5> (%q, %k, %v, %c0) attributes {schedule = #hova_cpu.schedule<tile = 4x32, lanes = 64, grain = 1>} {
  ^bb0(%q_: tensor<1x172x16xf32>, %k_: tensor<1x172x16xf32>, %v_: tensor<1x172x16xf32>, %c0_: tensor<172x172xf32>):
    %r_out = hova.stage [#hova.layout<rows 16>] {
      %r = hova.block_sparse_attention %q_, %k_, %v_ captured(%c0_) {heads = 1 : i64, block = 40 : i64}
          : (tensor<1x172x16xf32>, tensor<1x172x16xf32>, tensor<1x172x16xf32>, tensor<172x172xf32>) -> tensor<1x172x16xf32> scores {
      ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index, %bias: tensor<172x172xf32>):
        %width = arith.constant 8 : index
        %distance = arith.subi %query, %key : index
        %not_later = arith.cmpi sle, %key, %query : index
        %is_near = arith.cmpi slt, %distance, %width : index
        %kept = arith.andi %not_later, %is_near : i1
        %own = hova.element %bias[%query, %key] : tensor<172x172xf32>
        %score = arith.addf %raw, %own : f32
        hova.score_yield %score kept %kept
      }
      hova.yield %r : tensor<1x172x16xf32>
    } : tensor<1x172x16xf32>
    hova.yield %r_out : tensor<1x172x16xf32>
  } : (tensor<1x172x16xf32>, tensor<1x172x16xf32>, tensor<1x172x16xf32>, tensor<172x172xf32>) -> tensor<1x172x16xf32>
  return %out : tensor<1x172x16xf32>
}
