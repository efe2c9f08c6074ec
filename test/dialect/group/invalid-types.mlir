// RUN: hova-opt %s --split-input-file --verify-diagnostics
// SPDX-License-Identifier: Apache-2.0

// expected-error@+1 {{expects members that divide 64x128, got 3x1}}
func.func private @tile_members_divide(!hova.tile<64x128xf32, product 3x1>)

// -----

// expected-error@+1 {{expects positive numbers of members, got 0x1}}
func.func private @tile_members_are_positive(!hova.tile<64x128xf32, product 0x1>)

// -----

// expected-error@+1 {{expects 2 positive extents}}
func.func private @tile_has_two_extents(!hova.tile<64xf32, product 1x1>)

// -----

// expected-error@+1 {{expects elements of f32, bf16, f16 or i32, got 'i64'}}
func.func private @tile_elements_are_numbers_of_threads(!hova.tile<64x128xi64, product 1x1>)

// -----

// expected-error@+1 {{expects one column of a partial tile, got 128}}
func.func private @tile_partial_has_one_column(!hova.tile<64x128xf32, partial 1x1>)

// -----

// expected-error@+1 {{expected 'product', 'row' or 'partial', got 'across'}}
func.func private @tile_lanes_are_known(!hova.tile<64x128xf32, across 1x1>)

// -----

// expected-error@+1 {{expected members of rows and of columns}}
func.func private @tile_members_of_both(!hova.tile<64x128xf32, product 4>)

// -----

// expected-error@+1 {{expects 3 positive extents}}
func.func private @slots_have_three_extents(!hova.slots<64x64xbf16>)

// -----

// expected-error@+1 {{expects elements of f32, bf16 or f16, got 'i8'}}
func.func private @slots_elements_are_floats(!hova.slots<1x64x64xi8>)
