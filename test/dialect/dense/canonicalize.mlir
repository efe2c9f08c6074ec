// RUN: hova-opt %s --canonicalize | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// CHECK-LABEL: @applies_relu_once
// CHECK-SAME: %[[X:.*]]: tensor<4x8xf32>
// CHECK-NEXT: %[[ONCE:.*]] = hova.activation relu %[[X]]
// CHECK-NEXT: return %[[ONCE]]
func.func @applies_relu_once(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %a = hova.activation relu %x : tensor<4x8xf32>
  %b = hova.activation relu %a : tensor<4x8xf32>
  return %b : tensor<4x8xf32>
}

// CHECK-LABEL: @keeps_other_activations
// CHECK: hova.activation tanh
// CHECK-NEXT: hova.activation tanh
// CHECK-NEXT: hova.activation relu
func.func @keeps_other_activations(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %a = hova.activation tanh %x : tensor<4x8xf32>
  %b = hova.activation tanh %a : tensor<4x8xf32>
  %c = hova.activation relu %b : tensor<4x8xf32>
  return %c : tensor<4x8xf32>
}

// CHECK-LABEL: @drops_a_factor_of_one
// CHECK-SAME: %[[X:.*]]: tensor<4x8xf32>
// CHECK-NEXT: return %[[X]]
func.func @drops_a_factor_of_one(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %a = hova.scale %x {factor = 1.0 : f64} : tensor<4x8xf32>
  return %a : tensor<4x8xf32>
}

// CHECK-LABEL: @keeps_another_factor
// CHECK: hova.scale
func.func @keeps_another_factor(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %a = hova.scale %x {factor = -1.0 : f64} : tensor<4x8xf32>
  return %a : tensor<4x8xf32>
}

// CHECK-LABEL: @drops_a_conversion_to_the_same_type
// CHECK-SAME: %[[X:.*]]: tensor<4x8xbf16>
// CHECK-NEXT: return %[[X]]
func.func @drops_a_conversion_to_the_same_type(%x: tensor<4x8xbf16>) -> tensor<4x8xbf16> {
  %a = hova.convert %x : tensor<4x8xbf16> -> tensor<4x8xbf16>
  return %a : tensor<4x8xbf16>
}

// CHECK-LABEL: @all_of_an_axis_is_the_operand
// CHECK-SAME: (%[[X:.*]]: tensor<2x9x64xf32>)
// CHECK: return %[[X]]
func.func @all_of_an_axis_is_the_operand(%x: tensor<2x9x64xf32>) -> tensor<2x9x64xf32> {
  %r = hova.slice %x {axis = 1 : i64, offset = 0 : i64} : tensor<2x9x64xf32> -> tensor<2x9x64xf32>
  return %r : tensor<2x9x64xf32>
}
