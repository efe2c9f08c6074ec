// Which products are those of a matrix unit, and why others are not.

// RUN: hova-opt %s --split-input-file --hova-assign-cpu-schedule='matrix-unit=true' --hova-verify-assigned | FileCheck %s
// RUN: hova-opt %s --split-input-file --hova-assign-cpu-schedule | FileCheck %s --check-prefix=NONE
// SPDX-License-Identifier: Apache-2.0

// NONE-NOT: matrix_unit
// NONE-NOT: matrix unit

// A kernel uses it where one of its products does.
// CHECK-LABEL: hova.kernel "wide_and_narrow"
// CHECK-SAME: matrix_unit>
// CHECK: hova.linear {{.*}}"hova-assign-cpu-schedule" = {fired = true, why = "products are those of the matrix unit"}
// CHECK: hova.linear {{.*}}"hova-assign-cpu-schedule" = {fired = false, fires_if = "there are 16 columns", why = "products of 15 columns are faster in vectors than by the matrix unit"}
func.func @main(%x: tensor<1x40x64xbf16>) -> tensor<1x40x15xf32> {
  %w = hova.image_weight "w" : tensor<64x64xbf16>
  %n = hova.image_weight "n" : tensor<64x15xbf16>
  %out = hova.kernel "wide_and_narrow" units<batch 1, token 40> (%x, %w, %n) {
  ^bb0(%a: tensor<1x40x64xbf16>, %w_: tensor<64x64xbf16>, %n_: tensor<64x15xbf16>):
    %y = hova.linear %a, %w_ : tensor<1x40x64xbf16>, tensor<64x64xbf16> -> tensor<1x40x64xbf16>
    %z = hova.linear %y, %n_ : tensor<1x40x64xbf16>, tensor<64x15xbf16> -> tensor<1x40x15xf32>
    hova.yield %z : tensor<1x40x15xf32>
  } : (tensor<1x40x64xbf16>, tensor<64x64xbf16>, tensor<64x15xbf16>) -> tensor<1x40x15xf32>
  return %out : tensor<1x40x15xf32>
}

// -----

// Rows are not counted: a program for any number of them has these bits, too.
// CHECK-LABEL: hova.kernel "one_row"
// CHECK-SAME: matrix_unit>
func.func @main(%x: tensor<1x1x64xbf16>) -> tensor<1x1x64xf32> {
  %w = hova.image_weight "w" : tensor<64x64xbf16>
  %out = hova.kernel "one_row" units<batch 1, token 1> (%x, %w) {
  ^bb0(%a: tensor<1x1x64xbf16>, %w_: tensor<64x64xbf16>):
    %y = hova.linear %a, %w_ : tensor<1x1x64xbf16>, tensor<64x64xbf16> -> tensor<1x1x64xf32>
    hova.yield %y : tensor<1x1x64xf32>
  } : (tensor<1x1x64xbf16>, tensor<64x64xbf16>) -> tensor<1x1x64xf32>
  return %out : tensor<1x1x64xf32>
}

// -----

// CHECK-LABEL: hova.kernel "few_channels"
// CHECK-NOT: matrix_unit
// CHECK: hova.linear {{.*}}{fired = false, fires_if = "there are 16 channels", why = "products of 15 channels are faster in vectors than by the matrix unit"}
func.func @main(%x: tensor<1x40x15xbf16>) -> tensor<1x40x64xf32> {
  %w = hova.image_weight "w" : tensor<15x64xbf16>
  %out = hova.kernel "few_channels" units<batch 1, token 40> (%x, %w) {
  ^bb0(%a: tensor<1x40x15xbf16>, %w_: tensor<15x64xbf16>):
    %y = hova.linear %a, %w_ : tensor<1x40x15xbf16>, tensor<15x64xbf16> -> tensor<1x40x64xf32>
    hova.yield %y : tensor<1x40x64xf32>
  } : (tensor<1x40x15xbf16>, tensor<15x64xbf16>) -> tensor<1x40x64xf32>
  return %out : tensor<1x40x64xf32>
}

// -----

// What is filled up to a step and half a strip pays from 16 on.
// CHECK-LABEL: hova.kernel "filled_up"
// CHECK-SAME: matrix_unit>
// CHECK: hova.linear {{.*}}{fired = true, why = "products are those of the matrix unit"}
func.func @main(%x: tensor<1x40x16xbf16>) -> tensor<1x40x16xf32> {
  %w = hova.image_weight "w" : tensor<16x16xbf16>
  %out = hova.kernel "filled_up" units<batch 1, token 40> (%x, %w) {
  ^bb0(%a: tensor<1x40x16xbf16>, %w_: tensor<16x16xbf16>):
    %y = hova.linear %a, %w_ : tensor<1x40x16xbf16>, tensor<16x16xbf16> -> tensor<1x40x16xf32>
    hova.yield %y : tensor<1x40x16xf32>
  } : (tensor<1x40x16xbf16>, tensor<16x16xbf16>) -> tensor<1x40x16xf32>
  return %out : tensor<1x40x16xf32>
}

// -----

// Numbers of f32 are not asked about.
// CHECK-LABEL: hova.kernel "single"
// CHECK-NOT: matrix
func.func @main(%x: tensor<1x40x64xf32>) -> tensor<1x40x64xf32> {
  %w = hova.image_weight "w" : tensor<64x64xf32>
  %out = hova.kernel "single" units<batch 1, token 40> (%x, %w) {
  ^bb0(%a: tensor<1x40x64xf32>, %w_: tensor<64x64xf32>):
    %y = hova.linear %a, %w_ : tensor<1x40x64xf32>, tensor<64x64xf32> -> tensor<1x40x64xf32>
    hova.yield %y : tensor<1x40x64xf32>
  } : (tensor<1x40x64xf32>, tensor<64x64xf32>) -> tensor<1x40x64xf32>
  return %out : tensor<1x40x64xf32>
}

// -----

// Blocks of rows of an attention are two tiles of the unit.
// CHECK-LABEL: hova.kernel "attention"
// CHECK-SAME: tile = 32x32
// CHECK-SAME: pairs, matrix_unit>
// CHECK: hova.attention {{.*}}{fired = true, why = "products are those of the matrix unit"}
func.func @main(%q: tensor<1x40x64xbf16>, %k: tensor<1x40x64xbf16>, %v: tensor<1x40x64xbf16>) -> tensor<1x40x64xbf16> {
  %out = hova.kernel "attention" units<batch 1, head 2> (%q, %k, %v) {
  ^bb0(%q_: tensor<1x40x64xbf16>, %k_: tensor<1x40x64xbf16>, %v_: tensor<1x40x64xbf16>):
    %r = hova.attention %q_, %k_, %v_ {heads = 2 : i64}
        : (tensor<1x40x64xbf16>, tensor<1x40x64xbf16>, tensor<1x40x64xbf16>) -> tensor<1x40x64xbf16> scores {
    ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
      %all = arith.constant true
      hova.score_yield %raw kept %all
    }
    hova.yield %r : tensor<1x40x64xbf16>
  } : (tensor<1x40x64xbf16>, tensor<1x40x64xbf16>, tensor<1x40x64xbf16>) -> tensor<1x40x64xbf16>
  return %out : tensor<1x40x64xbf16>
}

// -----

// CHECK-LABEL: hova.kernel "blocks"
// CHECK-NOT: matrix_unit
// CHECK: hova.attention {{.*}}{fired = false, fires_if = "both are multiples of 32", why = "blocks of 16 keys, with 32 channels, are no whole steps of the matrix unit"}
func.func @main(%q: tensor<1x80x64xbf16>, %k: tensor<1x80x64xbf16>, %v: tensor<1x80x64xbf16>) -> tensor<1x80x64xbf16> {
  %out = hova.kernel "blocks" units<batch 1, head 2, query_block 5> (%q, %k, %v) {
  ^bb0(%q_: tensor<1x80x64xbf16>, %k_: tensor<1x80x64xbf16>, %v_: tensor<1x80x64xbf16>):
    %r = hova.attention %q_, %k_, %v_ {heads = 2 : i64, block = 16 : i64}
        : (tensor<1x80x64xbf16>, tensor<1x80x64xbf16>, tensor<1x80x64xbf16>) -> tensor<1x80x64xbf16> scores {
    ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
      %all = arith.constant true
      hova.score_yield %raw kept %all
    }
    hova.yield %r : tensor<1x80x64xbf16>
  } : (tensor<1x80x64xbf16>, tensor<1x80x64xbf16>, tensor<1x80x64xbf16>) -> tensor<1x80x64xbf16>
  return %out : tensor<1x80x64xbf16>
}

// -----

// Tokens are the inner dimension of their projection.
// CHECK-LABEL: hova.kernel "few_tokens"
// CHECK-NOT: matrix_unit
// CHECK: hova.project_tokens {{.*}}{fired = false, fires_if = "there are 32 tokens", why = "products of 31 tokens are faster in vectors than by the matrix unit"}
func.func @main(%x: tensor<1x31x64xbf16>, %w: tensor<31x40xbf16>) -> tensor<1x40x64xf32> {
  %out = hova.kernel "few_tokens" units<batch 1> (%x, %w) {
  ^bb0(%a: tensor<1x31x64xbf16>, %w_: tensor<31x40xbf16>):
    %y = hova.project_tokens %a, %w_ : tensor<1x31x64xbf16>, tensor<31x40xbf16> -> tensor<1x40x64xf32>
    hova.yield %y : tensor<1x40x64xf32>
  } : (tensor<1x31x64xbf16>, tensor<31x40xbf16>) -> tensor<1x40x64xf32>
  return %out : tensor<1x40x64xf32>
}

// -----

// Register tiles stay what they are beside the unit: vectors do the rest.
// CHECK-LABEL: hova.kernel "tokens"
// CHECK-SAME: tile = 14x32
// CHECK-SAME: matrix_unit>
func.func @main(%x: tensor<1x32x64xbf16>, %w: tensor<32x4xbf16>) -> tensor<1x4x64xf32> {
  %out = hova.kernel "tokens" units<batch 1> (%x, %w) {
  ^bb0(%a: tensor<1x32x64xbf16>, %w_: tensor<32x4xbf16>):
    %y = hova.project_tokens %a, %w_ : tensor<1x32x64xbf16>, tensor<32x4xbf16> -> tensor<1x4x64xf32>
    hova.yield %y : tensor<1x4x64xf32>
  } : (tensor<1x32x64xbf16>, tensor<32x4xbf16>) -> tensor<1x4x64xf32>
  return %out : tensor<1x4x64xf32>
}

// -----

// CHECK-LABEL: hova.kernel "logits"
// CHECK: hova.head_logits {{.*}}{fired = false, fires_if = "there are 32 channels", why = "products of 20 channels are faster in vectors than by the matrix unit"}
func.func @main(%x: tensor<1x40x40xbf16>, %shift: tensor<1x40x40xf32>, %score: tensor<40xf32>) -> tensor<1x40x2xf32> {
  %w = hova.image_weight "w" : tensor<20x40xbf16>
  %out = hova.kernel "logits" units<batch 1, token 40> (%x, %shift, %w, %score) {
  ^bb0(%x_: tensor<1x40x40xbf16>, %s_: tensor<1x40x40xf32>, %w_: tensor<20x40xbf16>, %u_: tensor<40xf32>):
    %r = hova.head_logits %x_, %s_, %w_, %u_ {heads = 2 : i64} : (tensor<1x40x40xbf16>, tensor<1x40x40xf32>, tensor<20x40xbf16>, tensor<40xf32>) -> tensor<1x40x2xf32>
    hova.yield %r : tensor<1x40x2xf32>
  } : (tensor<1x40x40xbf16>, tensor<1x40x40xf32>, tensor<20x40xbf16>, tensor<40xf32>) -> tensor<1x40x2xf32>
  return %out : tensor<1x40x2xf32>
}

// -----

// Linear attention has products of features and of their sums.
// CHECK-LABEL: hova.kernel "sums"
// CHECK-SAME: tile = 14x32
// CHECK-SAME: matrix_unit>
// CHECK: hova.key_summary {{.*}}{fired = true, why = "products are those of the matrix unit"}
// CHECK-LABEL: hova.kernel "results"
// CHECK: hova.summary_attention {{.*}}{fired = false, fires_if = "there are 32 channels", why = "products of 24 channels are faster in vectors than by the matrix unit"}
func.func @main(%k: tensor<1x70x32xbf16>, %v: tensor<1x70x40xbf16>, %q: tensor<1x70x24xbf16>) -> tensor<1x70x40xf32> {
  %w = hova.image_weight "w" : tensor<32x50xf32>
  %u = hova.image_weight "u" : tensor<24x50xf32>
  %sums = hova.kernel "sums" units<batch 1, head 1, token_block 1> (%k, %v, %w) {
  ^bb0(%k_: tensor<1x70x32xbf16>, %v_: tensor<1x70x40xbf16>, %w_: tensor<32x50xf32>):
    %r = hova.key_summary relu %k_, %v_ features(%w_) {heads = 1 : i64, block = 70 : i64} : (tensor<1x70x32xbf16>, tensor<1x70x40xbf16>, tensor<32x50xf32>) -> tensor<1x1x1x50x41xf32>
    hova.yield %r : tensor<1x1x1x50x41xf32>
  } : (tensor<1x70x32xbf16>, tensor<1x70x40xbf16>, tensor<32x50xf32>) -> tensor<1x1x1x50x41xf32>
  %out = hova.kernel "results" units<batch 1, head 1, query_block 1> (%q, %sums, %u) {
  ^bb0(%q_: tensor<1x70x24xbf16>, %s_: tensor<1x1x1x50x41xf32>, %u_: tensor<24x50xf32>):
    %r = hova.summary_attention relu %q_, %s_ features(%u_) {heads = 1 : i64, block = 70 : i64} : (tensor<1x70x24xbf16>, tensor<1x1x1x50x41xf32>, tensor<24x50xf32>) -> tensor<1x70x40xf32>
    hova.yield %r : tensor<1x70x40xf32>
  } : (tensor<1x70x24xbf16>, tensor<1x1x1x50x41xf32>, tensor<24x50xf32>) -> tensor<1x70x40xf32>
  return %out : tensor<1x70x40xf32>
}
