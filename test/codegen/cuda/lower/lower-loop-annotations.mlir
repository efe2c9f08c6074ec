// RUN: hova-opt %s --hova-lower-loop-annotations | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// CHECK-LABEL: @branch
// CHECK: llvm.br ^bb1 {loop_annotation =
llvm.func @branch() {
  llvm.br ^bb1
^bb1:
  llvm.br ^bb1 {llvm.loop_annotation = #llvm.loop_annotation<unroll = <disable = true>>}
}

// CHECK-LABEL: @conditional_branch
// CHECK: llvm.cond_br %{{[a-z0-9]+}}, ^bb1, ^bb2 {loop_annotation =
llvm.func @conditional_branch(%c: i1) {
  llvm.br ^bb1
^bb1:
  llvm.cond_br %c, ^bb1, ^bb2 {llvm.loop_annotation = #llvm.loop_annotation<unroll = <disable = true>>}
^bb2:
  llvm.return
}

// CHECK-LABEL: @without
// CHECK-NOT: loop_annotation
llvm.func @without() {
  llvm.br ^bb1
^bb1:
  llvm.return
}
