//===- Passes.h - Passes of the CUDA target -------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_CUDA_PASSES_H
#define HOVA_CODEGEN_CUDA_PASSES_H

#include "codegen/cuda/HovaCudaDialect.h"
#include "dialect/group/GroupOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

namespace hova {

#define GEN_PASS_DECL
#include "codegen/cuda/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "codegen/cuda/Passes.h.inc"

using AddPass = llvm::function_ref<void(std::unique_ptr<mlir::Pass>)>;

/// Adds what takes functions of group operations to kernels in the LLVM and
/// NVVM dialects alone: `--hova-lower-to-nvvm`.
void buildLowerToNvvm(AddPass add);

/// Registers the passes of this target and the pipeline.
void registerCudaPasses();

/// Registers the dialects that kernels of this target end in.
void registerCudaDialects(mlir::DialectRegistry &registry);

} // namespace hova

#endif // HOVA_CODEGEN_CUDA_PASSES_H
