// RUN: hova-opt %s --hova-verify-device-code --split-input-file --verify-diagnostics
// SPDX-License-Identifier: Apache-2.0

llvm.mlir.global external @memory() {addr_space = 3 : i32} : !llvm.array<0 x i8>
llvm.func @accepts_what_is_in_the_table(%x: !llvm.ptr<1>, %n: i32, %f: f32) attributes {nvvm.kernel} {
  %t = nvvm.read.ptx.sreg.tid.x : i32
  %p = llvm.getelementptr %x[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  %v = llvm.load %p : !llvm.ptr<1> -> vector<4xf32>
  %m = llvm.intr.maxnum(%f, %f) {fastmathFlags = #llvm.fastmath<nnan, nsz>} : (f32, f32) -> f32
  %e = llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"(%m) : (f32) -> f32
  %s = llvm.mlir.addressof @memory : !llvm.ptr<3>
  llvm.store %e, %s : f32, !llvm.ptr<3>
  nvvm.barrier
  llvm.return
}

// -----

llvm.func @refuses_inline_assembly(%n: i32) attributes {nvvm.kernel} {
  // expected-error@+1 {{'llvm.inline_asm' op is not allowed in a kernel: nobody but the assembler could read its text}}
  %r = llvm.inline_asm "mov.b32 $0, $1;", "=r,r" %n : (i32) -> i32
  llvm.return
}

// -----

llvm.func @refuses_inline_ptx() attributes {nvvm.kernel} {
  // expected-error@+1 {{'nvvm.inline_ptx' op is not allowed in a kernel: nobody but the assembler could read its text}}
  nvvm.inline_ptx "bar.sync 0;"
  llvm.return
}

// -----

llvm.func @refuses_operations_without_an_entry() attributes {nvvm.kernel} {
  // expected-error@+1 {{'nvvm.read.ptx.sreg.clock' op is not allowed in a kernel: the table of codegen/cuda/lower/DeviceOperations.cpp does not have it}}
  %c = nvvm.read.ptx.sreg.clock : i32
  llvm.return
}

// -----

llvm.func @refuses_intrinsics_without_an_entry(%f: f32) attributes {nvvm.kernel} {
  // expected-error@+1 {{is not allowed in a kernel: 'llvm.nvvm.sin.approx.f': the table}}
  %s = llvm.call_intrinsic "llvm.nvvm.sin.approx.f"(%f) : (f32) -> f32
  llvm.return
}

// -----

llvm.func @refuses_flags_that_let_assemblers_fuse(%f: f32) attributes {nvvm.kernel} {
  // expected-error@+1 {{allows the flags nnan, ninf and nsz alone}}
  %s = llvm.fmul %f, %f {fastmathFlags = #llvm.fastmath<contract>} : f32
  llvm.return
}

// -----

llvm.func @refuses_arithmetic_of_bf16(%f: bf16) attributes {nvvm.kernel} {
  // expected-error@+1 {{'llvm.fadd' op computes in f32 alone in a kernel}}
  %s = llvm.fadd %f, %f : bf16
  llvm.return
}

// -----

// expected-error@+1 {{expects numbers and pointers to global memory, got '!llvm.ptr' as argument 0}}
llvm.func @refuses_generic_pointers(%p: !llvm.ptr) attributes {nvvm.kernel} {
  llvm.return
}

// -----

llvm.func @refuses_casts_to_generic_pointers(%p: !llvm.ptr<1>) attributes {nvvm.kernel} {
  // expected-error@+1 {{'llvm.addrspacecast' op is not allowed in a kernel}}
  %g = llvm.addrspacecast %p : !llvm.ptr<1> to !llvm.ptr
  llvm.return
}

// -----

llvm.func @refuses_volatile_accesses(%p: !llvm.ptr<1>) attributes {nvvm.kernel} {
  // expected-error@+1 {{'llvm.load' op is neither atomic nor volatile in a kernel}}
  %v = llvm.load volatile %p : !llvm.ptr<1> -> i32
  llvm.return
}

// -----

llvm.func @refuses_vectors_of_three(%p: !llvm.ptr<1>) attributes {nvvm.kernel} {
  // expected-error@+1 {{'llvm.load' op moves 1, 2, 4, 8 or 16 bytes of numbers in a kernel}}
  %v = llvm.load %p : !llvm.ptr<1> -> vector<3xf32>
  llvm.return
}

// -----

llvm.func @refuses_named_barriers(%n: i32) attributes {nvvm.kernel} {
  // expected-error@+1 {{'nvvm.barrier' op meets all threads of a block at barrier 0 in a kernel}}
  nvvm.barrier id = %n
  llvm.return
}

// -----

// expected-error@+1 {{'llvm.func' op is no kernel with a body}}
llvm.func @refuses_functions_beside_kernels()

// -----

// expected-error@+1 {{is not allowed beside kernels}}
llvm.mlir.global internal constant @refuses_constants(1 : i32) : i32

// -----

llvm.func @refuses_approximations_of_bf16(%f: bf16) attributes {nvvm.kernel} {
  // expected-error@+1 {{maps one f32 to one f32 in a kernel}}
  %e = llvm.call_intrinsic "llvm.nvvm.ex2.approx.f32"(%f) : (bf16) -> bf16
  llvm.return
}

// -----

llvm.func @refuses_comparisons_of_pointers(%p: !llvm.ptr<1>) attributes {nvvm.kernel} {
  // expected-error@+1 {{'llvm.icmp' op compares integers, and no pointers, in a kernel}}
  %c = llvm.icmp "eq" %p, %p : !llvm.ptr<1>
  llvm.return
}

// -----

llvm.func @refuses_fences_of_other_proxies() attributes {nvvm.kernel} {
  nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
  // expected-error@+1 {{'nvvm.fence.proxy' op orders shared memory of the block before what is asynchronous in a kernel}}
  nvvm.fence.proxy {kind = #nvvm.proxy_kind<alias>}
  llvm.return
}
