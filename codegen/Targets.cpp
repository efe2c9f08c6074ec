//===- Targets.cpp - The targets that hova knows --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The only file outside a target's folder that includes its headers.

#include "codegen/Targets.h"
#include "codegen/cpu/CpuTarget.h"
#include "codegen/cpu/HovaCpuDialect.h"
#include "codegen/cpu/Passes.h"
#include "codegen/cpu/link/CpuProgram.h"
#include "codegen/cpu/recipes/Recipe.h"
#include "codegen/cpu/vectorize/Passes.h"
#include "codegen/cuda/HovaCudaDialect.h"
#include "codegen/cuda/Passes.h"
#include "codegen/cuda/Sm80.h"
#include "codegen/cuda/link/CudaProgram.h"
#include "codegen/cuda/recipes/Recipe.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"

namespace hova {

namespace {
using MakeProgram = llvm::Expected<std::shared_ptr<const ProgramTarget>> (*)(
    const TargetChoice &);

/// One row for each target.
struct TargetRow {
  llvm::StringLiteral name;
  MakeProgram make;
};
} // namespace

static llvm::Expected<std::shared_ptr<const ProgramTarget>>
makeCpu(const TargetChoice &choice) {
  auto levels = resolveLevels(choice.march);
  if (!levels) {
    return llvm::createStringError("option '--march': " +
                                   llvm::toString(levels.takeError()));
  }
  return std::make_shared<CpuProgram>(std::move(*levels));
}

template <CudaMachine machine>
static llvm::Expected<std::shared_ptr<const ProgramTarget>>
makeCuda(const TargetChoice &choice) {
  if (choice.gpuArch != kGpuArch) {
    return llvm::createStringError("option '--gpu-arch': expects '" + kGpuArch +
                                   "', whose code later GPUs run too, got '" +
                                   choice.gpuArch + "'");
  }
  // A bare name would mean a file of the current folder, or one of PATH.
  if (!choice.ptxas.empty() && choice.ptxas != kNoPtxas &&
      !llvm::StringRef(choice.ptxas).contains('/')) {
    return llvm::createStringError("option '--ptxas': expects '" + kNoPtxas +
                                   "' or a path such as './ptxas', got '" +
                                   choice.ptxas + "'");
  }
  if (!choice.ptxas.empty() && choice.ptxas != kNoPtxas &&
      !llvm::sys::fs::can_execute(choice.ptxas)) {
    return llvm::createStringError("option '--ptxas': '" + choice.ptxas +
                                   "' is no program that can be run");
  }
  return std::make_shared<CudaProgram>(machine, choice.gpuArch, choice.ptxas);
}

static constexpr TargetRow targets[] = {
    {"cpu", makeCpu},
    {"cuda", makeCuda<CudaMachine::Device>},
    {"cuda-emulated", makeCuda<CudaMachine::Emulated>}};

std::vector<std::string> getTargetNames() {
  std::vector<std::string> names;
  for (const TargetRow &row : targets) {
    names.push_back(row.name.str());
  }
  return names;
}

llvm::Expected<std::shared_ptr<const ProgramTarget>>
makeProgram(const TargetChoice &choice) {
  for (const TargetRow &row : targets) {
    if (row.name == choice.name) {
      return row.make(choice);
    }
  }
  return llvm::createStringError("option '--target': '" + choice.name +
                                 "' is unknown; targets are " +
                                 llvm::join(getTargetNames(), ", "));
}

llvm::Expected<std::shared_ptr<const Target>>
makeTarget(const TargetChoice &choice) {
  auto program = makeProgram(choice);
  return program ? llvm::Expected<std::shared_ptr<const Target>>(
                       (*program)->getTarget(0))
                 : program.takeError();
}

std::shared_ptr<const Target> getDefaultTarget(llvm::StringRef name) {
  if (name != targets[0].name) {
    TargetChoice choice;
    choice.name = name.str();
    if (auto target = makeTarget(choice)) {
      return *target;
    } else {
      llvm::consumeError(target.takeError());
    }
  }
  IsaLevel best;
  best.avx512 = best.bf16 = true;
  return std::make_shared<CpuTarget>(best);
}

void registerTargets(mlir::DialectRegistry &registry) {
  registry.insert<HovaCpuDialect>();
  registerCpuRecipes(registry);
  registry.insert<HovaCudaDialect>();
  registerCudaRecipes(registry);
  registerCudaDialects(registry);
}

void registerTargetPasses() {
  registerHovaCpuPasses();
  registerVectorizePasses();
  registerCudaPasses();
}

} // namespace hova
