// RUN: hova-opt %s --split-input-file --verify-diagnostics
// SPDX-License-Identifier: Apache-2.0

func.func @group_where_c1_a_column(%c: !hova.tile<64x32xf32, product 4x1>, %k: !hova.tile<64x1xf32, partial 4x1>) {
  // expected-error@+1 {{'hova.group_where' op expects a column of f32 as a product leaves it, got '!hova.tile<64x32xf32, product 4x1>'}}
  %r = hova.group_where %c : !hova.tile<64x32xf32, product 4x1> -> !hova.tile<64x1xf32, partial 4x1> {
    hova.group_yield %k : !hova.tile<64x1xf32, partial 4x1>
  }
  return
}

// -----

func.func @group_where_c1_as_a_product_leaves_it(%c: !hova.tile<64x1xf32, row 4x1>, %k: !hova.tile<64x1xf32, partial 4x1>) {
  // expected-error@+1 {{'hova.group_where' op expects a column of f32 as a product leaves it, got '!hova.tile<64x1xf32, row 4x1>'}}
  %r = hova.group_where %c : !hova.tile<64x1xf32, row 4x1> -> !hova.tile<64x1xf32, partial 4x1> {
    hova.group_yield %k : !hova.tile<64x1xf32, partial 4x1>
  }
  return
}

// -----

func.func @group_where_c2_rows_of_the_condition(%c: !hova.tile<64x1xf32, product 4x1>, %k: !hova.tile<32x1xf32, partial 4x1>) {
  // expected-error@+1 {{'hova.group_where' op expects a partial column of f32 of the condition's rows and members, got '!hova.tile<32x1xf32, partial 4x1>'}}
  %r = hova.group_where %c : !hova.tile<64x1xf32, product 4x1> -> !hova.tile<32x1xf32, partial 4x1> {
    hova.group_yield %k : !hova.tile<32x1xf32, partial 4x1>
  }
  return
}

// -----

func.func @group_where_c2_body_yields_the_result(%c: !hova.tile<64x1xf32, product 4x1>) {
  // expected-error@+1 {{'hova.group_where' op expects a body that yields '!hova.tile<64x1xf32, partial 4x1>'}}
  %r = hova.group_where %c : !hova.tile<64x1xf32, product 4x1> -> !hova.tile<64x1xf32, partial 4x1> {
    hova.group_yield %c : !hova.tile<64x1xf32, product 4x1>
  }
  return
}

// -----

func.func @group_where_c3_no_threads_meet(%c: !hova.tile<64x1xf32, product 4x1>, %k: !hova.tile<64x1xf32, partial 4x1>) {
  %r = hova.group_where %c : !hova.tile<64x1xf32, product 4x1> -> !hova.tile<64x1xf32, partial 4x1> {
    // expected-error@+1 {{'hova.group_reduce' op needs threads that 'hova.group_where' leaves out}}
    %s = hova.group_reduce max %k : !hova.tile<64x1xf32, partial 4x1> -> !hova.tile<64x1xf32, product 4x1>
    hova.group_yield %k : !hova.tile<64x1xf32, partial 4x1>
  }
  return
}

// -----

func.func @group_where_c3_no_copies_in_loops(%c: !hova.tile<64x1xf32, product 4x1>, %k: !hova.tile<64x1xf32, partial 4x1>,
                                             %m: memref<64x64xf32>, %s: !hova.slots<1x64x64xf32>, %i: index) {
  %r = hova.group_where %c : !hova.tile<64x1xf32, product 4x1> -> !hova.tile<64x1xf32, partial 4x1> {
    scf.for %j = %i to %i step %i {
      // expected-error@+1 {{'hova.group_copy' op needs threads that 'hova.group_where' leaves out}}
      %t = hova.group_copy %m[%i, %i] to %s[%i] : memref<64x64xf32> to !hova.slots<1x64x64xf32>
    }
    hova.group_yield %k : !hova.tile<64x1xf32, partial 4x1>
  }
  return
}

// -----

func.func @group_gather_promises_rows_and_columns(%m: memref<64x128xf32>) {
  // expected-error@+1 {{'hova.group_gather' op expects in_bounds of rows and of columns, got 1}}
  %t = hova.group_gather %m {in_bounds = array<i1: true>} : memref<64x128xf32> -> !hova.tile<64x128xf32, product 2x2> {
  ^bb0(%i: index, %j: index):
    hova.group_yield %i, %j : index, index
  }
  return
}

// -----

func.func @group_gather_c2_a_matrix_has_no_slot(%m: memref<64x64xf32>, %s: index) {
  // expected-error@+1 {{'hova.group_gather' op expects no slot of a matrix}}
  %t = hova.group_gather %m[%s] : memref<64x64xf32> -> !hova.tile<64x64xf32, product 2x2> {
  ^bb0(%i: index, %j: index):
    hova.group_yield %i, %j : index, index
  }
  return
}

// -----

func.func @group_gather_c1_elements_of_a_box_agree(%b: !hova.slots<2x64x64xbf16>, %s: index) {
  // expected-error@+1 {{'hova.group_gather' op expects source to have elements of 'f32', got }}
  %t = hova.group_gather %b[%s] : !hova.slots<2x64x64xbf16> -> !hova.tile<64x64xf32, product 2x2> {
  ^bb0(%i: index, %j: index):
    hova.group_yield %i, %j : index, index
  }
  return
}
