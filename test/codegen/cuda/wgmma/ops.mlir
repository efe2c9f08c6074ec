// RUN: hova-opt %s --verify-roundtrip | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// CHECK-LABEL: func.func @begins_and_ends_a_product_of_slots
func.func @begins_and_ends_a_product_of_slots(
    %x: !hova.slots<3x128x64xbf16>, %w: !hova.slots<3x256x64xbf16>, %i: index,
    %sum: !hova.tile<128x256xf32, product 8x1>) -> !hova.tile<128x256xf32, product 8x1> {
  // CHECK: hova_cuda.begin_product %{{.*}}[%{{.*}}], %{{.*}}[%{{.*}}], %{{.*}} : !hova.slots<3x128x64xbf16>, <3x256x64xbf16>, <128x256xf32, product 8x1>
  %u = hova_cuda.begin_product %x[%i], %w[%i], %sum
      : !hova.slots<3x128x64xbf16>, !hova.slots<3x256x64xbf16>, !hova.tile<128x256xf32, product 8x1>
  // CHECK: hova_cuda.end_products 0, %{{.*}} : <128x256xf32, product 8x1>
  %r = hova_cuda.end_products 0, %u : !hova.tile<128x256xf32, product 8x1>
  return %r : !hova.tile<128x256xf32, product 8x1>
}

// CHECK-LABEL: func.func @carries_a_sum_under_way_around_a_loop
func.func @carries_a_sum_under_way_around_a_loop(
    %x: !hova.tile<64x32xf16, product 4x1>, %w: !hova.slots<3x32x32xf16>, %n: index,
    %zero: !hova.tile<64x32xf32, product 4x1>) -> !hova.tile<64x32xf32, product 4x1> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %last = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (!hova.tile<64x32xf32, product 4x1>) {
    // CHECK: hova_cuda.begin_product %{{.*}}, %{{.*}}[%{{.*}}], %{{.*}} : !hova.tile<64x32xf16, product 4x1>
    %u = hova_cuda.begin_product %x, %w[%i], %sum
        : !hova.tile<64x32xf16, product 4x1>, !hova.slots<3x32x32xf16>, !hova.tile<64x32xf32, product 4x1>
    // CHECK: hova_cuda.end_products 1, %{{.*}}
    %v = hova_cuda.end_products 1, %u : !hova.tile<64x32xf32, product 4x1>
    scf.yield %v : !hova.tile<64x32xf32, product 4x1>
  }
  %r = hova_cuda.end_products 0, %last : !hova.tile<64x32xf32, product 4x1>
  return %r : !hova.tile<64x32xf32, product 4x1>
}

// CHECK-LABEL: llvm.func @multiplies_from_memory_and_registers
llvm.func @multiplies_from_memory_and_registers(%x: !llvm.ptr<3>, %w: !llvm.ptr<3>, %a: i32, %s: f32) -> f32 {
  // CHECK: hova_cuda.wgmma bf16, (%{{.*}}), %{{.*}} to(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) : !llvm.ptr<3>
  %u:4 = hova_cuda.wgmma bf16, (%x), %w to (%s, %s, %s, %s) : !llvm.ptr<3>
  // CHECK: hova_cuda.wgmma f16, (%{{.*}}), %{{.*}} to(%{{.*}}) {row_bytes = 64 : i64} : i32, i32, i32, i32, i32, i32, i32, i32
  %v:4 = hova_cuda.wgmma f16, (%a, %a, %a, %a, %a, %a, %a, %a), %w to (%u#0, %u#1, %u#2, %u#3) {row_bytes = 64 : i64}
      : i32, i32, i32, i32, i32, i32, i32, i32
  // CHECK: hova_cuda.wgmma_wait 0, (%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}})
  %r:4 = hova_cuda.wgmma_wait 0, (%v#0, %v#1, %v#2, %v#3)
  llvm.return %r#3 : f32
}

// CHECK-LABEL: llvm.func @carries_sums_along_branches
llvm.func @carries_sums_along_branches(%x: !llvm.ptr<3>, %s: f32, %more: i1) -> f32 {
  llvm.br ^turn(%s, %s, %s, %s : f32, f32, f32, f32)
^turn(%0: f32, %1: f32, %2: f32, %3: f32):
  %u:4 = hova_cuda.wgmma bf16, (%x), %x to (%0, %1, %2, %3) : !llvm.ptr<3>
  %v:4 = hova_cuda.wgmma_wait 1, (%u#0, %u#1, %u#2, %u#3)
  llvm.cond_br %more, ^turn(%v#0, %v#1, %v#2, %v#3 : f32, f32, f32, f32), ^end
^end:
  // CHECK: hova_cuda.wgmma_wait 0
  %r:4 = hova_cuda.wgmma_wait 0, (%v#0, %v#1, %v#2, %v#3)
  llvm.return %r#0 : f32
}
