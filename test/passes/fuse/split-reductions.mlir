// RUN: hova-opt %s --split-input-file --hova-split-reductions='policy={#hova_cuda.fusion}' | FileCheck %s
// RUN: hova-opt %s --split-input-file --hova-split-reductions='policy={#hova_cpu.fusion<few_rows = 96>}' | FileCheck %s --check-prefix=WHOLE
// RUN: hova-opt %s --split-input-file --hova-split-reductions | FileCheck %s --check-prefix=WHOLE
// RUN: not hova-opt %s --split-input-file --hova-split-reductions='policy={#hova.layout<rows 4>}' 2>&1 | FileCheck %s --check-prefix=NONE
// SPDX-License-Identifier: Apache-2.0

// NONE: no fusion policy: #hova.layout<rows 4>
// WHOLE-NOT: hova.linear_parts

// One tile of a long sum, whose parts the kernel of the norm adds.
// CHECK-LABEL: func.func @main
// CHECK: %[[P:.*]] = hova.linear_parts %{{.*}}, %{{.*}} {hova.site = {kind = "linear", path = "y"}} : tensor<1x20x2048xbf16>, tensor<2048x64xbf16> -> tensor<8x1x20x64xf32>
// CHECK: %[[Y:.*]] = hova.sum_parts %[[P]] bias(%{{.*}}) {hova.rewrites = {"hova-split-reductions" = {fired = true, why = "sums over 2048 are 8 parts, which are added in order: tiles of 20 x 64 leave multiprocessors idle"}}, hova.site = {kind = "linear", path = "y"}}
// CHECK: hova.add %[[Y]]
func.func @main(%x: tensor<1x20x2048xbf16>, %w: tensor<2048x64xbf16>, %b: tensor<64xf32>, %r: tensor<1x20x64xf32>) -> tensor<1x20x64xf32> {
  %y = hova.linear %x, %w bias(%b) {hova.site = {kind = "linear", path = "y"}} : tensor<1x20x2048xbf16>, tensor<2048x64xbf16>, tensor<64xf32> -> tensor<1x20x64xf32>
  %s = hova.add %y, %r : tensor<1x20x64xf32>, tensor<1x20x64xf32>
  %n = hova.layer_norm %s {eps = 1.0e-6 : f64} : tensor<1x20x64xf32>
  return %n : tensor<1x20x64xf32>
}

// -----

// Short sums are not worth a launch for who adds their parts; beside a norm they are.
// CHECK-LABEL: func.func @main
// CHECK: hova.linear %
// CHECK: hova.linear_parts
func.func @main(%x: tensor<1x20x512xbf16>, %w: tensor<512x64xbf16>) -> (tensor<1x20x64xf32>, tensor<1x20x64xf32>) {
  %y = hova.linear %x, %w : tensor<1x20x512xbf16>, tensor<512x64xbf16> -> tensor<1x20x64xf32>
  %z = hova.linear %x, %w : tensor<1x20x512xbf16>, tensor<512x64xbf16> -> tensor<1x20x64xf32>
  %n = hova.layer_norm %z {eps = 1.0e-6 : f64} : tensor<1x20x64xf32>
  return %y, %n : tensor<1x20x64xf32>, tensor<1x20x64xf32>
}

// -----

// A norm of heads has no whole rows, and adds no parts as it reads; one that subtracts no mean does.
// CHECK-LABEL: func.func @main
// CHECK: hova.linear %
// CHECK: hova.linear_parts
func.func @main(%x: tensor<1x20x512xbf16>, %w: tensor<512x64xbf16>) -> (tensor<1x20x64xf32>, tensor<1x20x64xf32>) {
  %y = hova.linear %x, %w : tensor<1x20x512xbf16>, tensor<512x64xbf16> -> tensor<1x20x64xf32>
  %z = hova.linear %x, %w : tensor<1x20x512xbf16>, tensor<512x64xbf16> -> tensor<1x20x64xf32>
  %m = hova.layer_norm %y {eps = 1.0e-6 : f64, heads = 2 : i64} : tensor<1x20x64xf32>
  %n = hova.layer_norm %z kind(rms) {eps = 1.0e-6 : f64} : tensor<1x20x64xf32>
  return %m, %n : tensor<1x20x64xf32>, tensor<1x20x64xf32>
}

// -----

// Many tiles fill a machine; parts have whole turns of the loop; columns that are read apart are the product's.
// CHECK-LABEL: func.func @main
// CHECK-NOT: hova.linear_parts
func.func @main(%x: tensor<8x197x2048xbf16>, %w: tensor<2048x768xbf16>, %u: tensor<1x4x2080xbf16>, %v: tensor<2080x64xbf16>,
                %a: tensor<1x4x2048xbf16>, %b: tensor<2048x64xbf16>) -> (tensor<8x197x768xf32>, tensor<1x4x64xf32>, tensor<1x4x32xf32>, tensor<1x4x32xf32>) {
  %y = hova.linear %x, %w : tensor<8x197x2048xbf16>, tensor<2048x768xbf16> -> tensor<8x197x768xf32>
  %z = hova.linear %u, %v : tensor<1x4x2080xbf16>, tensor<2080x64xbf16> -> tensor<1x4x64xf32>
  %c = hova.linear %a, %b : tensor<1x4x2048xbf16>, tensor<2048x64xbf16> -> tensor<1x4x64xf32>
  %d = hova.slice %c {axis = 2 : i64, offset = 0 : i64} : tensor<1x4x64xf32> -> tensor<1x4x32xf32>
  %e = hova.slice %c {axis = 2 : i64, offset = 32 : i64} : tensor<1x4x64xf32> -> tensor<1x4x32xf32>
  return %y, %z, %d, %e : tensor<8x197x768xf32>, tensor<1x4x64xf32>, tensor<1x4x32xf32>, tensor<1x4x32xf32>
}

// -----

// A sum of f32 takes as long as sixteen of 16 bits: a launch is worth less.
// CHECK-LABEL: func.func @main
// CHECK: hova.linear_parts {{.*}} -> tensor<8x1x20x64xf32>
func.func @main(%x: tensor<1x20x512xf32>, %w: tensor<64x512xf32>) -> tensor<1x20x64xf32> {
  %y = hova.linear %x, %w {transposed} : tensor<1x20x512xf32>, tensor<64x512xf32> -> tensor<1x20x64xf32>
  return %y : tensor<1x20x64xf32>
}

// -----

// RUN: hova-opt %s --split-input-file --hova-split-reductions='length=4' | FileCheck %s --check-prefix=ASKED
// Whoever looks at the pass asks for parts: all products that have them.
// ASKED: tensor<4x12xf32>
// ASKED: hova.linear_parts {{.*}} -> tensor<3x4x8xf32>
// ASKED: hova.sum_parts {{.*}}why = "sums over 12 are 3 parts, which are added in order: asked for by 'length'"
// ASKED: hova.linear {{.*}}fired = false, fires_if = "they do", why = "parts of 4 do not divide sums over 10"
// ASKED: hova.linear %arg{{[0-9]}}, %arg{{[0-9]}} : tensor<4x4xf32>
func.func @main(%x: tensor<4x12xf32>, %w: tensor<12x8xf32>, %u: tensor<4x10xf32>, %v: tensor<10x8xf32>, %a: tensor<4x4xf32>, %b: tensor<4x8xf32>)
    -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  %y = hova.linear %x, %w : tensor<4x12xf32>, tensor<12x8xf32> -> tensor<4x8xf32>
  %z = hova.linear %u, %v : tensor<4x10xf32>, tensor<10x8xf32> -> tensor<4x8xf32>
  %c = hova.linear %a, %b : tensor<4x4xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
  return %y, %z, %c : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// What is asked for can be refused: 'only-necessary' divides no product, and other functions are nobody's program.
// RUN: hova-opt %s --split-input-file --hova-split-reductions='length=3 only-necessary' | FileCheck %s --check-prefix=WHOLE
// RUN: hova-opt %s --split-input-file --hova-split-reductions='length=3' | FileCheck %s --check-prefix=OTHER
// RUN: not hova-opt %s --split-input-file --hova-split-reductions='length=-1' 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// NEGATIVE: expects 'length' from 0 on, got -1
// OTHER-LABEL: @weights
// OTHER-NOT: hova.linear_parts
func.func @weights(%x: tensor<4x12xf32>, %w: tensor<12x8xf32>) -> tensor<4x8xf32> {
  %y = hova.linear %x, %w : tensor<4x12xf32>, tensor<12x8xf32> -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

// CHECK-LABEL: @main
// CHECK: hova.linear %
func.func @main(%x: tensor<?x2048xbf16>, %w: tensor<2048x64xbf16>) -> tensor<?x64xf32> {
  %y = hova.linear %x, %w : tensor<?x2048xbf16>, tensor<2048x64xbf16> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}
