// RUN: hova-opt %s --split-input-file --verify-diagnostics
// SPDX-License-Identifier: Apache-2.0

func.func @weight_c1_has_a_name() {
  // expected-error@+1 {{'hova.weight' op expects a name}}
  %r = hova.weight "" : tensor<8x40xf32>
  return
}

// -----

func.func @image_weight_c1_layouts_are_of_matrices() {
  // expected-error@+1 {{'hova.image_weight' op expects a layout for a matrix of numbers, got 40 of 'f32'}}
  %r = hova.image_weight "a" {layout = #hova.column_strips<16>} : tensor<40xf32>
  return
}

// -----

func.func @image_weight_c1_layouts_are_of_numbers() {
  // expected-error@+1 {{'hova.image_weight' op expects a layout for a matrix of numbers, got 8x40 of 'i32'}}
  %r = hova.image_weight "a" {layout = #hova.transposed<align 16>} : tensor<8x40xi32>
  return
}

// -----

func.func @image_weight_c1_pairs_are_of_bf16() {
  // expected-error@+1 {{'hova.image_weight' op expects bf16 for an interleave factor of 2, got 'f16'}}
  %r = hova.image_weight "a" {layout = #hova.column_strips<16, interleave 2>} : tensor<8x40xf16>
  return
}

// -----

func.func @image_weight_c1_aligned_rows_have_whole_elements() {
  // expected-error@+1 {{'hova.image_weight' op expects rows of whole elements of 'f32', got rows at multiples of 6 bytes}}
  %r = hova.image_weight "a" {layout = #hova.transposed<align 6>} : tensor<8x40xf32>
  return
}

// -----

func.func @image_weight_c1_layouts_have_bytes_that_can_be_counted() {
  // expected-error@+1 {{'hova.image_weight' op expects a layout of less than 2^62 bytes, got 4611686018427387904x40}}
  %r = hova.image_weight "a" {layout = #hova.transposed<align 16>} : tensor<4611686018427387904x40xbf16>
  return
}

// -----

func.func @image_weight_c1_strips_have_bytes_that_can_be_counted() {
  // expected-error@+1 {{'hova.image_weight' op expects a layout of less than 2^62 bytes, got 1x4294967296x2147483647}}
  %r = hova.image_weight "a" {layout = #hova.column_strips<2147483647>} : tensor<4294967296x40xf32>
  return
}

// -----

func.func @strips_have_columns() {
  // expected-error@+1 {{expects strips of 1 to 2147483647 columns, got 0}}
  %r = hova.image_weight "a" {layout = #hova.column_strips<0>} : tensor<8x40xf32>
  return
}

// -----

func.func @strips_interleave_two_rows_at_most() {
  // expected-error@+1 {{expects an interleave factor of 1 or 2, got 4}}
  %r = hova.image_weight "a" {layout = #hova.column_strips<64, interleave 4>} : tensor<8x40xbf16>
  return
}

// -----

func.func @transposed_rows_begin_at_bytes() {
  // expected-error@+1 {{expects rows at multiples of 1 to 2147483647 bytes, got -16}}
  %r = hova.image_weight "a" {layout = #hova.transposed<align -16>} : tensor<8x40xbf16>
  return
}

// -----

func.func @transpose_c1_exchanges_dimensions(%w: tensor<8x40xf32>) {
  // expected-error@+1 {{'hova.transpose' op expects a matrix and its transpose, got 8x40 and 8x40}}
  %r = hova.transpose %w : tensor<8x40xf32> -> tensor<8x40xf32>
  return
}

// -----

func.func @pack_c1_layouts_are_of_matrices(%w: tensor<2x8x40xf32>) {
  // expected-error@+1 {{'hova.pack' op expects a layout for a matrix of numbers, got 2x8x40 of 'f32'}}
  %r = hova.pack %w[#hova.column_strips<32>] : tensor<2x8x40xf32> -> tensor<2x8x32xf32>
  return
}

// -----

func.func @pack_c2_has_all_strips(%w: tensor<8x40xf32>) {
  // expected-error@+1 {{'hova.pack' op expects 2x8x32 of 'f32' for 8x40 in the layout #hova.column_strips<32>, got 'tensor<1x8x32xf32>'}}
  %r = hova.pack %w[#hova.column_strips<32>] : tensor<8x40xf32> -> tensor<1x8x32xf32>
  return
}

// -----

func.func @pack_c2_keeps_the_type_of_elements(%w: tensor<8x40xf32>) {
  // expected-error@+1 {{'hova.pack' op expects 2x8x32 of 'f32' for 8x40 in the layout #hova.column_strips<32>, got 'tensor<2x8x32xbf16>'}}
  %r = hova.pack %w[#hova.column_strips<32>] : tensor<8x40xf32> -> tensor<2x8x32xbf16>
  return
}

// -----

func.func @pack_c2_pads_rows(%w: tensor<9x40xbf16>) {
  // expected-error@+1 {{'hova.pack' op expects 40x16 of 'bf16' for 9x40 in the layout #hova.transposed<align 16>, got 'tensor<40x9xbf16>'}}
  %r = hova.pack %w[#hova.transposed<align 16>] : tensor<9x40xbf16> -> tensor<40x9xbf16>
  return
}

// -----

func.func @arena_buffer_c1_offset_is_aligned() {
  // expected-error@+1 {{'hova.arena_buffer' op expects an offset that is a multiple of 64, got 32}}
  %r = hova.arena_buffer {offset = 32 : i64} : memref<4x8xf32, strided<[16, 1]>>
  return
}

// -----

func.func @image_buffer_c1_offset_is_aligned() {
  // expected-error@+1 {{'hova.image_buffer' op expects an offset that is a multiple of 64, got 4}}
  %r = hova.image_buffer {offset = 4 : i64} : memref<4x8xf32, strided<[16, 1]>>
  return
}

// -----

func.func @kernel_c1_arguments_are_the_inputs(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'hova.kernel' op expects region arguments of the inputs' types}}
  %y = hova.kernel "act" (%x) {
  ^bb0(%a: tensor<8x4xf32>):
    hova.yield %a : tensor<8x4xf32>
  } : (tensor<4x8xf32>) -> tensor<8x4xf32>
  return
}

// -----

func.func @kernel_c2_results_are_yielded(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'hova.kernel' op expects the yielded types to be the results'}}
  %y = hova.kernel "act" (%x) {
  ^bb0(%a: tensor<4x8xf32>):
    hova.yield %a : tensor<4x8xf32>
  } : (tensor<4x8xf32>) -> tensor<8x4xf32>
  return
}

// -----

func.func @chunk_buffer_c1_rows_are_aligned() {
  // expected-error@+1 {{'hova.chunk_buffer' op expects a matrix whose rows begin at multiples of 64 bytes, got 'memref<4x8xf32>'}}
  %r = hova.chunk_buffer : memref<4x8xf32>
  return
}

// -----

func.func @chunk_buffer_c2_places_are_aligned() {
  // expected-error@+1 {{'hova.chunk_buffer' op expects places that are multiples of 64 bytes, got 64 and 32}}
  %r = hova.chunk_buffer {offset = 64 : i64, row_bytes_before = 32 : i64} : memref<4x16xf32>
  return
}

// -----

func.func @chunk_buffer_c1_is_a_matrix() {
  // expected-error@+1 {{'hova.chunk_buffer' op expects a matrix whose rows begin at multiples of 64 bytes, got 'memref<64xf32>'}}
  %r = hova.chunk_buffer : memref<64xf32>
  return
}

// -----

func.func @launch_c1_callee_exists(%x: memref<4x8xf32>) {
  // expected-error@+1 {{'hova.launch' op expects a function named nowhere}}
  hova.launch @nowhere(%x) "act" {flops = 0 : i64, shape = #hova_cpu.launch<units = 4, grain = 1>} : (memref<4x8xf32>)
  return
}

// -----

func.func private @callee(memref<8x4xf32>, memref<64xi8>, index, index)
func.func @launch_c1_buffers_are_arguments(%x: memref<4x8xf32>) {
  // expected-error@+1 {{'hova.launch' op expects the buffers to fit the arguments of callee}}
  hova.launch @callee(%x) "act" {flops = 0 : i64, shape = #hova_cpu.launch<units = 4, grain = 1>} : (memref<4x8xf32>)
  return
}

// -----

func.func private @callee(memref<4x8xf32>, memref<64xf32>, index, index)
func.func @launch_c2_callee_has_scratch_bytes(%x: memref<4x8xf32>) {
  // expected-error@+1 {{'hova.launch' op expects scratch bytes and two indices after the buffers of callee, got 'memref<64xf32>', 'index', 'index'}}
  hova.launch @callee(%x) "act" {flops = 0 : i64, shape = #hova_cpu.launch<units = 4, grain = 1>} : (memref<4x8xf32>)
  return
}

// -----

func.func private @callee(memref<4x8xf32>, memref<64xi8>, index, i64)
func.func @launch_c2_callee_takes_units(%x: memref<4x8xf32>) {
  // expected-error@+1 {{'hova.launch' op expects scratch bytes and two indices after the buffers of callee, got 'memref<64xi8>', 'index', 'i64'}}
  hova.launch @callee(%x) "act" {flops = 0 : i64, shape = #hova_cpu.launch<units = 4, grain = 1>} : (memref<4x8xf32>)
  return
}

// -----

func.func @pack_c2_pairs_hold_all_rows(%w: tensor<9x40xbf16>) {
  // expected-error@+1 {{'hova.pack' op expects 2x5x32x2 of 'bf16' for 9x40 in the layout #hova.column_strips<32, interleave 2>, got 'tensor<2x4x32x2xbf16>'}}
  %r = hova.pack %w[#hova.column_strips<32, interleave 2>] : tensor<9x40xbf16> -> tensor<2x4x32x2xbf16>
  return
}

// -----

// expected-error@+1 {{expects a positive size of unit dim 'row', got 0}}
func.func private @units_are_positive() attributes {units = #hova.units<row 0>}

// -----

// expected-error@+1 {{unit dim 'row' is there twice}}
func.func private @dims_of_units_have_names_of_their_own() attributes {units = #hova.units<row 2, row 3>}

// -----

func.func @stage_c1_has_an_anchor(%x: tensor<4x8xf32>) {
  hova.kernel "act" (%x) {
  ^bb0(%a: tensor<4x8xf32>):
    // expected-error@+1 {{'hova.stage' op expects an operation that owns the loops, and no arguments}}
    %s = hova.stage [#hova.layout<rows 8>] {
      hova.yield %a : tensor<4x8xf32>
    } : tensor<4x8xf32>
    hova.yield
  } : (tensor<4x8xf32>) -> ()
  return
}

// -----

func.func @stage_c1_has_no_arguments(%x: tensor<4x8xf32>) {
  hova.kernel "act" (%x) {
  ^bb0(%a: tensor<4x8xf32>):
    // expected-error@+1 {{'hova.stage' op expects an operation that owns the loops, and no arguments}}
    %s = hova.stage [#hova.layout<rows 8>] {
    ^bb0(%b: tensor<4x8xf32>):
      %r = hova.activation relu %b : tensor<4x8xf32>
      hova.yield %r : tensor<4x8xf32>
    } : tensor<4x8xf32>
    hova.yield
  } : (tensor<4x8xf32>) -> ()
  return
}

// -----

func.func @stage_c2_yields_what_it_computes(%x: tensor<4x8xf32>) {
  hova.kernel "act" (%x) {
  ^bb0(%a: tensor<4x8xf32>):
    // expected-error@+1 {{'hova.stage' op expects results of the types of what it computes}}
    %s = hova.stage [#hova.layout<rows 8>] {
      %r = hova.activation relu %a : tensor<4x8xf32>
      hova.yield %a : tensor<4x8xf32>
    } : tensor<4x8xf32>
    hova.yield
  } : (tensor<4x8xf32>) -> ()
  return
}

// -----

func.func @stage_c2_types_agree(%x: tensor<4x8xf32>) {
  hova.kernel "act" (%x) {
  ^bb0(%a: tensor<4x8xf32>):
    // expected-error@+1 {{'hova.stage' op expects results of the types of what it computes}}
    %s = hova.stage [#hova.layout<rows 8>] {
      %r = hova.activation relu %a : tensor<4x8xf32>
      hova.yield %r : tensor<4x8xf32>
    } : tensor<4x4xf32>
    hova.yield
  } : (tensor<4x8xf32>) -> ()
  return
}

// -----

func.func @stage_c3_has_a_layout_for_each_result(%x: tensor<4x8xf32>) {
  hova.kernel "act" (%x) {
  ^bb0(%a: tensor<4x8xf32>):
    // expected-error@+1 {{'hova.stage' op expects a layout for each result, whose rows do not overlap}}
    %s = hova.stage [] {
      %r = hova.activation relu %a : tensor<4x8xf32>
      hova.yield %r : tensor<4x8xf32>
    } : tensor<4x8xf32>
    hova.yield
  } : (tensor<4x8xf32>) -> ()
  return
}

// -----

func.func @stage_c3_rows_do_not_overlap(%x: tensor<4x8xf32>) {
  hova.kernel "act" (%x) {
  ^bb0(%a: tensor<4x8xf32>):
    // expected-error@+1 {{'hova.stage' op expects a layout for each result, whose rows do not overlap}}
    %s = hova.stage [#hova.layout<rows 7>] {
      %r = hova.activation relu %a : tensor<4x8xf32>
      hova.yield %r : tensor<4x8xf32>
    } : tensor<4x8xf32>
    hova.yield
  } : (tensor<4x8xf32>) -> ()
  return
}

// -----

// expected-error@+1 {{expects a positive number of elements between rows, got 0}}
func.func private @layouts_are_positive() attributes {layout = #hova.layout<rows 0>}
