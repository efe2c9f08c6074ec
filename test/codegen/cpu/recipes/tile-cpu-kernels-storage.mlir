// Buffers of numbers of 16 bits.

// RUN: hova-opt %s --split-input-file --hova-tile-cpu-kernels --canonicalize --cse | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// A norm leaves rows of bf16 for the product after, padded to whole lines of 32.
// The panels hold pairs of rows: a chunk of 176 rows begins at half its row. The
// image has 2 panels of 257 pairs of 64 columns, and the table after it.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: hova.arena_bytes = 0 : i64, hova.image_bytes = 133696 : i64
// CHECK-DAG: hova.image_buffer {offset = 0 : i64} : memref<2x257x64xi32>
// CHECK-DAG: hova.image_buffer {offset = 131584 : i64} : memref<1x513xf32>
// CHECK-DAG: hova.chunk_buffer : memref<9x513xbf16, strided<[544, 1]>>
// CHECK-LABEL: func.func private @weights()
// CHECK: hova.pack %{{.*}}[#hova.column_strips<64, interleave 2>] : tensor<513x70xbf16> -> tensor<2x257x64x2xbf16>
// CHECK-LABEL: func.func private @kernel_stores_pairs(
// CHECK: math.sqrt
// CHECK: %[[NORMAL:.*]] = math.fma
// CHECK: %[[NARROW:.*]] = arith.truncf %[[NORMAL]] {{.*}} to vector<1x{{.*}}xbf16>
// CHECK: %[[WIDE:.*]] = arith.extf %[[NARROW]]
// CHECK: hova_cpu.tile_store %[[WIDE]], %{{.*}} : vector<1x{{.*}}xf32>, memref<9x513xbf16, strided<[544, 1]>>
// CHECK: scf.for %[[FROM:.*]] = %c0 to %c352 step %c176
// CHECK: %[[PAIR:.*]] = arith.divui %[[FROM]], %c2
// CHECK: hova_cpu.tile_product %{{.*}}[%{{.*}}, %[[FROM]]], %{{.*}}[%{{.*}}, %[[PAIR]], %{{.*}}] depth %c176 {{.*}} : memref<9x513xbf16, strided<[544, 1]>>, memref<2x257x64xi32>
// CHECK: hova_cpu.tile_product %{{.*}}[%{{.*}}, %c352], %{{.*}}[%{{.*}}, %c176, %{{.*}}] depth %c161
func.func @main(%x: tensor<1x9x513xf32>) -> tensor<1x9x70xf32> {
  %w = hova.image_weight "w" {layout = #hova.column_strips<64, interleave 2>} : tensor<513x70xbf16>
  %g = hova.image_weight "g" : tensor<513xf32>
  %out = hova.kernel "stores_pairs" units<batch 1, token 9> (%x, %w, %g) attributes {schedule = #hova_cpu.schedule<tile = 6x64, lanes = 64, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%x_: tensor<1x9x513xf32>, %w_: tensor<513x70xbf16>, %g_: tensor<513xf32>):
    %c_out = hova.stage [#hova.layout<rows 544>] {
      %n = hova.layer_norm %x_, %g_, %g_ {eps = 1.0e-6 : f64} : tensor<1x9x513xf32>, tensor<513xf32>
      %c = hova.convert %n : tensor<1x9x513xf32> -> tensor<1x9x513xbf16>
      hova.yield %c : tensor<1x9x513xbf16>
    } : tensor<1x9x513xbf16>
    %r_out = hova.stage [#hova.layout<rows 70>] {
      %r = hova.linear %c_out, %w_ : tensor<1x9x513xbf16>, tensor<513x70xbf16> -> tensor<1x9x70xf32>
      hova.yield %r : tensor<1x9x70xf32>
    } : tensor<1x9x70xf32>
    hova.yield %r_out : tensor<1x9x70xf32>
  } : (tensor<1x9x513xf32>, tensor<513x70xbf16>, tensor<513xf32>) -> tensor<1x9x70xf32>
  return %out : tensor<1x9x70xf32>
}
func.func private @weights() {
  %w = hova.weight "w" : tensor<513x70xf32>
  %c = hova.convert %w : tensor<513x70xf32> -> tensor<513x70xbf16>
  hova.store_weight "w", %c : tensor<513x70xbf16>
  %g = hova.weight "g" : tensor<513xf32>
  hova.store_weight "g", %g : tensor<513xf32>
  return
}

// -----

// f16 has no instruction for pairs.
// CHECK-LABEL: func.func private @weights()
// CHECK: hova.pack %{{.*}}[#hova.column_strips<64>] : tensor<8x16xf16> -> tensor<1x8x64xf16>
// CHECK-LABEL: func.func private @kernel_reads_rows_of_f16(
// CHECK-SAME: %[[X:.*]]: memref<4x8xf16> {llvm.noalias}, %[[W:.*]]: memref<1x8x64xf16>
// CHECK: hova_cpu.tile_product %[[X]][%{{.*}}], %[[W]][%{{.*}}] depth %c8
func.func @main(%x: tensor<1x4x8xf16>) -> tensor<1x4x16xf32> {
  %w = hova.image_weight "w" {layout = #hova.column_strips<64>} : tensor<8x16xf16>
  %out = hova.kernel "reads_rows_of_f16" units<batch 1, token 4> (%x, %w) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%x_: tensor<1x4x8xf16>, %w_: tensor<8x16xf16>):
    %r_out = hova.stage [#hova.layout<rows 16>] {
      %r = hova.linear %x_, %w_ : tensor<1x4x8xf16>, tensor<8x16xf16> -> tensor<1x4x16xf32>
      hova.yield %r : tensor<1x4x16xf32>
    } : tensor<1x4x16xf32>
    hova.yield %r_out : tensor<1x4x16xf32>
  } : (tensor<1x4x8xf16>, tensor<8x16xf16>) -> tensor<1x4x16xf32>
  return %out : tensor<1x4x16xf32>
}
func.func private @weights() {
  %w = hova.weight "w" : tensor<8x16xf16>
  hova.store_weight "w", %w : tensor<8x16xf16>
  return
}

// -----

// A gathered row of a table is widened.
// CHECK-LABEL: func.func private @kernel_widens_rows(
// CHECK: %[[ROW:.*]] = vector.load %{{.*}} : memref<100x32xbf16>, vector<32xbf16>
// CHECK: arith.extf %[[ROW]] : vector<32xbf16> to vector<32xf32>
func.func @main(%ids: tensor<1x4xi32>) -> tensor<1x4x32xf32> {
  %t = hova.image_weight "t" : tensor<100x32xbf16>
  %out = hova.kernel "widens_rows" units<batch 1, token 4> (%ids, %t) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%i_: tensor<1x4xi32>, %t_: tensor<100x32xbf16>):
    %r_out = hova.stage [#hova.layout<rows 32>] {
      %r = hova.embedding %i_, %t_ : tensor<1x4xi32>, tensor<100x32xbf16> -> tensor<1x4x32xf32>
      hova.yield %r : tensor<1x4x32xf32>
    } : tensor<1x4x32xf32>
    hova.yield %r_out : tensor<1x4x32xf32>
  } : (tensor<1x4xi32>, tensor<100x32xbf16>) -> tensor<1x4x32xf32>
  return %out : tensor<1x4x32xf32>
}
func.func private @weights() {
  %t = hova.weight "t" : tensor<100x32xbf16>
  hova.store_weight "t", %t : tensor<100x32xbf16>
  return
}
