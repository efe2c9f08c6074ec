// Weights that tile reports instead of reading wrong numbers.

// RUN: hova-opt %s --split-input-file --hova-tile-cpu-kernels --verify-diagnostics

// A weight in rows where panels are read.
func.func @main(%x: tensor<1x9x8xf32>) -> tensor<1x9x8xf32> {
  %w = hova.image_weight "w" : tensor<8x8xf32>
  %y = hova.kernel "layer" units<batch 1, token 9> (%x, %w) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%a: tensor<1x9x8xf32>, %m: tensor<8x8xf32>):
    %p_out = hova.stage [#hova.layout<rows 8>] {
      // expected-error@+1 {{'hova.linear' op needs a weight that is known before the program runs}}
      %p = hova.linear %a, %m : tensor<1x9x8xf32>, tensor<8x8xf32> -> tensor<1x9x8xf32>
      hova.yield %p : tensor<1x9x8xf32>
    } : tensor<1x9x8xf32>
    hova.yield %p_out : tensor<1x9x8xf32>
  } : (tensor<1x9x8xf32>, tensor<8x8xf32>) -> tensor<1x9x8xf32>
  return %y : tensor<1x9x8xf32>
}
func.func private @weights() {
  %w = hova.weight "w" : tensor<8x8xf32>
  hova.store_weight "w", %w : tensor<8x8xf32>
  return
}

// -----

// A weight that nothing stores, or nothing reads.
func.func @main(%x: tensor<1x9x8xf32>) -> tensor<1x9x8xf32> {
  // expected-error@+1 {{'hova.image_weight' op reads what the folding function does not store}}
  %w = hova.image_weight "w" {layout = #hova.column_strips<16>} : tensor<8x8xf32>
  %y = hova.kernel "layer" units<batch 1, token 9> (%x, %w) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%a: tensor<1x9x8xf32>, %m: tensor<8x8xf32>):
    %p_out = hova.stage [#hova.layout<rows 8>] {
      %p = hova.linear %a, %m : tensor<1x9x8xf32>, tensor<8x8xf32> -> tensor<1x9x8xf32>
      hova.yield %p : tensor<1x9x8xf32>
    } : tensor<1x9x8xf32>
    hova.yield %p_out : tensor<1x9x8xf32>
  } : (tensor<1x9x8xf32>, tensor<8x8xf32>) -> tensor<1x9x8xf32>
  return %y : tensor<1x9x8xf32>
}
func.func private @weights() {
  %w = hova.weight "w" : tensor<8x8xf32>
  return
}

// -----

func.func @main(%x: tensor<1x9x8xf32>) -> tensor<1x9x8xf32> {
  // expected-error@+1 {{'hova.image_weight' op reads what the folding function does not store}}
  %w = hova.image_weight "w" {layout = #hova.column_strips<16>} : tensor<8x8xf32>
  %y = hova.kernel "layer" units<batch 1, token 9> (%x, %w) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%a: tensor<1x9x8xf32>, %m: tensor<8x8xf32>):
    %p_out = hova.stage [#hova.layout<rows 8>] {
      %p = hova.linear %a, %m : tensor<1x9x8xf32>, tensor<8x8xf32> -> tensor<1x9x8xf32>
      hova.yield %p : tensor<1x9x8xf32>
    } : tensor<1x9x8xf32>
    hova.yield %p_out : tensor<1x9x8xf32>
  } : (tensor<1x9x8xf32>, tensor<8x8xf32>) -> tensor<1x9x8xf32>
  return %y : tensor<1x9x8xf32>
}

// -----

func.func @main(%x: tensor<1x9x8xf32>) -> tensor<1x9x8xf32> {
  %w = hova.image_weight "w" {layout = #hova.column_strips<16>} : tensor<8x8xf32>
  %y = hova.kernel "layer" units<batch 1, token 9> (%x, %w) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%a: tensor<1x9x8xf32>, %m: tensor<8x8xf32>):
    %p_out = hova.stage [#hova.layout<rows 8>] {
      %p = hova.linear %a, %m : tensor<1x9x8xf32>, tensor<8x8xf32> -> tensor<1x9x8xf32>
      hova.yield %p : tensor<1x9x8xf32>
    } : tensor<1x9x8xf32>
    hova.yield %p_out : tensor<1x9x8xf32>
  } : (tensor<1x9x8xf32>, tensor<8x8xf32>) -> tensor<1x9x8xf32>
  return %y : tensor<1x9x8xf32>
}
func.func private @weights() {
  %w = hova.weight "w" : tensor<8x8xf32>
  // expected-error@+1 {{'hova.store_weight' op stores what nothing reads}}
  hova.store_weight "v", %w : tensor<8x8xf32>
  hova.store_weight "w", %w : tensor<8x8xf32>
  return
}

// -----

// A weight of another type than the stored one.
func.func @main(%x: tensor<1x9x8xf32>) -> tensor<1x9x8xf32> {
  // expected-error@+1 {{'hova.image_weight' op expects the type that the folding function stores, 'tensor<8x4xf32>', got 'tensor<8x8xf32>'}}
  %w = hova.image_weight "w" {layout = #hova.column_strips<16>} : tensor<8x8xf32>
  %y = hova.kernel "layer" units<batch 1, token 9> (%x, %w) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%a: tensor<1x9x8xf32>, %m: tensor<8x8xf32>):
    %p_out = hova.stage [#hova.layout<rows 8>] {
      %p = hova.linear %a, %m : tensor<1x9x8xf32>, tensor<8x8xf32> -> tensor<1x9x8xf32>
      hova.yield %p : tensor<1x9x8xf32>
    } : tensor<1x9x8xf32>
    hova.yield %p_out : tensor<1x9x8xf32>
  } : (tensor<1x9x8xf32>, tensor<8x8xf32>) -> tensor<1x9x8xf32>
  return %y : tensor<1x9x8xf32>
}
func.func private @weights() {
  %w = hova.weight "w" : tensor<8x4xf32>
  hova.store_weight "w", %w : tensor<8x4xf32>
  return
}

// -----

// One name in two layouts.
func.func @main(%x: tensor<1x9x8xf32>) -> tensor<1x9x8xf32> {
  %w = hova.image_weight "w" {layout = #hova.column_strips<16>} : tensor<8x8xf32>
  // expected-error@+1 {{'hova.image_weight' op expects the layout of the first reference to 'w', #hova.column_strips<16>, got none}}
  %v = hova.image_weight "w" : tensor<8x8xf32>
  %z = hova.kernel "layer" units<batch 1, token 9> (%x, %w) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%a: tensor<1x9x8xf32>, %m: tensor<8x8xf32>):
    %p_out = hova.stage [#hova.layout<rows 16>] {
      %p = hova.linear %a, %m : tensor<1x9x8xf32>, tensor<8x8xf32> -> tensor<1x9x8xf32>
      hova.yield %p : tensor<1x9x8xf32>
    } : tensor<1x9x8xf32>
    hova.yield %p_out : tensor<1x9x8xf32>
  } : (tensor<1x9x8xf32>, tensor<8x8xf32>) -> tensor<1x9x8xf32>
  %y = hova.kernel "layer" units<batch 1, token 9> (%z, %v) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%a: tensor<1x9x8xf32>, %m: tensor<8x8xf32>):
    %p_out = hova.stage [#hova.layout<rows 8>] {
      %p = hova.linear %a, %m : tensor<1x9x8xf32>, tensor<8x8xf32> -> tensor<1x9x8xf32>
      hova.yield %p : tensor<1x9x8xf32>
    } : tensor<1x9x8xf32>
    hova.yield %p_out : tensor<1x9x8xf32>
  } : (tensor<1x9x8xf32>, tensor<8x8xf32>) -> tensor<1x9x8xf32>
  return %y : tensor<1x9x8xf32>
}
func.func private @weights() {
  %w = hova.weight "w" : tensor<8x8xf32>
  hova.store_weight "w", %w : tensor<8x8xf32>
  return
}
