// RUN: hova-opt %s --split-input-file --verify-diagnostics --hova-verify-device-code
// SPDX-License-Identifier: Apache-2.0

llvm.func @stores_to_others(%y: !llvm.ptr<1>, %v: f32) attributes {nvvm.kernel} {
  %0 = llvm.mlir.poison : !llvm.ptr<7>
  // expected-error@+1 {{reads the shared memory of other blocks, and writes none, in a kernel}}
  llvm.store %v, %0 : f32, !llvm.ptr<7>
  llvm.return
}

// -----

// expected-error@+1 {{expects clusters of at most 8 blocks along z, got array<i32: 2, 1, 1>}}
llvm.func @along_x(%y: !llvm.ptr<1>) attributes {nvvm.kernel, nvvm.cluster_dim = array<i32: 2, 1, 1>} {
  llvm.return
}

// -----

// expected-error@+1 {{expects clusters of at most 8 blocks along z, got array<i32: 1, 1, 16>}}
llvm.func @too_many(%y: !llvm.ptr<1>) attributes {nvvm.kernel, nvvm.cluster_dim = array<i32: 1, 1, 16>} {
  llvm.return
}
