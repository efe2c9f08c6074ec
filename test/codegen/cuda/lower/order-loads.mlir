// RUN: hova-opt %s -split-input-file --hova-order-loads=registers=2 | FileCheck %s
// SPDX-License-Identifier: Apache-2.0
//
// How many registers loads hold ahead, and what keeps a load where it stands.

// Two loads are on their way, and the third begins when the first was used.
// CHECK-LABEL: @some_at_a_time
llvm.func @some_at_a_time(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>, %one: f32) {
  %x1 = llvm.getelementptr %x[1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
  %x2 = llvm.getelementptr %x[2] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
  %y1 = llvm.getelementptr %y[1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
  %y2 = llvm.getelementptr %y[2] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
  %0 = llvm.load %x : !llvm.ptr<1> -> f32
  %1 = llvm.load %x1 : !llvm.ptr<1> -> f32
  %2 = llvm.load %x2 : !llvm.ptr<1> -> f32
  %3 = llvm.fadd %0, %one : f32
  %4 = llvm.fadd %1, %one : f32
  %5 = llvm.fadd %2, %one : f32
  // CHECK: %[[X0:.*]] = llvm.load
  // CHECK: %[[X1:.*]] = llvm.load
  // CHECK-NOT: llvm.load
  // CHECK: %[[S0:.*]] = llvm.fadd %[[X0]]
  // CHECK-NEXT: llvm.store %[[S0]]
  llvm.store %3, %y : f32, !llvm.ptr<1>
  // CHECK: %[[X2:.*]] = llvm.load
  // CHECK: %[[S1:.*]] = llvm.fadd %[[X1]]
  // CHECK-NEXT: llvm.store %[[S1]]
  llvm.store %4, %y1 : f32, !llvm.ptr<1>
  // CHECK: %[[S2:.*]] = llvm.fadd %[[X2]]
  // CHECK: llvm.store %[[S2]]
  llvm.store %5, %y2 : f32, !llvm.ptr<1>
  llvm.return
}

// -----

// A store under a condition is a step as well; what several steps need begins before the first.
// CHECK-LABEL: @conditions
llvm.func @conditions(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>, %is: i1) {
  %x1 = llvm.getelementptr %x[4] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
  %safe = arith.select %is, %x1, %x : !llvm.ptr<1>
  %0 = llvm.load %safe : !llvm.ptr<1> -> vector<2xf32>
  %1 = llvm.load %x : !llvm.ptr<1> -> vector<2xf32>
  %2 = llvm.fadd %0, %1 : vector<2xf32>
  // CHECK: %[[A:.*]] = llvm.load
  // CHECK: scf.if
  // CHECK-NEXT: llvm.store %[[A]]
  scf.if %is {
    llvm.store %1, %y : vector<2xf32>, !llvm.ptr<1>
  }
  // CHECK: %[[B:.*]] = llvm.load
  // CHECK: %[[SUM:.*]] = llvm.fadd %[[B]], %[[A]]
  // CHECK-NEXT: llvm.store %[[SUM]]
  llvm.store %2, %y : vector<2xf32>, !llvm.ptr<1>
  llvm.return
}

// -----

// What a kernel writes may be what it reads.
// CHECK-LABEL: @written
llvm.func @written(%x: !llvm.ptr<1>) {
  %x1 = llvm.getelementptr %x[1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
  %x2 = llvm.getelementptr %x[2] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
  // CHECK-COUNT-3: llvm.load
  // CHECK-COUNT-3: llvm.store
  %0 = llvm.load %x : !llvm.ptr<1> -> f32
  %1 = llvm.load %x1 : !llvm.ptr<1> -> f32
  %2 = llvm.load %x2 : !llvm.ptr<1> -> f32
  llvm.store %1, %x : f32, !llvm.ptr<1>
  llvm.store %2, %x1 : f32, !llvm.ptr<1>
  llvm.store %0, %x2 : f32, !llvm.ptr<1>
  llvm.return
}

// -----

// Few enough loads stay together.
// CHECK-LABEL: @few
llvm.func @few(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>) {
  %x1 = llvm.getelementptr %x[1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
  // CHECK-COUNT-2: llvm.load
  // CHECK: llvm.store
  %0 = llvm.load %x : !llvm.ptr<1> -> f32
  %1 = llvm.load %x1 : !llvm.ptr<1> -> f32
  llvm.store %0, %y : f32, !llvm.ptr<1>
  llvm.store %1, %y : f32, !llvm.ptr<1>
  llvm.return
}

// -----

// Of a pointer that comes from another block nobody asks which buffer it is in.
// CHECK-LABEL: @of_another_block
llvm.func @of_another_block(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>) {
  llvm.br ^bb1(%y : !llvm.ptr<1>)
^bb1(%p: !llvm.ptr<1>):
  %p1 = llvm.getelementptr %p[1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
  %p2 = llvm.getelementptr %p[2] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
  // CHECK-COUNT-3: llvm.load
  // CHECK-COUNT-3: llvm.store
  %0 = llvm.load %p : !llvm.ptr<1> -> f32
  %1 = llvm.load %p1 : !llvm.ptr<1> -> f32
  %2 = llvm.load %p2 : !llvm.ptr<1> -> f32
  llvm.store %1, %y : f32, !llvm.ptr<1>
  llvm.store %2, %y : f32, !llvm.ptr<1>
  llvm.store %0, %y : f32, !llvm.ptr<1>
  llvm.return
}
