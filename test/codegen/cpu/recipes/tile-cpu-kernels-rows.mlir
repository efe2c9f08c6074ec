// Loops of norms, head scaling and element-wise operations.

// RUN: hova-opt %s --split-input-file --hova-tile-cpu-kernels --canonicalize --cse | FileCheck %s
// RUN: hova-opt %s --split-input-file --hova-tile-cpu-kernels --hova-tile-cpu-kernels --canonicalize --cse | FileCheck %s

// CHECK-LABEL: func.func private @kernel_normalizes_rows_of_whole_vectors(
// CHECK-SAME: %[[X:.*]]: memref<6x64xf32> {llvm.noalias}, %[[G:.*]]: memref<1x64xf32> {llvm.noalias}, %[[B:.*]]: memref<1x64xf32> {llvm.noalias}, %[[Y:.*]]: memref<6x64xf32> {llvm.noalias}, %{{.*}}: memref<64xi8> {llvm.noalias}, %[[BEGIN:.*]]: index, %[[END:.*]]: index)
// CHECK-DAG: %[[WIDTH:.*]] = arith.constant 1.562500e-02 : f32
// CHECK-DAG: %[[EPS:.*]] = arith.constant 9.99999997E-7 : f32
// CHECK: scf.for %[[ROW:.*]] = %[[BEGIN]] to %[[END]] step %c1
// CHECK: %[[SUMS:.*]] = scf.for {{.*}} to %c64 step %c32 iter_args
// CHECK: %[[SUM:.*]] = vector.reduction <add>, %[[SUMS]]
// CHECK: %[[MEAN:.*]] = arith.mulf %[[SUM]], %[[WIDTH]]
// CHECK: %[[SQUARES:.*]] = scf.for {{.*}} to %c64 step %c32 iter_args
// CHECK: vector.broadcast %[[MEAN]]
// CHECK: %[[DEVIATION:.*]] = arith.subf
// CHECK: math.fma %[[DEVIATION]], %[[DEVIATION]], %{{.*}} : vector<32xf32>
// CHECK: %[[SQUARE:.*]] = vector.reduction <add>, %[[SQUARES]]
// CHECK: %[[VARIANCE:.*]] = arith.mulf %[[SQUARE]], %[[WIDTH]]
// CHECK: %[[SHIFTED:.*]] = arith.addf %[[VARIANCE]], %[[EPS]]
// CHECK: math.sqrt %[[SHIFTED]]
// CHECK: scf.for %[[COLUMN:.*]] = %c0 to %c64 step %c32
// CHECK: %[[GAIN:.*]] = hova_cpu.tile_load %[[G]][%c0, %[[COLUMN]]]
// CHECK: %[[BIAS:.*]] = hova_cpu.tile_load %[[B]][%c0, %[[COLUMN]]]
// CHECK: %[[RESULT:.*]] = math.fma %{{.*}}, %[[GAIN]], %[[BIAS]] : vector<1x32xf32>
// CHECK: hova_cpu.tile_store %[[RESULT]], %[[Y]][%[[ROW]], %[[COLUMN]]]
func.func @main(%x: tensor<2x3x64xf32>) -> tensor<2x3x64xf32> {
  %g = hova.image_weight "g" : tensor<64xf32>
  %b = hova.image_weight "b" : tensor<64xf32>
  %out = hova.kernel "normalizes_rows_of_whole_vectors" units<batch 2, token 3> (%x, %g, %b) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%x_: tensor<2x3x64xf32>, %g_: tensor<64xf32>, %b_: tensor<64xf32>):
    %r_out = hova.stage [#hova.layout<rows 64>] {
      %r = hova.layer_norm %x_, %g_, %b_ {eps = 1.0e-6 : f64} : tensor<2x3x64xf32>, tensor<64xf32>
      hova.yield %r : tensor<2x3x64xf32>
    } : tensor<2x3x64xf32>
    hova.yield %r_out : tensor<2x3x64xf32>
  } : (tensor<2x3x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<2x3x64xf32>
  return %out : tensor<2x3x64xf32>
}
func.func private @weights() {
  %g = hova.weight "g" : tensor<64xf32>
  hova.store_weight "g", %g : tensor<64xf32>
  %b = hova.weight "b" : tensor<64xf32>
  hova.store_weight "b", %b : tensor<64xf32>
  return
}

// -----

// Forty columns are one vector of 32 and one of 8; both enter the statistics,
// which are added across lanes once.
// CHECK-LABEL: func.func private @kernel_normalizes_rows_with_a_tail(
// CHECK: vector.extract_strided_slice %[[HALVES:.*]] {offsets = [8], sizes = [8], strides = [1]} : vector<16xf32> to vector<8xf32>
// CHECK: %[[HEAD:.*]] = arith.addf %{{.*}} : vector<8xf32>
// CHECK: %[[ALL:.*]] = arith.addf %[[HEAD]], %{{.*}} : vector<8xf32>
// CHECK: vector.reduction <add>, %[[ALL]]
// CHECK: math.fma %{{.*}} : vector<32xf32>
// CHECK: vector.reduction <add>, %{{.*}} : vector<8xf32> into f32
// CHECK-NOT: vector.reduction
// CHECK: hova_cpu.tile_store %{{.*}} : vector<1x32xf32>
// CHECK: hova_cpu.tile_store %{{.*}}[%{{.*}}, %c32] : vector<1x8xf32>
func.func @main(%x: tensor<2x3x40xf32>) -> tensor<2x3x40xf32> {
  %g = hova.image_weight "g" : tensor<40xf32>
  %b = hova.image_weight "b" : tensor<40xf32>
  %out = hova.kernel "normalizes_rows_with_a_tail" units<batch 2, token 3> (%x, %g, %b) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%x_: tensor<2x3x40xf32>, %g_: tensor<40xf32>, %b_: tensor<40xf32>):
    %r_out = hova.stage [#hova.layout<rows 40>] {
      %r = hova.layer_norm %x_, %g_, %b_ {eps = 1.0e-6 : f64} : tensor<2x3x40xf32>, tensor<40xf32>
      hova.yield %r : tensor<2x3x40xf32>
    } : tensor<2x3x40xf32>
    hova.yield %r_out : tensor<2x3x40xf32>
  } : (tensor<2x3x40xf32>, tensor<40xf32>, tensor<40xf32>) -> tensor<2x3x40xf32>
  return %out : tensor<2x3x40xf32>
}
func.func private @weights() {
  %g = hova.weight "g" : tensor<40xf32>
  hova.store_weight "g", %g : tensor<40xf32>
  %b = hova.weight "b" : tensor<40xf32>
  hova.store_weight "b", %b : tensor<40xf32>
  return
}

// -----

// Six columns are eight lanes of which two are masked: deviations from the mean
// are not zero there.
// CHECK-LABEL: func.func private @kernel_normalizes_rows_shorter_than_a_vector(
// CHECK: %[[INSIDE:.*]] = arith.constant dense<[true, true, true, true, true, true, false, false]>
// CHECK: %[[ROW:.*]] = vector.maskedload {{.*}}, %[[INSIDE]]
// CHECK: vector.reduction <add>
// CHECK: %[[SQUARES:.*]] = math.fma %[[DEVIATION:.*]], %[[DEVIATION]], %{{.*}} : vector<8xf32>
// CHECK: %[[KEPT:.*]] = arith.select %[[INSIDE]], %[[SQUARES]]
// CHECK: vector.reduction <add>, %[[KEPT]]
// CHECK: hova_cpu.tile_store {{.*}} {columns = 6 : i64}
func.func @main(%x: tensor<2x3x6xf32>) -> tensor<2x3x6xf32> {
  %g = hova.image_weight "g" : tensor<6xf32>
  %b = hova.image_weight "b" : tensor<6xf32>
  %out = hova.kernel "normalizes_rows_shorter_than_a_vector" units<batch 2, token 3> (%x, %g, %b) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%x_: tensor<2x3x6xf32>, %g_: tensor<6xf32>, %b_: tensor<6xf32>):
    %r_out = hova.stage [#hova.layout<rows 6>] {
      %r = hova.layer_norm %x_, %g_, %b_ {eps = 1.0e-6 : f64} : tensor<2x3x6xf32>, tensor<6xf32>
      hova.yield %r : tensor<2x3x6xf32>
    } : tensor<2x3x6xf32>
    hova.yield %r_out : tensor<2x3x6xf32>
  } : (tensor<2x3x6xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<2x3x6xf32>
  return %out : tensor<2x3x6xf32>
}
func.func private @weights() {
  %g = hova.weight "g" : tensor<6xf32>
  hova.store_weight "g", %g : tensor<6xf32>
  %b = hova.weight "b" : tensor<6xf32>
  hova.store_weight "b", %b : tensor<6xf32>
  return
}

// -----

// CHECK-LABEL: func.func private @kernel_scales_heads_by_their_softmax(
// CHECK-SAME: %[[H:.*]]: memref<5x15xf32> {llvm.noalias}, %[[LOGITS:.*]]: memref<5x3xf32>
// CHECK: %[[INSIDE:.*]] = arith.constant dense<[true, true, true, false]>
// CHECK: %[[ALL:.*]] = vector.maskedload %[[LOGITS]][%[[ROW:.*]], %c0], %[[INSIDE]]
// CHECK: %[[SCORES:.*]] = arith.select %[[INSIDE]], %[[ALL]]
// CHECK: vector.reduction <maxnumf>, %[[SCORES]]
// CHECK: %[[EXPONENTIALS:.*]] = hova.exp2 %{{.*}} : vector<4xf32>
// CHECK: %[[KEPT:.*]] = arith.select %[[INSIDE]], %[[EXPONENTIALS]]
// CHECK: vector.reduction <add>, %[[KEPT]]
// CHECK: %[[WEIGHTS:.*]] = arith.divf %[[KEPT]]
// CHECK: vector.extract %[[WEIGHTS]][0]
// CHECK: hova_cpu.tile_store %{{.*}}[%[[ROW]], %c0] {columns = 5 : i64}
// CHECK: vector.extract %[[WEIGHTS]][1]
// CHECK: hova_cpu.tile_store %{{.*}}[%[[ROW]], %c5] {columns = 5 : i64}
// CHECK: vector.extract %[[WEIGHTS]][2]
// CHECK: hova_cpu.tile_store %{{.*}}[%[[ROW]], %c10] {columns = 5 : i64}
func.func @main(%x: tensor<1x5x15xf32>, %l: tensor<1x5x3xf32>) -> tensor<1x5x15xf32> {
  %out = hova.kernel "scales_heads_by_their_softmax" units<batch 1, token 5> (%x, %l) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%x_: tensor<1x5x15xf32>, %l_: tensor<1x5x3xf32>):
    %r_out = hova.stage [#hova.layout<rows 15>] {
      %r = hova.scale_heads %x_, %l_ : tensor<1x5x15xf32>, tensor<1x5x3xf32>
      hova.yield %r : tensor<1x5x15xf32>
    } : tensor<1x5x15xf32>
    hova.yield %r_out : tensor<1x5x15xf32>
  } : (tensor<1x5x15xf32>, tensor<1x5x3xf32>) -> tensor<1x5x15xf32>
  return %out : tensor<1x5x15xf32>
}

// -----

// CHECK-LABEL: func.func private @kernel_scales_as_many_heads_as_lanes(
// CHECK-NOT: arith.select
// CHECK: hova.exp2 %{{.*}} : vector<4xf32>
// CHECK-NOT: arith.select
// CHECK: hova_cpu.tile_store %{{.*}}[%{{.*}}, %c6] : vector<1x2xf32>
func.func @main(%x: tensor<1x5x8xf32>, %l: tensor<1x5x4xf32>) -> tensor<1x5x8xf32> {
  %out = hova.kernel "scales_as_many_heads_as_lanes" units<batch 1, token 5> (%x, %l) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%x_: tensor<1x5x8xf32>, %l_: tensor<1x5x4xf32>):
    %r_out = hova.stage [#hova.layout<rows 8>] {
      %r = hova.scale_heads %x_, %l_ : tensor<1x5x8xf32>, tensor<1x5x4xf32>
      hova.yield %r : tensor<1x5x8xf32>
    } : tensor<1x5x8xf32>
    hova.yield %r_out : tensor<1x5x8xf32>
  } : (tensor<1x5x8xf32>, tensor<1x5x4xf32>) -> tensor<1x5x8xf32>
  return %out : tensor<1x5x8xf32>
}

// -----

// CHECK-LABEL: func.func private @kernel_computes_element_wise_chains_in_registers(
// CHECK-SAME: %[[X:.*]]: memref<6x40xf32> {llvm.noalias}, %[[Y:.*]]: memref<6x40xf32> {llvm.noalias}, %[[Z:.*]]: memref<6x40xf32> {llvm.noalias}, %{{.*}}: memref<64xi8>
// CHECK: %[[LEFT:.*]] = hova_cpu.tile_load %[[X]][%[[ROW:.*]], %c0]
// CHECK-NEXT: %[[RIGHT:.*]] = hova_cpu.tile_load %[[Y]][%[[ROW]], %c0]
// CHECK-NEXT: %[[SUM:.*]] = arith.addf %[[LEFT]], %[[RIGHT]] : vector<1x32xf32>
// CHECK-NEXT: %[[TWICE:.*]] = arith.mulf %[[SUM]], %{{.*}}
// CHECK-NEXT: %[[PRODUCT:.*]] = arith.mulf %[[TWICE]], %[[RIGHT]]
// CHECK-NEXT: hova_cpu.tile_store %[[PRODUCT]], %[[Z]][%[[ROW]], %c0]
// CHECK: hova_cpu.tile_store %{{.*}}, %[[Z]][%[[ROW]], %c32] : vector<1x8xf32>
// CHECK-NOT: hova_cpu.tile_store
func.func @main(%x: tensor<2x3x40xf32>, %y: tensor<2x3x40xf32>) -> tensor<2x3x40xf32> {
  %out = hova.kernel "computes_element_wise_chains_in_registers" units<batch 2, token 3> (%x, %y) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%x_: tensor<2x3x40xf32>, %y_: tensor<2x3x40xf32>):
    %r_out = hova.stage [#hova.layout<rows 40>] {
      %s = hova.add %x_, %y_ : tensor<2x3x40xf32>, tensor<2x3x40xf32>
      %t = hova.scale %s {factor = 2.0 : f64} : tensor<2x3x40xf32>
      %r = hova.multiply %t, %y_ : tensor<2x3x40xf32>, tensor<2x3x40xf32>
      hova.yield %r : tensor<2x3x40xf32>
    } : tensor<2x3x40xf32>
    hova.yield %r_out : tensor<2x3x40xf32>
  } : (tensor<2x3x40xf32>, tensor<2x3x40xf32>) -> tensor<2x3x40xf32>
  return %out : tensor<2x3x40xf32>
}

// -----

// CHECK-LABEL: func.func private @kernel_repeats_the_rows_of_a_table(
// CHECK-SAME: %{{.*}}: memref<6x8xf32> {llvm.noalias}, %[[TABLE:.*]]: memref<3x8xf32> {llvm.noalias}, %[[VECTOR:.*]]: memref<1x8xf32> {llvm.noalias}, %{{.*}}: memref<6x8xf32> {llvm.noalias}
// CHECK: scf.for %[[ROW:.*]] = %
// CHECK: %[[POSITION:.*]] = arith.remui %[[ROW]], %c3
// CHECK: hova_cpu.tile_load %[[TABLE]][%[[POSITION]], %c0]
// CHECK: hova_cpu.tile_load %[[VECTOR]][%c0, %c0]
func.func @main(%x: tensor<2x3x8xf32>) -> tensor<2x3x8xf32> {
  %p = hova.image_weight "p" : tensor<3x8xf32>
  %v = hova.image_weight "v" : tensor<8xf32>
  %out = hova.kernel "repeats_the_rows_of_a_table" units<batch 2, token 3> (%x, %p, %v) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%x_: tensor<2x3x8xf32>, %p_: tensor<3x8xf32>, %v_: tensor<8xf32>):
    %r_out = hova.stage [#hova.layout<rows 8>] {
      %s = hova.add %x_, %p_ : tensor<2x3x8xf32>, tensor<3x8xf32>
      %r = hova.add %s, %v_ : tensor<2x3x8xf32>, tensor<8xf32>
      hova.yield %r : tensor<2x3x8xf32>
    } : tensor<2x3x8xf32>
    hova.yield %r_out : tensor<2x3x8xf32>
  } : (tensor<2x3x8xf32>, tensor<3x8xf32>, tensor<8xf32>) -> tensor<2x3x8xf32>
  return %out : tensor<2x3x8xf32>
}
func.func private @weights() {
  %p = hova.weight "p" : tensor<3x8xf32>
  hova.store_weight "p", %p : tensor<3x8xf32>
  %v = hova.weight "v" : tensor<8xf32>
  hova.store_weight "v", %v : tensor<8xf32>
  return
}
