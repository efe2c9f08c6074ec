// RUN: hova-opt %s --verify-roundtrip | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// CHECK-LABEL: @rotates_heads_in_halves
// CHECK: hova.rotary halves %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} {heads = 2 : i64} : tensor<2x9x64xf32>, tensor<9x16xf32>
func.func @rotates_heads_in_halves(%x: tensor<2x9x64xf32>, %c: tensor<9x16xf32>, %s: tensor<9x16xf32>) -> tensor<2x9x64xf32> {
  %y = hova.rotary halves %x, %c, %s {heads = 2 : i64} : tensor<2x9x64xf32>, tensor<9x16xf32>
  return %y : tensor<2x9x64xf32>
}

// CHECK-LABEL: @rotates_a_part_of_unknown_tokens
// CHECK: hova.rotary neighbours %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} {heads = 2 : i64} : tensor<?x?x64xf32>, tensor<?x3xf32>
func.func @rotates_a_part_of_unknown_tokens(%x: tensor<?x?x64xf32>, %c: tensor<?x3xf32>, %s: tensor<?x3xf32>) -> tensor<?x?x64xf32> {
  %y = hova.rotary neighbours %x, %c, %s {heads = 2 : i64} : tensor<?x?x64xf32>, tensor<?x3xf32>
  return %y : tensor<?x?x64xf32>
}

// CHECK-LABEL: @rotates_neighbours
// CHECK: hova.rotate %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} : tensor<9x64xf32>, tensor<9x32xf32>
func.func @rotates_neighbours(%x: tensor<9x64xf32>, %c: tensor<9x32xf32>, %s: tensor<9x32xf32>) -> tensor<9x64xf32> {
  %y = hova.rotate %x, %c, %s : tensor<9x64xf32>, tensor<9x32xf32>
  return %y : tensor<9x64xf32>
}

// CHECK-LABEL: @rotates_at_a_distance
// CHECK: hova.rotate %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} {distance = 5 : i64} : tensor<2x9x64xf32>, tensor<9x32xf32>
func.func @rotates_at_a_distance(%x: tensor<2x9x64xf32>, %c: tensor<9x32xf32>, %s: tensor<9x32xf32>) -> tensor<2x9x64xf32> {
  %y = hova.rotate %x, %c, %s {distance = 5 : i64} : tensor<2x9x64xf32>, tensor<9x32xf32>
  return %y : tensor<2x9x64xf32>
}
