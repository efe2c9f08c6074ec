// Places of weights in the image.

// RUN: hova-opt %s --split-input-file --hova-tile-cpu-kernels --canonicalize --cse | FileCheck %s
// RUN: hova-opt %s --split-input-file --hova-tile-cpu-kernels --hova-tile-cpu-kernels --canonicalize --cse | FileCheck %s

// Weights lie in the order of the folding function, each at a 64-byte line; what is
// read in panels is packed there.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: hova.image_bytes = 832 : i64
// CHECK: %[[PANELS:.*]] = hova.image_buffer {offset = 0 : i64} : memref<1x8x16xf32>
// CHECK: %[[BIAS:.*]] = hova.image_buffer {offset = 768 : i64} : memref<1x8xf32>
// CHECK: hova.launch @kernel_layer(%{{.*}}, %[[PANELS]], %[[BIAS]], %{{.*}})
// CHECK: %[[TABLE:.*]] = hova.image_buffer {offset = 512 : i64} : memref<8x8xf32>
// CHECK: hova.launch @kernel_table(%{{.*}}, %[[TABLE]], %{{.*}})
// CHECK-LABEL: func.func private @weights()
// CHECK: %[[W:.*]] = hova.weight "w"
// CHECK: %[[P:.*]] = hova.pack %[[W]][#hova.column_strips<16>] : tensor<8x8xf32> -> tensor<1x8x16xf32>
// CHECK: hova.store_weight "w", %[[P]] {hova.offset = 0 : i64}
// CHECK: %[[U:.*]] = hova.weight "u"
// CHECK-NEXT: hova.store_weight "u", %[[U]] {hova.offset = 512 : i64}
// CHECK: hova.store_weight "b", %{{.*}} {hova.offset = 768 : i64}
func.func @main(%x: tensor<1x9x8xf32>) -> tensor<1x8xf32> {
  %w = hova.image_weight "w" {layout = #hova.column_strips<16>} : tensor<8x8xf32>
  %u = hova.image_weight "u" : tensor<8x8xf32>
  %b = hova.image_weight "b" : tensor<8xf32>
  %y = hova.kernel "layer" units<batch 1, token 9> (%x, %w, %b) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%a: tensor<1x9x8xf32>, %m: tensor<8x8xf32>, %v: tensor<8xf32>):
    %p_out = hova.stage [#hova.layout<rows 16>] {
      %p = hova.linear %a, %m bias(%v) : tensor<1x9x8xf32>, tensor<8x8xf32>, tensor<8xf32> -> tensor<1x9x8xf32>
      hova.yield %p : tensor<1x9x8xf32>
    } : tensor<1x9x8xf32>
    hova.yield %p_out : tensor<1x9x8xf32>
  } : (tensor<1x9x8xf32>, tensor<8x8xf32>, tensor<8xf32>) -> tensor<1x9x8xf32>
  %z = hova.kernel "table" units<row 1> (%y, %u) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%a: tensor<1x9x8xf32>, %m: tensor<8x8xf32>):
    %p_out = hova.stage [#hova.layout<rows 8>] {
      %p = hova.slice %m {axis = 0 : i64, offset = 0 : i64} : tensor<8x8xf32> -> tensor<1x8xf32>
      hova.yield %p : tensor<1x8xf32>
    } : tensor<1x8xf32>
    hova.yield %p_out : tensor<1x8xf32>
  } : (tensor<1x9x8xf32>, tensor<8x8xf32>) -> tensor<1x8xf32>
  return %z : tensor<1x8xf32>
}
func.func private @weights() {
  %w = hova.weight "w" : tensor<8x8xf32>
  hova.store_weight "w", %w : tensor<8x8xf32>
  %u = hova.weight "u" : tensor<8x8xf32>
  hova.store_weight "u", %u : tensor<8x8xf32>
  %b = hova.weight "b" : tensor<8xf32>
  hova.store_weight "b", %b : tensor<8xf32>
  return
}

// -----

// Two references to one weight are one place.
// CHECK-LABEL: func.func @main(
// CHECK: %[[W:.*]] = hova.image_buffer {offset = 0 : i64} : memref<1x8x16xf32>
// CHECK: hova.launch @kernel_layer(%{{.*}}, %[[W]], %{{.*}})
// CHECK: hova.launch @kernel_layer_1(%{{.*}}, %[[W]], %{{.*}})
func.func @main(%x: tensor<1x9x8xf32>) -> tensor<1x9x8xf32> {
  %w = hova.image_weight "w" {layout = #hova.column_strips<16>} : tensor<8x8xf32>
  %v = hova.image_weight "w" {layout = #hova.column_strips<16>} : tensor<8x8xf32>
  %z = hova.kernel "layer" units<batch 1, token 9> (%x, %w) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%a: tensor<1x9x8xf32>, %m: tensor<8x8xf32>):
    %p_out = hova.stage [#hova.layout<rows 16>] {
      %p = hova.linear %a, %m : tensor<1x9x8xf32>, tensor<8x8xf32> -> tensor<1x9x8xf32>
      hova.yield %p : tensor<1x9x8xf32>
    } : tensor<1x9x8xf32>
    hova.yield %p_out : tensor<1x9x8xf32>
  } : (tensor<1x9x8xf32>, tensor<8x8xf32>) -> tensor<1x9x8xf32>
  %y = hova.kernel "layer" units<batch 1, token 9> (%z, %v) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%a: tensor<1x9x8xf32>, %m: tensor<8x8xf32>):
    %p_out = hova.stage [#hova.layout<rows 8>] {
      %p = hova.linear %a, %m : tensor<1x9x8xf32>, tensor<8x8xf32> -> tensor<1x9x8xf32>
      hova.yield %p : tensor<1x9x8xf32>
    } : tensor<1x9x8xf32>
    hova.yield %p_out : tensor<1x9x8xf32>
  } : (tensor<1x9x8xf32>, tensor<8x8xf32>) -> tensor<1x9x8xf32>
  return %y : tensor<1x9x8xf32>
}
func.func private @weights() {
  %w = hova.weight "w" : tensor<8x8xf32>
  hova.store_weight "w", %w : tensor<8x8xf32>
  return
}
