//===- Pipeline.h - The phases of a compilation ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The whole flow is one table of phases, walked by one loop (Pipeline.cpp):
// build the phase's passes, run them, write a dump, stop if asked. What a phase
// promises is checked by the verify pass at its end.

#ifndef HOVA_CODEGEN_PIPELINE_H
#define HOVA_CODEGEN_PIPELINE_H

#include "codegen/cpu/Level.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "passes/OptionalPasses.h"
#include "llvm/Support/Error.h"
#include <string>

namespace hova {

/// What every phase may need to know; filled once by the tool.
struct PipelineOptions {
  /// Processor levels of the program, best first; kernels are generated for
  /// the first one in a run of the pipeline.
  llvm::SmallVector<CpuLevel> levels;
  /// Suffix of the functions generated for this level.
  std::string symbolSuffix;
  PassSelection passes;
};

/// Options for code of these levels, comma separated (resolveLevel), sorted
/// best first. An error names the level that is unknown or given twice.
llvm::Expected<PipelineOptions> makePipelineOptions(llvm::StringRef march);

struct Phase {
  llvm::StringLiteral name;
  /// What holds of the IR afterwards, one sentence.
  llvm::StringLiteral promise;
  /// Null: the phase is not made of passes (`import`, `emit`).
  void (*build)(mlir::OpPassManager &manager, const PipelineOptions &options);
};

/// import, normalize, fuse, assign, tile, vectorize, target, emit.
llvm::ArrayRef<Phase> getPhases();

/// The phase of this name, or null.
const Phase *findPhase(llvm::StringRef name);

/// The files that a dump of all phases writes: `02-normalize.mlir`.
std::vector<std::string> dumpNames();

/// Where a walk begins and ends, and what it leaves behind.
struct PhaseRange {
  std::string startAt;   ///< first phase to run; empty: the one after import
  std::string stopAfter; ///< last phase to run; empty: target
  std::string dumpDirectory; ///< write `02-fuse.mlir` and so on; empty: none
  /// Called before a phase's passes are added, with the phase's name: may add
  /// instrumentation, and passes that run first. May be null.
  std::function<void(llvm::StringRef phase, mlir::PassManager &)> configure;
};

/// Runs the phases of `range` on `module`. Diagnostics go to the context;
/// returns an error only for dumps that cannot be written.
llvm::Expected<mlir::LogicalResult> runPhases(mlir::ModuleOp module,
                                              const PipelineOptions &options,
                                              const PhaseRange &range);

/// `module` as text: values named by the paths of their locations.
void printModule(mlir::ModuleOp module, llvm::raw_ostream &os);

/// Registers the dialects that the phases use.
void registerDialects(mlir::DialectRegistry &registry);
/// Registers all passes and one pipeline per phase (`hova-fuse-phase`).
void registerPipelines();

} // namespace hova

#endif // HOVA_CODEGEN_PIPELINE_H
