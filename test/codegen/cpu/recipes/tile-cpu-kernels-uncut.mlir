// Tables of which a program reads the first rows are stored uncut.

// RUN: hova-opt %s --split-input-file --hova-tile-cpu-kernels --canonicalize --cse | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// The image has all 128 rows, whatever number of them is read, and the name of
// a table that nobody cuts.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: hova.image_bytes = 4096 : i64
// CHECK: hova.image_buffer {offset = 0 : i64} : memref<9x8xf32>
// CHECK-LABEL: func.func private @weights()
// CHECK-NEXT: %[[T:.*]] = hova.weight "t" : tensor<128x8xf32>
// CHECK-NEXT: hova.store_weight "t", %[[T]] {hova.offset = 0 : i64} : tensor<128x8xf32>
// CHECK-NEXT: return
func.func @main(%x: tensor<1x9x8xf32>) -> tensor<1x9x8xf32> {
  %t = hova.image_weight "t.slice" : tensor<9x8xf32>
  %y = hova.kernel "layer" units<batch 1, token 9> (%x, %t) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%a: tensor<1x9x8xf32>, %b: tensor<9x8xf32>):
    %p_out = hova.stage [#hova.layout<rows 8>] {
      %p = hova.add %a, %b : tensor<1x9x8xf32>, tensor<9x8xf32>
      hova.yield %p : tensor<1x9x8xf32>
    } : tensor<1x9x8xf32>
    hova.yield %p_out : tensor<1x9x8xf32>
  } : (tensor<1x9x8xf32>, tensor<9x8xf32>) -> tensor<1x9x8xf32>
  return %y : tensor<1x9x8xf32>
}
func.func private @weights() {
  %t = hova.weight "t" : tensor<128x8xf32>
  %s = hova.slice %t {axis = 0 : i64, offset = 0 : i64} : tensor<128x8xf32> -> tensor<9x8xf32>
  hova.store_weight "t.slice", %s : tensor<9x8xf32>
  return
}

// -----

// Rows from the fifth on do not begin where the table does.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: hova.image_bytes = 320 : i64
// CHECK-LABEL: func.func private @weights()
// CHECK: hova.slice
// CHECK: hova.store_weight "t.slice", %{{.*}} {hova.offset = 0 : i64} : tensor<9x8xf32>
func.func @main(%x: tensor<1x9x8xf32>) -> tensor<1x9x8xf32> {
  %t = hova.image_weight "t.slice" : tensor<9x8xf32>
  %y = hova.kernel "layer" units<batch 1, token 9> (%x, %t) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%a: tensor<1x9x8xf32>, %b: tensor<9x8xf32>):
    %p_out = hova.stage [#hova.layout<rows 8>] {
      %p = hova.add %a, %b : tensor<1x9x8xf32>, tensor<9x8xf32>
      hova.yield %p : tensor<1x9x8xf32>
    } : tensor<1x9x8xf32>
    hova.yield %p_out : tensor<1x9x8xf32>
  } : (tensor<1x9x8xf32>, tensor<9x8xf32>) -> tensor<1x9x8xf32>
  return %y : tensor<1x9x8xf32>
}
func.func private @weights() {
  %t = hova.weight "t" : tensor<128x8xf32>
  %s = hova.slice %t {axis = 0 : i64, offset = 5 : i64} : tensor<128x8xf32> -> tensor<9x8xf32>
  hova.store_weight "t.slice", %s : tensor<9x8xf32>
  return
}

// -----

// Two readers of one table: uncut, it would be stored twice.
// CHECK-LABEL: func.func @main(
// CHECK-LABEL: func.func private @weights()
// CHECK: hova.store_weight "t", %{{.*}} {hova.offset = 0 : i64} : tensor<128x8xf32>
// CHECK: hova.slice
// CHECK: hova.store_weight "t.slice", %{{.*}} {hova.offset = 4096 : i64} : tensor<9x8xf32>
func.func @main(%x: tensor<1x9x8xf32>, %z: tensor<1x128x8xf32>) -> (tensor<1x9x8xf32>, tensor<1x128x8xf32>) {
  %whole = hova.image_weight "t" : tensor<128x8xf32>
  %t = hova.image_weight "t.slice" : tensor<9x8xf32>
  %y = hova.kernel "layer" units<batch 1, token 9> (%x, %t) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%a: tensor<1x9x8xf32>, %b: tensor<9x8xf32>):
    %p_out = hova.stage [#hova.layout<rows 8>] {
      %p = hova.add %a, %b : tensor<1x9x8xf32>, tensor<9x8xf32>
      hova.yield %p : tensor<1x9x8xf32>
    } : tensor<1x9x8xf32>
    hova.yield %p_out : tensor<1x9x8xf32>
  } : (tensor<1x9x8xf32>, tensor<9x8xf32>) -> tensor<1x9x8xf32>
  %u = hova.kernel "other" units<batch 1, token 128> (%z, %whole) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%a: tensor<1x128x8xf32>, %b: tensor<128x8xf32>):
    %p_out = hova.stage [#hova.layout<rows 8>] {
      %p = hova.add %a, %b : tensor<1x128x8xf32>, tensor<128x8xf32>
      hova.yield %p : tensor<1x128x8xf32>
    } : tensor<1x128x8xf32>
    hova.yield %p_out : tensor<1x128x8xf32>
  } : (tensor<1x128x8xf32>, tensor<128x8xf32>) -> tensor<1x128x8xf32>
  return %y, %u : tensor<1x9x8xf32>, tensor<1x128x8xf32>
}
func.func private @weights() {
  %t = hova.weight "t" : tensor<128x8xf32>
  hova.store_weight "t", %t : tensor<128x8xf32>
  %s = hova.slice %t {axis = 0 : i64, offset = 0 : i64} : tensor<128x8xf32> -> tensor<9x8xf32>
  hova.store_weight "t.slice", %s : tensor<9x8xf32>
  return
}
