// RUN: hova-opt %s --hova-lower-group-ops --split-input-file --verify-diagnostics
// SPDX-License-Identifier: Apache-2.0

func.func @shares_whole_rows(%i: index) {
  %s = hova.group_alloc : !hova.slots<1x64x64xbf16>
  %z = arith.constant 0.0 : bf16
  %t = hova.group_map () : () -> !hova.tile<64x64xbf16, row 2x2> {
  ^bb0(%p: index, %q: index):
    hova.group_yield %z : bf16
  }
  // expected-error@+1 {{'hova.group_share' op expects a tile whose rows alone are divided, and slots of this function}}
  hova.group_share %t, %s[%i] : !hova.tile<64x64xbf16, row 2x2>, !hova.slots<1x64x64xbf16>
  return
}

// -----

func.func @shares_rows_alone(%i: index) {
  %s = hova.group_alloc : !hova.slots<1x64x64xf32>
  %z = arith.constant 0.0 : f32
  %t = hova.group_map () : () -> !hova.tile<64x64xf32, product 2x2> {
  ^bb0(%p: index, %q: index):
    hova.group_yield %z : f32
  }
  // expected-error@+1 {{'hova.group_share' op expects a tile whose rows alone are divided, and slots of this function}}
  hova.group_share %t, %s[%i] : !hova.tile<64x64xf32, product 2x2>, !hova.slots<1x64x64xf32>
  return
}
