// RUN: hova-opt %s --split-input-file --hova-verify-vectorized --verify-diagnostics
// SPDX-License-Identifier: Apache-2.0

func.func @accepts_row_vectors(%x: vector<4xf32>) -> vector<4xf32> {
  %y = arith.addf %x, %x : vector<4xf32>
  return %y : vector<4xf32>
}

// -----

// The target knows instructions for these.
func.func @accepts_lookups(%i: vector<4xi32>) -> vector<4xf32> {
  %y = hova_cpu.lookup %i, dense<[0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 5.5, 6.0, 6.5, 7.0, 7.5]> : vector<16xf32> : vector<4xi32> -> vector<4xf32>
  return %y : vector<4xf32>
}

// -----

// Launches, buffers and the folding function are no code of a kernel.
func.func @main() {
  %b = hova.arena_buffer {offset = 64 : i64} : memref<4x8xf32>
  return
}
func.func @weights() {
  %w = hova.weight "a" : tensor<8x4xf32>
  hova.store_weight "a", %w : tensor<8x4xf32>
  return
}

// -----

func.func @reports_operations_of_the_dialect(%x: vector<4xf32>) -> vector<4xf32> {
  // expected-error@+1 {{vectorized kernel still holds 'hova.activation'}}
  %y = hova.activation relu %x : vector<4xf32>
  return %y : vector<4xf32>
}

// -----

func.func @reports_tiles() {
  // expected-error@+1 {{vectorized program still holds 'vector<2x4xf32>'}}
  %t = arith.constant dense<0.0> : vector<2x4xf32>
  return
}
