// RUN: hova-opt %s --verify-roundtrip | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// CHECK-LABEL: @multiplies_with_a_weight
// CHECK: hova.linear %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} : tensor<2x9x64xf32>, tensor<64x32xf32> -> tensor<2x9x32xf32>
func.func @multiplies_with_a_weight(%x: tensor<2x9x64xf32>, %w: tensor<64x32xf32>) -> tensor<2x9x32xf32> {
  %r = hova.linear %x, %w : tensor<2x9x64xf32>, tensor<64x32xf32> -> tensor<2x9x32xf32>
  return %r : tensor<2x9x32xf32>
}

// CHECK-LABEL: @adds_a_bias
// CHECK: hova.linear %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} bias(%{{[a-z0-9_]+}}) : tensor<2x9x64xf32>, tensor<64x32xf32>, tensor<32xf32> -> tensor<2x9x32xf32>
func.func @adds_a_bias(%x: tensor<2x9x64xf32>, %w: tensor<64x32xf32>, %b: tensor<32xf32>) -> tensor<2x9x32xf32> {
  %r = hova.linear %x, %w bias(%b) : tensor<2x9x64xf32>, tensor<64x32xf32>, tensor<32xf32> -> tensor<2x9x32xf32>
  return %r : tensor<2x9x32xf32>
}

// CHECK-LABEL: @multiplies_with_a_tied_table
// CHECK: hova.linear %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} {transposed} : tensor<2x9x64xf32>, tensor<32x64xf32> -> tensor<2x9x32xf32>
func.func @multiplies_with_a_tied_table(%x: tensor<2x9x64xf32>, %w: tensor<32x64xf32>) -> tensor<2x9x32xf32> {
  %r = hova.linear %x, %w {transposed} : tensor<2x9x64xf32>, tensor<32x64xf32> -> tensor<2x9x32xf32>
  return %r : tensor<2x9x32xf32>
}

// CHECK-LABEL: @multiplies_unknown_tokens
// CHECK: hova.linear %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} : tensor<?x?x64xf32>, tensor<64x32xf32> -> tensor<?x?x32xf32>
func.func @multiplies_unknown_tokens(%x: tensor<?x?x64xf32>, %w: tensor<64x32xf32>) -> tensor<?x?x32xf32> {
  %r = hova.linear %x, %w : tensor<?x?x64xf32>, tensor<64x32xf32> -> tensor<?x?x32xf32>
  return %r : tensor<?x?x32xf32>
}

// CHECK-LABEL: @normalises_rows
// CHECK: hova.layer_norm %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} {eps = 9.9999999999999995E-7 : f64} : tensor<2x9x64xf32>, tensor<64xf32>
func.func @normalises_rows(%x: tensor<2x9x64xf32>, %g: tensor<64xf32>, %b: tensor<64xf32>) -> tensor<2x9x64xf32> {
  %r = hova.layer_norm %x, %g, %b {eps = 9.9999999999999995E-7 : f64} : tensor<2x9x64xf32>, tensor<64xf32>
  return %r : tensor<2x9x64xf32>
}

// CHECK-LABEL: @activates_relu
// CHECK: hova.activation relu %{{[a-z0-9_]+}} : tensor<2x9x64xf32>
func.func @activates_relu(%x: tensor<2x9x64xf32>) -> tensor<2x9x64xf32> {
  %r = hova.activation relu %x : tensor<2x9x64xf32>
  return %r : tensor<2x9x64xf32>
}

// CHECK-LABEL: @activates_gelu_erf
// CHECK: hova.activation gelu_erf %{{[a-z0-9_]+}} : tensor<2x9x64xf32>
func.func @activates_gelu_erf(%x: tensor<2x9x64xf32>) -> tensor<2x9x64xf32> {
  %r = hova.activation gelu_erf %x : tensor<2x9x64xf32>
  return %r : tensor<2x9x64xf32>
}

// CHECK-LABEL: @divides_by_what_repeats
// CHECK: hova.subtract %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} : tensor<2x9x64xf32>, tensor<9x1xf32>
// CHECK: hova.divide %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} {swapped} : tensor<2x9x64xf32>, tensor<64xf32>
// CHECK: hova.exp %{{[a-z0-9_]+}} : tensor<2x9x64xf32>
func.func @divides_by_what_repeats(%x: tensor<2x9x64xf32>, %c: tensor<9x1xf32>, %r: tensor<64xf32>) -> tensor<2x9x64xf32> {
  %a = hova.subtract %x, %c : tensor<2x9x64xf32>, tensor<9x1xf32>
  %b = hova.divide %a, %r {swapped} : tensor<2x9x64xf32>, tensor<64xf32>
  %y = hova.exp %b : tensor<2x9x64xf32>
  return %y : tensor<2x9x64xf32>
}

// CHECK-LABEL: @activates_hard_swish
// CHECK: hova.activation hard_swish %{{[a-z0-9_]+}} : tensor<2x9x64xf32>
func.func @activates_hard_swish(%x: tensor<2x9x64xf32>) -> tensor<2x9x64xf32> {
  %r = hova.activation hard_swish %x : tensor<2x9x64xf32>
  return %r : tensor<2x9x64xf32>
}

// CHECK-LABEL: @activates_gelu_tanh
// CHECK: hova.activation gelu_tanh %{{[a-z0-9_]+}} : tensor<2x9x64xf32>
func.func @activates_gelu_tanh(%x: tensor<2x9x64xf32>) -> tensor<2x9x64xf32> {
  %r = hova.activation gelu_tanh %x : tensor<2x9x64xf32>
  return %r : tensor<2x9x64xf32>
}

// CHECK-LABEL: @activates_tanh
// CHECK: hova.activation tanh %{{[a-z0-9_]+}} : tensor<2x9x64xf32>
func.func @activates_tanh(%x: tensor<2x9x64xf32>) -> tensor<2x9x64xf32> {
  %r = hova.activation tanh %x : tensor<2x9x64xf32>
  return %r : tensor<2x9x64xf32>
}

// CHECK-LABEL: @activates_sigmoid
// CHECK: hova.activation sigmoid %{{[a-z0-9_]+}} : tensor<2x9x64xf32>
func.func @activates_sigmoid(%x: tensor<2x9x64xf32>) -> tensor<2x9x64xf32> {
  %r = hova.activation sigmoid %x : tensor<2x9x64xf32>
  return %r : tensor<2x9x64xf32>
}

// CHECK-LABEL: @activates_a_vector
// CHECK: hova.activation relu %{{[a-z0-9_]+}} : vector<16xf32>
func.func @activates_a_vector(%x: vector<16xf32>) -> vector<16xf32> {
  %r = hova.activation relu %x : vector<16xf32>
  return %r : vector<16xf32>
}

// CHECK-LABEL: @adds
// CHECK: hova.add %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} : tensor<2x9x64xf32>, tensor<9x64xf32>
func.func @adds(%x: tensor<2x9x64xf32>, %p: tensor<9x64xf32>) -> tensor<2x9x64xf32> {
  %r = hova.add %x, %p : tensor<2x9x64xf32>, tensor<9x64xf32>
  return %r : tensor<2x9x64xf32>
}

// CHECK-LABEL: @multiplies
// CHECK: hova.multiply %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} : tensor<2x9x64xf32>, tensor<2x9x64xf32>
func.func @multiplies(%x: tensor<2x9x64xf32>, %p: tensor<2x9x64xf32>) -> tensor<2x9x64xf32> {
  %r = hova.multiply %x, %p : tensor<2x9x64xf32>, tensor<2x9x64xf32>
  return %r : tensor<2x9x64xf32>
}

// CHECK-LABEL: @scales
// CHECK: hova.scale %{{[a-z0-9_]+}} {factor = 2.250000e+01 : f64} : tensor<2x9x64xf32>
func.func @scales(%x: tensor<2x9x64xf32>) -> tensor<2x9x64xf32> {
  %r = hova.scale %x {factor = 2.250000e+01 : f64} : tensor<2x9x64xf32>
  return %r : tensor<2x9x64xf32>
}

// CHECK-LABEL: @narrows_unknown_tokens
// CHECK: hova.convert %{{[a-z0-9_]+}} : tensor<?x64xf32> -> tensor<?x64xf16>
func.func @narrows_unknown_tokens(%x: tensor<?x64xf32>) -> tensor<?x64xf16> {
  %r = hova.convert %x : tensor<?x64xf32> -> tensor<?x64xf16>
  return %r : tensor<?x64xf16>
}

// CHECK-LABEL: @multiplies_stored_numbers
// CHECK: hova.linear %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} : tensor<2x9x64xbf16>, tensor<64x32xbf16> -> tensor<2x9x32xf32>
func.func @multiplies_stored_numbers(%x: tensor<2x9x64xbf16>, %w: tensor<64x32xbf16>) -> tensor<2x9x32xf32> {
  %r = hova.linear %x, %w : tensor<2x9x64xbf16>, tensor<64x32xbf16> -> tensor<2x9x32xf32>
  return %r : tensor<2x9x32xf32>
}

// CHECK-LABEL: @normalises_rows_without_gain_and_bias
// CHECK: hova.layer_norm %{{[a-z0-9_]+}} {eps = {{.*}} : f64} : tensor<2x9x64xf32>{{$}}
func.func @normalises_rows_without_gain_and_bias(%x: tensor<2x9x64xf32>) -> tensor<2x9x64xf32> {
  %r = hova.layer_norm %x {eps = 9.9999999999999995E-7 : f64} : tensor<2x9x64xf32>
  return %r : tensor<2x9x64xf32>
}

// CHECK-LABEL: @normalises_heads_by_kind
func.func @normalises_heads_by_kind(%x: tensor<2x9x64xf32>, %g: tensor<16xf32>) -> tensor<2x9x64xf32> {
  // CHECK: %[[X:.*]] = hova.layer_norm %{{.*}}, %[[G:[a-z0-9_]+]] kind( rms) {eps = {{.*}} : f64, heads = 4 : i64} : tensor<2x9x64xf32>, tensor<16xf32>
  %a = hova.layer_norm %x, %g kind(rms) {eps = 1.0e-6 : f64, heads = 4 : i64} : tensor<2x9x64xf32>, tensor<16xf32>
  // CHECK: %[[Y:.*]] = hova.layer_norm %[[X]] bias(%[[G]]) {eps = {{.*}} : f64, heads = 4 : i64} : tensor<2x9x64xf32>, tensor<16xf32>
  %b = hova.layer_norm %a bias(%g) {eps = 1.0e-6 : f64, heads = 4 : i64} : tensor<2x9x64xf32>, tensor<16xf32>
  // CHECK: hova.layer_norm %[[Y]] kind( l2) {eps = {{.*}} : f64} : tensor<2x9x64xf32>{{$}}
  %c = hova.layer_norm %b kind(l2) {eps = 1.0e-12 : f64} : tensor<2x9x64xf32>
  return %c : tensor<2x9x64xf32>
}

// CHECK-LABEL: @scales_rows
// CHECK: hova.multiply %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} : tensor<2x9x64xf32>, tensor<2x9x1xf32>
func.func @scales_rows(%x: tensor<2x9x64xf32>, %f: tensor<2x9x1xf32>) -> tensor<2x9x64xf32> {
  %r = hova.multiply %x, %f : tensor<2x9x64xf32>, tensor<2x9x1xf32>
  return %r : tensor<2x9x64xf32>
}

// CHECK-LABEL: @takes_shares
// CHECK: hova.softmax %{{[a-z0-9_]+}} : tensor<2x9xf32>
// CHECK: hova.softmax %{{[a-z0-9_]+}} {log} : tensor<2x9xf32>
func.func @takes_shares(%x: tensor<2x9xf32>) -> (tensor<2x9xf32>, tensor<2x9xf32>) {
  %r = hova.softmax %x : tensor<2x9xf32>
  %l = hova.softmax %x {log} : tensor<2x9xf32>
  return %r, %l : tensor<2x9xf32>, tensor<2x9xf32>
}
