// RUN: hova-opt %s --split-input-file --verify-diagnostics
// SPDX-License-Identifier: Apache-2.0

func.func @begin_product_c1_lhs_slot(%x: !hova.tile<64x64xbf16, product 4x1>, %w: !hova.slots<1x64x64xbf16>, %i: index,
                                     %s: !hova.tile<64x64xf32, product 4x1>) {
  // expected-error@+1 {{expects a slot index for a lhs of slots alone}}
  %u = hova_cuda.begin_product %x[%i], %w[%i], %s
      : !hova.tile<64x64xbf16, product 4x1>, !hova.slots<1x64x64xbf16>, !hova.tile<64x64xf32, product 4x1>
  return
}

// -----

func.func @begin_product_c2_extents(%x: !hova.slots<1x64x64xbf16>, %w: !hova.slots<1x64x32xbf16>, %i: index,
                                    %s: !hova.tile<64x64xf32, product 4x1>) {
  // expected-error@+1 {{expects 64x64 times 64x64, got 64x64 times 64x32}}
  %u = hova_cuda.begin_product %x[%i], %w[%i], %s
      : !hova.slots<1x64x64xbf16>, !hova.slots<1x64x32xbf16>, !hova.tile<64x64xf32, product 4x1>
  return
}

// -----

func.func @begin_product_c3_elements(%x: !hova.slots<1x64x64xf32>, %w: !hova.slots<1x64x64xf32>, %i: index,
                                     %s: !hova.tile<64x64xf32, product 4x1>) {
  // expected-error@+1 {{expects bf16 or f16 of lhs and rhs, and f32 of sum, got 'f32', 'f32' and 'f32'}}
  %u = hova_cuda.begin_product %x[%i], %w[%i], %s
      : !hova.slots<1x64x64xf32>, !hova.slots<1x64x64xf32>, !hova.tile<64x64xf32, product 4x1>
  return
}

// -----

func.func @begin_product_c4_members(%x: !hova.slots<1x64x64xbf16>, %w: !hova.slots<1x64x64xbf16>, %i: index,
                                    %s: !hova.tile<64x64xf32, product 2x2>) {
  // expected-error@+1 {{expects tiles as a product leaves them, with 16 rows for each of a multiple of 4 members}}
  %u = hova_cuda.begin_product %x[%i], %w[%i], %s
      : !hova.slots<1x64x64xbf16>, !hova.slots<1x64x64xbf16>, !hova.tile<64x64xf32, product 2x2>
  return
}

// -----

func.func @begin_product_c4_rows_of_a_member(%x: !hova.slots<1x128x64xbf16>, %w: !hova.slots<1x64x64xbf16>, %i: index,
                                             %s: !hova.tile<128x64xf32, product 4x1>) {
  // expected-error@+1 {{expects tiles as a product leaves them, with 16 rows for each of a multiple of 4 members}}
  %u = hova_cuda.begin_product %x[%i], %w[%i], %s
      : !hova.slots<1x128x64xbf16>, !hova.slots<1x64x64xbf16>, !hova.tile<128x64xf32, product 4x1>
  return
}

// -----

func.func @begin_product_c5_boxes(%x: !hova.slots<1x64x128xbf16>, %w: !hova.slots<1x64x128xbf16>, %i: index,
                                  %s: !hova.tile<64x64xf32, product 4x1>) {
  // expected-error@+1 {{expects boxes of 32 or 64 columns, and a sum of a multiple of 8 columns, 256 at most, got 128 and 64}}
  %u = hova_cuda.begin_product %x[%i], %w[%i], %s
      : !hova.slots<1x64x128xbf16>, !hova.slots<1x64x128xbf16>, !hova.tile<64x64xf32, product 4x1>
  return
}

// -----

func.func @begin_product_c5_columns(%x: !hova.slots<1x64x64xbf16>, %w: !hova.slots<1x272x64xbf16>, %i: index,
                                    %s: !hova.tile<64x272xf32, product 4x1>) {
  // expected-error@+1 {{256 at most, got 64 and 272}}
  %u = hova_cuda.begin_product %x[%i], %w[%i], %s
      : !hova.slots<1x64x64xbf16>, !hova.slots<1x272x64xbf16>, !hova.tile<64x272xf32, product 4x1>
  return
}

// -----

func.func @begin_product_c6_read_under_way(%x: !hova.slots<1x64x64xbf16>, %w: !hova.slots<1x64x64xbf16>, %i: index,
                                           %s: !hova.tile<64x64xf32, product 4x1>) -> !hova.tile<64x64xf32, product 4x1> {
  // expected-error@+1 {{has a result under way, which may reach the sums of a product, a wait and loops alone, and reaches 'func.return'}}
  %u = hova_cuda.begin_product %x[%i], %w[%i], %s
      : !hova.slots<1x64x64xbf16>, !hova.slots<1x64x64xbf16>, !hova.tile<64x64xf32, product 4x1>
  // expected-note@+1 {{used here}}
  return %u : !hova.tile<64x64xf32, product 4x1>
}

// -----

func.func @begin_product_c6_a_loop_gives_it_on(%x: !hova.slots<1x64x64xbf16>, %w: !hova.slots<1x64x64xbf16>, %i: index,
                                               %s: !hova.tile<64x64xf32, product 4x1>) -> !hova.tile<64x64xf32, product 4x1> {
  %last = scf.for %j = %i to %i step %i iter_args(%sum = %s) -> (!hova.tile<64x64xf32, product 4x1>) {
    // expected-error@+1 {{reaches 'func.return'}}
    %u = hova_cuda.begin_product %x[%i], %w[%i], %sum
        : !hova.slots<1x64x64xbf16>, !hova.slots<1x64x64xbf16>, !hova.tile<64x64xf32, product 4x1>
    scf.yield %u : !hova.tile<64x64xf32, product 4x1>
  }
  // expected-note@+1 {{used here}}
  return %last : !hova.tile<64x64xf32, product 4x1>
}

// -----

func.func @begin_product_c6_the_next_turn_reads_it(%x: !hova.slots<1x64x64xbf16>, %w: !hova.slots<1x64x64xbf16>, %i: index,
                                                   %s: !hova.tile<64x64xf32, product 4x1>, %m: memref<64x64xf32>) {
  %last = scf.for %j = %i to %i step %i iter_args(%sum = %s) -> (!hova.tile<64x64xf32, product 4x1>) {
    // expected-note@+1 {{used here}}
    hova.group_store %sum, %m[%i, %i] : !hova.tile<64x64xf32, product 4x1>, memref<64x64xf32>
    // expected-error@+1 {{reaches 'hova.group_store'}}
    %u = hova_cuda.begin_product %x[%i], %w[%i], %sum
        : !hova.slots<1x64x64xbf16>, !hova.slots<1x64x64xbf16>, !hova.tile<64x64xf32, product 4x1>
    scf.yield %u : !hova.tile<64x64xf32, product 4x1>
  }
  %r = hova_cuda.end_products 0, %last : !hova.tile<64x64xf32, product 4x1>
  return
}

// -----

func.func @begin_product_c6_a_left_operand(%x: !hova.slots<1x64x64xbf16>, %w: !hova.slots<1x64x64xbf16>, %i: index,
                                           %s: !hova.tile<64x64xf32, product 4x1>) {
  // expected-error@+1 {{reaches 'hova.group_map'}}
  %u = hova_cuda.begin_product %x[%i], %w[%i], %s
      : !hova.slots<1x64x64xbf16>, !hova.slots<1x64x64xbf16>, !hova.tile<64x64xf32, product 4x1>
  // expected-note@+1 {{used here}}
  %p = hova.group_map (%u) : (!hova.tile<64x64xf32, product 4x1>) -> !hova.tile<64x64xbf16, product 4x1> {
  ^bb0(%e: f32, %a: index, %b: index):
    %t = arith.truncf %e : f32 to bf16
    hova.group_yield %t : bf16
  }
  return
}

// -----

func.func @end_products_c1_negative(%s: !hova.tile<64x64xf32, product 4x1>) {
  // expected-error@+1 {{expects a number of products under way that is not negative, got -1}}
  %r = hova_cuda.end_products -1, %s : !hova.tile<64x64xf32, product 4x1>
  return
}

// -----

func.func @end_products_c2_read_under_way(%s: !hova.tile<64x64xf32, product 4x1>) -> !hova.tile<64x64xf32, product 4x1> {
  // expected-error@+1 {{reaches 'func.return'}}
  %r = hova_cuda.end_products 1, %s : !hova.tile<64x64xf32, product 4x1>
  // expected-note@+1 {{used here}}
  return %r : !hova.tile<64x64xf32, product 4x1>
}

// -----

llvm.func @wgmma_c1_row_bytes(%x: !llvm.ptr<3>, %s: f32) {
  // expected-error@+1 {{expects rows of 64 or 128 bytes, got 256}}
  %u:4 = hova_cuda.wgmma bf16, (%x), %x to (%s, %s, %s, %s) {row_bytes = 256 : i64} : !llvm.ptr<3>
  llvm.return
}

// -----

llvm.func @wgmma_c2_sums(%x: !llvm.ptr<3>, %s: f32) {
  // expected-error@+1 {{expects a multiple of 4 sums, 128 at most, got 5}}
  %u:5 = hova_cuda.wgmma bf16, (%x), %x to (%s, %s, %s, %s, %s) : !llvm.ptr<3>
  llvm.return
}

// -----

llvm.func @wgmma_c3_words(%x: !llvm.ptr<3>, %a: i32, %s: f32) {
  // expected-error@+1 {{expects a left operand of one pointer or of 8 words, got 'i32', 'i32', 'i32', 'i32'}}
  %u:4 = hova_cuda.wgmma bf16, (%a, %a, %a, %a), %x to (%s, %s, %s, %s) {row_bytes = 64 : i64} : i32, i32, i32, i32
  llvm.return
}

// -----

llvm.func @wgmma_c4_read_under_way(%x: !llvm.ptr<3>, %s: f32) -> f32 {
  // expected-error@+1 {{reaches 'llvm.fadd'}}
  %u:4 = hova_cuda.wgmma bf16, (%x), %x to (%s, %s, %s, %s) : !llvm.ptr<3>
  %r:4 = hova_cuda.wgmma_wait 0, (%u#0, %u#1, %u#2, %u#3)
  // expected-note@+1 {{used here}}
  %t = llvm.fadd %u#2, %r#2 : f32
  llvm.return %t : f32
}

// -----

llvm.func @wgmma_c4_a_branch_gives_it_on(%x: !llvm.ptr<3>, %s: f32) -> f32 {
  // expected-error@+1 {{reaches 'llvm.return'}}
  %u:4 = hova_cuda.wgmma bf16, (%x), %x to (%s, %s, %s, %s) : !llvm.ptr<3>
  llvm.br ^end(%u#0 : f32)
^end(%t: f32):
  // expected-note@+1 {{used here}}
  llvm.return %t : f32
}

// -----

llvm.func @wgmma_wait_c1_groups(%s: f32) {
  // expected-error@+1 {{expects 0 to 7 groups of products under way, got 8}}
  %r = hova_cuda.wgmma_wait 8, (%s)
  llvm.return
}

// -----

llvm.func @wgmma_wait_c2_read_under_way(%s: f32) -> f32 {
  // expected-error@+1 {{reaches 'llvm.return'}}
  %r = hova_cuda.wgmma_wait 1, (%s)
  // expected-note@+1 {{used here}}
  llvm.return %r : f32
}
