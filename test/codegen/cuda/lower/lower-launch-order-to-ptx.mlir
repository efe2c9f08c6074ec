// RUN: hova-opt %s --hova-lower-launch-order-to-ptx | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// CHECK-LABEL: llvm.func @writes_both
llvm.func @writes_both(%x: !llvm.ptr<1>) attributes {hova_cuda.settled = array<i64>} {
  // CHECK-NEXT: llvm.inline_asm has_side_effects asm_dialect = att "griddepcontrol.wait;", "~{memory}" : () -> ()
  // CHECK-NEXT: llvm.inline_asm has_side_effects asm_dialect = att "griddepcontrol.launch_dependents;", "~{memory}" : () -> ()
  // CHECK-NEXT: llvm.load
  hova_cuda.await_launches
  hova_cuda.allow_launches
  %a = llvm.load %x : !llvm.ptr<1> -> f32
  llvm.return
}
