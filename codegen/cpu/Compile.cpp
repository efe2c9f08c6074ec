//===- Compile.cpp - From kernels to object code and programs -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Runs the phases once per level, generates code of all functions side by side,
// without any middle end (vectors are final and nothing unrolls that was not
// unrolled: `opt -O3` before changes speed by less than 1 %), links it with the
// program's description, and streams the weights behind.

#include "codegen/cpu/Compile.h"
#include "codegen/OutputFile.h"
#include "codegen/Passes.h"
#include "codegen/cpu/CpuTarget.h"
#include "codegen/cpu/Passes.h"
#include "codegen/cpu/ProgramDescriptor.h"
#include "codegen/cpu/SharedMemory.h"
#include "codegen/cpu/link/CodeUnit.h"
#include "codegen/cpu/link/DebugLines.h"
#include "codegen/program/Link.h"
#include "codegen/program/WeightImage.h"
#include "codegen/reference/Evaluator.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "passes/tile/ProgramAttrs.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <cmath>

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
      : imported(imported), options(options), weights(weights) {
    if (!options.debugLines.empty()) {
      lines.emplace(options.debugLines);
    }
  }

  llvm::Expected<LogicalResult> run(CompiledModule *keep);
  /// Up to `tile` of the first level, which fixes the image.
  llvm::Expected<LogicalResult> tile(CompiledModule *keep);
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
  const WeightProvider &weights;
  /// Of the first level, after `tile`.
  OwningOpRef<ModuleOp> tiled;
  SmallVector<CodeUnit> units;
  std::optional<DebugLines> lines;
};
} // namespace

PipelineOptions CompileOptions::pipeline(size_t level) const {
  return {std::make_shared<CpuTarget>(levels[level], level), passes, extend};
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

/// The kernels of a program that starts behind them are those of the
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
    if (failed(verifySharedMemory(*tiled, options.levels[0].name, *module,
                                  options.levels[level].name))) {
      return failure();
    }
  }
  llvm::Expected<LogicalResult> result = runUntil(*module, level, "target");
  if (!result || failed(*result)) {
    return result;
  }
  if (lines &&
      failed(lines->add(codeOf(*module), options.levels[level].name))) {
    return failure();
  }
  if (isText(options.emit)) {
    units.emplace_back(CodeUnit{codeOf(*module).clone(), level, false});
  } else {
    splitCode(codeOf(*module), level, units);
  }
  return success();
}

void Compiler::describe(llvm::Module &module) {
  addProgramDescriptor(module, *tiled, options,
                       {flopsOf(imported), weightDigest(*tiled)});
}

WeightImageInfo Compiler::imageInfo() {
  auto main = tiled->lookupSymbol<func::FuncOp>("main");
  auto model = (*tiled)->getAttrOfType<StringAttr>("hova.model");
  return {weightDigest(*tiled), model ? model.str() : options.prefix,
          static_cast<uint64_t>(
              main->getAttrOfType<IntegerAttr>(kImageBytesAttr).getInt())};
}

/// Writes the numbers of a table in `bytes` bytes each.
static uint64_t writeTable(llvm::raw_ostream &os, const HostTensor &value,
                           unsigned bytes) {
  for (int64_t i = 0, e = value.size(); i < e; ++i) {
    // The first bytes of an integer are its lower ones on these processors.
    os.write(reinterpret_cast<const char *>(value.as<int64_t>() + i), bytes);
  }
  return bytes * value.size();
}

/// Writes the elements of an f32 tensor in the type that they are stored in, or
/// those of a table, and returns the number of bytes.
static uint64_t writeTensor(llvm::raw_ostream &os, const HostTensor &value,
                            Type element) {
  if (element.isInteger()) {
    return writeTable(os, value, element.getIntOrFloatBitWidth() / 8);
  }
  Storage storage = storageOf(element);
  if (storage == Storage::F32) {
    uint64_t bytes = sizeof(float) * value.size();
    os.write(static_cast<const char *>(value.data()), bytes);
    return bytes;
  }
  constexpr int64_t kChunk = 1 << 16;
  std::vector<uint16_t> chunk;
  for (int64_t begin = 0, e = value.size(); begin < e; begin += kChunk) {
    chunk.clear();
    for (int64_t i = begin; i < std::min(begin + kChunk, e); ++i) {
      chunk.push_back(encode16(value.as<float>()[i], storage));
    }
    os.write(reinterpret_cast<const char *>(chunk.data()),
             chunk.size() * sizeof(uint16_t));
  }
  return sizeof(uint16_t) * value.size();
}

/// Calls `visit` with every operation that `op` is computed from.
static void forEachProducer(Operation *op, DenseSet<Operation *> &seen,
                            llvm::function_ref<void(Operation *)> visit) {
  for (Value operand : op->getOperands()) {
    Operation *producer = operand.getDefiningOp();
    if (producer && seen.insert(producer).second) {
      forEachProducer(producer, seen, visit);
      visit(producer);
    }
  }
}

/// Whether `op` says itself that a number is infinite, as masks do.
static bool namesInfinity(Operation *op) {
  return llvm::any_of(op->getAttrs(), [](NamedAttribute attribute) {
    auto number = dyn_cast<FloatAttr>(attribute.getValue());
    return number && !number.getValue().isFinite();
  });
}

/// Numbers in files are finite, so what is stored is finite too, but for masks,
/// unless the type cannot hold a number or a product of several.
static LogicalResult checkFinite(StoreWeightOp op, const HostTensor &value) {
  Type element = getElementTypeOrSelf(op.getValue());
  if (element.isInteger()) {
    return success();
  }
  const float *begin = value.as<float>(), *end = begin + value.size();
  if (std::all_of(begin, end, [](float x) { return std::isfinite(x); })) {
    return success();
  }
  SmallVector<StringRef> sources;
  bool hasMask = false;
  DenseSet<Operation *> seen;
  forEachProducer(op, seen, [&](Operation *producer) {
    if (auto weight = dyn_cast<WeightOp>(producer)) {
      sources.push_back(weight.getName());
    }
    hasMask |= namesInfinity(producer);
  });
  bool isMask = hasMask && std::all_of(begin, end, [](float x) {
                  return std::isfinite(x) || x == -HUGE_VALF;
                });
  if (isMask) {
    return success();
  }
  InFlightDiagnostic error = op.emitError("weight '")
                             << op.getName() << "' holds numbers that "
                             << nameOf(storageOf(element)) << " cannot";
  if (sources.size() > 1) {
    error.attachNote() << "it is computed from weights '"
                       << llvm::join(sources, "', '")
                       << "', which passes combine while compiling; --strict "
                          "keeps them apart";
  }
  return error;
}

/// Runs the weight program; its results come in the order of the image.
llvm::Error Compiler::writeWeights(llvm::raw_ostream &os) {
  WeightImageInfo info = imageInfo();
  return writeWeightImage(
      os, info, [&](llvm::raw_ostream &data) -> llvm::Error {
        uint64_t written = 0;
        auto program = tiled->lookupSymbol<func::FuncOp>("weights");
        Evaluator evaluator(weights);
        LogicalResult done = success();
        if (program) {
          done = evaluator.runWeightProgram(
              program, [&](StoreWeightOp op, const HostTensor &value) {
                uint64_t offset =
                    op->getAttrOfType<IntegerAttr>(kOffsetAttr).getInt();
                data.write_zeros(offset - written);
                written =
                    offset + writeTensor(data, value,
                                         getElementTypeOrSelf(op.getValue()));
                return checkFinite(op, value);
              });
        }
        if (failed(done)) {
          return llvm::createStringError(std::errc::invalid_argument,
                                         "the weights could not be packed");
        }
        data.write_zeros(info.weightBytes - written);
        return llvm::Error::success();
      });
}

/// The layout is known long before the weights are written.
llvm::Error Compiler::checkSpace() {
  if (isText(options.emit) || options.emit == EmitKind::Object) {
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
  if (isText(options.emit)) {
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

llvm::Expected<LogicalResult> Compiler::run(CompiledModule *keep) {
  llvm::Expected<LogicalResult> result = tile(keep);
  if (result && succeeded(*result)) {
    if (llvm::Error error = checkSpace()) {
      return std::move(error);
    }
  }
  for (size_t i = 0; result && succeeded(*result) && i < options.levels.size();
       ++i) {
    result = lowerLevel(i);
  }
  if (!result || failed(*result)) {
    return result;
  }
  if (isText(options.emit)) {
    units.front().describes = true;
  } else {
    units.emplace_back(CodeUnit{nullptr, 0, true});
  }
  enter("emit");
  auto code = generateCode(imported.getContext(), units, options,
                           [&](llvm::Module &module) { describe(module); });
  if (failed(code)) {
    return failure();
  }
  if (llvm::Error error =
          write(SmallVector<StringRef>(code->begin(), code->end()))) {
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
