//===- LaunchOps.td - The order of a launch and those before it -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// From compute capability 9.0 on a launch may begin while the one before it
// still runs, if a programmatic edge of the graph joins them. What it then must
// not touch yet no hardware says: its kernel waits.

#ifndef HOVA_CODEGEN_CUDA_LAUNCHOPS
#define HOVA_CODEGEN_CUDA_LAUNCHOPS

include "codegen/cuda/HovaCudaDialect.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def HovaCuda_AwaitLaunchesOp
    : HovaCuda_Op<"await_launches", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "a thread's wait for the end of all launches before its own";
  let description = [{
    `griddepcontrol.wait`: the thread goes on when the launch before has ended
    and what it wrote is seen. That one waited itself, in every thread, so that
    all launches before it have ended too. Another thread's wait says nothing:
    each has its own, and one that reads nothing as well, because a launch that
    ended without it would let the next one pass those before. Where the launch
    depends on no other in this way, nothing is waited for.

    Before it a thread reads no global memory but what no launch before writes
    (`hova_cuda.settled`), and writes none. `hova-verify-launch-order` checks it.

    ```mlir
    llvm.func @copy(%x: !llvm.ptr<1>, %w: !llvm.ptr<1>, %y: !llvm.ptr<1>)
        attributes {hova_cuda.settled = array<i64: 1>, nvvm.kernel} {
      %a = llvm.load %w : !llvm.ptr<1> -> f32
      hova_cuda.await_launches
      hova_cuda.allow_launches
      %b = llvm.load %x : !llvm.ptr<1> -> f32
      %c = llvm.fadd %a, %b : f32
      llvm.store %c, %y : f32, !llvm.ptr<1>
      llvm.return
    }
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def HovaCuda_AllowLaunchesOp
    : HovaCuda_Op<"allow_launches", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "a block's leave for the next launch to begin";
  let description = [{
    `griddepcontrol.launch_dependents`: blocks of the launch behind a programmatic
    edge may begin when all blocks of this one have come here or have ended. They
    wait for the end of this launch all the same: the place says when a
    multiprocessor may give them room, and nothing about memory.

    ```mlir
    llvm.func @last(%y: !llvm.ptr<1>) attributes {hova_cuda.settled = array<i64>, nvvm.kernel} {
      hova_cuda.await_launches
      hova_cuda.allow_launches
      llvm.return
    }
    ```
  }];
  let assemblyFormat = "attr-dict";
}

#endif // HOVA_CODEGEN_CUDA_LAUNCHOPS
