// RUN: hova-opt %s --split-input-file --verify-diagnostics
// SPDX-License-Identifier: Apache-2.0

func.func @group_load_c1_matrix_has_two_indices(%m: memref<64x128xf32>, %i: index) {
  // expected-error@+1 {{'hova.group_load' op expects 2 indices, got 1}}
  %t = hova.group_load %m[%i] : memref<64x128xf32> -> !hova.tile<64x128xf32, product 2x2>
  return
}

// -----

func.func @group_load_c1_slots_have_one_index(%s: !hova.slots<1x64x64xbf16>, %i: index) {
  // expected-error@+1 {{'hova.group_load' op expects 1 index, got 2}}
  %t = hova.group_load %s[%i, %i] : !hova.slots<1x64x64xbf16> -> !hova.tile<64x64xbf16, product 4x1>
  return
}

// -----

func.func @group_load_c2_elements_agree(%m: memref<64x128xbf16>, %i: index) {
  // expected-error@+1 {{'hova.group_load' op expects source to have elements of 'f32', got 'memref<64x128xbf16>'}}
  %t = hova.group_load %m[%i, %i] : memref<64x128xbf16> -> !hova.tile<64x128xf32, product 2x2>
  return
}

// -----

func.func @group_load_c2_box_is_whole(%s: !hova.slots<1x64x64xbf16>, %i: index) {
  // expected-error@+1 {{'hova.group_load' op expects a tile of a whole box of }}
  %t = hova.group_load %s[%i] : !hova.slots<1x64x64xbf16> -> !hova.tile<32x64xbf16, product 2x1>
  return
}

// -----

func.func @group_load_c3_columns_are_adjacent(%m: memref<64x128xf32, strided<[1, 64]>>, %i: index) {
  // expected-error@+1 {{'hova.group_load' op expects source to have static columns, a unit column stride and a static row stride, got }}
  %t = hova.group_load %m[%i, %i] : memref<64x128xf32, strided<[1, 64]>> -> !hova.tile<64x128xf32, product 2x2>
  return
}

// -----

func.func @group_load_bounds_of_both(%m: memref<64x128xf32>, %i: index) {
  // expected-error@+1 {{'hova.group_load' op expects in_bounds of rows and of columns, got 1}}
  %t = hova.group_load %m[%i, %i] {in_bounds = array<i1: true>} : memref<64x128xf32> -> !hova.tile<64x128xf32, product 2x2>
  return
}

// -----

func.func @group_store_c1_elements_agree(%t: !hova.tile<64x128xf32, product 2x2>, %m: memref<64x128xbf16>, %i: index) {
  // expected-error@+1 {{'hova.group_store' op expects target to have elements of 'f32', got }}
  hova.group_store %t, %m[%i, %i] : !hova.tile<64x128xf32, product 2x2>, memref<64x128xbf16>
  return
}

// -----

func.func @group_store_c2_row_stride_is_static(%t: !hova.tile<64x128xf32, product 2x2>, %m: memref<64x128xf32, strided<[?, 1]>>, %i: index) {
  // expected-error@+1 {{'hova.group_store' op expects target to have static columns, }}
  hova.group_store %t, %m[%i, %i] : !hova.tile<64x128xf32, product 2x2>, memref<64x128xf32, strided<[?, 1]>>
  return
}

// -----

func.func @group_store_c3_no_partial_tile(%t: !hova.tile<64x1xf32, partial 4x1>, %m: memref<64x128xf32>, %i: index) {
  // expected-error@+1 {{'hova.group_store' op expects no partial tile; reduce it first}}
  hova.group_store %t, %m[%i, %i] : !hova.tile<64x1xf32, partial 4x1>, memref<64x128xf32>
  return
}

// -----

func.func @group_copy_c1_elements_agree(%s: !hova.slots<1x64x64xbf16>, %m: memref<64x128xf32>, %i: index) {
  // expected-error@+1 {{'hova.group_copy' op expects source to have elements of 'bf16', got }}
  %t = hova.group_copy %m[%i, %i] to %s[%i] : memref<64x128xf32> to !hova.slots<1x64x64xbf16>
  return
}

// -----

func.func @group_copy_c3_rows_yield_a_row(%s: !hova.slots<1x64x64xbf16>, %m: memref<64x128xbf16>, %i: index) {
  // expected-error@+1 {{'hova.group_copy' op expects a body of one index that yields one}}
  %t = hova.group_copy %m[%i, %i] to %s[%i] rows {
  ^bb0(%row: index):
    hova.group_yield %row, %row : index, index
  } : memref<64x128xbf16> to !hova.slots<1x64x64xbf16>
  return
}

// -----

func.func @group_copy_c2_columns_are_static(%s: !hova.slots<1x64x64xbf16>, %m: memref<64x?xbf16, strided<[128, 1]>>, %i: index) {
  // expected-error@+1 {{'hova.group_copy' op expects source to have static columns, }}
  %t = hova.group_copy %m[%i, %i] to %s[%i] : memref<64x?xbf16, strided<[128, 1]>> to !hova.slots<1x64x64xbf16>
  return
}

// -----

func.func @group_product_c1_slots_have_an_index(%x: !hova.slots<3x64x64xbf16>, %w: !hova.slots<3x128x64xbf16>, %i: index, %sum: !hova.tile<64x128xf32, product 2x2>) {
  // expected-error@+1 {{'hova.group_product' op expects a slot index for a lhs of slots alone}}
  %r = hova.group_product %x, %w[%i] transposed, %sum : !hova.slots<3x64x64xbf16>, !hova.slots<3x128x64xbf16>, !hova.tile<64x128xf32, product 2x2>
  return
}

// -----

func.func @group_product_c2_extents_agree(%x: !hova.slots<3x64x64xbf16>, %w: !hova.slots<3x128x64xbf16>, %i: index, %sum: !hova.tile<64x128xf32, product 2x2>) {
  // expected-error@+1 {{'hova.group_product' op expects 64x64 times 64x128, got 64x64 times 128x64}}
  %r = hova.group_product %x[%i], %w[%i], %sum : !hova.slots<3x64x64xbf16>, !hova.slots<3x128x64xbf16>, !hova.tile<64x128xf32, product 2x2>
  return
}

// -----

func.func @group_product_c3_element_types_agree(%x: !hova.slots<3x64x64xbf16>, %w: !hova.slots<3x128x64xf16>, %i: index, %sum: !hova.tile<64x128xf32, product 2x2>) {
  // expected-error@+1 {{'hova.group_product' op expects one element type of lhs and rhs, and f32 of sum, got 'bf16', 'f16' and 'f32'}}
  %r = hova.group_product %x[%i], %w[%i] transposed, %sum : !hova.slots<3x64x64xbf16>, !hova.slots<3x128x64xf16>, !hova.tile<64x128xf32, product 2x2>
  return
}

// -----

func.func @group_product_c4_sum_lies_as_a_product(%x: !hova.slots<3x64x64xbf16>, %w: !hova.slots<3x128x64xbf16>, %i: index, %sum: !hova.tile<64x128xf32, row 2x2>) {
  // expected-error@+1 {{'hova.group_product' op expects tiles as a product leaves them, }}
  %r = hova.group_product %x[%i], %w[%i] transposed, %sum : !hova.slots<3x64x64xbf16>, !hova.slots<3x128x64xbf16>, !hova.tile<64x128xf32, row 2x2>
  return
}

// -----

func.func @group_product_c4_columns_of_lhs_are_not_divided(%p: !hova.tile<64x64xbf16, product 2x2>, %w: !hova.slots<3x128x64xbf16>, %i: index, %sum: !hova.tile<64x128xf32, product 2x2>) {
  // expected-error@+1 {{'hova.group_product' op expects tiles as a product leaves them, and a lhs tile whose rows alone are divided}}
  %r = hova.group_product %p, %w[%i] transposed, %sum : !hova.tile<64x64xbf16, product 2x2>, !hova.slots<3x128x64xbf16>, !hova.tile<64x128xf32, product 2x2>
  return
}

// -----

func.func @group_reduce_c1_one_column(%t: !hova.tile<64x128xf32, product 2x2>) {
  // expected-error@+1 {{'hova.group_reduce' op expects a result of 64x1x'f32' and the tile's members, got }}
  %r = hova.group_reduce add %t : !hova.tile<64x128xf32, product 2x2> -> !hova.tile<64x2xf32, product 2x2>
  return
}

// -----

func.func @group_reduce_c1_sums_of_16_bits_are_f32(%t: !hova.tile<64x128xbf16, product 4x1>) {
  // expected-error@+1 {{'hova.group_reduce' op expects a result of 64x1x'f32' and the tile's members, got }}
  %r = hova.group_reduce add %t : !hova.tile<64x128xbf16, product 4x1> -> !hova.tile<64x1xbf16, product 4x1>
  return
}

// -----

func.func @group_reduce_c1_no_maximum_of_16_bits(%t: !hova.tile<64x128xf16, product 4x1>) {
  // expected-error@+1 {{'hova.group_reduce' op expects f32 or i32 elements unless it adds, got 'f16'}}
  %r = hova.group_reduce max %t : !hova.tile<64x128xf16, product 4x1> -> !hova.tile<64x1xf32, product 4x1>
  return
}

// -----

func.func @group_reduce_c2_lanes_stay(%t: !hova.tile<64x128xf32, product 2x2>) {
  // expected-error@+1 {{'hova.group_reduce' op expects the distribution of the tile, or partial ones, got 'row'}}
  %r = hova.group_reduce max %t : !hova.tile<64x128xf32, product 2x2> -> !hova.tile<64x1xf32, row 2x2>
  return
}

// -----

func.func @group_reduce_c2_partial_becomes_another(%t: !hova.tile<64x1xf32, partial 4x1>) {
  // expected-error@+1 {{'hova.group_reduce' op expects the distribution of a partial tile to become others, got 'partial'}}
  %r = hova.group_reduce add %t : !hova.tile<64x1xf32, partial 4x1> -> !hova.tile<64x1xf32, partial 4x1>
  return
}

// -----

func.func @group_share_c1_a_whole_box(%t: !hova.tile<64x32xf32, product 4x1>, %s: !hova.slots<2x64x64xf32>, %i: index) {
  // expected-error@+1 {{'hova.group_share' op expects a tile of a whole box of }}
  hova.group_share %t, %s[%i] : !hova.tile<64x32xf32, product 4x1>, !hova.slots<2x64x64xf32>
  return
}

// -----

func.func @group_share_c1_all_boxes(%t: !hova.tile<64x64xf32, product 4x1>, %s: !hova.slots<2x64x64xf32>) {
  // expected-error@+1 {{'hova.group_share' op expects a tile of all boxes of }}
  hova.group_share %t, %s : !hova.tile<64x64xf32, product 4x1>, !hova.slots<2x64x64xf32>
  return
}

// -----

func.func @group_share_c1_one_element_type(%t: !hova.tile<64x32xf32, product 4x1>, %s: !hova.slots<2x64x32xbf16>, %i: index) {
  // expected-error@+1 {{'hova.group_share' op expects a tile of a whole box of }}
  hova.group_share %t, %s[%i] : !hova.tile<64x32xf32, product 4x1>, !hova.slots<2x64x32xbf16>
  return
}

// -----

func.func @group_share_c2_several_columns(%t: !hova.tile<64x1xf32, product 4x1>, %s: !hova.slots<2x64x1xf32>, %i: index) {
  // expected-error@+1 {{'hova.group_share' op expects several rows and columns, of a tile that is not partial, got }}
  hova.group_share %t, %s[%i] : !hova.tile<64x1xf32, product 4x1>, !hova.slots<2x64x1xf32>
  return
}

// -----

func.func @group_transpose_c1_a_row_of_as_many(%t: !hova.tile<64x1xf32, product 4x1>) {
  // expected-error@+1 {{'hova.group_transpose' op expects a column of several rows, and a row of as many elements of the same type and members, got }}
  %r = hova.group_transpose %t : !hova.tile<64x1xf32, product 4x1> -> !hova.tile<1x32xf32, product 4x1>
  return
}

// -----

func.func @group_transpose_c1_one_group(%t: !hova.tile<64x1xf32, product 4x1>) {
  // expected-error@+1 {{'hova.group_transpose' op expects a column of several rows, and a row of as many elements of the same type and members, got }}
  %r = hova.group_transpose %t : !hova.tile<64x1xf32, product 4x1> -> !hova.tile<1x64xf32, product 2x1>
  return
}

// -----

func.func @group_transpose_c2_no_partial_tile(%t: !hova.tile<64x1xf32, partial 4x1>) {
  // expected-error@+1 {{'hova.group_transpose' op expects no partial tile; reduce it first}}
  %r = hova.group_transpose %t : !hova.tile<64x1xf32, partial 4x1> -> !hova.tile<1x64xf32, product 4x1>
  return
}

// -----

func.func @group_map_c1_operands_fit(%t: !hova.tile<64x64xf32, product 2x2>) {
  // expected-error@+1 {{'hova.group_map' op has an operand '!hova.tile<64x64xf32, product 2x2>' that does not fit the result }}
  %r = hova.group_map (%t) : (!hova.tile<64x64xf32, product 2x2>) -> !hova.tile<64x128xf32, product 2x2> {
  ^bb0(%x: f32, %i: index, %j: index):
    hova.group_yield %x : f32
  }
  return
}

// -----

func.func @group_map_c1_lanes_agree(%t: !hova.tile<64x128xf32, row 2x2>) {
  // expected-error@+1 {{'hova.group_map' op has an operand '!hova.tile<64x128xf32, row 2x2>' that does not fit the result }}
  %r = hova.group_map (%t) : (!hova.tile<64x128xf32, row 2x2>) -> !hova.tile<64x128xf32, product 2x2> {
  ^bb0(%x: f32, %i: index, %j: index):
    hova.group_yield %x : f32
  }
  return
}

// -----

func.func @group_map_c2_arguments_are_there(%t: !hova.tile<64x128xf32, product 2x2>) {
  // expected-error@+1 {{'hova.group_map' op expects a body of 3 arguments, got 2}}
  %r = hova.group_map (%t) : (!hova.tile<64x128xf32, product 2x2>) -> !hova.tile<64x128xf32, product 2x2> {
  ^bb0(%x: f32, %i: index):
    hova.group_yield %x : f32
  }
  return
}

// -----

func.func @group_map_c2_arguments_are_elements(%t: !hova.tile<64x128xf32, product 2x2>) {
  // expected-error@+1 {{'hova.group_map' op takes 'bf16' for an element of }}
  %r = hova.group_map (%t) : (!hova.tile<64x128xf32, product 2x2>) -> !hova.tile<64x128xf32, product 2x2> {
  ^bb0(%x: bf16, %i: index, %j: index):
    hova.group_yield %x : bf16
  }
  return
}

// -----

func.func @group_map_c2_positions_are_indices(%t: !hova.tile<64x128xf32, product 2x2>) {
  // expected-error@+1 {{'hova.group_map' op takes 'i32' for a position}}
  %r = hova.group_map (%t) : (!hova.tile<64x128xf32, product 2x2>) -> !hova.tile<64x128xf32, product 2x2> {
  ^bb0(%x: f32, %i: i32, %j: index):
    hova.group_yield %x : f32
  }
  return
}

// -----

func.func @group_map_c2_yields_an_element(%t: !hova.tile<64x128xf32, product 2x2>) {
  // expected-error@+1 {{'hova.group_map' op yields another element than 'f32'}}
  %r = hova.group_map (%t) : (!hova.tile<64x128xf32, product 2x2>) -> !hova.tile<64x128xf32, product 2x2> {
  ^bb0(%x: f32, %i: index, %j: index):
    hova.group_yield %i : index
  }
  return
}

// -----

func.func @group_gather_c1_elements_agree(%m: memref<64x128xbf16>) {
  // expected-error@+1 {{'hova.group_gather' op expects source to have elements of 'f32', got 'memref<64x128xbf16>'}}
  %t = hova.group_gather %m : memref<64x128xbf16> -> !hova.tile<64x128xf32, product 2x2> {
  ^bb0(%i: index, %j: index):
    hova.group_yield %i, %j : index, index
  }
  return
}

// -----

func.func @group_gather_c2_columns_lie_side_by_side(%m: memref<64x128xf32, strided<[256, 2]>>) {
  // expected-error@+1 {{'hova.group_gather' op expects source to have static columns, a unit column stride and a static row stride, got }}
  %t = hova.group_gather %m : memref<64x128xf32, strided<[256, 2]>> -> !hova.tile<64x128xf32, product 2x2> {
  ^bb0(%i: index, %j: index):
    hova.group_yield %i, %j : index, index
  }
  return
}

// -----

func.func @group_gather_c3_body_takes_a_position(%m: memref<64x128xf32>) {
  // expected-error@+1 {{'hova.group_gather' op expects a body of 2 arguments, got 1}}
  %t = hova.group_gather %m : memref<64x128xf32> -> !hova.tile<64x128xf32, product 2x2> {
  ^bb0(%i: index):
    hova.group_yield %i, %i : index, index
  }
  return
}

// -----

func.func @group_gather_c3_body_yields_a_position(%m: memref<64x128xf32>, %f: f32) {
  // expected-error@+1 {{'hova.group_gather' op expects a body that yields two indices, a row and a column of source, got ('index', 'f32')}}
  %t = hova.group_gather %m : memref<64x128xf32> -> !hova.tile<64x128xf32, product 2x2> {
  ^bb0(%i: index, %j: index):
    hova.group_yield %i, %f : index, f32
  }
  return
}

// -----

func.func @group_gather_c5_tiles_fit(%m: memref<64x128xf32>, %n: !hova.tile<32x1xi32, row 4x1>) {
  // expected-error@+1 {{'hova.group_gather' op has an operand '!hova.tile<32x1xi32, row 4x1>' that does not fit the result '!hova.tile<64x128xf32, row 4x1>'}}
  %t = hova.group_gather %m by(%n : !hova.tile<32x1xi32, row 4x1>) : memref<64x128xf32> -> !hova.tile<64x128xf32, row 4x1> {
  ^bb0(%id: i32, %i: index, %j: index):
    hova.group_yield %i, %j : index, index
  }
  return
}

// -----

func.func @group_gather_c4_tile_is_not_partial(%m: memref<64x128xf32>) {
  // expected-error@+1 {{'hova.group_gather' op expects the distribution of a product or of a row, got '!hova.tile<64x1xf32, partial 4x1>'}}
  %t = hova.group_gather %m : memref<64x128xf32> -> !hova.tile<64x1xf32, partial 4x1> {
  ^bb0(%i: index, %j: index):
    hova.group_yield %i, %j : index, index
  }
  return
}

// -----

func.func @group_exchange_c1_columns_are_even(%t: !hova.tile<64x1xf32, row 4x1>) {
  // expected-error@+1 {{'hova.group_exchange' op expects a tile of f32 with an even number of columns that is not partial, got '!hova.tile<64x1xf32, row 4x1>'}}
  %r = hova.group_exchange %t : !hova.tile<64x1xf32, row 4x1>
  return
}

// -----

func.func @group_half_c1_a_product_leaves_the_tile(%t: !hova.tile<64x64xf32, row 4x1>) {
  // expected-error@+1 {{'hova.group_half' op expects a tile of f32 as a product leaves it, with an even number of columns for each member, got '!hova.tile<64x64xf32, row 4x1>'}}
  %r = hova.group_half %t : !hova.tile<64x64xf32, row 4x1> -> !hova.tile<64x32xf32, row 4x1>
  return
}

// -----

func.func @group_half_c1_members_have_two_halves(%t: !hova.tile<64x2xf32, product 2x2>) {
  // expected-error@+1 {{'hova.group_half' op expects a tile of f32 as a product leaves it, with an even number of columns for each member, got '!hova.tile<64x2xf32, product 2x2>'}}
  %r = hova.group_half %t : !hova.tile<64x2xf32, product 2x2> -> !hova.tile<64x1xf32, product 2x2>
  return
}

// -----

func.func @group_half_c2_the_result_has_half_of_the_columns(%t: !hova.tile<64x64xf32, product 2x2>) {
  // expected-error@+1 {{'hova.group_half' op expects half of the columns, '!hova.tile<64x32xf32, product 2x2>', got '!hova.tile<64x64xf32, product 2x2>'}}
  %r = hova.group_half %t second : !hova.tile<64x64xf32, product 2x2> -> !hova.tile<64x64xf32, product 2x2>
  return
}
