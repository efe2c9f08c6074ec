// RUN: hova-opt %s --split-input-file --hova-vectorize-tiles='steps=2 line-elements=16' --verify-diagnostics
// SPDX-License-Identifier: Apache-2.0

func.func @keeps_tiles_inside_one_block(%x: memref<2x4xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = hova_cpu.tile_load %x[%c0, %c0] : memref<2x4xf32> -> vector<2x4xf32>
  // expected-error@+1 {{'scf.for' op has a tile but no form for its rows}}
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %t) -> (vector<2x4xf32>) {
    scf.yield %s : vector<2x4xf32>
  }
  hova_cpu.tile_store %r, %x[%c0, %c0] : vector<2x4xf32>, memref<2x4xf32>
  return
}

// -----

// expected-error@+1 {{'func.func' op expects tiles to stay inside one block, got one as a block argument}}
func.func @takes_no_tile_from_outside(%t: vector<2x4xf32>, %x: memref<2x4xf32>) {
  %c0 = arith.constant 0 : index
  hova_cpu.tile_store %t, %x[%c0, %c0] : vector<2x4xf32>, memref<2x4xf32>
  return
}

// -----

func.func @needs_the_extent_of_a_buffer(%x: memref<?x4xf32>, %y: memref<2x4xf32>) {
  %c0 = arith.constant 0 : index
  // expected-error@+1 {{'hova_cpu.tile_load' op expects a buffer of static shape, got 'memref<?x4xf32>'}}
  %t = hova_cpu.tile_load %x[%c0, %c0] : memref<?x4xf32> -> vector<2x4xf32>
  hova_cpu.tile_store %t, %y[%c0, %c0] : vector<2x4xf32>, memref<2x4xf32>
  return
}

// -----

func.func @knows_constants_of_equal_elements(%y: memref<2x2xf32>) {
  %c0 = arith.constant 0 : index
  // expected-error@+1 {{'arith.constant' op expects a tile of equal elements}}
  %t = arith.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : vector<2x2xf32>
  hova_cpu.tile_store %t, %y[%c0, %c0] : vector<2x2xf32>, memref<2x2xf32>
  return
}

// -----

func.func @knows_no_transposed_tiles(%y: memref<2x2xf32>) {
  %c0 = arith.constant 0 : index
  %t = hova_cpu.tile_load %y[%c0, %c0] : memref<2x2xf32> -> vector<2x2xf32>
  // expected-error@+1 {{'vector.transpose' op has a tile but no form for its rows}}
  %u = vector.transpose %t, [1, 0] : vector<2x2xf32> to vector<2x2xf32>
  hova_cpu.tile_store %u, %y[%c0, %c0] : vector<2x2xf32>, memref<2x2xf32>
  return
}
