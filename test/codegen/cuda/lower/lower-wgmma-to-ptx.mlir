// RUN: hova-opt %s --hova-lower-wgmma-to-ptx | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// Two products of 16 columns each: chunks of rows of 64 bytes lie in groups of eight rows of 512 bytes, 32 units of 16.
// CHECK-LABEL: llvm.func @writes_descriptors
// CHECK-SAME: (%[[X:.*]]: !llvm.ptr<3>, %[[W:.*]]: !llvm.ptr<3>, %[[S:.*]]: f32)
llvm.func @writes_descriptors(%x: !llvm.ptr<3>, %w: !llvm.ptr<3>, %s: f32) -> f32 {
  // CHECK-DAG: %[[XA:.*]] = llvm.ptrtoint %[[X]] : !llvm.ptr<3> to i32
  // CHECK-DAG: %[[WA:.*]] = llvm.ptrtoint %[[W]] : !llvm.ptr<3> to i32
  // CHECK: %[[P:.*]] = llvm.inline_asm has_side_effects asm_dialect = att "{ .reg .b32 %wa, %wb; .reg .b64 %wx, %wy;
  // CHECK-SAME: wgmma.fence.sync.aligned;
  // CHECK-SAME: shr.u32 %wa, $4, 4; or.b32 %wa, %wa, 65536; shr.u32 %wb, $5, 4; or.b32 %wb, %wb, 65536;
  // CHECK-SAME: mov.b64 %wx, {%wa, 2147483680}; mov.b64 %wy, {%wb, 2147483680};
  // CHECK-SAME: wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {$0, $1, $2, $3}, %wx, %wy, 1, 1, 1, 0, 0;
  // CHECK-SAME: add.u32 %wa, %wa, 2;
  // CHECK-SAME: add.u32 %wb, %wb, 2;
  // CHECK-SAME: wgmma.mma_async
  // CHECK-SAME: wgmma.commit_group.sync.aligned; }", "=f,=f,=f,=f,r,r,0,1,2,3" %[[XA]], %[[WA]], %[[S]], %[[S]], %[[S]], %[[S]]
  %u:4 = hova_cuda.wgmma f16, (%x), %w to (%s, %s, %s, %s) {row_bytes = 64 : i64} : !llvm.ptr<3>
  // CHECK: %[[U:.*]] = llvm.extractvalue %[[P]][0]
  // CHECK: llvm.inline_asm has_side_effects asm_dialect = att "wgmma.wait_group.sync.aligned 0;", "=f,=f,=f,=f,0,1,2,3" %[[U]]
  %r:4 = hova_cuda.wgmma_wait 0, (%u#0, %u#1, %u#2, %u#3)
  llvm.return %r#1 : f32
}

// CHECK-LABEL: llvm.func @takes_a_left_operand_of_registers
llvm.func @takes_a_left_operand_of_registers(%w: !llvm.ptr<3>, %a: i32, %b: i32, %s: f32) {
  // CHECK: wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {$0, $1, $2, $3}, {$4, $5, $6, $7}, %wy, 1, 1, 1, 0;
  // CHECK-SAME: {$0, $1, $2, $3}, {$8, $9, $10, $11}, %wy, 1, 1, 1, 0;
  %u:4 = hova_cuda.wgmma bf16, (%a, %a, %a, %a, %b, %b, %b, %b), %w to (%s, %s, %s, %s) {row_bytes = 64 : i64}
      : i32, i32, i32, i32, i32, i32, i32, i32
  llvm.return
}
