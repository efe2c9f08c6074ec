//===- Passes.h - The passes of the pipeline itself -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_PASSES_H
#define HOVA_CODEGEN_PASSES_H

#include "passes/PassHeaders.h"

namespace hova {

#define GEN_PASS_DECL
#include "codegen/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "codegen/Passes.h.inc"

/// The module of a lowered module that holds its code (DecomposeProgram.cpp).
inline constexpr llvm::StringLiteral kCodeName = "code";
/// Null: `target` has not run.
mlir::ModuleOp codeOf(mlir::ModuleOp module);

} // namespace hova

#endif // HOVA_CODEGEN_PASSES_H
