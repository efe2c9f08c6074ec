// RUN: hova-opt %s --hova-verify-cuda-assigned --split-input-file --verify-diagnostics
// SPDX-License-Identifier: Apache-2.0

// Attributes and the promise of assign: whoever edits a dump is told.

// expected-error@+1 {{expects 'rows' from 1 to 1048576, got 0}}
func.func @f() attributes {a = #hova_cuda.schedule<rows = 0, columns = 64, row_warps = 2, column_warps = 2>} {
  return
}

// -----

// expected-error@+1 {{expects 'columns' from 1 to 1048576, got -1}}
func.func @f() attributes {a = #hova_cuda.schedule<rows = 64, columns = -1, row_warps = 2, column_warps = 2>} {
  return
}

// -----

// expected-error@+1 {{expects 'row_warps' from 1 to 32, got 33}}
func.func @f() attributes {a = #hova_cuda.schedule<rows = 64, columns = 64, row_warps = 33, column_warps = 1>} {
  return
}

// -----

// expected-error@+1 {{expects 'column_warps' from 1 to 32, got 0}}
func.func @f() attributes {a = #hova_cuda.schedule<rows = 64, columns = 64, row_warps = 1, column_warps = 0>} {
  return
}

// -----

// expected-error@+1 {{expects at most 32 warps, got 64}}
func.func @f() attributes {a = #hova_cuda.schedule<rows = 64, columns = 64, row_warps = 8, column_warps = 8>} {
  return
}

// -----

// expected-error@+1 {{expects 'step' from 1 to 1048576, got 0}}
func.func @f() attributes {a = #hova_cuda.schedule<rows = 64, columns = 64, row_warps = 1, column_warps = 1, step = 0>} {
  return
}

// -----

// expected-error@+1 {{expects 'stages' from 1 to 16, got 17}}
func.func @f() attributes {a = #hova_cuda.schedule<rows = 64, columns = 64, row_warps = 1, column_warps = 1, stages = 17>} {
  return
}

// -----

// expected-error@+1 {{expects 'x' from 1 to 2147483647, got 0}}
func.func @f() attributes {a = #hova_cuda.launch<x = 0, y = 1, z = 1, threads = 32>} {
  return
}

// -----

// expected-error@+1 {{expects 'y' from 1 to 65535, got 65536}}
func.func @f() attributes {a = #hova_cuda.launch<x = 1, y = 65536, z = 1, threads = 32>} {
  return
}

// -----

// expected-error@+1 {{expects 'z' from 1 to 65535, got 65536}}
func.func @f() attributes {a = #hova_cuda.launch<x = 1, y = 1, z = 65536, threads = 32>} {
  return
}

// -----

// expected-error@+1 {{expects whole warps of 32 threads, got 48}}
func.func @f() attributes {a = #hova_cuda.launch<x = 1, y = 1, z = 1, threads = 48>} {
  return
}

// -----

// expected-error@+1 {{expects 'threads' from 1 to 1024, got 2048}}
func.func @f() attributes {a = #hova_cuda.launch<x = 1, y = 1, z = 1, threads = 2048>} {
  return
}

// -----

func.func @main(%x: tensor<1x4x8xf32>) -> tensor<1x4x8xf32> {
  // expected-error@+1 {{expects the schedule of a GPU, '#hova_cuda.schedule', got <<NULL ATTRIBUTE>>}}
  %r = hova.kernel "k" units<batch 1, token 4>(%x) {
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

func.func @main(%x: tensor<1x4x8xf32>) -> tensor<1x4x8xf32> {
  // expected-error@+1 {{expects the schedule of a GPU, '#hova_cuda.schedule', got #hova_cpu.schedule}}
  %r = hova.kernel "k" units<batch 1, token 4>(%x) attributes {schedule = #hova_cpu.schedule<tile = 6x64, lanes = 64, grain = 48>} {
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

func.func @main(%x: tensor<1x4x8xf32>) -> tensor<1x4x8xf32> {
  // expected-error@+1 {{expects one stage that begins with an operation that has a recipe for a GPU}}
  %r = hova.kernel "k" units<batch 1, token 4>(%x) attributes {schedule = #hova_cuda.schedule<rows = 4, columns = 64, row_warps = 4, column_warps = 1>} {
  ^bb0(%i: tensor<1x4x8xf32>):
    %1 = hova.add %i, %i : tensor<1x4x8xf32>, tensor<1x4x8xf32>
    hova.yield %1 : tensor<1x4x8xf32>
  } : (tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
  return %r : tensor<1x4x8xf32>
}

// -----

func.func @main(%x: tensor<1x4x8xf32>) -> tensor<1x4x8xf32> {
  %r = hova.kernel "k" units<batch 1, token 4>(%x) attributes {schedule = #hova_cuda.schedule<rows = 4, columns = 64, row_warps = 4, column_warps = 1>} {
  ^bb0(%i: tensor<1x4x8xf32>):
    // expected-error@+1 {{operation of a kernel has no stage}}
    %0 = hova.add %i, %i : tensor<1x4x8xf32>, tensor<1x4x8xf32>
    %s = hova.stage [#hova.layout<rows 8>] {
      %1 = hova.add %0, %i : tensor<1x4x8xf32>, tensor<1x4x8xf32>
      hova.yield %1 : tensor<1x4x8xf32>
    } : tensor<1x4x8xf32>
    hova.yield %s : tensor<1x4x8xf32>
  } : (tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
  return %r : tensor<1x4x8xf32>
}

// -----

func.func @main(%x: tensor<1x4x8xbf16>) -> tensor<1x4x8xf32> {
  // expected-error@+1 {{expects the layout #hova.transposed<align 16>, as kernels for a GPU read it, got #hova.transposed<align 8>}}
  %w = hova.image_weight "w" {layout = #hova.transposed<align 8>} : tensor<8x8xbf16>
  %r = hova.kernel "k" units<batch 1, token 4>(%x, %w) attributes {schedule = #hova_cuda.schedule<rows = 64, columns = 64, row_warps = 2, column_warps = 2, step = 32, stages = 3>} {
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
  %r = hova.kernel "k" units<batch 1, token 4>(%x, %w) attributes {schedule = #hova_cuda.schedule<rows = 64, columns = 64, row_warps = 2, column_warps = 2, step = 32, stages = 3>} {
  ^bb0(%i: tensor<1x4x8xbf16>, %j: tensor<8x8xbf16>):
    %s = hova.stage [#hova.layout<rows 8>] {
      // expected-error@+1 {{expects operand 1 to be a weight with a layout, as kernels for a GPU read it}}
      %1 = hova.linear %i, %j : tensor<1x4x8xbf16>, tensor<8x8xbf16> -> tensor<1x4x8xf32>
      hova.yield %1 : tensor<1x4x8xf32>
    } : tensor<1x4x8xf32>
    hova.yield %s : tensor<1x4x8xf32>
  } : (tensor<1x4x8xbf16>, tensor<8x8xbf16>) -> tensor<1x4x8xf32>
  return %r : tensor<1x4x8xf32>
}
