//===- Compiler.cpp - One program of a compilation ------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/program/Compiler.h"
#include "codegen/OutputFile.h"
#include "codegen/Passes.h"
#include "codegen/program/ProgramDescriptor.h"
#include "codegen/program/SharedMemory.h"
#include "codegen/program/WeightData.h"
#include "passes/tile/ProgramAttrs.h"

using namespace mlir;

namespace hova {

/// Work of the description: twice the dense multiply-accumulates.
static int64_t flopsOf(ModuleOp imported) {
  int64_t macs = 0;
  imported.walk([&](CostOpInterface op) { macs += *macsOf(op); });
  return 2 * macs;
}

PipelineOptions CompileOptions::pipeline(size_t level) const {
  return {target->getTarget(level), passes, extend};
}

llvm::Expected<LogicalResult> Compiler::runUntil(ModuleOp module, size_t level,
                                                 StringRef stop) {
  PhaseRange range;
  range.stopAfter = stop.str();
  range.dumpDirectory = level == 0 ? options.dumpDirectory : "";
  range.origin = options.origin;
  range.plugins = options.plugins;
  range.configure = options.configure;
  range.onPhase = options.onPhase;
  if (level == 0) {
    range.onDump = options.onDump;
  }
  return runPhases(module, options.pipeline(level), range);
}

/// The kernels of a program that starts after them are those of the
/// description.
llvm::Expected<LogicalResult> Compiler::keepAssigned(CompiledModule &keep) {
  bool isLater = &phaseOf(*tiled) > findPhase("assign");
  keep.assigned = cast<ModuleOp>((isLater ? imported : *tiled)->clone());
  PhaseRange range;
  range.stopAfter = "assign";
  return runPhases(*keep.assigned, options.pipeline(), range);
}

llvm::Expected<LogicalResult> Compiler::tile(CompiledModule *keep) {
  tiled = cast<ModuleOp>(start()->clone());
  llvm::Expected<LogicalResult> result = runUntil(*tiled, 0, "assign");
  if (result && succeeded(*result) && keep) {
    result = keepAssigned(*keep);
  }
  if (!result || failed(*result)) {
    return result;
  }
  result = runUntil(*tiled, 0, "tile");
  if (keep && result && succeeded(*result)) {
    keep->tiled = cast<ModuleOp>((*tiled)->clone());
  }
  return result;
}

llvm::Expected<LogicalResult> Compiler::lowerLevel(size_t level) {
  OwningOpRef<ModuleOp> module;
  if (level == 0) {
    module = cast<ModuleOp>((*tiled)->clone());
  } else {
    module = cast<ModuleOp>(start()->clone());
    llvm::Expected<LogicalResult> result = runUntil(*module, level, "tile");
    if (!result || failed(*result)) {
      return result;
    }
    if (failed(verifySharedMemory(*tiled, levels[0], *module, levels[level]))) {
      return failure();
    }
  }
  llvm::Expected<LogicalResult> result = runUntil(*module, level, "target");
  if (!result || failed(*result)) {
    return result;
  }
  if (lines && failed(lines->add(codeOf(*module), levels[level]))) {
    return failure();
  }
  code->add(codeOf(*module), level);
  return success();
}

llvm::Expected<LogicalResult> Compiler::tryLevel(size_t level) {
  std::string reason;
  llvm::Expected<LogicalResult> result = success();
  {
    ScopedDiagnosticHandler handler(
        imported.getContext(), [&](Diagnostic &diagnostic) {
          bool isError = diagnostic.getSeverity() == DiagnosticSeverity::Error;
          if (isError && reason.empty()) {
            reason = diagnostic.str();
          }
          return success(isError);
        });
    result = lowerLevel(level);
  }
  if (!result || succeeded(*result)) {
    return result;
  }
  emitWarning(imported.getLoc())
      << "the program has no code for " << levels[level] << ": " << reason;
  return success();
}

void Compiler::describe(llvm::Module &module) {
  addProgramDescriptor(module, *tiled, options, code->describeLevels(),
                       flopsOf(imported), bill);
}

PackedWeightsInfo Compiler::imageInfo() {
  auto main = tiled->lookupSymbol<func::FuncOp>("main");
  auto model = (*tiled)->getAttrOfType<StringAttr>("hova.model");
  return {weightDigest(*tiled), model ? model.str() : options.prefix,
          static_cast<uint64_t>(
              main->getAttrOfType<IntegerAttr>(kImageBytesAttr).getInt())};
}

llvm::Error Compiler::writeWeights(llvm::raw_ostream &os) {
  PackedWeightsInfo info = imageInfo();
  return writePackedWeights(os, info, [&](llvm::raw_ostream &data) {
    return packWeightData(data, *tiled, weights, info.weightBytes);
  });
}

llvm::Expected<LogicalResult> Compiler::lower() {
  code = options.target->makeCode(imported.getContext(), options);
  llvm::Expected<LogicalResult> result = success();
  for (size_t i = 0; result && succeeded(*result) && i < levels.size(); ++i) {
    result = options.target->mayLack(i) ? tryLevel(i) : lowerLevel(i);
  }
  if (!result || failed(*result)) {
    return result;
  }
  enter("emit");
  if (llvm::Error error = code->assemble()) {
    return std::move(error);
  }
  return success();
}

FailureOr<SmallVector<std::string>> Compiler::generate() {
  return code->generate([&](llvm::Module &module) { describe(module); });
}

llvm::Error Compiler::writeLines() {
  return lines ? writeTextWhole(options.debugLines, lines->getText())
               : llvm::Error::success();
}

} // namespace hova
