// RUN: hova-opt %s --split-input-file --verify-diagnostics --hova-lower-group-ops
// SPDX-License-Identifier: Apache-2.0

func.func @two_sizes(%t: memref<64x64xf32>, %part: index) {
  %c0 = arith.constant 0 : index
  %x = hova.group_load %t[%c0, %c0] {in_bounds = array<i1: true, true>} : memref<64x64xf32> -> !hova.tile<64x64xf32, product 2x2>
  %s = hova.group_alloc : !hova.slots<1x64x64xf32>
  // expected-error@+1 {{expects clusters of 2 blocks, as of another sum, got 4}}
  %a = hova_cuda.add_parts %x, %s, %part : !hova.tile<64x64xf32, product 2x2>, !hova.slots<1x64x64xf32> -> !hova.tile<16x64xf32, row 4x1>
  %b = hova_cuda.add_parts %x, %s, %part : !hova.tile<64x64xf32, product 2x2>, !hova.slots<1x64x64xf32> -> !hova.tile<32x64xf32, row 4x1>
  return
}

// -----

func.func @slots_of_another(%t: memref<64x64xf32>, %part: index) {
  %c0 = arith.constant 0 : index
  %x = hova.group_load %t[%c0, %c0] {in_bounds = array<i1: true, true>} : memref<64x64xf32> -> !hova.tile<64x64xf32, product 2x2>
  %c1 = arith.constant 1 : index
  %s = hova.group_alloc : !hova.slots<1x64x64xf32>
  %r = scf.for %i = %c0 to %part step %c1 iter_args(%q = %s) -> (!hova.slots<1x64x64xf32>) {
    // expected-error@+1 {{expects slots of this function}}
    %a = hova_cuda.add_parts %x, %q, %part : !hova.tile<64x64xf32, product 2x2>, !hova.slots<1x64x64xf32> -> !hova.tile<16x64xf32, row 4x1>
    scf.yield %s : !hova.slots<1x64x64xf32>
  }
  return
}
