// RUN: hova-opt %s --hova-verify-cuda-assigned --split-input-file --verify-diagnostics
// SPDX-License-Identifier: Apache-2.0

// Schedules that somebody wrote into a dump: some are another one that there is code for, and all else is an error that
// shows the compiler's own.

func.func @main(%x: tensor<1x4x8xbf16>, %w: tensor<8x8xbf16>) -> tensor<1x4x8xf32> {
  // expected-error@+1 {{has no code for a GPU under its schedule, #hova_cuda.schedule<rows = 65, columns = 64, row_warps = 2, column_warps = 2, step = 32, stages = 3>; the compiler chooses #hova_cuda.schedule<rows = 64, columns = 64, row_warps = 2, column_warps = 2, step = 32, stages = 3>}}
  %r = hova.kernel "k" units<batch 1, token 4>(%x, %w) attributes {schedule = #hova_cuda.schedule<rows = 65, columns = 64, row_warps = 2, column_warps = 2, step = 32, stages = 3>} {
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
  // expected-error@+1 {{has no code for a GPU under its schedule, #hova_cuda.schedule<rows = 16, columns = 64, row_warps = 2, column_warps = 2, step = 32, stages = 3>; the compiler chooses #hova_cuda.schedule<rows = 64, columns = 64, row_warps = 2, column_warps = 2, step = 32, stages = 3>}}
  %r = hova.kernel "k" units<batch 1, token 4>(%x, %w) attributes {schedule = #hova_cuda.schedule<rows = 16, columns = 64, row_warps = 2, column_warps = 2, step = 32, stages = 3>} {
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
  // expected-error@+1 {{has no code for a GPU under its schedule, #hova_cuda.schedule<rows = 64, columns = 16, row_warps = 2, column_warps = 2, step = 32, stages = 3>; the compiler chooses #hova_cuda.schedule<rows = 64, columns = 64, row_warps = 2, column_warps = 2, step = 32, stages = 3>}}
  %r = hova.kernel "k" units<batch 1, token 4>(%x, %w) attributes {schedule = #hova_cuda.schedule<rows = 64, columns = 16, row_warps = 2, column_warps = 2, step = 32, stages = 3>} {
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
  // expected-error@+1 {{has no code for a GPU under its schedule, #hova_cuda.schedule<rows = 1024, columns = 1024, row_warps = 1, column_warps = 1, step = 32, stages = 3>; the compiler chooses #hova_cuda.schedule<rows = 64, columns = 64, row_warps = 2, column_warps = 2, step = 32, stages = 3>}}
  %r = hova.kernel "k" units<batch 1, token 4>(%x, %w) attributes {schedule = #hova_cuda.schedule<rows = 1024, columns = 1024, row_warps = 1, column_warps = 1, step = 32, stages = 3>} {
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
  // expected-error@+1 {{has no code for a GPU under its schedule, #hova_cuda.schedule<rows = 64, columns = 64, row_warps = 2, column_warps = 2, step = 48, stages = 3>; the compiler chooses #hova_cuda.schedule<rows = 64, columns = 64, row_warps = 2, column_warps = 2, step = 32, stages = 3>}}
  %r = hova.kernel "k" units<batch 1, token 4>(%x, %w) attributes {schedule = #hova_cuda.schedule<rows = 64, columns = 64, row_warps = 2, column_warps = 2, step = 48, stages = 3>} {
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
  // expected-error@+1 {{has no code for a GPU under its schedule, #hova_cuda.schedule<rows = 64, columns = 64, row_warps = 2, column_warps = 2, step = 32>; the compiler chooses #hova_cuda.schedule<rows = 64, columns = 64, row_warps = 2, column_warps = 2, step = 32, stages = 3>}}
  %r = hova.kernel "k" units<batch 1, token 4>(%x, %w) attributes {schedule = #hova_cuda.schedule<rows = 64, columns = 64, row_warps = 2, column_warps = 2, step = 32>} {
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

func.func @main(%x: tensor<1x4x8xf32>) -> tensor<1x4x8xf32> {
  // expected-error@+1 {{has no code for a GPU under its schedule, #hova_cuda.schedule<rows = 3, columns = 64, row_warps = 4, column_warps = 1>; the compiler chooses #hova_cuda.schedule<rows = 4, columns = 64, row_warps = 4, column_warps = 1>}}
  %r = hova.kernel "k" units<batch 1, token 4>(%x) attributes {schedule = #hova_cuda.schedule<rows = 3, columns = 64, row_warps = 4, column_warps = 1>} {
  ^bb0(%i: tensor<1x4x8xf32>):
    %s = hova.stage [#hova.layout<rows 8>] {
      %1 = hova.add %i, %i : tensor<1x4x8xf32>, tensor<1x4x8xf32>
      hova.yield %1 : tensor<1x4x8xf32>
    } : tensor<1x4x8xf32>
    hova.yield %s : tensor<1x4x8xf32>
  } : (tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
  return %r : tensor<1x4x8xf32>
}

// -----

// Half of a norm's row.
func.func @main(%x: tensor<1x4x128xf32>) -> tensor<1x4x128xf32> {
  // expected-error@+1 {{has no code for a GPU under its schedule, #hova_cuda.schedule<rows = 4, columns = 64, row_warps = 4, column_warps = 1>; the compiler chooses #hova_cuda.schedule<rows = 4, columns = 128, row_warps = 4, column_warps = 1>}}
  %r = hova.kernel "k" units<batch 1, token 4>(%x) attributes {schedule = #hova_cuda.schedule<rows = 4, columns = 64, row_warps = 4, column_warps = 1>} {
  ^bb0(%i: tensor<1x4x128xf32>):
    %s = hova.stage [#hova.layout<rows 128>] {
      %1 = hova.layer_norm %i {eps = 1.0e-5 : f64} : tensor<1x4x128xf32>
      hova.yield %1 : tensor<1x4x128xf32>
    } : tensor<1x4x128xf32>
    hova.yield %s : tensor<1x4x128xf32>
  } : (tensor<1x4x128xf32>) -> tensor<1x4x128xf32>
  return %r : tensor<1x4x128xf32>
}

// -----

func.func @main(%x: tensor<1x4x8xbf16>) -> tensor<1x4x8xbf16> {
  // expected-error@+1 {{has no code for a GPU under its schedule, #hova_cuda.schedule<rows = 24, columns = 32, row_warps = 1, column_warps = 1, step = 16, stages = 2>; the compiler chooses #hova_cuda.schedule<rows = 16, columns = 32, row_warps = 1, column_warps = 1, step = 16, stages = 2>}}
  %r = hova.kernel "k" units<batch 1, token 4>(%x) attributes {schedule = #hova_cuda.schedule<rows = 24, columns = 32, row_warps = 1, column_warps = 1, step = 16, stages = 2>} {
  ^bb0(%i: tensor<1x4x8xbf16>):
    %s = hova.stage [#hova.layout<rows 8>] {
      %1 = hova.attention %i, %i, %i {heads = 1 : i64} : (tensor<1x4x8xbf16>, tensor<1x4x8xbf16>, tensor<1x4x8xbf16>) -> tensor<1x4x8xbf16> scores {
      ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
        %all = arith.constant true
        hova.score_yield %raw kept %all
      }
      hova.yield %1 : tensor<1x4x8xbf16>
    } : tensor<1x4x8xbf16>
    hova.yield %s : tensor<1x4x8xbf16>
  } : (tensor<1x4x8xbf16>) -> tensor<1x4x8xbf16>
  return %r : tensor<1x4x8xbf16>
}

// -----

func.func @main(%x: tensor<1x4x8xbf16>) -> tensor<1x4x8xbf16> {
  // expected-error@+1 {{has no code for a GPU under its schedule, #hova_cuda.schedule<rows = 16, columns = 64, row_warps = 1, column_warps = 1, step = 16, stages = 2>; the compiler chooses #hova_cuda.schedule<rows = 16, columns = 32, row_warps = 1, column_warps = 1, step = 16, stages = 2>}}
  %r = hova.kernel "k" units<batch 1, token 4>(%x) attributes {schedule = #hova_cuda.schedule<rows = 16, columns = 64, row_warps = 1, column_warps = 1, step = 16, stages = 2>} {
  ^bb0(%i: tensor<1x4x8xbf16>):
    %s = hova.stage [#hova.layout<rows 8>] {
      %1 = hova.attention %i, %i, %i {heads = 1 : i64} : (tensor<1x4x8xbf16>, tensor<1x4x8xbf16>, tensor<1x4x8xbf16>) -> tensor<1x4x8xbf16> scores {
      ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
        %all = arith.constant true
        hova.score_yield %raw kept %all
      }
      hova.yield %1 : tensor<1x4x8xbf16>
    } : tensor<1x4x8xbf16>
    hova.yield %s : tensor<1x4x8xbf16>
  } : (tensor<1x4x8xbf16>) -> tensor<1x4x8xbf16>
  return %r : tensor<1x4x8xbf16>
}

// -----

func.func @main(%x: tensor<1x4x8xbf16>) -> tensor<1x4x8xbf16> {
  // expected-error@+1 {{has no code for a GPU under its schedule, #hova_cuda.schedule<rows = 16, columns = 32, row_warps = 1, column_warps = 1, step = 24, stages = 2>; the compiler chooses #hova_cuda.schedule<rows = 16, columns = 32, row_warps = 1, column_warps = 1, step = 16, stages = 2>}}
  %r = hova.kernel "k" units<batch 1, token 4>(%x) attributes {schedule = #hova_cuda.schedule<rows = 16, columns = 32, row_warps = 1, column_warps = 1, step = 24, stages = 2>} {
  ^bb0(%i: tensor<1x4x8xbf16>):
    %s = hova.stage [#hova.layout<rows 8>] {
      %1 = hova.attention %i, %i, %i {heads = 1 : i64} : (tensor<1x4x8xbf16>, tensor<1x4x8xbf16>, tensor<1x4x8xbf16>) -> tensor<1x4x8xbf16> scores {
      ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
        %all = arith.constant true
        hova.score_yield %raw kept %all
      }
      hova.yield %1 : tensor<1x4x8xbf16>
    } : tensor<1x4x8xbf16>
    hova.yield %s : tensor<1x4x8xbf16>
  } : (tensor<1x4x8xbf16>) -> tensor<1x4x8xbf16>
  return %r : tensor<1x4x8xbf16>
}

// -----

func.func @main(%x: tensor<1x4x8xbf16>) -> tensor<1x4x8xbf16> {
  // expected-error@+1 {{has no code for a GPU under its schedule, #hova_cuda.schedule<rows = 16, columns = 32, row_warps = 1, column_warps = 1, step = 16, stages = 3>; the compiler chooses #hova_cuda.schedule<rows = 16, columns = 32, row_warps = 1, column_warps = 1, step = 16, stages = 2>}}
  %r = hova.kernel "k" units<batch 1, token 4>(%x) attributes {schedule = #hova_cuda.schedule<rows = 16, columns = 32, row_warps = 1, column_warps = 1, step = 16, stages = 3>} {
  ^bb0(%i: tensor<1x4x8xbf16>):
    %s = hova.stage [#hova.layout<rows 8>] {
      %1 = hova.attention %i, %i, %i {heads = 1 : i64} : (tensor<1x4x8xbf16>, tensor<1x4x8xbf16>, tensor<1x4x8xbf16>) -> tensor<1x4x8xbf16> scores {
      ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
        %all = arith.constant true
        hova.score_yield %raw kept %all
      }
      hova.yield %1 : tensor<1x4x8xbf16>
    } : tensor<1x4x8xbf16>
    hova.yield %s : tensor<1x4x8xbf16>
  } : (tensor<1x4x8xbf16>) -> tensor<1x4x8xbf16>
  return %r : tensor<1x4x8xbf16>
}

// -----

// Boxes of small heads have the schedule's own sizes.
func.func @main(%x: tensor<3x49x72xbf16>) -> tensor<3x49x24xbf16> {
  // expected-error@+1 {{has no code for a GPU under its schedule, #hova_cuda.schedule<rows = 64, columns = 32, row_warps = 2, column_warps = 1, step = 32, stages = 2>; the compiler chooses #hova_cuda.schedule<rows = 64, columns = 32, row_warps = 2, column_warps = 1, step = 64, stages = 2>}}
  %r = hova.kernel "k" units<batch 3, token 49>(%x) attributes {schedule = #hova_cuda.schedule<rows = 64, columns = 32, row_warps = 2, column_warps = 1, step = 32, stages = 2>} {
  ^bb0(%i: tensor<3x49x72xbf16>):
    %q = hova.slice %i {axis = 2 : i64, offset = 0 : i64} : tensor<3x49x72xbf16> -> tensor<3x49x24xbf16>
    %k = hova.slice %i {axis = 2 : i64, offset = 24 : i64} : tensor<3x49x72xbf16> -> tensor<3x49x24xbf16>
    %v = hova.slice %i {axis = 2 : i64, offset = 48 : i64} : tensor<3x49x72xbf16> -> tensor<3x49x24xbf16>
    %s = hova.stage [#hova.layout<rows 24>] {
      %1 = hova.attention %q, %k, %v {heads = 4 : i64} : (tensor<3x49x24xbf16>, tensor<3x49x24xbf16>, tensor<3x49x24xbf16>) -> tensor<3x49x24xbf16> scores {
      ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
        %all = arith.constant true
        hova.score_yield %raw kept %all
      }
      hova.yield %1 : tensor<3x49x24xbf16>
    } : tensor<3x49x24xbf16>
    hova.yield %s : tensor<3x49x24xbf16>
  } : (tensor<3x49x72xbf16>) -> tensor<3x49x24xbf16>
  return %r : tensor<3x49x24xbf16>
}

// -----

// A product's blocks have no whole rows.
func.func @main(%x: tensor<1x4x8xbf16>, %w: tensor<8x128xbf16>) -> tensor<1x4x128xf32> {
  %r = hova.kernel "k" units<batch 1, token 4>(%x, %w) attributes {schedule = #hova_cuda.schedule<rows = 4, columns = 128, row_warps = 4, column_warps = 1>} {
  ^bb0(%i: tensor<1x4x8xbf16>, %j: tensor<8x128xbf16>):
    %s = hova.stage [#hova.layout<rows 128>] {
      %1 = hova.linear %i, %j : tensor<1x4x8xbf16>, tensor<8x128xbf16> -> tensor<1x4x128xf32>
      // expected-error@+1 {{has no code for a GPU in the kernel of 'hova.linear'}}
      %2 = hova.layer_norm %1 {eps = 1.0e-5 : f64} : tensor<1x4x128xf32>
      hova.yield %2 : tensor<1x4x128xf32>
    } : tensor<1x4x128xf32>
    hova.yield %s : tensor<1x4x128xf32>
  } : (tensor<1x4x8xbf16>, tensor<8x128xbf16>) -> tensor<1x4x128xf32>
  return %r : tensor<1x4x128xf32>
}

// -----

// A warp of 16 columns has no tile of each half of them, one of 32 has.
func.func @main(%x: tensor<1x4x8xbf16>, %w: tensor<8x64xbf16>) -> tensor<1x4x32xf32> {
  // expected-error@+1 {{has no code for a GPU under its schedule, #hova_cuda.schedule<rows = 64, columns = 32, row_warps = 2, column_warps = 2, step = 32, stages = 3>; the compiler chooses}}
  %r = hova.kernel "k" units<batch 1, token 4>(%x, %w) attributes {schedule = #hova_cuda.schedule<rows = 64, columns = 32, row_warps = 2, column_warps = 2, step = 32, stages = 3>} {
  ^bb0(%i: tensor<1x4x8xbf16>, %j: tensor<8x64xbf16>):
    %s = hova.stage [#hova.layout<rows 32>] {
      %1 = hova.linear %i, %j : tensor<1x4x8xbf16>, tensor<8x64xbf16> -> tensor<1x4x64xf32>
      %2 = hova.slice %1 {axis = 2 : i64, offset = 0 : i64} : tensor<1x4x64xf32> -> tensor<1x4x32xf32>
      %3 = hova.slice %1 {axis = 2 : i64, offset = 32 : i64} : tensor<1x4x64xf32> -> tensor<1x4x32xf32>
      %4 = hova.multiply %2, %3 : tensor<1x4x32xf32>, tensor<1x4x32xf32>
      hova.yield %4 : tensor<1x4x32xf32>
    } : tensor<1x4x32xf32>
    hova.yield %s : tensor<1x4x32xf32>
  } : (tensor<1x4x8xbf16>, tensor<8x64xbf16>) -> tensor<1x4x32xf32>
  return %r : tensor<1x4x32xf32>
}

// -----

func.func @main(%x: tensor<1x4x8xbf16>, %w: tensor<64x8xbf16>) -> tensor<1x4x32xf32> {
  %r = hova.kernel "k" units<batch 1, token 4>(%x, %w) attributes {schedule = #hova_cuda.schedule<rows = 64, columns = 32, row_warps = 4, column_warps = 1, step = 32, stages = 3>} {
  ^bb0(%i: tensor<1x4x8xbf16>, %j: tensor<64x8xbf16>):
    %s = hova.stage [#hova.layout<rows 32>] {
      %1 = hova.linear %i, %j {transposed} : tensor<1x4x8xbf16>, tensor<64x8xbf16> -> tensor<1x4x64xf32>
      %2 = hova.slice %1 {axis = 2 : i64, offset = 0 : i64} : tensor<1x4x64xf32> -> tensor<1x4x32xf32>
      %3 = hova.slice %1 {axis = 2 : i64, offset = 32 : i64} : tensor<1x4x64xf32> -> tensor<1x4x32xf32>
      %4 = hova.multiply %2, %3 : tensor<1x4x32xf32>, tensor<1x4x32xf32>
      hova.yield %4 : tensor<1x4x32xf32>
    } : tensor<1x4x32xf32>
    hova.yield %s : tensor<1x4x32xf32>
  } : (tensor<1x4x8xbf16>, tensor<64x8xbf16>) -> tensor<1x4x32xf32>
  return %r : tensor<1x4x32xf32>
}
