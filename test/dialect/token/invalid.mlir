// RUN: hova-opt %s --split-input-file --verify-diagnostics
// SPDX-License-Identifier: Apache-2.0

func.func @embedding_c1_table_is_a_matrix(%ids: tensor<2x7xi32>, %t: tensor<100xf32>) {
  // expected-error@+1 {{'hova.embedding' op expects a table [vocabulary, width], got 100}}
  %r = hova.embedding %ids, %t : tensor<2x7xi32>, tensor<100xf32> -> tensor<2x7x64xf32>
  return
}

// -----

func.func @embedding_c2_result_appends_width(%ids: tensor<2x7xi32>, %t: tensor<100x64xf32>) {
  // expected-error@+1 {{'hova.embedding' op expects a result of shape 2x7x64, got 2x7x32}}
  %r = hova.embedding %ids, %t : tensor<2x7xi32>, tensor<100x64xf32> -> tensor<2x7x32xf32>
  return
}

// -----

func.func @embedding_c2_result_appends_height(%ids: tensor<2x7xi32>, %t: tensor<64x100xf32>) {
  // expected-error@+1 {{'hova.embedding' op expects a result of shape 2x7x64, got 2x7x100}}
  %r = hova.embedding %ids, %t {transposed} : tensor<2x7xi32>, tensor<64x100xf32> -> tensor<2x7x100xf32>
  return
}

// -----

func.func @sinusoid_c1_result_is_a_matrix() {
  // expected-error@+1 {{'hova.sinusoid' op expects a result [tokens, width], got 2x3x4}}
  %r = hova.sinusoid interleaved : tensor<2x3x4xf32>
  return
}

// -----

func.func @sinusoid_c2_split_width_is_even() {
  // expected-error@+1 {{'hova.sinusoid' op expects an even width of at least 4, got 51}}
  %r = hova.sinusoid split : tensor<64x51xf32>
  return
}

// -----

func.func @sinusoid_c2_split_width_is_not_two() {
  // expected-error@+1 {{'hova.sinusoid' op expects an even width of at least 4, got 2}}
  %r = hova.sinusoid split : tensor<64x2xf32>
  return
}

// -----

func.func @sinusoid_c3_base_is_at_least_one() {
  // expected-error@+1 {{'hova.sinusoid' op expects a finite base of at least 1, got 5.000000e-01}}
  %r = hova.sinusoid split {base = 5.0e-1 : f64} : tensor<64x50xf32>
  return
}

// -----

func.func @sinusoid_c3_base_is_finite() {
  // expected-error@+1 {{'hova.sinusoid' op expects a finite base of at least 1, got INF}}
  %r = hova.sinusoid interleaved {base = 0x7FF0000000000000 : f64} : tensor<64x50xf32>
  return
}

// -----

func.func @patch_embedding_c1_patch_divides_sides(%i: tensor<1x3x32x32xf32>, %w: tensor<768x64xf32>) {
  // expected-error@+1 {{'hova.patch_embedding' op expects an image [batch, channels, height, width] with sides divisible by 15, got 1x3x32x32}}
  %r = hova.patch_embedding %i, %w {patch = 15 : i64} : tensor<1x3x32x32xf32>, tensor<768x64xf32> -> tensor<1x4x64xf32>
  return
}

// -----

func.func @patch_embedding_c2_weight_has_patch_rows(%i: tensor<1x3x32x32xf32>, %w: tensor<256x64xf32>) {
  // expected-error@+1 {{'hova.patch_embedding' op expects a weight with 768 rows, got 256x64}}
  %r = hova.patch_embedding %i, %w {patch = 16 : i64} : tensor<1x3x32x32xf32>, tensor<256x64xf32> -> tensor<1x4x64xf32>
  return
}

// -----

func.func @patch_embedding_c3_bias_has_all_columns(%i: tensor<1x3x32x32xf32>, %w: tensor<768x64xf32>, %b: tensor<32xf32>) {
  // expected-error@+1 {{'hova.patch_embedding' op expects a bias of shape 64, got 32}}
  %r = hova.patch_embedding %i, %w bias(%b) {patch = 16 : i64} : tensor<1x3x32x32xf32>, tensor<768x64xf32>, tensor<32xf32> -> tensor<1x4x64xf32>
  return
}

// -----

func.func @patch_embedding_c4_result_has_all_patches(%i: tensor<1x3x32x32xf32>, %w: tensor<768x64xf32>) {
  // expected-error@+1 {{'hova.patch_embedding' op expects a result of shape 1x4x64, got 1x5x64}}
  %r = hova.patch_embedding %i, %w {patch = 16 : i64} : tensor<1x3x32x32xf32>, tensor<768x64xf32> -> tensor<1x5x64xf32>
  return
}

// -----

func.func @unfold_c1_image_has_four_dimensions(%x: tensor<1x3x32xf32>) {
  // expected-error@+1 {{'hova.unfold' op expects an image [batch, channels, height, width], got 1x3x32}}
  %r = hova.unfold %x {kernel = array<i64: 2, 2>, stride = array<i64: 1, 1>} : tensor<1x3x32xf32> -> tensor<1x4x8xf32>
  return
}

// -----

func.func @unfold_c1_tokens_fill_their_image(%x: tensor<1x12x8xf32>) {
  // expected-error@+1 {{'hova.unfold' op expects the tokens [batch, height*width, channels] of an image, got 1x12x8 and the image 3x5}}
  %r = hova.unfold %x {grid = array<i64: 3, 5>, kernel = array<i64: 2, 2>, stride = array<i64: 1, 1>} : tensor<1x12x8xf32> -> tensor<1x8x32xf32>
  return
}

// -----

func.func @unfold_c2_squares_divide_the_image(%i: tensor<1x3x8x12xf32>) {
  // expected-error@+1 {{'hova.unfold' op expects squares of 3 that divide the image, got 8x12}}
  %r = hova.unfold %i {kernel = array<i64: 2, 2>, stride = array<i64: 1, 1>, within = 3 : i64} : tensor<1x3x8x12xf32> -> tensor<8x4x12xf32>
  return
}

// -----

func.func @unfold_c3_kernel_fits_the_image(%i: tensor<1x3x3x9xf32>) {
  // expected-error@+1 {{'hova.unfold' op expects a kernel of at most the padded image, got 6x6 for 3x9 and a padding of 1x1}}
  %r = hova.unfold %i {kernel = array<i64: 6, 6>, stride = array<i64: 1, 1>, padding = array<i64: 1, 1>} : tensor<1x3x3x9xf32> -> tensor<1x4x108xf32>
  return
}

// -----

func.func @unfold_c4_result_has_all_places(%i: tensor<1x3x32x32xf32>) {
  // expected-error@+1 {{'hova.unfold' op expects a result of shape 1x4x768, got 1x4x256}}
  %r = hova.unfold %i {kernel = array<i64: 16, 16>, stride = array<i64: 16, 16>} : tensor<1x3x32x32xf32> -> tensor<1x4x256xf32>
  return
}

// -----

func.func @class_token_c1_token_has_width(%x: tensor<2x4x8xf32>, %t: tensor<4xf32>) {
  // expected-error@+1 {{'hova.class_token' op expects x [batch, tokens, width] and a token of the same width, got 2x4x8 and 4}}
  %r = hova.class_token %x, %t : tensor<2x4x8xf32>, tensor<4xf32> -> tensor<2x5x8xf32>
  return
}

// -----

func.func @class_token_c2_result_has_one_more(%x: tensor<2x4x8xf32>, %t: tensor<8xf32>) {
  // expected-error@+1 {{'hova.class_token' op expects a result of shape 2x5x8, got 2x4x8}}
  %r = hova.class_token %x, %t : tensor<2x4x8xf32>, tensor<8xf32> -> tensor<2x4x8xf32>
  return
}

// -----

func.func @pool_c1_x_has_tokens(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'hova.pool' op expects x [batch, tokens, width], got 4x8}}
  %r = hova.pool mean %x : tensor<4x8xf32> -> tensor<8xf32>
  return
}

// -----

func.func @pool_c1_result_has_none(%x: tensor<2x4x8xf32>) {
  // expected-error@+1 {{'hova.pool' op expects a result of shape 2x8, got 4x8}}
  %r = hova.pool first %x : tensor<2x4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @padding_mask_c1_result_has_shape_of_ids(%ids: tensor<2x7xi32>) {
  // expected-error@+1 {{'hova.padding_mask' op expects a result of shape 2x7, got 7x2}}
  %r = hova.padding_mask %ids {pad = 0 : i64} : tensor<2x7xi32> -> tensor<7x2xi1>
  return
}

// -----

func.func @padding_mask_c1_has_one_more_for_a_class_token(%ids: tensor<2x7xi32>) {
  // expected-error@+1 {{'hova.padding_mask' op expects a result of shape 2x8, got 2x7}}
  %r = hova.padding_mask %ids {class_token, pad = 0 : i64} : tensor<2x7xi32> -> tensor<2x7xi1>
  return
}

// -----

func.func @index_sort_c1_states_have_tokens(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'hova.index_sort' op expects states [batch, tokens, width], got 4x8}}
  %r = hova.index_sort %x : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @index_sort_c1_result_has_all_states(%x: tensor<2x4x8xf32>) {
  // expected-error@+1 {{'hova.index_sort' op expects a result of shape 2x8x8, got 2x4x8}}
  %r = hova.index_sort %x, %x : tensor<2x4x8xf32> -> tensor<2x4x8xf32>
  return
}

// -----

func.func @layer_pool_c1_layers_divide_tokens(%x: tensor<2x4x8xf32>) {
  // expected-error@+1 {{'hova.layer_pool' op expects x [batch, layers * tokens, width] for 3 layers, got 2x4x8}}
  %r = hova.layer_pool %x {layers = 3 : i64} : tensor<2x4x8xf32> -> tensor<2x1x8xf32>
  return
}

// -----

func.func @layer_pool_c1_result_has_one_layer(%x: tensor<2x4x8xf32>) {
  // expected-error@+1 {{'hova.layer_pool' op expects a result of shape 2x2x8, got 2x4x8}}
  %r = hova.layer_pool %x {layers = 2 : i64} : tensor<2x4x8xf32> -> tensor<2x4x8xf32>
  return
}

// -----

func.func @concat_c1_inputs_agree_elsewhere(%x: tensor<2x4x8xf32>, %y: tensor<2x3x8xf32>) {
  // expected-error@+1 {{'hova.concat' op expects inputs that differ at axis 2 only, got 2x4x8 and 2x3x8}}
  %r = hova.concat %x, %y {axis = 2 : i64} : tensor<2x4x8xf32>, tensor<2x3x8xf32> -> tensor<2x4x16xf32>
  return
}

// -----

func.func @concat_c2_axis_is_in_range(%x: tensor<2x4x8xf32>) {
  // expected-error@+1 {{'hova.concat' op expects an axis below 3, got 3}}
  %r = hova.concat %x, %x {axis = 3 : i64} : tensor<2x4x8xf32>, tensor<2x4x8xf32> -> tensor<2x4x16xf32>
  return
}

// -----

func.func @concat_c2_result_has_the_sum(%x: tensor<2x4x8xf32>) {
  // expected-error@+1 {{'hova.concat' op expects a result of shape 2x4x16, got 2x4x8}}
  %r = hova.concat %x, %x {axis = 2 : i64} : tensor<2x4x8xf32>, tensor<2x4x8xf32> -> tensor<2x4x8xf32>
  return
}

// -----

func.func @slice_c1_lies_inside_x(%x: tensor<2x4x8xf32>) {
  // expected-error@+1 {{'hova.slice' op expects a slice inside 8 elements, got 5 from 6}}
  %r = hova.slice %x {axis = 2 : i64, offset = 6 : i64} : tensor<2x4x8xf32> -> tensor<2x4x5xf32>
  return
}

// -----

func.func @slice_c1_axis_is_in_range(%x: tensor<2x4x8xf32>) {
  // expected-error@+1 {{'hova.slice' op expects an axis below 3, got 3}}
  %r = hova.slice %x {axis = 3 : i64, offset = 0 : i64} : tensor<2x4x8xf32> -> tensor<2x4x5xf32>
  return
}

// -----

func.func @slice_c1_keeps_other_axes(%x: tensor<2x4x8xf32>) {
  // expected-error@+1 {{'hova.slice' op expects a result of shape 2x4x5, got 2x3x5}}
  %r = hova.slice %x {axis = 2 : i64, offset = 0 : i64} : tensor<2x4x8xf32> -> tensor<2x3x5xf32>
  return
}

// -----

func.func @pad_c1_axis_in_range(%x: tensor<1x4x8xf32>) {
  // expected-error@+1 {{'hova.pad' op expects an axis below 3, got 3}}
  %r = hova.pad %x {axis = 3 : i64, before = 1 : i64} : tensor<1x4x8xf32> -> tensor<1x5x8xf32>
  return
}

// -----

func.func @pad_c1_result_has_the_front(%x: tensor<1x4x8xf32>) {
  // expected-error@+1 {{'hova.pad' op expects at least 6 elements at axis 1, got 5}}
  %r = hova.pad %x {axis = 1 : i64, before = 2 : i64} : tensor<1x4x8xf32> -> tensor<1x5x8xf32>
  return
}

// -----

func.func @pad_c1_other_axes_stay(%x: tensor<1x4x8xf32>) {
  // expected-error@+1 {{'hova.pad' op expects a result of shape 1x5x8, got 1x5x9}}
  %r = hova.pad %x {axis = 1 : i64, before = 1 : i64} : tensor<1x4x8xf32> -> tensor<1x5x9xf32>
  return
}

// -----

func.func @reshape_c1_as_many_elements(%x: tensor<2x6xf32>) {
  // expected-error@+1 {{'hova.reshape' op expects as many elements of the same type, got 'tensor<2x6xf32>' and 'tensor<2x5xf32>'}}
  %r = hova.reshape %x : tensor<2x6xf32> -> tensor<2x5xf32>
  return
}

// -----

func.func @position_ids_c1_one_for_each_token(%v: tensor<2x7xi1>) {
  // expected-error@+1 {{'hova.position_ids' op expects a result of shape 2x7, got 2x6}}
  %r = hova.position_ids %v : tensor<2x7xi1> -> tensor<2x6xi32>
  return
}

// -----

func.func @position_ids_c1_tokens_of_a_batch(%v: tensor<7xi1>) {
  // expected-error@+1 {{'hova.position_ids' op expects valid [batch, tokens], got 7}}
  %r = hova.position_ids %v : tensor<7xi1> -> tensor<2x7xi32>
  return
}

// -----

func.func @position_ids_c2_in_32_bits(%v: tensor<2x7xi1>) {
  // expected-error@+1 {{'hova.position_ids' op expects positions of i32, got an offset of 2147483641}}
  %r = hova.position_ids %v {offset = 2147483641 : i64} : tensor<2x7xi1> -> tensor<2x7xi32>
  return
}

// -----

func.func @mask_factors_c1_tokens_of_a_batch(%v: tensor<7xi1>) {
  // expected-error@+1 {{'hova.mask_factors' op expects valid [batch, tokens], got 7}}
  %r = hova.mask_factors %v : tensor<7xi1> -> tensor<7x1xf32>
  return
}

// -----

func.func @mask_factors_c1_a_column(%v: tensor<2x7xi1>) {
  // expected-error@+1 {{'hova.mask_factors' op expects a result of shape 2x7x1, got 2x7x3}}
  %r = hova.mask_factors %v : tensor<2x7xi1> -> tensor<2x7x3xf32>
  return
}

// -----

func.func @repeat_c1_result_has_one_axis_more(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'hova.repeat' op expects a result of shape 4x4x8, got 4x8}}
  %r = hova.repeat %x : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @repeat_c1_items_are_those_of_x(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'hova.repeat' op expects a result of shape 3x4x8, got 3x5x8}}
  %r = hova.repeat %x : tensor<4x8xf32> -> tensor<3x5x8xf32>
  return
}

// -----

func.func @unfold_c5_two_numbers(%x: tensor<1x12x8xf32>) {
  // expected-error@+1 {{'hova.unfold' op expects two numbers of at least 1 as stride, got 2}}
  %r = hova.unfold %x {kernel = array<i64: 2, 2>, stride = array<i64: 2>, grid = array<i64: 3, 4>} : tensor<1x12x8xf32> -> tensor<1x2x32xf32>
  return
}

// -----

func.func @unfold_c5_no_holes_of_none(%x: tensor<1x12x8xf32>) {
  // expected-error@+1 {{'hova.unfold' op expects two numbers of at least 1 as dilation, got 0x1}}
  %r = hova.unfold %x {kernel = array<i64: 2, 2>, stride = array<i64: 2, 2>, dilation = array<i64: 0, 1>, grid = array<i64: 3, 4>} : tensor<1x12x8xf32> -> tensor<1x2x32xf32>
  return
}
