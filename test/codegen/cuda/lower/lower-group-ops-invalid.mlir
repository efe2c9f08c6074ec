// RUN: hova-opt %s --hova-lower-group-ops --split-input-file --verify-diagnostics
// SPDX-License-Identifier: Apache-2.0

// expected-error@+1 {{'func.func' op expects matrices and then coordinates of type index, got an argument 'f32'}}
func.func @argument(%x: f32) {
  return
}

// -----

// expected-error@+1 {{'func.func' op expects arguments that begin at their address, without an offset, got 'memref<8x64xf32, strided<[64, 1], offset: 64>>'}}
func.func @offset(%m: memref<8x64xf32, strided<[64, 1], offset: 64>>) {
  return
}

// -----

// expected-error@+1 {{'func.func' op expects at most three coordinates, or two or three numbers after them, one block and no result}}
func.func @coordinates(%a: index, %b: index, %c: index, %d: index) {
  return
}

// -----

func.func @rows_of_nowhere(%m: memref<?x256xf32>, %i: index) {
  // expected-error@+1 {{'hova.group_load' op expects rows of which there are not always as many to be the first ones of a matrix, got 'memref<?x256xf32>'}}
  %t = hova.group_load %m[%i, %i] : memref<?x256xf32> -> !hova.tile<64x64xf32, product 2x2>
  return
}

// -----

// expected-error@+1 {{'func.func' op expects tiles of 1 to 32 members}}
func.func @no_tile(%a: index) {
  return
}

// -----

func.func @two_groups(%m: memref<128x256xf32>, %i: index) {
  %t = hova.group_load %m[%i, %i] : memref<128x256xf32> -> !hova.tile<64x64xf32, product 2x2>
  // expected-error@+1 {{'hova.group_load' op expects tiles of one group, of 4 members, got }}
  %u = hova.group_load %m[%i, %i] : memref<128x256xf32> -> !hova.tile<64x64xf32, product 2x1>
  return
}

// -----

func.func @half_blocks(%m: memref<128x256xf32>, %i: index) {
  // expected-error@+1 {{'hova.group_load' op expects a member to have multiples of 16 rows and columns of }}
  %t = hova.group_load %m[%i, %i] : memref<128x256xf32> -> !hova.tile<64x24xf32, product 2x1>
  return
}

// -----

func.func @half_runs(%m: memref<128x256xf32>, %i: index) {
  // expected-error@+1 {{'hova.group_load' op expects the columns of a member of '!hova.tile<4x80xf32, row 4x1>' to be a multiple of 32}}
  %t = hova.group_load %m[%i, %i] : memref<128x256xf32> -> !hova.tile<4x80xf32, row 4x1>
  return
}

// -----

func.func @box_of_48_columns(%i: index) {
  // expected-error@+1 {{'hova.group_alloc' op expects boxes of 16 or 32 bits an element, of a multiple of 16 rows and of 32 or a multiple of 64 columns, got }}
  %s = hova.group_alloc : !hova.slots<1x64x48xbf16>
  return
}

// -----

// expected-error@+1 {{'func.func' op needs 196608 bytes of group memory, of which there are 166912}}
func.func @memory() {
  %f = arith.constant 0.0 : f32
  %z = hova.group_map () : () -> !hova.tile<64x64xf32, product 4x1> {
  ^bb0(%p: index, %q: index):
    hova.group_yield %f : f32
  }
  %s = hova.group_alloc : !hova.slots<12x128x64xbf16>
  return
}

// -----

func.func @never_waited(%m: memref<128x256xbf16>, %i: index) {
  %column = arith.constant 64 : index
  %f = arith.constant 0.0 : f32
  %z = hova.group_map () : () -> !hova.tile<64x64xf32, product 4x1> {
  ^bb0(%p: index, %q: index):
    hova.group_yield %f : f32
  }
  %s = hova.group_alloc : !hova.slots<2x64x64xbf16>
  // expected-error@+1 {{'hova.group_copy' op is never waited for at the end of the function}}
  %t = hova.group_copy %m[%i, %column] to %s[%i] : memref<128x256xbf16> to !hova.slots<2x64x64xbf16>
  return
}

// -----

func.func @waits_twice(%m: memref<128x256xbf16>, %i: index) {
  %column = arith.constant 64 : index
  %f = arith.constant 0.0 : f32
  %z = hova.group_map () : () -> !hova.tile<64x64xf32, product 4x1> {
  ^bb0(%p: index, %q: index):
    hova.group_yield %f : f32
  }
  %s = hova.group_alloc : !hova.slots<2x64x64xbf16>
  %t = hova.group_copy %m[%i, %column] to %s[%i] : memref<128x256xbf16> to !hova.slots<2x64x64xbf16>
  hova.group_wait %t
  // expected-error@+1 {{'hova.group_wait' op waits for a copy that is not under way}}
  hova.group_wait %t
  return
}

// -----

func.func @passes_over(%m: memref<128x256xbf16>, %i: index) {
  %column = arith.constant 64 : index
  %f = arith.constant 0.0 : f32
  %z = hova.group_map () : () -> !hova.tile<64x64xf32, product 4x1> {
  ^bb0(%p: index, %q: index):
    hova.group_yield %f : f32
  }
  %s = hova.group_alloc : !hova.slots<2x64x64xbf16>
  %t = hova.group_copy %m[%i, %column] to %s[%i] : memref<128x256xbf16> to !hova.slots<2x64x64xbf16>
  %u = hova.group_copy %m[%i, %column] to %s[%i] : memref<128x256xbf16> to !hova.slots<2x64x64xbf16>
  // expected-error@+1 {{'hova.group_wait' op passes over a copy that began earlier and is under way}}
  hova.group_wait %u
  return
}

// -----

func.func @not_carried(%m: memref<128x256xbf16>, %i: index) {
  %column = arith.constant 64 : index
  %f = arith.constant 0.0 : f32
  %z = hova.group_map () : () -> !hova.tile<64x64xf32, product 4x1> {
  ^bb0(%p: index, %q: index):
    hova.group_yield %f : f32
  }
  %s = hova.group_alloc : !hova.slots<2x64x64xbf16>
  %t = hova.group_copy %m[%i, %column] to %s[%i] : memref<128x256xbf16> to !hova.slots<2x64x64xbf16>
  // A loop without copies and waits passes them by.
  scf.for %k = %i to %i step %i {
  }
  // expected-error@+1 {{'scf.for' op does not carry a copy that is under way}}
  scf.for %k = %i to %i step %i {
    hova.group_wait
  }
  hova.group_wait %t
  return
}

// -----

func.func @not_yielded(%m: memref<128x256xbf16>, %i: index) {
  %column = arith.constant 64 : index
  %f = arith.constant 0.0 : f32
  %z = hova.group_map () : () -> !hova.tile<64x64xf32, product 4x1> {
  ^bb0(%p: index, %q: index):
    hova.group_yield %f : f32
  }
  %s = hova.group_alloc : !hova.slots<2x64x64xbf16>
  %t = hova.group_copy %m[%i, %column] to %s[%i] : memref<128x256xbf16> to !hova.slots<2x64x64xbf16>
  // expected-error@+1 {{'scf.for' op does not yield a copy that is under way}}
  %r = scf.for %k = %i to %i step %i iter_args(%u = %t) -> (!hova.copy_token) {
    hova.group_wait %u
    %v = hova.group_copy %m[%i, %column] to %s[%i] : memref<128x256xbf16> to !hova.slots<2x64x64xbf16>
    scf.yield %u : !hova.copy_token
  }
  hova.group_wait %r
  return
}

// -----

func.func @other_order(%m: memref<128x256xbf16>, %i: index) {
  %column = arith.constant 64 : index
  %f = arith.constant 0.0 : f32
  %z = hova.group_map () : () -> !hova.tile<64x64xf32, product 4x1> {
  ^bb0(%p: index, %q: index):
    hova.group_yield %f : f32
  }
  %s = hova.group_alloc : !hova.slots<2x64x64xbf16>
  %t = hova.group_copy %m[%i, %column] to %s[%i] : memref<128x256xbf16> to !hova.slots<2x64x64xbf16>
  %t2 = hova.group_copy %m[%i, %column] to %s[%i] : memref<128x256xbf16> to !hova.slots<2x64x64xbf16>
  // expected-error@+1 {{'scf.for' op yields other copies, or in another order, than it takes them}}
  %r:2 = scf.for %k = %i to %i step %i iter_args(%u = %t, %w = %t2) -> (!hova.copy_token, !hova.copy_token) {
    scf.yield %w, %u : !hova.copy_token, !hova.copy_token
  }
  hova.group_wait %r#0, %r#1
  return
}

// -----

func.func @few_threads(%m: memref<128x251xf32>, %i: index) {
  %f = arith.constant 0.0 : f32
  %z = hova.group_map () : () -> !hova.tile<16x64xf32, product 1x1> {
  ^bb0(%p: index, %q: index):
    hova.group_yield %f : f32
  }
  %s = hova.group_alloc : !hova.slots<2x64x64xf32>
  // expected-error@+1 {{'hova.group_copy' op expects a thread for each of the 64 pieces of a row of slots that are copied at once, of 4 bytes, got 32 threads}}
  %t = hova.group_copy %m[%i, %i] to %s[%i] : memref<128x251xf32> to !hova.slots<2x64x64xf32>
  return
}

// -----

func.func @large_matrix(%m: memref<1048577x1024xbf16>, %i: index) {
  %column = arith.constant 64 : index
  %f = arith.constant 0.0 : f32
  %z = hova.group_map () : () -> !hova.tile<64x64xf32, product 4x1> {
  ^bb0(%p: index, %q: index):
    hova.group_yield %f : f32
  }
  %s = hova.group_alloc : !hova.slots<2x64x64xbf16>
  // expected-error@+1 {{'hova.group_copy' op expects matrices of at most 2 GiB, since offsets have 32 bits, got }}
  %t = hova.group_copy %m[%i, %column] to %s[%i] : memref<1048577x1024xbf16> to !hova.slots<2x64x64xbf16>
  return
}

// -----

func.func @foreign_slots(%m: memref<128x256xbf16>, %i: index) {
  %column = arith.constant 64 : index
  %f = arith.constant 0.0 : f32
  %z = hova.group_map () : () -> !hova.tile<64x64xf32, product 4x1> {
  ^bb0(%p: index, %q: index):
    hova.group_yield %f : f32
  }
  %s = hova.group_alloc : !hova.slots<2x64x64xbf16>
  %x = arith.constant true
  %y = builtin.unrealized_conversion_cast %x : i1 to !hova.slots<2x64x64xbf16>
  // expected-error@+1 {{'hova.group_copy' op expects slots of this function}}
  %t = hova.group_copy %m[%i, %column] to %y[%i] : memref<128x256xbf16> to !hova.slots<2x64x64xbf16>
  return
}

// -----

func.func @box_as_row(%i: index) {
  %s = hova.group_alloc : !hova.slots<1x64x64xbf16>
  // expected-error@+1 {{'hova.group_load' op expects a tile as a product leaves it, whose rows alone are divided, and slots of this function}}
  %t = hova.group_load %s[%i] : !hova.slots<1x64x64xbf16> -> !hova.tile<64x64xbf16, row 4x1>
  return
}

// -----

func.func @divided_columns(%i: index) {
  %f = arith.constant 0.0 : f32
  %z = hova.group_map () : () -> !hova.tile<64x64xf32, product 2x2> {
  ^bb0(%p: index, %q: index):
    hova.group_yield %f : f32
  }
  %s = hova.group_alloc : !hova.slots<1x64x64xbf16>
  // expected-error@+1 {{'hova.group_product' op expects rhs to be transposed where columns are divided over members}}
  %t = hova.group_product %s[%i], %s[%i], %z : !hova.slots<1x64x64xbf16>, !hova.slots<1x64x64xbf16>, !hova.tile<64x64xf32, product 2x2>
  return
}

// -----

func.func @reduces_divided_columns(%i: index) {
  %f = arith.constant 0.0 : f32
  %z = hova.group_map () : () -> !hova.tile<64x64xf32, product 2x2> {
  ^bb0(%p: index, %q: index):
    hova.group_yield %f : f32
  }
  // expected-error@+1 {{'hova.group_reduce' op expects columns that are not divided over members}}
  %t = hova.group_reduce add %z : !hova.tile<64x64xf32, product 2x2> -> !hova.tile<64x1xf32, product 2x2>
  return
}

// -----

func.func @reduces_bf16(%m: memref<128x256xbf16>, %i: index) {
  %z = hova.group_load %m[%i, %i] : memref<128x256xbf16> -> !hova.tile<4x256xbf16, row 4x1>
  // expected-error@+1 {{'hova.group_reduce' op expects rows of 16 bits as a product leaves them, and a result that lies so, too}}
  %t = hova.group_reduce add %z : !hova.tile<4x256xbf16, row 4x1> -> !hova.tile<4x1xf32, row 4x1>
  return
}

// -----

func.func @other_memory(%m: memref<128x256xf32>, %i: index) {
  %f = arith.constant 0.0 : f32
  %z = hova.group_map () : () -> !hova.tile<64x64xf32, product 4x1> {
  ^bb0(%p: index, %q: index):
    hova.group_yield %f : f32
  }
  // expected-error@+1 {{'memref.store' op has no lowering to threads}}
  memref.store %f, %m[%i, %i] : memref<128x256xf32>
  return
}

// -----

func.func @element_of_three_dimensions(%m: memref<128x256xf32>, %x: memref<2x3x4xi32>, %i: index) {
  %t = hova.group_load %m[%i, %i] : memref<128x256xf32> -> !hova.tile<64x64xf32, product 4x1>
  // expected-error@+1 {{'memref.load' op expects a matrix with static strides, got 'memref<2x3x4xi32>'}}
  %e = memref.load %x[%i, %i, %i] : memref<2x3x4xi32>
  return
}

// -----

func.func @memory_in_a_map(%m: memref<128x256xf32>, %i: index) {
  %z = hova.group_map () : () -> !hova.tile<64x64xf32, product 4x1> {
  ^bb0(%p: index, %q: index):
    // expected-error@+1 {{'memref.load' op has no lowering to threads inside 'hova.group_map'}}
    %t = memref.load %m[%p, %q] : memref<128x256xf32>
    hova.group_yield %t : f32
  }
  return
}

// -----

func.func @dynamic_strides(%m: memref<?x128x256xf32, strided<[?, 256, 1]>>, %i: index) {
  %f = arith.constant 0.0 : f32
  %z = hova.group_map () : () -> !hova.tile<64x64xf32, product 4x1> {
  ^bb0(%p: index, %q: index):
    hova.group_yield %f : f32
  }
  // expected-error@+1 {{'memref.subview' op expects a source with static strides, got }}
  %v = memref.subview %m[%i, 0, 0] [1, 128, 256] [1, 1, 1] : memref<?x128x256xf32, strided<[?, 256, 1]>> to memref<128x256xf32, strided<[256, 1], offset: ?>>
  return
}

// -----

func.func @memory_in_a_gather(%m: memref<128x256xf32>, %n: memref<8xindex>) {
  %t = hova.group_gather %m : memref<128x256xf32> -> !hova.tile<64x64xf32, product 4x1> {
  ^bb0(%p: index, %q: index):
    // expected-error@+1 {{'memref.load' op has no lowering to threads inside 'hova.group_gather'}}
    %i = memref.load %n[%p] : memref<8xindex>
    hova.group_yield %i, %q : index, index
  }
  return
}

// -----

func.func @vectors_in_a_map(%m: memref<128x256xf32>, %i: index) {
  %z = hova.group_map () : () -> !hova.tile<64x64xf32, product 4x1> {
  ^bb0(%p: index, %q: index):
    // expected-error@+1 {{'arith.constant' op has no lowering to threads inside 'hova.group_map', which takes element-wise operations on scalars and on vectors of one element}}
    %v = arith.constant dense<1.0> : vector<1x2xf32>
    %t = vector.extract %v[0, 0] : f32 from vector<1x2xf32>
    hova.group_yield %t : f32
  }
  return
}

// -----

func.func @a_sum_in_a_map(%m: memref<128x256xf32>, %i: index) {
  %z = hova.group_map () : () -> !hova.tile<64x64xf32, product 4x1> {
  ^bb0(%p: index, %q: index):
    %v = arith.constant dense<1.0> : vector<1xf32>
    // expected-error@+1 {{'vector.reduction' op has no lowering to threads inside 'hova.group_map'}}
    %t = vector.reduction <add>, %v : vector<1xf32> into f32
    hova.group_yield %t : f32
  }
  return
}

// -----

func.func @other_views(%m: memref<8x16x64xf32>) {
  %z = hova.group_map () : () -> !hova.tile<64x64xf32, product 4x1> {
  ^bb0(%p: index, %q: index):
    %t = arith.constant 1.0 : f32
    hova.group_yield %t : f32
  }
  // expected-error@+1 {{'memref.collapse_shape' op has no lowering to threads}}
  %v = memref.collapse_shape %m [[0, 1], [2]] : memref<8x16x64xf32> into memref<128x64xf32>
  return
}

// -----

func.func @column_of_16_bits(%m: memref<64x1xbf16>, %i: index) {
  %t = hova.group_load %m[%i, %i] : memref<64x1xbf16> -> !hova.tile<64x1xbf16, product 4x1>
  // expected-error@+1 {{'hova.group_transpose' op expects elements of f32, got 'bf16'}}
  %r = hova.group_transpose %t : !hova.tile<64x1xbf16, product 4x1> -> !hova.tile<1x64xbf16, product 4x1>
  return
}
