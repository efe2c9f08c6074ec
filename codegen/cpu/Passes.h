//===- Passes.h - Passes of the CPU target --------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_CPU_PASSES_H
#define HOVA_CODEGEN_CPU_PASSES_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "passes/PassHeaders.h"

namespace hova {

#define GEN_PASS_DECL
#include "codegen/cpu/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "codegen/cpu/Passes.h.inc"

/// The function of hova_runtime.h that generated code calls.
inline constexpr llvm::StringLiteral kRunLaunches = "hova_run_launches";

} // namespace hova

#endif // HOVA_CODEGEN_CPU_PASSES_H
