// RUN: hova-opt %s --split-input-file --hova-tile-cuda-kernels --verify-diagnostics
// SPDX-License-Identifier: Apache-2.0

// Rows that a dump says are read where they lie.

// Rows with a gap of less than what a value begins at.
func.func @main(%x: tensor<1x6x4xf32>) -> tensor<1x2x4xf32> {
  %a = hova.kernel "a" units<batch 1, token 6>(%x) attributes {schedule = #hova_cuda.schedule<rows = 4, columns = 64, row_warps = 4, column_warps = 1>} {
  ^bb0(%b: tensor<1x6x4xf32>):
    %s = hova.stage [#hova.layout<rows 8>] {
      %r = hova.activation relu %b : tensor<1x6x4xf32>
      hova.yield %r : tensor<1x6x4xf32>
    } : tensor<1x6x4xf32>
    hova.yield %s : tensor<1x6x4xf32>
  } : (tensor<1x6x4xf32>) -> tensor<1x6x4xf32>
  // expected-error@+1 {{reads rows from byte 32 of a value on, expects a multiple of 64}}
  %y = hova.slice %a {axis = 1 : i64, offset = 1 : i64} : tensor<1x6x4xf32> -> tensor<1x2x4xf32>
  %o = hova.kernel "o" units<batch 1, token 2>(%y) attributes {schedule = #hova_cuda.schedule<rows = 4, columns = 64, row_warps = 4, column_warps = 1>} {
  ^bb0(%b: tensor<1x2x4xf32>):
    %s = hova.stage [#hova.layout<rows 4>] {
      %r = hova.activation tanh %b : tensor<1x2x4xf32>
      hova.yield %r : tensor<1x2x4xf32>
    } : tensor<1x2x4xf32>
    hova.yield %s : tensor<1x2x4xf32>
  } : (tensor<1x2x4xf32>) -> tensor<1x2x4xf32>
  return %o : tensor<1x2x4xf32>
}

// -----

// Two rows of each sequence have two distances.
func.func @main(%x: tensor<3x6x4xf32>) -> tensor<3x2x4xf32> {
  %a = hova.kernel "a" units<batch 3, token 6>(%x) attributes {schedule = #hova_cuda.schedule<rows = 4, columns = 64, row_warps = 4, column_warps = 1>} {
  ^bb0(%b: tensor<3x6x4xf32>):
    %s = hova.stage [#hova.layout<rows 16>] {
      %r = hova.activation relu %b : tensor<3x6x4xf32>
      hova.yield %r : tensor<3x6x4xf32>
    } : tensor<3x6x4xf32>
    hova.yield %s : tensor<3x6x4xf32>
  } : (tensor<3x6x4xf32>) -> tensor<3x6x4xf32>
  // expected-error@+1 {{belongs to no kernel: run fuse first}}
  %y = hova.slice %a {axis = 1 : i64, offset = 1 : i64} : tensor<3x6x4xf32> -> tensor<3x2x4xf32>
  %o = hova.kernel "o" units<batch 3, token 2>(%y) attributes {schedule = #hova_cuda.schedule<rows = 4, columns = 64, row_warps = 4, column_warps = 1>} {
  ^bb0(%b: tensor<3x2x4xf32>):
    %s = hova.stage [#hova.layout<rows 4>] {
      %r = hova.activation tanh %b : tensor<3x2x4xf32>
      hova.yield %r : tensor<3x2x4xf32>
    } : tensor<3x2x4xf32>
    hova.yield %s : tensor<3x2x4xf32>
  } : (tensor<3x2x4xf32>) -> tensor<3x2x4xf32>
  return %o : tensor<3x2x4xf32>
}

// -----

// An output is the caller's memory.
func.func @main(%x: tensor<1x6x4xf32>) -> (tensor<1x6x4xf32>, tensor<1x2x4xf32>) {
  %a = hova.kernel "a" units<batch 1, token 6>(%x) attributes {schedule = #hova_cuda.schedule<rows = 4, columns = 64, row_warps = 4, column_warps = 1>} {
  ^bb0(%b: tensor<1x6x4xf32>):
    %s = hova.stage [#hova.layout<rows 4>] {
      %r = hova.activation relu %b : tensor<1x6x4xf32>
      hova.yield %r : tensor<1x6x4xf32>
    } : tensor<1x6x4xf32>
    hova.yield %s : tensor<1x6x4xf32>
  } : (tensor<1x6x4xf32>) -> tensor<1x6x4xf32>
  // expected-error@+1 {{belongs to no kernel: run fuse first}}
  %y = hova.slice %a {axis = 1 : i64, offset = 1 : i64} : tensor<1x6x4xf32> -> tensor<1x2x4xf32>
  %o = hova.kernel "o" units<batch 1, token 2>(%y) attributes {schedule = #hova_cuda.schedule<rows = 4, columns = 64, row_warps = 4, column_warps = 1>} {
  ^bb0(%b: tensor<1x2x4xf32>):
    %s = hova.stage [#hova.layout<rows 4>] {
      %r = hova.activation tanh %b : tensor<1x2x4xf32>
      hova.yield %r : tensor<1x2x4xf32>
    } : tensor<1x2x4xf32>
    hova.yield %s : tensor<1x2x4xf32>
  } : (tensor<1x2x4xf32>) -> tensor<1x2x4xf32>
  return %a, %o : tensor<1x6x4xf32>, tensor<1x2x4xf32>
}

// -----

// So is an input.
func.func @main(%x: tensor<1x6x4xf32>) -> (tensor<1x6x4xf32>, tensor<1x2x4xf32>) {
  %a = hova.kernel "a" units<batch 1, token 6>(%x) attributes {schedule = #hova_cuda.schedule<rows = 4, columns = 64, row_warps = 4, column_warps = 1>} {
  ^bb0(%b: tensor<1x6x4xf32>):
    %s = hova.stage [#hova.layout<rows 4>] {
      %r = hova.activation relu %b : tensor<1x6x4xf32>
      hova.yield %r : tensor<1x6x4xf32>
    } : tensor<1x6x4xf32>
    hova.yield %s : tensor<1x6x4xf32>
  } : (tensor<1x6x4xf32>) -> tensor<1x6x4xf32>
  // expected-error@+1 {{belongs to no kernel: run fuse first}}
  %y = hova.slice %x {axis = 1 : i64, offset = 1 : i64} : tensor<1x6x4xf32> -> tensor<1x2x4xf32>
  %o = hova.kernel "o" units<batch 1, token 2>(%y) attributes {schedule = #hova_cuda.schedule<rows = 4, columns = 64, row_warps = 4, column_warps = 1>} {
  ^bb0(%b: tensor<1x2x4xf32>):
    %s = hova.stage [#hova.layout<rows 4>] {
      %r = hova.activation tanh %b : tensor<1x2x4xf32>
      hova.yield %r : tensor<1x2x4xf32>
    } : tensor<1x2x4xf32>
    hova.yield %s : tensor<1x2x4xf32>
  } : (tensor<1x2x4xf32>) -> tensor<1x2x4xf32>
  return %a, %o : tensor<1x6x4xf32>, tensor<1x2x4xf32>
}
