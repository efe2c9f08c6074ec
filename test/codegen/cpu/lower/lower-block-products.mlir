// RUN: hova-opt %s --hova-lower-block-products --canonicalize --cse | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// One height for all products of a function, in registers that LLVM cannot tell apart: its rows, and the bytes of a row.

// CHECK-LABEL: @two_products
// CHECK-DAG: %[[BYTES:.*]] = arith.constant 64 : i16
// CHECK-DAG: %[[ALL:.*]] = arith.constant 16 : i16
// CHECK-DAG: %[[STRIDE:.*]] = arith.constant 160 : i64
// CHECK-DAG: %[[STRIP:.*]] = arith.constant 256 : i64
// CHECK-DAG: %[[SUMS:.*]] = arith.constant 128 : i64
// CHECK: %[[NARROW:.*]] = arith.index_cast %{{.*}} : index to i16
// CHECK: %[[ROWS:.*]] = llvm.freeze %[[NARROW]] : i16
// CHECK: %[[SIGN:.*]] = arith.shrui %[[ROWS]]
// CHECK: %[[WIDTH:.*]] = arith.addi %[[SIGN]], %[[BYTES]] : i16
// CHECK-COUNT-4: llvm.call_intrinsic "llvm.x86.tilezero.internal"(%[[ROWS]], %[[WIDTH]])
// CHECK: %[[LOOP:.*]]:4 = scf.for %[[K:.*]] = %{{.*}} to %{{.*}} step %{{.*}} iter_args(%[[S0:.*]] = %{{.*}}, %[[S1:.*]] = %{{.*}}, %[[S2:.*]] = %{{.*}}, %[[S3:.*]] = %{{.*}}) -> (!llvm.x86_amx, !llvm.x86_amx, !llvm.x86_amx, !llvm.x86_amx)
// CHECK: %[[A0:.*]] = llvm.call_intrinsic "llvm.x86.tileloaddt164.internal"(%[[ROWS]], %[[WIDTH]], %{{.*}}, %[[STRIDE]])
// CHECK: %[[A1:.*]] = llvm.call_intrinsic "llvm.x86.tileloaddt164.internal"(%[[ROWS]], %[[WIDTH]], %{{.*}}, %[[STRIDE]])
// CHECK: %[[B0:.*]] = llvm.call_intrinsic "llvm.x86.tileloadd64.internal"(%[[ALL]], %[[BYTES]], %{{.*}}, %[[STRIP]])
// CHECK: %[[B1:.*]] = llvm.call_intrinsic "llvm.x86.tileloadd64.internal"(%[[ALL]], %[[BYTES]], %{{.*}}, %[[STRIP]])
// CHECK: llvm.call_intrinsic "llvm.x86.tdpbf16ps.internal"(%[[ROWS]], %[[WIDTH]], %[[WIDTH]], %[[S0]], %[[A0]], %[[B0]])
// CHECK: llvm.call_intrinsic "llvm.x86.tdpbf16ps.internal"(%[[ROWS]], %[[WIDTH]], %[[WIDTH]], %[[S1]], %[[A0]], %[[B1]])
// CHECK: llvm.call_intrinsic "llvm.x86.tdpbf16ps.internal"(%[[ROWS]], %[[WIDTH]], %[[WIDTH]], %[[S2]], %[[A1]], %[[B0]])
// CHECK: llvm.call_intrinsic "llvm.x86.tdpbf16ps.internal"(%[[ROWS]], %[[WIDTH]], %[[WIDTH]], %[[S3]], %[[A1]], %[[B1]])
// CHECK: llvm.call_intrinsic "llvm.x86.tilestored64.internal"(%[[ROWS]], %[[WIDTH]], %{{.*}}, %[[SUMS]], %[[LOOP]]#0)
// CHECK: llvm.call_intrinsic "llvm.x86.tilestored64.internal"(%[[ROWS]], %[[WIDTH]], %{{.*}}, %[[SUMS]], %[[LOOP]]#3)
// The second product begins with the sums that there are, of the same height.
// CHECK-NOT: tilezero
// CHECK-COUNT-4: llvm.call_intrinsic "llvm.x86.tileloadd64.internal"(%[[ROWS]], %[[WIDTH]], %{{.*}}, %[[SUMS]])
// CHECK: llvm.call_intrinsic "llvm.x86.tdpbf16ps.internal"(%[[ROWS]], %[[WIDTH]], %[[WIDTH]]
func.func @two_products(%s: memref<64x32xf32>, %a: memref<99x64xbf16, strided<[80, 1]>>, %b: memref<3x32x64xi32>, %i: index, %n: index, %h: index) {
  %k = arith.constant 64 : index
  hova_cpu.block_product %s[%i, %i], %a[%i, %i], %b[%i, %i, %i] rows %n by %h depth %k columns 32 : memref<64x32xf32>, memref<99x64xbf16, strided<[80, 1]>>, memref<3x32x64xi32>
  hova_cpu.block_product %s[%i, %i], %a[%i, %i], %b[%i, %i, %i] rows %n by %h depth %k columns 32 added : memref<64x32xf32>, memref<99x64xbf16, strided<[80, 1]>>, memref<3x32x64xi32>
  return
}

// What runs meanwhile stands in the loop, a share in each step of four: 7 turns are 1, 2, 2 and 2.

// CHECK-LABEL: @meanwhile
// CHECK: scf.for %[[K:.*]] = %{{.*}} to %{{.*}} step
// CHECK: llvm.call_intrinsic "llvm.x86.tdpbf16ps.internal"
// CHECK: %[[STEP:.*]] = arith.divui %[[K]], %{{.*}} : index
// CHECK: arith.muli %{{.*}}, %[[T:.*]] : index
// CHECK: scf.for %[[TURN:.*]] = %{{.*}} to %{{.*}} step
// CHECK: memref.prefetch %{{.*}}[%[[TURN]], %{{.*}}]
// CHECK: scf.yield
func.func @meanwhile(%s: memref<64x32xf32>, %a: memref<99x128xbf16>, %b: memref<64x64xi32>, %i: index, %n: index, %h: index, %t: index) {
  %k = arith.constant 128 : index
  hova_cpu.block_product %s[%i, %i], %a[%i, %i], %b[%i, %i] rows %n by %h depth %k columns 32 meanwhile(%t) {
  ^bb0(%turn: index):
    memref.prefetch %a[%turn, %i], read, locality<2>, data : memref<99x128xbf16>
  } : memref<64x32xf32>, memref<99x128xbf16>, memref<64x64xi32>
  return
}
