// RUN: hova-opt %s --split-input-file --verify-diagnostics
// SPDX-License-Identifier: Apache-2.0

// The form of attributes that no operation declares (dialect/DiscardableAttributes.cpp).

// expected-error@+1 {{expects 'hova.phase' to be the name of a phase, got 3 : i64}}
module @phase attributes {hova.phase = 3 : i64} {
}

// -----

// expected-error@+1 {{expects 'hova.phase' to be the name of a phase, got "foo"}}
module @no_phase attributes {hova.phase = "foo"} {
}

// -----

module @phase_of_the_table attributes {hova.phase = "fuse"} {
}

// -----

// expected-error@+1 {{expects 'hova.model' to be the name of a model, got unit}}
module @model attributes {hova.model = unit} {
}

// -----

// expected-error@+1 {{expects 'hova.storage' to be bf16 or f16, got f64}}
module @storage attributes {hova.storage = f64} {
}

// -----

// expected-error@+1 {{expects 'hova.tables' to be the tables of the code, got [1]}}
module @tables attributes {hova.tables = [1]} {
}

// -----

// expected-error@+1 {{expects 'hova.arena_bytes' to be a number of 64 bits, got "64"}}
func.func private @arena_bytes() attributes {hova.arena_bytes = "64"}

// -----

// expected-error@+1 {{expects 'hova.image_bytes' to be a number of 64 bits, got 64 : i32}}
func.func private @image_bytes() attributes {hova.image_bytes = 64 : i32}

// -----

// expected-error@+1 {{expects 'hova.table_bytes' to be a number of 64 bits, got unit}}
func.func private @table_bytes() attributes {hova.table_bytes = unit}

// -----

// expected-error@+1 {{expects 'hova.group_bytes' to be a number of 64 bits, got 1.000000e+00 : f64}}
func.func private @group_bytes() attributes {hova.group_bytes = 1.000000e+00 : f64}

// -----

// expected-error@+1 {{expects 'hova.inputs' to be a number of 64 bits, got true}}
func.func private @inputs() attributes {hova.inputs = true}

// -----

// expected-error@+1 {{expects 'hova.types' to be a list of types, got [f32, 3]}}
func.func private @types() attributes {hova.types = [f32, 3]}

// -----

// expected-error@+1 {{expects 'hova.values' to hold values, each with path, kernel, last, type, row_stride and offset, got [{kernel = 0 : i64, last = 0 : i64, path = "a", row_stride = 8 : i64, type = tensor<2x8xf32>}]}}
func.func private @values_have_a_place() attributes {hova.values = [{kernel = 0 : i64, last = 0 : i64, path = "a", row_stride = 8 : i64, type = tensor<2x8xf32>}]}

// -----

// expected-error@+1 {{expects 'hova.parts' to hold parts, each with kernel, stage, path, flops and bytes, got [{bytes = 0 : i64, flops = 0 : i64, kernel = 0 : i64, path = "a", stage = 0 : i64, time = 0 : i64}]}}
func.func private @parts_have_nothing_else() attributes {hova.parts = [{bytes = 0 : i64, flops = 0 : i64, kernel = 0 : i64, path = "a", stage = 0 : i64, time = 0 : i64}]}

// -----

func.func @offset(%x: tensor<2x8xf32>) {
  // expected-error@+1 {{expects 'hova.offset' to be a number of 64 bits, got 1 : i32}}
  %r = hova.activation relu %x {hova.offset = 1 : i32} : tensor<2x8xf32>
  return
}

// -----

func.func @site_has_a_path(%x: tensor<2x8xf32>) {
  // expected-error@+1 {{expects 'hova.site' to have a kind and a path, got {kind = "norm"}}}
  %r = hova.activation relu %x {hova.site = {kind = "norm"}} : tensor<2x8xf32>
  return
}

// -----

func.func @require(%x: tensor<2x8xf32>) {
  // expected-error@+1 {{expects 'hova.require' to be "fused", got "joined"}}
  %r = hova.activation relu %x {hova.require = "joined"} : tensor<2x8xf32>
  return
}

// -----

func.func @verdict(%x: tensor<2x8xf32>) {
  // expected-error@+1 {{expects 'hova.verdict' to say whether the site is fused, and of what, by kernels, columns, joined, writers, apart and why, got {fused = true, kernels = "a"}}}
  %r = hova.activation relu %x {hova.verdict = {fused = true, kernels = "a"}} : tensor<2x8xf32>
  return
}

// -----

func.func @rewrites(%x: tensor<2x8xf32>) {
  // expected-error@+1 {{expects 'hova.rewrites' to have for every pass whether it fired, and why, got {"hova-a-pass" = {fired = true}}}}
  %r = hova.activation relu %x {hova.rewrites = {"hova-a-pass" = {fired = true}}} : tensor<2x8xf32>
  return
}

// -----

func.func @missed_fusions(%x: tensor<2x8xf32>) {
  // expected-error@+1 {{expects 'hova.missed_fusions' to have a reason for every operand, got {"0" = 1 : i64}}}
  %r = hova.activation relu %x {hova.missed_fusions = {"0" = 1 : i64}} : tensor<2x8xf32>
  return
}

// -----

func.func @score_tiles(%x: tensor<2x8xf32>) {
  // expected-error@+1 {{expects 'hova.score_tiles' to have a size, and how many tiles are skipped, mixed and whole, got {mixed = 0 : i64, size = array<i64: 1>, skipped = 0 : i64, whole = 0 : i64}}}
  %r = hova.activation relu %x {hova.score_tiles = {mixed = 0 : i64, size = array<i64: 1>, skipped = 0 : i64, whole = 0 : i64}} : tensor<2x8xf32>
  return
}

// -----

func.func @input_rows(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  // expected-error@+1 {{expects 'hova.input_rows' to be -1 or the number of a row table for each value, got [0]}}
  %r = hova.kernel "k" units<row 2> (%x) attributes {hova.input_rows = [0]} {
  ^bb0(%a: tensor<2x8xf32>):
    hova.yield %a : tensor<2x8xf32>
  } : (tensor<2x8xf32>) -> tensor<2x8xf32>
  return %r : tensor<2x8xf32>
}

// -----

func.func @result_rows(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  // expected-error@+1 {{expects 'hova.result_rows' to be -1 or the number of a row table for each value, got [0]}}
  %r = hova.kernel "k" units<row 2> (%x) attributes {hova.result_rows = [0]} {
  ^bb0(%a: tensor<2x8xf32>):
    hova.yield %a : tensor<2x8xf32>
  } : (tensor<2x8xf32>) -> tensor<2x8xf32>
  return %r : tensor<2x8xf32>
}

// -----

func.func @whole() {
  // expected-error@+1 {{expects 'hova.whole' to be where a value in the arena begins, and its bytes, got array<i64: 0>}}
  %r = hova.arena_buffer {hova.whole = array<i64: 0>, offset = 0 : i64} : memref<2x8xf32>
  return
}

// -----

func.func @contents() {
  // expected-error@+1 {{expects 'hova.contents' to be the words of a buffer, got 1 : i64}}
  %r = hova.sequence_buffer {hova.contents = 1 : i64} : memref<1x4xi64>
  return
}

// -----

// expected-error@+1 {{expects 'hova.name' to be the name of an input, got 1 : i64}}
func.func private @name_of_an_input(tensor<8xf32> {hova.name = 1 : i64})

// -----

// expected-error@+1 {{expects 'hova.range' to be the least number and one above the largest, got array<i64: 3, 3>}}
func.func private @range(tensor<8xi64> {hova.range = array<i64: 3, 3>})

// -----

// expected-error@+1 {{expects 'hova.name' to be the name of an output, got unit}}
func.func private @name_of_an_output() -> (tensor<8xf32> {hova.name})

// -----

// A range is one of inputs.
// expected-error@+1 {{'hova.range' is no attribute that stands here}}
func.func private @range_of_an_output() -> (tensor<8xi64> {hova.range = array<i64: 0, 3>})

// -----

func.func @other(%x: tensor<2x8xf32>) {
  // expected-error@+1 {{'hova.other' is no attribute that stands here}}
  %r = hova.activation relu %x {hova.other} : tensor<2x8xf32>
  return
}

// -----

func.func @on_a_module(%x: tensor<2x8xf32>) {
  // expected-error@+1 {{'hova.phase' stands on 'builtin.module', not on 'hova.activation'}}
  %r = hova.activation relu %x {hova.phase = "fuse"} : tensor<2x8xf32>
  return
}

// -----

func.func @on_a_function(%x: tensor<2x8xf32>) {
  // expected-error@+1 {{'hova.inputs' stands on a function, not on 'hova.activation'}}
  %r = hova.activation relu %x {hova.inputs = 1 : i64} : tensor<2x8xf32>
  return
}

// -----

// Rows of layers are as many for the least number of tokens as for the largest.
// expected-error@+1 {{expects 'hova.ranges' to be the least and the largest number of items, of tokens, and perhaps of other tokens, and of how many layers these are rows, got array<i64: 1, 2, 1, 8, 3, 16, 3>}}
func.func private @rows_of_other_layers(tensor<2x8x4xf32>) attributes {hova.ranges = array<i64: 1, 2, 1, 8, 3, 16, 3>}

// -----

// expected-error@+1 {{expects 'hova.ranges' to be}}
func.func private @rows_of_no_layers(tensor<2x8x4xf32>) attributes {hova.ranges = array<i64: 1, 2, 1, 8, 3, 24, 0>}
