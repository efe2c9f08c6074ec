// Programs, places and functions that tile makes; its loops are in the files beside.

// RUN: hova-opt %s --split-input-file --hova-tile-cpu-kernels --canonicalize --cse | FileCheck %s
// RUN: hova-opt %s --split-input-file --hova-tile-cpu-kernels --hova-tile-cpu-kernels --canonicalize --cse | FileCheck %s

// Kernels that differ in their buffers alone are one function; another activation
// or another grain is another one. Layer numbers are not part of the name.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:.*]]: memref<9x8xf32>, %[[Y:.*]]: memref<9x8xf32>)
// CHECK: hova.launch @[[RELU:kernel_encoder_act]](%[[X]], %[[P:.*]]) "encoder.0.act"
// CHECK: hova.launch @[[PADDED:kernel_encoder_act_1]](%[[P]], %[[Q:.*]]) "encoder.1.act"
// CHECK: hova.launch @[[TANH:kernel_encoder_act_2]](%[[Q]], %[[S:.*]]) "encoder.2.act"
// CHECK: hova.launch @[[GRAIN:kernel_encoder_act_3]](%[[S]], %[[Y]]) "encoder.3.act"
func.func @main(%x: tensor<1x9x8xf32>) -> tensor<1x9x8xf32> {
  %p = hova.kernel "encoder.0.act" units<batch 1, token 9> (%x) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%a: tensor<1x9x8xf32>):
    %r_out = hova.stage [#hova.layout<rows 16>] {
      %r = hova.activation relu %a : tensor<1x9x8xf32>
      hova.yield %r : tensor<1x9x8xf32>
    } : tensor<1x9x8xf32>
    hova.yield %r_out : tensor<1x9x8xf32>
  } : (tensor<1x9x8xf32>) -> tensor<1x9x8xf32>
  %q = hova.kernel "encoder.1.act" units<batch 1, token 9> (%p) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%a: tensor<1x9x8xf32>):
    %r_out = hova.stage [#hova.layout<rows 16>] {
      %r = hova.activation relu %a : tensor<1x9x8xf32>
      hova.yield %r : tensor<1x9x8xf32>
    } : tensor<1x9x8xf32>
    hova.yield %r_out : tensor<1x9x8xf32>
  } : (tensor<1x9x8xf32>) -> tensor<1x9x8xf32>
  %s = hova.kernel "encoder.2.act" units<batch 1, token 9> (%q) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%a: tensor<1x9x8xf32>):
    %r_out = hova.stage [#hova.layout<rows 16>] {
      %r = hova.activation tanh %a : tensor<1x9x8xf32>
      hova.yield %r : tensor<1x9x8xf32>
    } : tensor<1x9x8xf32>
    hova.yield %r_out : tensor<1x9x8xf32>
  } : (tensor<1x9x8xf32>) -> tensor<1x9x8xf32>
  %t = hova.kernel "encoder.3.act" units<batch 1, token 9> (%s) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 3, k_block = 256, block = 256>} {
  ^bb0(%a: tensor<1x9x8xf32>):
    %r_out = hova.stage [#hova.layout<rows 8>] {
      %r = hova.activation relu %a : tensor<1x9x8xf32>
      hova.yield %r : tensor<1x9x8xf32>
    } : tensor<1x9x8xf32>
    hova.yield %r_out : tensor<1x9x8xf32>
  } : (tensor<1x9x8xf32>) -> tensor<1x9x8xf32>
  return %t : tensor<1x9x8xf32>
}

// -----

// CHECK-LABEL: func.func @main(
// CHECK: hova.launch @kernel_block_act(%[[P:.*]], %[[Q:.*]]) "block.0.act"
// CHECK: hova.launch @kernel_block_act(%[[Q]], %[[P]]) "block.1.act"
// CHECK: func.func private @kernel_block_act(
// CHECK-NOT: func.func private @kernel_block_act
// CHECK: func.func private @kernel_b(
func.func @main(%x: tensor<1x9x8xf32>) -> tensor<1x9x8xf32> {
  %p = hova.kernel "a" units<batch 1, token 9> (%x) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%a: tensor<1x9x8xf32>):
    %r_out = hova.stage [#hova.layout<rows 16>] {
      %r = hova.activation relu %a : tensor<1x9x8xf32>
      hova.yield %r : tensor<1x9x8xf32>
    } : tensor<1x9x8xf32>
    hova.yield %r_out : tensor<1x9x8xf32>
  } : (tensor<1x9x8xf32>) -> tensor<1x9x8xf32>
  %q = hova.kernel "block.0.act" units<batch 1, token 9> (%p) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%a: tensor<1x9x8xf32>):
    %r_out = hova.stage [#hova.layout<rows 16>] {
      %r = hova.activation relu %a : tensor<1x9x8xf32>
      hova.yield %r : tensor<1x9x8xf32>
    } : tensor<1x9x8xf32>
    hova.yield %r_out : tensor<1x9x8xf32>
  } : (tensor<1x9x8xf32>) -> tensor<1x9x8xf32>
  %s = hova.kernel "block.1.act" units<batch 1, token 9> (%q) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%a: tensor<1x9x8xf32>):
    %r_out = hova.stage [#hova.layout<rows 16>] {
      %r = hova.activation relu %a : tensor<1x9x8xf32>
      hova.yield %r : tensor<1x9x8xf32>
    } : tensor<1x9x8xf32>
    hova.yield %r_out : tensor<1x9x8xf32>
  } : (tensor<1x9x8xf32>) -> tensor<1x9x8xf32>
  %t = hova.kernel "b" units<batch 1, token 9> (%s) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%a: tensor<1x9x8xf32>):
    %r_out = hova.stage [#hova.layout<rows 8>] {
      %r = hova.activation relu %a : tensor<1x9x8xf32>
      hova.yield %r : tensor<1x9x8xf32>
    } : tensor<1x9x8xf32>
    hova.yield %r_out : tensor<1x9x8xf32>
  } : (tensor<1x9x8xf32>) -> tensor<1x9x8xf32>
  return %t : tensor<1x9x8xf32>
}

// -----

// A value that leaves the program is in the output's buffer, wherever it is read.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:.*]]: memref<9x8xf32>, %[[LAST:.*]]: memref<9x8xf32>, %[[FIRST:.*]]: memref<9x8xf32>) attributes {hova.arena_bytes = 576 : i64, hova.image_bytes = 0 : i64, hova.inputs = 1 : i64
// CHECK: hova.launch @kernel_a(%[[X]], %[[FIRST]])
// CHECK: %[[MIDDLE:.*]] = hova.arena_buffer {offset = 0 : i64} : memref<9x8xf32, strided<[16, 1]>>
// CHECK: hova.launch @kernel_b(%[[FIRST]], %[[MIDDLE]])
// CHECK: hova.launch @kernel_c(%[[MIDDLE]], %[[LAST]])
func.func @main(%x: tensor<1x9x8xf32>) -> (tensor<1x9x8xf32>, tensor<1x9x8xf32>) {
  %p = hova.kernel "a" units<batch 1, token 9> (%x) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%a: tensor<1x9x8xf32>):
    %r_out = hova.stage [#hova.layout<rows 8>] {
      %r = hova.activation relu %a : tensor<1x9x8xf32>
      hova.yield %r : tensor<1x9x8xf32>
    } : tensor<1x9x8xf32>
    hova.yield %r_out : tensor<1x9x8xf32>
  } : (tensor<1x9x8xf32>) -> tensor<1x9x8xf32>
  %q = hova.kernel "b" units<batch 1, token 9> (%p) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%a: tensor<1x9x8xf32>):
    %r_out = hova.stage [#hova.layout<rows 16>] {
      %r = hova.activation relu %a : tensor<1x9x8xf32>
      hova.yield %r : tensor<1x9x8xf32>
    } : tensor<1x9x8xf32>
    hova.yield %r_out : tensor<1x9x8xf32>
  } : (tensor<1x9x8xf32>) -> tensor<1x9x8xf32>
  %s = hova.kernel "c" units<batch 1, token 9> (%q) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%a: tensor<1x9x8xf32>):
    %r_out = hova.stage [#hova.layout<rows 8>] {
      %r = hova.activation relu %a : tensor<1x9x8xf32>
      hova.yield %r : tensor<1x9x8xf32>
    } : tensor<1x9x8xf32>
    hova.yield %r_out : tensor<1x9x8xf32>
  } : (tensor<1x9x8xf32>) -> tensor<1x9x8xf32>
  return %s, %p : tensor<1x9x8xf32>, tensor<1x9x8xf32>
}

// -----

// The value of a is read last by d and keeps its place; c has that of nothing
// else, since b is still read.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: hova.arena_bytes = 1728 : i64
// CHECK-SAME: hova.values = [{kernel = 0 : i64, last = 3 : i64, offset = 0 : i64, path = "a", row_stride = 16 : i64, type = tensor<1x9x8xf32>}, {kernel = 1 : i64, last = [[#]] : i64, offset = 576 : i64, path = "b", {{.*}}}, {kernel = 2 : i64, last = [[#]] : i64, offset = 1152 : i64, path = "c"
func.func @main(%x: tensor<1x9x8xf32>) -> tensor<1x9x8xf32> {
  %p = hova.kernel "a" units<batch 1, token 9> (%x) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%a: tensor<1x9x8xf32>):
    %r_out = hova.stage [#hova.layout<rows 16>] {
      %r = hova.activation relu %a : tensor<1x9x8xf32>
      hova.yield %r : tensor<1x9x8xf32>
    } : tensor<1x9x8xf32>
    hova.yield %r_out : tensor<1x9x8xf32>
  } : (tensor<1x9x8xf32>) -> tensor<1x9x8xf32>
  %q = hova.kernel "b" units<batch 1, token 9> (%p) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%a: tensor<1x9x8xf32>):
    %r_out = hova.stage [#hova.layout<rows 16>] {
      %r = hova.activation relu %a : tensor<1x9x8xf32>
      hova.yield %r : tensor<1x9x8xf32>
    } : tensor<1x9x8xf32>
    hova.yield %r_out : tensor<1x9x8xf32>
  } : (tensor<1x9x8xf32>) -> tensor<1x9x8xf32>
  %s = hova.kernel "c" units<batch 1, token 9> (%q) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%a: tensor<1x9x8xf32>):
    %r_out = hova.stage [#hova.layout<rows 16>] {
      %r = hova.activation relu %a : tensor<1x9x8xf32>
      hova.yield %r : tensor<1x9x8xf32>
    } : tensor<1x9x8xf32>
    hova.yield %r_out : tensor<1x9x8xf32>
  } : (tensor<1x9x8xf32>) -> tensor<1x9x8xf32>
  %t = hova.kernel "d" units<batch 1, token 9> (%p, %s) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%a: tensor<1x9x8xf32>, %b: tensor<1x9x8xf32>):
    %r_out = hova.stage [#hova.layout<rows 8>] {
      %r = hova.add %a, %b : tensor<1x9x8xf32>, tensor<1x9x8xf32>
      hova.yield %r : tensor<1x9x8xf32>
    } : tensor<1x9x8xf32>
    hova.yield %r_out : tensor<1x9x8xf32>
  } : (tensor<1x9x8xf32>, tensor<1x9x8xf32>) -> tensor<1x9x8xf32>
  return %t : tensor<1x9x8xf32>
}

// -----

// The value of c takes the place of that of a, which nothing reads any more.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: hova.arena_bytes = 1152 : i64
// CHECK-SAME: {kernel = 0 : i64, last = 1 : i64, offset = 0 : i64, path = "a"
// CHECK-SAME: {kernel = 1 : i64, last = [[#]] : i64, offset = 576 : i64, path = "b"
// CHECK-SAME: {kernel = 2 : i64, last = 3 : i64, offset = 0 : i64, path = "c"
func.func @main(%x: tensor<1x9x8xf32>) -> tensor<1x9x8xf32> {
  %p = hova.kernel "a" units<batch 1, token 9> (%x) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%a: tensor<1x9x8xf32>):
    %r_out = hova.stage [#hova.layout<rows 16>] {
      %r = hova.activation relu %a : tensor<1x9x8xf32>
      hova.yield %r : tensor<1x9x8xf32>
    } : tensor<1x9x8xf32>
    hova.yield %r_out : tensor<1x9x8xf32>
  } : (tensor<1x9x8xf32>) -> tensor<1x9x8xf32>
  %q = hova.kernel "b" units<batch 1, token 9> (%p) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%a: tensor<1x9x8xf32>):
    %r_out = hova.stage [#hova.layout<rows 16>] {
      %r = hova.activation relu %a : tensor<1x9x8xf32>
      hova.yield %r : tensor<1x9x8xf32>
    } : tensor<1x9x8xf32>
    hova.yield %r_out : tensor<1x9x8xf32>
  } : (tensor<1x9x8xf32>) -> tensor<1x9x8xf32>
  %s = hova.kernel "c" units<batch 1, token 9> (%q) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%a: tensor<1x9x8xf32>):
    %r_out = hova.stage [#hova.layout<rows 16>] {
      %r = hova.activation relu %a : tensor<1x9x8xf32>
      hova.yield %r : tensor<1x9x8xf32>
    } : tensor<1x9x8xf32>
    hova.yield %r_out : tensor<1x9x8xf32>
  } : (tensor<1x9x8xf32>) -> tensor<1x9x8xf32>
  %t = hova.kernel "d" units<batch 1, token 9> (%s) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%a: tensor<1x9x8xf32>):
    %r_out = hova.stage [#hova.layout<rows 8>] {
      %r = hova.activation relu %a : tensor<1x9x8xf32>
      hova.yield %r : tensor<1x9x8xf32>
    } : tensor<1x9x8xf32>
    hova.yield %r_out : tensor<1x9x8xf32>
  } : (tensor<1x9x8xf32>) -> tensor<1x9x8xf32>
  return %t : tensor<1x9x8xf32>
}

// -----

// Rows 4096 bytes apart would share few sets of the cache.
// CHECK-LABEL: func.func @main(
// CHECK: hova.arena_buffer {offset = 0 : i64} : memref<3x1024xf32, strided<[1040, 1]>>
func.func @main(%x: tensor<1x3x1024xf32>) -> tensor<1x3x1024xf32> {
  %p = hova.kernel "a" units<batch 1, token 3> (%x) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%a: tensor<1x3x1024xf32>):
    %r_out = hova.stage [#hova.layout<rows 1040>] {
      %r = hova.activation relu %a : tensor<1x3x1024xf32>
      hova.yield %r : tensor<1x3x1024xf32>
    } : tensor<1x3x1024xf32>
    hova.yield %r_out : tensor<1x3x1024xf32>
  } : (tensor<1x3x1024xf32>) -> tensor<1x3x1024xf32>
  %q = hova.kernel "b" units<batch 1, token 3> (%p) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%a: tensor<1x3x1024xf32>):
    %r_out = hova.stage [#hova.layout<rows 1024>] {
      %r = hova.activation relu %a : tensor<1x3x1024xf32>
      hova.yield %r : tensor<1x3x1024xf32>
    } : tensor<1x3x1024xf32>
    hova.yield %r_out : tensor<1x3x1024xf32>
  } : (tensor<1x3x1024xf32>) -> tensor<1x3x1024xf32>
  return %q : tensor<1x3x1024xf32>
}

// -----

// Truth values are bytes, and rows of them begin at 64-byte lines.
// CHECK-LABEL: func.func @main(
// CHECK: %[[MASK:.*]] = hova.arena_buffer {offset = 0 : i64} : memref<2x3xi8, strided<[64, 1]>>
// CHECK: hova.launch @kernel_valid(%{{.*}}, %[[MASK]])
// CHECK: hova.launch @kernel_attn(%{{.*}}, %[[MASK]], %{{.*}})
func.func @main(%x: tensor<2x3xi32>, %q: tensor<2x3x8xf32>) -> tensor<2x3x8xf32> {
  %m = hova.kernel "valid" units<row 2> (%x) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%a: tensor<2x3xi32>):
    %r_out = hova.stage [#hova.layout<rows 64>] {
      %r = hova.padding_mask %a {pad = 0 : i64} : tensor<2x3xi32> -> tensor<2x3xi1>
      hova.yield %r : tensor<2x3xi1>
    } : tensor<2x3xi1>
    hova.yield %r_out : tensor<2x3xi1>
  } : (tensor<2x3xi32>) -> tensor<2x3xi1>
  %o = hova.kernel "attn" units<batch 2, head 2> (%q, %m) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 1>} {
  ^bb0(%a: tensor<2x3x8xf32>, %b: tensor<2x3xi1>):
    %r_out = hova.stage [#hova.layout<rows 8>] {
      %r = hova.attention %a, %a, %a captured(%b)
          {heads = 2 : i64}
          : (tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<2x3xi1>) -> tensor<2x3x8xf32> scores {
      ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index, %valid: tensor<2x3xi1>):
        %is_valid = hova.element %valid[%batch, %key] : tensor<2x3xi1>
        hova.score_yield %raw kept %is_valid
      }
      hova.yield %r : tensor<2x3x8xf32>
    } : tensor<2x3x8xf32>
    hova.yield %r_out : tensor<2x3x8xf32>
  } : (tensor<2x3x8xf32>, tensor<2x3xi1>) -> tensor<2x3x8xf32>
  return %o : tensor<2x3x8xf32>
}

// -----

// CHECK-LABEL: func.func @without_main(
// CHECK: hova.activation relu %{{.*}} : tensor<1x9x8xf32>
func.func @without_main(%x: tensor<1x9x8xf32>) -> tensor<1x9x8xf32> {
  %y = hova.activation relu %x : tensor<1x9x8xf32>
  return %y : tensor<1x9x8xf32>
}

// -----

// Kernels whose schedules differ in anything are not one function.
// CHECK-LABEL: func.func @main(
// CHECK: hova.launch @kernel_layer_act(%{{.*}}) "layer.0.act"
// CHECK: hova.launch @kernel_layer_act_1(%{{.*}}) "layer.1.act"
// CHECK: hova.launch @kernel_layer_act_2(%{{.*}}) "layer.2.act"
// CHECK: hova.launch @kernel_layer_act(%{{.*}}) "layer.3.act"
func.func @main(%x: tensor<1x9x8xf32>) -> tensor<1x9x8xf32> {
  %o = hova.kernel "entry" units<batch 1, token 9> (%x) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%a: tensor<1x9x8xf32>):
    %r_out = hova.stage [#hova.layout<rows 16>] {
      %r = hova.activation relu %a : tensor<1x9x8xf32>
      hova.yield %r : tensor<1x9x8xf32>
    } : tensor<1x9x8xf32>
    hova.yield %r_out : tensor<1x9x8xf32>
  } : (tensor<1x9x8xf32>) -> tensor<1x9x8xf32>
  %p = hova.kernel "layer.0.act" units<batch 1, token 9> (%o) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%a: tensor<1x9x8xf32>):
    %r_out = hova.stage [#hova.layout<rows 16>] {
      %r = hova.activation relu %a : tensor<1x9x8xf32>
      hova.yield %r : tensor<1x9x8xf32>
    } : tensor<1x9x8xf32>
    hova.yield %r_out : tensor<1x9x8xf32>
  } : (tensor<1x9x8xf32>) -> tensor<1x9x8xf32>
  %q = hova.kernel "layer.1.act" units<batch 1, token 9> (%p) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256, reduction_split = 384>} {
  ^bb0(%a: tensor<1x9x8xf32>):
    %r_out = hova.stage [#hova.layout<rows 16>] {
      %r = hova.activation relu %a : tensor<1x9x8xf32>
      hova.yield %r : tensor<1x9x8xf32>
    } : tensor<1x9x8xf32>
    hova.yield %r_out : tensor<1x9x8xf32>
  } : (tensor<1x9x8xf32>) -> tensor<1x9x8xf32>
  %s = hova.kernel "layer.2.act" units<batch 1, token 9> (%q) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 128, block = 256>} {
  ^bb0(%a: tensor<1x9x8xf32>):
    %r_out = hova.stage [#hova.layout<rows 16>] {
      %r = hova.activation relu %a : tensor<1x9x8xf32>
      hova.yield %r : tensor<1x9x8xf32>
    } : tensor<1x9x8xf32>
    hova.yield %r_out : tensor<1x9x8xf32>
  } : (tensor<1x9x8xf32>) -> tensor<1x9x8xf32>
  %t = hova.kernel "layer.3.act" units<batch 1, token 9> (%s) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%a: tensor<1x9x8xf32>):
    %r_out = hova.stage [#hova.layout<rows 16>] {
      %r = hova.activation relu %a : tensor<1x9x8xf32>
      hova.yield %r : tensor<1x9x8xf32>
    } : tensor<1x9x8xf32>
    hova.yield %r_out : tensor<1x9x8xf32>
  } : (tensor<1x9x8xf32>) -> tensor<1x9x8xf32>
  %u = hova.kernel "exit" units<batch 1, token 9> (%t) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%a: tensor<1x9x8xf32>):
    %r_out = hova.stage [#hova.layout<rows 8>] {
      %r = hova.activation relu %a : tensor<1x9x8xf32>
      hova.yield %r : tensor<1x9x8xf32>
    } : tensor<1x9x8xf32>
    hova.yield %r_out : tensor<1x9x8xf32>
  } : (tensor<1x9x8xf32>) -> tensor<1x9x8xf32>
  return %u : tensor<1x9x8xf32>
}
