//===- BufferUses.h - What kernels do with their buffers ------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_CUDA_LOWER_BUFFERUSES_H
#define HOVA_CODEGEN_CUDA_LOWER_BUFFERUSES_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace hova {

struct BufferUse {
  bool isRead = false, isWritten = false;
};

/// What a kernel in the LLVM and NVVM dialects does with the memory that its
/// arguments point to, argument by argument.
llvm::SmallVector<BufferUse> getBufferUses(mlir::LLVM::LLVMFuncOp kernel);

} // namespace hova

#endif // HOVA_CODEGEN_CUDA_LOWER_BUFFERUSES_H
