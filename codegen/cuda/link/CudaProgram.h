//===- CudaProgram.h - Programs for GPUs ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_CUDA_LINK_CUDAPROGRAM_H
#define HOVA_CODEGEN_CUDA_LINK_CUDAPROGRAM_H

#include "codegen/cuda/facts/GpuFacts.h"
#include "codegen/program/ProgramTarget.h"

namespace hova {

/// What runs the kernels of a program.
enum class CudaMachine {
  Device,   ///< a GPU, through its driver
  Emulated, ///< a processor that checks what it runs (runtime/emulation)
};

/// Instead of a path: no machine code.
inline constexpr llvm::StringLiteral kNoPtxas = "none";

class CudaProgram final : public ProgramTarget {
public:
  using Levels = llvm::SmallVector<const GpuFacts *>;

  /// Levels are the best first; at least one. `ptxas` is the path of what makes
  /// machine code for them: empty for what is found, and `kNoPtxas` for none.
  /// `areDefault`: nobody has said which levels, so that a program may lack
  /// those after the first.
  CudaProgram(const TargetFacts &facts, CudaMachine machine, Levels levels,
              std::string ptxas = "", bool areDefault = false)
      : ProgramTarget(facts), machine(machine), levels(std::move(levels)),
        ptxas(std::move(ptxas)), areDefault(areDefault) {}

  std::vector<std::string> getLevels() const override;
  std::shared_ptr<const ProgramTarget> withFirstLevel() const override {
    return std::make_shared<CudaProgram>(
        getFacts(), machine, Levels{levels.front()}, ptxas, areDefault);
  }
  bool mayLack(size_t level) const override { return areDefault && level > 0; }
  std::shared_ptr<const Target> getTarget(size_t level) const override;
  std::string getRuntime() const override {
    return machine == CudaMachine::Device ? "cuda" : "cuda-emulated";
  }
  bool runsOnDevice() const override { return machine == CudaMachine::Device; }
  std::unique_ptr<ProgramCode>
  makeCode(mlir::MLIRContext *context,
           const CompileOptions &options) const override;

private:
  CudaMachine machine;
  Levels levels;
  std::string ptxas;
  bool areDefault;
};

} // namespace hova

#endif // HOVA_CODEGEN_CUDA_LINK_CUDAPROGRAM_H
