//===- CpuKernelCode.h - The function of one kernel on a CPU --------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_CPU_RECIPES_CPUKERNELCODE_H
#define HOVA_CODEGEN_CPU_RECIPES_CPUKERNELCODE_H

#include "passes/tile/ProgramTiler.h"

namespace hova {

/// Loops over buffers, written by the recipes of the kernel's operations.
class CpuKernelCode final : public KernelCode {
public:
  int64_t getScratchBytes(KernelOp kernel,
                          const Schedule &schedule) const override;
  int64_t getExecutedMacs(mlir::Operation *op,
                          const Schedule &schedule) const override;
  llvm::SmallVector<int64_t>
  getUnitCosts(KernelOp kernel, const Schedule &schedule) const override;
  std::optional<unsigned> getOverwritable(KernelOp kernel,
                                          unsigned result) const override;
  mlir::FailureOr<mlir::func::FuncOp>
  emitFunction(mlir::OpBuilder &builder, llvm::StringRef name,
               const KernelBuffers &buffers) const override;
};

} // namespace hova

#endif // HOVA_CODEGEN_CPU_RECIPES_CPUKERNELCODE_H
