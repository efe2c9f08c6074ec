// RUN: hova-opt %s --split-input-file --verify-diagnostics
// SPDX-License-Identifier: Apache-2.0

func.func @rearrange_c1_fits_the_tokens(%x: tensor<1x15x8xf32>) {
  // expected-error@+1 {{'hova.rearrange' op expects a tensor that #hova.window<2x2, shift 0x0, grid 4x4> fits, got 1x15x8}}
  %y = hova.rearrange %x [#hova.window<2x2, shift 0x0, grid 4x4>] : tensor<1x15x8xf32> -> tensor<4x4x8xf32>
  return
}

// -----

func.func @rearrange_c1_reverses_whole_images(%x: tensor<3x4x8xf32>) {
  // expected-error@+1 {{'hova.rearrange' op expects a tensor that #hova.inverse<#hova.window<2x2, shift 0x0, grid 4x4>> fits, got 3x4x8}}
  %y = hova.rearrange %x [#hova.inverse<#hova.window<2x2, shift 0x0, grid 4x4>>] : tensor<3x4x8xf32> -> tensor<1x16x8xf32>
  return
}

// -----

func.func @rearrange_c1_has_the_placed_shape(%x: tensor<1x16x8xf32>) {
  // expected-error@+1 {{'hova.rearrange' op expects a result of shape 1x4x32 and the operand's type, got 'tensor<1x4x16xf32>'}}
  %y = hova.rearrange %x [#hova.merge<2x2, grid 4x4>] : tensor<1x16x8xf32> -> tensor<1x4x16xf32>
  return
}

// -----

func.func @row_table_c1_has_a_number_for_each_row() {
  // expected-error@+1 {{'hova.row_table' op expects a static source and 16 rows, got 'tensor<4xi32>'}}
  %t = hova.row_table [#hova.merge<2x2, grid 4x4>] source 1, 16, 8 : tensor<4xi32>
  return
}

// -----

func.func @window_bias_c1_has_a_row_for_each_difference(%t: tensor<8x3xf32>) {
  // expected-error@+1 {{'hova.window_bias' op expects a table of 9 rows, got 8x3}}
  %b = hova.window_bias <2x2, shift 1x1, grid 4x4> table(%t) : (tensor<8x3xf32>) -> tensor<4x3x4x4xf32>
  return
}

// -----

func.func @window_bias_c2_has_a_table_for_each_class(%t: tensor<9x3xf32>) {
  // expected-error@+1 {{'hova.window_bias' op expects a result of shape 1x3x4x4, got 4x3x4x4}}
  %b = hova.window_bias <2x2, shift 0x0, grid 4x4> table(%t) : (tensor<9x3xf32>) -> tensor<4x3x4x4xf32>
  return
}

// -----

func.func @window_bias_c3_adds_no_nan(%t: tensor<9x3xf32>) {
  // expected-error@+1 {{'hova.window_bias' op expects a mask_value that is finite or -inf, got nan}}
  %b = hova.window_bias <2x2, shift 1x1, grid 4x4> table(%t) {mask_value = 0x7FF8000000000000 : f64} : (tensor<9x3xf32>) -> tensor<4x3x4x4xf32>
  return
}

// -----

func.func @window_offsets_c1_have_a_reference_of_two_sizes() {
  // expected-error@+1 {{'hova.window_offsets' op expects a reference of two positive sizes, got 0x2}}
  %c = hova.window_offsets <2x2, shift 0x0, grid 4x4> reference 0, 2 : tensor<9x2xf32>
  return
}

// -----

func.func @window_offsets_c2_have_a_row_for_each_difference() {
  // expected-error@+1 {{'hova.window_offsets' op expects a result of shape 9x2, got 8x2}}
  %c = hova.window_offsets <2x2, shift 0x0, grid 4x4> reference 2, 2 : tensor<8x2xf32>
  return
}

// -----

func.func @window_classes_c1_has_one_for_each_window() {
  // expected-error@+1 {{'hova.window_classes' op expects 4 windows, got 'tensor<3xi32>'}}
  %c = hova.window_classes <2x2, shift 1x1, grid 4x4> : tensor<3xi32>
  return
}

// -----

// expected-error@+1 {{expects blocks that divide the grid, got 3x3 and 4x4}}
func.func private @window_divides_the_grid() attributes {p = #hova.window<3x3, shift 0x0, grid 4x4>}

// -----

// expected-error@+1 {{expects a shift less than the window, got 2x0}}
func.func private @shift_is_less_than_the_window() attributes {p = #hova.window<2x2, shift 2x0, grid 4x4>}

// -----

// expected-error@+1 {{expects blocks that divide the grid, got 2x2 and 4x5}}
func.func private @merge_divides_the_grid() attributes {p = #hova.merge<2x2, grid 4x5>}

// -----

// expected-error@+1 {{expects two sides such as 7x7}}
func.func private @sides_are_two() attributes {p = #hova.merge<2x2x2, grid 4x4>}

// -----

// expected-error@+1 {{expects a placement that moves rows alone, got #hova.merge<2x2, grid 4x4>}}
func.func private @merge_has_no_inverse() attributes {p = #hova.inverse<#hova.merge<2x2, grid 4x4>>}

// -----

// expected-error@+1 {{expects two placements or more, got 1}}
func.func private @chain_has_two() attributes {p = #hova.chain<#hova.merge<2x2, grid 4x4>>}

// -----

// expected-error@+1 {{expects a placement that moves rows alone before the last, got #hova.merge<2x2, grid 4x4>}}
func.func private @chain_merges_last() attributes {p = #hova.chain<#hova.merge<2x2, grid 4x4>, #hova.merge<2x2, grid 2x2>>}

// -----

func.func @kernel_c1_has_placed_arguments(%x: tensor<1x16x8xf32>) {
  // expected-error@+1 {{'hova.kernel' op expects region arguments of the inputs' types}}
  %r = hova.kernel "k" (%x) attributes {input_placements = [#hova.window<2x2, shift 1x1, grid 4x4>]} {
  ^bb0(%a: tensor<1x16x8xf32>):
    %s = hova.activation relu %a : tensor<1x16x8xf32>
    hova.yield %s : tensor<1x16x8xf32>
  } : (tensor<1x16x8xf32>) -> tensor<1x16x8xf32>
  return
}

// -----

func.func @kernel_c2_has_placed_results(%x: tensor<1x16x8xf32>) {
  // expected-error@+1 {{'hova.kernel' op expects the yielded types to be the results'}}
  %r = hova.kernel "k" (%x) attributes {result_placements = [#hova.window<2x2, shift 1x1, grid 4x4>]} {
  ^bb0(%a: tensor<1x16x8xf32>):
    %s = hova.activation relu %a : tensor<1x16x8xf32>
    hova.yield %s : tensor<1x16x8xf32>
  } : (tensor<1x16x8xf32>) -> tensor<1x16x8xf32>
  return
}

// -----

func.func @kernel_c3_has_a_placement_for_each_input(%x: tensor<1x16x8xf32>) {
  // expected-error@+1 {{'hova.kernel' op expects a placement for each input and result, and permutations for results}}
  %r = hova.kernel "k" (%x) attributes {input_placements = []} {
  ^bb0(%a: tensor<1x16x8xf32>):
    %s = hova.activation relu %a : tensor<1x16x8xf32>
    hova.yield %s : tensor<1x16x8xf32>
  } : (tensor<1x16x8xf32>) -> tensor<1x16x8xf32>
  return
}
