// RUN: hova-opt %s --split-input-file --verify-diagnostics
// SPDX-License-Identifier: Apache-2.0

func.func @rotary_c1_tables_have_a_row_for_each_token(%x: tensor<2x9x64xf32>, %c: tensor<8x16xf32>) {
  // expected-error@+1 {{'hova.rotary' op expects tables with a row for each token of x, got 8x16 and 2x9x64}}
  %y = hova.rotary halves %x, %c, %c {heads = 2 : i64} : tensor<2x9x64xf32>, tensor<8x16xf32>
  return
}

// -----

func.func @rotary_c2_heads_divide_the_width(%x: tensor<2x9x64xf32>, %c: tensor<9x4xf32>) {
  // expected-error@+1 {{'hova.rotary' op expects heads of at least two columns for each of 4 pairs, got 3 heads of 64 columns}}
  %y = hova.rotary halves %x, %c, %c {heads = 3 : i64} : tensor<2x9x64xf32>, tensor<9x4xf32>
  return
}

// -----

func.func @rotary_c2_heads_have_all_pairs(%x: tensor<2x9x64xf32>, %c: tensor<9x17xf32>) {
  // expected-error@+1 {{'hova.rotary' op expects heads of at least two columns for each of 17 pairs, got 2 heads of 64 columns}}
  %y = hova.rotary halves %x, %c, %c {heads = 2 : i64} : tensor<2x9x64xf32>, tensor<9x17xf32>
  return
}

// -----

func.func @rotate_c1_tables_are_matrices(%x: tensor<2x9x64xf32>, %c: tensor<32xf32>) {
  // expected-error@+1 {{'hova.rotate' op expects tables with a row for each token of x, got 32 and 2x9x64}}
  %y = hova.rotate %x, %c, %c : tensor<2x9x64xf32>, tensor<32xf32>
  return
}

// -----

func.func @rotate_c2_table_columns_divide_the_width(%x: tensor<2x9x64xf32>, %c: tensor<9x24xf32>) {
  // expected-error@+1 {{'hova.rotate' op expects tables whose columns divide 64, got 24}}
  %y = hova.rotate %x, %c, %c : tensor<2x9x64xf32>, tensor<9x24xf32>
  return
}

// -----

func.func @rotate_c3_partners_are_in_one_period(%x: tensor<2x9x64xf32>, %c: tensor<9x32xf32>) {
  // expected-error@+1 {{'hova.rotate' op expects a distance of 1 to 16, got 17}}
  %y = hova.rotate %x, %c, %c {distance = 17 : i64} : tensor<2x9x64xf32>, tensor<9x32xf32>
  return
}
