// RUN: hova-opt %s --hova-lower-to-emulation | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

llvm.mlir.global external @after() {addr_space = 3 : i32, alignment = 128 : i64} : !llvm.array<0 x i8>
llvm.mlir.global external @fixed() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<40 x i8>

// CHECK-NOT: @fixed
// CHECK-LABEL: llvm.func internal @kernel(
// CHECK-SAME: %[[SELF:.*]]: !llvm.ptr, %[[X:.*]]: !llvm.ptr<1>, %{{.*}}: f32)
llvm.func @kernel(%x: !llvm.ptr<1>, %f: f32) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 64, 2, 1>} {
  // CHECK-DAG: %[[OPERANDS:.*]] = llvm.alloca %{{.*}} x i32
  // CHECK: llvm.mlir.constant(128 : i64)
  // CHECK: llvm.mlir.constant(0 : i64)
  // CHECK-NOT: llvm.mlir.addressof @after
  %fixed = llvm.mlir.addressof @after : !llvm.ptr<3>
  %other = llvm.mlir.addressof @fixed : !llvm.ptr<3>
  // Loads go through a check, and shared addresses through their bits.
  // CHECK: %[[BITS:.*]] = llvm.ptrtoint %[[X]] : !llvm.ptr<1> to i64
  // CHECK: %[[AT:.*]] = llvm.call @hova_emulated_load_global(%[[SELF]], %{{.*}}, %[[BITS]], %{{.*}}) {convergent}
  // CHECK: llvm.load %[[AT]] {alignment = 16 : i64} : !llvm.ptr -> vector<4xf32>
  %v = llvm.load %x : !llvm.ptr<1> -> vector<4xf32>
  // CHECK: llvm.call @hova_emulated_store_shared(
  llvm.store %f, %other : f32, !llvm.ptr<3>
  // CHECK: llvm.call @hova_emulated_barrier(%[[SELF]], %{{.*}}) {convergent}
  nvvm.barrier
  // CHECK: llvm.call @hova_emulated_bf16(%{{.*}}) {convergent} : (f32) -> i16
  %n = llvm.fptrunc %f : f32 to bf16
  // CHECK: llvm.fmul %{{.*}}, %{{.*}} : f32
  %m = llvm.fmul %f, %f {fastmathFlags = #llvm.fastmath<nnan>} : f32
  // CHECK: llvm.return
  llvm.return
}

// CHECK-LABEL: llvm.func internal @kernel.entry(
// CHECK: llvm.call @kernel(
// CHECK: llvm.mlir.global internal constant @kernel.places("llvm.load\00{{.*}}lower-to-emulation.mlir{{.*}}\00llvm.store\00
// CHECK: llvm.mlir.global external constant @hova_emulated_kernel()
// Threads of a block, bytes of shared memory, and the smallest accesses.
// CHECK: llvm.mlir.constant(128 : i32)
// CHECK: llvm.mlir.constant(128 : i32)
// CHECK: llvm.mlir.constant(4 : i32)
// CHECK: llvm.mlir.constant(16 : i32)

// A branch back is counted, one forth is not.
// CHECK-LABEL: llvm.func internal @loops(
// CHECK-NOT: @hova_emulated_turn
// CHECK: llvm.br ^[[LOOP:bb[0-9]+]]
// CHECK: ^[[LOOP]](
// CHECK: llvm.call @hova_emulated_turn(%{{.*}}, %{{.*}}) {convergent} : (!llvm.ptr, i32) -> ()
// CHECK-NEXT: llvm.cond_br %{{.*}}, ^[[LOOP]]
// CHECK-NOT: @hova_emulated_turn
// CHECK: llvm.return
llvm.func @loops(%n: i32) attributes {nvvm.kernel} {
  %zero = llvm.mlir.constant(0 : i32) : i32
  %one = llvm.mlir.constant(1 : i32) : i32
  llvm.br ^loop(%zero : i32)
^loop(%i: i32):
  %next = llvm.add %i, %one : i32
  %more = llvm.icmp "ult" %next, %n : i32
  llvm.cond_br %more, ^loop(%next : i32), ^out
^out:
  llvm.return
}

// Hosts have no bf16: its bits are moved.
// CHECK-LABEL: llvm.func internal @moves_bits(
// CHECK-SAME: i16)
// CHECK-NOT: {{[ <x]bf16}}
// CHECK: llvm.mlir.constant(16256 : i16) : i16
// CHECK: llvm.mlir.constant(dense<16256> : vector<2xi16>) : vector<2xi16>
// CHECK-NOT: {{[ <x]bf16}}
// CHECK: llvm.return
llvm.func @moves_bits(%x: !llvm.ptr<1>, %a: bf16) attributes {nvvm.kernel} {
  %i = llvm.mlir.constant(0 : i32) : i32
  %one = llvm.mlir.constant(1.0 : bf16) : bf16
  %ones = llvm.mlir.constant(dense<1.0> : vector<2xbf16>) : vector<2xbf16>
  %v = llvm.insertelement %a, %ones[%i : i32] : vector<2xbf16>
  llvm.store %v, %x : vector<2xbf16>, !llvm.ptr<1>
  %l = llvm.load %x : !llvm.ptr<1> -> vector<2xbf16>
  %w = llvm.fpext %l : vector<2xbf16> to vector<2xf32>
  %n = llvm.fptrunc %w : vector<2xf32> to vector<2xbf16>
  %f = llvm.fpext %one : bf16 to f32
  llvm.return
}
