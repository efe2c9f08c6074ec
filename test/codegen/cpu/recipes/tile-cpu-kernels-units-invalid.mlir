// The units of a kernel are those of its operations.

// RUN: hova-opt %s --split-input-file --hova-tile-cpu-kernels --verify-diagnostics
// SPDX-License-Identifier: Apache-2.0

func.func @main(%x: tensor<1x9x8xf32>) -> tensor<1x9x8xf32> {
  // expected-error@+1 {{'hova.kernel' op expects as many units as its operations have, 9, got 1}}
  %y = hova.kernel "act" units<batch 1, head 1> (%x) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100>} {
  ^bb0(%a: tensor<1x9x8xf32>):
    %r_out = hova.stage [#hova.layout<rows 8>] {
      %r = hova.activation relu %a : tensor<1x9x8xf32>
      hova.yield %r : tensor<1x9x8xf32>
    } : tensor<1x9x8xf32>
    hova.yield %r_out : tensor<1x9x8xf32>
  } : (tensor<1x9x8xf32>) -> tensor<1x9x8xf32>
  return %y : tensor<1x9x8xf32>
}

// -----

func.func @main(%x: tensor<1x9x8xf32>) -> tensor<1x9x8xf32> {
  // expected-error@+1 {{'hova.kernel' op expects as many units as its operations have, 2, got 9}}
  %y = hova.kernel "attn" units<batch 1, token 9> (%x) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%a: tensor<1x9x8xf32>):
    %r_out = hova.stage [#hova.layout<rows 8>] {
      %r = hova.attention %a, %a, %a
          {heads = 2 : i64}
          : (tensor<1x9x8xf32>, tensor<1x9x8xf32>, tensor<1x9x8xf32>) -> tensor<1x9x8xf32> scores {
      ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
        %all = arith.constant true
        hova.score_yield %raw kept %all
      }
      hova.yield %r : tensor<1x9x8xf32>
    } : tensor<1x9x8xf32>
    hova.yield %r_out : tensor<1x9x8xf32>
  } : (tensor<1x9x8xf32>) -> tensor<1x9x8xf32>
  return %y : tensor<1x9x8xf32>
}

// -----

func.func @main(%x: tensor<1x9x8xf32>) -> tensor<1x9x40xf32> {
  %w = hova.image_weight "w" {layout = #hova.column_strips<16>} : tensor<8x40xf32>
  // expected-error@+1 {{'hova.kernel' op expects 3 strips as its product's weight, got 2}}
  %y = hova.kernel "product" units<column_strip 2> (%x, %w) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 1, k_block = 256, block = 256>} {
  ^bb0(%a: tensor<1x9x8xf32>, %b: tensor<8x40xf32>):
    %r_out = hova.stage [#hova.layout<rows 40>] {
      %r = hova.linear %a, %b : tensor<1x9x8xf32>, tensor<8x40xf32> -> tensor<1x9x40xf32>
      hova.yield %r : tensor<1x9x40xf32>
    } : tensor<1x9x40xf32>
    hova.yield %r_out : tensor<1x9x40xf32>
  } : (tensor<1x9x8xf32>, tensor<8x40xf32>) -> tensor<1x9x40xf32>
  return %y : tensor<1x9x40xf32>
}
func.func private @weights() {
  %w = hova.weight "w" : tensor<8x40xf32>
  hova.store_weight "w", %w : tensor<8x40xf32>
  return
}

// -----

// Seven queries are not twelve blocks.
func.func @main(%x: tensor<1x7x8xf32>) -> tensor<1x7x8xf32> {
  // expected-error@+1 {{'hova.kernel' op expects at most 7 blocks of the dim that its operation may divide besides its units, got 12}}
  %y = hova.kernel "attn" units<batch 1, head 2, query_block 12> (%x) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 1>} {
  ^bb0(%a: tensor<1x7x8xf32>):
    %r_out = hova.stage [#hova.layout<rows 8>] {
      %r = hova.attention %a, %a, %a
          {heads = 2 : i64}
          : (tensor<1x7x8xf32>, tensor<1x7x8xf32>, tensor<1x7x8xf32>) -> tensor<1x7x8xf32> scores {
      ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
        %all = arith.constant true
        hova.score_yield %raw kept %all
      }
      hova.yield %r : tensor<1x7x8xf32>
    } : tensor<1x7x8xf32>
    hova.yield %r_out : tensor<1x7x8xf32>
  } : (tensor<1x7x8xf32>) -> tensor<1x7x8xf32>
  return %y : tensor<1x7x8xf32>
}

// -----

// Rows have no dim that is divided besides.
func.func @main(%x: tensor<1x9x8xf32>) -> tensor<1x9x8xf32> {
  // expected-error@+1 {{expects at most 1 blocks}}
  %y = hova.kernel "act" units<batch 1, token 9, row_block 2> (%x) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 1, k_block = 256, block = 256>} {
  ^bb0(%a: tensor<1x9x8xf32>):
    %r_out = hova.stage [#hova.layout<rows 8>] {
      %r = hova.activation relu %a : tensor<1x9x8xf32>
      hova.yield %r : tensor<1x9x8xf32>
    } : tensor<1x9x8xf32>
    hova.yield %r_out : tensor<1x9x8xf32>
  } : (tensor<1x9x8xf32>) -> tensor<1x9x8xf32>
  return %y : tensor<1x9x8xf32>
}
