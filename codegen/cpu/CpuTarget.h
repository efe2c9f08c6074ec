//===- CpuTarget.h - The CPU as a target ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_CPU_CPUTARGET_H
#define HOVA_CODEGEN_CPU_CPUTARGET_H

#include "codegen/Target.h"
#include "codegen/cpu/CpuFacts.h"
#include "codegen/cpu/IsaLevel.h"

namespace hova {

class CpuTarget final : public Target {
public:
  /// Code for one level of a program. `number` is its place among the
  /// program's levels; the names of its functions end with it.
  explicit CpuTarget(IsaLevel level, unsigned number = 0);

  FuseOptions getFuseOptions() const override;
  void addKernelForms(PhaseBuilder &phase) const override;
  void buildAssignPhase(PhaseBuilder &phase) const override;
  void buildTilePhase(PhaseBuilder &phase) const override;
  void buildVectorizePhase(PhaseBuilder &phase) const override;
  void buildTargetPhase(PhaseBuilder &phase) const override;
  llvm::LogicalResult checkCode(mlir::ModuleOp code) const override;
  int64_t getFlopsPerByte() const override { return CpuFacts::flopsPerByte; }

private:
  IsaLevel level;
  unsigned number;
  CpuFacts facts;
};

} // namespace hova

#endif // HOVA_CODEGEN_CPU_CPUTARGET_H
