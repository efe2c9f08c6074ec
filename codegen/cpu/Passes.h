//===- Passes.h - Passes of the CPU target and its phase builders ---------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_CPU_PASSES_H
#define HOVA_CODEGEN_CPU_PASSES_H

#include "codegen/Pipeline.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "passes/Passes.h"

namespace hova {

#define GEN_PASS_DECL
#include "codegen/cpu/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "codegen/cpu/Passes.h.inc"

/// The function of hova_runtime.h that generated code calls.
inline constexpr llvm::StringLiteral kRunLaunches = "hova_run_launches";

/// The module of a lowered module that holds its code (DecomposeProgram.cpp).
inline constexpr llvm::StringLiteral kCodeName = "code";
/// Null: `target` has not run.
mlir::ModuleOp codeOf(mlir::ModuleOp module);

/// The schedule for the first level of the options.
void buildAssignPhase(PhaseBuilder &phase, const PipelineOptions &options);
/// Kernels in vector form to the LLVM dialect.
void buildTargetPhase(PhaseBuilder &phase, const PipelineOptions &options);

} // namespace hova

#endif // HOVA_CODEGEN_CPU_PASSES_H
