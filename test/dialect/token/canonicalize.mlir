// RUN: hova-opt %s --canonicalize | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// CHECK-LABEL: @reshapes_once
// CHECK-SAME: (%[[X:.*]]: tensor<6x4xf32>)
// CHECK-NEXT: %[[Y:.*]] = hova.reshape %[[X]] : tensor<6x4xf32> -> tensor<3x8xf32>
// CHECK-NEXT: return %[[Y]]
func.func @reshapes_once(%x: tensor<6x4xf32>) -> tensor<3x8xf32> {
  %a = hova.reshape %x : tensor<6x4xf32> -> tensor<24x1xf32>
  %b = hova.reshape %a : tensor<24x1xf32> -> tensor<3x8xf32>
  return %b : tensor<3x8xf32>
}

// CHECK-LABEL: @does_nothing_to_the_axes_that_are_there
// CHECK-SAME: (%[[X:.*]]: tensor<6x4xf32>)
// CHECK-NEXT: return %[[X]]
func.func @does_nothing_to_the_axes_that_are_there(%x: tensor<6x4xf32>) -> tensor<6x4xf32> {
  %a = hova.reshape %x : tensor<6x4xf32> -> tensor<3x8xf32>
  %b = hova.reshape %a : tensor<3x8xf32> -> tensor<6x4xf32>
  return %b : tensor<6x4xf32>
}
