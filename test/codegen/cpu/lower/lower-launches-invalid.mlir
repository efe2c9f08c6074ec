// RUN: hova-opt %s --hova-lower-launches --verify-diagnostics
// SPDX-License-Identifier: Apache-2.0

// expected-error@+1 {{expects 'hova.inputs', the number of inputs}}
func.func @main(%y: memref<90x8xf32>) attributes {hova.arena_bytes = 0 : i64} {
  return
}
