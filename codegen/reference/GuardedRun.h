//===- GuardedRun.h - A compiled program between guard pages --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Runs a compiled program with memory of its own for every buffer of every
// kernel: inputs and weights read-only, outputs, values of the arena, and for
// each call scratch and the rows of its chunk, each between pages that fault
// (GuardedMemory.h). What nothing has written yet are NaNs.

#ifndef HOVA_CODEGEN_REFERENCE_GUARDEDRUN_H
#define HOVA_CODEGEN_REFERENCE_GUARDEDRUN_H

#include "codegen/reference/CompiledProgram.h"
#include "codegen/reference/GuardedMemory.h"
#include "mlir/IR/BuiltinOps.h"

namespace hova {

/// What a kernel is called with.
struct GuardedLaunch {
  struct Buffer {
    std::string name; ///< of an arena value or weight; empty: others
    int64_t bytes;    ///< of one row, where it is of a thread's chunk
    int64_t elementBytes;
    /// Where the buffer begins in the value of `bytes` bytes that it is rows
    /// of.
    int64_t within = 0;
  };
  llvm::SmallVector<Buffer> buffers;
  int64_t scratchBytes;
};

/// Of a module after `tile`, in the order of its launches.
std::vector<GuardedLaunch> planGuards(mlir::ModuleOp tiled);

/// How a guarded run ended.
struct GuardedResult {
  /// F32; empty after a fault.
  llvm::SmallVector<HostTensor> outputs;
  /// The access that was not allowed, as a sentence; empty: none.
  std::string fault;
  int32_t kernel = -1; ///< that did it
};

llvm::Expected<GuardedResult> runGuarded(CompiledProgram &program,
                                         llvm::ArrayRef<GuardedLaunch> launches,
                                         llvm::ArrayRef<HostTensor> inputs,
                                         int32_t threads,
                                         GuardedMemory::Flush flush);

} // namespace hova

#endif // HOVA_CODEGEN_REFERENCE_GUARDEDRUN_H
