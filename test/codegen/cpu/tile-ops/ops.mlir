// RUN: hova-opt %s --verify-roundtrip | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// CHECK-LABEL: @loads_a_tile
// CHECK: hova_cpu.tile_load %{{[a-z0-9_]+}}[%{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}] {columns = 8 : i64} : memref<9x40xf32> -> vector<4x32xf32>
func.func @loads_a_tile(%m: memref<9x40xf32>, %i: index) -> vector<4x32xf32> {
  %r = hova_cpu.tile_load %m[%i, %i] {columns = 8 : i64} : memref<9x40xf32> -> vector<4x32xf32>
  return %r : vector<4x32xf32>
}

// CHECK-LABEL: @stores_a_tile
// CHECK: hova_cpu.tile_store %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}[%{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}] {columns = 8 : i64} : vector<4x32xf32>, memref<9x40xf32>
func.func @stores_a_tile(%t: vector<4x32xf32>, %m: memref<9x40xf32>, %i: index) {
  hova_cpu.tile_store %t, %m[%i, %i] {columns = 8 : i64} : vector<4x32xf32>, memref<9x40xf32>
  return
}

// CHECK-LABEL: @multiplies_with_a_panel
// CHECK: hova_cpu.tile_product %{{[a-z0-9_]+}}[%{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}], %{{[a-z0-9_]+}}[%{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}] depth %{{[a-z0-9_]+}} : memref<9x40xf32, strided<[48, 1]>>, memref<3x40x32xf32> -> vector<4x32xf32>
func.func @multiplies_with_a_panel(%a: memref<9x40xf32, strided<[48, 1]>>, %b: memref<3x40x32xf32>, %i: index) -> vector<4x32xf32> {
  %r = hova_cpu.tile_product %a[%i, %i], %b[%i, %i, %i] depth %i : memref<9x40xf32, strided<[48, 1]>>, memref<3x40x32xf32> -> vector<4x32xf32>
  return %r : vector<4x32xf32>
}

// CHECK-LABEL: @product_begins_with_a_tile
// CHECK: hova_cpu.tile_product {{.*}} depth %{{[a-z0-9_]+}} init(%{{[a-z0-9_]+}} : vector<4x32xf32>) : memref<9x40xf32>, memref<40x32xf32> -> vector<4x32xf32>
func.func @product_begins_with_a_tile(%a: memref<9x40xf32>, %b: memref<40x32xf32>, %t: vector<4x32xf32>, %i: index) {
  %r = hova_cpu.tile_product %a[%i, %i], %b[%i, %i] depth %i init(%t : vector<4x32xf32>) : memref<9x40xf32>, memref<40x32xf32> -> vector<4x32xf32>
  return
}

// CHECK-LABEL: @prefetches
// CHECK: hova_cpu.tile_product {{.*}} depth %{{[a-z0-9_]+}} prefetch(%{{[a-z0-9_]+}} by %{{[a-z0-9_]+}}, 8) : memref<9x40xf32>, memref<3x40x32xf32> -> vector<4x32xf32>
func.func @prefetches(%a: memref<9x40xf32>, %b: memref<3x40x32xf32>, %i: index) -> vector<4x32xf32> {
  %r = hova_cpu.tile_product %a[%i, %i], %b[%i, %i, %i] depth %i prefetch(%i by %i, 8) : memref<9x40xf32>, memref<3x40x32xf32> -> vector<4x32xf32>
  return %r : vector<4x32xf32>
}

// CHECK-LABEL: @multiplies_with_a_matrix
// CHECK: hova_cpu.tile_product %{{[a-z0-9_]+}}[%{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}], %{{[a-z0-9_]+}}[%{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}] depth %{{[a-z0-9_]+}} {columns = 8 : i64} : memref<9x40xf32, strided<[48, 1]>>, memref<9x40xf32> -> vector<4x32xf32>
func.func @multiplies_with_a_matrix(%a: memref<9x40xf32, strided<[48, 1]>>, %m: memref<9x40xf32>, %i: index) -> vector<4x32xf32> {
  %r = hova_cpu.tile_product %a[%i, %i], %m[%i, %i] depth %i {columns = 8 : i64} : memref<9x40xf32, strided<[48, 1]>>, memref<9x40xf32> -> vector<4x32xf32>
  return %r : vector<4x32xf32>
}

// CHECK-LABEL: @sums_rows
// CHECK: hova_cpu.tile_row_sum %{{[a-z0-9_]+}} : vector<4x32xf32> -> vector<4x1xf32>
func.func @sums_rows(%t: vector<4x32xf32>) -> vector<4x1xf32> {
  %r = hova_cpu.tile_row_sum %t : vector<4x32xf32> -> vector<4x1xf32>
  return %r : vector<4x1xf32>
}

// CHECK-LABEL: @raises_two
// CHECK: hova.exp2 %{{[a-z0-9_]+}} : vector<16xf32>
func.func @raises_two(%x: vector<16xf32>) -> vector<16xf32> {
  %r = hova.exp2 %x : vector<16xf32>
  return %r : vector<16xf32>
}

// CHECK-LABEL: @widens_and_narrows
// CHECK: hova_cpu.tile_load %{{.*}} : memref<9x40xbf16> -> vector<4x32xf32>
// CHECK: hova_cpu.tile_store %{{.*}} : vector<4x32xf32>, memref<9x40xf16>
func.func @widens_and_narrows(%a: memref<9x40xbf16>, %b: memref<9x40xf16>, %i: index) {
  %t = hova_cpu.tile_load %a[%i, %i] : memref<9x40xbf16> -> vector<4x32xf32>
  hova_cpu.tile_store %t, %b[%i, %i] : vector<4x32xf32>, memref<9x40xf16>
  return
}

// CHECK-LABEL: @multiplies_pairs
// CHECK: hova_cpu.tile_product %{{.*}} : memref<9x41xbf16>, memref<3x21x32xi32> -> vector<4x32xf32>
func.func @multiplies_pairs(%a: memref<9x41xbf16>, %b: memref<3x21x32xi32>, %i: index) -> vector<4x32xf32> {
  %depth = arith.constant 41 : index
  %r = hova_cpu.tile_product %a[%i, %i], %b[%i, %i, %i] depth %depth : memref<9x41xbf16>, memref<3x21x32xi32> -> vector<4x32xf32>
  return %r : vector<4x32xf32>
}

// CHECK-LABEL: @adds_products_of_pairs
// CHECK: hova_cpu.pair_dot %{{.*}}, %{{.*}}, %{{.*}} : vector<32xbf16>, vector<16xf32>
func.func @adds_products_of_pairs(%a: vector<32xbf16>, %b: vector<32xbf16>, %s: vector<16xf32>) -> vector<16xf32> {
  %r = hova_cpu.pair_dot %a, %b, %s : vector<32xbf16>, vector<16xf32>
  return %r : vector<16xf32>
}

// CHECK-LABEL: @looks_up
// CHECK: hova_cpu.lookup %{{[a-z0-9_]+}}, dense<[{{.*}}, 0.333333343{{.*}}]> : vector<16xf32> : vector<32xi32> -> vector<32xf32>
func.func @looks_up(%i: vector<32xi32>) -> vector<32xf32> {
  %r = hova_cpu.lookup %i, dense<[0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 5.5, 6.0, 6.5, 7.0, 0.333333343]> : vector<16xf32> : vector<32xi32> -> vector<32xf32>
  return %r : vector<32xf32>
}

// CHECK-LABEL: @moves_rows_by_a_table
// CHECK: hova_cpu.tile_load %{{.*}} rows(%{{.*}} : memref<1x9xi32>) : memref<9x40xf32> -> vector<4x32xf32>
// CHECK: hova_cpu.tile_store %{{.*}} rows(%{{.*}} : memref<1x9xi32>) {columns = 8 : i64} : vector<4x32xf32>, memref<9x40xf32>
func.func @moves_rows_by_a_table(%a: memref<9x40xf32>, %b: memref<9x40xf32>, %rows: memref<1x9xi32>, %i: index) {
  %t = hova_cpu.tile_load %a[%i, %i] rows(%rows : memref<1x9xi32>) : memref<9x40xf32> -> vector<4x32xf32>
  hova_cpu.tile_store %t, %b[%i, %i] rows(%rows : memref<1x9xi32>) {columns = 8 : i64} : vector<4x32xf32>, memref<9x40xf32>
  return
}

// CHECK-LABEL: @multiplies_a_block
// CHECK: hova_cpu.block_product %{{[a-z0-9_]+}}[%{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}], %{{[a-z0-9_]+}}[%{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}], %{{[a-z0-9_]+}}[%{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}] rows %{{[a-z0-9_]+}} by %{{[a-z0-9_]+}} depth %{{[a-z0-9_]+}} columns 32 added meanwhile(%{{[a-z0-9_]+}}) {
// CHECK: memref.prefetch
// CHECK: } : memref<64x32xf32>, memref<9x64xbf16>, memref<3x32x64xi32>
func.func @multiplies_a_block(%s: memref<64x32xf32>, %a: memref<9x64xbf16>, %b: memref<3x32x64xi32>, %i: index) {
  hova_cpu.block_product %s[%i, %i], %a[%i, %i], %b[%i, %i, %i] rows %i by %i depth %i columns 32 added meanwhile(%i) {
  ^bb0(%turn: index):
    memref.prefetch %a[%turn, %i], read, locality<2>, data : memref<9x64xbf16>
  } : memref<64x32xf32>, memref<9x64xbf16>, memref<3x32x64xi32>
  return
}

// CHECK-LABEL: @says_what_a_call_does
// CHECK: hova_cpu.step_buffer : memref<1x4xi64>
func.func @says_what_a_call_does() {
  %s = hova_cpu.step_buffer : memref<1x4xi64>
  return
}
