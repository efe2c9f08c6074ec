// Chunks of threads that divide columns.

// RUN: hova-opt %s --hova-assign-cpu-schedule --hova-verify-assigned | FileCheck %s

// One panel of 64 columns is more than the least chunk for 9 x 3000 rows and steps;
// for 9 x 8 it takes 57.
// CHECK-LABEL: hova.kernel "takes_one_panel" units<column_strip 1>
// CHECK-SAME: grain = 1, k_block
// CHECK: hova.kernel "takes_many_panels"
// CHECK-SAME: grain = 57, k_block
//
// What reads nothing of the product is computed with its tiles all the same.
// CHECK: hova.kernel "scales_an_input_beside"
// CHECK: hova.stage
// CHECK-NEXT: hova.linear
// CHECK-NEXT: hova.scale
// CHECK-NEXT: hova.add
func.func @main(%x: tensor<1x9x3000xf32>) -> tensor<1x9x128xf32> {
  %w = hova.image_weight "w" : tensor<3000x8xf32>
  %v = hova.image_weight "v" : tensor<8x128xf32>
  %u = hova.image_weight "u" : tensor<128x128xf32>
  %p = hova.kernel "takes_one_panel" units<column_strip 1> (%x, %w) {
  ^bb0(%a: tensor<1x9x3000xf32>, %w_: tensor<3000x8xf32>):
    %r = hova.linear %a, %w_ : tensor<1x9x3000xf32>, tensor<3000x8xf32> -> tensor<1x9x8xf32>
    hova.yield %r : tensor<1x9x8xf32>
  } : (tensor<1x9x3000xf32>, tensor<3000x8xf32>) -> tensor<1x9x8xf32>
  %q = hova.kernel "takes_many_panels" units<column_strip 2> (%p, %v) {
  ^bb0(%a: tensor<1x9x8xf32>, %w_: tensor<8x128xf32>):
    %r = hova.linear %a, %w_ : tensor<1x9x8xf32>, tensor<8x128xf32> -> tensor<1x9x128xf32>
    hova.yield %r : tensor<1x9x128xf32>
  } : (tensor<1x9x8xf32>, tensor<8x128xf32>) -> tensor<1x9x128xf32>
  %s = hova.kernel "scales_an_input_beside" units<column_strip 2> (%q, %u) {
  ^bb0(%a: tensor<1x9x128xf32>, %w_: tensor<128x128xf32>):
    %r = hova.linear %a, %w_ : tensor<1x9x128xf32>, tensor<128x128xf32> -> tensor<1x9x128xf32>
    %b = hova.scale %a {factor = 2.0 : f64} : tensor<1x9x128xf32>
    %t = hova.add %r, %b : tensor<1x9x128xf32>, tensor<1x9x128xf32>
    hova.yield %t : tensor<1x9x128xf32>
  } : (tensor<1x9x128xf32>, tensor<128x128xf32>) -> tensor<1x9x128xf32>
  return %s : tensor<1x9x128xf32>
}
func.func private @weights() {
  %w = hova.weight "w" : tensor<3000x8xf32>
  hova.store_weight "w", %w : tensor<3000x8xf32>
  %v = hova.weight "v" : tensor<8x128xf32>
  hova.store_weight "v", %v : tensor<8x128xf32>
  %u = hova.weight "u" : tensor<128x128xf32>
  hova.store_weight "u", %u : tensor<128x128xf32>
  return
}
