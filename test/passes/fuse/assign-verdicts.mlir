// RUN: hova-opt %s --split-input-file --hova-fuse-kernels='policy={#hova_cpu.fusion<few_rows = 3, least_macs = 64>}' --hova-assign-verdicts | FileCheck %s
// RUN: hova-opt %s --split-input-file --hova-fuse-kernels='policy={#hova_cpu.fusion<few_rows = 3, least_macs = 64>}' --hova-assign-verdicts --hova-assign-verdicts | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// A chain: each site has the neighbours that joined it, also those that are no
// site. What was noted for this pass is gone.
// CHECK-LABEL: func.func @main
// CHECK-NOT: hova.missed_fusions
// CHECK: hova.layer_norm {{.*}}hova.verdict = {fused = true, joined = ["linear"], kernels = ["linear"]}
// CHECK: hova.linear {{.*}}hova.verdict = {fused = true, joined = ["norm", "sum"], kernels = ["linear"]}
// CHECK-NOT: hova.verdict
func.func @main(%x: tensor<1x4x8xf32>) -> tensor<1x4x8xf32> {
  %w = hova.image_weight "w" : tensor<8x8xf32>
  %n = hova.layer_norm %x {eps = 1.0e-6 : f64} : tensor<1x4x8xf32> loc("norm")
  %l = hova.linear %n, %w : tensor<1x4x8xf32>, tensor<8x8xf32> -> tensor<1x4x8xf32> loc("linear")
  %s = hova.add %l, %x : tensor<1x4x8xf32>, tensor<1x4x8xf32> loc("sum")
  return %s : tensor<1x4x8xf32>
}

// -----

// An attention stands apart from what it reads and from what reads it; the
// scores are its own. The linears that are columns of the product are named.
// CHECK-LABEL: func.func @main
// CHECK-NOT: hova.missed_fusions
// CHECK: hova.linear {{.*}}hova.verdict = {apart = [{path = "attn", why = "'hova.attention' divides 1 batch x 2 head among threads, not rows"}], columns = ["attn.key", "attn.value"], fused = true, kernels = ["attn.query"]}
// CHECK: hova.attention {{.*}}hova.verdict = {apart = [{path = "attn.query", why = "'hova.attention' divides 1 batch x 2 head among threads, not rows"}, {path = "next", why = "'hova.attention' divides 1 batch x 2 head among threads, not rows"}], fused = true, kernels = ["attn"], why = "128 bytes of intermediates never reach memory"}
func.func @main(%x: tensor<1x4x8xf32>) -> tensor<1x4x8xf32> {
  %w = hova.image_weight "w" : tensor<8x24xf32>
  %l = hova.linear %x, %w : tensor<1x4x8xf32>, tensor<8x24xf32> -> tensor<1x4x24xf32> loc("attn.query")
  %q = hova.slice %l {axis = 2 : i64, offset = 0 : i64} : tensor<1x4x24xf32> -> tensor<1x4x8xf32> loc("attn.query")
  %k = hova.slice %l {axis = 2 : i64, offset = 8 : i64} : tensor<1x4x24xf32> -> tensor<1x4x8xf32> loc("attn.key")
  %v = hova.slice %l {axis = 2 : i64, offset = 16 : i64} : tensor<1x4x24xf32> -> tensor<1x4x8xf32> loc("attn.value")
  %o = hova.attention %q, %k, %v
      {heads = 2 : i64}
      : (tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<1x4x8xf32>) -> tensor<1x4x8xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all
  } loc("attn")
  %a = hova.activation relu %o : tensor<1x4x8xf32> loc("next")
  return %a : tensor<1x4x8xf32>
}

// -----

// All parts of one site, whose hidden layer of four rows stays in its kernel.
// The demand is kept beside the verdict.
// CHECK-LABEL: func.func @main
// CHECK: hova.linear {{.*}}hova.site
// CHECK-NOT: hova.verdict
// CHECK: hova.linear {{.*}}hova.require = "fused", hova.site = {kind = "feed-forward", path = "ffn"}, hova.verdict = {fused = true, kernels = ["ffn.hidden"], why = "512 bytes of intermediates never reach memory"}
func.func @main(%x: tensor<1x4x8xf32>) -> tensor<1x4x8xf32> {
  %w = hova.image_weight "w" : tensor<8x16xf32>
  %v = hova.image_weight "v" : tensor<16x8xf32>
  %h = hova.linear %x, %w {hova.site = {kind = "feed-forward", path = "ffn"}, hova.require = "fused"} : tensor<1x4x8xf32>, tensor<8x16xf32> -> tensor<1x4x16xf32> loc("ffn.hidden")
  %a = hova.activation relu %h {hova.site = {kind = "feed-forward", path = "ffn"}} : tensor<1x4x16xf32> loc("ffn")
  %y = hova.linear %a, %v {hova.site = {kind = "feed-forward", path = "ffn"}} : tensor<1x4x16xf32>, tensor<16x8xf32> -> tensor<1x4x8xf32> loc("ffn.output")
  return %y : tensor<1x4x8xf32>
}

// -----

// The near miss: with two rows each product divides columns.
// CHECK-LABEL: func.func @main
// CHECK: hova.verdict = {fused = false, kernels = ["ffn.hidden", "ffn.output"], why = "128 bytes that 'hova.activation' computes pass through memory: 'hova.linear' is not element-wise, and dividing rows does not pay for 'hova.linear': 2 rows against 3, and 256 multiply-accumulates against 64; it pays from 3 rows on, or below 64 multiply-accumulates"}
func.func @main(%x: tensor<1x2x8xf32>) -> tensor<1x2x8xf32> {
  %w = hova.image_weight "w" : tensor<8x16xf32>
  %v = hova.image_weight "v" : tensor<16x8xf32>
  %h = hova.linear %x, %w {hova.site = {kind = "feed-forward", path = "ffn"}} : tensor<1x2x8xf32>, tensor<8x16xf32> -> tensor<1x2x16xf32> loc("ffn.hidden")
  %a = hova.activation relu %h {hova.site = {kind = "feed-forward", path = "ffn"}} : tensor<1x2x16xf32> loc("ffn")
  %y = hova.linear %a, %v {hova.site = {kind = "feed-forward", path = "ffn"}} : tensor<1x2x16xf32>, tensor<16x8xf32> -> tensor<1x2x8xf32> loc("ffn.output")
  return %y : tensor<1x2x8xf32>
}

// -----

// Scaled heads are an intermediate of the site that scales them. Here the
// reader computes its columns; above it would have stood in the kernel.
// CHECK-LABEL: func.func @main
// CHECK: hova.scale_heads {{.*}}hova.verdict = {apart = [{path = "output", why = "dividing rows does not pay for 'hova.linear': 2 rows against 3, and 128 multiply-accumulates against 64; it pays from 3 rows on, or below 64 multiply-accumulates"}], fused = false, kernels = ["heads"], why = "64 bytes that 'hova.scale_heads' computes pass through memory: dividing rows does not pay for 'hova.linear': 2 rows against 3, and 128 multiply-accumulates against 64; it pays from 3 rows on, or below 64 multiply-accumulates"}
func.func @main(%h: tensor<1x2x8xf32>, %b: tensor<1x2x2xf32>) -> tensor<1x2x8xf32> {
  %w = hova.image_weight "w" : tensor<8x8xf32>
  %s = hova.scale_heads %h, %b : tensor<1x2x8xf32>, tensor<1x2x2xf32> loc("heads")
  %y = hova.linear %s, %w : tensor<1x2x8xf32>, tensor<8x8xf32> -> tensor<1x2x8xf32> loc("output")
  return %y : tensor<1x2x8xf32>
}

// -----

// A kernel that another pass has formed is a reason too, on both sides of it.
// CHECK-LABEL: func.func @main
// CHECK: hova.layer_norm {{.*}}hova.verdict = {apart = [{path = "inside", why = "another pass has formed kernel 'own'; it joins if that pass is left out"}], fused = true, kernels = ["before"]}
// CHECK: hova.layer_norm {{.*}}hova.verdict = {apart = [{path = "before", why = "another pass has formed kernel 'own'; it joins if that pass is left out"}, {path = "after", why = "another pass has formed kernel 'own'; it joins if that pass is left out"}], fused = true, kernels = ["own"]}
// CHECK: hova.layer_norm {{.*}}hova.verdict = {apart = [{path = "inside", why = "another pass has formed kernel 'own'; it joins if that pass is left out"}], fused = true, kernels = ["after"]}
func.func @main(%x: tensor<1x4x8xf32>) -> tensor<1x4x8xf32> {
  %a = hova.layer_norm %x {eps = 1.0e-6 : f64} : tensor<1x4x8xf32> loc("before")
  %k = hova.kernel "own" units<batch 1, token 4>(%a) {
  ^bb0(%c: tensor<1x4x8xf32>):
    %n = hova.layer_norm %c {eps = 1.0e-6 : f64} : tensor<1x4x8xf32> loc("inside")
    hova.yield %n : tensor<1x4x8xf32>
  } : (tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
  %b = hova.layer_norm %k {eps = 1.0e-6 : f64} : tensor<1x4x8xf32> loc("after")
  return %b : tensor<1x4x8xf32>
}

// -----

// What is assembled is no kernel's work; who reads it stands apart from those
// that write its parts.
// CHECK-LABEL: func.func @main
// CHECK: hova.index_sort {{.*}}hova.verdict = {fused = true, why = "its parts are written where they stand in it", writers = ["one"]}
// CHECK: hova.layer_norm {{.*}}hova.verdict = {apart = [{path = "one", why = "'hova.layer_norm' reads 'hova.index_sort', whose rows several kernels write"}, {path = "two", why = "'hova.layer_norm' reads 'hova.index_sort', whose rows several kernels write"}], fused = true, kernels = ["norm"]}
func.func @main(%x: tensor<1x4x8xf32>) -> tensor<1x8x8xf32> {
  %a = hova.activation relu %x : tensor<1x4x8xf32> loc("one")
  %b = hova.activation tanh %a : tensor<1x4x8xf32> loc("two")
  %z = hova.index_sort %a, %b : tensor<1x4x8xf32> -> tensor<1x8x8xf32> loc("sorted")
  %n = hova.layer_norm %z {eps = 1.0e-6 : f64} : tensor<1x8x8xf32> loc("norm")
  return %n : tensor<1x8x8xf32>
}
