//===- SharedMemory.h - What the levels of a program share ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_PROGRAM_SHAREDMEMORY_H
#define HOVA_CODEGEN_PROGRAM_SHAREDMEMORY_H

#include "mlir/IR/BuiltinOps.h"

namespace hova {

/// A program has one descriptor, one arena and one image of packed weights,
/// whichever of its ISA levels runs. Fails with an error on `other`'s main
/// function where the two, both of the phase `tile`, disagree in bytes of the
/// arena, inputs, types of inputs and outputs, or in the image: its bytes and
/// what stands where.
llvm::LogicalResult verifySharedMemory(mlir::ModuleOp first,
                                       llvm::StringRef firstLevel,
                                       mlir::ModuleOp other,
                                       llvm::StringRef otherLevel);

} // namespace hova

#endif // HOVA_CODEGEN_PROGRAM_SHAREDMEMORY_H
