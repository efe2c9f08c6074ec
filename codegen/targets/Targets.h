//===- Targets.h - The targets that hova knows ----------------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_TARGETS_TARGETS_H
#define HOVA_CODEGEN_TARGETS_TARGETS_H

#include "codegen/Target.h"
#include "codegen/TargetFacts.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <string>
#include <vector>

namespace hova {

class ProgramTarget;

/// The rows of all targets, the default first.
llvm::SmallVector<const TargetFacts *> getTargets();
/// Their names.
std::vector<std::string> getTargetNames();
/// The row of this name; null: there is none.
const TargetFacts *findTarget(llvm::StringRef name);
/// What programs are for where nothing is said.
const TargetFacts &getDefaultFacts();

/// What says which target code is for.
struct TargetChoice {
  /// One of getTargetNames, or for makePrograms several, comma separated.
  std::string name = getDefaultFacts().name.str();
  /// ISA levels of a CPU, the best first, comma separated.
  std::string march = "native";
  /// Whether programs store numbers as bf16, for which a processor may have a
  /// matrix unit.
  bool hasBf16 = false;
  /// Levels of GPUs, comma separated; empty: those that run on every GPU that
  /// there is code for.
  std::string gpuArch = "";
  /// The assembler of machine code for a GPU: a path, or "none"; empty: what is
  /// found.
  std::string ptxas = "";
};

/// Levels of GPUs by name.
std::vector<std::string> getGpuLevelNames();

/// ISA levels of a CPU by name, `native` first.
std::vector<std::string> getIsaLevelNames();

/// The target of this choice; of several levels for the best. An error names
/// what is unknown or given twice, and begins with the option that says it.
llvm::Expected<std::shared_ptr<const Target>>
makeTarget(const TargetChoice &choice);

/// Programs for it, as above: of several names, those that one file may hold,
/// and the one that is tried first first, in whatever order they are named.
llvm::Expected<std::vector<std::shared_ptr<const ProgramTarget>>>
makePrograms(const TargetChoice &choice);

/// The target of this name with everything that hova has code for: passes are
/// listed for it, and dumps held to it. The default where the name is none.
std::shared_ptr<const Target> getDefaultTarget(llvm::StringRef name = "");

/// Registers what the targets know of operations, such as their recipes.
void registerTargets(mlir::DialectRegistry &registry);
/// Registers the passes of all targets by name.
void registerTargetPasses();

} // namespace hova

#endif // HOVA_CODEGEN_TARGETS_TARGETS_H
