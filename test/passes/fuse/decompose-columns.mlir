// RUN: hova-opt %s --split-input-file --hova-decompose-columns=column-group-width=64 | FileCheck %s
// RUN: hova-opt %s --split-input-file --hova-decompose-columns=column-group-width=64 --hova-decompose-columns=column-group-width=64 | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// Two slices are read in 16 bits, two in f32: each type is stored once.
// CHECK-LABEL: func.func @main
// CHECK: %[[Y:.*]] = hova.linear
// CHECK-NEXT: %[[A:.*]] = hova.slice %[[Y]] {axis = 2 : i64, offset = 0 : i64} : tensor<1x4x320xf32> -> tensor<1x4x128xf32>
// CHECK-NEXT: %[[C:.*]] = hova.convert %[[A]] : tensor<1x4x128xf32> -> tensor<1x4x128xbf16>
// CHECK-NEXT: %[[B:.*]] = hova.slice %[[Y]] {axis = 2 : i64, offset = 128 : i64} : tensor<1x4x320xf32> -> tensor<1x4x192xf32>
// CHECK-NEXT: hova.slice %[[C]] {axis = 2 : i64, offset = 0 : i64} : tensor<1x4x128xbf16> -> tensor<1x4x64xbf16>
// CHECK-NEXT: hova.slice %[[C]] {axis = 2 : i64, offset = 64 : i64} : tensor<1x4x128xbf16> -> tensor<1x4x64xbf16>
// CHECK-NEXT: hova.slice %[[B]] {axis = 2 : i64, offset = 0 : i64} : tensor<1x4x192xf32> -> tensor<1x4x64xf32>
// CHECK-NEXT: hova.slice %[[B]] {axis = 2 : i64, offset = 64 : i64} : tensor<1x4x192xf32> -> tensor<1x4x128xf32>
// CHECK-NEXT: return
func.func @main(%x: tensor<1x4x64xbf16>, %w: tensor<64x320xbf16>)
    -> (tensor<1x4x64xbf16>, tensor<1x4x64xbf16>, tensor<1x4x64xf32>, tensor<1x4x128xf32>) {
  %y = hova.linear %x, %w : tensor<1x4x64xbf16>, tensor<64x320xbf16> -> tensor<1x4x320xf32>
  %c = hova.convert %y : tensor<1x4x320xf32> -> tensor<1x4x320xbf16>
  %q = hova.slice %c {axis = 2 : i64, offset = 0 : i64} : tensor<1x4x320xbf16> -> tensor<1x4x64xbf16>
  %k = hova.slice %c {axis = 2 : i64, offset = 64 : i64} : tensor<1x4x320xbf16> -> tensor<1x4x64xbf16>
  %s = hova.slice %y {axis = 2 : i64, offset = 128 : i64} : tensor<1x4x320xf32> -> tensor<1x4x64xf32>
  %u = hova.slice %y {axis = 2 : i64, offset = 192 : i64} : tensor<1x4x320xf32> -> tensor<1x4x128xf32>
  return %q, %k, %s, %u : tensor<1x4x64xbf16>, tensor<1x4x64xbf16>, tensor<1x4x64xf32>, tensor<1x4x128xf32>
}

// -----

// A run that begins inside of a group of columns: its columns would share a tile.
// CHECK-LABEL: func.func @main
// CHECK: %[[Y:.*]] = hova.linear {{.*}}fired = false, fires_if = "each type's are whole column groups", why = "columns of two types share a column group of 64"
// CHECK-NEXT: hova.convert %[[Y]]
func.func @main(%x: tensor<1x4x64xbf16>, %w: tensor<64x128xbf16>)
    -> (tensor<1x4x40xbf16>, tensor<1x4x88xf32>) {
  %y = hova.linear %x, %w : tensor<1x4x64xbf16>, tensor<64x128xbf16> -> tensor<1x4x128xf32>
  %c = hova.convert %y : tensor<1x4x128xf32> -> tensor<1x4x128xbf16>
  %q = hova.slice %c {axis = 2 : i64, offset = 0 : i64} : tensor<1x4x128xbf16> -> tensor<1x4x40xbf16>
  %u = hova.slice %y {axis = 2 : i64, offset = 40 : i64} : tensor<1x4x128xf32> -> tensor<1x4x88xf32>
  return %q, %u : tensor<1x4x40xbf16>, tensor<1x4x88xf32>
}

// -----

// Columns that are read both ways.
// CHECK-LABEL: func.func @main
// CHECK: %[[Y:.*]] = hova.linear
// CHECK-NEXT: hova.convert %[[Y]]
func.func @main(%x: tensor<1x4x64xbf16>, %w: tensor<64x128xbf16>)
    -> (tensor<1x4x64xbf16>, tensor<1x4x128xf32>) {
  %y = hova.linear %x, %w : tensor<1x4x64xbf16>, tensor<64x128xbf16> -> tensor<1x4x128xf32>
  %c = hova.convert %y : tensor<1x4x128xf32> -> tensor<1x4x128xbf16>
  %q = hova.slice %c {axis = 2 : i64, offset = 0 : i64} : tensor<1x4x128xbf16> -> tensor<1x4x64xbf16>
  %u = hova.slice %y {axis = 2 : i64, offset = 0 : i64} : tensor<1x4x128xf32> -> tensor<1x4x128xf32>
  return %q, %u : tensor<1x4x64xbf16>, tensor<1x4x128xf32>
}

// -----

// A reader of all columns.
// CHECK-LABEL: func.func @main
// CHECK: %[[Y:.*]] = hova.linear {{.*}}fired = false, fires_if = "slices of columns alone read the product", why = "something reads all columns: 'hova.activation'"
// CHECK-NEXT: hova.convert %[[Y]]
func.func @main(%x: tensor<1x4x64xbf16>, %w: tensor<64x128xbf16>)
    -> (tensor<1x4x64xbf16>, tensor<1x4x64xf32>, tensor<1x4x128xf32>) {
  %y = hova.linear %x, %w : tensor<1x4x64xbf16>, tensor<64x128xbf16> -> tensor<1x4x128xf32>
  %c = hova.convert %y : tensor<1x4x128xf32> -> tensor<1x4x128xbf16>
  %q = hova.slice %c {axis = 2 : i64, offset = 0 : i64} : tensor<1x4x128xbf16> -> tensor<1x4x64xbf16>
  %u = hova.slice %y {axis = 2 : i64, offset = 64 : i64} : tensor<1x4x128xf32> -> tensor<1x4x64xf32>
  %r = hova.activation relu %y : tensor<1x4x128xf32>
  return %q, %u, %r : tensor<1x4x64xbf16>, tensor<1x4x64xf32>, tensor<1x4x128xf32>
}

// -----

// Nothing to decide: all that is read has one type, or no column is a value.
// CHECK-LABEL: func.func @main
// CHECK-NOT: hova.rewrites
func.func @main(%x: tensor<1x4x64xbf16>, %w: tensor<64x128xbf16>)
    -> (tensor<1x4x64xf32>, tensor<1x4x128xf32>, tensor<1x4x128xbf16>, tensor<1x4x128xf32>) {
  %y = hova.linear %x, %w : tensor<1x4x64xbf16>, tensor<64x128xbf16> -> tensor<1x4x128xf32>
  %u = hova.slice %y {axis = 2 : i64, offset = 64 : i64} : tensor<1x4x128xf32> -> tensor<1x4x64xf32>
  %r = hova.activation relu %y : tensor<1x4x128xf32>
  %z = hova.linear %x, %w : tensor<1x4x64xbf16>, tensor<64x128xbf16> -> tensor<1x4x128xf32>
  %c = hova.convert %z : tensor<1x4x128xf32> -> tensor<1x4x128xbf16>
  %s = hova.activation relu %z : tensor<1x4x128xf32>
  return %u, %r, %c, %s : tensor<1x4x64xf32>, tensor<1x4x128xf32>, tensor<1x4x128xbf16>, tensor<1x4x128xf32>
}
