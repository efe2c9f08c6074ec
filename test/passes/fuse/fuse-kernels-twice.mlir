// RUN: hova-opt %s --hova-fuse-kernels -o %t.once
// RUN: hova-opt %t.once --hova-fuse-kernels -o %t.twice
// RUN: diff %t.once %t.twice
// RUN: FileCheck %s < %t.twice
// SPDX-License-Identifier: Apache-2.0

// CHECK-COUNT-1: hova.kernel
// CHECK-NOT: hova.kernel
func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %a = hova.activation relu %x : tensor<4x8xf32>
  return %a : tensor<4x8xf32>
}
