// The layouts of values are those that tile writes.

// RUN: hova-opt %s --split-input-file --hova-tile-cpu-kernels --verify-diagnostics
// SPDX-License-Identifier: Apache-2.0

// Rows of a kernel's results stand one after the other.
func.func @main(%x: tensor<1x9x8xf32>) -> tensor<1x9x8xf32> {
  %y = hova.kernel "act" units<batch 1, token 9> (%x) attributes {hova.tile = array<i64: 4, 16>, hova.k_block = 256 : i64, hova.block = 256 : i64, hova.lanes = 32 : i64, hova.grain = 100 : i64} {
  ^bb0(%a: tensor<1x9x8xf32>):
    // expected-error@+1 {{'hova.stage' op expects the layout 'rows' of result 0, got 'token_lanes'}}
    %s = hova.stage [#hova.layout<token_lanes 16>] {
      %r = hova.activation relu %a : tensor<1x9x8xf32>
      hova.yield %r : tensor<1x9x8xf32>
    } : tensor<1x9x8xf32>
    hova.yield %s : tensor<1x9x8xf32>
  } : (tensor<1x9x8xf32>) -> tensor<1x9x8xf32>
  return %y : tensor<1x9x8xf32>
}

// -----

// An output is dense.
func.func @main(%x: tensor<1x9x8xf32>) -> tensor<1x9x8xf32> {
  // expected-error@+1 {{'hova.kernel' op expects rows of 8 elements for result 0, which is an output, got 16}}
  %y = hova.kernel "act" units<batch 1, token 9> (%x) attributes {hova.tile = array<i64: 4, 16>, hova.k_block = 256 : i64, hova.block = 256 : i64, hova.lanes = 32 : i64, hova.grain = 100 : i64} {
  ^bb0(%a: tensor<1x9x8xf32>):
    %s = hova.stage [#hova.layout<rows 16>] {
      %r = hova.activation relu %a : tensor<1x9x8xf32>
      hova.yield %r : tensor<1x9x8xf32>
    } : tensor<1x9x8xf32>
    hova.yield %s : tensor<1x9x8xf32>
  } : (tensor<1x9x8xf32>) -> tensor<1x9x8xf32>
  return %y : tensor<1x9x8xf32>
}
