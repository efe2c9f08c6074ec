// RUN: hova-opt %s --split-input-file --hova-normalize-weights | FileCheck %s
// RUN: hova-opt %s --split-input-file --hova-normalize-weights --hova-normalize-weights | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[W:.*]] = hova.image_weight "a.concat" : tensor<8x12xf32>
// CHECK-NEXT: hova.linear %{{.*}}, %[[W]]
// CHECK-NEXT: return
// CHECK: func.func private @weights()
// CHECK-NEXT: %[[A:.*]] = hova.weight "a"
// CHECK-NEXT: %[[B:.*]] = hova.weight "b"
// CHECK-NEXT: %[[JOINED:.*]] = hova.concat %[[A]], %[[B]]
// CHECK-NEXT: hova.store_weight "a.concat", %[[JOINED]]
// CHECK-NEXT: return
func.func @main(%x: tensor<1x8xf32>) -> tensor<1x12xf32> {
  %a = hova.weight "a" : tensor<8x8xf32>
  %b = hova.weight "b" : tensor<8x4xf32>
  %w = hova.concat %a, %b {axis = 1 : i64} : tensor<8x8xf32>, tensor<8x4xf32> -> tensor<8x12xf32>
  %y = hova.linear %x, %w : tensor<1x8xf32>, tensor<8x12xf32> -> tensor<1x12xf32>
  return %y : tensor<1x12xf32>
}

// -----

// A table read as it is and transposed is stored twice.
// CHECK-LABEL: func.func @main
// CHECK-DAG: %[[TABLE:.*]] = hova.image_weight "table" : tensor<100x8xf32>
// CHECK-DAG: %[[TURNED:.*]] = hova.image_weight "table.transpose" : tensor<8x100xf32>
// CHECK: %[[E:.*]] = hova.embedding %{{.*}}, %[[TABLE]]
// CHECK: hova.linear %[[E]], %[[TURNED]] :
// CHECK: func.func private @weights()
// CHECK: %[[T:.*]] = hova.weight "table"
// CHECK: hova.transpose %[[T]]
func.func @main(%ids: tensor<1x7xi32>) -> tensor<1x7x100xf32> {
  %t = hova.weight "table" : tensor<100x8xf32>
  %e = hova.embedding %ids, %t : tensor<1x7xi32>, tensor<100x8xf32> -> tensor<1x7x8xf32>
  %y = hova.linear %e, %t {transposed} : tensor<1x7x8xf32>, tensor<100x8xf32> -> tensor<1x7x100xf32>
  return %y : tensor<1x7x100xf32>
}

// -----

// CHECK-LABEL: func.func @main
// CHECK-NOT: hova.image_weight
// CHECK: return
// CHECK-NOT: @weights
func.func @main(%x: tensor<1x8xf32>) -> tensor<1x8xf32> {
  %y = hova.activation relu %x : tensor<1x8xf32>
  return %y : tensor<1x8xf32>
}

// -----

// What is made anew for every item is no weight: the weight is, whatever the batch.
// CHECK-LABEL: func.func @main
// CHECK: %[[LATENTS:.*]] = hova.image_weight "latents.scale" : tensor<4x8xf32>
// CHECK: %[[EACH:.*]] = hova.repeat %[[LATENTS]] : tensor<4x8xf32> -> tensor<2x4x8xf32>
// CHECK: hova.add %{{.*}}, %[[EACH]]
// CHECK: func.func private @weights()
// CHECK-NOT: hova.repeat
// CHECK: hova.store_weight "latents.scale"
func.func @main(%x: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
  %w = hova.weight "latents" : tensor<4x8xf32>
  %s = hova.scale %w {factor = 2.0 : f64} : tensor<4x8xf32>
  %r = hova.repeat %s : tensor<4x8xf32> -> tensor<2x4x8xf32>
  %y = hova.add %x, %r : tensor<2x4x8xf32>, tensor<2x4x8xf32>
  return %y : tensor<2x4x8xf32>
}
