// Rows of large scores lose their maximum before exponentials are taken of them.

// RUN: hova-opt %s --split-input-file --hova-tile-cpu-kernels --canonicalize --cse | FileCheck %s
// RUN: hova-opt %s --split-input-file --hova-tile-cpu-kernels --hova-tile-cpu-kernels --canonicalize --cse | FileCheck %s

// Beyond 2^24 / (0.25 log2(e)) the product of a maximum and the scale is off by
// more than one half. A block without such a row takes one branch.
// CHECK-LABEL: func.func private @kernel_subtracts_far_maxima(
// CHECK-DAG: %[[FAR:.*]] = arith.constant dense<0x4C317218> : vector<4xf32>
// CHECK-DAG: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK: %[[SCORES:.*]] = memref.view %{{.*}} to memref<4x48xf32>
// CHECK: %[[INVERSE:.*]] = memref.view %{{.*}} to memref<4x1xf32>
// CHECK: %[[MAXIMA:.*]] = memref.reinterpret_cast %[[INVERSE]] to offset: [0], sizes: [1, 4]
// CHECK: vector.reduction <maxnumf>
// CHECK: %[[ALL:.*]] = vector.load %[[MAXIMA]]
// CHECK: %[[SIZES:.*]] = math.absf %[[ALL]]
// CHECK: %[[AREFAR:.*]] = arith.cmpf ogt, %[[SIZES]], %[[FAR]]
// CHECK: %[[ANY:.*]] = vector.reduction <or>, %[[AREFAR]]
// CHECK: scf.if %[[ANY]] {
// CHECK: scf.for %[[I:.*]] = %c0 to %c4
// CHECK: scf.if
// CHECK: %[[MAXIMUM:.*]] = memref.load %[[MAXIMA]][%c0, %[[I]]]
// CHECK: scf.for
// CHECK: %[[SCORE:.*]] = vector.load %[[SCORES]][%[[I]],
// CHECK: %[[SUBTRAHEND:.*]] = vector.broadcast %[[MAXIMUM]]
// CHECK: %[[REST:.*]] = arith.subf %[[SCORE]], %[[SUBTRAHEND]]
// CHECK: vector.store %[[REST]], %[[SCORES]][%[[I]],
// CHECK: memref.store %[[ZERO]], %[[MAXIMA]][%c0, %[[I]]]
// CHECK: hova.exp2
// CHECK-NOT: arith.select
// CHECK: return
func.func @main(%q: tensor<2x4x32xf32>, %k: tensor<2x32x32xf32>, %v: tensor<2x32x32xf32>) -> tensor<2x4x32xf32> {
  %out = hova.kernel "subtracts_far_maxima" units<batch 2, head 2> (%q, %k, %v) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 1>} {
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

// A maximum of -inf is an empty row's if the mask says so, whatever its scores.
// CHECK-LABEL: func.func private @kernel_asks_the_mask_which_rows_are_empty(
// CHECK-SAME: %[[MASK:[^ ]*]]: memref<4x32xi8> {llvm.noalias}, %{{.*}}: memref<4x32xf32>
// CHECK-DAG: %[[NONE:.*]] = arith.constant dense<0xFF800000> : vector<16xf32>
// CHECK-DAG: %[[ZEROS:.*]] = arith.constant dense<0.000000e+00> : vector<16xf32>
// CHECK: vector.reduction <or>
// CHECK: vector.load %[[MASK]]
// CHECK: arith.select %{{.*}}, %[[ZEROS]], %[[NONE]]
// CHECK: %[[LEFT:.*]] = vector.reduction <maxnumf>
// CHECK: %[[WERE:.*]] = arith.cmpf oeq, %[[LEFT]]
// CHECK: %[[EMPTY:.*]] = arith.andi %{{.*}}, %[[WERE]]
// CHECK: %[[MAXIMUM:.*]] = arith.select %[[EMPTY]]
// CHECK: vector.broadcast %[[MAXIMUM]]
func.func @main(%q: tensor<1x4x32xf32>, %k: tensor<1x32x32xf32>, %v: tensor<1x32x32xf32>, %m: tensor<1x1x4x32xi1>) -> tensor<1x4x32xf32> {
  %out = hova.kernel "asks_the_mask_which_rows_are_empty" units<batch 1, head 2> (%q, %k, %v, %m) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 1>} {
  ^bb0(%q_: tensor<1x4x32xf32>, %k_: tensor<1x32x32xf32>, %v_: tensor<1x32x32xf32>, %m_: tensor<1x1x4x32xi1>):
    %r_out = hova.stage [#hova.layout<rows 32>] {
      %r = hova.attention %q_, %k_, %v_ captured(%m_)
          {heads = 2 : i64}
          : (tensor<1x4x32xf32>, tensor<1x32x32xf32>, tensor<1x32x32xf32>, tensor<1x1x4x32xi1>) -> tensor<1x4x32xf32> scores {
      ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index, %mask: tensor<1x1x4x32xi1>):
        %scale = hova.number 0.25
        %scaled = arith.mulf %raw, %scale : f32
        %zero = arith.constant 0 : index
        %is_kept = hova.element %mask[%zero, %zero, %query, %key] : tensor<1x1x4x32xi1>
        hova.score_yield %scaled kept %is_kept
      }
      hova.yield %r : tensor<1x4x32xf32>
    } : tensor<1x4x32xf32>
    hova.yield %r_out : tensor<1x4x32xf32>
  } : (tensor<1x4x32xf32>, tensor<1x32x32xf32>, tensor<1x32x32xf32>, tensor<1x1x4x32xi1>) -> tensor<1x4x32xf32>
  return %out : tensor<1x4x32xf32>
}
