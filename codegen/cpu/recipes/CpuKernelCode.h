//===- CpuKernelCode.h - The function of one kernel on a CPU --------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_CPU_RECIPES_CPUKERNELCODE_H
#define HOVA_CODEGEN_CPU_RECIPES_CPUKERNELCODE_H

#include "passes/tile/ProgramTiler.h"

namespace hova {

/// Loops over buffers, written by the recipes of the kernel's operations.
class CpuKernelCode final : public KernelCode {
public:
  mlir::LogicalResult checkSchedule(KernelOp kernel) const override;
  int64_t getExecutedMacs(mlir::Operation *op) const override;
  std::optional<unsigned> getOverwritable(KernelOp kernel,
                                          unsigned result) const override;
  /// Those that lie in rows of a thread's chunk.
  llvm::SmallVector<mlir::Value>
  getStageBuffers(KernelOp kernel) const override;
  llvm::SmallVector<mlir::Value>
  createStageBuffers(mlir::OpBuilder &builder, const KernelBuffers &buffers,
                     llvm::ArrayRef<ArenaBlock> blocks,
                     int64_t number) const override;
  /// After the buffers the function takes scratch, the first unit and the end
  /// of the units. What passes between its stages in another layout than rows
  /// is in its scratch.
  mlir::FailureOr<mlir::func::FuncOp>
  emitFunction(mlir::OpBuilder &builder, llvm::StringRef name,
               const KernelBuffers &buffers) const override;
};

} // namespace hova

#endif // HOVA_CODEGEN_CPU_RECIPES_CPUKERNELCODE_H
