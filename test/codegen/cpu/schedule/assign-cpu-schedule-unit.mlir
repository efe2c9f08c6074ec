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
// CHECK: hova.linear {{.*}}"hova-assign-cpu-schedule" = {fired = false, fires_if = "there are 32 columns", why = "products of 31 columns are faster in vectors than by the matrix unit"}
func.func @main(%x: tensor<1x40x64xbf16>) -> tensor<1x40x31xf32> {
  %w = hova.image_weight "w" : tensor<64x64xbf16>
  %n = hova.image_weight "n" : tensor<64x31xbf16>
  %out = hova.kernel "wide_and_narrow" units<batch 1, token 40> (%x, %w, %n) {
  ^bb0(%a: tensor<1x40x64xbf16>, %w_: tensor<64x64xbf16>, %n_: tensor<64x31xbf16>):
    %y = hova.linear %a, %w_ : tensor<1x40x64xbf16>, tensor<64x64xbf16> -> tensor<1x40x64xbf16>
    %z = hova.linear %y, %n_ : tensor<1x40x64xbf16>, tensor<64x31xbf16> -> tensor<1x40x31xf32>
    hova.yield %z : tensor<1x40x31xf32>
  } : (tensor<1x40x64xbf16>, tensor<64x64xbf16>, tensor<64x31xbf16>) -> tensor<1x40x31xf32>
  return %out : tensor<1x40x31xf32>
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
// CHECK: hova.linear {{.*}}{fired = false, fires_if = "there are 32 channels", why = "products of 31 channels are faster in vectors than by the matrix unit"}
func.func @main(%x: tensor<1x40x31xbf16>) -> tensor<1x40x64xf32> {
  %w = hova.image_weight "w" : tensor<31x64xbf16>
  %out = hova.kernel "few_channels" units<batch 1, token 40> (%x, %w) {
  ^bb0(%a: tensor<1x40x31xbf16>, %w_: tensor<31x64xbf16>):
    %y = hova.linear %a, %w_ : tensor<1x40x31xbf16>, tensor<31x64xbf16> -> tensor<1x40x64xf32>
    hova.yield %y : tensor<1x40x64xf32>
  } : (tensor<1x40x31xbf16>, tensor<31x64xbf16>) -> tensor<1x40x64xf32>
  return %out : tensor<1x40x64xf32>
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
// CHECK: hova.attention {{.*}}{fired = false, fires_if = "all are multiples of 32", why = "blocks of 16 of 80 keys, with 32 channels, are no whole steps of the matrix unit"}
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
