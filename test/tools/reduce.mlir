// The reducer keeps what makes the script end with status 1.

// RUN: hova-reduce %s --reduction-tree='traversal-mode=0 test=%S/Inputs/has-gelu.sh' | FileCheck %s

// CHECK-NOT: @unrelated
// CHECK: hova.activation gelu_erf
// CHECK-NOT: @unrelated
func.func @unrelated(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %y = hova.activation relu %x : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
func.func @interesting(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %y = hova.activation gelu_erf %x : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
