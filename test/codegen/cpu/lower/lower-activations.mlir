// RUN: hova-opt %s --split-input-file --hova-lower-activations | FileCheck %s
// RUN: hova-opt %s --split-input-file --hova-lower-activations -o %t.once
// RUN: hova-opt %t.once --split-input-file --hova-lower-activations -o %t.twice
// RUN: diff %t.once %t.twice
// SPDX-License-Identifier: Apache-2.0
//
// How large the errors are is the business of test/codegen/activations.

// The bound is the first operand of a comparison that is false for NaN.
// CHECK-LABEL: @keeps_nan_in_relu
// CHECK-SAME: %[[X:.*]]: vector<8xf32>
// CHECK: %[[ZERO:.*]] = arith.constant dense<0.000000e+00>
// CHECK: %[[IS_ABOVE:.*]] = arith.cmpf ogt, %[[ZERO]], %[[X]]
// CHECK: %[[Y:.*]] = arith.select %[[IS_ABOVE]], %[[ZERO]], %[[X]]
// CHECK: return %[[Y]]
func.func @keeps_nan_in_relu(%x: vector<8xf32>) -> vector<8xf32> {
  %y = hova.activation relu %x : vector<8xf32>
  return %y : vector<8xf32>
}

// -----

// CHECK-LABEL: @scales_by_the_bits_of_the_rounded_exponent
// CHECK-SAME: %[[X:.*]]: vector<8xf32>
// CHECK: %[[LOW:.*]] = arith.select
// CHECK: %[[ROUNDED:.*]] = arith.addf %[[LOW]]
// CHECK-COUNT-5: math.fma
// CHECK-NOT: math.fma
// CHECK: %[[BITS:.*]] = arith.bitcast %[[ROUNDED]] : vector<8xf32> to vector<8xi32>
// CHECK: %[[SHIFTED:.*]] = arith.shli %[[BITS]]
// CHECK: %[[SCALE:.*]] = arith.bitcast %[[SHIFTED]]
// CHECK: %[[Y:.*]] = arith.mulf %{{.*}}, %[[SCALE]]
// CHECK: return %[[Y]]
func.func @scales_by_the_bits_of_the_rounded_exponent(%x: vector<8xf32>) -> vector<8xf32> {
  %y = hova.exp2 %x : vector<8xf32>
  return %y : vector<8xf32>
}

// -----

// CHECK-LABEL: @divides_nowhere_in_gelu_erf
// CHECK-NOT: arith.divf
// CHECK-NOT: math.erf
// CHECK-NOT: math.exp
// CHECK: return
func.func @divides_nowhere_in_gelu_erf(%x: vector<8xf32>) -> vector<8xf32> {
  %y = hova.activation gelu_erf %x : vector<8xf32>
  return %y : vector<8xf32>
}

// -----

// CHECK-LABEL: @calls_no_library_function
// CHECK-NOT: hova.
// CHECK-NOT: math.{{tanh|exp|erf}}
// CHECK-COUNT-3: arith.divf
// CHECK-NOT: arith.divf
// CHECK: return
func.func @calls_no_library_function(%x: vector<8xf32>) -> vector<8xf32> {
  %a = hova.activation gelu_tanh %x : vector<8xf32>
  %b = hova.activation tanh %a : vector<8xf32>
  %c = hova.activation sigmoid %b : vector<8xf32>
  return %c : vector<8xf32>
}

// -----

// CHECK-LABEL: @leaves_tensors_alone
// CHECK-NEXT: hova.activation sigmoid
func.func @leaves_tensors_alone(%x: tensor<8xf32>) -> tensor<8xf32> {
  %y = hova.activation sigmoid %x : tensor<8xf32>
  return %y : tensor<8xf32>
}
