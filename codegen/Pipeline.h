//===- Pipeline.h - The phases of a compilation ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The whole flow is one table of phases, walked by one loop (Pipeline.cpp):
// build the phase's passes, run them, write a dump, stop if asked. What a phase
// promises is checked by the verify pass at its end.

#ifndef HOVA_CODEGEN_PIPELINE_H
#define HOVA_CODEGEN_PIPELINE_H

#include "codegen/ModuleText.h"
#include "codegen/Target.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/Error.h"
#include <string>

namespace hova {

/// What every phase may need to know; filled once by the tool.
struct PipelineOptions {
  std::shared_ptr<const Target> target;
  PassSelection passes;
  /// May add passes at extension points; may be null.
  ExtendPipeline extend;
};

/// On a module: the last phase that it has gone through.
inline constexpr llvm::StringLiteral kPhaseAttr = "hova.phase";

struct Phase {
  llvm::StringLiteral name;
  /// What holds of the IR afterwards, one sentence.
  llvm::StringLiteral promise;
  /// Null: the phase is not made of passes (`import`, `emit`).
  void (*build)(PhaseBuilder &phase, const Target &target);
  /// Whether it lowers code alone, which is then set apart first, in a module
  /// of its own (DecomposeProgram.cpp).
  bool onCode = false;
};

/// import, normalize, fuse, assign, tile, vectorize, target, emit.
llvm::ArrayRef<Phase> getPhases();

/// The phase of this name, or null.
const Phase *findPhase(llvm::StringRef name);

/// The files that a dump of all phases may write: `02-normalize.mlir`,
/// `02-normalize-failed.mlir`.
std::vector<std::string> dumpNames();

/// Appends the passes of a phase that is made of passes, and the one that notes
/// on the module that it ran.
void buildPhase(const Phase &phase, mlir::OpPassManager &manager,
                const PipelineOptions &options);

/// Appends only the pass that checks the promise of such a phase.
void buildCheck(const Phase &phase, mlir::OpPassManager &manager,
                const Target &target);

/// The arguments of a phase's passes for a target in the order of running, each
/// once.
std::vector<std::string> getPassNames(const Phase &phase,
                                      std::shared_ptr<const Target> target);

/// The phase that left `module` as it is, as the module itself says
/// (`hova.phase`); `import` where it says nothing.
const Phase &phaseOf(mlir::ModuleOp module);

/// Where a walk ends, and what it leaves behind. It begins after the phase
/// that left the module.
struct PhaseRange {
  std::string stopAfter; ///< last phase to run; empty: target
  /// Write `02-normalize.mlir` and so on, and of a phase that fails
  /// `03-fuse-failed.mlir`, the program before the pass; empty: none.
  std::string dumpDirectory;
  ModuleOrigin origin; ///< part of every dump
  /// The libraries that passes come from, for the command that repeats a pass
  /// that failed.
  std::vector<std::string> plugins;
  /// May add instrumentation to the manager of every phase; may be null.
  std::function<void(mlir::PassManager &)> configure;
  /// Called when a phase begins; may be null.
  std::function<void(llvm::StringRef phase)> onPhase;
  /// Takes what the dump of a phase has, whether it is written or not; may be
  /// null.
  std::function<void(llvm::StringRef phase, std::string text)> onDump;
};

/// Runs the phases of `range` on `module`. Diagnostics go to the context;
/// returns an error only for dumps that cannot be written.
llvm::Expected<mlir::LogicalResult> runPhases(mlir::ModuleOp module,
                                              const PipelineOptions &options,
                                              const PhaseRange &range);

} // namespace hova

#endif // HOVA_CODEGEN_PIPELINE_H
