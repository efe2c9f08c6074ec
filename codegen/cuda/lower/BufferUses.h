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

/// What an operation does with global memory; no address: nothing.
struct GlobalAccess {
  mlir::Value address;
  bool writes = false;
};
GlobalAccess globalAccessOf(mlir::Operation *op);

/// Whether an address is computed of arguments of the kernel alone that have
/// these numbers.
bool isOneOf(mlir::Value address, llvm::ArrayRef<int64_t> arguments);

} // namespace hova

#endif // HOVA_CODEGEN_CUDA_LOWER_BUFFERUSES_H
