// RUN: hova-opt %s --split-input-file --hova-fuse-kernels='policy={#hova_cpu.fusion<few_units = 5, least_block = 4>}' | FileCheck %s
// RUN: hova-opt %s --split-input-file --hova-fuse-kernels='policy={#hova_cpu.fusion<few_units = 4, least_block = 4>}' | FileCheck %s --check-prefix=ENOUGH
// SPDX-License-Identifier: Apache-2.0

// Four units are few: the queries of each head are cut into blocks of at least
// four.
// CHECK: hova.kernel {{.*}}units<batch 2, head 2, query_block 2>(
// ENOUGH: hova.kernel {{.*}}units<batch 2, head 2>(
func.func @main(%q: tensor<2x9x8xf32>, %k: tensor<2x5x8xf32>) -> tensor<2x9x8xf32> {
  %o = hova.attention %q, %k, %k
      {heads = 2 : i64}
      : (tensor<2x9x8xf32>, tensor<2x5x8xf32>, tensor<2x5x8xf32>) -> tensor<2x9x8xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all
  }
  return %o : tensor<2x9x8xf32>
}

// -----

// Less than two blocks of queries stay whole, and rows have no such dim.
// CHECK: hova.kernel {{.*}}units<batch 1, head 2>(
// CHECK: hova.kernel {{.*}}units<batch 1, token 7>(
func.func @main(%q: tensor<1x7x8xf32>) -> tensor<1x7x8xf32> {
  %o = hova.attention %q, %q, %q
      {heads = 2 : i64}
      : (tensor<1x7x8xf32>, tensor<1x7x8xf32>, tensor<1x7x8xf32>) -> tensor<1x7x8xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
    %all = arith.constant true
    hova.score_yield %raw kept %all
  }
  %r = hova.activation relu %o : tensor<1x7x8xf32>
  return %r : tensor<1x7x8xf32>
}
