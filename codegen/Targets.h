//===- Targets.h - The targets that hova knows ----------------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_TARGETS_H
#define HOVA_CODEGEN_TARGETS_H

#include "codegen/Target.h"
#include "llvm/Support/Error.h"
#include <memory>

namespace hova {

class ProgramTarget;

/// The CPU target for the best of these ISA levels, comma separated. An
/// error names the level that is unknown or given twice.
llvm::Expected<std::shared_ptr<const Target>>
makeCpuTarget(llvm::StringRef march);

/// Programs for these ISA levels, as above.
llvm::Expected<std::shared_ptr<const ProgramTarget>>
makeCpuProgram(llvm::StringRef march);

/// The target for which passes are listed where none was chosen: the CPU with
/// everything that hova has code for.
std::shared_ptr<const Target> getDefaultTarget();

/// Registers what the targets know of operations, such as their recipes.
void registerTargets(mlir::DialectRegistry &registry);
/// Registers the passes of all targets by name.
void registerTargetPasses();

} // namespace hova

#endif // HOVA_CODEGEN_TARGETS_H
