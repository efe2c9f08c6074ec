// Tiles of numbers of 16 bits.

// RUN: hova-opt %s --split-input-file --hova-vectorize-tiles='steps=2 line-elements=16' --canonicalize --cse | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// CHECK-LABEL: @widens_what_it_loads
// CHECK: %[[ROW:.*]] = vector.load {{.*}} : memref<360xbf16>, vector<16xbf16>
// CHECK: arith.extf %[[ROW]] : vector<16xbf16> to vector<16xf32>
// CHECK: %[[TAIL:.*]] = vector.maskedload {{.*}} : memref<360xf16>, vector<16xi1>, vector<16xf16>
// CHECK: arith.extf %[[TAIL]] : vector<16xf16> to vector<16xf32>
func.func @widens_what_it_loads(%a: memref<9x40xbf16>, %b: memref<9x40xf16>, %y: memref<9x40xf32>, %i: index) {
  %t = hova_cpu.tile_load %a[%i, %i] : memref<9x40xbf16> -> vector<1x16xf32>
  %u = hova_cpu.tile_load %b[%i, %i] {columns = 8 : i64} : memref<9x40xf16> -> vector<1x16xf32>
  %s = arith.addf %t, %u : vector<1x16xf32>
  hova_cpu.tile_store %s, %y[%i, %i] : vector<1x16xf32>, memref<9x40xf32>
  return
}

// -----

// A conversion's tile is f32 again; where it is stored the two fold.
// CHECK-LABEL: @narrows_what_it_stores_once
// CHECK: %[[ROW:.*]] = vector.load
// CHECK-NEXT: %[[NARROW:.*]] = arith.truncf %[[ROW]] : vector<16xf32> to vector<16xbf16>
// CHECK-NEXT: vector.store %[[NARROW]]
func.func @narrows_what_it_stores_once(%a: memref<9x40xf32>, %y: memref<9x40xbf16>, %i: index) {
  %t = hova_cpu.tile_load %a[%i, %i] : memref<9x40xf32> -> vector<1x16xf32>
  %n = arith.truncf %t : vector<1x16xf32> to vector<1x16xbf16>
  %w = arith.extf %n : vector<1x16xbf16> to vector<1x16xf32>
  hova_cpu.tile_store %w, %y[%i, %i] : vector<1x16xf32>, memref<9x40xbf16>
  return
}

// -----

// Eleven pairs and half of one: five turns of two pairs, one pair, and a single
// element with zeros beside it.
// CHECK-LABEL: @multiplies_pairs_along_k
// CHECK-SAME: %[[X:.*]]: memref<9x24xbf16>, %[[W:.*]]: memref<3x12x16xi32>
// CHECK: %[[SUM:.*]] = scf.for %[[I:.*]] = %c0 to %c10 step %c2 iter_args(%[[S:.*]] = %{{.*}}) -> (vector<16xf32>)
// CHECK: %[[K:.*]] = arith.muli %[[I]], %c2
// CHECK: %[[WORDS:.*]] = vector.load {{.*}} : memref<576xi32>, vector<16xi32>
// CHECK: %[[B:.*]] = vector.bitcast %[[WORDS]] : vector<16xi32> to vector<32xbf16>
// CHECK: %[[PAIR:.*]] = vector.load {{.*}} : memref<216xbf16>, vector<2xbf16>
// CHECK: %[[BITS:.*]] = vector.bitcast %[[PAIR]] : vector<2xbf16> to vector<1xi32>
// CHECK: %[[WORD:.*]] = vector.extract %[[BITS]][0]
// CHECK: %[[SPLAT:.*]] = vector.broadcast %[[WORD]] : i32 to vector<16xi32>
// CHECK: %[[A:.*]] = vector.bitcast %[[SPLAT]] : vector<16xi32> to vector<32xbf16>
// CHECK: %[[NEXT:.*]] = hova_cpu.pair_dot %[[A]], %[[B]], %[[S]]
// CHECK: %[[LAST:.*]] = hova_cpu.pair_dot %{{.*}}, %{{.*}}, %[[NEXT]]
// CHECK: scf.yield %[[LAST]]
// CHECK: %[[ELEVENTH:.*]] = hova_cpu.pair_dot %{{.*}}, %{{.*}}, %[[SUM]]
// CHECK: %[[ELEMENT:.*]] = memref.load {{.*}} : memref<216xbf16>
// CHECK: %[[SHORT:.*]] = arith.bitcast %[[ELEMENT]] : bf16 to i16
// CHECK: arith.extui %[[SHORT]] : i16 to i32
// CHECK: hova_cpu.pair_dot %{{.*}}, %{{.*}}, %[[ELEVENTH]]
func.func @multiplies_pairs_along_k(%x: memref<9x24xbf16>, %w: memref<3x12x16xi32>, %y: memref<9x48xf32>, %row: index, %panel: index) {
  %c0 = arith.constant 0 : index
  %depth = arith.constant 23 : index
  %t = hova_cpu.tile_product %x[%row, %c0], %w[%panel, %c0, %c0] depth %depth
      : memref<9x24xbf16>, memref<3x12x16xi32> -> vector<1x16xf32>
  hova_cpu.tile_store %t, %y[%row, %c0] : vector<1x16xf32>, memref<9x48xf32>
  return
}

// -----

// CHECK-LABEL: @widens_both_sides_of_a_product
// CHECK: scf.for
// CHECK: %[[ROW:.*]] = vector.load {{.*}} vector<16xf16>
// CHECK: %[[B:.*]] = arith.extf %[[ROW]]
// CHECK: %[[ELEMENT:.*]] = memref.load {{.*}} : memref<216xf16>
// CHECK: %[[WIDE:.*]] = arith.extf %[[ELEMENT]] : f16 to f32
// CHECK: %[[A:.*]] = vector.broadcast %[[WIDE]]
// CHECK: vector.fma %[[A]], %[[B]]
func.func @widens_both_sides_of_a_product(%x: memref<9x24xf16>, %w: memref<3x24x16xf16>, %y: memref<9x48xf32>, %row: index, %panel: index) {
  %c0 = arith.constant 0 : index
  %depth = arith.constant 24 : index
  %t = hova_cpu.tile_product %x[%row, %c0], %w[%panel, %c0, %c0] depth %depth
      : memref<9x24xf16>, memref<3x24x16xf16> -> vector<1x16xf32>
  hova_cpu.tile_store %t, %y[%row, %c0] : vector<1x16xf32>, memref<9x48xf32>
  return
}

// -----

// CHECK-LABEL: @multiplies_an_unknown_number_of_pairs
// CHECK-SAME: %[[DEPTH:[^ ]*]]: index
// CHECK: %[[PAIRS:.*]] = arith.divui %[[DEPTH]], %c2
// CHECK: scf.for %{{.*}} = %c0 to %[[PAIRS]] step %c1 iter_args
// CHECK: hova_cpu.pair_dot
// CHECK-NOT: hova_cpu.pair_dot
func.func @multiplies_an_unknown_number_of_pairs(%depth: index, %x: memref<9x24xbf16>, %w: memref<12x16xi32>, %y: memref<9x16xf32>) {
  %c0 = arith.constant 0 : index
  %t = hova_cpu.tile_product %x[%c0, %c0], %w[%c0, %c0] depth %depth
      : memref<9x24xbf16>, memref<12x16xi32> -> vector<1x16xf32>
  hova_cpu.tile_store %t, %y[%c0, %c0] : vector<1x16xf32>, memref<9x16xf32>
  return
}
