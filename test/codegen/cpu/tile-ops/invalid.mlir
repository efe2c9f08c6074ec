// RUN: hova-opt %s --split-input-file --verify-diagnostics
// SPDX-License-Identifier: Apache-2.0

func.func @tile_load_c1_columns_are_adjacent(%m: memref<9x40xf32, strided<[1, 9]>>, %i: index) {
  // expected-error@+1 {{'hova_cpu.tile_load' op expects a matrix with unit column stride, got }}
  %r = hova_cpu.tile_load %m[%i, %i] : memref<9x40xf32, strided<[1, 9]>> -> vector<4x32xf32>
  return
}

// -----

func.func @tile_load_c1_row_stride_is_static(%m: memref<9x40xf32, strided<[?, 1]>>, %i: index) {
  // expected-error@+1 {{'hova_cpu.tile_load' op expects a matrix with unit column stride, got }}
  %r = hova_cpu.tile_load %m[%i, %i] : memref<9x40xf32, strided<[?, 1]>> -> vector<4x32xf32>
  return
}

// -----

func.func @tile_store_c1_target_is_a_matrix(%t: vector<4x32xf32>, %m: memref<3x9x40xf32>, %i: index) {
  // expected-error@+1 {{'hova_cpu.tile_store' op expects a matrix with unit column stride, got }}
  hova_cpu.tile_store %t, %m[%i, %i] : vector<4x32xf32>, memref<3x9x40xf32>
  return
}

// -----

func.func @tile_product_c1_lhs_strides_are_static(%a: memref<9x40xf32, strided<[1, ?]>>, %b: memref<3x40x32xf32>, %i: index) {
  // expected-error@+1 {{'hova_cpu.tile_product' op expects lhs to be a matrix with static strides, got }}
  %r = hova_cpu.tile_product %a[%i, %i], %b[%i, %i, %i] depth %i : memref<9x40xf32, strided<[1, ?]>>, memref<3x40x32xf32> -> vector<4x32xf32>
  return
}

// -----

func.func @tile_product_c1_pairs_of_lhs_are_adjacent(%a: memref<9x40xbf16, strided<[1, 9]>>, %b: memref<3x20x32xi32>, %i: index) {
  // expected-error@+1 {{'hova_cpu.tile_product' op expects a matrix with unit column stride, got }}
  %r = hova_cpu.tile_product %a[%i, %i], %b[%i, %i, %i] depth %i : memref<9x40xbf16, strided<[1, 9]>>, memref<3x20x32xi32> -> vector<4x32xf32>
  return
}

// -----

func.func @tile_product_c5_init_has_the_type_of_the_tile(%a: memref<9x40xf32>, %b: memref<3x40x32xf32>, %t: vector<2x32xf32>, %i: index) {
  // expected-error@+1 {{'hova_cpu.tile_product' op expects init to be a 'vector<4x32xf32>', got 'vector<2x32xf32>'}}
  %r = hova_cpu.tile_product %a[%i, %i], %b[%i, %i, %i] depth %i init(%t : vector<2x32xf32>) : memref<9x40xf32>, memref<3x40x32xf32> -> vector<4x32xf32>
  return
}

// -----

func.func @tile_product_c2_one_index_per_dimension(%a: memref<9x40xf32, strided<[48, 1]>>, %b: memref<3x40x32xf32>, %i: index) {
  // expected-error@+1 {{'hova_cpu.tile_product' op expects one index per dimension of rhs with unit column stride, got 2 for}}
  %r = hova_cpu.tile_product %a[%i, %i], %b[%i, %i] depth %i : memref<9x40xf32, strided<[48, 1]>>, memref<3x40x32xf32> -> vector<4x32xf32>
  return
}

// -----

func.func @tile_product_c2_rhs_columns_are_adjacent(%a: memref<9x40xf32, strided<[48, 1]>>, %b: memref<9x40xf32, strided<[1, 9]>>, %i: index) {
  // expected-error@+1 {{'hova_cpu.tile_product' op expects one index per dimension of rhs with unit column stride, got 2 for}}
  %r = hova_cpu.tile_product %a[%i, %i], %b[%i, %i] depth %i : memref<9x40xf32, strided<[48, 1]>>, memref<9x40xf32, strided<[1, 9]>> -> vector<4x32xf32>
  return
}

// -----

func.func @tile_product_c3_prefetches_by_something(%a: memref<9x40xf32>, %b: memref<3x40x32xf32>, %i: index) {
  // expected-error@+1 {{'hova_cpu.tile_product' op expects 'prefetch' with an offset, a step and its largest value}}
  %r = hova_cpu.tile_product %a[%i, %i], %b[%i, %i, %i] depth %i prefetch(%i by %i, 0) : memref<9x40xf32>, memref<3x40x32xf32> -> vector<4x32xf32>
  return
}

// -----

func.func @tile_row_sum_c1_one_sum_per_row(%t: vector<4x32xf32>) {
  // expected-error@+1 {{'hova_cpu.tile_row_sum' op expects one sum per row of}}
  %r = hova_cpu.tile_row_sum %t : vector<4x32xf32> -> vector<3x1xf32>
  return
}

// -----

func.func @tile_row_sum_c1_sums_are_one_column(%t: vector<4x32xf32>) {
  // expected-error@+1 {{'hova_cpu.tile_row_sum' op expects one sum per row of}}
  %r = hova_cpu.tile_row_sum %t : vector<4x32xf32> -> vector<4x2xf32>
  return
}

// -----

func.func @tile_product_c4_pairs_meet_16_bits(%a: memref<9x40xf32>, %b: memref<3x20x32xi32>, %i: index) {
  %depth = arith.constant 40 : index
  // expected-error@+1 {{'hova_cpu.tile_product' op expects pairs to meet a lhs of 16 bits, got 'memref<9x40xf32>'}}
  %r = hova_cpu.tile_product %a[%i, %i], %b[%i, %i, %i] depth %depth : memref<9x40xf32>, memref<3x20x32xi32> -> vector<4x32xf32>
  return
}

// -----

func.func @pair_dot_c1_two_elements_per_sum(%a: vector<16xbf16>, %s: vector<16xf32>) {
  // expected-error@+1 {{'hova_cpu.pair_dot' op expects two elements per sum, got 'vector<16xbf16>' for 'vector<16xf32>'}}
  %r = hova_cpu.pair_dot %a, %a, %s : vector<16xbf16>, vector<16xf32>
  return
}

// -----

func.func @lookup_table_of_sixteen(%i: vector<8xi32>) {
  // expected-error@+1 {{'hova_cpu.lookup' op attribute 'table' failed to satisfy constraint: 32-bit float elements attribute of shape [16]}}
  %r = hova_cpu.lookup %i, dense<[0.0, 0.5, 1.0]> : vector<3xf32> : vector<8xi32> -> vector<8xf32>
  return
}

// -----

func.func @lookup_c1_index_per_lane(%i: vector<8xi32>) {
  // expected-error@+1 {{'hova_cpu.lookup' op expects one index per lane of 'vector<4xf32>', got 'vector<8xi32>'}}
  %r = hova_cpu.lookup %i, dense<[0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 5.5, 6.0, 6.5, 7.0, 7.5]> : vector<16xf32> : vector<8xi32> -> vector<4xf32>
  return
}

// -----

func.func @tile_load_c2_rows_are_one_row(%a: memref<9x40xf32>, %rows: memref<9x1xi32>, %i: index) {
  // expected-error@+1 {{'hova_cpu.tile_load' op expects rows in a matrix of one row, got 'memref<9x1xi32>'}}
  %t = hova_cpu.tile_load %a[%i, %i] rows(%rows : memref<9x1xi32>) : memref<9x40xf32> -> vector<4x32xf32>
  return
}

// -----

func.func @tile_store_c2_rows_are_one_row(%t: vector<4x32xf32>, %a: memref<9x40xf32>, %rows: memref<9xi32>, %i: index) {
  // expected-error@+1 {{'hova_cpu.tile_store' op expects rows in a matrix of one row, got 'memref<9xi32>'}}
  hova_cpu.tile_store %t, %a[%i, %i] rows(%rows : memref<9xi32>) : vector<4x32xf32>, memref<9x40xf32>
  return
}

// -----

func.func @block_product_c1_rows_of_lhs(%s: memref<64x32xf32>, %a: memref<9x64xbf16, strided<[1, 9]>>, %b: memref<32x64xi32>, %i: index) {
  // expected-error@+1 {{'hova_cpu.block_product' op expects a matrix with unit column stride, got 'memref<9x64xbf16, strided<[1, 9]>>'}}
  hova_cpu.block_product %s[%i, %i], %a[%i, %i], %b[%i, %i] rows %i by %i depth %i columns 32 : memref<64x32xf32>, memref<9x64xbf16, strided<[1, 9]>>, memref<32x64xi32>
  return
}

// -----

func.func @block_product_c2_indices_of_rhs(%s: memref<64x32xf32>, %a: memref<9x64xbf16>, %b: memref<3x32x64xi32>, %i: index) {
  // expected-error@+1 {{'hova_cpu.block_product' op expects one index per dimension of rhs with unit column stride, got 2 for 'memref<3x32x64xi32>'}}
  hova_cpu.block_product %s[%i, %i], %a[%i, %i], %b[%i, %i] rows %i by %i depth %i columns 32 : memref<64x32xf32>, memref<9x64xbf16>, memref<3x32x64xi32>
  return
}

// -----

func.func @block_product_c3_columns_of_sums(%s: memref<64x32xf32>, %a: memref<9x64xbf16>, %b: memref<32x64xi32>, %i: index) {
  // expected-error@+1 {{'hova_cpu.block_product' op expects columns that are a multiple of 32 and those of 'memref<64x32xf32>' at most, got 64}}
  hova_cpu.block_product %s[%i, %i], %a[%i, %i], %b[%i, %i] rows %i by %i depth %i columns 64 : memref<64x32xf32>, memref<9x64xbf16>, memref<32x64xi32>
  return
}

// -----

func.func @block_product_c3_multiple(%s: memref<64x32xf32>, %a: memref<9x64xbf16>, %b: memref<32x64xi32>, %i: index) {
  // expected-error@+1 {{'hova_cpu.block_product' op expects columns that are a multiple of 32 and those of 'memref<32x64xi32>' at most, got 16}}
  hova_cpu.block_product %s[%i, %i], %a[%i, %i], %b[%i, %i] rows %i by %i depth %i columns 16 : memref<64x32xf32>, memref<9x64xbf16>, memref<32x64xi32>
  return
}

// -----

func.func @block_product_c4_steps(%s: memref<64x32xf32>, %a: memref<9x64xbf16>, %b: memref<32x64xi32>, %i: index) {
  %k = arith.constant 48 : index
  // expected-error@+1 {{'hova_cpu.block_product' op expects a depth that is a multiple of 32, got 48}}
  hova_cpu.block_product %s[%i, %i], %a[%i, %i], %b[%i, %i] rows %i by %i depth %k columns 32 : memref<64x32xf32>, memref<9x64xbf16>, memref<32x64xi32>
  return
}

// -----

func.func @block_product_c5_one_argument(%s: memref<64x32xf32>, %a: memref<9x64xbf16>, %b: memref<32x64xi32>, %i: index) {
  // expected-error@+1 {{'hova_cpu.block_product' op expects 'meanwhile' with a number of turns and a region of one index}}
  hova_cpu.block_product %s[%i, %i], %a[%i, %i], %b[%i, %i] rows %i by %i depth %i columns 32 meanwhile(%i) {
    %k = arith.constant 48 : index
  } : memref<64x32xf32>, memref<9x64xbf16>, memref<32x64xi32>
  return
}
