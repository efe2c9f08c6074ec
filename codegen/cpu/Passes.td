//===- Passes.td - Passes of the CPU target -------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_CPU_PASSES
#define HOVA_CODEGEN_CPU_PASSES

include "mlir/Pass/PassBase.td"

def AssignCpuSchedulePass : Pass<"hova-assign-cpu-schedule", "::mlir::ModuleOp"> {
  let summary = "Choose tiles, stages and layouts for a CPU";
  let description = [{
    Before: a fused program. After: every kernel carries its schedule
    (passes/Schedule.h): what threads divide, the register tile, the vector
    length, the smallest share; every operation of a row kernel its stage; every
    weight that a product reads its panels. Nothing else has changed, but that a
    weight read both as a product's operand and otherwise is stored once for
    each. All figures are chosen in this one file.

    ```mlir
    func.func @main(%x: tensor<1x4x8xf32>) -> tensor<1x4x8xf32> {
      %r = hova.kernel "main" (%x) attributes {hova.block = 256 : i64, hova.depth = 256 : i64, hova.grain = 4 : i64, hova.lanes = 64 : i64, hova.tile = array<i64: 6, 64>, parallel = #hova<parallel rows>} {
      ^bb0(%a: tensor<1x4x8xf32>):
        %t = hova.activation relu %a {hova.stage = 0 : i64} : tensor<1x4x8xf32>
        hova.yield %t : tensor<1x4x8xf32>
      } : (tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
      return %r : tensor<1x4x8xf32>
    }
    ```
  }];
  let options = [
    Option<"avx512", "avx512", "bool", "true",
           "32 registers of 512 bits; else 16 of 256">,
  ];
  let dependentDialects = ["::hova::HovaDialect"];
}

def VerifyAssignedPass : Pass<"hova-verify-assigned", "::mlir::ModuleOp"> {
  let summary = "Check the promise of assign";
  let description = [{
    Every kernel has a complete schedule, and every operation of a row kernel
    but column slices has a stage whose operands come from no later one.
  }];
}

def LowerLaunchesPass : Pass<"hova-lower-launches", "::mlir::ModuleOp"> {
  let summary = "Turn main into the function that every thread runs";
  let description = [{
    Before: `main` is a list of launches on buffers. After: `hova_run` (with the
    level's suffix) takes pointers to inputs, outputs, arena and image, the
    thread, the number of threads and the team (hova_run_fn of
    hova_runtime.h); it calls each kernel on the thread's share of units and
    meets the others at `hova_barrier`. The weight program is gone: it is not
    part of the code.
  }];
  let options = [
    Option<"suffix", "suffix", "std::string", "\"\"", "end of the name hova_run">,
  ];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::scf::SCFDialect",
      "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect"];
}

def VerifyLoweredPass : Pass<"hova-verify-lowered", "::mlir::ModuleOp"> {
  let summary = "Check the promise of target";
  let description = [{
    Every operation is of the LLVM dialect, and no function calls anything but
    kernels and the barrier: no scalar library function survives.
  }];
}

#endif // HOVA_CODEGEN_CPU_PASSES
