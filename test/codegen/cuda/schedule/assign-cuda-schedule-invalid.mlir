// RUN: hova-opt %s --hova-assign-cuda-schedule --split-input-file --verify-diagnostics
// SPDX-License-Identifier: Apache-2.0

// What has no code for a GPU is an error at the operation, and says what has.

func.func @main(%x: tensor<1x4x8xf32>, %w: tensor<8x8xbf16>) -> tensor<1x4x8xf32> {
  %r = hova.kernel "k" (%x, %w) {
  ^bb0(%x_: tensor<1x4x8xf32>, %w_: tensor<8x8xbf16>):
    // expected-error@+1 {{'hova.linear' op has code for a GPU for a weight of its input's type, 'f32', got 'bf16'}}
    %1 = hova.linear %x_, %w_ : tensor<1x4x8xf32>, tensor<8x8xbf16> -> tensor<1x4x8xf32>
    hova.yield %1 : tensor<1x4x8xf32>
  } : (tensor<1x4x8xf32>, tensor<8x8xbf16>) -> tensor<1x4x8xf32>
  return %r : tensor<1x4x8xf32>
}

// -----

func.func @main(%x: tensor<1x4x2145xf32>, %g: tensor<65xf32>) -> tensor<1x4x2145xf32> {
  %r = hova.kernel "k" (%x, %g) {
  ^bb0(%x_: tensor<1x4x2145xf32>, %g_: tensor<65xf32>):
    // expected-error@+1 {{'hova.layer_norm' op needs tiles of whole heads, of at most 2048 columns on a GPU, which none of 2145 columns has with heads of 65; a CPU runs it (--target=cpu)}}
    %1 = hova.layer_norm %x_, %g_, %g_ {eps = 1.0e-6 : f64, heads = 33 : i64} : tensor<1x4x2145xf32>, tensor<65xf32>
    hova.yield %1 : tensor<1x4x2145xf32>
  } : (tensor<1x4x2145xf32>, tensor<65xf32>) -> tensor<1x4x2145xf32>
  return %r : tensor<1x4x2145xf32>
}

// -----

func.func @main(%q: tensor<1x4x514xbf16>) -> tensor<1x4x514xbf16> {
  %r = hova.kernel "k" (%q) {
  ^bb0(%q_: tensor<1x4x514xbf16>):
    // expected-error@+1 {{'hova.attention' op has code for a GPU for heads of up to 256 columns, got 257; a CPU runs it (--target=cpu)}}
    %1 = hova.attention %q_, %q_, %q_
        {heads = 2 : i64}
        : (tensor<1x4x514xbf16>, tensor<1x4x514xbf16>, tensor<1x4x514xbf16>) -> tensor<1x4x514xbf16> scores {
    ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
      %scale = hova.number 0.125
      %scaled = arith.mulf %raw, %scale : f32
      %all = arith.constant true
      hova.score_yield %scaled kept %all
    }
    hova.yield %1 : tensor<1x4x514xbf16>
  } : (tensor<1x4x514xbf16>) -> tensor<1x4x514xbf16>
  return %r : tensor<1x4x514xbf16>
}

// -----

func.func @main(%q: tensor<1x4x16xbf16>) -> tensor<1x4x16xbf16> {
  %r = hova.kernel "k" (%q) {
  ^bb0(%q_: tensor<1x4x16xbf16>):
    // expected-error@+1 {{'hova.attention' op has no code for a GPU yet with integers beyond 32 bits in its scores; a CPU runs it (--target=cpu)}}
    %1 = hova.attention %q_, %q_, %q_
        {heads = 2 : i64}
        : (tensor<1x4x16xbf16>, tensor<1x4x16xbf16>, tensor<1x4x16xbf16>) -> tensor<1x4x16xbf16> scores {
    ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
      %scale = hova.number 0.125
      %scaled = arith.mulf %raw, %scale : f32
      %large = arith.constant 1099511627776 : index
      %far = arith.muli %query, %large : index
      %not_later = arith.cmpi sle, %key, %far : index
      hova.score_yield %scaled kept %not_later
    }
    hova.yield %1 : tensor<1x4x16xbf16>
  } : (tensor<1x4x16xbf16>) -> tensor<1x4x16xbf16>
  return %r : tensor<1x4x16xbf16>
}

// -----

func.func @main(%h: tensor<1x4x512xf32>, %s: tensor<1x4x256xf32>, %a: tensor<256x256xf32>, %w: tensor<256xf32>) -> tensor<1x4x2xf32> {
  %r = hova.kernel "k" (%h, %s, %a, %w) {
  ^bb0(%h_: tensor<1x4x512xf32>, %s_: tensor<1x4x256xf32>, %a_: tensor<256x256xf32>, %w_: tensor<256xf32>):
    // expected-error@+1 {{'hova.head_logits' op needs 327680 bytes of a GPU's shared memory in 'f32', of which a block has 166912}}
    %1 = hova.head_logits %h_, %s_, %a_, %w_ {heads = 2 : i64}
        : (tensor<1x4x512xf32>, tensor<1x4x256xf32>, tensor<256x256xf32>, tensor<256xf32>) -> tensor<1x4x2xf32>
    hova.yield %1 : tensor<1x4x2xf32>
  } : (tensor<1x4x512xf32>, tensor<1x4x256xf32>, tensor<256x256xf32>, tensor<256xf32>) -> tensor<1x4x2xf32>
  return %r : tensor<1x4x2xf32>
}

// -----

func.func @main(%x: tensor<1x4x16xf32>, %s: tensor<1x2x2x8x9xf32>) -> tensor<1x4x16xf32> {
  %r = hova.kernel "k" (%x, %s) {
  ^bb0(%x_: tensor<1x4x16xf32>, %s_: tensor<1x2x2x8x9xf32>):
    // expected-error@+1 {{'hova.summary_attention' op has code for a GPU for a summary that is merged, of one block; a CPU runs it (--target=cpu)}}
    %1 = hova.summary_attention relu %x_, %s_ {heads = 2 : i64, block = 4 : i64} : (tensor<1x4x16xf32>, tensor<1x2x2x8x9xf32>) -> tensor<1x4x16xf32>
    hova.yield %1 : tensor<1x4x16xf32>
  } : (tensor<1x4x16xf32>, tensor<1x2x2x8x9xf32>) -> tensor<1x4x16xf32>
  return %r : tensor<1x4x16xf32>
}

// -----

func.func @main(%x: tensor<1x4x16xf32>, %s: tensor<1x2x2x8x9xf32>) -> tensor<1x4x16xf32> {
  %r = hova.kernel "k" (%x, %s) {
  ^bb0(%x_: tensor<1x4x16xf32>, %s_: tensor<1x2x2x8x9xf32>):
    // expected-error@+1 {{'hova.summary_attention' op has code for a GPU for a summary that is merged, in blocks of 64 queries; a CPU runs it (--target=cpu)}}
    %1 = hova.summary_attention relu %x_, %s_ key(%x_) value(%x_) {heads = 2 : i64, block = 2 : i64, merged} : (tensor<1x4x16xf32>, tensor<1x2x2x8x9xf32>, tensor<1x4x16xf32>, tensor<1x4x16xf32>) -> tensor<1x4x16xf32>
    hova.yield %1 : tensor<1x4x16xf32>
  } : (tensor<1x4x16xf32>, tensor<1x2x2x8x9xf32>) -> tensor<1x4x16xf32>
  return %r : tensor<1x4x16xf32>
}

// -----

func.func @main(%q: tensor<65536x1x16xbf16>) -> tensor<65536x1x16xbf16> {
  %r = hova.kernel "k" (%q) {
  ^bb0(%q_: tensor<65536x1x16xbf16>):
    // expected-error@+1 {{'hova.attention' op has code for a GPU for at most 65535 items of a batch and as many heads, got 65536 and 2; give it fewer at once}}
    %1 = hova.attention %q_, %q_, %q_
        {heads = 2 : i64}
        : (tensor<65536x1x16xbf16>, tensor<65536x1x16xbf16>, tensor<65536x1x16xbf16>) -> tensor<65536x1x16xbf16> scores {
    ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
      %scale = hova.number 0.125
      %scaled = arith.mulf %raw, %scale : f32
      %all = arith.constant true
      hova.score_yield %scaled kept %all
    }
    hova.yield %1 : tensor<65536x1x16xbf16>
  } : (tensor<65536x1x16xbf16>) -> tensor<65536x1x16xbf16>
  return %r : tensor<65536x1x16xbf16>
}

// -----

func.func @main(%x: tensor<1x16x8xf32>) -> tensor<4x8xf32> {
  %r = hova.kernel "k" (%x) attributes {input_placements = [#hova.window<2x2, shift 0x0, grid 4x4>]} {
  ^bb0(%x_: tensor<4x4x8xf32>):
    // expected-error@+1 {{'hova.pool' op reads rows in an order of their own, for which there is no code for a GPU yet; a CPU runs it (--target=cpu)}}
    %1 = hova.pool mean %x_ : tensor<4x4x8xf32> -> tensor<4x8xf32>
    hova.yield %1 : tensor<4x8xf32>
  } : (tensor<1x16x8xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// -----

func.func @main(%x: tensor<4x4x8xf32>) -> tensor<1x16x8xf32> {
  %r = hova.kernel "k" (%x) attributes {result_placements = [#hova.window<2x2, shift 0x0, grid 4x4>]} {
  ^bb0(%x_: tensor<4x4x8xf32>):
    // expected-error@+1 {{'hova.scale' op writes rows in an order of their own, for which there is no code for a GPU yet; a CPU runs it (--target=cpu)}}
    %1 = hova.scale %x_ {factor = 2.0 : f64} : tensor<4x4x8xf32>
    hova.yield %1 : tensor<4x4x8xf32>
  } : (tensor<4x4x8xf32>) -> tensor<1x16x8xf32>
  return %r : tensor<1x16x8xf32>
}

// -----

func.func @main(%x: tensor<2x524288x1024xf32>) -> tensor<2x524288x1024xf32> {
  %r = hova.kernel "k" (%x) {
  ^bb0(%x_: tensor<2x524288x1024xf32>):
    // expected-error@+1 {{'hova.activation' op has code for a GPU for values below 2 GiB, and reads 1048576 rows of 4096 bytes; a CPU runs it (--target=cpu)}}
    %1 = hova.activation relu %x_ : tensor<2x524288x1024xf32>
    hova.yield %1 : tensor<2x524288x1024xf32>
  } : (tensor<2x524288x1024xf32>) -> tensor<2x524288x1024xf32>
  return %r : tensor<2x524288x1024xf32>
}

// -----

func.func @main(%x: tensor<2x524288x8xbf16>, %w: tensor<8x2048xbf16>) -> tensor<2x524288x2048xbf16> {
  %r = hova.kernel "k" (%x, %w) {
  ^bb0(%x_: tensor<2x524288x8xbf16>, %w_: tensor<8x2048xbf16>):
    // expected-error@+1 {{'hova.linear' op has code for a GPU for values below 2 GiB, and writes 1048576 rows of 4096 bytes; a CPU runs it (--target=cpu)}}
    %1 = hova.linear %x_, %w_ : tensor<2x524288x8xbf16>, tensor<8x2048xbf16> -> tensor<2x524288x2048xbf16>
    hova.yield %1 : tensor<2x524288x2048xbf16>
  } : (tensor<2x524288x8xbf16>, tensor<8x2048xbf16>) -> tensor<2x524288x2048xbf16>
  return %r : tensor<2x524288x2048xbf16>
}
