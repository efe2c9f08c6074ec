// RUN: hova-opt %s --load-dialect-plugin=%plugin --split-input-file --hova-split-reductions='length=3' --verify-diagnostics
// SPDX-License-Identifier: Apache-2.0
// What an operation says of its reduction wrongly is an error at the operation.

func.func @main(%x: tensor<2x9x8xf32>) -> tensor<2x8xf32> {
  // expected-error@+1 {{says that its reduction has 9 terms in units of 2, which do not divide them}}
  %t = rows.total %x {unit = 2 : i64} : tensor<2x9x8xf32> -> tensor<2x8xf32>
  return %t : tensor<2x8xf32>
}

// -----

func.func @main(%x: tensor<2x9x8xf32>) -> tensor<2x8xf32> {
  // expected-error@+1 {{says that its reduction has 9 terms in units of 0, which do not divide them}}
  %t = rows.total %x {unit = 0 : i64} : tensor<2x9x8xf32> -> tensor<2x8xf32>
  return %t : tensor<2x8xf32>
}

// -----

func.func @main(%x: tensor<2x9x8xf32>) -> tensor<2x8xf32> {
  // expected-error@+1 {{was divided into nothing that has its type}}
  %t = rows.total %x {wrong} : tensor<2x9x8xf32> -> tensor<2x8xf32>
  return %t : tensor<2x8xf32>
}
