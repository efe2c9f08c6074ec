//===- Targets.cpp - The targets that hova knows --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The only file outside a target's folder that includes its headers.

#include "codegen/targets/Targets.h"
#include "codegen/cpu/CpuTarget.h"
#include "codegen/cpu/HovaCpuDialect.h"
#include "codegen/cpu/Passes.h"
#include "codegen/cpu/link/CpuProgram.h"
#include "codegen/cpu/recipes/Recipes.h"
#include "codegen/cuda/HovaCudaDialect.h"
#include "codegen/cuda/Passes.h"
#include "codegen/cuda/facts/GpuFacts.h"
#include "codegen/cuda/link/CudaProgram.h"
#include "codegen/cuda/recipes/Recipes.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"

namespace hova {

namespace {
using MakeProgram = llvm::Expected<std::shared_ptr<const ProgramTarget>> (*)(
    const TargetFacts &, const TargetChoice &);

/// What is registered once for all targets that one folder has code for.
struct TargetCode {
  void (*registerDialects)(mlir::DialectRegistry &registry);
  void (*registerPasses)();
};

/// One row for each target.
struct TargetRow {
  TargetFacts facts;
  MakeProgram make;
  /// Whether a file may hold its programs beside those of other rows. Of these,
  /// a later row is tried first.
  bool isJoined;
  const TargetCode *code;
};
} // namespace

static llvm::Expected<std::shared_ptr<const ProgramTarget>>
makeCpu(const TargetFacts &facts, const TargetChoice &choice) {
  auto levels = resolveLevels(choice.march);
  if (!levels) {
    return llvm::createStringError("option '--march': " +
                                   llvm::toString(levels.takeError()));
  }
  return std::make_shared<CpuProgram>(
      facts, levelsFor(std::move(*levels), choice.hasBf16));
}

template <CudaMachine machine>
static llvm::Expected<std::shared_ptr<const ProgramTarget>>
makeCuda(const TargetFacts &facts, const TargetChoice &choice) {
  auto levels = resolveGpus(choice.gpuArch);
  if (!levels) {
    return llvm::createStringError("option '--gpu-arch': " +
                                   llvm::toString(levels.takeError()));
  }
  // What is emulated is one GPU.
  if (machine == CudaMachine::Emulated && !choice.gpuArch.empty() &&
      levels->size() > 1) {
    return llvm::createStringError("option '--gpu-arch': an emulation is of "
                                   "one GPU, got '" +
                                   choice.gpuArch + "'");
  }
  if (machine == CudaMachine::Emulated) {
    levels->truncate(1);
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
  return std::make_shared<CudaProgram>(facts, machine, std::move(*levels),
                                       choice.ptxas, choice.gpuArch.empty());
}

static void registerCpu(mlir::DialectRegistry &registry) {
  registry.insert<HovaCpuDialect>();
  registerCpuRecipes(registry);
}

static void registerCuda(mlir::DialectRegistry &registry) {
  registry.insert<HovaCudaDialect>();
  registerCudaRecipes(registry);
  registerCudaDialects(registry);
}

static constexpr TargetCode cpuCode = {registerCpu, registerHovaCpuPasses};
static constexpr TargetCode cudaCode = {registerCuda, registerCudaPasses};

// The emulation checks every access by itself, so that it needs no guard.
static constexpr llvm::StringLiteral cpuOptions[] = {"march", "debug-lines",
                                                     "guard"};
static constexpr llvm::StringLiteral cudaOptions[] = {"gpu-arch", "ptxas"};
static constexpr llvm::StringLiteral cudaProducts[] = {"ptx", "cubin"};
static constexpr llvm::StringLiteral emulatedOptions[] = {
    "gpu-arch", "mma-sums", "approximations"};
static constexpr llvm::StringLiteral kCudaSchedule =
    "hova-assign-cuda-schedule";

static constexpr TargetRow targets[] = {
    {{"cpu", "a CPU", "assembly", cpuOptions, /*products=*/{},
      /*hasThreads=*/true, /*isEmulated=*/false, /*emulation=*/"",
      /*refusingPass=*/""},
     makeCpu,
     /*isJoined=*/true,
     &cpuCode},
    {{"cuda", "a GPU", "PTX", cudaOptions, cudaProducts, /*hasThreads=*/false,
      /*isEmulated=*/false, /*emulation=*/"cuda-emulated", kCudaSchedule},
     makeCuda<CudaMachine::Device>,
     /*isJoined=*/true,
     &cudaCode},
    {{"cuda-emulated", "a GPU that the processor emulates", "assembly",
      emulatedOptions, /*products=*/{}, /*hasThreads=*/false,
      /*isEmulated=*/true, /*emulation=*/"", kCudaSchedule},
     makeCuda<CudaMachine::Emulated>,
     /*isJoined=*/false,
     &cudaCode}};

/// The code of all rows, each once.
static llvm::SmallSetVector<const TargetCode *, 2> codeOfTargets() {
  llvm::SmallSetVector<const TargetCode *, 2> code;
  for (const TargetRow &row : targets) {
    code.insert(row.code);
  }
  return code;
}

llvm::SmallVector<const TargetFacts *> getTargets() {
  return llvm::map_to_vector(targets,
                             [](const TargetRow &row) { return &row.facts; });
}

std::vector<std::string> getTargetNames() {
  std::vector<std::string> names;
  for (const TargetRow &row : targets) {
    names.push_back(row.facts.name.str());
  }
  return names;
}

/// The row of a target by its name, or the end.
static const TargetRow *findRow(llvm::StringRef name) {
  return llvm::find_if(
      targets, [&](const TargetRow &row) { return row.facts.name == name; });
}

const TargetFacts *findTarget(llvm::StringRef name) {
  const TargetRow *row = findRow(name);
  return row == std::end(targets) ? nullptr : &row->facts;
}

const TargetFacts &getDefaultFacts() { return targets[0].facts; }

std::vector<std::string> getGpuLevelNames() {
  std::vector<std::string> names;
  for (const GpuFacts *gpu : getGpus()) {
    names.push_back(gpu->name.str());
  }
  return names;
}

std::vector<std::string> getIsaLevelNames() {
  llvm::SmallVector<llvm::StringRef> names = getLevelNames();
  return std::vector<std::string>(names.begin(), names.end());
}

/// The rows that a choice names.
static llvm::Expected<llvm::SmallVector<const TargetRow *>>
findRows(llvm::StringRef text) {
  llvm::SmallVector<llvm::StringRef> names;
  text.split(names, ',');
  llvm::SmallVector<const TargetRow *> rows;
  for (llvm::StringRef name : names) {
    const TargetRow *row = findRow(name);
    if (row == std::end(targets)) {
      return llvm::createStringError("option '--target': '" + name +
                                     "' is unknown; targets are " +
                                     llvm::join(getTargetNames(), ", "));
    }
    if (llvm::is_contained(rows, row)) {
      return llvm::createStringError("option '--target': '" + name +
                                     "' is given twice");
    }
    if (names.size() > 1 && !row->isJoined) {
      return llvm::createStringError("option '--target': a program for '" +
                                     name + "' has no other target");
    }
    rows.push_back(row);
  }
  return rows;
}

llvm::Expected<std::vector<std::shared_ptr<const ProgramTarget>>>
makePrograms(const TargetChoice &choice) {
  auto rows = findRows(choice.name);
  if (!rows) {
    return rows.takeError();
  }
  llvm::sort(*rows, std::greater<>());
  std::vector<std::shared_ptr<const ProgramTarget>> programs;
  for (const TargetRow *row : *rows) {
    auto program = row->make(row->facts, choice);
    if (!program) {
      return program.takeError();
    }
    programs.push_back(std::move(*program));
  }
  return programs;
}

llvm::Expected<std::shared_ptr<const Target>>
makeTarget(const TargetChoice &choice) {
  auto programs = makePrograms(choice);
  return programs ? llvm::Expected<std::shared_ptr<const Target>>(
                        programs->front()->getTarget(0))
                  : programs.takeError();
}

std::shared_ptr<const Target> getDefaultTarget(llvm::StringRef name) {
  if (findTarget(name) && name != getDefaultFacts().name) {
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
  for (const TargetCode *code : codeOfTargets()) {
    code->registerDialects(registry);
  }
}

void registerTargetPasses() {
  for (const TargetCode *code : codeOfTargets()) {
    code->registerPasses();
  }
}

} // namespace hova
