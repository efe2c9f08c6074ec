//===- CudaKernelCode.h - The function of one kernel on a GPU -------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_CUDA_RECIPES_CUDAKERNELCODE_H
#define HOVA_CODEGEN_CUDA_RECIPES_CUDAKERNELCODE_H

#include "passes/tile/ProgramTiler.h"

namespace hova {

/// What a block of threads does, written by the recipe of the kernel's anchor.
class CudaKernelCode final : public KernelCode {
public:
  mlir::LogicalResult checkSchedule(KernelOp kernel) const override;
  bool holdsHalves(mlir::Operation *anchor) const override;
  bool sumsColumns(mlir::Operation *op) const override;
  int64_t getExecutedMacs(mlir::Operation *op) const override;
  /// The table of the run's sequences, where items differ in length.
  llvm::SmallVector<mlir::Value>
  createStageBuffers(mlir::OpBuilder &builder, const KernelBuffers &buffers,
                     llvm::ArrayRef<ArenaBlock> blocks,
                     int64_t number) const override;
  /// After the buffers the function takes the coordinates of its block and, in
  /// a program with ranges, the items and the tokens of the run, of two
  /// sequences each.
  mlir::FailureOr<mlir::func::FuncOp>
  emitFunction(mlir::OpBuilder &builder, llvm::StringRef name,
               const KernelBuffers &buffers) const override;
};

} // namespace hova

#endif // HOVA_CODEGEN_CUDA_RECIPES_CUDAKERNELCODE_H
