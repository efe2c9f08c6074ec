// Stages, tiles and chunks.

// RUN: hova-opt %s --split-input-file --hova-assign-cpu-schedule --hova-verify-assigned | FileCheck %s
// RUN: hova-opt %s --split-input-file --hova-assign-cpu-schedule --hova-assign-cpu-schedule | FileCheck %s
// RUN: hova-opt %s --split-input-file --hova-assign-cpu-schedule | hova-opt --split-input-file | FileCheck %s

// CHECK-LABEL: hova.kernel "joins_what_follows_a_product"
// CHECK-SAME: schedule = #hova_cpu.schedule<tile = 6x64, lanes = 64, grain = 6, k_block = 256, block = 256>
// CHECK: hova.stage
// CHECK-NEXT: hova.linear
// CHECK-NEXT: hova.activation relu
// CHECK-NEXT: hova.add
func.func @main(%x: tensor<2x9x8xf32>) -> tensor<2x9x8xf32> {
  %w = hova.image_weight "w" : tensor<8x8xf32>
  %out = hova.kernel "joins_what_follows_a_product" (%x, %w) {
  ^bb0(%a: tensor<2x9x8xf32>, %w_: tensor<8x8xf32>):
    %p = hova.linear %a, %w_ : tensor<2x9x8xf32>, tensor<8x8xf32> -> tensor<2x9x8xf32>
    %q = hova.activation relu %p : tensor<2x9x8xf32>
    %r = hova.add %q, %a : tensor<2x9x8xf32>, tensor<2x9x8xf32>
    hova.yield %r : tensor<2x9x8xf32>
  } : (tensor<2x9x8xf32>, tensor<8x8xf32>) -> tensor<2x9x8xf32>
  return %out : tensor<2x9x8xf32>
}
func.func private @weights() {
  %w = hova.weight "w" : tensor<8x8xf32>
  hova.store_weight "w", %w : tensor<8x8xf32>
  return
}

// -----

// CHECK-LABEL: hova.kernel "joins_a_row_for_all_rows"
// CHECK: hova.stage
// CHECK-NEXT: hova.linear
// CHECK-NEXT: hova.add
func.func @main(%x: tensor<2x9x8xf32>, %v: tensor<8xf32>) -> tensor<2x9x8xf32> {
  %w = hova.image_weight "w" : tensor<8x8xf32>
  %out = hova.kernel "joins_a_row_for_all_rows" (%x, %w, %v) {
  ^bb0(%a: tensor<2x9x8xf32>, %w_: tensor<8x8xf32>, %v_: tensor<8xf32>):
    %p = hova.linear %a, %w_ : tensor<2x9x8xf32>, tensor<8x8xf32> -> tensor<2x9x8xf32>
    %r = hova.add %p, %v_ : tensor<2x9x8xf32>, tensor<8xf32>
    hova.yield %r : tensor<2x9x8xf32>
  } : (tensor<2x9x8xf32>, tensor<8x8xf32>, tensor<8xf32>) -> tensor<2x9x8xf32>
  return %out : tensor<2x9x8xf32>
}
func.func private @weights() {
  %w = hova.weight "w" : tensor<8x8xf32>
  hova.store_weight "w", %w : tensor<8x8xf32>
  return
}

// -----

// A block of rows does not line up with a table that repeats every nine.
// CHECK-LABEL: hova.kernel "parts_a_table_from_a_product"
// CHECK: hova.stage
// CHECK-NEXT: hova.linear
// CHECK: hova.stage
// CHECK-NEXT: hova.add
func.func @main(%x: tensor<2x9x8xf32>, %t: tensor<9x8xf32>) -> tensor<2x9x8xf32> {
  %w = hova.image_weight "w" : tensor<8x8xf32>
  %out = hova.kernel "parts_a_table_from_a_product" (%x, %w, %t) {
  ^bb0(%a: tensor<2x9x8xf32>, %w_: tensor<8x8xf32>, %t_: tensor<9x8xf32>):
    %p = hova.linear %a, %w_ : tensor<2x9x8xf32>, tensor<8x8xf32> -> tensor<2x9x8xf32>
    %r = hova.add %p, %t_ : tensor<2x9x8xf32>, tensor<9x8xf32>
    hova.yield %r : tensor<2x9x8xf32>
  } : (tensor<2x9x8xf32>, tensor<8x8xf32>, tensor<9x8xf32>) -> tensor<2x9x8xf32>
  return %out : tensor<2x9x8xf32>
}
func.func private @weights() {
  %w = hova.weight "w" : tensor<8x8xf32>
  hova.store_weight "w", %w : tensor<8x8xf32>
  return
}

// -----

// CHECK-LABEL: hova.kernel "joins_a_table_to_single_rows"
// CHECK: hova.stage
// CHECK-NEXT: hova.layer_norm
// CHECK-NEXT: hova.add
func.func @main(%x: tensor<2x9x8xf32>, %v: tensor<8xf32>, %t: tensor<9x8xf32>) -> tensor<2x9x8xf32> {
  %out = hova.kernel "joins_a_table_to_single_rows" (%x, %v, %t) {
  ^bb0(%a: tensor<2x9x8xf32>, %v_: tensor<8xf32>, %t_: tensor<9x8xf32>):
    %p = hova.layer_norm %a, %v_, %v_ {eps = 1.0e-6 : f64} : tensor<2x9x8xf32>, tensor<8xf32>
    %r = hova.add %p, %t_ : tensor<2x9x8xf32>, tensor<9x8xf32>
    hova.yield %r : tensor<2x9x8xf32>
  } : (tensor<2x9x8xf32>, tensor<8xf32>, tensor<9x8xf32>) -> tensor<2x9x8xf32>
  return %out : tensor<2x9x8xf32>
}

// -----

// The columns are stored when the stage is over; slices have no stage.
// CHECK-LABEL: hova.kernel "parts_a_product_from_columns_of_its_result"
// CHECK: hova.stage
// CHECK-NEXT: hova.linear
// CHECK: hova.slice
// CHECK-NOT: hova.stage
// CHECK: hova.stage
// CHECK-NEXT: hova.multiply
func.func @main(%x: tensor<2x9x8xf32>) -> tensor<2x9x4xf32> {
  %w = hova.image_weight "w" : tensor<8x8xf32>
  %out = hova.kernel "parts_a_product_from_columns_of_its_result" (%x, %w) {
  ^bb0(%a: tensor<2x9x8xf32>, %w_: tensor<8x8xf32>):
    %p = hova.linear %a, %w_ : tensor<2x9x8xf32>, tensor<8x8xf32> -> tensor<2x9x8xf32>
    %s = hova.slice %p {axis = 2 : i64, offset = 0 : i64} : tensor<2x9x8xf32> -> tensor<2x9x4xf32>
    %u = hova.slice %p {axis = 2 : i64, offset = 4 : i64} : tensor<2x9x8xf32> -> tensor<2x9x4xf32>
    %r = hova.multiply %s, %u : tensor<2x9x4xf32>, tensor<2x9x4xf32>
    hova.yield %r : tensor<2x9x4xf32>
  } : (tensor<2x9x8xf32>, tensor<8x8xf32>) -> tensor<2x9x4xf32>
  return %out : tensor<2x9x4xf32>
}
func.func private @weights() {
  %w = hova.weight "w" : tensor<8x8xf32>
  hova.store_weight "w", %w : tensor<8x8xf32>
  return
}

// -----

// CHECK-LABEL: hova.kernel "joins_two_readers_of_one_product"
// CHECK: hova.stage
// CHECK-NEXT: hova.linear
// CHECK-NEXT: hova.activation relu
// CHECK-NEXT: hova.activation tanh
// CHECK-NEXT: hova.multiply
func.func @main(%x: tensor<2x9x8xf32>) -> tensor<2x9x8xf32> {
  %w = hova.image_weight "w" : tensor<8x8xf32>
  %out = hova.kernel "joins_two_readers_of_one_product" (%x, %w) {
  ^bb0(%a: tensor<2x9x8xf32>, %w_: tensor<8x8xf32>):
    %p = hova.linear %a, %w_ : tensor<2x9x8xf32>, tensor<8x8xf32> -> tensor<2x9x8xf32>
    %q = hova.activation relu %p : tensor<2x9x8xf32>
    %s = hova.activation tanh %p : tensor<2x9x8xf32>
    %r = hova.multiply %q, %s : tensor<2x9x8xf32>, tensor<2x9x8xf32>
    hova.yield %r : tensor<2x9x8xf32>
  } : (tensor<2x9x8xf32>, tensor<8x8xf32>) -> tensor<2x9x8xf32>
  return %out : tensor<2x9x8xf32>
}
func.func private @weights() {
  %w = hova.weight "w" : tensor<8x8xf32>
  hova.store_weight "w", %w : tensor<8x8xf32>
  return
}

// -----

// CHECK-LABEL: hova.kernel "joins_the_later_of_two_products"
// CHECK: hova.stage
// CHECK-NEXT: hova.linear
// CHECK: hova.stage
// CHECK-NEXT: hova.linear
// CHECK-NEXT: hova.multiply
func.func @main(%x: tensor<2x9x8xf32>) -> tensor<2x9x8xf32> {
  %w = hova.image_weight "w" : tensor<8x8xf32>
  %out = hova.kernel "joins_the_later_of_two_products" (%x, %w) {
  ^bb0(%a: tensor<2x9x8xf32>, %w_: tensor<8x8xf32>):
    %p = hova.linear %a, %w_ : tensor<2x9x8xf32>, tensor<8x8xf32> -> tensor<2x9x8xf32>
    %q = hova.linear %p, %w_ : tensor<2x9x8xf32>, tensor<8x8xf32> -> tensor<2x9x8xf32>
    %r = hova.multiply %p, %q : tensor<2x9x8xf32>, tensor<2x9x8xf32>
    hova.yield %r : tensor<2x9x8xf32>
  } : (tensor<2x9x8xf32>, tensor<8x8xf32>) -> tensor<2x9x8xf32>
  return %out : tensor<2x9x8xf32>
}
func.func private @weights() {
  %w = hova.weight "w" : tensor<8x8xf32>
  hova.store_weight "w", %w : tensor<8x8xf32>
  return
}

// -----

// CHECK-LABEL: hova.kernel "begins_a_stage_with_every_anchor"
// CHECK: hova.stage
// CHECK-NEXT: hova.activation relu
// CHECK: hova.stage
// CHECK-NEXT: hova.layer_norm
// CHECK: hova.stage
// CHECK-NEXT: hova.linear
func.func @main(%x: tensor<2x9x8xf32>, %v: tensor<8xf32>) -> tensor<2x9x8xf32> {
  %w = hova.image_weight "w" : tensor<8x8xf32>
  %out = hova.kernel "begins_a_stage_with_every_anchor" (%x, %w, %v) {
  ^bb0(%a: tensor<2x9x8xf32>, %w_: tensor<8x8xf32>, %v_: tensor<8xf32>):
    %q = hova.activation relu %a : tensor<2x9x8xf32>
    %n = hova.layer_norm %q, %v_, %v_ {eps = 1.0e-6 : f64} : tensor<2x9x8xf32>, tensor<8xf32>
    %r = hova.linear %n, %w_ : tensor<2x9x8xf32>, tensor<8x8xf32> -> tensor<2x9x8xf32>
    hova.yield %r : tensor<2x9x8xf32>
  } : (tensor<2x9x8xf32>, tensor<8x8xf32>, tensor<8xf32>) -> tensor<2x9x8xf32>
  return %out : tensor<2x9x8xf32>
}
func.func private @weights() {
  %w = hova.weight "w" : tensor<8x8xf32>
  hova.store_weight "w", %w : tensor<8x8xf32>
  return
}

// -----

// Logits leave head by head, never as a tile; their weight is read in panels.
// CHECK-LABEL: func.func @main
// CHECK: hova.image_weight "w" {layout = #hova.column_strips<64>}
// CHECK: hova.stage
// CHECK-NEXT: hova.head_logits
// CHECK: hova.stage
// CHECK-NEXT: hova.activation tanh
func.func @main(%x: tensor<1x9x8xf32>, %t: tensor<1x9x4xf32>, %v: tensor<4xf32>) -> tensor<1x9x2xf32> {
  %w = hova.image_weight "w" : tensor<4x4xf32>
  %out = hova.kernel "parts_logits_from_what_follows" (%x, %t, %w, %v) {
  ^bb0(%a: tensor<1x9x8xf32>, %s: tensor<1x9x4xf32>, %m: tensor<4x4xf32>, %u: tensor<4xf32>):
    %b = hova.head_logits %a, %s, %m, %u {heads = 2 : i64} : (tensor<1x9x8xf32>, tensor<1x9x4xf32>, tensor<4x4xf32>, tensor<4xf32>) -> tensor<1x9x2xf32>
    %r = hova.activation tanh %b : tensor<1x9x2xf32>
    hova.yield %r : tensor<1x9x2xf32>
  } : (tensor<1x9x8xf32>, tensor<1x9x4xf32>, tensor<4x4xf32>, tensor<4xf32>) -> tensor<1x9x2xf32>
  return %out : tensor<1x9x2xf32>
}
func.func private @weights() {
  %w = hova.weight "w" : tensor<4x4xf32>
  hova.store_weight "w", %w : tensor<4x4xf32>
  return
}

// -----

// CHECK-LABEL: hova.kernel "stores_columns_that_leave_the_kernel"
// CHECK: hova.stage [#hova.layout<rows 16>]
// CHECK-NEXT: hova.linear
// CHECK: hova.stage [#hova.layout<rows 4>]
// CHECK-NEXT: hova.slice
func.func @main(%x: tensor<2x9x8xf32>) -> tensor<2x9x4xf32> {
  %w = hova.image_weight "w" : tensor<8x8xf32>
  %out = hova.kernel "stores_columns_that_leave_the_kernel" (%x, %w) {
  ^bb0(%a: tensor<2x9x8xf32>, %w_: tensor<8x8xf32>):
    %p = hova.linear %a, %w_ : tensor<2x9x8xf32>, tensor<8x8xf32> -> tensor<2x9x8xf32>
    %r = hova.slice %p {axis = 2 : i64, offset = 4 : i64} : tensor<2x9x8xf32> -> tensor<2x9x4xf32>
    hova.yield %r : tensor<2x9x4xf32>
  } : (tensor<2x9x8xf32>, tensor<8x8xf32>) -> tensor<2x9x4xf32>
  return %out : tensor<2x9x4xf32>
}
func.func private @weights() {
  %w = hova.weight "w" : tensor<8x8xf32>
  hova.store_weight "w", %w : tensor<8x8xf32>
  return
}

// -----

// CHECK-LABEL: hova.kernel "copies_rows"
// CHECK-SAME: grain = 2048, k_block
// CHECK: hova.stage
// CHECK-NEXT: hova.slice
func.func @main(%x: tensor<2x9x8xf32>) -> tensor<2x4x8xf32> {
  %out = hova.kernel "copies_rows" (%x) {
  ^bb0(%a: tensor<2x9x8xf32>):
    %r = hova.slice %a {axis = 1 : i64, offset = 4 : i64} : tensor<2x9x8xf32> -> tensor<2x4x8xf32>
    hova.yield %r : tensor<2x4x8xf32>
  } : (tensor<2x9x8xf32>) -> tensor<2x4x8xf32>
  return %out : tensor<2x4x8xf32>
}

// -----

// CHECK-LABEL: hova.kernel "divides_heads_of_attention"
// CHECK-SAME: schedule = #hova_cpu.schedule<tile = 14x32, lanes = 64, grain = 1>
// CHECK: hova.stage
// CHECK-NEXT: hova.attention
// CHECK: hova.yield
func.func @main(%x: tensor<2x9x8xf32>) -> tensor<2x9x8xf32> {
  %out = hova.kernel "divides_heads_of_attention" (%x) {
  ^bb0(%a: tensor<2x9x8xf32>):
    %r = hova.attention %a, %a, %a
        {heads = 2 : i64}
        : (tensor<2x9x8xf32>, tensor<2x9x8xf32>, tensor<2x9x8xf32>) -> tensor<2x9x8xf32> scores {
    ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
      %all = arith.constant true
      hova.score_yield %raw kept %all
    }
    hova.yield %r : tensor<2x9x8xf32>
  } : (tensor<2x9x8xf32>) -> tensor<2x9x8xf32>
  return %out : tensor<2x9x8xf32>
}

// -----

// CHECK-LABEL: hova.kernel "takes_chunks_of_100_rows"
// CHECK-SAME: grain = 48, k_block
func.func @main(%x: tensor<1x100x8xf32>) -> tensor<1x100x8xf32> {
  %w = hova.image_weight "w" : tensor<8x8xf32>
  %out = hova.kernel "takes_chunks_of_100_rows" (%x, %w) {
  ^bb0(%a: tensor<1x100x8xf32>, %w_: tensor<8x8xf32>):
    %r = hova.linear %a, %w_ : tensor<1x100x8xf32>, tensor<8x8xf32> -> tensor<1x100x8xf32>
    hova.yield %r : tensor<1x100x8xf32>
  } : (tensor<1x100x8xf32>, tensor<8x8xf32>) -> tensor<1x100x8xf32>
  return %out : tensor<1x100x8xf32>
}
func.func private @weights() {
  %w = hova.weight "w" : tensor<8x8xf32>
  hova.store_weight "w", %w : tensor<8x8xf32>
  return
}

// -----

// CHECK-LABEL: hova.kernel "takes_chunks_of_96_rows"
// CHECK-SAME: grain = 48, k_block
func.func @main(%x: tensor<1x96x8xf32>) -> tensor<1x96x8xf32> {
  %w = hova.image_weight "w" : tensor<8x8xf32>
  %out = hova.kernel "takes_chunks_of_96_rows" (%x, %w) {
  ^bb0(%a: tensor<1x96x8xf32>, %w_: tensor<8x8xf32>):
    %r = hova.linear %a, %w_ : tensor<1x96x8xf32>, tensor<8x8xf32> -> tensor<1x96x8xf32>
    hova.yield %r : tensor<1x96x8xf32>
  } : (tensor<1x96x8xf32>, tensor<8x8xf32>) -> tensor<1x96x8xf32>
  return %out : tensor<1x96x8xf32>
}
func.func private @weights() {
  %w = hova.weight "w" : tensor<8x8xf32>
  hova.store_weight "w", %w : tensor<8x8xf32>
  return
}

// -----

// CHECK-LABEL: hova.kernel "takes_chunks_of_95_rows"
// CHECK-SAME: grain = 6, k_block
func.func @main(%x: tensor<1x95x8xf32>) -> tensor<1x95x8xf32> {
  %w = hova.image_weight "w" : tensor<8x8xf32>
  %out = hova.kernel "takes_chunks_of_95_rows" (%x, %w) {
  ^bb0(%a: tensor<1x95x8xf32>, %w_: tensor<8x8xf32>):
    %r = hova.linear %a, %w_ : tensor<1x95x8xf32>, tensor<8x8xf32> -> tensor<1x95x8xf32>
    hova.yield %r : tensor<1x95x8xf32>
  } : (tensor<1x95x8xf32>, tensor<8x8xf32>) -> tensor<1x95x8xf32>
  return %out : tensor<1x95x8xf32>
}
func.func private @weights() {
  %w = hova.weight "w" : tensor<8x8xf32>
  hova.store_weight "w", %w : tensor<8x8xf32>
  return
}

// -----

// CHECK-LABEL: hova.kernel "takes_chunks_of_12_rows"
// CHECK-SAME: grain = 6, k_block
func.func @main(%x: tensor<1x12x8xf32>) -> tensor<1x12x8xf32> {
  %w = hova.image_weight "w" : tensor<8x8xf32>
  %out = hova.kernel "takes_chunks_of_12_rows" (%x, %w) {
  ^bb0(%a: tensor<1x12x8xf32>, %w_: tensor<8x8xf32>):
    %r = hova.linear %a, %w_ : tensor<1x12x8xf32>, tensor<8x8xf32> -> tensor<1x12x8xf32>
    hova.yield %r : tensor<1x12x8xf32>
  } : (tensor<1x12x8xf32>, tensor<8x8xf32>) -> tensor<1x12x8xf32>
  return %out : tensor<1x12x8xf32>
}
func.func private @weights() {
  %w = hova.weight "w" : tensor<8x8xf32>
  hova.store_weight "w", %w : tensor<8x8xf32>
  return
}

// -----

// CHECK-LABEL: hova.kernel "takes_chunks_of_11_rows"
// CHECK-SAME: grain = 3, k_block
func.func @main(%x: tensor<1x11x8xf32>) -> tensor<1x11x8xf32> {
  %w = hova.image_weight "w" : tensor<8x8xf32>
  %out = hova.kernel "takes_chunks_of_11_rows" (%x, %w) {
  ^bb0(%a: tensor<1x11x8xf32>, %w_: tensor<8x8xf32>):
    %r = hova.linear %a, %w_ : tensor<1x11x8xf32>, tensor<8x8xf32> -> tensor<1x11x8xf32>
    hova.yield %r : tensor<1x11x8xf32>
  } : (tensor<1x11x8xf32>, tensor<8x8xf32>) -> tensor<1x11x8xf32>
  return %out : tensor<1x11x8xf32>
}
func.func private @weights() {
  %w = hova.weight "w" : tensor<8x8xf32>
  hova.store_weight "w", %w : tensor<8x8xf32>
  return
}

// -----

// What nobody reads is a stage all the same, which can be read again.
// CHECK-LABEL: hova.kernel "computes_what_nobody_reads"
// CHECK: hova.stage [] {
// CHECK: hova.stage [#hova.layout<rows 8>] {
func.func @main(%x: tensor<2x9x8xf32>) -> tensor<2x9x8xf32> {
  %out = hova.kernel "computes_what_nobody_reads" (%x) {
  ^bb0(%a: tensor<2x9x8xf32>):
    %p = hova.activation tanh %a : tensor<2x9x8xf32>
    %r = hova.activation relu %a : tensor<2x9x8xf32>
    hova.yield %r : tensor<2x9x8xf32>
  } : (tensor<2x9x8xf32>) -> tensor<2x9x8xf32>
  return %out : tensor<2x9x8xf32>
}
