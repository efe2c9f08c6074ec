// RUN: hova-opt %s --hova-assign-block-cycles --split-input-file | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// Each turn of four: 64 x 64 x 64 multiply-adds, 1,024 a cycle, are 256 cycles;
// shared memory takes 16,384 bytes of copies and 32,768 of reads, 128 a cycle,
// which is 384; 16,384 bytes come in, 64 a cycle, in 256; and 16 instructions
// are issued for copies, 16 for reads. Alone that is 384 + 0.21 (256 + 256 +
// 32) = 498.24, and beside others 384 + 0.11 * 544 = 443.84. Four turns.

module attributes {hova_cuda.gpu = "sm_80"} {
  func.func @main(%x: memref<64x256xbf16>, %w: memref<64x256xbf16>) attributes {hova.arena_bytes = 0 : i64} {
    hova.launch @product(%x, %w) "product" {flops = 0 : i64, shape = #hova_cuda.launch<x = 1, y = 1, z = 1, threads = 128>} : (memref<64x256xbf16>, memref<64x256xbf16>)
    return
  }
  // CHECK: func.func private @product
  // CHECK-SAME: hova_cuda.block_cycles = array<f64: 1.992960e+03, 1775.3600000000001>
  func.func private @product(%x: memref<64x256xbf16>, %w: memref<64x256xbf16>, %g: index, %h: index, %i: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c64 = arith.constant 64 : index
    %xs = hova.group_alloc : !hova.slots<1x64x64xbf16>
    %ws = hova.group_alloc : !hova.slots<1x64x64xbf16>
    %zero = hova.group_map() : () -> !hova.tile<64x64xf32, product 2x2> {
    ^bb0(%a: index, %b: index):
      %f = arith.constant 0.0 : f32
      hova.group_yield %f : f32
    }
    %sum = scf.for %t = %c0 to %c4 step %c1 iter_args(%s = %zero) -> !hova.tile<64x64xf32, product 2x2> {
      %k = arith.muli %t, %c64 : index
      %u = hova.group_copy %x[%c0, %k] to %xs[%c0] : memref<64x256xbf16> to !hova.slots<1x64x64xbf16>
      %v = hova.group_copy %w[%c0, %k] to %ws[%c0] : memref<64x256xbf16> to !hova.slots<1x64x64xbf16>
      hova.group_wait %u, %v
      %r = hova.group_product %xs[%c0], %ws[%c0] transposed, %s : !hova.slots<1x64x64xbf16>, !hova.slots<1x64x64xbf16>, !hova.tile<64x64xf32, product 2x2>
      scf.yield %r : !hova.tile<64x64xf32, product 2x2>
    }
    return
  }
}

// -----

// A number of turns that follows from the place of a block: 1 and 3, 2 on
// average, of 4 x 128 elements that are stored, 64 bytes a cycle.

module attributes {hova_cuda.gpu = "sm_80"} {
  func.func @main(%y: memref<8x128xf32>) attributes {hova.arena_bytes = 0 : i64} {
    hova.launch @causal(%y) "causal" {flops = 0 : i64, shape = #hova_cuda.launch<x = 2, y = 1, z = 1, threads = 128>} : (memref<8x128xf32>)
    return
  }
  // CHECK: func.func private @causal
  // CHECK-SAME: hova_cuda.block_cycles = array<f64: 6.400000e+01, 6.400000e+01>
  func.func private @causal(%y: memref<8x128xf32>, %g: index, %h: index, %i: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %twice = arith.muli %g, %c2 : index
    %end = arith.addi %twice, %c1 : index
    %zero = hova.group_map() : () -> !hova.tile<4x128xf32, row 4x1> {
    ^bb0(%a: index, %b: index):
      %f = arith.constant 0.0 : f32
      hova.group_yield %f : f32
    }
    scf.for %t = %c0 to %end step %c1 {
      hova.group_store %zero, %y[%c0, %c0] : !hova.tile<4x128xf32, row 4x1>, memref<8x128xf32>
    }
    return
  }
}

// -----

// A number that is read is not known, and nothing was compared with sm_86.

module attributes {hova_cuda.gpu = "sm_80"} {
  func.func @main(%y: memref<8x128xf32>, %n: memref<1xindex>) attributes {hova.arena_bytes = 0 : i64} {
    hova.launch @counted(%y, %n) "counted" {flops = 0 : i64, shape = #hova_cuda.launch<x = 2, y = 1, z = 1, threads = 128>} : (memref<8x128xf32>, memref<1xindex>)
    return
  }
  // CHECK: func.func private @counted({{.*}}index) {
  func.func private @counted(%y: memref<8x128xf32>, %n: memref<1xindex>, %g: index, %h: index, %i: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %end = memref.load %n[%c0] : memref<1xindex>
    scf.for %t = %c0 to %end step %c1 {
    }
    return
  }
}

// -----

module attributes {hova_cuda.gpu = "sm_86"} {
  func.func @main(%y: memref<8x128xf32>) attributes {hova.arena_bytes = 0 : i64} {
    hova.launch @empty(%y) "empty" {flops = 0 : i64, shape = #hova_cuda.launch<x = 2, y = 1, z = 1, threads = 128>} : (memref<8x128xf32>)
    return
  }
  // CHECK: func.func private @empty({{.*}}index) {
  func.func private @empty(%y: memref<8x128xf32>, %g: index, %h: index, %i: index) {
    return
  }
}
