// RUN: hova-opt %s --split-input-file --target=cuda --start-at=normalize --stop-after=fuse | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// A kernel is a product, here of three weights beside each other, and what is element-wise on its tile: two of the parts have such.
// CHECK-LABEL: func.func @main
// CHECK: hova.kernel
// CHECK: hova.linear {{.*}}3 linears read their input once
// CHECK: hova.activation gelu_erf
// CHECK: hova.add
// CHECK: hova.multiply
// CHECK: hova.yield
// A norm needs whole rows, which no block of a product has.
// CHECK: hova.kernel
// CHECK: hova.layer_norm {{.*}}why = "'hova.layer_norm' is not element-wise on the tile of 'hova.linear', the only one that a block of threads holds; it joins if it is"
// Two parts of a row lie in different threads, unless they are its two halves.
// CHECK: hova.kernel
// CHECK: hova.add {{.*}}why = "'hova.add' reads different columns of the tile of 'hova.linear', which lie in different threads; it joins if they are the same or in the same place of both halves"
// CHECK-NOT: hova.kernel
// CHECK: return
module {
  func.func @main(%x: tensor<1x4x16xbf16> {hova.name = "x"}, %residual: tensor<1x4x32xf32> {hova.name = "residual"})
      -> (tensor<1x4x32xf32> {hova.name = "normed"}, tensor<1x4x16xf32> {hova.name = "halves"}, tensor<1x4x16xf32> {hova.name = "square"}) {
    %w = hova.weight "w" : tensor<16x32xbf16>
    %v = hova.weight "v" : tensor<16x32xbf16>
    %u = hova.weight "u" : tensor<16x16xbf16>
    %gain = hova.weight "gain" : tensor<32xf32>
    %bias = hova.weight "bias" : tensor<32xf32>
    %p = hova.linear %x, %w {hova.site = {kind = "linear", path = "p"}} : tensor<1x4x16xbf16>, tensor<16x32xbf16> -> tensor<1x4x32xf32>
    %g = hova.activation gelu_erf %p {hova.site = {kind = "linear", path = "p"}} : tensor<1x4x32xf32>
    %r = hova.add %g, %residual {hova.site = {kind = "add", path = "r"}} : tensor<1x4x32xf32>, tensor<1x4x32xf32>
    %n = hova.layer_norm %r, %gain, %bias {eps = 1.0e-6 : f64, hova.site = {kind = "norm", path = "n"}} : tensor<1x4x32xf32>, tensor<32xf32>
    %q = hova.linear %x, %v {hova.site = {kind = "linear", path = "q"}} : tensor<1x4x16xbf16>, tensor<16x32xbf16> -> tensor<1x4x32xf32>
    %first = hova.slice %q {axis = 2 : i64, offset = 0 : i64, hova.site = {kind = "linear", path = "q"}} : tensor<1x4x32xf32> -> tensor<1x4x16xf32>
    %second = hova.slice %q {axis = 2 : i64, offset = 16 : i64, hova.site = {kind = "linear", path = "q"}} : tensor<1x4x32xf32> -> tensor<1x4x16xf32>
    %halves = hova.add %first, %second {hova.site = {kind = "add", path = "halves"}} : tensor<1x4x16xf32>, tensor<1x4x16xf32>
    %s = hova.linear %x, %u {hova.site = {kind = "linear", path = "s"}} : tensor<1x4x16xbf16>, tensor<16x16xbf16> -> tensor<1x4x16xf32>
    %square = hova.multiply %s, %s {hova.site = {kind = "multiply", path = "square"}} : tensor<1x4x16xf32>, tensor<1x4x16xf32>
    return %n, %halves, %square : tensor<1x4x32xf32>, tensor<1x4x16xf32>, tensor<1x4x16xf32>
  }
}

// -----

// Of an element-wise operation a block has whole rows, and a norm joins it, with what is element-wise on that. A norm of other rows does not.
// CHECK-LABEL: func.func @main
// CHECK: hova.kernel
// CHECK: hova.add
// CHECK: hova.layer_norm
// CHECK-NOT: hova.kernel
// CHECK: hova.activation gelu_erf
// CHECK: hova.layer_norm
// CHECK: hova.yield
// CHECK: hova.kernel
// CHECK: hova.layer_norm {{.*}}hova.layer_norm' is not element-wise on the tile of 'hova.add'
// CHECK-NOT: hova.kernel
// CHECK: return
module {
  func.func @main(%x: tensor<1x4x32xf32> {hova.name = "x"}, %residual: tensor<1x4x32xf32> {hova.name = "residual"})
      -> (tensor<1x4x32xf32> {hova.name = "twice"}, tensor<1x4x16xf32> {hova.name = "half"}) {
    %gain = hova.weight "gain" : tensor<32xf32>
    %bias = hova.weight "bias" : tensor<32xf32>
    %short = hova.weight "short" : tensor<16xf32>
    %r = hova.add %x, %residual {hova.site = {kind = "add", path = "r"}} : tensor<1x4x32xf32>, tensor<1x4x32xf32>
    %n = hova.layer_norm %r, %gain, %bias {eps = 1.0e-6 : f64, hova.site = {kind = "norm", path = "n"}} : tensor<1x4x32xf32>, tensor<32xf32>
    %g = hova.activation gelu_erf %n {hova.site = {kind = "activation", path = "g"}} : tensor<1x4x32xf32>
    %t = hova.layer_norm %g, %gain, %bias {eps = 1.0e-6 : f64, hova.site = {kind = "norm", path = "t"}} : tensor<1x4x32xf32>, tensor<32xf32>
    %s = hova.slice %r {axis = 2 : i64, offset = 0 : i64} : tensor<1x4x32xf32> -> tensor<1x4x16xf32>
    %h = hova.layer_norm %s, %short, %short {eps = 1.0e-6 : f64, hova.site = {kind = "norm", path = "h"}} : tensor<1x4x16xf32>, tensor<16xf32>
    return %t, %h : tensor<1x4x32xf32>, tensor<1x4x16xf32>
  }
}

// -----

// So does one that subtracts no mean. Norms of heads are a kernel of their own, with what is element-wise on them.
// CHECK-LABEL: func.func @main
// CHECK: hova.kernel
// CHECK: hova.add
// CHECK: hova.layer_norm {{.*}} kind( rms)
// CHECK-NEXT: hova.yield
// CHECK: hova.kernel
// CHECK: hova.layer_norm {{.*}} kind( l2) {{.*}}heads = 4
// CHECK-NEXT: hova.activation
// CHECK: hova.yield
// CHECK-NOT: hova.kernel
// CHECK: return
module {
  func.func @main(%x: tensor<1x4x32xf32> {hova.name = "x"}, %residual: tensor<1x4x32xf32> {hova.name = "residual"})
      -> (tensor<1x4x32xf32> {hova.name = "y"}) {
    %gain = hova.weight "gain" : tensor<32xf32>
    %r = hova.add %x, %residual {hova.site = {kind = "add", path = "r"}} : tensor<1x4x32xf32>, tensor<1x4x32xf32>
    %n = hova.layer_norm %r, %gain kind(rms) {eps = 1.0e-6 : f64, hova.site = {kind = "norm", path = "n"}} : tensor<1x4x32xf32>, tensor<32xf32>
    %u = hova.layer_norm %n kind(l2) {eps = 1.0e-6 : f64, heads = 4 : i64, hova.site = {kind = "norm", path = "u"}} : tensor<1x4x32xf32>
    %g = hova.activation gelu_erf %u {hova.site = {kind = "activation", path = "g"}} : tensor<1x4x32xf32>
    return %g : tensor<1x4x32xf32>
  }
}

// -----

// A block has rows of one head of an attention, of which it makes that head's logits. What scales heads by them needs those of all.
// CHECK-LABEL: func.func @main
// CHECK: hova.kernel
// CHECK: hova.attention
// CHECK: hova.head_logits
// CHECK: hova.kernel
// CHECK: hova.scale_heads {{.*}}why = "'hova.attention' divides 1 batch x 2 head among threads, not rows"
// CHECK-NOT: hova.kernel
// CHECK: return
module {
  func.func @main(%x: tensor<1x4x32xbf16> {hova.name = "x"}, %shift: tensor<1x4x8xf32> {hova.name = "shift"})
      -> (tensor<1x4x32xbf16> {hova.name = "scaled"}) {
    %a = hova.weight "a" : tensor<16x8xbf16>
    %s = hova.weight "s" : tensor<8xf32>
    %o = hova.attention %x, %x, %x {heads = 2 : i64, hova.site = {kind = "attention", path = "o"}}
        : (tensor<1x4x32xbf16>, tensor<1x4x32xbf16>, tensor<1x4x32xbf16>) -> tensor<1x4x32xbf16> scores {
    ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
      %all = arith.constant true
      hova.score_yield %raw kept %all
    }
    %b = hova.head_logits %o, %shift, %a, %s {heads = 2 : i64, hova.site = {kind = "reweight", path = "b"}}
        : (tensor<1x4x32xbf16>, tensor<1x4x8xf32>, tensor<16x8xbf16>, tensor<8xf32>) -> tensor<1x4x2xf32>
    %y = hova.scale_heads %o, %b {hova.site = {kind = "reweight", path = "b"}} : tensor<1x4x32xbf16>, tensor<1x4x2xf32>
    return %y : tensor<1x4x32xbf16>
  }
}

// -----

// A product scales its rows with the shares of heads of 32 columns, if nobody else reads the scaled heads. Heads of 12 columns do not begin at chunks
// of 16 bytes.
// CHECK-LABEL: func.func @main
// CHECK: hova.kernel
// CHECK: hova.scale_heads
// CHECK-NOT: hova.kernel
// CHECK: hova.linear
// CHECK: hova.add
// CHECK: hova.kernel
// CHECK: hova.scale_heads
// CHECK: hova.kernel
// CHECK: hova.linear {{.*}}why = "'hova.linear' is not element-wise on the tile of 'hova.scale_heads', the only one that a block of threads holds; it joins if it is"
// CHECK-NOT: hova.kernel
// CHECK: return
module {
  func.func @main(%h: tensor<1x4x64xbf16> {hova.name = "h"}, %l: tensor<1x4x2xf32> {hova.name = "l"}, %r: tensor<1x4x48xf32> {hova.name = "r"},
                  %g: tensor<1x4x24xbf16> {hova.name = "g"}, %m: tensor<1x4x2xf32> {hova.name = "m"})
      -> (tensor<1x4x48xf32> {hova.name = "wide"}, tensor<1x4x48xf32> {hova.name = "narrow"}) {
    %w = hova.weight "w" : tensor<64x48xbf16>
    %v = hova.weight "v" : tensor<24x48xbf16>
    %a = hova.scale_heads %h, %l {hova.site = {kind = "reweight", path = "a"}} : tensor<1x4x64xbf16>, tensor<1x4x2xf32>
    %y = hova.linear %a, %w {hova.site = {kind = "linear", path = "y"}} : tensor<1x4x64xbf16>, tensor<64x48xbf16> -> tensor<1x4x48xf32>
    %s = hova.add %y, %r {hova.site = {kind = "add", path = "s"}} : tensor<1x4x48xf32>, tensor<1x4x48xf32>
    %b = hova.scale_heads %g, %m {hova.site = {kind = "reweight", path = "b"}} : tensor<1x4x24xbf16>, tensor<1x4x2xf32>
    %z = hova.linear %b, %v {hova.site = {kind = "linear", path = "z"}} : tensor<1x4x24xbf16>, tensor<24x48xbf16> -> tensor<1x4x48xf32>
    return %s, %z : tensor<1x4x48xf32>, tensor<1x4x48xf32>
  }
}

// -----

// Both halves of a product are in one tile, so that a gate joins, with what reads it, a half alone or all of it. What is half a row apart of a
// half is not, and what such a thing becomes is none of the product's columns.
// CHECK-LABEL: func.func @main
// CHECK: hova.kernel
// CHECK: hova.linear {{.*}}2 linears read their input once
// CHECK: hova.activation silu
// CHECK: hova.multiply
// CHECK: hova.convert
// CHECK: hova.scale
// CHECK-NEXT: hova.yield
// CHECK: hova.kernel
// CHECK: hova.add {{.*}}why = "'hova.add' reads different columns of the tile of 'hova.linear', which lie in different threads; it joins if they are the same or in the same place of both halves"
// CHECK-NOT: hova.kernel
// CHECK: return
module {
  func.func @main(%x: tensor<1x4x16xbf16> {hova.name = "x"})
      -> (tensor<1x4x32xbf16> {hova.name = "gated"}, tensor<1x4x32xf32> {hova.name = "up"}, tensor<1x4x16xf32> {hova.name = "apart"}) {
    %w = hova.weight "w" : tensor<16x32xbf16>
    %v = hova.weight "v" : tensor<16x32xbf16>
    %g = hova.linear %x, %w {hova.site = {kind = "linear", path = "g"}} : tensor<1x4x16xbf16>, tensor<16x32xbf16> -> tensor<1x4x32xf32>
    %a = hova.activation silu %g {hova.site = {kind = "linear", path = "a"}} : tensor<1x4x32xf32>
    %u = hova.linear %x, %v {hova.site = {kind = "linear", path = "u"}} : tensor<1x4x16xbf16>, tensor<16x32xbf16> -> tensor<1x4x32xf32>
    %m = hova.multiply %a, %u {hova.site = {kind = "multiply", path = "m"}} : tensor<1x4x32xf32>, tensor<1x4x32xf32>
    %c = hova.convert %m : tensor<1x4x32xf32> -> tensor<1x4x32xbf16>
    %s = hova.scale %u {factor = 0.5 : f64} : tensor<1x4x32xf32>
    %first = hova.slice %g {axis = 2 : i64, offset = 0 : i64} : tensor<1x4x32xf32> -> tensor<1x4x16xf32>
    %second = hova.slice %g {axis = 2 : i64, offset = 16 : i64} : tensor<1x4x32xf32> -> tensor<1x4x16xf32>
    %apart = hova.add %first, %second {hova.site = {kind = "add", path = "apart"}} : tensor<1x4x16xf32>, tensor<1x4x16xf32>
    return %c, %s, %apart : tensor<1x4x32xbf16>, tensor<1x4x32xf32>, tensor<1x4x16xf32>
  }
}
