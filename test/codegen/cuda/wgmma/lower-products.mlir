// RUN: hova-opt %s --hova-lower-group-ops | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// A thread has columns 2 l and 2 l + 1 of two rows: the instruction numbers the sums of both rows block by block of columns, a
// fragment row by row. What was copied is fenced before all meet.
// CHECK-LABEL: llvm.func @multiplies_slots
func.func @multiplies_slots(%x: memref<128x64xbf16>, %w: memref<16x64xbf16>, %r: memref<128x16xf32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  // Both warp groups have rows of their own.
  // CHECK: %[[MEMORY:.*]] = llvm.mlir.addressof @multiplies_slots_memory
  // CHECK: %[[GROUP:.*]] = nvvm.shfl.sync idx
  %xs = hova.group_alloc : !hova.slots<1x128x64xbf16>
  %ws = hova.group_alloc : !hova.slots<1x16x64xbf16>
  %k = hova.group_copy %x[%c0, %c0] to %xs[%c0] : memref<128x64xbf16> to !hova.slots<1x128x64xbf16>
  %l = hova.group_copy %w[%c0, %c0] to %ws[%c0] : memref<16x64xbf16> to !hova.slots<1x16x64xbf16>
  %z = hova.group_map () : () -> !hova.tile<128x16xf32, product 8x1> {
  ^bb0(%i: index, %j: index):
    hova.group_yield %zero : f32
  }
  // CHECK: nvvm.cp.async.wait.group 0
  // CHECK-NEXT: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
  // CHECK-NEXT: nvvm.barrier0
  hova.group_wait %k, %l
  // CHECK: %[[ROWS:.*]] = arith.constant 8192 : i32
  // CHECK: %[[BYTE:.*]] = arith.muli %[[GROUP]], %[[ROWS]]
  // CHECK: %[[LEFT:.*]] = llvm.getelementptr %{{.*}}[%[[BYTE]]]
  // CHECK: %[[SUMS:.*]]:8 = hova_cuda.wgmma bf16, (%[[LEFT]]), %{{.*}} to
  %u = hova_cuda.begin_product %xs[%c0], %ws[%c0], %z
      : !hova.slots<1x128x64xbf16>, !hova.slots<1x16x64xbf16>, !hova.tile<128x16xf32, product 8x1>
  // CHECK: %[[ENDED:.*]]:8 = hova_cuda.wgmma_wait 0, (%[[SUMS]]#0, %[[SUMS]]#1, %[[SUMS]]#2, %[[SUMS]]#3, %[[SUMS]]#4, %[[SUMS]]#5, %[[SUMS]]#6, %[[SUMS]]#7)
  %t = hova_cuda.end_products 0, %u : !hova.tile<128x16xf32, product 8x1>
  // The upper row of a fragment first.
  // CHECK: vector.from_elements %[[ENDED]]#0, %[[ENDED]]#1
  // CHECK: vector.from_elements %[[ENDED]]#4, %[[ENDED]]#5
  // CHECK: vector.from_elements %[[ENDED]]#2, %[[ENDED]]#3
  // CHECK: vector.from_elements %[[ENDED]]#6, %[[ENDED]]#7
  hova.group_store %t, %r[%c0, %c0] {in_bounds = array<i1: true, true>}
      : !hova.tile<128x16xf32, product 8x1>, memref<128x16xf32>
  return
}

