// Loops of operations that move rows.

// RUN: hova-opt %s --split-input-file --hova-tile-cpu-kernels --canonicalize --cse | FileCheck %s
// RUN: hova-opt %s --split-input-file --hova-tile-cpu-kernels --hova-tile-cpu-kernels --canonicalize --cse | FileCheck %s

// CHECK-LABEL: func.func private @kernel_gathers_rows_of_a_table(
// CHECK-SAME: %[[IDS:.*]]: memref<2x3xi32> {llvm.noalias}, %[[TABLE:.*]]: memref<100x40xf32> {llvm.noalias}, %[[Y:.*]]: memref<6x40xf32> {llvm.noalias}, %{{.*}}: memref<64xi8>
// CHECK: %[[BATCH:.*]] = arith.divui %[[ROW:.*]], %c3
// CHECK: %[[TOKEN:.*]] = arith.remui %[[ROW]], %c3
// CHECK: %[[ID:.*]] = memref.load %[[IDS]][%[[BATCH]], %[[TOKEN]]]
// CHECK: %[[INDEX:.*]] = arith.index_cast %[[ID]]
// CHECK-NOT: memref.prefetch
// CHECK: vector.load %[[TABLE]][%[[INDEX]], %c0] : {{.*}}, vector<32xf32>
// CHECK: hova_cpu.tile_store %{{.*}}, %[[Y]][%[[ROW]], %c0]
// CHECK: vector.load %[[TABLE]][%[[INDEX]], %c32] : {{.*}}, vector<8xf32>
// CHECK: hova_cpu.tile_store %{{.*}}, %[[Y]][%[[ROW]], %c32]
func.func @main(%x: tensor<2x3xi32>) -> tensor<2x3x40xf32> {
  %t = hova.image_weight "t" : tensor<100x40xf32>
  %out = hova.kernel "gathers_rows_of_a_table" units<batch 2, token 3> (%x, %t) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%x_: tensor<2x3xi32>, %t_: tensor<100x40xf32>):
    %r_out = hova.stage [#hova.layout<rows 40>] {
      %r = hova.embedding %x_, %t_ : tensor<2x3xi32>, tensor<100x40xf32> -> tensor<2x3x40xf32>
      hova.yield %r : tensor<2x3x40xf32>
    } : tensor<2x3x40xf32>
    hova.yield %r_out : tensor<2x3x40xf32>
  } : (tensor<2x3xi32>, tensor<100x40xf32>) -> tensor<2x3x40xf32>
  return %out : tensor<2x3x40xf32>
}
func.func private @weights() {
  %t = hova.weight "t" : tensor<100x40xf32>
  hova.store_weight "t", %t : tensor<100x40xf32>
  return
}

// -----

// Rows of a table larger than the caches: the fourth token from here, at most the last,
// line by line.
// CHECK-LABEL: func.func private @kernel_prefetches_rows(
// CHECK-SAME: %[[IDS:.*]]: memref<1x8xi32> {llvm.noalias}, %[[TABLE:.*]]: memref<28000x40xbf16> {llvm.noalias}, %{{.*}}: index, %[[END:.*]]: index)
// CHECK: scf.for %[[ROW:.*]] = %{{.*}} to %[[END]]
// CHECK: %[[FOURTH:.*]] = arith.addi %[[ROW]], %c4
// CHECK: %[[LAST:.*]] = arith.subi %[[END]], %c1
// CHECK: %[[PREFETCH:.*]] = arith.minui %[[FOURTH]], %[[LAST]]
// CHECK: %[[TOKEN:.*]] = arith.remui %[[PREFETCH]], %c8
// CHECK: %[[LOADED:.*]] = memref.load %[[IDS]][%{{.*}}, %[[TOKEN]]]
// CHECK: %[[ID:.*]] = arith.index_cast %[[LOADED]]
// CHECK: scf.for %[[LINE:.*]] = %c0 to %c40 step %c32
// CHECK: memref.prefetch %[[TABLE]][%[[ID]], %[[LINE]]], read, locality<2>, data
// CHECK: vector.load %[[TABLE]]
func.func @main(%x: tensor<1x8xi32>) -> tensor<1x8x40xf32> {
  %t = hova.image_weight "t" : tensor<28000x40xbf16>
  %out = hova.kernel "prefetches_rows" units<batch 1, token 8> (%x, %t) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%x_: tensor<1x8xi32>, %t_: tensor<28000x40xbf16>):
    %r_out = hova.stage [#hova.layout<rows 40>] {
      %r = hova.embedding %x_, %t_ : tensor<1x8xi32>, tensor<28000x40xbf16> -> tensor<1x8x40xf32>
      hova.yield %r : tensor<1x8x40xf32>
    } : tensor<1x8x40xf32>
    hova.yield %r_out : tensor<1x8x40xf32>
  } : (tensor<1x8xi32>, tensor<28000x40xbf16>) -> tensor<1x8x40xf32>
  return %out : tensor<1x8x40xf32>
}
func.func private @weights() {
  %t = hova.weight "t" : tensor<28000x40xbf16>
  hova.store_weight "t", %t : tensor<28000x40xbf16>
  return
}

// -----

// CHECK-LABEL: func.func private @kernel_writes_which_tokens_are_not_padding(
// CHECK-SAME: %[[IDS:.*]]: memref<2x3xi64> {llvm.noalias}, %[[MASK:.*]]: memref<2x3xi8>
// CHECK: %[[PAD:.*]] = arith.constant 7 : i64
// CHECK: %[[ID:.*]] = memref.load %[[IDS]][%[[ROW:.*]], %[[TOKEN:.*]]]
// CHECK: %[[KEEP:.*]] = arith.cmpi ne, %[[ID]], %[[PAD]]
// CHECK: %[[BYTE:.*]] = arith.extui %[[KEEP]] : i1 to i8
// CHECK: memref.store %[[BYTE]], %[[MASK]][%[[ROW]], %[[TOKEN]]]
func.func @main(%x: tensor<2x3xi64>) -> tensor<2x3xi1> {
  %out = hova.kernel "writes_which_tokens_are_not_padding" units<row 2> (%x) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%x_: tensor<2x3xi64>):
    %r_out = hova.stage [#hova.layout<rows 3>] {
      %r = hova.padding_mask %x_ {pad = 7 : i64} : tensor<2x3xi64> -> tensor<2x3xi1>
      hova.yield %r : tensor<2x3xi1>
    } : tensor<2x3xi1>
    hova.yield %r_out : tensor<2x3xi1>
  } : (tensor<2x3xi64>) -> tensor<2x3xi1>
  return %out : tensor<2x3xi1>
}

// -----

// Six patches of an image of 2 x 3; its rows are lines of a channel.
// CHECK-LABEL: func.func private @kernel_reads_patches_in_place(
// CHECK-SAME: %[[IMAGE:.*]]: memref<48x12xf32> {llvm.noalias}, %[[Y:.*]]: memref<12x48xf32> {llvm.noalias}, %{{.*}}: memref<64xi8>
// CHECK: %[[BATCH:.*]] = arith.divui %[[ROW:.*]], %c6
// CHECK: %[[PATCH:.*]] = arith.remui %[[ROW]], %c6
// CHECK: %[[DOWN:.*]] = arith.divui %[[PATCH]], %c3
// CHECK: %[[TOP:.*]] = arith.muli %[[DOWN]], %c4
// CHECK: %[[ACROSS:.*]] = arith.remui %[[PATCH]], %c3
// CHECK: %[[LEFT:.*]] = arith.muli %[[ACROSS]], %c4
// CHECK: scf.for %[[CHANNEL:.*]] = %c0 to %c3 step %c1
// CHECK: scf.for %[[LINE:.*]] = %c0 to %c4 step %c1
// CHECK: vector.load %[[IMAGE]][%{{.*}}, %[[LEFT]]] : {{.*}}, vector<4xf32>
// CHECK: hova_cpu.tile_store %{{.*}}, %[[Y]][%[[ROW]], %{{.*}}] : vector<1x4xf32>
func.func @main(%x: tensor<2x3x8x12xf32>) -> tensor<2x6x48xf32> {
  %out = hova.kernel "reads_patches_in_place" units<batch 2, token 6> (%x) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%x_: tensor<2x3x8x12xf32>):
    %r_out = hova.stage [#hova.layout<rows 48>] {
      %r = hova.unfold %x_ {kernel = array<i64: 4, 4>, stride = array<i64: 4, 4>} : tensor<2x3x8x12xf32> -> tensor<2x6x48xf32>
      hova.yield %r : tensor<2x6x48xf32>
    } : tensor<2x6x48xf32>
    hova.yield %r_out : tensor<2x6x48xf32>
  } : (tensor<2x3x8x12xf32>) -> tensor<2x6x48xf32>
  return %out : tensor<2x6x48xf32>
}

// -----

// CHECK-LABEL: func.func private @kernel_puts_the_class_token_first(
// CHECK-SAME: %[[X:.*]]: memref<6x8xf32> {llvm.noalias}, %[[TOKEN:.*]]: memref<1x8xf32>
// CHECK: %[[BATCH:.*]] = arith.divui %[[ROW:.*]], %c4
// CHECK: %[[POSITION:.*]] = arith.remui %[[ROW]], %c4
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[POSITION]], %c0
// CHECK: scf.if %[[FIRST]]
// CHECK: vector.load %[[TOKEN]][%c0, %c0]
// CHECK: } else {
// CHECK: %[[BEFORE:.*]] = arith.subi %[[POSITION]], %c1
// CHECK: %[[START:.*]] = arith.muli %[[BATCH]], %c3
// CHECK: %[[SOURCE:.*]] = arith.addi %[[START]], %[[BEFORE]]
// CHECK: vector.load %[[X]][%[[SOURCE]], %c0]
func.func @main(%x: tensor<2x3x8xf32>) -> tensor<2x4x8xf32> {
  %t = hova.image_weight "t" : tensor<8xf32>
  %out = hova.kernel "puts_the_class_token_first" units<batch 2, token 4> (%x, %t) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%x_: tensor<2x3x8xf32>, %t_: tensor<8xf32>):
    %r_out = hova.stage [#hova.layout<rows 8>] {
      %r = hova.class_token %x_, %t_ : tensor<2x3x8xf32>, tensor<8xf32> -> tensor<2x4x8xf32>
      hova.yield %r : tensor<2x4x8xf32>
    } : tensor<2x4x8xf32>
    hova.yield %r_out : tensor<2x4x8xf32>
  } : (tensor<2x3x8xf32>, tensor<8xf32>) -> tensor<2x4x8xf32>
  return %out : tensor<2x4x8xf32>
}
func.func private @weights() {
  %t = hova.weight "t" : tensor<8xf32>
  hova.store_weight "t", %t : tensor<8xf32>
  return
}

// -----

// Both branches of the anchor apply what follows.
// CHECK-LABEL: func.func private @kernel_adds_positions_after_the_class_token(
// CHECK-SAME: %{{.*}}: memref<6x8xf32> {llvm.noalias}, %{{.*}}: memref<1x8xf32> {llvm.noalias}, %[[TABLE:.*]]: memref<4x8xf32> {llvm.noalias}
// CHECK: scf.if
// CHECK: hova_cpu.tile_load %[[TABLE]]
// CHECK: arith.addf
// CHECK: hova_cpu.tile_store
// CHECK: } else {
// CHECK: hova_cpu.tile_load %[[TABLE]]
// CHECK: arith.addf
// CHECK: hova_cpu.tile_store
// CHECK-NOT: hova_cpu.tile_store
func.func @main(%x: tensor<2x3x8xf32>) -> tensor<2x4x8xf32> {
  %t = hova.image_weight "t" : tensor<8xf32>
  %p = hova.image_weight "p" : tensor<4x8xf32>
  %out = hova.kernel "adds_positions_after_the_class_token" units<batch 2, token 4> (%x, %t, %p) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%x_: tensor<2x3x8xf32>, %t_: tensor<8xf32>, %p_: tensor<4x8xf32>):
    %r_out = hova.stage [#hova.layout<rows 8>] {
      %s = hova.class_token %x_, %t_ : tensor<2x3x8xf32>, tensor<8xf32> -> tensor<2x4x8xf32>
      %r = hova.add %s, %p_ : tensor<2x4x8xf32>, tensor<4x8xf32>
      hova.yield %r : tensor<2x4x8xf32>
    } : tensor<2x4x8xf32>
    hova.yield %r_out : tensor<2x4x8xf32>
  } : (tensor<2x3x8xf32>, tensor<8xf32>, tensor<4x8xf32>) -> tensor<2x4x8xf32>
  return %out : tensor<2x4x8xf32>
}
func.func private @weights() {
  %t = hova.weight "t" : tensor<8xf32>
  hova.store_weight "t", %t : tensor<8xf32>
  %p = hova.weight "p" : tensor<4x8xf32>
  hova.store_weight "p", %p : tensor<4x8xf32>
  return
}

// -----

// CHECK-LABEL: func.func private @kernel_pools_the_first_row(
// CHECK-SAME: %[[X:.*]]: memref<6x8xf32>
// CHECK: %[[FIRST:.*]] = arith.muli %[[ROW:.*]], %c3
// CHECK: vector.load %[[X]][%[[FIRST]], %c0]
// CHECK-NOT: vector.load
// CHECK: hova_cpu.tile_store %{{.*}}[%[[ROW]], %c0]
func.func @main(%x: tensor<2x3x8xf32>) -> tensor<2x8xf32> {
  %out = hova.kernel "pools_the_first_row" units<row 2> (%x) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%x_: tensor<2x3x8xf32>):
    %r_out = hova.stage [#hova.layout<rows 8>] {
      %r = hova.pool first %x_ : tensor<2x3x8xf32> -> tensor<2x8xf32>
      hova.yield %r : tensor<2x8xf32>
    } : tensor<2x8xf32>
    hova.yield %r_out : tensor<2x8xf32>
  } : (tensor<2x3x8xf32>) -> tensor<2x8xf32>
  return %out : tensor<2x8xf32>
}

// -----

// CHECK-LABEL: func.func private @kernel_pools_the_mean_of_rows(
// CHECK: %[[THIRD:.*]] = arith.constant dense<0.333333343>
// CHECK: %[[FIRST:.*]] = vector.load
// CHECK: %[[SUM:.*]] = scf.for %{{.*}} = %c1 to %c3 step %c1 iter_args(%{{.*}} = %[[FIRST]])
// CHECK: arith.addf
// CHECK: arith.mulf %[[SUM]], %[[THIRD]]
func.func @main(%x: tensor<2x3x8xf32>) -> tensor<2x8xf32> {
  %out = hova.kernel "pools_the_mean_of_rows" units<row 2> (%x) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%x_: tensor<2x3x8xf32>):
    %r_out = hova.stage [#hova.layout<rows 8>] {
      %r = hova.pool mean %x_ : tensor<2x3x8xf32> -> tensor<2x8xf32>
      hova.yield %r : tensor<2x8xf32>
    } : tensor<2x8xf32>
    hova.yield %r_out : tensor<2x8xf32>
  } : (tensor<2x3x8xf32>) -> tensor<2x8xf32>
  return %out : tensor<2x8xf32>
}

// -----

// CHECK-LABEL: func.func private @kernel_pools_layers_by_their_maximum(
// CHECK: %[[FIRST:.*]] = arith.muli %[[ROW:.*]], %c3
// CHECK: scf.for %[[LAYER:.*]] = %c1 to %c3 step %c1
// CHECK: %[[SOURCE:.*]] = arith.addi %[[FIRST]], %[[LAYER]]
// CHECK: vector.load %{{.*}}[%[[SOURCE]], %c0]
// CHECK: arith.maximumf
func.func @main(%x: tensor<1x9x8xf32>) -> tensor<1x3x8xf32> {
  %out = hova.kernel "pools_layers_by_their_maximum" units<batch 1, token 3> (%x) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%x_: tensor<1x9x8xf32>):
    %r_out = hova.stage [#hova.layout<rows 8>] {
      %r = hova.layer_pool %x_ {layers = 3 : i64} : tensor<1x9x8xf32> -> tensor<1x3x8xf32>
      hova.yield %r : tensor<1x3x8xf32>
    } : tensor<1x3x8xf32>
    hova.yield %r_out : tensor<1x3x8xf32>
  } : (tensor<1x9x8xf32>) -> tensor<1x3x8xf32>
  return %out : tensor<1x3x8xf32>
}

// -----

// CHECK-LABEL: func.func private @kernel_interleaves_states_token_by_token(
// CHECK-SAME: %[[A:.*]]: memref<3x8xf32> {llvm.noalias}, %[[B:.*]]: memref<3x8xf32> {llvm.noalias}, %{{.*}}: memref<6x8xf32>
// CHECK: %[[TOKEN:.*]] = arith.divui %[[ROW:.*]], %c2
// CHECK: %[[STATE:.*]] = arith.remui %[[ROW]], %c2
// CHECK: arith.cmpi eq, %[[STATE]], %c0
// CHECK: vector.load %[[A]][%[[TOKEN]], %c0]
// CHECK: arith.cmpi eq, %[[STATE]], %c1
// CHECK: vector.load %[[B]][%[[TOKEN]], %c0]
func.func @main(%x: tensor<1x3x8xf32>, %y: tensor<1x3x8xf32>) -> tensor<1x6x8xf32> {
  %out = hova.kernel "interleaves_states_token_by_token" units<batch 1, token 6> (%x, %y) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%x_: tensor<1x3x8xf32>, %y_: tensor<1x3x8xf32>):
    %r_out = hova.stage [#hova.layout<rows 8>] {
      %r = hova.index_sort %x_, %y_ : tensor<1x3x8xf32> -> tensor<1x6x8xf32>
      hova.yield %r : tensor<1x6x8xf32>
    } : tensor<1x6x8xf32>
    hova.yield %r_out : tensor<1x6x8xf32>
  } : (tensor<1x3x8xf32>, tensor<1x3x8xf32>) -> tensor<1x6x8xf32>
  return %out : tensor<1x6x8xf32>
}

// -----

// CHECK-LABEL: func.func private @kernel_joins_columns(
// CHECK-SAME: %[[A:.*]]: memref<3x8xf32> {llvm.noalias}, %[[B:.*]]: memref<3x5xf32> {llvm.noalias}, %[[Y:.*]]: memref<3x13xf32> {llvm.noalias}, %{{.*}}: memref<64xi8>
// CHECK: vector.load %[[A]][%[[ROW:.*]], %c0]
// CHECK: hova_cpu.tile_store %{{.*}}, %[[Y]][%[[ROW]], %c0]
// CHECK: vector.maskedload %[[B]][%[[ROW]], %c0]
// CHECK: hova_cpu.tile_store %{{.*}}, %[[Y]][%[[ROW]], %c8] {columns = 5 : i64}
func.func @main(%x: tensor<1x3x8xf32>, %y: tensor<1x3x5xf32>) -> tensor<1x3x13xf32> {
  %out = hova.kernel "joins_columns" units<batch 1, token 3> (%x, %y) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%x_: tensor<1x3x8xf32>, %y_: tensor<1x3x5xf32>):
    %r_out = hova.stage [#hova.layout<rows 13>] {
      %r = hova.concat %x_, %y_ {axis = 2 : i64} : tensor<1x3x8xf32>, tensor<1x3x5xf32> -> tensor<1x3x13xf32>
      hova.yield %r : tensor<1x3x13xf32>
    } : tensor<1x3x13xf32>
    hova.yield %r_out : tensor<1x3x13xf32>
  } : (tensor<1x3x8xf32>, tensor<1x3x5xf32>) -> tensor<1x3x13xf32>
  return %out : tensor<1x3x13xf32>
}

// -----

// CHECK-LABEL: func.func private @kernel_joins_rows(
// CHECK-SAME: %[[A:.*]]: memref<6x8xf32> {llvm.noalias}, %[[B:.*]]: memref<4x8xf32> {llvm.noalias}, %{{.*}}: memref<10x8xf32>
// CHECK: %[[PLACE:.*]] = arith.remui %[[ROW:.*]], %c5
// CHECK: %[[INFIRST:.*]] = arith.cmpi ult, %[[PLACE]], %c3
// CHECK: scf.if %[[INFIRST]]
// CHECK: vector.load %[[A]]
// CHECK: %[[FROMSECOND:.*]] = arith.subi %[[PLACE]], %c3
// CHECK: %[[INSECOND:.*]] = arith.cmpi ult, %[[FROMSECOND]], %c2
// CHECK: scf.if %[[INSECOND]]
// CHECK: %[[BATCH:.*]] = arith.divui %[[ROW]], %c5
// CHECK: %[[START:.*]] = arith.muli %[[BATCH]], %c2
// CHECK: %[[SOURCE:.*]] = arith.addi %[[START]], %[[FROMSECOND]]
// CHECK: vector.load %[[B]][%[[SOURCE]], %c0]
func.func @main(%x: tensor<2x3x8xf32>, %y: tensor<2x2x8xf32>) -> tensor<2x5x8xf32> {
  %out = hova.kernel "joins_rows" units<batch 2, token 5> (%x, %y) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%x_: tensor<2x3x8xf32>, %y_: tensor<2x2x8xf32>):
    %r_out = hova.stage [#hova.layout<rows 8>] {
      %r = hova.concat %x_, %y_ {axis = 1 : i64} : tensor<2x3x8xf32>, tensor<2x2x8xf32> -> tensor<2x5x8xf32>
      hova.yield %r : tensor<2x5x8xf32>
    } : tensor<2x5x8xf32>
    hova.yield %r_out : tensor<2x5x8xf32>
  } : (tensor<2x3x8xf32>, tensor<2x2x8xf32>) -> tensor<2x5x8xf32>
  return %out : tensor<2x5x8xf32>
}

// -----

// CHECK-LABEL: func.func private @kernel_joins_along_the_batch(
// CHECK: %[[BATCH:.*]] = arith.divui %[[ROW:.*]], %c3
// CHECK: %[[FROMTHIRD:.*]] = arith.subi %{{.*}}, %c2
// CHECK: arith.cmpi ult, %[[FROMTHIRD]], %c1
func.func @main(%x: tensor<2x3x8xf32>, %y: tensor<1x3x8xf32>) -> tensor<3x3x8xf32> {
  %out = hova.kernel "joins_along_the_batch" units<batch 3, token 3> (%x, %y) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%x_: tensor<2x3x8xf32>, %y_: tensor<1x3x8xf32>):
    %r_out = hova.stage [#hova.layout<rows 8>] {
      %r = hova.concat %x_, %y_ {axis = 0 : i64} : tensor<2x3x8xf32>, tensor<1x3x8xf32> -> tensor<3x3x8xf32>
      hova.yield %r : tensor<3x3x8xf32>
    } : tensor<3x3x8xf32>
    hova.yield %r_out : tensor<3x3x8xf32>
  } : (tensor<2x3x8xf32>, tensor<1x3x8xf32>) -> tensor<3x3x8xf32>
  return %out : tensor<3x3x8xf32>
}

// -----

// CHECK-LABEL: func.func private @kernel_cuts_columns(
// CHECK: vector.maskedload %{{.*}}[%[[ROW:.*]], %c2]
// CHECK: hova_cpu.tile_store %{{.*}}[%[[ROW]], %c0] {columns = 5 : i64}
func.func @main(%x: tensor<1x3x8xf32>) -> tensor<1x3x5xf32> {
  %out = hova.kernel "cuts_columns" units<batch 1, token 3> (%x) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%x_: tensor<1x3x8xf32>):
    %r_out = hova.stage [#hova.layout<rows 5>] {
      %r = hova.slice %x_ {axis = 2 : i64, offset = 2 : i64} : tensor<1x3x8xf32> -> tensor<1x3x5xf32>
      hova.yield %r : tensor<1x3x5xf32>
    } : tensor<1x3x5xf32>
    hova.yield %r_out : tensor<1x3x5xf32>
  } : (tensor<1x3x8xf32>) -> tensor<1x3x5xf32>
  return %out : tensor<1x3x5xf32>
}

// -----

// CHECK-LABEL: func.func private @kernel_cuts_rows(
// CHECK: %[[PLACE:.*]] = arith.remui %[[ROW:.*]], %c2
// CHECK: %[[MOVED:.*]] = arith.addi %[[PLACE]], %c1
// CHECK: %[[BATCH:.*]] = arith.divui %[[ROW]], %c2
// CHECK: %[[START:.*]] = arith.muli %[[BATCH]], %c3
// CHECK: %[[SOURCE:.*]] = arith.addi %[[START]], %[[MOVED]]
// CHECK: vector.load %{{.*}}[%[[SOURCE]], %c0]
func.func @main(%x: tensor<2x3x8xf32>) -> tensor<2x2x8xf32> {
  %out = hova.kernel "cuts_rows" units<batch 2, token 2> (%x) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%x_: tensor<2x3x8xf32>):
    %r_out = hova.stage [#hova.layout<rows 8>] {
      %r = hova.slice %x_ {axis = 1 : i64, offset = 1 : i64} : tensor<2x3x8xf32> -> tensor<2x2x8xf32>
      hova.yield %r : tensor<2x2x8xf32>
    } : tensor<2x2x8xf32>
    hova.yield %r_out : tensor<2x2x8xf32>
  } : (tensor<2x3x8xf32>) -> tensor<2x2x8xf32>
  return %out : tensor<2x2x8xf32>
}

// -----

// Row r of the result is row r mod 3 of the operand.
// CHECK-LABEL: func.func private @kernel_repeats_rows(
// CHECK-SAME: %[[X:.*]]: memref<3x8xf32> {llvm.noalias}, %[[Y:.*]]: memref<6x8xf32> {llvm.noalias}, %{{.*}}: memref<64xi8>
// CHECK: %[[FROM:.*]] = arith.remui %[[ROW:.*]], %c3
// CHECK: vector.load %[[X]][%[[FROM]], %{{.*}}] : {{.*}}, vector<8xf32>
// CHECK: hova_cpu.tile_store %{{.*}}, %[[Y]][%[[ROW]], %{{.*}}] : vector<1x8xf32>
func.func @main(%x: tensor<3x8xf32>) -> tensor<2x3x8xf32> {
  %out = hova.kernel "repeats_rows" units<batch 2, token 3> (%x) attributes {schedule = #hova_cpu.schedule<tile = 4x16, lanes = 32, grain = 100, k_block = 256, block = 256>} {
  ^bb0(%x_: tensor<3x8xf32>):
    %r_out = hova.stage [#hova.layout<rows 8>] {
      %r = hova.repeat %x_ : tensor<3x8xf32> -> tensor<2x3x8xf32>
      hova.yield %r : tensor<2x3x8xf32>
    } : tensor<2x3x8xf32>
    hova.yield %r_out : tensor<2x3x8xf32>
  } : (tensor<3x8xf32>) -> tensor<2x3x8xf32>
  return %out : tensor<2x3x8xf32>
}
