// Attention whose rows may be empty.

// RUN: hova-opt %s --split-input-file --hova-tile-cpu-kernels --canonicalize --cse | FileCheck %s
// RUN: hova-opt %s --split-input-file --hova-tile-cpu-kernels --hova-tile-cpu-kernels --canonicalize --cse | FileCheck %s

// An empty row reads every value, so no panel is left out.
// CHECK-LABEL: func.func private @kernel_averages_values_in_the_future_of_empty_rows(
// CHECK-NOT: arith.minui %{{.*}}, %c1 : index
// CHECK: hova_cpu.tile_product {{.*}} depth %c3
func.func @main(%q: tensor<2x6x8xf32>, %k: tensor<2x3x8xf32>, %v: tensor<2x3x8xf32>) -> tensor<2x6x8xf32> {
  %out = hova.kernel "averages_values_in_the_future_of_empty_rows" units<batch 2, head 2> (%q, %k, %v) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 1>} {
  ^bb0(%q_: tensor<2x6x8xf32>, %k_: tensor<2x3x8xf32>, %v_: tensor<2x3x8xf32>):
    %r_out = hova.stage [#hova.layout<rows 8>] {
      %r = hova.attention %q_, %k_, %v_
          {heads = 2 : i64, empty_row = #hova<empty_row uniform>}
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

// CHECK-LABEL: func.func private @kernel_scores_additively(
// CHECK-SAME: %[[Q:.*]]: memref<6x8xf32> {llvm.noalias}, %{{.*}}: memref<40x8xf32> {llvm.noalias}, %{{.*}}: memref<40x8xf32> {llvm.noalias}, %[[W:.*]]: memref<1x8xf32>
// CHECK: %[[KEYS:.*]] = vector.load %{{.*}}[%[[PANEL:.*]], %[[CHANNEL:.*]], %c0]
// CHECK: %[[QUERY:.*]] = memref.load %[[Q]][%{{.*}}, %[[COLUMN:.*]]]
// CHECK: %[[QUERIES:.*]] = vector.broadcast %[[QUERY]]
// CHECK: %[[WEIGHT:.*]] = memref.load %[[W]][%c0, %[[COLUMN]]]
// CHECK: %[[WEIGHTS:.*]] = vector.broadcast %[[WEIGHT]]
// CHECK: %[[SUM:.*]] = arith.addf %[[QUERIES]], %[[KEYS]]
// CHECK: %[[SCORE:.*]] = math.tanh %[[SUM]]
// CHECK: math.fma %[[WEIGHTS]], %[[SCORE]]
func.func @main(%q: tensor<2x3x8xf32>, %k: tensor<2x20x8xf32>, %v: tensor<2x20x8xf32>, %m: tensor<8xf32>) -> tensor<2x3x8xf32> {
  %out = hova.kernel "scores_additively" units<batch 2, head 2> (%q, %k, %v, %m) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 1>} {
  ^bb0(%q_: tensor<2x3x8xf32>, %k_: tensor<2x20x8xf32>, %v_: tensor<2x20x8xf32>, %m_: tensor<8xf32>):
    %r_out = hova.stage [#hova.layout<rows 8>] {
      %r = hova.attention %q_, %k_, %v_ similarity(#hova.additive) score_vector(%m_)
          {heads = 2 : i64}
          : (tensor<2x3x8xf32>, tensor<2x20x8xf32>, tensor<2x20x8xf32>, tensor<8xf32>) -> tensor<2x3x8xf32> scores {
      ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
        %all = arith.constant true
        hova.score_yield %raw kept %all
      }
      hova.yield %r : tensor<2x3x8xf32>
    } : tensor<2x3x8xf32>
    hova.yield %r_out : tensor<2x3x8xf32>
  } : (tensor<2x3x8xf32>, tensor<2x20x8xf32>, tensor<2x20x8xf32>, tensor<8xf32>) -> tensor<2x3x8xf32>
  return %out : tensor<2x3x8xf32>
}
