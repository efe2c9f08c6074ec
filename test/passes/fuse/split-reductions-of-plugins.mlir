// RUN: hova-opt %s --load-dialect-plugin=%plugin --load-dialect-plugin=%anchors --split-input-file --hova-split-reductions='policy={#anchors.fusion}' --check-meaning -o %t.halves 2>%t.meaning
// RUN: FileCheck %s --check-prefix=HALF < %t.halves
// RUN: FileCheck %s --check-prefix=MEANING < %t.meaning
// RUN: hova-opt %s --load-dialect-plugin=%plugin --split-input-file --hova-split-reductions='policy={#hova_cuda.fusion}' | FileCheck %s --check-prefix=CUDA
// RUN: hova-opt %s --load-dialect-plugin=%plugin --split-input-file --hova-split-reductions='policy={#hova_cpu.fusion<part_terms = 4>}' | FileCheck %s --check-prefix=CPU
// RUN: hova-opt %s --load-dialect-plugin=%plugin --split-input-file --hova-split-reductions='length=3' | FileCheck %s --check-prefix=THREE
// SPDX-License-Identifier: Apache-2.0
// A pass that has never seen the operation divides it, as policies say that know what it says of its reduction.

// MEANING: compared {{[1-9][0-9]*}} results

// Nine tokens are halves of five and four, and units of three stay together; what is even and odd has no halves.
// HALF-LABEL: @main
// HALF: %[[P:.*]] = rows.totals %arg0 {block = 5 : i64, hova.site = {kind = "total", path = "t"}} : tensor<2x9x8xf32> -> tensor<2x2x8xf32>
// HALF: hova.sum_parts %[[P]] {hova.require = "fused", hova.rewrites = {"hova-split-reductions" = {fired = true, why = "sums over 9 are 2 parts, which are added in order: this policy halves"}}, hova.site = {kind = "total", path = "t"}} : tensor<2x2x8xf32> -> tensor<2x8xf32>
// HALF: rows.totals %arg0 {block = 3 : i64} : tensor<2x9x8xf32> -> tensor<3x2x8xf32>
// HALF: rows.totals %arg0 {block = 3 : i64} : tensor<2x9x8xf32> -> tensor<3x2x8xf32>
// Few tokens are not worth a launch.
// CUDA-LABEL: @main
// CUDA-NOT: rows.totals
// CUDA: return
// THREE-LABEL: @main
// THREE-COUNT-3: rows.totals %arg0 {block = 3 : i64{{.*}} -> tensor<3x2x8xf32>
// CPU-LABEL: @main
// CPU-NOT: rows.totals
// CPU: return
func.func @main(%x: tensor<2x9x8xf32>) -> (tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>) {
  %t = rows.total %x {hova.require = "fused", hova.site = {kind = "total", path = "t"}} : tensor<2x9x8xf32> -> tensor<2x8xf32>
  %u = rows.total %x {unit = 3 : i64} : tensor<2x9x8xf32> -> tensor<2x8xf32>
  %v = rows.total %x {even} : tensor<2x9x8xf32> -> tensor<2x8xf32>
  return %t, %u, %v : tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>
}

// -----

// A GPU reckons a sum as that of a product; units of 1024 are four parts at most.
// CUDA-LABEL: @main
// CUDA: rows.totals %arg0 {block = 512 : i64} : tensor<1x4096x64xf32> -> tensor<8x1x64xf32>
// CUDA: hova.sum_parts {{.*}}why = "sums over 4096 are 8 parts, which are added in order: tiles of 1 x 64 leave multiprocessors idle"
// CUDA: rows.totals %arg0 {block = 1024 : i64} : tensor<1x4096x64xf32> -> tensor<4x1x64xf32>
// THREE-LABEL: @main
// THREE: rows.total %arg0 {hova.rewrites = {"hova-split-reductions" = {fired = false, fires_if = "parts are longer", why = "totals have at most eight parts"}}}
// THREE: rows.total {{.*}}fires_if = "they do", why = "parts of 3 do not begin at multiples of 1024"
func.func @main(%x: tensor<1x4096x64xf32>) -> (tensor<1x64xf32>, tensor<1x64xf32>) {
  %t = rows.total %x : tensor<1x4096x64xf32> -> tensor<1x64xf32>
  %u = rows.total %x {unit = 1024 : i64} : tensor<1x4096x64xf32> -> tensor<1x64xf32>
  return %t, %u : tensor<1x64xf32>, tensor<1x64xf32>
}

// -----

// RUN: hova-opt %s --load-dialect-plugin=%plugin --split-input-file --hova-split-reductions=only-necessary | FileCheck %s --check-prefix=ALWAYS
// ALWAYS-COUNT-3: rows.totals %arg0 {block = 9 : i64} : tensor<2x9x8xf32> -> tensor<1x2x8xf32>
// What is always divided is so everywhere, if into one part, and nobody decided it; parts are even if they have to be.
// CPU-LABEL: @main
// CPU: rows.totals %arg0 {block = 4 : i64} : tensor<2x9x8xf32> -> tensor<3x2x8xf32>
// CPU-NEXT: hova.sum_parts %{{[a-z0-9_]+}} : tensor<3x2x8xf32>
// CPU: rows.totals %arg0 {block = 3 : i64} : tensor<2x9x8xf32> -> tensor<3x2x8xf32>
// CPU: rows.totals %arg0 {block = 9 : i64} : tensor<2x9x8xf32> -> tensor<1x2x8xf32>
// CUDA-LABEL: @main
// CUDA: rows.totals %arg0 {block = 256 : i64} : tensor<2x9x8xf32> -> tensor<1x2x8xf32>
// CUDA-NOT: hova.rewrites
// CUDA: rows.totals %arg0 {block = 9 : i64} : tensor<2x9x8xf32> -> tensor<1x2x8xf32>
func.func @main(%x: tensor<2x9x8xf32>) -> (tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>) {
  %t = rows.total %x {always} : tensor<2x9x8xf32> -> tensor<2x8xf32>
  %u = rows.total %x {always, even} : tensor<2x9x8xf32> -> tensor<2x8xf32>
  %v = rows.total %x {always, unit = 9 : i64} : tensor<2x9x8xf32> -> tensor<2x8xf32>
  return %t, %u, %v : tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>
}

// -----

// CUDA-LABEL: @main
// CUDA: rows.total %
// CUDA-NOT: rows.totals
func.func @main(%x: tensor<1x?x64xf32>) -> tensor<1x64xf32> {
  %t = rows.total %x {always} : tensor<1x?x64xf32> -> tensor<1x64xf32>
  return %t : tensor<1x64xf32>
}

// -----

// A norm adds the parts of a sum as it reads them, and of nothing else; columns that are read apart stay the operation's own.
// CUDA-LABEL: @main
// CUDA: %[[P:.*]] = rows.totals %arg0 {block = 64 : i64} : tensor<20x512x64xbf16> -> tensor<8x20x64xf32>
// CUDA: hova.sum_parts %[[P]]
// CUDA: rows.total %arg0 {alone}
// CUDA: rows.total %arg1 : tensor<1x4096x64xf32>
func.func @main(%x: tensor<20x512x64xbf16>, %y: tensor<1x4096x64xf32>) -> (tensor<20x64xf32>, tensor<20x64xf32>, tensor<1x32xf32>) {
  %t = rows.total %x : tensor<20x512x64xbf16> -> tensor<20x64xf32>
  %n = hova.layer_norm %t {eps = 1.0e-6 : f64} : tensor<20x64xf32>
  %u = rows.total %x {alone} : tensor<20x512x64xbf16> -> tensor<20x64xf32>
  %m = hova.layer_norm %u {eps = 1.0e-6 : f64} : tensor<20x64xf32>
  %v = rows.total %y : tensor<1x4096x64xf32> -> tensor<1x64xf32>
  %s = hova.slice %v {axis = 1 : i64, offset = 0 : i64} : tensor<1x64xf32> -> tensor<1x32xf32>
  return %n, %m, %s : tensor<20x64xf32>, tensor<20x64xf32>, tensor<1x32xf32>
}
