// What units cost, where threads divide queries that do not see the same keys.

// RUN: hova-opt %s --split-input-file --hova-tile-cpu-kernels | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// Two blocks of two queries, which read three of four panels: 2 * 48. A query costs
// as much as a panel of 16 besides.
// CHECK-LABEL: func.func @main(
// CHECK: hova.launch @kernel_equal_panels({{.*}}costs = [128, 128]>
func.func @main(%q: tensor<1x4x16xf32>, %k: tensor<1x64x16xf32>) -> tensor<1x4x16xf32> {
  %out = hova.kernel "equal_panels" units<batch 1, head 2, query_block 2> (%q, %k) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 1>} {
  ^bb0(%q_: tensor<1x4x16xf32>, %k_: tensor<1x64x16xf32>):
    %r_out = hova.stage [#hova.layout<rows 16>] {
      %r = hova.attention %q_, %k_, %k_
          {heads = 2 : i64}
          : (tensor<1x4x16xf32>, tensor<1x64x16xf32>, tensor<1x64x16xf32>) -> tensor<1x4x16xf32> scores {
      ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
        %shift = arith.constant 40 : index
        %position = arith.addi %query, %shift : index
        %not_later = arith.cmpi sle, %key, %position : index
        hova.score_yield %raw kept %not_later
      }
      hova.yield %r : tensor<1x4x16xf32>
    } : tensor<1x4x16xf32>
    hova.yield %r_out : tensor<1x4x16xf32>
  } : (tensor<1x4x16xf32>, tensor<1x64x16xf32>) -> tensor<1x4x16xf32>
  return %out : tensor<1x4x16xf32>
}

// -----

// Queries of the second block see the keys of the first one too. Row blocks of four
// and three read whole panels of 16, but no key after the last: of 25 in the first
// block 16 read 16 keys and 9 read 32, and each costs 16 more.
// CHECK-LABEL: func.func @main(
// CHECK: hova.launch @kernel_grows({{.*}}costs = [944, 1542]>
func.func @main(%q: tensor<1x50x16xf32>) -> tensor<1x50x16xf32> {
  %out = hova.kernel "grows" units<batch 1, head 1, query_block 2> (%q) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 1>} {
  ^bb0(%q_: tensor<1x50x16xf32>):
    %r_out = hova.stage [#hova.layout<rows 16>] {
      %r = hova.attention %q_, %q_, %q_
          {heads = 1 : i64}
          : (tensor<1x50x16xf32>, tensor<1x50x16xf32>, tensor<1x50x16xf32>) -> tensor<1x50x16xf32> scores {
      ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
        %not_later = arith.cmpi sle, %key, %query : index
        hova.score_yield %raw kept %not_later
      }
      hova.yield %r : tensor<1x50x16xf32>
    } : tensor<1x50x16xf32>
    hova.yield %r_out : tensor<1x50x16xf32>
  } : (tensor<1x50x16xf32>) -> tensor<1x50x16xf32>
  return %out : tensor<1x50x16xf32>
}

// -----

// Whole heads are alike, and so are blocks without a causal mask.
// CHECK-LABEL: func.func @main(
// CHECK: hova.launch @kernel_heads(
// CHECK-NOT: costs
// CHECK: hova.launch @kernel_all_keys(
// CHECK-NOT: costs
func.func @main(%q: tensor<1x50x16xf32>) -> (tensor<1x50x16xf32>, tensor<1x50x16xf32>) {
  %heads = hova.kernel "heads" units<batch 1, head 2> (%q) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 1>} {
  ^bb0(%q_: tensor<1x50x16xf32>):
    %r_out = hova.stage [#hova.layout<rows 16>] {
      %r = hova.attention %q_, %q_, %q_
          {heads = 2 : i64}
          : (tensor<1x50x16xf32>, tensor<1x50x16xf32>, tensor<1x50x16xf32>) -> tensor<1x50x16xf32> scores {
      ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
        %not_later = arith.cmpi sle, %key, %query : index
        hova.score_yield %raw kept %not_later
      }
      hova.yield %r : tensor<1x50x16xf32>
    } : tensor<1x50x16xf32>
    hova.yield %r_out : tensor<1x50x16xf32>
  } : (tensor<1x50x16xf32>) -> tensor<1x50x16xf32>
  %all = hova.kernel "all_keys" units<batch 1, head 1, query_block 2> (%q) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 1>} {
  ^bb0(%q_: tensor<1x50x16xf32>):
    %r_out = hova.stage [#hova.layout<rows 16>] {
      %r = hova.attention %q_, %q_, %q_
          {heads = 1 : i64}
          : (tensor<1x50x16xf32>, tensor<1x50x16xf32>, tensor<1x50x16xf32>) -> tensor<1x50x16xf32> scores {
      ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
        %all = arith.constant true
        hova.score_yield %raw kept %all
      }
      hova.yield %r : tensor<1x50x16xf32>
    } : tensor<1x50x16xf32>
    hova.yield %r_out : tensor<1x50x16xf32>
  } : (tensor<1x50x16xf32>) -> tensor<1x50x16xf32>
  return %heads, %all : tensor<1x50x16xf32>, tensor<1x50x16xf32>
}
