//===- Ptx.h - Kernels as PTX ---------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_CUDA_LINK_PTX_H
#define HOVA_CODEGEN_CUDA_LINK_PTX_H

#include "codegen/cuda/facts/GpuFacts.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"
#include <string>

namespace hova {

/// The text that LLVM's back end makes of kernels in the LLVM and NVVM dialects
/// for a GPU. An error says what could not be translated.
llvm::Expected<std::string> translateToPtx(mlir::ModuleOp module,
                                           const GpuFacts &gpu);

/// The LLVM IR that this text is made from.
llvm::Expected<std::string> translateToLlvm(mlir::ModuleOp module,
                                            const GpuFacts &gpu);

} // namespace hova

#endif // HOVA_CODEGEN_CUDA_LINK_PTX_H
