// RUN: hova-opt %s --verify-roundtrip | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// CHECK-LABEL: @looks_rows_up
// CHECK: hova.embedding %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} : tensor<2x7xi32>, tensor<100x64xf32> -> tensor<2x7x64xf32>
func.func @looks_rows_up(%ids: tensor<2x7xi32>, %t: tensor<100x64xf32>) -> tensor<2x7x64xf32> {
  %r = hova.embedding %ids, %t : tensor<2x7xi32>, tensor<100x64xf32> -> tensor<2x7x64xf32>
  return %r : tensor<2x7x64xf32>
}

// CHECK-LABEL: @takes_columns
// CHECK: hova.embedding %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} {transposed} : tensor<2x7xi32>, tensor<64x100xf32> -> tensor<2x7x64xf32>
func.func @takes_columns(%ids: tensor<2x7xi32>, %t: tensor<64x100xf32>) -> tensor<2x7x64xf32> {
  %r = hova.embedding %ids, %t {transposed} : tensor<2x7xi32>, tensor<64x100xf32> -> tensor<2x7x64xf32>
  return %r : tensor<2x7x64xf32>
}

// CHECK-LABEL: @makes_interleaved_positions
// CHECK: hova.sinusoid interleaved : tensor<64x51xf32>
func.func @makes_interleaved_positions() -> tensor<64x51xf32> {
  %r = hova.sinusoid interleaved : tensor<64x51xf32>
  return %r : tensor<64x51xf32>
}

// CHECK-LABEL: @makes_split_positions
// CHECK: hova.sinusoid split : tensor<64x50xf32>
func.func @makes_split_positions() -> tensor<64x50xf32> {
  %r = hova.sinusoid split : tensor<64x50xf32>
  return %r : tensor<64x50xf32>
}

// CHECK-LABEL: @makes_positions_of_another_base
// CHECK: hova.sinusoid split {base = 5.000000e+02 : f64} : tensor<64x50xf32>
func.func @makes_positions_of_another_base() -> tensor<64x50xf32> {
  %r = hova.sinusoid split {base = 500.0 : f64} : tensor<64x50xf32>
  return %r : tensor<64x50xf32>
}

// CHECK-LABEL: @embeds_patches
// CHECK: hova.patch_embedding %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} bias(%{{[a-z0-9_]+}}) {patch = 16 : i64} : tensor<1x3x32x32xf32>, tensor<768x64xf32>, tensor<64xf32> -> tensor<1x4x64xf32>
func.func @embeds_patches(%i: tensor<1x3x32x32xf32>, %w: tensor<768x64xf32>, %b: tensor<64xf32>) -> tensor<1x4x64xf32> {
  %r = hova.patch_embedding %i, %w bias(%b) {patch = 16 : i64} : tensor<1x3x32x32xf32>, tensor<768x64xf32>, tensor<64xf32> -> tensor<1x4x64xf32>
  return %r : tensor<1x4x64xf32>
}

// CHECK-LABEL: @unfolds_an_image
// CHECK: hova.unfold %{{[a-z0-9_]+}} {kernel = array<i64: 7, 7>, padding = array<i64: 2, 2>, stride = array<i64: 4, 4>} : tensor<1x3x224x224xf32> -> tensor<1x3136x147xf32>
func.func @unfolds_an_image(%i: tensor<1x3x224x224xf32>) -> tensor<1x3136x147xf32> {
  %r = hova.unfold %i {kernel = array<i64: 7, 7>, stride = array<i64: 4, 4>, padding = array<i64: 2, 2>} : tensor<1x3x224x224xf32> -> tensor<1x3136x147xf32>
  return %r : tensor<1x3136x147xf32>
}

// CHECK-LABEL: @unfolds_squares
// CHECK: hova.unfold %{{[a-z0-9_]+}} {kernel = array<i64: 4, 4>, stride = array<i64: 4, 4>, within = 16 : i64} : tensor<2x3x32x48xf32> -> tensor<12x16x48xf32>
func.func @unfolds_squares(%i: tensor<2x3x32x48xf32>) -> tensor<12x16x48xf32> {
  %r = hova.unfold %i {kernel = array<i64: 4, 4>, stride = array<i64: 4, 4>, padding = array<i64: 0, 0>, within = 16 : i64} : tensor<2x3x32x48xf32> -> tensor<12x16x48xf32>
  return %r : tensor<12x16x48xf32>
}

// CHECK-LABEL: @unfolds_tokens
// CHECK: hova.unfold %{{[a-z0-9_]+}} {grid = array<i64: 5, 7>, kernel = array<i64: 3, 3>, padding = array<i64: 1, 1>, stride = array<i64: 2, 2>} : tensor<?x35x8xf32> -> tensor<?x12x72xf32>
func.func @unfolds_tokens(%x: tensor<?x35x8xf32>) -> tensor<?x12x72xf32> {
  %r = hova.unfold %x {grid = array<i64: 5, 7>, kernel = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 1, 1>} : tensor<?x35x8xf32> -> tensor<?x12x72xf32>
  return %r : tensor<?x12x72xf32>
}

// CHECK-LABEL: @pads
// CHECK: hova.pad %{{[a-z0-9_]+}} {axis = 1 : i64, before = 1 : i64} : tensor<2x4x8xf32> -> tensor<2x7x8xf32>
func.func @pads(%x: tensor<2x4x8xf32>) -> tensor<2x7x8xf32> {
  %r = hova.pad %x {axis = 1 : i64, before = 1 : i64} : tensor<2x4x8xf32> -> tensor<2x7x8xf32>
  return %r : tensor<2x7x8xf32>
}

// CHECK-LABEL: @repeats
// CHECK: hova.repeat %{{[a-z0-9_]+}} : tensor<4x8xf32> -> tensor<3x4x8xf32>
func.func @repeats(%x: tensor<4x8xf32>) -> tensor<3x4x8xf32> {
  %r = hova.repeat %x : tensor<4x8xf32> -> tensor<3x4x8xf32>
  return %r : tensor<3x4x8xf32>
}

// CHECK-LABEL: @reshapes
// CHECK: hova.reshape %{{[a-z0-9_]+}} : tensor<6x16x24xf32> -> tensor<2x3x384xf32>
func.func @reshapes(%x: tensor<6x16x24xf32>) -> tensor<2x3x384xf32> {
  %r = hova.reshape %x : tensor<6x16x24xf32> -> tensor<2x3x384xf32>
  return %r : tensor<2x3x384xf32>
}

// CHECK-LABEL: @prepends_a_token
// CHECK: hova.class_token %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} : tensor<2x4x8xf32>, tensor<8xf32> -> tensor<2x5x8xf32>
func.func @prepends_a_token(%x: tensor<2x4x8xf32>, %t: tensor<8xf32>) -> tensor<2x5x8xf32> {
  %r = hova.class_token %x, %t : tensor<2x4x8xf32>, tensor<8xf32> -> tensor<2x5x8xf32>
  return %r : tensor<2x5x8xf32>
}

// CHECK-LABEL: @pools_the_first_token
// CHECK: hova.pool first %{{[a-z0-9_]+}} : tensor<2x4x8xf32> -> tensor<2x8xf32>
func.func @pools_the_first_token(%x: tensor<2x4x8xf32>) -> tensor<2x8xf32> {
  %r = hova.pool first %x : tensor<2x4x8xf32> -> tensor<2x8xf32>
  return %r : tensor<2x8xf32>
}

// CHECK-LABEL: @pools_all_tokens
// CHECK: hova.pool mean %{{[a-z0-9_]+}} : tensor<2x4x8xf32> -> tensor<2x8xf32>
func.func @pools_all_tokens(%x: tensor<2x4x8xf32>) -> tensor<2x8xf32> {
  %r = hova.pool mean %x : tensor<2x4x8xf32> -> tensor<2x8xf32>
  return %r : tensor<2x8xf32>
}

// CHECK-LABEL: @finds_padding
// CHECK: hova.padding_mask %{{[a-z0-9_]+}} {pad = 0 : i64} : tensor<2x7xi32> -> tensor<2x7xi1>
func.func @finds_padding(%ids: tensor<2x7xi32>) -> tensor<2x7xi1> {
  %r = hova.padding_mask %ids {pad = 0 : i64} : tensor<2x7xi32> -> tensor<2x7xi1>
  // CHECK: hova.padding_mask %{{[a-z0-9_]+}} {class_token, pad = 0 : i64} : tensor<2x7xi32> -> tensor<2x8xi1>
  %s = hova.padding_mask %ids {class_token, pad = 0 : i64} : tensor<2x7xi32> -> tensor<2x8xi1>
  return %r : tensor<2x7xi1>
}

// CHECK-LABEL: @interleaves_states
// CHECK: hova.index_sort %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} : tensor<2x4x8xf32> -> tensor<2x8x8xf32>
func.func @interleaves_states(%x: tensor<2x4x8xf32>, %y: tensor<2x4x8xf32>) -> tensor<2x8x8xf32> {
  %r = hova.index_sort %x, %y : tensor<2x4x8xf32> -> tensor<2x8x8xf32>
  return %r : tensor<2x8x8xf32>
}

// CHECK-LABEL: @pools_layers
// CHECK: hova.layer_pool %{{[a-z0-9_]+}} {layers = 2 : i64} : tensor<2x8x8xf32> -> tensor<2x4x8xf32>
func.func @pools_layers(%x: tensor<2x8x8xf32>) -> tensor<2x4x8xf32> {
  %r = hova.layer_pool %x {layers = 2 : i64} : tensor<2x8x8xf32> -> tensor<2x4x8xf32>
  return %r : tensor<2x4x8xf32>
}

// CHECK-LABEL: @joins_columns
// CHECK: hova.concat %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} {axis = 2 : i64} : tensor<2x4x8xf32>, tensor<2x4x3xf32> -> tensor<2x4x11xf32>
func.func @joins_columns(%x: tensor<2x4x8xf32>, %y: tensor<2x4x3xf32>) -> tensor<2x4x11xf32> {
  %r = hova.concat %x, %y {axis = 2 : i64} : tensor<2x4x8xf32>, tensor<2x4x3xf32> -> tensor<2x4x11xf32>
  return %r : tensor<2x4x11xf32>
}

// CHECK-LABEL: @cuts_columns
// CHECK: hova.slice %{{[a-z0-9_]+}} {axis = 2 : i64, offset = 3 : i64} : tensor<2x4x8xf32> -> tensor<2x4x5xf32>
func.func @cuts_columns(%x: tensor<2x4x8xf32>) -> tensor<2x4x5xf32> {
  %r = hova.slice %x {axis = 2 : i64, offset = 3 : i64} : tensor<2x4x8xf32> -> tensor<2x4x5xf32>
  return %r : tensor<2x4x5xf32>
}

// CHECK-LABEL: @pools_unknown_tokens
// CHECK: hova.pool mean %{{[a-z0-9_]+}} : tensor<?x?x8xf32> -> tensor<?x8xf32>
func.func @pools_unknown_tokens(%x: tensor<?x?x8xf32>) -> tensor<?x8xf32> {
  %r = hova.pool mean %x : tensor<?x?x8xf32> -> tensor<?x8xf32>
  return %r : tensor<?x8xf32>
}

// CHECK-LABEL: @unfolds_along_one_axis
// CHECK: hova.unfold %{{[a-z0-9_]+}} {dilation = array<i64: 2, 1>, grid = array<i64: 9, 1>, kernel = array<i64: 3, 1>, padding = array<i64: 1, 0>, stride = array<i64: 2, 1>} : tensor<2x9x8xf32> -> tensor<2x4x24xf32>
func.func @unfolds_along_one_axis(%x: tensor<2x9x8xf32>) -> tensor<2x4x24xf32> {
  %r = hova.unfold %x {dilation = array<i64: 2, 1>, grid = array<i64: 9, 1>, kernel = array<i64: 3, 1>, padding = array<i64: 1, 0>, stride = array<i64: 2, 1>} : tensor<2x9x8xf32> -> tensor<2x4x24xf32>
  return %r : tensor<2x4x24xf32>
}

// CHECK-LABEL: @pools_what_is_kept
// CHECK: hova.pool max %{{[a-z0-9_]+}} by %{{[a-z0-9_]+}} : tensor<2x?x8xf32>, tensor<2x7xi1> -> tensor<2x8xf32>
// CHECK: hova.pool token %{{[a-z0-9_]+}} by %{{[a-z0-9_]+}} {id = 4 : i64} : tensor<2x?x8xf32>, tensor<2x7xi64> -> tensor<2x8xf32>
func.func @pools_what_is_kept(%x: tensor<2x?x8xf32>, %v: tensor<2x7xi1>, %i: tensor<2x7xi64>) -> (tensor<2x8xf32>, tensor<2x8xf32>) {
  %m = hova.pool max %x by %v : tensor<2x?x8xf32>, tensor<2x7xi1> -> tensor<2x8xf32>
  %t = hova.pool token %x by %i {id = 4 : i64} : tensor<2x?x8xf32>, tensor<2x7xi64> -> tensor<2x8xf32>
  return %m, %t : tensor<2x8xf32>, tensor<2x8xf32>
}

// CHECK-LABEL: @numbers_tokens
// CHECK: hova.position_ids %{{[a-z0-9_]+}} : tensor<2x7xi1> -> tensor<2x7xi32>
func.func @numbers_tokens(%v: tensor<2x7xi1>) -> tensor<2x7xi32> {
  %r = hova.position_ids %v : tensor<2x7xi1> -> tensor<2x7xi32>
  return %r : tensor<2x7xi32>
}

// CHECK-LABEL: @counts_tokens
// CHECK: hova.position_ids %{{[a-z0-9_]+}} {counted, offset = 2 : i64} : tensor<2x?xi1> -> tensor<2x?xi32>
func.func @counts_tokens(%v: tensor<2x?xi1>) -> tensor<2x?xi32> {
  %r = hova.position_ids %v {counted, offset = 2 : i64} : tensor<2x?xi1> -> tensor<2x?xi32>
  return %r : tensor<2x?xi32>
}

// CHECK-LABEL: @makes_factors
// CHECK: hova.mask_factors %{{[a-z0-9_]+}} : tensor<2x7xi1> -> tensor<2x7x1xf32>
func.func @makes_factors(%v: tensor<2x7xi1>) -> tensor<2x7x1xf32> {
  %r = hova.mask_factors %v : tensor<2x7xi1> -> tensor<2x7x1xf32>
  return %r : tensor<2x7x1xf32>
}
