// RUN: hova-opt %s --split-input-file --hova-fuse-kernels='policy={#hova_cpu.fusion<few_rows = 4>}' --verify-diagnostics | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// Rows of each depend on the same rows of the one before.
// CHECK-LABEL: func.func @main
// CHECK: %[[W:.*]] = hova.image_weight "w"
// CHECK: hova.kernel {{.*}}units<{{batch|row}}
// CHECK-NEXT: ^bb0
// CHECK-NEXT: hova.layer_norm
// CHECK-NEXT: hova.linear
// CHECK-NEXT: hova.activation
// CHECK-NEXT: hova.add
// CHECK-NEXT: hova.yield %{{.*}} : tensor<1x4x8xf32>
// CHECK-NOT: hova.kernel
func.func @main(%x: tensor<1x4x8xf32>, %g: tensor<8xf32>) -> tensor<1x4x8xf32> {
  %w = hova.image_weight "w" : tensor<8x8xf32>
  %n = hova.layer_norm %x, %g, %g {eps = 1.0e-6 : f64} : tensor<1x4x8xf32>, tensor<8xf32>
  %l = hova.linear %n, %w : tensor<1x4x8xf32>, tensor<8x8xf32> -> tensor<1x4x8xf32>
  %a = hova.activation relu %l : tensor<1x4x8xf32>
  %s = hova.add %a, %x : tensor<1x4x8xf32>, tensor<1x4x8xf32>
  return %s : tensor<1x4x8xf32>
}

// -----

// Attention reads the rows of all tokens: a kernel before, its own, one after.
// Slices are views inside the kernel that reads them. The path names the kernel.
// CHECK-LABEL: func.func @main
// CHECK: %[[QKV:.*]] = hova.kernel
// CHECK: hova.linear
// CHECK: hova.yield %{{.*}} : tensor<1x4x24xf32>
// CHECK: %[[O:.*]] = hova.kernel "layer.attn" units<batch 1, head 2>(%[[QKV]])
// CHECK-NOT: hova.linear
// CHECK-COUNT-3: hova.slice
// CHECK: hova.attention
// CHECK: hova.kernel "main" units<{{[^>]*}}>(%[[O]])
// CHECK: hova.activation
func.func @main(%x: tensor<1x4x8xf32>) -> tensor<1x4x8xf32> {
  %w = hova.image_weight "w" : tensor<8x24xf32>
  %l = hova.linear %x, %w : tensor<1x4x8xf32>, tensor<8x24xf32> -> tensor<1x4x24xf32>
  %q = hova.slice %l {axis = 2 : i64, offset = 0 : i64} : tensor<1x4x24xf32> -> tensor<1x4x8xf32>
  %k = hova.slice %l {axis = 2 : i64, offset = 8 : i64} : tensor<1x4x24xf32> -> tensor<1x4x8xf32>
  %v = hova.slice %l {axis = 2 : i64, offset = 16 : i64} : tensor<1x4x24xf32> -> tensor<1x4x8xf32>
  %o = hova.attention %q, %k, %v
      {heads = 2 : i64}
      : (tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<1x4x8xf32>) -> tensor<1x4x8xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all
  } loc("layer.attn")
  %a = hova.activation relu %o : tensor<1x4x8xf32>
  return %a : tensor<1x4x8xf32>
}

// -----

// The second chain does not split the first: each stands where it first can.
// CHECK-LABEL: func.func @main
// CHECK: hova.kernel
// CHECK-COUNT-3: hova.activation
// CHECK: hova.yield
// CHECK: hova.kernel
// CHECK-NEXT: ^bb0
// CHECK-NEXT: hova.pool
// CHECK-NOT: hova.kernel
func.func @main(%x: tensor<1x4x8xf32>, %y: tensor<1x4x8xf32>) -> (tensor<1x8xf32>, tensor<1x4x8xf32>) {
  %a = hova.activation relu %x : tensor<1x4x8xf32>
  %p = hova.pool mean %a : tensor<1x4x8xf32> -> tensor<1x8xf32>
  %b = hova.activation tanh %y : tensor<1x4x8xf32>
  %c = hova.activation relu %b : tensor<1x4x8xf32>
  return %p, %c : tensor<1x8xf32>, tensor<1x4x8xf32>
}

// -----

// A broadcast operand is a table that must be complete before.
// CHECK-LABEL: func.func @main
// CHECK: hova.kernel
// CHECK: hova.activation
// CHECK: hova.kernel
// CHECK-NEXT: ^bb0
// CHECK-NEXT: hova.add
func.func @main(%x: tensor<2x4x8xf32>, %p: tensor<4x8xf32>) -> tensor<2x4x8xf32> {
  %t = hova.activation relu %p : tensor<4x8xf32>
  %s = hova.add %x, %t : tensor<2x4x8xf32>, tensor<4x8xf32>
  return %s : tensor<2x4x8xf32>
}

// -----

// An input handed through and a value handed out twice are copied.
// CHECK-LABEL: func.func @main
// CHECK: %[[K:.*]]:3 = hova.kernel
// CHECK-DAG: hova.activation
// CHECK-DAG: hova.concat
// CHECK-DAG: hova.concat
// CHECK: return %[[K]]#{{[0-2]}}, %[[K]]#{{[0-2]}}, %[[K]]#{{[0-2]}}
func.func @main(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  %a = hova.activation relu %x : tensor<4x8xf32>
  return %x, %a, %a : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// A mask handed out twice is computed twice.
// CHECK-LABEL: func.func @main
// CHECK: %[[K:.*]]:2 = hova.kernel
// CHECK-COUNT-2: hova.padding_mask
// CHECK: return %[[K]]#{{[01]}}, %[[K]]#{{[01]}}
func.func @main(%ids: tensor<4x8xi32>) -> (tensor<4x8xi1>, tensor<4x8xi1>) {
  %valid = hova.padding_mask %ids {pad = 0 : i64} : tensor<4x8xi32> -> tensor<4x8xi1>
  return %valid, %valid : tensor<4x8xi1>, tensor<4x8xi1>
}

// -----

func.func @main(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // expected-error@+1 {{kernels need static shapes, got 'tensor<?x8xf32>'}}
  %a = hova.activation relu %x : tensor<?x8xf32>
  return %a : tensor<?x8xf32>
}

// -----

func.func @main(%q: tensor<1x4x8xf32>, %k: tensor<1x?x8xf32>) -> tensor<1x4x8xf32> {
  // expected-error@+1 {{kernels need static shapes, got 'tensor<1x?x8xf32>'}}
  %o = hova.attention %q, %k, %k
      {heads = 2 : i64}
      : (tensor<1x4x8xf32>, tensor<1x?x8xf32>, tensor<1x?x8xf32>) -> tensor<1x4x8xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all
  }
  return %o : tensor<1x4x8xf32>
}

// -----

func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error@+1 {{no kernel can hold 'arith.addf'}}
  %a = arith.addf %x, %x : tensor<4x8xf32>
  return %a : tensor<4x8xf32>
}

// -----

// CHECK-LABEL: func.func @other
// CHECK-NEXT: hova.activation
func.func @other(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %a = hova.activation relu %x : tensor<4x8xf32>
  return %a : tensor<4x8xf32>
}
