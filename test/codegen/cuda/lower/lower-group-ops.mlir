// RUN: hova-opt %s --hova-lower-group-ops --canonicalize --cse --split-input-file | FileCheck %s
// RUN: hova-opt %s --hova-lower-to-nvvm --split-input-file | FileCheck %s --check-prefix=NVVM
// SPDX-License-Identifier: Apache-2.0

// Of three copies under way at most one may be when the first two are done, in the loop
// as before it.
// CHECK-LABEL: llvm.func @counts_copies
// CHECK-SAME: hova.group_bytes = 24576 : i64, nvvm.kernel, nvvm.reqntid = array<i32: 128>
// CHECK-COUNT-3: nvvm.cp.async.commit.group
// CHECK: scf.for
// CHECK-NEXT: nvvm.cp.async.wait.group 1
// CHECK-NEXT: nvvm.barrier0
// CHECK-COUNT-2: nvvm.cp.async.commit.group
// CHECK: llvm.loop_annotation = #loop_annotation
// CHECK: nvvm.cp.async.wait.group 0
// NVVM-LABEL: llvm.func @counts_copies
// NVVM: loop_annotation = #loop_annotation
func.func @counts_copies(%m: memref<128x256xbf16>, %n: memref<64x64xf32>, %i: index, %j: index) {
  %column = arith.constant 64 : index
  %f = arith.constant 0.0 : f32
  %z = hova.group_map () : () -> !hova.tile<64x64xf32, product 4x1> {
  ^bb0(%p: index, %q: index):
    hova.group_yield %f : f32
  }
  %s = hova.group_alloc : !hova.slots<3x64x64xbf16>
  %a = hova.group_copy %m[%i, %column] to %s[%i] : memref<128x256xbf16> to !hova.slots<3x64x64xbf16>
  %b = hova.group_copy %m[%i, %column] to %s[%i] : memref<128x256xbf16> to !hova.slots<3x64x64xbf16>
  %c = hova.group_copy %m[%i, %column] to %s[%i] : memref<128x256xbf16> to !hova.slots<3x64x64xbf16>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %r:3 = scf.for %k = %c0 to %c4 step %c1 iter_args(%t = %a, %u = %b, %v = %c)
      -> (!hova.copy_token, !hova.copy_token, !hova.copy_token) {
    hova.group_wait %t, %u
    %d = hova.group_copy %m[%i, %column] to %s[%k] : memref<128x256xbf16> to !hova.slots<3x64x64xbf16>
    %e = hova.group_copy %m[%i, %column] to %s[%k] : memref<128x256xbf16> to !hova.slots<3x64x64xbf16>
    scf.yield %v, %d, %e : !hova.copy_token, !hova.copy_token, !hova.copy_token
  }
  hova.group_wait %r#0, %r#1, %r#2
  hova.group_store %z, %n[%c0, %c0] : !hova.tile<64x64xf32, product 4x1>, memref<64x64xf32>
  return
}

// -----

// A lane sums 16 elements of a row; the four lanes of a row exchange their sums once.
// CHECK-LABEL: llvm.func @exchanges_once
// CHECK-NOT: nvvm.shfl
// CHECK-COUNT-15: arith.addf
// CHECK: nvvm.shfl.sync bfly %{{[a-z0-9_-]+}}, %{{[a-z0-9_-]+}}, %c2_i32
// CHECK: nvvm.shfl.sync bfly %{{[a-z0-9_-]+}}, %{{[a-z0-9_-]+}}, %c1_i32
// NVVM-LABEL: llvm.func @exchanges_once
// NVVM-NOT: arith
func.func @exchanges_once(%m: memref<16x64xf32>, %n: memref<16x64xf32>) {
  %c0 = arith.constant 0 : index
  %t = hova.group_load %m[%c0, %c0] : memref<16x64xf32> -> !hova.tile<16x64xf32, product 1x1>
  %p = hova.group_reduce add %t : !hova.tile<16x64xf32, product 1x1> -> !hova.tile<16x1xf32, partial 1x1>
  %r = hova.group_reduce add %p : !hova.tile<16x1xf32, partial 1x1> -> !hova.tile<16x1xf32, product 1x1>
  %u = hova.group_map (%t, %r) : (!hova.tile<16x64xf32, product 1x1>, !hova.tile<16x1xf32, product 1x1>) -> !hova.tile<16x64xf32, product 1x1> {
  ^bb0(%x: f32, %y: f32, %i: index, %j: index):
    %s = arith.mulf %x, %y : f32
    hova.group_yield %s : f32
  }
  hova.group_store %u, %n[%c0, %c0] : !hova.tile<16x64xf32, product 1x1>, memref<16x64xf32>
  return
}

// -----

// Two roundings are one instruction, and a warp stages 16 rows before it writes them. The
// rows after the matrix are not written, and the warp meets after the branch.
// CHECK-LABEL: llvm.func @stages_results
// CHECK-SAME: hova.group_bytes = 2048
// CHECK: arith.truncf %{{[a-z0-9_]+}} : vector<2xf32> to vector<2xbf16>
// CHECK: llvm.store %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} {alignment = 4 : i64} : i32, !llvm.ptr<3>
// CHECK: nvvm.bar.warp.sync
// CHECK: llvm.load %{{[a-z0-9_]+}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xi32>
// CHECK: arith.cmpi ult
// CHECK: scf.if
// CHECK-NEXT: llvm.store %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<1>
// CHECK: nvvm.bar.warp.sync
// NVVM-LABEL: llvm.func @stages_results
// NVVM: llvm.fptrunc %{{[a-z0-9_]+}} : vector<2xf32> to vector<2xbf16>
func.func @stages_results(%m: memref<16x64xf32>, %n: memref<13x64xbf16>) {
  %c0 = arith.constant 0 : index
  %t = hova.group_load %m[%c0, %c0] : memref<16x64xf32> -> !hova.tile<16x64xf32, product 1x1>
  %u = hova.group_map (%t) : (!hova.tile<16x64xf32, product 1x1>) -> !hova.tile<16x64xbf16, product 1x1> {
  ^bb0(%x: f32, %i: index, %j: index):
    %s = arith.truncf %x : f32 to bf16
    hova.group_yield %s : bf16
  }
  hova.group_store %u, %n[%c0, %c0] : !hova.tile<16x64xbf16, product 1x1>, memref<13x64xbf16>
  return
}

// -----

// Promises alone leave out checks, also of a matrix whose extents are multiples of the
// tile's. A thread has eight rows and eight runs of columns.
// CHECK-LABEL: llvm.func @checks_what_is_not_promised
// CHECK-COUNT-16: arith.cmpi ult
// CHECK-NOT: arith.cmpi
// CHECK-LABEL: llvm.func @trusts_promises
// CHECK-NOT: arith.cmpi ult
func.func @checks_what_is_not_promised(%m: memref<128x128xf32>, %n: memref<128x128xf32>, %x: index) {
  %c64 = arith.constant 64 : index
  %r = arith.muli %x, %c64 : index
  %t = hova.group_load %m[%r, %r] : memref<128x128xf32> -> !hova.tile<64x64xf32, product 1x1>
  hova.group_store %t, %n[%r, %r] {in_bounds = array<i1: true, true>} : !hova.tile<64x64xf32, product 1x1>, memref<128x128xf32>
  return
}
func.func @trusts_promises(%m: memref<128x128xf32>, %n: memref<128x128xf32>, %x: index) {
  %t = hova.group_load %m[%x, %x] {in_bounds = array<i1: true, true>} : memref<128x128xf32> -> !hova.tile<64x64xf32, product 1x1>
  hova.group_store %t, %n[%x, %x] {in_bounds = array<i1: true, true>} : !hova.tile<64x64xf32, product 1x1>, memref<128x128xf32>
  return
}

// -----

// An access for each of a thread's eight elements, and two of 16 bits share a register.
// CHECK-LABEL: llvm.func @gathers
// CHECK: %[[THERE:[a-z0-9_]+]] = arith.andi %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} : i1
// CHECK: %[[AT:[a-z0-9_]+]] = arith.select %[[THERE]], %{{[a-z0-9_]+}}, %arg0 : !llvm.ptr<1>
// CHECK: %[[LOADED:[a-z0-9_]+]] = llvm.load %[[AT]] {alignment = 2 : i64} : !llvm.ptr<1> -> i16
// CHECK: arith.select %[[THERE]], %[[LOADED]], %c0_i16 : i16
// CHECK-COUNT-7: llvm.load %{{[a-z0-9_]+}} {alignment = 2 : i64}
// CHECK-COUNT-4: vector.from_elements %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} : vector<2xi16>
// CHECK-NOT: llvm.load
func.func @gathers(%m: memref<40x30xbf16>, %n: memref<16x16xbf16>) {
  %c0 = arith.constant 0 : index
  %t = hova.group_gather %m : memref<40x30xbf16> -> !hova.tile<16x16xbf16, product 1x1> {
  ^bb0(%i: index, %j: index):
    hova.group_yield %j, %i : index, index
  }
  hova.group_store %t, %n[%c0, %c0] : !hova.tile<16x16xbf16, product 1x1>, memref<16x16xbf16>
  return
}

// -----

// Vectors of one element, which operations that join a kernel make, are scalars.
// CHECK-LABEL: llvm.func @joins
// CHECK-NOT: vector<1
// CHECK: arith.mulf %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} : f32
// CHECK: arith.maximumf %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} : f32
// CHECK-NOT: vector<1
// CHECK: llvm.return
func.func @joins(%m: memref<16x16xf32>) {
  %c0 = arith.constant 0 : index
  %two = arith.constant dense<2.0> : vector<1x1xf32>
  %t = hova.group_load %m[%c0, %c0] : memref<16x16xf32> -> !hova.tile<16x16xf32, product 1x1>
  %u = hova.group_map (%t) : (!hova.tile<16x16xf32, product 1x1>) -> !hova.tile<16x16xf32, product 1x1> {
  ^bb0(%x: f32, %i: index, %j: index):
    %v = vector.broadcast %x : f32 to vector<1x1xf32>
    %w = arith.mulf %v, %two : vector<1x1xf32>
    %y = hova.activation relu %w : vector<1x1xf32>
    %z = vector.extract %y[0, 0] : f32 from vector<1x1xf32>
    hova.group_yield %z : f32
  }
  hova.group_store %u, %m[%c0, %c0] : !hova.tile<16x16xf32, product 1x1>, memref<16x16xf32>
  return
}

// -----

// A view of all of a matrix folds to a cast: the same address, as well aligned.
// CHECK-LABEL: llvm.func @reads_through_a_cast
// CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
// NVVM-LABEL: llvm.func @reads_through_a_cast
func.func @reads_through_a_cast(%m: memref<1x128xf32>, %n: memref<1x128xf32>) {
  %c0 = arith.constant 0 : index
  %v = memref.cast %m : memref<1x128xf32> to memref<1x128xf32, strided<[128, 1], offset: ?>>
  %t = hova.group_load %v[%c0, %c0] {in_bounds = array<i1: true, true>} : memref<1x128xf32, strided<[128, 1], offset: ?>> -> !hova.tile<1x128xf32, row 1x1>
  hova.group_store %t, %n[%c0, %c0] {in_bounds = array<i1: true, true>} : !hova.tile<1x128xf32, row 1x1>, memref<1x128xf32>
  return
}

// -----

// Products of f32 are multiply-adds: of a turn's eight k a thread reads two runs
// of four of each of its rows, and of the columns of rhs pairs of each k. What
// lies in registers is exchanged among the lanes of a row, and moves up.
// CHECK-LABEL: @multiplies_in_f32
// CHECK: nvvm.barrier0
// CHECK: scf.for
// CHECK-COUNT-4: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xf32>
// CHECK-NOT: nvvm.shfl
// CHECK: math.fma
// CHECK: scf.yield
// CHECK: scf.for
// CHECK-COUNT-16: nvvm.shfl.sync idx
// CHECK: llvm.load {{.*}} {alignment = 8 : i64} : !llvm.ptr<3> -> vector<2xf32>
// CHECK: math.fma
// CHECK-NOT: nvvm.mma
// CHECK: scf.yield
func.func @multiplies_in_f32(%m: memref<64x64xf32>, %n: memref<16x32xf32>, %i: index) {
  %c0 = arith.constant 0 : index
  %x = hova.group_alloc : !hova.slots<1x16x64xf32>
  %w = hova.group_alloc : !hova.slots<1x32x64xf32>
  %v = hova.group_alloc : !hova.slots<1x32x32xf32>
  %a = hova.group_copy %m[%i, %c0] to %x[%c0] : memref<64x64xf32> to !hova.slots<1x16x64xf32>
  %b = hova.group_copy %m[%i, %c0] to %w[%c0] : memref<64x64xf32> to !hova.slots<1x32x64xf32>
  %c = hova.group_copy %m[%i, %c0] to %v[%c0] : memref<64x64xf32> to !hova.slots<1x32x32xf32>
  hova.group_wait %a, %b, %c
  %zero = hova.group_load %n[%c0, %c0] : memref<16x32xf32> -> !hova.tile<16x32xf32, product 1x1>
  %s = hova.group_product %x[%c0], %w[%c0] transposed, %zero
      : !hova.slots<1x16x64xf32>, !hova.slots<1x32x64xf32>, !hova.tile<16x32xf32, product 1x1>
  %r = hova.group_product %s, %v[%c0], %zero
      : !hova.tile<16x32xf32, product 1x1>, !hova.slots<1x32x32xf32>, !hova.tile<16x32xf32, product 1x1>
  hova.group_store %r, %n[%c0, %c0] : !hova.tile<16x32xf32, product 1x1>, memref<16x32xf32>
  return
}
