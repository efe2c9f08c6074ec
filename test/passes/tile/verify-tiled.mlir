// RUN: hova-opt %s --split-input-file --hova-verify-tiled --verify-diagnostics

// Buffers that end exactly where arena and image end, and tensors of the folding function.
func.func @main(%x: memref<4x8xf32>) attributes {hova.arena_bytes = 640 : i64, hova.image_bytes = 128 : i64} {
  %a = hova.arena_buffer {offset = 512 : i64} : memref<2x8xf32, strided<[24, 1]>>
  %i = hova.image_buffer {offset = 0 : i64} : memref<1x32xf32>
  return
}
func.func private @weights() {
  %w = hova.weight "w" : tensor<8x8xf32>
  hova.store_weight "w", %w : tensor<8x8xf32>
  return
}

// -----

func.func @main(%x: memref<4x8xf32>) attributes {hova.arena_bytes = 640 : i64, hova.image_bytes = 128 : i64} {
  // expected-error@+1 {{buffer ends after hova.arena_bytes of the program, at 644}}
  %a = hova.arena_buffer {offset = 512 : i64} : memref<2x9xf32, strided<[24, 1]>>
  return
}

// -----

func.func @main(%x: memref<4x8xf32>) attributes {hova.arena_bytes = 640 : i64, hova.image_bytes = 128 : i64} {
  // expected-error@+1 {{buffer ends after hova.image_bytes of the program, at 192}}
  %i = hova.image_buffer {offset = 64 : i64} : memref<1x32xf32>
  return
}

// -----

// Bytes, not elements.
func.func @main(%x: memref<4x8xf32>) attributes {hova.arena_bytes = 640 : i64, hova.image_bytes = 128 : i64} {
  %i = hova.image_buffer {offset = 64 : i64} : memref<1x64xi8>
  return
}

// -----

func.func @main(%x: memref<4x8xf32>) attributes {hova.arena_bytes = 640 : i64, hova.image_bytes = 128 : i64} {
  // expected-error@+1 {{buffer ends after hova.image_bytes of the program, at 129}}
  %i = hova.image_buffer {offset = 64 : i64} : memref<1x65xi8>
  return
}

// -----

// A program without an arena has no place for a buffer.
func.func @main(%x: memref<4x8xf32>)  {
  // expected-error@+1 {{buffer ends after hova.arena_bytes of the program, at 4}}
  %a = hova.arena_buffer {offset = 0 : i64} : memref<1x1xf32>
  return
}

// -----

func.func @main(%x: memref<4x8xf32>) attributes {hova.arena_bytes = 640 : i64, hova.image_bytes = 128 : i64} {
  // expected-error@+1 {{tiled program still holds 'arith.constant'}}
  %c0 = arith.constant 0 : index
  return
}

// -----

func.func @main(%x: tensor<1x9x8xf32>) -> tensor<1x9x8xf32> {
  // expected-error@+1 {{tiled program still holds 'hova.kernel'}}
  %y = hova.kernel "act" units<batch 1, token 9> (%x) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
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

func.func private @kernel_a(%x: tensor<1x9x8xf32>) {
  // expected-error@+1 {{tiled function still computes a tensor}}
  %y = hova.activation relu %x : tensor<1x9x8xf32>
  return
}

// -----

// Tables have a limit of their own, and the tensors of their program stay.
func.func @main(%x: memref<4x8xf32>) attributes {hova.arena_bytes = 640 : i64, hova.image_bytes = 128 : i64, hova.table_bytes = 64 : i64} {
  %t = hova.table_buffer {offset = 0 : i64} : memref<1x16xi32>
  return
}
func.func private @tables() {
  %t = arith.constant dense<0> : tensor<16xi32>
  hova.store_weight "t", %t : tensor<16xi32>
  return
}

// -----

func.func @main(%x: memref<4x8xf32>) attributes {hova.arena_bytes = 640 : i64, hova.image_bytes = 128 : i64, hova.table_bytes = 64 : i64} {
  // expected-error@+1 {{buffer ends after hova.table_bytes of the program, at 68}}
  %t = hova.table_buffer {offset = 0 : i64} : memref<1x17xi32>
  return
}

// -----

func.func @main(%x: memref<4x8xf32>) attributes {hova.arena_bytes = 640 : i64, hova.image_bytes = 128 : i64} {
  // expected-error@+1 {{buffer ends after hova.table_bytes of the program, at 4}}
  %t = hova.table_buffer {offset = 0 : i64} : memref<1x1xi32>
  return
}
