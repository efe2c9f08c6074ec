// RUN: hova-opt %s --split-input-file --hova-verify-lowered --verify-diagnostics

// Kernels may be called, and the runtime's walk.
llvm.func @hova_run_launches(!llvm.ptr, i64, i64)
llvm.func @kernel(%x: !llvm.ptr) {
  llvm.return
}
llvm.func @hova_run(%x: !llvm.ptr, %i: i64) {
  llvm.call @kernel(%x) : (!llvm.ptr) -> ()
  llvm.call @hova_run_launches(%x, %i, %i) : (!llvm.ptr, i64, i64) -> ()
  llvm.return
}

// -----

// expected-error@+1 {{generated code calls 'expf'}}
llvm.func @expf(f32) -> f32

// -----

llvm.func @k(%x: f32) -> f32 {
  // expected-error@+1 {{lowered program still holds 'arith.addf'}}
  %y = arith.addf %x, %x : f32
  llvm.return %y : f32
}
