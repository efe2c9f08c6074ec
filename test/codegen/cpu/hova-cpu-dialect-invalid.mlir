// RUN: hova-opt %s --split-input-file --verify-diagnostics
// SPDX-License-Identifier: Apache-2.0

// What a file may say of a kernel and of its launch.

// expected-error@+1 {{expects 'tile' from 1 to 64, got 0}}
func.func private @rows_of_a_tile() attributes {s = #hova_cpu.schedule<tile = 0x16, lanes = 32, grain = 1>}

// -----

// Each height is a body of its own.
// expected-error@+1 {{expects 'tile' from 1 to 64, got 65}}
func.func private @many_rows_of_a_tile() attributes {s = #hova_cpu.schedule<tile = 65x16, lanes = 32, grain = 1>}

// -----

// expected-error@+1 {{expects 'tile' from 1 to 1024, got 1025}}
func.func private @columns_of_a_tile() attributes {s = #hova_cpu.schedule<tile = 6x1025, lanes = 32, grain = 1>}

// -----

// expected-error@+1 {{expects rows and columns of a tile, as 6x64}}
func.func private @one_size_of_a_tile() attributes {s = #hova_cpu.schedule<tile = 4, lanes = 32, grain = 1>}

// -----

// expected-error@+1 {{expects rows and columns of a tile, as 6x64}}
func.func private @three_sizes_of_a_tile() attributes {s = #hova_cpu.schedule<tile = 4x4x4, lanes = 32, grain = 1>}

// -----

// expected-error@+1 {{expects 'lanes' to be a power of two, got 0}}
func.func private @lanes() attributes {s = #hova_cpu.schedule<tile = 4x16, lanes = 0, grain = 1>}

// -----

// expected-error@+1 {{expects 'grain' from 1 to 2147483647, got -1}}
func.func private @grain() attributes {s = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = -1>}

// -----

// expected-error@+1 {{expects 'k_block' from 1 to 2147483647, got 0}}
func.func private @k_block() attributes {s = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 1, k_block = 0>}

// -----

// expected-error@+1 {{expects 'block' from 1 to 2147483647, got 2147483648}}
func.func private @block() attributes {s = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 1, block = 2147483648>}

// -----

// expected-error@+1 {{expects 'reduction_split' from 1 to 2147483647, got 0}}
func.func private @reduction_split() attributes {s = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 1, reduction_split = 0>}

// -----

// expected-error@+1 {{expects 'lanes'}}
func.func private @no_lanes() attributes {s = #hova_cpu.schedule<tile = 4x16, grain = 1>}

// -----

// expected-error@+1 {{expects one of tile, lanes, grain, k_block, block, reduction_split, pairs, matrix_unit, got 'panel'}}
func.func private @a_word_that_is_none() attributes {s = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 1, panel = 8>}

// -----

// expected-error@+1 {{expects 'units' from 1 to 1099511627776, got 0}}
func.func private @units() attributes {s = #hova_cpu.launch<units = 0, grain = 1>}

// -----

// expected-error@+1 {{expects 'grain' from 1 to 2147483647, got 0}}
func.func private @grain_of_a_launch() attributes {s = #hova_cpu.launch<units = 4, grain = 0>}

// -----

// expected-error@+1 {{expects 'block' from 1 to 2147483647, got 0}}
func.func private @block_of_a_launch() attributes {s = #hova_cpu.launch<units = 4, grain = 1, block = 0>}

// -----

// expected-error@+1 {{expects positive costs whose number divides 4 units, got 1, 2, 3}}
func.func private @costs_divide_units() attributes {s = #hova_cpu.launch<units = 4, grain = 1, costs = [1, 2, 3]>}

// -----

// expected-error@+1 {{expects positive costs whose number divides 4 units, got 1, 0}}
func.func private @costs_are_positive() attributes {s = #hova_cpu.launch<units = 4, grain = 1, costs = [1, 0]>}

// -----

// expected-error@+1 {{expects positive costs whose number divides 4 units, got }}
func.func private @costs_are_some() attributes {s = #hova_cpu.launch<units = 4, grain = 1, costs = []>}

// -----

// expected-error@+1 {{expects 6 numbers for each stage, none below 0, got 2, 64, 64, 3, 100}}
func.func private @stages_have_six_numbers() attributes {s = #hova_cpu.launch<units = 4, grain = 1, stages = [2, 64, 64, 3, 100]>}

// -----

// expected-error@+1 {{expects 6 numbers for each stage, none below 0, got 2, 64, 64, 3, 100, -1}}
func.func private @numbers_of_stages_are_counts() attributes {s = #hova_cpu.launch<units = 4, grain = 1, stages = [2, 64, 64, 3, 100, -1]>}

// -----

func.func private @callee(memref<1x4xi64>, memref<64xi8>, index, index)
func.func @steps_are_of_stages() {
  %s = hova_cpu.step_buffer : memref<1x4xi64>
  // expected-error@+1 {{'hova.launch' op expects stages for the steps that its kernel is to take}}
  hova.launch @callee(%s) "a" {flops = 0 : i64, shape = #hova_cpu.launch<units = 4, grain = 1>} : (memref<1x4xi64>)
  return
}

// -----

func.func private @callee(memref<4x16xf32>, memref<64xi8>, index, index)
func.func @chunks_have_a_row_for_each_unit() {
  %h = hova.chunk_buffer : memref<4x16xf32>
  // expected-error@+1 {{'hova.launch' op expects a chunk buffer of its own with a row for each of 5 units, got 'memref<4x16xf32>'}}
  hova.launch @callee(%h) "act" {flops = 0 : i64, shape = #hova_cpu.launch<units = 5, grain = 1>} : (memref<4x16xf32>)
  return
}

// -----

func.func private @callee(memref<4x16xf32>, memref<4x16xf32>, memref<64xi8>, index, index)
func.func @chunks_are_its_own() {
  %h = hova.chunk_buffer : memref<4x16xf32>
  // expected-error@+1 {{'hova.launch' op expects a chunk buffer of its own with a row for each of 4 units, got 'memref<4x16xf32>'}}
  hova.launch @callee(%h, %h) "act" {flops = 0 : i64, shape = #hova_cpu.launch<units = 4, grain = 1>} : (memref<4x16xf32>, memref<4x16xf32>)
  return
}

// -----

func.func private @callee(memref<4x16xf32>, memref<64xi8>, index, index)
func.func @buffers_have_places_in_the_program() {
  %h = memref.alloc() : memref<4x16xf32>
  // expected-error@+1 {{'hova.launch' op expects buffers that are arguments or places in the program's memory, got one of 'memref.alloc'}}
  hova.launch @callee(%h) "act" {flops = 0 : i64, shape = #hova_cpu.launch<units = 4, grain = 1>} : (memref<4x16xf32>)
  return
}

// -----

// expected-error@+1 {{'lanes' is there twice}}
func.func private @lanes_twice() attributes {s = #hova_cpu.schedule<tile = 4x16, lanes = 32, lanes = 16, grain = 1>}

// -----

// expected-error@+1 {{expected integer value}}
func.func private @a_size_of_words() attributes {s = #hova_cpu.schedule<tile = 4x16, lanes = "32", grain = 1>}

// -----

// expected-error@+1 {{expects one of units, grain, block, costs, stages, got 'threads'}}
func.func private @threads() attributes {s = #hova_cpu.launch<units = 4, threads = 1>}

// -----

// expected-error@+1 {{expects 'units' from 1 to 1099511627776, got 1099511627777}}
func.func private @many_units() attributes {s = #hova_cpu.launch<units = 1099511627777, grain = 1>}

// -----

// Sums of a vector's elements halve it.
// expected-error@+1 {{expects 'lanes' to be a power of two, got 48}}
func.func private @lanes_that_do_not_halve() attributes {s = #hova_cpu.schedule<tile = 4x16, lanes = 48, grain = 1>}

// -----

// expected-error@+1 {{expects 'lanes' from 1 to 1024, got 2048}}
func.func private @many_lanes() attributes {s = #hova_cpu.schedule<tile = 4x16, lanes = 2048, grain = 1>}
