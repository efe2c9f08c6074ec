// RUN: hova-opt %s --split-input-file --hova-tile-cpu-kernels | FileCheck %s
// SPDX-License-Identifier: Apache-2.0
//
// A launch counts what its kernel runs. Panels are of 16 keys, a pair of a
// query and a key takes 8 + 8 multiply-accumulates.

// Dense: 2 heads x 8 queries x 40 keys x 16, twice.
// CHECK: hova.launch @kernel_reads_all_keys{{.*}} {flops = 20480 : i64
func.func @main(%q: tensor<1x8x16xf32>, %k: tensor<1x40x16xf32>, %v: tensor<1x40x16xf32>) -> tensor<1x8x16xf32> {
  %out = hova.kernel "reads_all_keys" units<batch 1, head 2> (%q, %k, %v) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 1>} {
  ^bb0(%q_: tensor<1x8x16xf32>, %k_: tensor<1x40x16xf32>, %v_: tensor<1x40x16xf32>):
    %r_out = hova.stage [#hova.layout<rows 16>] {
      %r = hova.attention %q_, %k_, %v_
          {heads = 2 : i64}
          : (tensor<1x8x16xf32>, tensor<1x40x16xf32>, tensor<1x40x16xf32>) -> tensor<1x8x16xf32> scores {
      ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
        %all = arith.constant true
        hova.score_yield %raw kept %all
      }
      hova.yield %r : tensor<1x8x16xf32>
    } : tensor<1x8x16xf32>
    hova.yield %r_out : tensor<1x8x16xf32>
  } : (tensor<1x8x16xf32>, tensor<1x40x16xf32>, tensor<1x40x16xf32>) -> tensor<1x8x16xf32>
  return %out : tensor<1x8x16xf32>
}

// -----

// Causal: 40 queries in blocks of 4. Those that end at query 15 read 16 keys,
// those at 31 read 32, the last two 40: 16 x 16 + 16 x 32 + 8 x 40 = 1088 of 1600
// pairs; 2 heads x 1088 x 16, twice.
// CHECK: hova.launch @kernel_skips_panels{{.*}} {flops = 69632 : i64
func.func @main(%q: tensor<1x40x16xf32>, %k: tensor<1x40x16xf32>, %v: tensor<1x40x16xf32>) -> tensor<1x40x16xf32> {
  %out = hova.kernel "skips_panels" units<batch 1, head 2> (%q, %k, %v) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 1>} {
  ^bb0(%q_: tensor<1x40x16xf32>, %k_: tensor<1x40x16xf32>, %v_: tensor<1x40x16xf32>):
    %r_out = hova.stage [#hova.layout<rows 16>] {
      %r = hova.attention %q_, %k_, %v_
          {heads = 2 : i64}
          : (tensor<1x40x16xf32>, tensor<1x40x16xf32>, tensor<1x40x16xf32>) -> tensor<1x40x16xf32> scores {
      ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
        %not_later = arith.cmpi sle, %key, %query : index
        hova.score_yield %raw kept %not_later
      }
      hova.yield %r : tensor<1x40x16xf32>
    } : tensor<1x40x16xf32>
    hova.yield %r_out : tensor<1x40x16xf32>
  } : (tensor<1x40x16xf32>, tensor<1x40x16xf32>, tensor<1x40x16xf32>) -> tensor<1x40x16xf32>
  return %out : tensor<1x40x16xf32>
}

// -----

// Queries before the first key read nothing: of 8 in blocks of 4 before 4 keys,
// the first block has no key and the second has all 4. A uniform empty row, in
// the function after, reads all.
// CHECK: hova.launch @kernel_has_empty_rows{{.*}} {flops = 1024 : i64
func.func @main(%q: tensor<1x8x16xf32>, %k: tensor<1x4x16xf32>, %v: tensor<1x4x16xf32>) -> tensor<1x8x16xf32> {
  %out = hova.kernel "has_empty_rows" units<batch 1, head 2> (%q, %k, %v) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 1>} {
  ^bb0(%q_: tensor<1x8x16xf32>, %k_: tensor<1x4x16xf32>, %v_: tensor<1x4x16xf32>):
    %r_out = hova.stage [#hova.layout<rows 16>] {
      %r = hova.attention %q_, %k_, %v_
          {heads = 2 : i64}
          : (tensor<1x8x16xf32>, tensor<1x4x16xf32>, tensor<1x4x16xf32>) -> tensor<1x8x16xf32> scores {
      ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
        %shift = arith.constant -4 : index
        %position = arith.addi %query, %shift : index
        %not_later = arith.cmpi sle, %key, %position : index
        hova.score_yield %raw kept %not_later
      }
      hova.yield %r : tensor<1x8x16xf32>
    } : tensor<1x8x16xf32>
    hova.yield %r_out : tensor<1x8x16xf32>
  } : (tensor<1x8x16xf32>, tensor<1x4x16xf32>, tensor<1x4x16xf32>) -> tensor<1x8x16xf32>
  return %out : tensor<1x8x16xf32>
}

// -----

// CHECK: hova.launch @kernel_has_uniform_rows{{.*}} {flops = 2048 : i64
func.func @main(%q: tensor<1x8x16xf32>, %k: tensor<1x4x16xf32>, %v: tensor<1x4x16xf32>) -> tensor<1x8x16xf32> {
  %out = hova.kernel "has_uniform_rows" units<batch 1, head 2> (%q, %k, %v) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 1>} {
  ^bb0(%q_: tensor<1x8x16xf32>, %k_: tensor<1x4x16xf32>, %v_: tensor<1x4x16xf32>):
    %r_out = hova.stage [#hova.layout<rows 16>] {
      %r = hova.attention %q_, %k_, %v_
          {heads = 2 : i64, empty_row = #hova<empty_row uniform>}
          : (tensor<1x8x16xf32>, tensor<1x4x16xf32>, tensor<1x4x16xf32>) -> tensor<1x8x16xf32> scores {
      ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
        %shift = arith.constant -4 : index
        %position = arith.addi %query, %shift : index
        %not_later = arith.cmpi sle, %key, %position : index
        hova.score_yield %raw kept %not_later
      }
      hova.yield %r : tensor<1x8x16xf32>
    } : tensor<1x8x16xf32>
    hova.yield %r_out : tensor<1x8x16xf32>
  } : (tensor<1x8x16xf32>, tensor<1x4x16xf32>, tensor<1x4x16xf32>) -> tensor<1x8x16xf32>
  return %out : tensor<1x8x16xf32>
}
