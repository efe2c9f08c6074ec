// Layouts of weights.

// RUN: hova-opt %s --split-input-file --hova-assign-cpu-schedule --hova-verify-assigned | FileCheck %s
// RUN: hova-opt %s --split-input-file --hova-assign-cpu-schedule --hova-assign-cpu-schedule | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK: %[[W:.*]] = hova.image_weight "w" {layout = #hova.column_strips<64>}
// CHECK: hova.kernel "layer" units<{{[^>]*}}>(%{{.*}}, %[[W]])
// CHECK: hova.kernel "layer" units<{{[^>]*}}>(%{{.*}}, %[[W]])
// CHECK: func.func private @weights
// CHECK-COUNT-1: hova.store_weight
// CHECK-NOT: hova.store_weight
func.func @main(%x: tensor<2x9x8xf32>) -> tensor<2x9x8xf32> {
  %w = hova.image_weight "w" : tensor<8x8xf32>
  %y = hova.kernel "layer" (%x, %w) {
  ^bb0(%a: tensor<2x9x8xf32>, %m: tensor<8x8xf32>):
    %r = hova.linear %a, %m : tensor<2x9x8xf32>, tensor<8x8xf32> -> tensor<2x9x8xf32>
    hova.yield %r : tensor<2x9x8xf32>
  } : (tensor<2x9x8xf32>, tensor<8x8xf32>) -> tensor<2x9x8xf32>
  %z = hova.kernel "layer" (%y, %w) {
  ^bb0(%a: tensor<2x9x8xf32>, %m: tensor<8x8xf32>):
    %r = hova.linear %a, %m : tensor<2x9x8xf32>, tensor<8x8xf32> -> tensor<2x9x8xf32>
    hova.yield %r : tensor<2x9x8xf32>
  } : (tensor<2x9x8xf32>, tensor<8x8xf32>) -> tensor<2x9x8xf32>
  return %z : tensor<2x9x8xf32>
}
func.func private @weights() {
  %w = hova.weight "w" : tensor<8x8xf32>
  hova.store_weight "w", %w : tensor<8x8xf32>
  return
}

// -----

// A table of rows has no panels.
// CHECK-LABEL: func.func @main
// CHECK: hova.image_weight "w" : tensor<8x8xf32>
func.func @main(%i: tensor<2x9xi32>) -> tensor<2x9x8xf32> {
  %w = hova.image_weight "w" : tensor<8x8xf32>
  %e = hova.kernel "embed" (%i, %w) {
  ^bb0(%a: tensor<2x9xi32>, %m: tensor<8x8xf32>):
    %r = hova.embedding %a, %m : tensor<2x9xi32>, tensor<8x8xf32> -> tensor<2x9x8xf32>
    hova.yield %r : tensor<2x9x8xf32>
  } : (tensor<2x9xi32>, tensor<8x8xf32>) -> tensor<2x9x8xf32>
  return %e : tensor<2x9x8xf32>
}
func.func private @weights() {
  %w = hova.weight "w" : tensor<8x8xf32>
  hova.store_weight "w", %w : tensor<8x8xf32>
  return
}

// -----

// A weight that one kernel gathers from and another multiplies with is stored in
// both layouts.
// CHECK-LABEL: func.func @main
// CHECK: %[[PANELS:.*]] = hova.image_weight "w.panels" {layout = #hova.column_strips<64>} : tensor<8x8xf32>
// CHECK: %[[ROWS:.*]] = hova.image_weight "w" : tensor<8x8xf32>
// CHECK: hova.kernel "embed" units<{{[^>]*}}>(%{{.*}}, %[[ROWS]])
// CHECK: hova.kernel "layer" units<{{[^>]*}}>(%{{.*}}, %[[PANELS]])
// CHECK: func.func private @weights
// CHECK: %[[W:.*]] = hova.weight "w"
// CHECK: hova.store_weight "w", %[[W]]
// CHECK: hova.store_weight "w.panels", %[[W]]
func.func @main(%i: tensor<2x9xi32>) -> tensor<2x9x8xf32> {
  %w = hova.image_weight "w" : tensor<8x8xf32>
  %e = hova.kernel "embed" (%i, %w) {
  ^bb0(%a: tensor<2x9xi32>, %m: tensor<8x8xf32>):
    %r = hova.embedding %a, %m : tensor<2x9xi32>, tensor<8x8xf32> -> tensor<2x9x8xf32>
    hova.yield %r : tensor<2x9x8xf32>
  } : (tensor<2x9xi32>, tensor<8x8xf32>) -> tensor<2x9x8xf32>
  %y = hova.kernel "layer" (%e, %w) {
  ^bb0(%a: tensor<2x9x8xf32>, %m: tensor<8x8xf32>):
    %r = hova.linear %a, %m : tensor<2x9x8xf32>, tensor<8x8xf32> -> tensor<2x9x8xf32>
    hova.yield %r : tensor<2x9x8xf32>
  } : (tensor<2x9x8xf32>, tensor<8x8xf32>) -> tensor<2x9x8xf32>
  return %y : tensor<2x9x8xf32>
}
func.func private @weights() {
  %w = hova.weight "w" : tensor<8x8xf32>
  hova.store_weight "w", %w : tensor<8x8xf32>
  return
}

// -----

// CHECK-LABEL: func.func @main
// CHECK: %[[PANELS:.*]] = hova.image_weight "w.panels" {layout = #hova.column_strips<64>}
// CHECK: %[[ROWS:.*]] = hova.image_weight "w" : tensor<8x8xf32>
// CHECK: hova.kernel "both" units<{{[^>]*}}>(%{{.*}}, %[[PANELS]], %[[ROWS]])
// CHECK: ^bb0(%{{.*}}: tensor<2x9xi32>, %[[PACKED:.*]]: tensor<8x8xf32>, %[[TABLE:.*]]: tensor<8x8xf32>):
// CHECK: hova.embedding %{{.*}}, %[[TABLE]]
// CHECK: hova.linear %{{.*}}, %[[PACKED]]
func.func @main(%i: tensor<2x9xi32>) -> tensor<2x9x8xf32> {
  %w = hova.image_weight "w" : tensor<8x8xf32>
  %y = hova.kernel "both" (%i, %w) {
  ^bb0(%a: tensor<2x9xi32>, %m: tensor<8x8xf32>):
    %e = hova.embedding %a, %m : tensor<2x9xi32>, tensor<8x8xf32> -> tensor<2x9x8xf32>
    %r = hova.linear %e, %m : tensor<2x9x8xf32>, tensor<8x8xf32> -> tensor<2x9x8xf32>
    hova.yield %r : tensor<2x9x8xf32>
  } : (tensor<2x9xi32>, tensor<8x8xf32>) -> tensor<2x9x8xf32>
  return %y : tensor<2x9x8xf32>
}
func.func private @weights() {
  %w = hova.weight "w" : tensor<8x8xf32>
  hova.store_weight "w", %w : tensor<8x8xf32>
  return
}

// -----

// Columns of a product's weight are taken from its panels.
// CHECK-LABEL: func.func @main
// CHECK: %[[W:.*]] = hova.image_weight "w" {layout = #hova.column_strips<64>} : tensor<8x100xf32>
// CHECK: hova.kernel "embed" units<{{[^>]*}}>(%{{.*}}, %[[W]])
// CHECK: hova.kernel "layer" units<{{[^>]*}}>(%{{.*}}, %[[W]])
// CHECK: func.func private @weights
// CHECK-COUNT-1: hova.store_weight
// CHECK-NOT: hova.store_weight
func.func @main(%i: tensor<2x9xi32>) -> tensor<2x9x100xf32> {
  %w = hova.image_weight "w" : tensor<8x100xf32>
  %e = hova.kernel "embed" (%i, %w) {
  ^bb0(%a: tensor<2x9xi32>, %m: tensor<8x100xf32>):
    %r = hova.embedding %a, %m {transposed} : tensor<2x9xi32>, tensor<8x100xf32> -> tensor<2x9x8xf32>
    hova.yield %r : tensor<2x9x8xf32>
  } : (tensor<2x9xi32>, tensor<8x100xf32>) -> tensor<2x9x8xf32>
  %y = hova.kernel "layer" (%e, %w) {
  ^bb0(%a: tensor<2x9x8xf32>, %m: tensor<8x100xf32>):
    %r = hova.linear %a, %m : tensor<2x9x8xf32>, tensor<8x100xf32> -> tensor<2x9x100xf32>
    hova.yield %r : tensor<2x9x100xf32>
  } : (tensor<2x9x8xf32>, tensor<8x100xf32>) -> tensor<2x9x100xf32>
  return %y : tensor<2x9x100xf32>
}
func.func private @weights() {
  %w = hova.weight "w" : tensor<8x100xf32>
  hova.store_weight "w", %w : tensor<8x100xf32>
  return
}
