// Loops of matrix products.

// RUN: hova-opt %s --split-input-file --hova-tile-cpu-kernels --canonicalize --cse | FileCheck %s
// RUN: hova-opt %s --split-input-file --hova-tile-cpu-kernels --hova-tile-cpu-kernels --canonicalize --cse | FileCheck %s

// Two whole panels in a loop, the third with the 8 columns that are left. Nine
// rows are three blocks of three, not two of four and one.
// CHECK-LABEL: func.func private @kernel_multiplies_by_panels(
// CHECK-SAME: %[[X:.*]]: memref<9x8xf32> {llvm.noalias}, %[[W:.*]]: memref<3x8x16xf32> {llvm.noalias}, %[[B:.*]]: memref<1x40xf32> {llvm.noalias}, %[[Y:.*]]: memref<9x40xf32> {llvm.noalias}, %{{.*}}: memref<64xi8> {llvm.noalias}, %[[BEGIN:.*]]: index, %[[END:.*]]: index)
// CHECK: scf.for %[[PANEL:.*]] = %c0 to %c2 step %c1
// CHECK: %[[COLUMN:.*]] = arith.muli %[[PANEL]], %c16
// CHECK: %[[ROWS:.*]] = arith.subi %[[END]], %[[BEGIN]]
// CHECK: scf.for
// CHECK: %[[ROW:.*]] = arith.addi %[[BEGIN]], %{{.*}}
// CHECK: %[[PRODUCT:.*]] = hova_cpu.tile_product %[[X]][%[[ROW]], %c0], %[[W]][%[[PANEL]], %c0, %c0] depth %c8 {{.*}} -> vector<3x16xf32>
// CHECK: %[[BIAS:.*]] = hova_cpu.tile_load %[[B]][%c0, %[[COLUMN]]] {{.*}} -> vector<1x16xf32>
// CHECK: %[[ALL:.*]] = vector.broadcast %[[BIAS]]
// CHECK: %[[SUM:.*]] = arith.addf %[[PRODUCT]], %[[ALL]]
// CHECK: hova_cpu.tile_store %[[SUM]], %[[Y]][%[[ROW]], %[[COLUMN]]] : vector<3x16xf32>
// CHECK: scf.for
// CHECK: hova_cpu.tile_product %[[X]][%{{.*}}, %c0], %[[W]][%c2, %c0, %c0] depth %c8
// CHECK: hova_cpu.tile_store %{{.*}}, %[[Y]][%{{.*}}, %c32] : vector<3x8xf32>
// CHECK-NOT: hova_cpu.tile_store
func.func @main(%x: tensor<1x9x8xf32>) -> tensor<1x9x40xf32> {
  %w = hova.image_weight "w" {layout = #hova.column_strips<16>} : tensor<8x40xf32>
  %b = hova.image_weight "b" : tensor<40xf32>
  %out = hova.kernel "multiplies_by_panels" units<batch 1, token 9> (%x, %w, %b) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%x_: tensor<1x9x8xf32>, %w_: tensor<8x40xf32>, %b_: tensor<40xf32>):
    %r_out = hova.stage [#hova.layout<rows 40>] {
      %r = hova.linear %x_, %w_ bias(%b_) : tensor<1x9x8xf32>, tensor<8x40xf32>, tensor<40xf32> -> tensor<1x9x40xf32>
      hova.yield %r : tensor<1x9x40xf32>
    } : tensor<1x9x40xf32>
    hova.yield %r_out : tensor<1x9x40xf32>
  } : (tensor<1x9x8xf32>, tensor<8x40xf32>, tensor<40xf32>) -> tensor<1x9x40xf32>
  return %out : tensor<1x9x40xf32>
}
func.func private @weights() {
  %w = hova.weight "w" : tensor<8x40xf32>
  hova.store_weight "w", %w : tensor<8x40xf32>
  %b = hova.weight "b" : tensor<40xf32>
  hova.store_weight "b", %b : tensor<40xf32>
  return
}

// -----

// CHECK-LABEL: func.func private @kernel_multiplies_by_one_whole_panel(
// CHECK: hova_cpu.tile_product {{.*}} -> vector<4x16xf32>
// CHECK-NOT: vector.broadcast
// CHECK: hova_cpu.tile_store %{{.*}} : vector<4x16xf32>
// CHECK-NOT: hova_cpu.tile_product
func.func @main(%x: tensor<1x4x8xf32>) -> tensor<1x4x16xf32> {
  %w = hova.image_weight "w" {layout = #hova.column_strips<16>} : tensor<8x16xf32>
  %out = hova.kernel "multiplies_by_one_whole_panel" units<batch 1, token 4> (%x, %w) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%x_: tensor<1x4x8xf32>, %w_: tensor<8x16xf32>):
    %r_out = hova.stage [#hova.layout<rows 16>] {
      %r = hova.linear %x_, %w_ : tensor<1x4x8xf32>, tensor<8x16xf32> -> tensor<1x4x16xf32>
      hova.yield %r : tensor<1x4x16xf32>
    } : tensor<1x4x16xf32>
    hova.yield %r_out : tensor<1x4x16xf32>
  } : (tensor<1x4x8xf32>, tensor<8x16xf32>) -> tensor<1x4x16xf32>
  return %out : tensor<1x4x16xf32>
}
func.func private @weights() {
  %w = hova.weight "w" : tensor<8x16xf32>
  hova.store_weight "w", %w : tensor<8x16xf32>
  return
}

// -----

// One to four threads take 9, 5, 4, 3 or 2 rows, in blocks of 2, 3 or 4.
// CHECK-LABEL: func.func private @kernel_has_a_body_for_each_height(
// CHECK: scf.index_switch
// CHECK-NEXT: case 2 {
// CHECK: hova_cpu.tile_product {{.*}} -> vector<2x16xf32>
// CHECK: case 3 {
// CHECK: hova_cpu.tile_product {{.*}} -> vector<3x16xf32>
// CHECK: default {
// CHECK: hova_cpu.tile_product {{.*}} -> vector<4x16xf32>
// CHECK-NOT: hova_cpu.tile_product
func.func @main(%x: tensor<1x9x8xf32>) -> tensor<1x9x16xf32> {
  %w = hova.image_weight "w" {layout = #hova.column_strips<16>} : tensor<8x16xf32>
  %out = hova.kernel "has_a_body_for_each_height" units<batch 1, token 9> (%x, %w) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 2, k_block = 256, block = 256>} {
  ^bb0(%x_: tensor<1x9x8xf32>, %w_: tensor<8x16xf32>):
    %r_out = hova.stage [#hova.layout<rows 16>] {
      %r = hova.linear %x_, %w_ : tensor<1x9x8xf32>, tensor<8x16xf32> -> tensor<1x9x16xf32>
      hova.yield %r : tensor<1x9x16xf32>
    } : tensor<1x9x16xf32>
    hova.yield %r_out : tensor<1x9x16xf32>
  } : (tensor<1x9x8xf32>, tensor<8x16xf32>) -> tensor<1x9x16xf32>
  return %out : tensor<1x9x16xf32>
}
func.func private @weights() {
  %w = hova.weight "w" : tensor<8x16xf32>
  hova.store_weight "w", %w : tensor<8x16xf32>
  return
}

// -----

// CHECK-LABEL: func.func private @kernel_multiplies_a_single_row(
// CHECK-NOT: scf.index_switch
// CHECK: hova_cpu.tile_product {{.*}} -> vector<1x16xf32>
// CHECK: hova_cpu.tile_store {{.*}} {columns = 10 : i64}
func.func @main(%x: tensor<1x8xf32>) -> tensor<1x10xf32> {
  %w = hova.image_weight "w" {layout = #hova.column_strips<16>} : tensor<8x10xf32>
  %out = hova.kernel "multiplies_a_single_row" units<row 1> (%x, %w) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 1, k_block = 256, block = 256>} {
  ^bb0(%x_: tensor<1x8xf32>, %w_: tensor<8x10xf32>):
    %r_out = hova.stage [#hova.layout<rows 10>] {
      %r = hova.linear %x_, %w_ : tensor<1x8xf32>, tensor<8x10xf32> -> tensor<1x10xf32>
      hova.yield %r : tensor<1x10xf32>
    } : tensor<1x10xf32>
    hova.yield %r_out : tensor<1x10xf32>
  } : (tensor<1x8xf32>, tensor<8x10xf32>) -> tensor<1x10xf32>
  return %out : tensor<1x10xf32>
}
func.func private @weights() {
  %w = hova.weight "w" : tensor<8x10xf32>
  hova.store_weight "w", %w : tensor<8x10xf32>
  return
}

// -----

// CHECK-LABEL: func.func private @kernel_applies_what_follows_to_the_tile(
// CHECK-SAME: %{{.*}}: memref<9x8xf32> {llvm.noalias}, %[[RESIDUAL:.*]]: memref<9x16xf32> {llvm.noalias}, %{{.*}}: memref<1x8x16xf32> {llvm.noalias}, %[[Y:.*]]: memref<9x16xf32>
// CHECK: %[[PRODUCT:.*]] = hova_cpu.tile_product
// CHECK-NEXT: %[[ACTIVE:.*]] = hova.activation gelu_erf %[[PRODUCT]] : vector<3x16xf32>
// CHECK-NEXT: %[[OTHER:.*]] = hova_cpu.tile_load %[[RESIDUAL]]
// CHECK-NEXT: %[[SUM:.*]] = arith.addf %[[ACTIVE]], %[[OTHER]]
// CHECK-NEXT: hova_cpu.tile_store %[[SUM]], %[[Y]]
// CHECK-NOT: hova_cpu.tile_store
func.func @main(%x: tensor<1x9x8xf32>, %y: tensor<1x9x16xf32>) -> tensor<1x9x16xf32> {
  %w = hova.image_weight "w" {layout = #hova.column_strips<16>} : tensor<8x16xf32>
  %out = hova.kernel "applies_what_follows_to_the_tile" units<batch 1, token 9> (%x, %y, %w) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%x_: tensor<1x9x8xf32>, %y_: tensor<1x9x16xf32>, %w_: tensor<8x16xf32>):
    %r_out = hova.stage [#hova.layout<rows 16>] {
      %p = hova.linear %x_, %w_ : tensor<1x9x8xf32>, tensor<8x16xf32> -> tensor<1x9x16xf32>
      %q = hova.activation gelu_erf %p : tensor<1x9x16xf32>
      %r = hova.add %q, %y_ : tensor<1x9x16xf32>, tensor<1x9x16xf32>
      hova.yield %r : tensor<1x9x16xf32>
    } : tensor<1x9x16xf32>
    hova.yield %r_out : tensor<1x9x16xf32>
  } : (tensor<1x9x8xf32>, tensor<1x9x16xf32>, tensor<8x16xf32>) -> tensor<1x9x16xf32>
  return %out : tensor<1x9x16xf32>
}
func.func private @weights() {
  %w = hova.weight "w" : tensor<8x16xf32>
  hova.store_weight "w", %w : tensor<8x16xf32>
  return
}

// -----

// What crosses stages is the thread's own; a slice of its columns is a view.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: hova.arena_bytes = 0 : i64
// CHECK: %[[KEPT:.*]] = hova.chunk_buffer : memref<9x24xf32, strided<[32, 1]>>
// CHECK: hova.launch @kernel_reads_columns_of_an_earlier_stage(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[KEPT]])
// CHECK-LABEL: func.func private @kernel_reads_columns_of_an_earlier_stage(
// CHECK-SAME: %[[P:[^ ]*]]: memref<9x24xf32, strided<[32, 1]>> {llvm.noalias}, %{{[^ ]*}}: memref<64xi8>
// CHECK: %[[VIEW:.*]] = memref.subview %[[P]][0, 16] [9, 8] [1, 1]
// CHECK: hova_cpu.tile_store %{{.*}}, %[[P]]
// CHECK: hova_cpu.tile_store %{{.*}}, %[[P]]
// CHECK: hova_cpu.tile_product %[[VIEW]]
func.func @main(%x: tensor<1x9x8xf32>) -> tensor<1x9x16xf32> {
  %w = hova.image_weight "w" {layout = #hova.column_strips<16>} : tensor<8x24xf32>
  %v = hova.image_weight "v" {layout = #hova.column_strips<16>} : tensor<8x16xf32>
  %out = hova.kernel "reads_columns_of_an_earlier_stage" units<batch 1, token 9> (%x, %w, %v) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%a: tensor<1x9x8xf32>, %m: tensor<8x24xf32>, %n: tensor<8x16xf32>):
    %p_out = hova.stage [#hova.layout<rows 32>] {
      %p = hova.linear %a, %m : tensor<1x9x8xf32>, tensor<8x24xf32> -> tensor<1x9x24xf32>
      hova.yield %p : tensor<1x9x24xf32>
    } : tensor<1x9x24xf32>
    %q = hova.slice %p_out {axis = 2 : i64, offset = 16 : i64} : tensor<1x9x24xf32> -> tensor<1x9x8xf32>
    %r_out = hova.stage [#hova.layout<rows 16>] {
      %r = hova.linear %q, %n : tensor<1x9x8xf32>, tensor<8x16xf32> -> tensor<1x9x16xf32>
      hova.yield %r : tensor<1x9x16xf32>
    } : tensor<1x9x16xf32>
    hova.yield %r_out : tensor<1x9x16xf32>
  } : (tensor<1x9x8xf32>, tensor<8x24xf32>, tensor<8x16xf32>) -> tensor<1x9x16xf32>
  return %out : tensor<1x9x16xf32>
}
func.func private @weights() {
  %w = hova.weight "w" : tensor<8x24xf32>
  hova.store_weight "w", %w : tensor<8x24xf32>
  %v = hova.weight "v" : tensor<8x16xf32>
  hova.store_weight "v", %v : tensor<8x16xf32>
  return
}

// -----

// CHECK-LABEL: func.func private @kernel_sums_logits_over_panels(
// CHECK-SAME: %[[H:.*]]: memref<9x8xf32> {llvm.noalias}, %[[SHIFT:.*]]: memref<9x20xf32> {llvm.noalias}, %[[W:.*]]: memref<2x4x16xf32> {llvm.noalias}, %[[SCORE:.*]]: memref<1x20xf32> {llvm.noalias}, %[[B:.*]]: memref<9x2xf32> {llvm.noalias}, %{{.*}}: memref<64xi8>
// CHECK: scf.for %[[HEAD:.*]] = %c0 to %c2 step %c1
// CHECK: %[[COLUMN:.*]] = arith.muli %[[HEAD]], %c4
// CHECK: %[[PRODUCT:.*]] = hova_cpu.tile_product %[[H]][%[[ROW:.*]], %[[COLUMN]]], %[[W]][%c0, %c0, %c0] depth %c4
// CHECK: %[[MOVE:.*]] = hova_cpu.tile_load %[[SHIFT]][%[[ROW]], %c0]
// CHECK: %[[SHIFTED:.*]] = arith.addf %[[PRODUCT]], %[[MOVE]]
// CHECK: hova.activation relu %[[SHIFTED]]
// CHECK: %[[FIRST:.*]] = hova_cpu.tile_row_sum
// CHECK: hova_cpu.tile_product %[[H]][%[[ROW]], %[[COLUMN]]], %[[W]][%c1, %c0, %c0] depth %c4
// CHECK: hova_cpu.tile_load %[[SHIFT]][%[[ROW]], %c16] {{.*}} -> vector<3x4xf32>
// CHECK: hova_cpu.tile_load %[[SCORE]][%c0, %c16] {{.*}} -> vector<1x4xf32>
// CHECK: %[[SECOND:.*]] = hova_cpu.tile_row_sum
// CHECK: %[[LOGITS:.*]] = arith.addf %[[FIRST]], %[[SECOND]] : vector<3x1xf32>
// CHECK: hova_cpu.tile_store %[[LOGITS]], %[[B]][%[[ROW]], %[[HEAD]]]
func.func @main(%h: tensor<1x9x8xf32>, %t: tensor<1x9x20xf32>) -> tensor<1x9x2xf32> {
  %a = hova.image_weight "a" {layout = #hova.column_strips<16>} : tensor<4x20xf32>
  %s = hova.image_weight "s" : tensor<20xf32>
  %out = hova.kernel "sums_logits_over_panels" units<batch 1, token 9> (%h, %t, %a, %s) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%h_: tensor<1x9x8xf32>, %t_: tensor<1x9x20xf32>, %a_: tensor<4x20xf32>, %s_: tensor<20xf32>):
    %r_out = hova.stage [#hova.layout<rows 2>] {
      %r = hova.head_logits %h_, %t_, %a_, %s_ {heads = 2 : i64} : (tensor<1x9x8xf32>, tensor<1x9x20xf32>, tensor<4x20xf32>, tensor<20xf32>) -> tensor<1x9x2xf32>
      hova.yield %r : tensor<1x9x2xf32>
    } : tensor<1x9x2xf32>
    hova.yield %r_out : tensor<1x9x2xf32>
  } : (tensor<1x9x8xf32>, tensor<1x9x20xf32>, tensor<4x20xf32>, tensor<20xf32>) -> tensor<1x9x2xf32>
  return %out : tensor<1x9x2xf32>
}
func.func private @weights() {
  %a = hova.weight "a" : tensor<4x20xf32>
  hova.store_weight "a", %a : tensor<4x20xf32>
  %s = hova.weight "s" : tensor<20xf32>
  hova.store_weight "s", %s : tensor<20xf32>
  return
}

// -----

// Nine rows in blocks of at most five: each passes through both stages.
// CHECK-LABEL: func.func private @kernel_passes_blocks_through_all_stages(
// CHECK-SAME: %[[BEGIN:[a-z0-9]+]]: index, %[[END:[a-z0-9]+]]: index)
// CHECK: %[[ROWS:.*]] = arith.subi %[[END]], %[[BEGIN]]
// CHECK: %[[UP:.*]] = arith.addi %[[ROWS]], %c4
// CHECK: %[[BLOCKS:.*]] = arith.divui %[[UP]], %c5
// CHECK: scf.for %{{.*}} = %c0 to %[[BLOCKS]] step %c1 {
// CHECK: hova_cpu.tile_product
// CHECK: hova_cpu.tile_product
// CHECK: return
func.func @main(%x: tensor<1x9x16xf32>) -> tensor<1x9x16xf32> {
  %w = hova.image_weight "w" {layout = #hova.column_strips<16>} : tensor<16x16xf32>
  %out = hova.kernel "passes_blocks_through_all_stages" units<batch 1, token 9> (%x, %w) attributes {schedule = #hova_cpu.schedule<tile = 5x16, lanes = 32, grain = 100, k_block = 16, block = 5>} {
  ^bb0(%x_: tensor<1x9x16xf32>, %w_: tensor<16x16xf32>):
    %p_out = hova.stage [#hova.layout<rows 16>] {
      %p = hova.linear %x_, %w_ : tensor<1x9x16xf32>, tensor<16x16xf32> -> tensor<1x9x16xf32>
      hova.yield %p : tensor<1x9x16xf32>
    } : tensor<1x9x16xf32>
    %r_out = hova.stage [#hova.layout<rows 16>] {
      %r = hova.linear %p_out, %w_ : tensor<1x9x16xf32>, tensor<16x16xf32> -> tensor<1x9x16xf32>
      hova.yield %r : tensor<1x9x16xf32>
    } : tensor<1x9x16xf32>
    hova.yield %r_out : tensor<1x9x16xf32>
  } : (tensor<1x9x16xf32>, tensor<16x16xf32>) -> tensor<1x9x16xf32>
  return %out : tensor<1x9x16xf32>
}
func.func private @weights() {
  %w = hova.weight "w" : tensor<16x16xf32>
  hova.store_weight "w", %w : tensor<16x16xf32>
  return
}

// -----

// A level whose register tile is narrower than a panel takes the panel in parts,
// and what is left of it in a narrower one.
// CHECK-LABEL: func.func private @kernel_takes_a_panel_in_parts(
// CHECK: scf.for %[[PART:.*]] = %c0 to %c32 step %c16
// CHECK: hova_cpu.tile_product {{.*}}[%c0, %c0, %[[PART]]] depth %c8 {{.*}} -> vector<3x16xf32>
// CHECK: hova_cpu.tile_product {{.*}}[%c0, %c0, %c32] depth %c8 {{.*}} -> vector<3x8xf32>
// CHECK-NOT: hova_cpu.tile_product
// CHECK: return
func.func @main(%x: tensor<1x9x8xf32>) -> tensor<1x9x40xf32> {
  %w = hova.image_weight "w" {layout = #hova.column_strips<64>} : tensor<8x40xf32>
  %out = hova.kernel "takes_a_panel_in_parts" units<batch 1, token 9> (%x, %w) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%x_: tensor<1x9x8xf32>, %w_: tensor<8x40xf32>):
    %r_out = hova.stage [#hova.layout<rows 40>] {
      %r = hova.linear %x_, %w_ : tensor<1x9x8xf32>, tensor<8x40xf32> -> tensor<1x9x40xf32>
      hova.yield %r : tensor<1x9x40xf32>
    } : tensor<1x9x40xf32>
    hova.yield %r_out : tensor<1x9x40xf32>
  } : (tensor<1x9x8xf32>, tensor<8x40xf32>) -> tensor<1x9x40xf32>
  return %out : tensor<1x9x40xf32>
}
func.func private @weights() {
  %w = hova.weight "w" : tensor<8x40xf32>
  hova.store_weight "w", %w : tensor<8x40xf32>
  return
}

// -----

// Threads divide panels: two whole ones and a partial one, which belongs to the
// thread chunk that ends after it. Every chunk takes all rows.
// CHECK-LABEL: func.func @main(
// CHECK: hova.launch @kernel_divides_columns({{.*}}) {{.*}} {flops = 5760 : i64, shape = #hova_cpu.launch<units = 3, grain = 1>}
// CHECK-LABEL: func.func private @kernel_divides_columns(
// CHECK-SAME: %[[BEGIN:[a-z0-9]+]]: index, %[[END:[a-z0-9]+]]: index)
// CHECK: %[[LAST:.*]] = arith.minui %[[END]], %c2
// CHECK: scf.for %[[PANEL:.*]] = %[[BEGIN]] to %[[LAST]] step %c1
// CHECK: scf.for %{{.*}} = %c0 to %c3 step %c1
// CHECK: hova_cpu.tile_product {{.*}}[%[[PANEL]], %c0, %c0] depth %c8 {{.*}} -> vector<3x16xf32>
// CHECK: scf.for %{{.*}} = %c2 to %[[END]] step %c1
// CHECK: hova_cpu.tile_product {{.*}}[%c2, %c0, %c0] depth %c8 {{.*}} -> vector<3x8xf32>
func.func @main(%x: tensor<1x9x8xf32>) -> tensor<1x9x40xf32> {
  %w = hova.image_weight "w" {layout = #hova.column_strips<16>} : tensor<8x40xf32>
  %out = hova.kernel "divides_columns" units<column_strip 3> (%x, %w) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 1, k_block = 256, block = 256>} {
  ^bb0(%x_: tensor<1x9x8xf32>, %w_: tensor<8x40xf32>):
    %r_out = hova.stage [#hova.layout<rows 40>] {
      %r = hova.linear %x_, %w_ : tensor<1x9x8xf32>, tensor<8x40xf32> -> tensor<1x9x40xf32>
      hova.yield %r : tensor<1x9x40xf32>
    } : tensor<1x9x40xf32>
    hova.yield %r_out : tensor<1x9x40xf32>
  } : (tensor<1x9x8xf32>, tensor<8x40xf32>) -> tensor<1x9x40xf32>
  return %out : tensor<1x9x40xf32>
}
func.func private @weights() {
  %w = hova.weight "w" : tensor<8x40xf32>
  hova.store_weight "w", %w : tensor<8x40xf32>
  return
}
