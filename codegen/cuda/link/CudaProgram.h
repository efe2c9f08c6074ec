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
  /// `ptxas` is the path of what makes machine code for `gpu`: empty for what
  /// is found, and `kNoPtxas` for none.
  CudaProgram(const TargetFacts &facts, CudaMachine machine,
              const GpuFacts &gpu, std::string ptxas = "")
      : ProgramTarget(facts), machine(machine), gpu(gpu),
        ptxas(std::move(ptxas)) {}

  std::vector<std::string> getLevels() const override {
    return {gpu.name.str()};
  }
  std::shared_ptr<const ProgramTarget> withFirstLevel() const override {
    return std::make_shared<CudaProgram>(getFacts(), machine, gpu, ptxas);
  }
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
  const GpuFacts &gpu;
  std::string ptxas;
};

} // namespace hova

#endif // HOVA_CODEGEN_CUDA_LINK_CUDAPROGRAM_H
