// The layouts of values are those that tile writes.

// RUN: hova-opt %s --split-input-file --hova-tile-cpu-kernels --verify-diagnostics
// SPDX-License-Identifier: Apache-2.0

// Rows of a kernel's results stand one after the other.
func.func @main(%x: tensor<1x9x8xf32>) -> tensor<1x9x8xf32> {
  %y = hova.kernel "act" units<batch 1, token 9> (%x) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%a: tensor<1x9x8xf32>):
    // expected-error@+1 {{'hova.stage' op expects the layout 'rows' of result 0, got 'token_columns'}}
    %s = hova.stage [#hova.layout<token_columns 16>] {
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
  %y = hova.kernel "act" units<batch 1, token 9> (%x) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%a: tensor<1x9x8xf32>):
    %s = hova.stage [#hova.layout<rows 16>] {
      %r = hova.activation relu %a : tensor<1x9x8xf32>
      hova.yield %r : tensor<1x9x8xf32>
    } : tensor<1x9x8xf32>
    hova.yield %s : tensor<1x9x8xf32>
  } : (tensor<1x9x8xf32>) -> tensor<1x9x8xf32>
  return %y : tensor<1x9x8xf32>
}

// -----

// What is reshaped is dense.
func.func @main(%x: tensor<1x9x8xf32>) -> tensor<1x3x24xf32> {
  // expected-error@+1 {{'hova.kernel' op expects rows of 8 elements for result 0, which is reshaped, got 16}}
  %a = hova.kernel "a" units<batch 1, token 9> (%x) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%a: tensor<1x9x8xf32>):
    %s = hova.stage [#hova.layout<rows 16>] {
      %r = hova.activation relu %a : tensor<1x9x8xf32>
      hova.yield %r : tensor<1x9x8xf32>
    } : tensor<1x9x8xf32>
    hova.yield %s : tensor<1x9x8xf32>
  } : (tensor<1x9x8xf32>) -> tensor<1x9x8xf32>
  %b = hova.reshape %a : tensor<1x9x8xf32> -> tensor<1x3x24xf32>
  %y = hova.kernel "b" units<batch 1, token 3> (%b) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%a_: tensor<1x3x24xf32>):
    %s = hova.stage [#hova.layout<rows 24>] {
      %r = hova.activation relu %a_ : tensor<1x3x24xf32>
      hova.yield %r : tensor<1x3x24xf32>
    } : tensor<1x3x24xf32>
    hova.yield %s : tensor<1x3x24xf32>
  } : (tensor<1x3x24xf32>) -> tensor<1x3x24xf32>
  return %y : tensor<1x3x24xf32>
}

// -----

// Two rows of one value would be one buffer.
func.func @main(%x: tensor<1x9x8xf32>) -> (tensor<1x9x8xf32>, tensor<1x9x8xf32>) {
  %y:2 = hova.kernel "act" units<batch 1, token 9> (%x) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%a: tensor<1x9x8xf32>):
    // expected-error@+1 {{'hova.stage' op expects a value once in each layout, got result 1 again}}
    %s, %t = hova.stage [#hova.layout<rows 8>, #hova.layout<rows 8>] {
      %r = hova.activation relu %a : tensor<1x9x8xf32>
      hova.yield %r, %r : tensor<1x9x8xf32>, tensor<1x9x8xf32>
    } : tensor<1x9x8xf32>, tensor<1x9x8xf32>
    hova.yield %s, %t : tensor<1x9x8xf32>, tensor<1x9x8xf32>
  } : (tensor<1x9x8xf32>) -> (tensor<1x9x8xf32>, tensor<1x9x8xf32>)
  return %y#0, %y#1 : tensor<1x9x8xf32>, tensor<1x9x8xf32>
}

// -----

// Parts stand in one value, whose rows have one distance.
func.func @main(%x: tensor<1x9x8xf32>) -> tensor<1x18x8xf32> {
  %p = hova.kernel "a" units<batch 1, token 9> (%x) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%a: tensor<1x9x8xf32>):
    %s = hova.stage [#hova.layout<rows 16>] {
      %r = hova.activation relu %a : tensor<1x9x8xf32>
      hova.yield %r : tensor<1x9x8xf32>
    } : tensor<1x9x8xf32>
    hova.yield %s : tensor<1x9x8xf32>
  } : (tensor<1x9x8xf32>) -> tensor<1x9x8xf32>
  // expected-error@+1 {{'hova.kernel' op expects rows of 16 elements for result 0, which is a part, got 32}}
  %q = hova.kernel "b" units<batch 1, token 9> (%x) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%a: tensor<1x9x8xf32>):
    %s = hova.stage [#hova.layout<rows 32>] {
      %r = hova.activation relu %a : tensor<1x9x8xf32>
      hova.yield %r : tensor<1x9x8xf32>
    } : tensor<1x9x8xf32>
    hova.yield %s : tensor<1x9x8xf32>
  } : (tensor<1x9x8xf32>) -> tensor<1x9x8xf32>
  %z = hova.index_sort %p, %q : tensor<1x9x8xf32> -> tensor<1x18x8xf32>
  %y = hova.kernel "c" units<batch 1, token 18> (%z) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%a: tensor<1x18x8xf32>):
    %s = hova.stage [#hova.layout<rows 8>] {
      %r = hova.activation relu %a : tensor<1x18x8xf32>
      hova.yield %r : tensor<1x18x8xf32>
    } : tensor<1x18x8xf32>
    hova.yield %s : tensor<1x18x8xf32>
  } : (tensor<1x18x8xf32>) -> tensor<1x18x8xf32>
  return %y : tensor<1x18x8xf32>
}

// -----

// What passes between stages of short sequences has its tokens in lanes, as many
// as a tile.
func.func @main(%x: tensor<8x16x8xf32>) -> tensor<8x16x8xf32> {
  %y = hova.kernel "k" units<sequence_group 2> (%x) attributes {schedule = #hova_cpu.schedule<tile = 6x64, lanes = 64, grain = 1>} {
  ^bb0(%a: tensor<8x16x8xf32>):
    // expected-error@+1 {{'hova.stage' op expects the layout 'token_columns' of result 0, got 'rows'}}
    %s = hova.stage [#hova.layout<rows 16>] {
      %r = hova.activation relu %a : tensor<8x16x8xf32>
      hova.yield %r : tensor<8x16x8xf32>
    } : tensor<8x16x8xf32>
    %t = hova.stage [#hova.layout<rows 8>] {
      %r = hova.attention %s, %s, %s
          {heads = 2 : i64}
          : (tensor<8x16x8xf32>, tensor<8x16x8xf32>, tensor<8x16x8xf32>) -> tensor<8x16x8xf32> scores {
      ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
        %all = arith.constant true
        hova.score_yield %raw kept %all
      }
      hova.yield %r : tensor<8x16x8xf32>
    } : tensor<8x16x8xf32>
    hova.yield %t : tensor<8x16x8xf32>
  } : (tensor<8x16x8xf32>) -> tensor<8x16x8xf32>
  return %y : tensor<8x16x8xf32>
}

// -----

func.func @main(%x: tensor<8x16x8xf32>) -> tensor<8x16x8xf32> {
  %y = hova.kernel "k" units<sequence_group 2> (%x) attributes {schedule = #hova_cpu.schedule<tile = 6x64, lanes = 64, grain = 1>} {
  ^bb0(%a: tensor<8x16x8xf32>):
    // expected-error@+1 {{'hova.stage' op expects 64 tokens in the lanes of result 0, got 7}}
    %s = hova.stage [#hova.layout<token_columns 7>] {
      %r = hova.activation relu %a : tensor<8x16x8xf32>
      hova.yield %r : tensor<8x16x8xf32>
    } : tensor<8x16x8xf32>
    %t = hova.stage [#hova.layout<rows 8>] {
      %r = hova.attention %s, %s, %s
          {heads = 2 : i64}
          : (tensor<8x16x8xf32>, tensor<8x16x8xf32>, tensor<8x16x8xf32>) -> tensor<8x16x8xf32> scores {
      ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
        %all = arith.constant true
        hova.score_yield %raw kept %all
      }
      hova.yield %r : tensor<8x16x8xf32>
    } : tensor<8x16x8xf32>
    hova.yield %t : tensor<8x16x8xf32>
  } : (tensor<8x16x8xf32>) -> tensor<8x16x8xf32>
  return %y : tensor<8x16x8xf32>
}
