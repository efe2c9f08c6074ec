// RUN: hova-opt %s --split-input-file --hova-assign-cpu-schedule --verify-diagnostics
// SPDX-License-Identifier: Apache-2.0

func.func @main(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %y = hova.kernel "k" units<row 4>(%x) {
  ^bb0(%a: tensor<?x8xf32>):
    // expected-error@+1 {{'hova.activation' op needs static shapes to be code for a CPU, got 'tensor<?x8xf32>'}}
    %r = hova.activation relu %a : tensor<?x8xf32>
    hova.yield %r : tensor<?x8xf32>
  } : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}
