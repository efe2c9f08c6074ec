// Stages whose tiles do not hold what their operations need, as nobody but a
// hand writes them.

// RUN: hova-opt %s --split-input-file --hova-tile-cpu-kernels --verify-diagnostics
// SPDX-License-Identifier: Apache-2.0

// A tile of 64 columns has two periods of a table.
func.func @main(%x: tensor<1x9x192xf32>, %c: tensor<9x32xf32>) -> tensor<1x9x192xf32> {
  %y = hova.kernel "k" units<batch 1, token 9> (%x, %c) attributes {schedule = #hova_cpu.schedule<tile = 6x16, lanes = 64, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%a: tensor<1x9x192xf32>, %t: tensor<9x32xf32>):
    %s = hova.stage [#hova.layout<rows 192>] {
      // expected-error@+1 {{'hova.rotate' op expects tiles whose columns divide the 32 columns of operand 1, which repeat, got tiles of 16 and 64 columns}}
      %r = hova.rotate %a, %t, %t : tensor<1x9x192xf32>, tensor<9x32xf32>
      hova.yield %r : tensor<1x9x192xf32>
    } : tensor<1x9x192xf32>
    hova.yield %s : tensor<1x9x192xf32>
  } : (tensor<1x9x192xf32>, tensor<9x32xf32>) -> tensor<1x9x192xf32>
  return %y : tensor<1x9x192xf32>
}

// -----

// One of 32 has one, or half of it.
func.func @main(%x: tensor<1x9x192xf32>, %c: tensor<9x32xf32>) -> tensor<1x9x192xf32> {
  %y = hova.kernel "k" units<batch 1, token 9> (%x, %c) attributes {schedule = #hova_cpu.schedule<tile = 6x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%a: tensor<1x9x192xf32>, %t: tensor<9x32xf32>):
    %s = hova.stage [#hova.layout<rows 192>] {
      %r = hova.rotate %a, %t, %t : tensor<1x9x192xf32>, tensor<9x32xf32>
      hova.yield %r : tensor<1x9x192xf32>
    } : tensor<1x9x192xf32>
    hova.yield %s : tensor<1x9x192xf32>
  } : (tensor<1x9x192xf32>, tensor<9x32xf32>) -> tensor<1x9x192xf32>
  return %y : tensor<1x9x192xf32>
}

// -----

// A period of three halves of a tile.
func.func @main(%x: tensor<1x9x192xf32>, %c: tensor<9x96xf32>) -> tensor<1x9x192xf32> {
  %y = hova.kernel "k" units<batch 1, token 9> (%x, %c) attributes {schedule = #hova_cpu.schedule<tile = 6x64, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%a: tensor<1x9x192xf32>, %t: tensor<9x96xf32>):
    %s = hova.stage [#hova.layout<rows 192>] {
      // expected-error@+1 {{'hova.rotate' op expects tiles whose columns divide the 96 columns of operand 1, which repeat, got tiles of 64 and 32 columns}}
      %r = hova.rotate %a, %t, %t : tensor<1x9x192xf32>, tensor<9x96xf32>
      hova.yield %r : tensor<1x9x192xf32>
    } : tensor<1x9x192xf32>
    hova.yield %s : tensor<1x9x192xf32>
  } : (tensor<1x9x192xf32>, tensor<9x96xf32>) -> tensor<1x9x192xf32>
  return %y : tensor<1x9x192xf32>
}

// -----

// Of tiles of 48 columns the last is narrower, and begins anywhere.
func.func @main(%x: tensor<1x9x192xf32>, %c: tensor<9x96xf32>) -> tensor<1x9x192xf32> {
  %y = hova.kernel "k" units<batch 1, token 9> (%x, %c) attributes {schedule = #hova_cpu.schedule<tile = 6x48, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%a: tensor<1x9x192xf32>, %t: tensor<9x96xf32>):
    %s = hova.stage [#hova.layout<rows 192>] {
      // expected-error@+1 {{'hova.rotate' op expects tiles whose columns divide the 96 columns of operand 1, which repeat, got tiles of 48 and 32 columns}}
      %r = hova.rotate %a, %t, %t : tensor<1x9x192xf32>, tensor<9x96xf32>
      hova.yield %r : tensor<1x9x192xf32>
    } : tensor<1x9x192xf32>
    hova.yield %s : tensor<1x9x192xf32>
  } : (tensor<1x9x192xf32>, tensor<9x96xf32>) -> tensor<1x9x192xf32>
  return %y : tensor<1x9x192xf32>
}

// -----

// A table as wide as the rows has no periods.
func.func @main(%x: tensor<1x9x192xf32>, %c: tensor<9x192xf32>) -> tensor<1x9x192xf32> {
  %y = hova.kernel "k" units<batch 1, token 9> (%x, %c) attributes {schedule = #hova_cpu.schedule<tile = 6x48, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%a: tensor<1x9x192xf32>, %t: tensor<9x192xf32>):
    %s = hova.stage [#hova.layout<rows 192>] {
      %r = hova.rotate %a, %t, %t : tensor<1x9x192xf32>, tensor<9x192xf32>
      hova.yield %r : tensor<1x9x192xf32>
    } : tensor<1x9x192xf32>
    hova.yield %s : tensor<1x9x192xf32>
  } : (tensor<1x9x192xf32>, tensor<9x192xf32>) -> tensor<1x9x192xf32>
  return %y : tensor<1x9x192xf32>
}

// -----

// Strips of a weight in which tiles are cut.
func.func @main(%x: tensor<1x9x8xf32>, %c: tensor<9x64xf32>) -> tensor<1x9x192xf32> {
  %w = hova.image_weight "w" {layout = #hova.column_strips<48>} : tensor<8x192xf32>
  %y = hova.kernel "k" units<batch 1, token 9> (%x, %w, %c) attributes {schedule = #hova_cpu.schedule<tile = 6x32, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%a: tensor<1x9x8xf32>, %b: tensor<8x192xf32>, %t: tensor<9x64xf32>):
    %s = hova.stage [#hova.layout<rows 192>] {
      %p = hova.linear %a, %b : tensor<1x9x8xf32>, tensor<8x192xf32> -> tensor<1x9x192xf32>
      // expected-error@+1 {{'hova.rotate' op expects tiles whose columns divide the 64 columns of operand 1, which repeat, got tiles of 32 and 32 columns}}
      %r = hova.rotate %p, %t, %t : tensor<1x9x192xf32>, tensor<9x64xf32>
      hova.yield %r : tensor<1x9x192xf32>
    } : tensor<1x9x192xf32>
    hova.yield %s : tensor<1x9x192xf32>
  } : (tensor<1x9x8xf32>, tensor<8x192xf32>, tensor<9x64xf32>) -> tensor<1x9x192xf32>
  return %y : tensor<1x9x192xf32>
}
func.func private @weights() {
  %w = hova.weight "w" : tensor<8x192xf32>
  hova.store_weight "w", %w : tensor<8x192xf32>
  return
}

// -----

// Tiles are no wider than strips.
func.func @main(%x: tensor<1x9x8xf32>, %c: tensor<9x64xf32>) -> tensor<1x9x192xf32> {
  %w = hova.image_weight "w" {layout = #hova.column_strips<64>} : tensor<8x192xf32>
  %y = hova.kernel "k" units<batch 1, token 9> (%x, %w, %c) attributes {schedule = #hova_cpu.schedule<tile = 6x512, lanes = 512, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%a: tensor<1x9x8xf32>, %b: tensor<8x192xf32>, %t: tensor<9x64xf32>):
    %s = hova.stage [#hova.layout<rows 192>] {
      %p = hova.linear %a, %b : tensor<1x9x8xf32>, tensor<8x192xf32> -> tensor<1x9x192xf32>
      %r = hova.rotate %p, %t, %t : tensor<1x9x192xf32>, tensor<9x64xf32>
      hova.yield %r : tensor<1x9x192xf32>
    } : tensor<1x9x192xf32>
    hova.yield %s : tensor<1x9x192xf32>
  } : (tensor<1x9x8xf32>, tensor<8x192xf32>, tensor<9x64xf32>) -> tensor<1x9x192xf32>
  return %y : tensor<1x9x192xf32>
}
func.func private @weights() {
  %w = hova.weight "w" : tensor<8x192xf32>
  hova.store_weight "w", %w : tensor<8x192xf32>
  return
}

// -----

// Neighbours in the lanes of short sequences are tokens, no columns.
func.func @main(%x: tensor<8x16x8xf32>, %c: tensor<16x8xf32>) -> tensor<8x16x8xf32> {
  %y = hova.kernel "k" units<sequence_group 2> (%x, %c) attributes {schedule = #hova_cpu.schedule<tile = 6x64, lanes = 64, grain = 1>} {
  ^bb0(%a: tensor<8x16x8xf32>, %t: tensor<16x8xf32>):
    %s = hova.stage [#hova.layout<rows 8>] {
      // expected-error@+1 {{'hova.rotate' op has no loops for tokens in lanes}}
      %r = hova.rotate %a, %t, %t : tensor<8x16x8xf32>, tensor<16x8xf32>
      hova.yield %r : tensor<8x16x8xf32>
    } : tensor<8x16x8xf32>
    hova.yield %s : tensor<8x16x8xf32>
  } : (tensor<8x16x8xf32>, tensor<16x8xf32>) -> tensor<8x16x8xf32>
  return %y : tensor<8x16x8xf32>
}

// -----

func.func @main(%x: tensor<8x16x8xf32>, %c: tensor<16x8xf32>) -> tensor<8x16x8xf32> {
  %y = hova.kernel "k" units<sequence_group 2> (%x, %c) attributes {schedule = #hova_cpu.schedule<tile = 6x64, lanes = 64, grain = 1>} {
  ^bb0(%a: tensor<8x16x8xf32>, %t: tensor<16x8xf32>):
    %s = hova.stage [#hova.layout<rows 8>] {
      %p = hova.activation relu %a : tensor<8x16x8xf32>
      // expected-error@+1 {{'hova.rotate' op is not element-wise on the tile of 'hova.activation', whose stage it shares}}
      %r = hova.rotate %p, %t, %t : tensor<8x16x8xf32>, tensor<16x8xf32>
      hova.yield %r : tensor<8x16x8xf32>
    } : tensor<8x16x8xf32>
    hova.yield %s : tensor<8x16x8xf32>
  } : (tensor<8x16x8xf32>, tensor<16x8xf32>) -> tensor<8x16x8xf32>
  return %y : tensor<8x16x8xf32>
}

// -----

// The attention of short sequences stores what it computes.
func.func @main(%x: tensor<8x16x8xf32>) -> tensor<8x16x8xf32> {
  %y = hova.kernel "k" units<sequence_group 2> (%x) attributes {schedule = #hova_cpu.schedule<tile = 6x64, lanes = 64, grain = 1>} {
  ^bb0(%a: tensor<8x16x8xf32>):
    %s = hova.stage [#hova.layout<rows 8>] {
      %p = hova.attention %a, %a, %a
          {heads = 2 : i64}
          : (tensor<8x16x8xf32>, tensor<8x16x8xf32>, tensor<8x16x8xf32>) -> tensor<8x16x8xf32> scores {
      ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
        %all = arith.constant true
        hova.score_yield %raw kept %all
      }
      // expected-error@+1 {{'hova.activation' op shares the stage of 'hova.attention', which hands on no tiles}}
      %r = hova.activation relu %p : tensor<8x16x8xf32>
      hova.yield %r : tensor<8x16x8xf32>
    } : tensor<8x16x8xf32>
    hova.yield %s : tensor<8x16x8xf32>
  } : (tensor<8x16x8xf32>) -> tensor<8x16x8xf32>
  return %y : tensor<8x16x8xf32>
}
