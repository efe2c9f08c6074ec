// Mistakes of earlier passes that tile reports instead of making wrong loops.

// RUN: hova-opt %s --split-input-file --hova-tile-cpu-kernels --verify-diagnostics

// A kernel without a schedule.
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

// A schedule that says nothing about the blocks of rows.
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

// Attention reads rows of other threads.
func.func @main(%x: tensor<1x9x8xf32>) -> tensor<1x9x8xf32> {
  %y = hova.kernel "k" units<batch 1, head 2> (%x) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 1>} {
  ^bb0(%a: tensor<1x9x8xf32>):
    %r_out = hova.stage [#hova.layout<rows 8>] {
      %p = hova.activation relu %a : tensor<1x9x8xf32>
      // expected-error@+1 {{'hova.attention' op shares a kernel with operations of other units}}
      %r = hova.attention %p, %p, %p
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

// Threads divide six rows or two, not both.
func.func @main(%x: tensor<2x3x8xf32>) -> tensor<2x8xf32> {
  %y = hova.kernel "k" units<row 2> (%x) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%a: tensor<2x3x8xf32>):
    %p_out = hova.stage [#hova.layout<rows 16>] {
      %p = hova.activation relu %a : tensor<2x3x8xf32>
      hova.yield %p : tensor<2x3x8xf32>
    } : tensor<2x3x8xf32>
    %r_out = hova.stage [#hova.layout<rows 8>] {
      // expected-error@+1 {{'hova.pool' op shares a kernel with operations of other units}}
      %r = hova.pool first %p_out : tensor<2x3x8xf32> -> tensor<2x8xf32>
      hova.yield %r : tensor<2x8xf32>
    } : tensor<2x8xf32>
    hova.yield %r_out : tensor<2x8xf32>
  } : (tensor<2x3x8xf32>) -> tensor<2x8xf32>
  return %y : tensor<2x8xf32>
}

// -----

// An operation of a row kernel that no stage computes.
func.func @main(%x: tensor<1x9x8xf32>) -> tensor<1x9x8xf32> {
  %y = hova.kernel "act" units<batch 1, token 9> (%x) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%a: tensor<1x9x8xf32>):
    // expected-error@+1 {{'hova.activation' op belongs to no stage: run assign first}}
    %r = hova.activation relu %a : tensor<1x9x8xf32>
    hova.yield %r : tensor<1x9x8xf32>
  } : (tensor<1x9x8xf32>) -> tensor<1x9x8xf32>
  return %y : tensor<1x9x8xf32>
}

// -----

// A compound operation.
func.func @main(%x: tensor<1x3x32x32xf32>, %v: tensor<768x64xf32>) -> tensor<1x4x64xf32> {
  %y = hova.kernel "p" units<batch 1, token 4> (%x, %v) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%a: tensor<1x3x32x32xf32>, %b: tensor<768x64xf32>):
    %r_out = hova.stage [#hova.layout<rows 64>] {
      // expected-error@+1 {{'hova.patch_embedding' op has no recipe for a CPU}}
      %r = hova.patch_embedding %a, %b {patch = 16 : i64} : tensor<1x3x32x32xf32>, tensor<768x64xf32> -> tensor<1x4x64xf32>
      hova.yield %r : tensor<1x4x64xf32>
    } : tensor<1x4x64xf32>
    hova.yield %r_out : tensor<1x4x64xf32>
  } : (tensor<1x3x32x32xf32>, tensor<768x64xf32>) -> tensor<1x4x64xf32>
  return %y : tensor<1x4x64xf32>
}

// -----

// An operation outside kernels.
func.func @main(%x: tensor<1x9x8xf32>) -> tensor<1x9x8xf32> {
  // expected-error@+1 {{'hova.activation' op belongs to no kernel: run fuse first}}
  %y = hova.activation relu %x : tensor<1x9x8xf32>
  return %y : tensor<1x9x8xf32>
}

// -----

// Results that no loop would write.
// expected-error@+1 {{'func.func' op expects results that it computes, each once}}
func.func @main(%x: tensor<1x9x8xf32>) -> tensor<1x9x8xf32> {
  return %x : tensor<1x9x8xf32>
}

// -----

// expected-error@+1 {{'func.func' op expects results that it computes, each once}}
func.func @main(%x: tensor<1x9x8xf32>) -> (tensor<1x9x8xf32>, tensor<1x9x8xf32>) {
  %y = hova.kernel "act" units<batch 1, token 9> (%x) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%a: tensor<1x9x8xf32>):
    %r_out = hova.stage [#hova.layout<rows 8>] {
      %r = hova.activation relu %a : tensor<1x9x8xf32>
      hova.yield %r : tensor<1x9x8xf32>
    } : tensor<1x9x8xf32>
    hova.yield %r_out : tensor<1x9x8xf32>
  } : (tensor<1x9x8xf32>) -> tensor<1x9x8xf32>
  return %y, %y : tensor<1x9x8xf32>, tensor<1x9x8xf32>
}

// -----

func.func @main(%x: tensor<1x9x8xf32>) -> tensor<1x9x8xf32> {
  // expected-error@+1 {{'hova.kernel' op expects results that it computes, each once}}
  %y = hova.kernel "k" units<batch 1, token 9> (%x) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%a: tensor<1x9x8xf32>):
    hova.yield %a : tensor<1x9x8xf32>
  } : (tensor<1x9x8xf32>) -> tensor<1x9x8xf32>
  return %y : tensor<1x9x8xf32>
}

// -----

// Shapes are part of the code.
func.func @main(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %y = hova.kernel "act" units<row 1> (%x) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%a: tensor<?x8xf32>):
    %r_out = hova.stage [#hova.layout<rows 8>] {
      // expected-error@+1 {{'hova.activation' op needs static shapes with rows and columns, got 'tensor<?x8xf32>'}}
      %r = hova.activation relu %a : tensor<?x8xf32>
      hova.yield %r : tensor<?x8xf32>
    } : tensor<?x8xf32>
    hova.yield %r_out : tensor<?x8xf32>
  } : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// -----

func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %y = hova.kernel "act" units<> (%x) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%a: tensor<f32>):
    %r_out = hova.stage [#hova.layout<rows 1>] {
      // expected-error@+1 {{'hova.activation' op needs static shapes with rows and columns, got 'tensor<f32>'}}
      %r = hova.activation relu %a : tensor<f32>
      hova.yield %r : tensor<f32>
    } : tensor<f32>
    hova.yield %r_out : tensor<f32>
  } : (tensor<f32>) -> tensor<f32>
  return %y : tensor<f32>
}

// -----

func.func @main(%x: tensor<0x8xf32>) -> tensor<0x8xf32> {
  %y = hova.kernel "act" units<row 1> (%x) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%a: tensor<0x8xf32>):
    %r_out = hova.stage [#hova.layout<rows 8>] {
      // expected-error@+1 {{'hova.activation' op needs static shapes with rows and columns, got 'tensor<0x8xf32>'}}
      %r = hova.activation relu %a : tensor<0x8xf32>
      hova.yield %r : tensor<0x8xf32>
    } : tensor<0x8xf32>
    hova.yield %r_out : tensor<0x8xf32>
  } : (tensor<0x8xf32>) -> tensor<0x8xf32>
  return %y : tensor<0x8xf32>
}

// -----

func.func @main(%x: tensor<1x9x8xf32>) -> tensor<1x9x8xf32> {
  %y = hova.kernel "act" units<column_strip 1> (%x) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 1, k_block = 256, block = 256>} {
  ^bb0(%a: tensor<1x9x8xf32>):
    %r_out = hova.stage [#hova.layout<rows 8>] {
      // expected-error@+1 {{is not part of the one product of a kernel that divides strips of columns}}
      %r = hova.activation relu %a : tensor<1x9x8xf32>
      hova.yield %r : tensor<1x9x8xf32>
    } : tensor<1x9x8xf32>
    hova.yield %r_out : tensor<1x9x8xf32>
  } : (tensor<1x9x8xf32>) -> tensor<1x9x8xf32>
  return %y : tensor<1x9x8xf32>
}

// -----

// An element-wise operation in a stage whose tiles have other columns.
func.func @main(%x: tensor<1x9x8xf32>, %y: tensor<1x9x4xf32>) -> (tensor<1x9x8xf32>, tensor<1x9x4xf32>) {
  %out:2 = hova.kernel "two_widths" units<batch 1, token 9> (%x, %y) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%a: tensor<1x9x8xf32>, %b: tensor<1x9x4xf32>):
    %r_out, %s_out = hova.stage [#hova.layout<rows 8>, #hova.layout<rows 4>] {
      %r = hova.activation relu %a : tensor<1x9x8xf32>
      // expected-error@+1 {{'hova.activation' op does not compute columns of its stage's first operation}}
      %s = hova.activation relu %b : tensor<1x9x4xf32>
      hova.yield %r, %s : tensor<1x9x8xf32>, tensor<1x9x4xf32>
    } : tensor<1x9x8xf32>, tensor<1x9x4xf32>
    hova.yield %r_out, %s_out : tensor<1x9x8xf32>, tensor<1x9x4xf32>
  } : (tensor<1x9x8xf32>, tensor<1x9x4xf32>) -> (tensor<1x9x8xf32>, tensor<1x9x4xf32>)
  return %out#0, %out#1 : tensor<1x9x8xf32>, tensor<1x9x4xf32>
}
