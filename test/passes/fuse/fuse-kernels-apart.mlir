// RUN: hova-opt %s --pass-pipeline='builtin.module(hova-fuse-kernels{chain=false})' | FileCheck %s
// RUN: hova-opt %s --hova-fuse-kernels | FileCheck %s --check-prefix=CHAIN
// SPDX-License-Identifier: Apache-2.0

// CHECK-LABEL: func.func @main
// CHECK: hova.kernel
// CHECK-NEXT: ^bb0
// CHECK-NEXT: hova.activation
// CHECK-NEXT: hova.yield
// CHECK: hova.kernel
// CHECK-NEXT: ^bb0
// CHECK-NEXT: hova.add
// CHECK-NEXT: hova.yield
// CHAIN-COUNT-1: hova.kernel
// CHAIN-NOT: hova.kernel
func.func @main(%x: tensor<1x4x8xf32>) -> tensor<1x4x8xf32> {
  %a = hova.activation relu %x : tensor<1x4x8xf32>
  %s = hova.add %a, %x : tensor<1x4x8xf32>, tensor<1x4x8xf32>
  return %s : tensor<1x4x8xf32>
}
