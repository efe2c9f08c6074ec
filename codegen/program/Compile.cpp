//===- Compile.cpp - From kernels to object code and programs -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Runs the phases once per level, has the target generate their code, links it
// with the program's description, and streams the weights after.

#include "codegen/program/Compile.h"
#include "codegen/OutputFile.h"
#include "codegen/Passes.h"
#include "codegen/program/DebugLines.h"
#include "codegen/program/Link.h"
#include "codegen/program/ProgramDescriptor.h"
#include "codegen/program/SharedMemory.h"
#include "codegen/program/WeightData.h"
#include "codegen/program/WeightImage.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "passes/tile/ProgramAttrs.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace hova {

/// Work of the description: twice the dense multiply-accumulates.
static int64_t flopsOf(ModuleOp imported) {
  int64_t macs = 0;
  imported.walk([&](CostOpInterface op) { macs += *macsOf(op); });
  return 2 * macs;
}

namespace {
/// One compilation: modules of each level and the code they end in.
class Compiler {
public:
  Compiler(ModuleOp imported, const CompileOptions &options,
           const WeightProvider &weights)
      : imported(imported), options(options),
        levels(options.target->getLevels()), weights(weights) {
    if (!options.debugLines.empty()) {
      lines.emplace(options.debugLines);
    }
  }

  llvm::Expected<LogicalResult> run(CompiledModule *keep);
  /// Up to `tile` of the first level, which fixes the image.
  llvm::Expected<LogicalResult> tile(CompiledModule *keep);
  /// From there to the code of all levels.
  llvm::Expected<LogicalResult> lower();
  DeviceReport report() { return code->report(); }
  llvm::Error writeImageFile(StringRef path);
  llvm::Error checkSpace();

private:
  void enter(StringRef phase) {
    if (options.onPhase) {
      options.onPhase(phase);
    }
  }
  /// What compilation starts from.
  ModuleOp start() const {
    return options.resumed ? options.resumed : imported;
  }
  llvm::Expected<LogicalResult> runUntil(ModuleOp module, size_t level,
                                         StringRef stop);
  llvm::Expected<LogicalResult> keepAssigned(CompiledModule &keep);
  llvm::Expected<LogicalResult> lowerLevel(size_t level);
  void describe(llvm::Module &module);
  llvm::Error write(ArrayRef<StringRef> code);
  llvm::Error link(ArrayRef<StringRef> objects);
  llvm::Error writeWeights(llvm::raw_ostream &os);
  WeightImageInfo imageInfo();

  ModuleOp imported;
  const CompileOptions &options;
  const std::vector<std::string> levels;
  const WeightProvider &weights;
  /// Of the first level, after `tile`.
  OwningOpRef<ModuleOp> tiled;
  std::unique_ptr<ProgramCode> code;
  std::optional<DebugLines> lines;
};
} // namespace

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

void Compiler::describe(llvm::Module &module) {
  addProgramDescriptor(module, *tiled, options, code->describeLevels(),
                       flopsOf(imported));
}

WeightImageInfo Compiler::imageInfo() {
  auto main = tiled->lookupSymbol<func::FuncOp>("main");
  auto model = (*tiled)->getAttrOfType<StringAttr>("hova.model");
  return {weightDigest(*tiled), model ? model.str() : options.prefix,
          static_cast<uint64_t>(
              main->getAttrOfType<IntegerAttr>(kImageBytesAttr).getInt())};
}

llvm::Error Compiler::writeWeights(llvm::raw_ostream &os) {
  WeightImageInfo info = imageInfo();
  return writeWeightImage(os, info, [&](llvm::raw_ostream &data) {
    return packWeightData(data, *tiled, weights, info.weightBytes);
  });
}

/// The layout is known long before the weights are written.
llvm::Error Compiler::checkSpace() {
  if (isWhole(options.emit) || options.emit == EmitKind::Object) {
    return llvm::Error::success();
  }
  // Where links lead; a device has room for everything.
  SmallString<128> place(options.output);
  if (!llvm::sys::fs::real_path(options.output, place) &&
      !llvm::sys::fs::is_regular_file(place)) {
    return llvm::Error::success();
  }
  StringRef folder = llvm::sys::path::parent_path(place);
  auto space = llvm::sys::fs::disk_space(folder.empty() ? "." : folder);
  uint64_t needed = getWeightImageBytes(imageInfo());
  if (!space || needed <= space->available) {
    return llvm::Error::success(); // or writing says what is wrong
  }
  auto mebibytes = [](uint64_t bytes) {
    return std::to_string((bytes + (1 << 20) - 1) >> 20) + " MiB";
  };
  return llvm::createStringError(
      std::make_error_code(std::errc::no_space_on_device),
      "cannot write '" + options.output + "': its weights take " +
          mebibytes(needed) + " and " + mebibytes(space->available) +
          " are free there");
}

llvm::Error Compiler::writeImageFile(StringRef path) {
  return writeFileWhole(
      path, 0644, [&](llvm::raw_ostream &os) { return writeWeights(os); });
}

llvm::Error Compiler::link(ArrayRef<StringRef> objects) {
  LinkOptions linkOptions;
  linkOptions.output = options.output;
  linkOptions.header = options.header;
  linkOptions.weights = options.weights;
  linkOptions.prefix = options.prefix;
  linkOptions.runtime = options.target->getRuntime();
  linkOptions.sharedLibrary = options.emit == EmitKind::Library;
  linkOptions.imageBytes = getWeightImageBytes(imageInfo());
  return linkProgram(objects, linkOptions,
                     [&](llvm::raw_ostream &os) { return writeWeights(os); });
}

static llvm::Error writeText(StringRef path, StringRef text) {
  return writeFileWhole(path, 0644, [&](llvm::raw_ostream &os) {
    os << text;
    return llvm::Error::success();
  });
}

llvm::Error Compiler::write(ArrayRef<StringRef> code) {
  if (isWhole(options.emit)) {
    return writeText(options.output, code.front());
  }
  if (options.emit != EmitKind::Object) {
    return link(code);
  }
  auto joined = joinObjects(code);
  return joined ? writeText(options.output,
                            StringRef(joined->data(), joined->size()))
                : joined.takeError();
}

llvm::Expected<LogicalResult> Compiler::lower() {
  code = options.target->makeCode(imported.getContext(), options);
  llvm::Expected<LogicalResult> result = success();
  for (size_t i = 0; result && succeeded(*result) && i < levels.size(); ++i) {
    result = lowerLevel(i);
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

llvm::Expected<LogicalResult> Compiler::run(CompiledModule *keep) {
  llvm::Expected<LogicalResult> result = tile(keep);
  if (result && succeeded(*result)) {
    if (llvm::Error error = checkSpace()) {
      return std::move(error);
    }
  }
  if (result && succeeded(*result)) {
    result = lower();
  }
  if (!result || failed(*result)) {
    return result;
  }
  auto units = code->generate([&](llvm::Module &module) { describe(module); });
  if (failed(units)) {
    return failure();
  }
  if (keep && options.report && options.target->runsOnDevice()) {
    keep->report = report();
  }
  if (llvm::Error error =
          write(SmallVector<StringRef>(units->begin(), units->end()))) {
    return std::move(error);
  }
  if (lines) {
    if (llvm::Error error = writeText(options.debugLines, lines->getText())) {
      return std::move(error);
    }
  }
  return success();
}

llvm::Expected<LogicalResult> compileModule(ModuleOp imported,
                                            const CompileOptions &options,
                                            const WeightProvider &weights,
                                            CompiledModule *keep) {
  registerBuiltinDialectTranslation(*imported.getContext());
  registerLLVMDialectTranslation(*imported.getContext());
  return Compiler(imported, options, weights).run(keep);
}

llvm::Expected<LogicalResult> reportKernels(ModuleOp imported,
                                            const CompileOptions &options,
                                            CompiledModule &keep) {
  if (!options.target->runsOnDevice()) {
    return success();
  }
  WeightProvider none;
  Compiler compiler(imported, options, none);
  llvm::Expected<LogicalResult> result = compiler.tile(nullptr);
  if (result && succeeded(*result)) {
    result = compiler.lower();
  }
  if (result && succeeded(*result)) {
    keep.report = compiler.report();
  }
  return result;
}

llvm::Expected<LogicalResult> packWeights(ModuleOp imported,
                                          const CompileOptions &options,
                                          const WeightProvider &weights) {
  Compiler compiler(imported, options, weights);
  llvm::Expected<LogicalResult> result = compiler.tile(nullptr);
  if (!result || failed(*result)) {
    return result;
  }
  if (llvm::Error error = compiler.checkSpace()) {
    return std::move(error);
  }
  if (llvm::Error error = compiler.writeImageFile(options.output)) {
    return std::move(error);
  }
  return success();
}

} // namespace hova
