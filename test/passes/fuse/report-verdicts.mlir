// RUN: hova-opt %s --hova-fuse-kernels --hova-assign-verdicts --hova-report-verdicts --verify-diagnostics -o /dev/null
// SPDX-License-Identifier: Apache-2.0

func.func @main(%x: tensor<1x8x8xf32>) -> tensor<1x8x8xf32> {
  %w = hova.image_weight "w" : tensor<8x8xf32>
  // expected-remark@+2 {{norm hova.layer_norm is fused in main}}
  // expected-note@+1 {{with hova.linear}}
  %n = hova.layer_norm %x {eps = 1.0e-6 : f64} : tensor<1x8x8xf32>
  // expected-remark@+4 {{linear hova.linear is fused in main}}
  // expected-note@+3 {{with hova.layer_norm}}
  // expected-remark@+2 {{my-pass did not fire: the weight is small}}
  // expected-note@+1 {{it fires if it is large}}
  %l = hova.linear %n, %w {hova.rewrites = {"my-pass" = {fired = false, fires_if = "it is large", why = "the weight is small"}}} : tensor<1x8x8xf32>, tensor<8x8xf32> -> tensor<1x8x8xf32>
  return %l : tensor<1x8x8xf32>
}
