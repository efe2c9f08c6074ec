// RUN: hova-opt %s --hova-order-launches | FileCheck %s
// RUN: hova-opt %s --hova-order-launches --hova-order-launches | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// The copy of weights with its address, and nothing else; commits stay.
// CHECK-LABEL: llvm.func @moves_copies_of_weights_up
// CHECK-SAME: (%[[X:.*]]: !llvm.ptr<1>, %[[W:.*]]: !llvm.ptr<1>, %[[S:.*]]: !llvm.ptr<3>, %[[T:.*]]: !llvm.ptr<3>)
llvm.func @moves_copies_of_weights_up(%x: !llvm.ptr<1>, %w: !llvm.ptr<1>, %s: !llvm.ptr<3>, %t: !llvm.ptr<3>)
    attributes {hova_cuda.settled = array<i64: 1>} {
  // CHECK-NEXT: %[[AT:.*]] = llvm.getelementptr %[[W]][16]
  // CHECK-NEXT: nvvm.cp.async.shared.global %[[T]], %[[AT]], 16
  // CHECK-NEXT: hova_cuda.await_launches
  // CHECK-NEXT: hova_cuda.allow_launches
  // CHECK-NEXT: nvvm.cp.async.shared.global %[[S]], %[[X]], 16
  // CHECK-NEXT: nvvm.cp.async.commit.group
  // CHECK-NEXT: nvvm.cp.async.commit.group
  // CHECK-NEXT: nvvm.cp.async.wait.group 0
  // CHECK-NEXT: nvvm.cp.async.shared.global %[[T]], %[[AT]], 16
  hova_cuda.await_launches
  hova_cuda.allow_launches
  nvvm.cp.async.shared.global %s, %x, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
  nvvm.cp.async.commit.group
  %at = llvm.getelementptr %w[16] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
  nvvm.cp.async.shared.global %t, %at, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
  nvvm.cp.async.commit.group
  // Behind a wait for copies their places may be read.
  nvvm.cp.async.wait.group 0
  nvvm.cp.async.shared.global %t, %at, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
  llvm.return
}

// CHECK-LABEL: llvm.func @moves_choices_of_copies_whole
llvm.func @moves_choices_of_copies_whole(%x: !llvm.ptr<1>, %w: !llvm.ptr<1>, %s: !llvm.ptr<3>, %t: !llvm.ptr<3>)
    attributes {hova_cuda.settled = array<i64: 1>} {
  // CHECK: arith.cmpi
  // CHECK-NEXT: scf.if
  // CHECK-NEXT: nvvm.cp.async.shared.global
  // CHECK-NEXT: }
  // CHECK-NEXT: hova_cuda.await_launches
  // CHECK-NEXT: scf.if
  hova_cuda.await_launches
  %thread = nvvm.read.ptx.sreg.tid.x : i32
  %n = arith.constant 16 : i32
  %first = arith.cmpi ult, %thread, %n : i32
  scf.if %first {
    nvvm.cp.async.shared.global %s, %x, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
  }
  scf.if %first {
    nvvm.cp.async.shared.global %t, %w, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
  }
  llvm.return
}

// Somebody may read the place of a copy in front of a store to shared memory.
// CHECK-LABEL: llvm.func @keeps_copies_behind_a_store
llvm.func @keeps_copies_behind_a_store(%x: !llvm.ptr<1>, %w: !llvm.ptr<1>, %s: !llvm.ptr<3>, %t: !llvm.ptr<3>)
    attributes {hova_cuda.settled = array<i64: 1>} {
  // CHECK-NEXT: hova_cuda.await_launches
  // CHECK-NEXT: llvm.load
  // CHECK-NEXT: llvm.store
  // CHECK-NEXT: nvvm.cp.async.shared.global
  hova_cuda.await_launches
  %a = llvm.load %x : !llvm.ptr<1> -> f32
  llvm.store %a, %s : f32, !llvm.ptr<3>
  nvvm.cp.async.shared.global %t, %w, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
  llvm.return
}

// What reads weights alone comes before the wait, and a loop that reads others after.
// CHECK-LABEL: llvm.func @moves_the_wait_down
llvm.func @moves_the_wait_down(%x: !llvm.ptr<1>, %w: !llvm.ptr<1>, %s: !llvm.ptr<3>, %n: i32)
    attributes {hova_cuda.settled = array<i64: 1>} {
  // CHECK: llvm.load
  // CHECK-NEXT: llvm.store
  // CHECK-NEXT: hova_cuda.await_launches
  // CHECK-NEXT: hova_cuda.allow_launches
  // CHECK-NEXT: scf.for
  hova_cuda.await_launches
  hova_cuda.allow_launches
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %a = llvm.load %w : !llvm.ptr<1> -> f32
  llvm.store %a, %s : f32, !llvm.ptr<3>
  scf.for %i = %zero to %n step %one : i32 {
    %b = llvm.load %x : !llvm.ptr<1> -> f32
    llvm.store %b, %s : f32, !llvm.ptr<3>
  }
  llvm.return
}

// CHECK-LABEL: llvm.func @waits_at_the_end
llvm.func @waits_at_the_end(%w: !llvm.ptr<1>) attributes {hova_cuda.settled = array<i64: 0>} {
  // CHECK-NEXT: llvm.load
  // CHECK-NEXT: hova_cuda.await_launches
  // CHECK-NEXT: llvm.return
  hova_cuda.await_launches
  %a = llvm.load %w : !llvm.ptr<1> -> f32
  llvm.return
}

// CHECK-LABEL: llvm.func @stays_as_it_is
llvm.func @stays_as_it_is(%x: !llvm.ptr<1>) {
  // CHECK-NEXT: llvm.load
  %a = llvm.load %x : !llvm.ptr<1> -> f32
  llvm.return
}
