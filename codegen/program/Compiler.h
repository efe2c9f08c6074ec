//===- Compiler.h - One program of a compilation --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Runs the phases once per level and has the target generate their code. What
// is done with it, Compile.cpp says.

#ifndef HOVA_CODEGEN_PROGRAM_COMPILER_H
#define HOVA_CODEGEN_PROGRAM_COMPILER_H

#include "codegen/program/Compile.h"
#include "codegen/program/DebugLines.h"
#include "codegen/program/PackedWeights.h"
#include <optional>

namespace hova {

/// One program of a compilation: modules of each level and the code they end
/// in.
class Compiler {
public:
  Compiler(mlir::ModuleOp imported, CompileOptions settings,
           const WeightProvider &weights)
      : imported(imported), options(std::move(settings)),
        levels(options.target->getLevels()), weights(weights) {
    if (!options.debugLines.empty()) {
      lines.emplace(options.debugLines);
    }
  }

  /// Up to `tile` of the first level, which fixes the image.
  llvm::Expected<mlir::LogicalResult> tile(CompiledModule *keep);
  /// From there to the code of all levels.
  llvm::Expected<mlir::LogicalResult> lower();
  /// The units of the program.
  mlir::FailureOr<llvm::SmallVector<std::string>> generate();
  DeviceReport report() { return code->report(); }
  /// What the program says of its making (Bill.h); before `generate`.
  void setBill(std::string text) { bill = std::move(text); }
  /// Of the code, where it is asked for.
  llvm::Error writeLines();

  PackedWeightsInfo imageInfo();
  llvm::Error writeWeights(llvm::raw_ostream &os);

private:
  void enter(llvm::StringRef phase) {
    if (options.onPhase) {
      options.onPhase(phase);
    }
  }
  /// What compilation starts from.
  mlir::ModuleOp start() const {
    return options.resumed ? options.resumed : imported;
  }
  llvm::Expected<mlir::LogicalResult>
  runUntil(mlir::ModuleOp module, size_t level, llvm::StringRef stop);
  llvm::Expected<mlir::LogicalResult> keepAssigned(CompiledModule &keep);
  llvm::Expected<mlir::LogicalResult> lowerLevel(size_t level);
  /// The same of a level that the program may lack; says so if it does.
  llvm::Expected<mlir::LogicalResult> tryLevel(size_t level);
  void describe(llvm::Module &module);

  mlir::ModuleOp imported;
  const CompileOptions options;
  const std::vector<std::string> levels;
  const WeightProvider &weights;
  /// Of the first level, after `tile`.
  mlir::OwningOpRef<mlir::ModuleOp> tiled;
  std::unique_ptr<ProgramCode> code;
  std::optional<DebugLines> lines;
  std::string bill;
};

} // namespace hova

#endif // HOVA_CODEGEN_PROGRAM_COMPILER_H
