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
#include "codegen/cuda/Passes.h"

namespace hova {

llvm::Expected<std::shared_ptr<const Target>>
makeCpuTarget(llvm::StringRef march) {
  auto levels = resolveLevels(march);
  if (!levels) {
    return levels.takeError();
  }
  return std::make_shared<CpuTarget>(levels->front());
}

llvm::Expected<std::shared_ptr<const ProgramTarget>>
makeCpuProgram(llvm::StringRef march) {
  auto levels = resolveLevels(march);
  if (!levels) {
    return levels.takeError();
  }
  return std::make_shared<CpuProgram>(std::move(*levels));
}

std::shared_ptr<const Target> getDefaultTarget() {
  IsaLevel best;
  best.avx512 = best.bf16 = true;
  return std::make_shared<CpuTarget>(best);
}

void registerTargets(mlir::DialectRegistry &registry) {
  registry.insert<HovaCpuDialect>();
  registerCpuRecipes(registry);
  registerCudaDialects(registry);
}

void registerTargetPasses() {
  registerHovaCpuPasses();
  registerCudaPasses();
}

} // namespace hova
