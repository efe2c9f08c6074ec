// RUN: hova-opt %s --split-input-file --hova-verify-assigned --verify-diagnostics

// A complete schedule; slices of columns are addresses.
func.func @main(%x: tensor<1x9x8xf32>) -> tensor<1x9x4xf32> {
  %y = hova.kernel "k" units<batch 1, token 9> (%x) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%a: tensor<1x9x8xf32>):
    %p_out = hova.stage [#hova.layout<rows 16>] {
      %p = hova.activation relu %a : tensor<1x9x8xf32>
      hova.yield %p : tensor<1x9x8xf32>
    } : tensor<1x9x8xf32>
    %q = hova.slice %p_out {axis = 2 : i64, offset = 4 : i64} : tensor<1x9x8xf32> -> tensor<1x9x4xf32>
    %r_out = hova.stage [#hova.layout<rows 4>] {
      %r = hova.activation tanh %q : tensor<1x9x4xf32>
      hova.yield %r : tensor<1x9x4xf32>
    } : tensor<1x9x4xf32>
    hova.yield %r_out : tensor<1x9x4xf32>
  } : (tensor<1x9x8xf32>) -> tensor<1x9x4xf32>
  return %y : tensor<1x9x4xf32>
}

// -----

func.func @main(%x: tensor<1x9x8xf32>) -> tensor<1x9x8xf32> {
  %y = hova.kernel "attn" units<batch 1, head 2> (%x) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100>} {
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

func.func @main(%x: tensor<1x9x8xf32>) -> tensor<1x9x8xf32> {
  // expected-error@+1 {{'hova.kernel' op has no complete schedule: run assign first}}
  %y = hova.kernel "act" (%x) {
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
  // expected-error@+1 {{'hova.kernel' op has no complete schedule: run assign first}}
  %y = hova.kernel "act" (%x) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
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
  // expected-error@+1 {{'hova.kernel' op has no complete schedule: run assign first}}
  %y = hova.kernel "act" units<batch 1, token 9> (%x) {
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
  // expected-error@+1 {{'hova.kernel' op expects 'k_block' and 'block' in the schedule of a kernel whose units are rows or panels, got #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256>}}
  %y = hova.kernel "act" units<batch 1, token 9> (%x) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256>} {
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
  // expected-error@+1 {{'hova.kernel' op expects 'k_block' and 'block' in the schedule of a kernel whose units are rows or panels, got #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, block = 256>}}
  %y = hova.kernel "act" units<batch 1, token 9> (%x) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, block = 256>} {
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
  %y = hova.kernel "act" units<batch 1, token 9> (%x) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%a: tensor<1x9x8xf32>):
    // expected-error@+1 {{operation of a kernel has no stage}}
    %r = hova.activation relu %a : tensor<1x9x8xf32>
    hova.yield %r : tensor<1x9x8xf32>
  } : (tensor<1x9x8xf32>) -> tensor<1x9x8xf32>
  return %y : tensor<1x9x8xf32>
}

// -----

// Columns are an address, rows of another batch entry are none.
func.func @main(%x: tensor<2x6x8xf32>) -> tensor<2x4x8xf32> {
  %y = hova.kernel "act" units<batch 2, token 4> (%x) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%a: tensor<2x6x8xf32>):
    // expected-error@+1 {{operation of a kernel has no stage}}
    %s = hova.slice %a {axis = 1 : i64, offset = 0 : i64} : tensor<2x6x8xf32> -> tensor<2x4x8xf32>
    %t = hova.stage [#hova.layout<rows 8>] {
      %r = hova.activation relu %s : tensor<2x4x8xf32>
      hova.yield %r : tensor<2x4x8xf32>
    } : tensor<2x4x8xf32>
    hova.yield %t : tensor<2x4x8xf32>
  } : (tensor<2x6x8xf32>) -> tensor<2x4x8xf32>
  return %y : tensor<2x4x8xf32>
}

// -----

func.func @main(%x: tensor<1x9x8xf32>) -> tensor<1x9x8xf32> {
  // expected-error@+1 {{'hova.kernel' op expects whole lines of 16 columns in the tile of a kernel whose units are no rows, got #hova_cpu.schedule<tile = 14x17, lanes = 64, grain = 1>}}
  %y = hova.kernel "attn" units<batch 1, head 2> (%x) attributes {schedule = #hova_cpu.schedule<tile = 14x17, lanes = 64, grain = 1>} {
  ^bb0(%a: tensor<1x9x8xf32>):
    %s = hova.stage [#hova.layout<rows 8>] {
      %r = hova.attention %a, %a, %a
          {heads = 2 : i64}
          : (tensor<1x9x8xf32>, tensor<1x9x8xf32>, tensor<1x9x8xf32>) -> tensor<1x9x8xf32> scores {
      ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
        %all = arith.constant true
        hova.score_yield %raw kept %all
      }
      hova.yield %r : tensor<1x9x8xf32>
    } : tensor<1x9x8xf32>
    hova.yield %s : tensor<1x9x8xf32>
  } : (tensor<1x9x8xf32>) -> tensor<1x9x8xf32>
  return %y : tensor<1x9x8xf32>
}

// -----

func.func @main(%x: tensor<1x9x8xf32>) -> tensor<1x9x8xf32> {
  // expected-error@+1 {{'hova.kernel' op expects 'pairs' only in the schedule of an operation that can multiply pairs, such as an attention by softmax that reads bf16, got #hova_cpu.schedule<tile = 14x32, lanes = 64, grain = 1, pairs>}}
  %y = hova.kernel "attn" units<batch 1, head 2> (%x) attributes {schedule = #hova_cpu.schedule<tile = 14x32, lanes = 64, grain = 1, pairs>} {
  ^bb0(%a: tensor<1x9x8xf32>):
    %s = hova.stage [#hova.layout<rows 8>] {
      %r = hova.attention %a, %a, %a
          {heads = 2 : i64}
          : (tensor<1x9x8xf32>, tensor<1x9x8xf32>, tensor<1x9x8xf32>) -> tensor<1x9x8xf32> scores {
      ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
        %all = arith.constant true
        hova.score_yield %raw kept %all
      }
      hova.yield %r : tensor<1x9x8xf32>
    } : tensor<1x9x8xf32>
    hova.yield %s : tensor<1x9x8xf32>
  } : (tensor<1x9x8xf32>) -> tensor<1x9x8xf32>
  return %y : tensor<1x9x8xf32>
}

// -----

// Layouts of weights are those that kernels read.
func.func @main(%x: tensor<1x9x8xf32>) -> tensor<1x9x8xf32> {
  // expected-error@+1 {{'hova.image_weight' op expects panels with an interleave factor of 1, as kernels for a CPU read 'f32', got #hova.transposed<align 16>}}
  %w = hova.image_weight "w" {layout = #hova.transposed<align 16>} : tensor<8x8xf32>
  return %x : tensor<1x9x8xf32>
}

// -----

func.func @main(%x: tensor<1x9x8xf32>) -> tensor<1x9x8xf32> {
  // expected-error@+1 {{'hova.image_weight' op expects panels with an interleave factor of 2, as kernels for a CPU read 'bf16', got #hova.column_strips<64>}}
  %w = hova.image_weight "w" {layout = #hova.column_strips<64>} : tensor<8x8xbf16>
  return %x : tensor<1x9x8xf32>
}

// -----

func.func @main(%x: tensor<9x8xf32>) -> tensor<9x8xf32> {
  %w = hova.image_weight "w" {layout = #hova.column_strips<64>} : tensor<9x8xf32>
  %y = hova.kernel "add" units<row 9> (%x, %w) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%a: tensor<9x8xf32>, %b: tensor<9x8xf32>):
    %s_out = hova.stage [#hova.layout<rows 8>] {
      // expected-error@+1 {{'hova.add' op reads row by row what has the layout #hova.column_strips<64>, weight 'w'}}
      %s = hova.add %a, %b : tensor<9x8xf32>, tensor<9x8xf32>
      hova.yield %s : tensor<9x8xf32>
    } : tensor<9x8xf32>
    hova.yield %s_out : tensor<9x8xf32>
  } : (tensor<9x8xf32>, tensor<9x8xf32>) -> tensor<9x8xf32>
  return %y : tensor<9x8xf32>
}

// -----

func.func @main() -> tensor<9x8xf32> {
  %w = hova.image_weight "w" {layout = #hova.column_strips<64>} : tensor<9x8xf32>
  // expected-error@+1 {{'func.return' op is no kernel and reads a weight in the layout #hova.column_strips<64>}}
  return %w : tensor<9x8xf32>
}
