// RUN: hova-opt %s --verify-roundtrip | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// CHECK-LABEL: @references_a_weight
// CHECK: hova.weight "a.weight" {init = "normal", trainable = false} : tensor<8x40xf32>
func.func @references_a_weight() -> tensor<8x40xf32> {
  %r = hova.weight "a.weight" {init = "normal", trainable = false} : tensor<8x40xf32>
  return %r : tensor<8x40xf32>
}

// CHECK-LABEL: @references_the_image
// CHECK: hova.image_weight "a.weight" {layout = #hova.column_strips<32>} : tensor<8x40xf32>
func.func @references_the_image() -> tensor<8x40xf32> {
  %r = hova.image_weight "a.weight" {layout = #hova.column_strips<32>} : tensor<8x40xf32>
  return %r : tensor<8x40xf32>
}

// CHECK-LABEL: @stores_a_weight
// CHECK: hova.store_weight "a.weight", %{{[a-z0-9_]+}} : tensor<8x40xf32>
func.func @stores_a_weight(%w: tensor<8x40xf32>) {
  hova.store_weight "a.weight", %w : tensor<8x40xf32>
  return
}

// CHECK-LABEL: @transposes
// CHECK: hova.transpose %{{[a-z0-9_]+}} : tensor<8x40xf32> -> tensor<40x8xf32>
func.func @transposes(%w: tensor<8x40xf32>) -> tensor<40x8xf32> {
  %r = hova.transpose %w : tensor<8x40xf32> -> tensor<40x8xf32>
  return %r : tensor<40x8xf32>
}

// CHECK-LABEL: @packs_pairs_of_rows
// CHECK: hova.pack %{{[a-z0-9_]+}}[#hova.column_strips<32, interleave 2>] : tensor<9x40xbf16> -> tensor<2x5x32x2xbf16>
func.func @packs_pairs_of_rows(%w: tensor<9x40xbf16>) -> tensor<2x5x32x2xbf16> {
  %r = hova.pack %w[#hova.column_strips<32, interleave 2>] : tensor<9x40xbf16> -> tensor<2x5x32x2xbf16>
  return %r : tensor<2x5x32x2xbf16>
}

// CHECK-LABEL: @packs_strips
// CHECK: hova.pack %{{[a-z0-9_]+}}[#hova.column_strips<32>] : tensor<8x40xf32> -> tensor<2x8x32xf32>
func.func @packs_strips(%w: tensor<8x40xf32>) -> tensor<2x8x32xf32> {
  %r = hova.pack %w[#hova.column_strips<32>] : tensor<8x40xf32> -> tensor<2x8x32xf32>
  return %r : tensor<2x8x32xf32>
}

// CHECK-LABEL: @packs_columns_as_rows
// CHECK: hova.image_weight "a.weight" {layout = #hova.transposed<align 16>} : tensor<9x40xbf16>
// CHECK: hova.pack %{{[a-z0-9_]+}}[#hova.transposed<align 16>] : tensor<9x40xbf16> -> tensor<40x16xbf16>
func.func @packs_columns_as_rows(%w: tensor<9x40xbf16>) -> (tensor<9x40xbf16>, tensor<40x16xbf16>) {
  %v = hova.image_weight "a.weight" {layout = #hova.transposed<align 16>} : tensor<9x40xbf16>
  %r = hova.pack %w[#hova.transposed<align 16>] : tensor<9x40xbf16> -> tensor<40x16xbf16>
  return %v, %r : tensor<9x40xbf16>, tensor<40x16xbf16>
}

// Of sizes that are not known yet, what can be wrong is refused alone.
// CHECK-LABEL: @packs_unknown_sizes
// CHECK: hova.pack %{{[a-z0-9_]+}}[#hova.column_strips<32>] : tensor<?x40xf32> -> tensor<2x?x32xf32>
// CHECK: hova.pack %{{[a-z0-9_]+}}[#hova.transposed<align 16>] : tensor<?x40xf32> -> tensor<40x?xf32>
func.func @packs_unknown_sizes(%w: tensor<?x40xf32>) -> (tensor<2x?x32xf32>, tensor<40x?xf32>) {
  %p = hova.pack %w[#hova.column_strips<32>] : tensor<?x40xf32> -> tensor<2x?x32xf32>
  %t = hova.pack %w[#hova.transposed<align 16>] : tensor<?x40xf32> -> tensor<40x?xf32>
  return %p, %t : tensor<2x?x32xf32>, tensor<40x?xf32>
}

// CHECK-LABEL: @places_a_buffer_in_the_arena
// CHECK: hova.arena_buffer {offset = 64 : i64} : memref<4x8xf32, strided<[16, 1]>>
func.func @places_a_buffer_in_the_arena() -> memref<4x8xf32, strided<[16, 1]>> {
  %r = hova.arena_buffer {offset = 64 : i64} : memref<4x8xf32, strided<[16, 1]>>
  return %r : memref<4x8xf32, strided<[16, 1]>>
}

// CHECK-LABEL: @places_a_buffer_in_the_image
// CHECK: hova.image_buffer {offset = 0 : i64} : memref<4x8xf32, strided<[16, 1]>>
func.func @places_a_buffer_in_the_image() -> memref<4x8xf32, strided<[16, 1]>> {
  %r = hova.image_buffer {offset = 0 : i64} : memref<4x8xf32, strided<[16, 1]>>
  return %r : memref<4x8xf32, strided<[16, 1]>>
}

// CHECK-LABEL: @groups_operations_into_a_kernel
// CHECK-SAME: %[[X:.*]]: tensor<4x8xf32>
// CHECK: hova.kernel "act" units<row 4>(%[[X]]) {
// CHECK-NEXT: ^bb0(%[[A:.*]]: tensor<4x8xf32>):
// CHECK-NEXT: %[[R:.*]] = hova.activation relu %[[A]]
// CHECK-NEXT: hova.yield %[[R]] : tensor<4x8xf32>
func.func @groups_operations_into_a_kernel(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %y = hova.kernel "act" units<row 4> (%x) {
  ^bb0(%a: tensor<4x8xf32>):
    %r = hova.activation relu %a : tensor<4x8xf32>
    hova.yield %r : tensor<4x8xf32>
  } : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

func.func private @callee(memref<4x8xf32>, memref<64xi8>, index, index)

// CHECK-LABEL: @names_dims_of_units
// CHECK: hova.kernel "act" units<batch 4, head 12>(
// CHECK: hova.kernel "act" units<>(
func.func @names_dims_of_units(%x: tensor<4x8xf32>) {
  %y = hova.kernel "act" units<batch 4, head 12> (%x) {
  ^bb0(%a: tensor<4x8xf32>):
    hova.yield %a : tensor<4x8xf32>
  } : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %z = hova.kernel "act" units<> (%x) {
  ^bb0(%a: tensor<4x8xf32>):
    hova.yield %a : tensor<4x8xf32>
  } : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// CHECK-LABEL: @launches_a_kernel_on_chunks_of_costs
// CHECK: %[[ROWS:.*]] = hova.chunk_buffer {offset = 256 : i64, row_bytes_before = 64 : i64} : memref<4x8xf32, strided<[16, 1]>>
// CHECK: hova.launch @of_chunks(%[[ROWS]]) "act" {flops = 0 : i64, shape = #hova_cpu.launch<units = 4, grain = 1, block = 2, costs = [1, 3]>} : (memref<4x8xf32, strided<[16, 1]>>)
func.func @launches_a_kernel_on_chunks_of_costs() {
  %h = hova.chunk_buffer {offset = 256 : i64, row_bytes_before = 64 : i64} : memref<4x8xf32, strided<[16, 1]>>
  hova.launch @of_chunks(%h) "act" {flops = 0 : i64, shape = #hova_cpu.launch<units = 4, grain = 1, block = 2, costs = [1, 3]>} : (memref<4x8xf32, strided<[16, 1]>>)
  return
}
func.func private @of_chunks(memref<4x8xf32, strided<[16, 1]>>, memref<64xi8>, index, index)

// CHECK-LABEL: @launches_a_kernel_function
// CHECK: hova.launch @callee(%{{.*}}) "act" {flops = 0 : i64, shape = #hova_cpu.launch<units = 4, grain = 1>} : (memref<4x8xf32>)
func.func @launches_a_kernel_function(%x: memref<4x8xf32>) {
  hova.launch @callee(%x) "act" {flops = 0 : i64, shape = #hova_cpu.launch<units = 4, grain = 1>} : (memref<4x8xf32>)
  return
}
