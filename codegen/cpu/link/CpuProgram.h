//===- CpuProgram.h - Programs for the CPU --------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_CPU_LINK_CPUPROGRAM_H
#define HOVA_CODEGEN_CPU_LINK_CPUPROGRAM_H

#include "codegen/cpu/IsaLevel.h"
#include "codegen/program/ProgramTarget.h"

namespace hova {

class CpuProgram final : public ProgramTarget {
public:
  /// ISA levels, best first; at least one.
  CpuProgram(const TargetFacts &facts, llvm::SmallVector<IsaLevel> levels);

  std::vector<std::string> getLevels() const override;
  std::shared_ptr<const ProgramTarget> withFirstLevel() const override;
  std::shared_ptr<const Target> getTarget(size_t level) const override;
  std::unique_ptr<ProgramCode>
  makeCode(mlir::MLIRContext *context,
           const CompileOptions &options) const override;

private:
  llvm::SmallVector<IsaLevel> levels;
};

} // namespace hova

#endif // HOVA_CODEGEN_CPU_LINK_CPUPROGRAM_H
