//===- CudaTarget.h - GPUs as a target ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_CUDA_CUDATARGET_H
#define HOVA_CODEGEN_CUDA_CUDATARGET_H

#include "codegen/Target.h"
#include "codegen/cuda/facts/GpuFacts.h"

namespace hova {

/// Kernels for GPUs of one level of a program.
class CudaTarget final : public Target {
public:
  /// What a kernel is, all levels share: `first`, the best, decides it, unless
  /// another one cannot run it: `haveClusters` says that all have clusters.
  CudaTarget(const GpuFacts &first, const GpuFacts &gpu, bool haveClusters)
      : first(first), gpu(gpu), haveClusters(haveClusters) {}

  FuseOptions getFuseOptions() const override;
  void addKernelForms(PhaseBuilder &phase) const override;
  void buildAssignPhase(PhaseBuilder &phase) const override;
  void buildTilePhase(PhaseBuilder &phase) const override;
  void buildVectorizePhase(PhaseBuilder &phase) const override;
  void buildTargetPhase(PhaseBuilder &phase) const override;
  llvm::LogicalResult checkCode(mlir::ModuleOp code) const override;
  int64_t getFlopsPerByte() const override;

private:
  const GpuFacts &first, &gpu;
  bool haveClusters;
};

} // namespace hova

#endif // HOVA_CODEGEN_CUDA_CUDATARGET_H
