// What is reported also fails the pass, with a main beside it or without.

// RUN: not hova-opt %s --hova-verify-normalized 2>&1 | FileCheck %s

// CHECK: error: folding function stores 't' twice
// CHECK-NOT: func.func
func.func private @weights() {
  %t = hova.weight "t" : tensor<8xf32>
  hova.store_weight "t", %t : tensor<8xf32>
  hova.store_weight "t", %t : tensor<8xf32>
  return
}
