// RUN: hova-opt %s --verify-diagnostics --pass-pipeline='builtin.module(func.func(hova-normalize-storage))'
// SPDX-License-Identifier: Apache-2.0

module attributes {hova.storage = f32} {
  // expected-error@+1 {{expects bf16 or f16 as hova.storage, got 'f32'}}
  func.func @storage_has_16_bits(%x: tensor<1x8xf32>) -> tensor<1x8xf32> {
    return %x : tensor<1x8xf32>
  }
}
