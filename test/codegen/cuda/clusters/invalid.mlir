// RUN: hova-opt %s --split-input-file --verify-diagnostics
// RUN: hova-opt %s --split-input-file --verify-diagnostics --hova-lower-group-ops
// SPDX-License-Identifier: Apache-2.0

func.func @add_parts_c1_elements(%t: !hova.tile<64x64xbf16, product 2x2>, %s: !hova.slots<1x64x64xf32>, %p: index) {
  // expected-error@+1 {{expects elements of f32, got '!hova.tile<64x64xbf16, product 2x2>'}}
  %r = hova_cuda.add_parts %t, %s, %p : !hova.tile<64x64xbf16, product 2x2>, !hova.slots<1x64x64xf32> -> !hova.tile<16x64xf32, row 4x1>
  return
}

// -----

func.func @add_parts_c2_members(%t: !hova.tile<64x64xf32, product 2x2>, %s: !hova.slots<1x64x64xf32>, %p: index) {
  // expected-error@+1 {{expects a tile as a product leaves it, and a result along the row with as many columns and members, which divide rows alone}}
  %r = hova_cuda.add_parts %t, %s, %p : !hova.tile<64x64xf32, product 2x2>, !hova.slots<1x64x64xf32> -> !hova.tile<16x64xf32, row 2x1>
  return
}

// -----

func.func @add_parts_c3_blocks(%t: !hova.tile<64x64xf32, product 2x2>, %s: !hova.slots<1x64x64xf32>, %p: index) {
  // expected-error@+1 {{expects the rows of 2 to 8 blocks, got 4 of 64}}
  %r = hova_cuda.add_parts %t, %s, %p : !hova.tile<64x64xf32, product 2x2>, !hova.slots<1x64x64xf32> -> !hova.tile<4x64xf32, row 4x1>
  return
}

// -----

func.func @add_parts_c4_slots(%t: !hova.tile<64x64xf32, product 2x2>, %s: !hova.slots<2x64x64xf32>, %p: index) {
  // expected-error@+1 {{expects one box of 64x64 or with more columns, got}}
  %r = hova_cuda.add_parts %t, %s, %p : !hova.tile<64x64xf32, product 2x2>, !hova.slots<2x64x64xf32> -> !hova.tile<16x64xf32, row 4x1>
  return
}
