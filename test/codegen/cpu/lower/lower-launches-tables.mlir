// Tables that are part of a program lie after its launches.

// RUN: hova-opt %s --split-input-file --verify-diagnostics --hova-lower-launches | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// 18 words of launches, of which those before the last name the tables (5) at 0
// and 64; tables begin at byte 192. Then up to word 24 nothing, eight words of
// the first table, and that of four bytes a number: 3 and 2, 1 and 0.
// CHECK: llvm.mlir.global external constant @hova_launches(dense<[1, 4, 0, 1, 4, 4, 64, 4, 0, 0, 0, 0, 0, 0, 2, 197, 261, 3,
// CHECK-SAME: 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 8589934595, 1]> : tensor<34xi64>)
// CHECK-SAME: alignment = 64
// CHECK-NOT: @tables
func.func @main(%x: memref<4x8xf32>, %y: memref<4x8xf32>) attributes {hova.arena_bytes = 0 : i64, hova.image_bytes = 0 : i64, hova.inputs = 1 : i64, hova.table_bytes = 80 : i64} {
  %a = hova.table_buffer {offset = 0 : i64} : memref<1x1xi64>
  %b = hova.table_buffer {offset = 64 : i64} : memref<1x4xi32>
  hova.launch @kernel(%x, %a, %b, %y) "a" {flops = 0 : i64, shape = #hova_cpu.launch<units = 4, grain = 4>} : (memref<4x8xf32>, memref<1x1xi64>, memref<1x4xi32>, memref<4x8xf32>)
  return
}
func.func private @tables() {
  %a = arith.constant dense<7> : tensor<1xi64>
  hova.store_weight "a", %a {hova.offset = 0 : i64} : tensor<1xi64>
  %b = arith.constant dense<[3, 2, 1, 0]> : tensor<4xi32>
  hova.store_weight "b", %b {hova.offset = 64 : i64} : tensor<4xi32>
  return
}
func.func private @kernel(%x: memref<4x8xf32>, %a: memref<1x1xi64>, %b: memref<1x4xi32>, %y: memref<4x8xf32>, %scratch: memref<64xi8>, %begin: index, %end: index) {
  return
}

// -----

func.func @main(%x: memref<4x8xf32>) attributes {hova.arena_bytes = 0 : i64, hova.image_bytes = 0 : i64, hova.inputs = 1 : i64, hova.table_bytes = 8 : i64} {
  return
}
func.func private @tables() {
  %a = arith.constant dense<7> : tensor<2xi64>
  // expected-error@+1 {{table 'a' has no place in the 8 bytes of tables}}
  hova.store_weight "a", %a {hova.offset = 0 : i64} : tensor<2xi64>
  return
}

// -----

func.func @main(%x: memref<4x8xf32>) attributes {hova.arena_bytes = 0 : i64, hova.image_bytes = 0 : i64, hova.inputs = 1 : i64, hova.table_bytes = 64 : i64} {
  return
}
func.func private @tables() {
  // expected-error@+1 {{a table cannot depend on weight 'w'}}
  %w = hova.weight "w" : tensor<2x4x1xf32>
  %t = hova.index_table %w : tensor<2x4x1xf32> -> tensor<2x4x1xi32>
  hova.store_weight "a", %t {hova.offset = 0 : i64} : tensor<2x4x1xi32>
  return
}

// -----

// expected-error@+1 {{expects 'hova.table_bytes' from 0 to 1073741824, got -8}}
func.func @main(%x: memref<4x8xf32>) attributes {hova.arena_bytes = 0 : i64, hova.image_bytes = 0 : i64, hova.inputs = 1 : i64, hova.table_bytes = -8 : i64} {
  return
}

// -----

func.func @main(%x: memref<4x8xf32>) attributes {hova.arena_bytes = 0 : i64, hova.image_bytes = 0 : i64, hova.inputs = 1 : i64, hova.table_bytes = 512 : i64} {
  return
}
func.func private @tables() {
  %t = hova.sinusoid interleaved : tensor<4x16xf32>
  // expected-error@+1 {{expects a table of integers of 32 or 64 bits, got 'f32'}}
  hova.store_weight "a", %t {hova.offset = 0 : i64} : tensor<4x16xf32>
  return
}

// -----

func.func @main(%x: memref<4x8xf32>) attributes {hova.arena_bytes = 0 : i64, hova.image_bytes = 0 : i64, hova.inputs = 1 : i64, hova.table_bytes = 512 : i64} {
  return
}
func.func private @tables() {
  %t = arith.constant dense<3> : tensor<16xi32>
  // expected-error@+1 {{table 'a' has no place in the 512 bytes of tables}}
  hova.store_weight "a", %t {hova.offset = 9223372036854775744 : i64} : tensor<16xi32>
  return
}
