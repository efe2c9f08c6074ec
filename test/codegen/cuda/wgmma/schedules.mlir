// RUN: hova-opt %s --hova-verify-cuda-assigned --split-input-file --verify-diagnostics
// SPDX-License-Identifier: Apache-2.0

// Products under way in schedules that somebody wrote into a dump: programs are for machines that have none.

func.func @main(%x: tensor<1x4x8xbf16>, %w: tensor<8x8xbf16>) -> tensor<1x4x8xf32> {
  // expected-error@+1 {{has products under way, which sm_80 does not have}}
  %r = hova.kernel "k" units<batch 1, token 4>(%x, %w) attributes {schedule = #hova_cuda.schedule<rows = 64, columns = 64, row_warps = 4, column_warps = 1, step = 32, stages = 3, under_way = 1>} {
  ^bb0(%i: tensor<1x4x8xbf16>, %j: tensor<8x8xbf16>):
    %s = hova.stage [#hova.layout<rows 8>] {
      %1 = hova.linear %i, %j : tensor<1x4x8xbf16>, tensor<8x8xbf16> -> tensor<1x4x8xf32>
      hova.yield %1 : tensor<1x4x8xf32>
    } : tensor<1x4x8xf32>
    hova.yield %s : tensor<1x4x8xf32>
  } : (tensor<1x4x8xbf16>, tensor<8x8xbf16>) -> tensor<1x4x8xf32>
  return %r : tensor<1x4x8xf32>
}

// -----

func.func @main(%x: tensor<1x4x8xbf16>, %w: tensor<8x8xbf16>) -> tensor<1x4x8xf32> {
  // expected-error@+1 {{has no code for a GPU under its schedule, #hova_cuda.schedule<rows = 64, columns = 64, row_warps = 2, column_warps = 2, step = 32, stages = 3, under_way = 1>; the compiler chooses}}
  %r = hova.kernel "k" units<batch 1, token 4>(%x, %w) attributes {schedule = #hova_cuda.schedule<rows = 64, columns = 64, row_warps = 2, column_warps = 2, step = 32, stages = 3, under_way = 1>} {
  ^bb0(%i: tensor<1x4x8xbf16>, %j: tensor<8x8xbf16>):
    %s = hova.stage [#hova.layout<rows 8>] {
      %1 = hova.linear %i, %j : tensor<1x4x8xbf16>, tensor<8x8xbf16> -> tensor<1x4x8xf32>
      hova.yield %1 : tensor<1x4x8xf32>
    } : tensor<1x4x8xf32>
    hova.yield %s : tensor<1x4x8xf32>
  } : (tensor<1x4x8xbf16>, tensor<8x8xbf16>) -> tensor<1x4x8xf32>
  return %r : tensor<1x4x8xf32>
}

// -----

func.func @main(%x: tensor<1x4x8xf32>, %w: tensor<8x8xf32>) -> tensor<1x4x8xf32> {
  // expected-error@+1 {{has no code for a GPU under its schedule}}
  %r = hova.kernel "k" units<batch 1, token 4>(%x, %w) attributes {schedule = #hova_cuda.schedule<rows = 64, columns = 64, row_warps = 4, column_warps = 1, step = 32, stages = 3, under_way = 1>} {
  ^bb0(%i: tensor<1x4x8xf32>, %j: tensor<8x8xf32>):
    %s = hova.stage [#hova.layout<rows 8>] {
      %1 = hova.linear %i, %j : tensor<1x4x8xf32>, tensor<8x8xf32> -> tensor<1x4x8xf32>
      hova.yield %1 : tensor<1x4x8xf32>
    } : tensor<1x4x8xf32>
    hova.yield %s : tensor<1x4x8xf32>
  } : (tensor<1x4x8xf32>, tensor<8x8xf32>) -> tensor<1x4x8xf32>
  return %r : tensor<1x4x8xf32>
}

// -----

// expected-error@+1 {{expects 'under_way' to leave two of the 2 stages, got 1}}
func.func @leaves_no_slot_to_copy_to() attributes {s = #hova_cuda.schedule<rows = 64, columns = 64, row_warps = 4, column_warps = 1, step = 64, stages = 2, under_way = 1>} {
  return
}

// -----

// expected-error@+1 {{expects 'under_way' to leave two of the 3 stages, got -1}}
func.func @negative() attributes {s = #hova_cuda.schedule<rows = 64, columns = 64, row_warps = 4, column_warps = 1, step = 64, stages = 3, under_way = -1>} {
  return
}
