// RUN: hova-opt %s --verify-roundtrip | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// CHECK-LABEL: @loads_a_tile
// CHECK: hova.group_load %{{[a-z0-9_]+}}[%{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}] {in_bounds = array<i1: true, false>} : memref<197x768xf32> -> <4x768xf32, row 4x1>
func.func @loads_a_tile(%m: memref<197x768xf32>, %i: index) -> !hova.tile<4x768xf32, row 4x1> {
  %t = hova.group_load %m[%i, %i] {in_bounds = array<i1: true, false>} : memref<197x768xf32> -> !hova.tile<4x768xf32, row 4x1>
  return %t : !hova.tile<4x768xf32, row 4x1>
}

// CHECK-LABEL: @loads_a_box
// CHECK: hova.group_load %{{[a-z0-9_]+}}[%{{[a-z0-9_]+}}] : !hova.slots<1x128x64xbf16> -> <128x64xbf16, product 4x1>
func.func @loads_a_box(%s: !hova.slots<1x128x64xbf16>, %i: index) -> !hova.tile<128x64xbf16, product 4x1> {
  %t = hova.group_load %s[%i] : !hova.slots<1x128x64xbf16> -> !hova.tile<128x64xbf16, product 4x1>
  return %t : !hova.tile<128x64xbf16, product 4x1>
}

// CHECK-LABEL: @stores_a_tile
// CHECK: hova.group_store %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}[%{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}] : <64x128xbf16, product 2x2>, memref<197x768xbf16>
func.func @stores_a_tile(%t: !hova.tile<64x128xbf16, product 2x2>, %m: memref<197x768xbf16>, %i: index) {
  hova.group_store %t, %m[%i, %i] : !hova.tile<64x128xbf16, product 2x2>, memref<197x768xbf16>
  return
}

// CHECK-LABEL: @copies_and_waits
// CHECK: hova.group_alloc : <3x64x64xbf16>
// CHECK: hova.group_copy %{{[a-z0-9_]+}}[%{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}] to %{{[a-z0-9_]+}}[%{{[a-z0-9_]+}}] : memref<197x768xbf16> to <3x64x64xbf16>
// CHECK: hova.group_wait %{{[a-z0-9_]+}}
func.func @copies_and_waits(%m: memref<197x768xbf16>, %i: index) {
  %s = hova.group_alloc : !hova.slots<3x64x64xbf16>
  %t = hova.group_copy %m[%i, %i] to %s[%i] : memref<197x768xbf16> to !hova.slots<3x64x64xbf16>
  hova.group_wait %t
  return
}

// CHECK-LABEL: @copies_rows_from_elsewhere
// CHECK: hova.group_copy {{.*}} rows {
// CHECK-NEXT: ^bb0(%[[ROW:.*]]: index):
// CHECK-NEXT: hova.group_yield %[[ROW]] : index
func.func @copies_rows_from_elsewhere(%m: memref<197x768xbf16>, %i: index) {
  %s = hova.group_alloc : !hova.slots<1x64x64xbf16>
  %t = hova.group_copy %m[%i, %i] to %s[%i] rows {
  ^bb0(%row: index):
    hova.group_yield %row : index
  } : memref<197x768xbf16> to !hova.slots<1x64x64xbf16>
  hova.group_wait %t
  return
}

// CHECK-LABEL: @multiplies_slots
// CHECK: hova.group_product %{{[a-z0-9_]+}}[%{{[a-z0-9_]+}}], %{{[a-z0-9_]+}}[%{{[a-z0-9_]+}}] transposed, %{{[a-z0-9_]+}} : !hova.slots<3x64x64xbf16>, <3x128x64xbf16>, <64x128xf32, product 2x2>
func.func @multiplies_slots(%x: !hova.slots<3x64x64xbf16>, %w: !hova.slots<3x128x64xbf16>, %i: index, %sum: !hova.tile<64x128xf32, product 2x2>) -> !hova.tile<64x128xf32, product 2x2> {
  %r = hova.group_product %x[%i], %w[%i] transposed, %sum : !hova.slots<3x64x64xbf16>, !hova.slots<3x128x64xbf16>, !hova.tile<64x128xf32, product 2x2>
  return %r : !hova.tile<64x128xf32, product 2x2>
}

// CHECK-LABEL: @multiplies_a_tile
// CHECK: hova.group_product %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}[%{{[a-z0-9_]+}}], %{{[a-z0-9_]+}} : !hova.tile<64x64xbf16, product 4x1>, <2x64x32xbf16>, <64x32xf32, product 4x1>
func.func @multiplies_a_tile(%p: !hova.tile<64x64xbf16, product 4x1>, %v: !hova.slots<2x64x32xbf16>, %i: index, %sum: !hova.tile<64x32xf32, product 4x1>) -> !hova.tile<64x32xf32, product 4x1> {
  %r = hova.group_product %p, %v[%i], %sum : !hova.tile<64x64xbf16, product 4x1>, !hova.slots<2x64x32xbf16>, !hova.tile<64x32xf32, product 4x1>
  return %r : !hova.tile<64x32xf32, product 4x1>
}

// CHECK-LABEL: @adds_narrow_elements_as_f32
// CHECK: hova.group_reduce add %{{[a-z0-9_]+}} : <64x128xbf16, product 4x1> -> <64x1xf32, product 4x1>
func.func @adds_narrow_elements_as_f32(%t: !hova.tile<64x128xbf16, product 4x1>) -> !hova.tile<64x1xf32, product 4x1> {
  %r = hova.group_reduce add %t : !hova.tile<64x128xbf16, product 4x1> -> !hova.tile<64x1xf32, product 4x1>
  return %r : !hova.tile<64x1xf32, product 4x1>
}

// CHECK-LABEL: @reduces_in_two_steps
// CHECK: hova.group_reduce add %{{[a-z0-9_]+}} : <64x128xf32, product 4x1> -> <64x1xf32, partial 4x1>
// CHECK: hova.group_map(%{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}) : (!hova.tile<64x1xf32, partial 4x1>, !hova.tile<64x1xf32, product 4x1>) -> !hova.tile<64x1xf32, partial 4x1>
// CHECK: hova.group_reduce add %{{[a-z0-9_]+}} : <64x1xf32, partial 4x1> -> <64x1xf32, product 4x1>
func.func @reduces_in_two_steps(%t: !hova.tile<64x128xf32, product 4x1>, %f: !hova.tile<64x1xf32, product 4x1>) -> !hova.tile<64x1xf32, product 4x1> {
  %p = hova.group_reduce add %t : !hova.tile<64x128xf32, product 4x1> -> !hova.tile<64x1xf32, partial 4x1>
  %q = hova.group_map (%p, %f) : (!hova.tile<64x1xf32, partial 4x1>, !hova.tile<64x1xf32, product 4x1>) -> !hova.tile<64x1xf32, partial 4x1> {
  ^bb0(%x: f32, %y: f32, %i: index, %j: index):
    %z = arith.mulf %x, %y : f32
    hova.group_yield %z : f32
  }
  %r = hova.group_reduce add %q : !hova.tile<64x1xf32, partial 4x1> -> !hova.tile<64x1xf32, product 4x1>
  return %r : !hova.tile<64x1xf32, product 4x1>
}

// CHECK-LABEL: @transposes_a_column
// CHECK: hova.group_transpose %{{[a-z0-9_]+}} : <64x1xf32, row 4x1> -> <1x64xf32, product 4x1>
func.func @transposes_a_column(%t: !hova.tile<64x1xf32, row 4x1>) -> !hova.tile<1x64xf32, product 4x1> {
  %r = hova.group_transpose %t : !hova.tile<64x1xf32, row 4x1> -> !hova.tile<1x64xf32, product 4x1>
  return %r : !hova.tile<1x64xf32, product 4x1>
}

// CHECK-LABEL: @shares_a_tile
// CHECK: hova.group_share %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}[%{{[a-z0-9_]+}}] : <64x32xf32, product 4x1>, <2x64x32xf32>
func.func @shares_a_tile(%t: !hova.tile<64x32xf32, product 4x1>, %s: !hova.slots<2x64x32xf32>, %i: index) {
  hova.group_share %t, %s[%i] : !hova.tile<64x32xf32, product 4x1>, !hova.slots<2x64x32xf32>
  return
}

// CHECK-LABEL: @changes_all_boxes
// CHECK: hova.group_gather %[[S:[a-z0-9_]+]] : !hova.slots<2x64x32xf32> -> <64x64xf32, row 4x1> {
// CHECK: hova.group_share %{{[a-z0-9_]+}}, %[[S]] : <64x64xf32, row 4x1>, <2x64x32xf32>
func.func @changes_all_boxes(%s: !hova.slots<2x64x32xf32>) {
  %t = hova.group_gather %s : !hova.slots<2x64x32xf32> -> !hova.tile<64x64xf32, row 4x1> {
  ^bb0(%i: index, %j: index):
    hova.group_yield %i, %j : index, index
  }
  hova.group_share %t, %s : !hova.tile<64x64xf32, row 4x1>, !hova.slots<2x64x32xf32>
  return
}

// CHECK-LABEL: @widens_a_copy
// CHECK: hova.group_copy {{.*}} : memref<128x256xf16> to <1x64x64xf32>
func.func @widens_a_copy(%s: !hova.slots<1x64x64xf32>, %m: memref<128x256xf16>, %i: index) {
  %t = hova.group_copy %m[%i, %i] to %s[%i] : memref<128x256xf16> to !hova.slots<1x64x64xf32>
  hova.group_wait %t
  return
}

// CHECK-LABEL: @gathers_a_tile
// CHECK: hova.group_gather %{{[a-z0-9_]+}} : memref<197x768xf32> -> <4x768xf32, row 4x1> {
// CHECK-NEXT: ^bb0(%[[I:[a-z0-9_]+]]: index, %[[J:[a-z0-9_]+]]: index):
// CHECK-NEXT: hova.group_yield %[[J]], %[[I]] : index, index
func.func @gathers_a_tile(%m: memref<197x768xf32>) -> !hova.tile<4x768xf32, row 4x1> {
  %t = hova.group_gather %m : memref<197x768xf32> -> !hova.tile<4x768xf32, row 4x1> {
  ^bb0(%i: index, %j: index):
    hova.group_yield %j, %i : index, index
  }
  return %t : !hova.tile<4x768xf32, row 4x1>
}

// CHECK-LABEL: @gathers_from_a_box
// CHECK: hova.group_gather %{{[a-z0-9_]+}}[%{{[a-z0-9_]+}}] : !hova.slots<2x64x64xbf16> -> <32x32xbf16, product 2x1> {
func.func @gathers_from_a_box(%s: !hova.slots<2x64x64xbf16>, %i: index) -> !hova.tile<32x32xbf16, product 2x1> {
  %t = hova.group_gather %s[%i] : !hova.slots<2x64x64xbf16> -> !hova.tile<32x32xbf16, product 2x1> {
  ^bb0(%p: index, %q: index):
    hova.group_yield %q, %p : index, index
  }
  return %t : !hova.tile<32x32xbf16, product 2x1>
}

// CHECK-LABEL: @asks_in_few_rows
// CHECK: hova.group_where %{{[a-z0-9_]+}} : <64x1xf32, product 4x1> -> <64x1xf32, partial 4x1> {
// CHECK-NEXT: hova.group_gather {{.*}} {in_bounds = array<i1: false, true>}
// CHECK: hova.group_yield %{{[a-z0-9_]+}} : !hova.tile<64x1xf32, partial 4x1>
func.func @asks_in_few_rows(%c: !hova.tile<64x1xf32, product 4x1>, %m: memref<64x32xf32>) -> !hova.tile<64x1xf32, partial 4x1> {
  %r = hova.group_where %c : !hova.tile<64x1xf32, product 4x1> -> !hova.tile<64x1xf32, partial 4x1> {
    %t = hova.group_gather %m {in_bounds = array<i1: false, true>} : memref<64x32xf32> -> !hova.tile<64x32xf32, product 4x1> {
    ^bb0(%i: index, %j: index):
      hova.group_yield %i, %j : index, index
    }
    %k = hova.group_reduce max %t : !hova.tile<64x32xf32, product 4x1> -> !hova.tile<64x1xf32, partial 4x1>
    hova.group_yield %k : !hova.tile<64x1xf32, partial 4x1>
  }
  return %r : !hova.tile<64x1xf32, partial 4x1>
}
