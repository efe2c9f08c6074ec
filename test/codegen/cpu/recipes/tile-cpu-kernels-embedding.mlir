// Embeddings that take columns of a weight.

// RUN: hova-opt %s --split-input-file --hova-tile-cpu-kernels --canonicalize --cse | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// Elements of a column lie a panel's row apart. They wait in scratch; those of
// the next token, at most the last one, are prefetched meanwhile.
// CHECK-LABEL: func.func private @kernel_takes_columns_of_panels(
// CHECK-SAME: %[[IDS:.*]]: memref<2x3xi32> {llvm.noalias}, %[[TABLE:.*]]: memref<2x40x64xf16> {llvm.noalias}, %[[Y:.*]]: memref<6x40xf32> {llvm.noalias}, %[[SCRATCH:.*]]: memref<160xi8> {llvm.noalias}, %{{.*}}: index, %[[END:.*]]: index)
// CHECK: scf.for %[[ROW:.*]] = %{{.*}} to %[[END]]
// CHECK: %[[LOADED:.*]] = memref.load %[[IDS]]
// CHECK: %[[ID:.*]] = arith.index_cast %[[LOADED]]
// CHECK: %[[AFTER:.*]] = arith.addi %[[ROW]], %c1
// CHECK: %[[LAST:.*]] = arith.subi %[[END]], %c1
// CHECK: arith.minui %[[AFTER]], %[[LAST]]
// CHECK: %[[LOADED_NEXT:.*]] = memref.load %[[IDS]]
// CHECK: %[[NEXT:.*]] = arith.index_cast %[[LOADED_NEXT]]
// CHECK: %[[COPY:.*]] = memref.view %[[SCRATCH]][%c0][] : memref<160xi8> to memref<1x40xf32>
// CHECK: scf.for %[[K:.*]] = %c0 to %c40 step %c1
// CHECK: %[[NEXT_PANEL:.*]] = arith.divui %[[NEXT]], %c64
// CHECK: %[[NEXT_INSIDE:.*]] = arith.remui %[[NEXT]], %c64
// CHECK: memref.prefetch %[[TABLE]][%[[NEXT_PANEL]], %[[K]], %[[NEXT_INSIDE]]], read, locality<2>, data
// CHECK: %[[PANEL:.*]] = arith.divui %[[ID]], %c64
// CHECK: %[[INSIDE:.*]] = arith.remui %[[ID]], %c64
// CHECK: %[[ELEMENT:.*]] = memref.load %[[TABLE]][%[[PANEL]], %[[K]], %[[INSIDE]]]
// CHECK: %[[WIDE:.*]] = arith.extf %[[ELEMENT]] : f16 to f32
// CHECK: memref.store %[[WIDE]], %[[COPY]][%c0, %[[K]]]
// CHECK: vector.load %[[COPY]][%c0, %c0] : {{.*}}, vector<32xf32>
// CHECK: hova_cpu.tile_store %{{.*}}, %[[Y]][%[[ROW]], %c0]
// CHECK: vector.load %[[COPY]][%c0, %c32] : {{.*}}, vector<8xf32>
// CHECK: hova_cpu.tile_store %{{.*}}, %[[Y]][%[[ROW]], %c32]
func.func @main(%x: tensor<2x3xi32>) -> tensor<2x3x40xf32> {
  %t = hova.image_weight "t" {layout = #hova.column_strips<64>} : tensor<40x100xf16>
  %out = hova.kernel "takes_columns_of_panels" units<batch 2, token 3> (%x, %t) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%x_: tensor<2x3xi32>, %t_: tensor<40x100xf16>):
    %r_out = hova.stage [#hova.layout<rows 40>] {
      %r = hova.embedding %x_, %t_ {transposed} : tensor<2x3xi32>, tensor<40x100xf16> -> tensor<2x3x40xf32>
      hova.yield %r : tensor<2x3x40xf32>
    } : tensor<2x3x40xf32>
    hova.yield %r_out : tensor<2x3x40xf32>
  } : (tensor<2x3xi32>, tensor<40x100xf16>) -> tensor<2x3x40xf32>
  return %out : tensor<2x3x40xf32>
}
func.func private @weights() {
  %t = hova.weight "t" : tensor<40x100xf16>
  hova.store_weight "t", %t : tensor<40x100xf16>
  return
}

// -----

// Two elements of bf16 are interleaved: halves of a word, which are the upper ones
// of a number of f32. After an odd last one is room for the zero.
// CHECK-LABEL: func.func private @kernel_takes_columns_of_pairs(
// CHECK-SAME: %[[TABLE:[a-z0-9]*]]: memref<2x21x64xi32> {llvm.noalias}
// CHECK: %[[COPY:.*]] = memref.view %{{.*}}[%c0][] : memref<168xi8> to memref<1x42xf32>
// CHECK: scf.for %[[PAIR:.*]] = %c0 to %c21 step %c1
// CHECK: %[[WORD:.*]] = memref.load %[[TABLE]][%{{.*}}, %[[PAIR]], %{{.*}}]
// CHECK: %[[EVEN:.*]] = arith.muli %[[PAIR]], %c2
// CHECK: %[[LOW:.*]] = arith.shli %[[WORD]], %c16_i32
// CHECK: %[[FIRST:.*]] = arith.bitcast %[[LOW]] : i32 to f32
// CHECK: memref.store %[[FIRST]], %[[COPY]][%c0, %[[EVEN]]]
// CHECK: %[[HIGH:.*]] = arith.andi %[[WORD]], %c-65536_i32
// CHECK: %[[SECOND:.*]] = arith.bitcast %[[HIGH]] : i32 to f32
// CHECK: %[[ODD:.*]] = arith.addi %[[EVEN]], %c1
// CHECK: memref.store %[[SECOND]], %[[COPY]][%c0, %[[ODD]]]
// CHECK: vector.maskedload %[[COPY]][%c0, %c32]
func.func @main(%x: tensor<2x3xi32>) -> tensor<2x3x41xf32> {
  %t = hova.image_weight "t" {layout = #hova.column_strips<64, interleave 2>} : tensor<41x100xbf16>
  %out = hova.kernel "takes_columns_of_pairs" units<batch 2, token 3> (%x, %t) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%x_: tensor<2x3xi32>, %t_: tensor<41x100xbf16>):
    %r_out = hova.stage [#hova.layout<rows 41>] {
      %r = hova.embedding %x_, %t_ {transposed} : tensor<2x3xi32>, tensor<41x100xbf16> -> tensor<2x3x41xf32>
      hova.yield %r : tensor<2x3x41xf32>
    } : tensor<2x3x41xf32>
    hova.yield %r_out : tensor<2x3x41xf32>
  } : (tensor<2x3xi32>, tensor<41x100xbf16>) -> tensor<2x3x41xf32>
  return %out : tensor<2x3x41xf32>
}
func.func private @weights() {
  %t = hova.weight "t" : tensor<41x100xbf16>
  hova.store_weight "t", %t : tensor<41x100xbf16>
  return
}

// -----

// CHECK-LABEL: func.func private @kernel_takes_columns_of_rows(
// CHECK-SAME: %[[TABLE:[a-z0-9]*]]: memref<40x100xf32> {llvm.noalias}
// CHECK: scf.for %[[K:.*]] = %c0 to %c40 step %c1
// CHECK: memref.prefetch %[[TABLE]][%[[K]], %{{.*}}]
// CHECK: %[[ELEMENT:.*]] = memref.load %[[TABLE]][%[[K]], %{{.*}}]
// CHECK: memref.store %[[ELEMENT]]
func.func @main(%x: tensor<2x3xi32>) -> tensor<2x3x40xf32> {
  %t = hova.image_weight "t" : tensor<40x100xf32>
  %out = hova.kernel "takes_columns_of_rows" units<batch 2, token 3> (%x, %t) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%x_: tensor<2x3xi32>, %t_: tensor<40x100xf32>):
    %r_out = hova.stage [#hova.layout<rows 40>] {
      %r = hova.embedding %x_, %t_ {transposed} : tensor<2x3xi32>, tensor<40x100xf32> -> tensor<2x3x40xf32>
      hova.yield %r : tensor<2x3x40xf32>
    } : tensor<2x3x40xf32>
    hova.yield %r_out : tensor<2x3x40xf32>
  } : (tensor<2x3xi32>, tensor<40x100xf32>) -> tensor<2x3x40xf32>
  return %out : tensor<2x3x40xf32>
}
func.func private @weights() {
  %t = hova.weight "t" : tensor<40x100xf32>
  hova.store_weight "t", %t : tensor<40x100xf32>
  return
}
