// RUN: hova-opt %s --verify-roundtrip | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// CHECK-LABEL: func.func @partition_and_reverse
func.func @partition_and_reverse(%x: tensor<2x24x8xf32>) -> tensor<2x24x8xf32> {
  // CHECK: hova.rearrange %{{.*}}[#hova.window<2x3, shift 1x0, grid 4x6>] : tensor<2x24x8xf32> -> tensor<8x6x8xf32>
  %w = hova.rearrange %x [#hova.window<2x3, shift 1x0, grid 4x6>] : tensor<2x24x8xf32> -> tensor<8x6x8xf32>
  // CHECK: hova.rearrange %{{.*}}[#hova.inverse<#hova.window<2x3, shift 1x0, grid 4x6>>]
  %y = hova.rearrange %w [#hova.inverse<#hova.window<2x3, shift 1x0, grid 4x6>>] : tensor<8x6x8xf32> -> tensor<2x24x8xf32>
  return %y : tensor<2x24x8xf32>
}

// CHECK-LABEL: func.func @merges_dynamic_batch
func.func @merges_dynamic_batch(%x: tensor<?x24x8xf32>) -> tensor<?x6x32xf32> {
  // CHECK: hova.rearrange %{{.*}}[#hova.merge<2x2, grid 4x6>]
  %y = hova.rearrange %x [#hova.merge<2x2, grid 4x6>] : tensor<?x24x8xf32> -> tensor<?x6x32xf32>
  return %y : tensor<?x6x32xf32>
}

// CHECK-LABEL: func.func @chain_with_table
func.func @chain_with_table(%x: tensor<1x16x8xf32>) -> tensor<4x4x8xf32> {
  // CHECK: hova.row_table[#hova.chain<#hova.window<2x2, shift 0x0, grid 4x4>, #hova.inverse<#hova.window<4x1, shift 0x0, grid 4x4>>{{.*}} source 1, 16, 8 : tensor<16xi32>
  %t = hova.row_table [#hova.chain<#hova.window<2x2, shift 0x0, grid 4x4>, #hova.inverse<#hova.window<4x1, shift 0x0, grid 4x4>>, #hova.window<2x2, shift 1x1, grid 4x4>>] source 1, 16, 8 : tensor<16xi32>
  // CHECK: hova.rearrange %{{.*}}[#hova.window<2x2, shift 1x1, grid 4x4>] table(%{{.*}} : tensor<16xi32>)
  %y = hova.rearrange %x [#hova.window<2x2, shift 1x1, grid 4x4>] table(%t : tensor<16xi32>) : tensor<1x16x8xf32> -> tensor<4x4x8xf32>
  return %y : tensor<4x4x8xf32>
}

// CHECK-LABEL: func.func @window_tables
func.func @window_tables(%t: tensor<9x3xf32>) -> (tensor<4x3x4x4xf32>, tensor<2x1x4x4xf32>, tensor<4xi32>) {
  // CHECK: hova.window_bias <2x2, shift 1x1, grid 4x4> table(%{{.*}}) {mask_value = -5.000000e+01 : f64}
  %b = hova.window_bias <2x2, shift 1x1, grid 4x4> table(%t) {mask_value = -50.0 : f64} : (tensor<9x3xf32>) -> tensor<4x3x4x4xf32>
  // CHECK: hova.window_bias <2x2, shift 0x1, grid 4x4> : () -> tensor<2x1x4x4xf32>
  %m = hova.window_bias <2x2, shift 0x1, grid 4x4> : () -> tensor<2x1x4x4xf32>
  // CHECK: hova.window_bias <2x2, shift 0x1, grid 4x4> {mask_value = 0xFFF0000000000000 : f64}
  %i = hova.window_bias <2x2, shift 0x1, grid 4x4> {mask_value = 0xFFF0000000000000 : f64} : () -> tensor<2x1x4x4xf32>
  // CHECK: hova.window_offsets <2x3, shift 0x0, grid 4x6> reference 8, 8 : tensor<15x2xf32>
  %o = hova.window_offsets <2x3, shift 0x0, grid 4x6> reference 8, 8 : tensor<15x2xf32>
  // CHECK: hova.window_classes <2x2, shift 1x1, grid 4x4> : tensor<4xi32>
  %c = hova.window_classes <2x2, shift 1x1, grid 4x4> : tensor<4xi32>
  return %b, %m, %c : tensor<4x3x4x4xf32>, tensor<2x1x4x4xf32>, tensor<4xi32>
}

// CHECK-LABEL: func.func @kernel_with_placements
func.func @kernel_with_placements(%x: tensor<1x16x8xf32>, %y: tensor<4x4x8xf32>) -> tensor<1x16x8xf32> {
  // CHECK: attributes {input_placements = [#hova.window<2x2, shift 1x1, grid 4x4>, unit], result_placements = [#hova.window<2x2, shift 1x1, grid 4x4>]}
  %r = hova.kernel "sum" units<batch 4, token 4> (%x, %y)
      attributes {input_placements = [#hova.window<2x2, shift 1x1, grid 4x4>, unit],
                  result_placements = [#hova.window<2x2, shift 1x1, grid 4x4>]} {
  ^bb0(%a: tensor<4x4x8xf32>, %b: tensor<4x4x8xf32>):
    %s = hova.add %a, %b : tensor<4x4x8xf32>, tensor<4x4x8xf32>
    hova.yield %s : tensor<4x4x8xf32>
  } : (tensor<1x16x8xf32>, tensor<4x4x8xf32>) -> tensor<1x16x8xf32>
  return %r : tensor<1x16x8xf32>
}
