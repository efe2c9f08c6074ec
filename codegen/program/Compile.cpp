//===- Compile.cpp - From kernels to object code and programs -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A file holds a program for each of its targets. Their code is linked, and
// their weights are streamed after it.

#include "codegen/program/Compile.h"
#include "codegen/OutputFile.h"
#include "codegen/program/Compiler.h"
#include "codegen/program/Link.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "runtime/hova_runtime.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace hova {

namespace {
/// The programs that are in one file, and their weights.
class ProgramFile {
public:
  ProgramFile(ModuleOp imported, const CompileOptions &options,
              const WeightProvider &weights);

  llvm::Expected<LogicalResult> run(CompiledModule *keep);
  llvm::Expected<LogicalResult> runWeightsAlone();

private:
  llvm::Expected<LogicalResult>
  forEach(function_ref<llvm::Expected<LogicalResult>(Compiler &)> step);
  llvm::Expected<LogicalResult> tile(CompiledModule *keep);
  llvm::Expected<LogicalResult> generate(SmallVectorImpl<std::string> &units);
  void collectImages();
  uint64_t imageBytes() const;
  llvm::Error writeImages(llvm::raw_ostream &os);
  llvm::Error makeBill(CompiledModule *keep);
  llvm::Error write(ArrayRef<StringRef> code);
  llvm::Error link(ArrayRef<StringRef> objects);
  llvm::Error checkSpace();

  const CompileOptions &options;
  std::string runtime;
  SmallVector<std::unique_ptr<Compiler>> programs;
  /// Those whose weights are stored: equal layouts share an image.
  SmallVector<Compiler *> images;
};
} // namespace

ProgramFile::ProgramFile(ModuleOp imported, const CompileOptions &options,
                         const WeightProvider &weights)
    : options(options), runtime(options.target->getRuntime()) {
  std::vector<CompileOptions> all = {options};
  for (const auto &target : options.alternatives) {
    CompileOptions other = options;
    other.target = target;
    // No identifier, so no model is called so.
    other.prefix = options.prefix + "." + target->getFacts().name.str();
    all.back().alternativePrefix = other.prefix;
    runtime = target->getFacts().name.str() + "-" + runtime;
    all.push_back(std::move(other));
  }
  for (CompileOptions &program : all) {
    programs.push_back(
        std::make_unique<Compiler>(imported, std::move(program), weights));
  }
}

llvm::Expected<LogicalResult> ProgramFile::forEach(
    function_ref<llvm::Expected<LogicalResult>(Compiler &)> step) {
  llvm::Expected<LogicalResult> result = success();
  for (auto &program : programs) {
    if (result && succeeded(*result)) {
      result = step(*program);
    }
  }
  return result;
}

llvm::Expected<LogicalResult> ProgramFile::tile(CompiledModule *keep) {
  llvm::Expected<LogicalResult> result = forEach([&](Compiler &program) {
    return program.tile(&program == programs.front().get() ? keep : nullptr);
  });
  if (result && succeeded(*result)) {
    collectImages();
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

void ProgramFile::collectImages() {
  for (auto &program : programs) {
    auto isSame = [&](Compiler *other) {
      return other->imageInfo().id == program->imageInfo().id;
    };
    if (llvm::none_of(images, isSame)) {
      images.push_back(program.get());
    }
  }
}

/// Each image begins at a page.
static uint64_t nextPage(uint64_t bytes) {
  return llvm::alignTo(bytes, HOVA_IMAGE_HEADER_BYTES);
}

uint64_t ProgramFile::imageBytes() const {
  uint64_t bytes = 0;
  for (Compiler *program : images) {
    bytes = nextPage(bytes) + getPackedWeightsBytes(program->imageInfo());
  }
  return bytes;
}

llvm::Error ProgramFile::writeImages(llvm::raw_ostream &os) {
  uint64_t bytes = 0;
  for (Compiler *program : images) {
    os.write_zeros(nextPage(bytes) - bytes);
    if (llvm::Error error = program->writeWeights(os)) {
      return error;
    }
    bytes = nextPage(bytes) + getPackedWeightsBytes(program->imageInfo());
  }
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

/// The layout is known long before the weights are written.
llvm::Error ProgramFile::checkSpace() {
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
  uint64_t needed = imageBytes();
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

llvm::Error ProgramFile::link(ArrayRef<StringRef> objects) {
  LinkOptions linkOptions;
  linkOptions.output = options.output;
  linkOptions.header = options.header;
  linkOptions.companions = options.companions;
  linkOptions.weights = options.weights;
  linkOptions.soname = options.soname;
  linkOptions.prefix = options.prefix;
  linkOptions.runtime = runtime;
  linkOptions.sharedLibrary = options.emit == EmitKind::Library;
  linkOptions.imageBytes = imageBytes();
  return linkProgram(objects, linkOptions,
                     [&](llvm::raw_ostream &os) { return writeImages(os); });
}

llvm::Error ProgramFile::write(ArrayRef<StringRef> code) {
  if (isWhole(options.emit)) {
    return writeTextWhole(options.output, code.front());
  }
  if (options.emit != EmitKind::Object) {
    return link(code);
  }
  auto joined = joinObjects(code);
  return joined ? writeTextWhole(options.output,
                                 StringRef(joined->data(), joined->size()))
                : joined.takeError();
}

llvm::Expected<LogicalResult>
ProgramFile::generate(SmallVectorImpl<std::string> &units) {
  return forEach([&](Compiler &program) -> llvm::Expected<LogicalResult> {
    auto objects = program.generate();
    if (failed(objects)) {
      return failure();
    }
    llvm::move(*objects, std::back_inserter(units));
    return success();
  });
}

/// The first program's, which tells of all.
llvm::Error ProgramFile::makeBill(CompiledModule *keep) {
  // Text shows code, and no program has it.
  if (!options.makeBill || isWhole(options.emit)) {
    return llvm::Error::success();
  }
  auto made = options.makeBill(*keep);
  if (!made) {
    return made.takeError();
  }
  programs.front()->setBill(std::move(*made));
  return llvm::Error::success();
}

llvm::Expected<LogicalResult> ProgramFile::run(CompiledModule *keep) {
  llvm::Expected<LogicalResult> result = tile(keep);
  if (result && succeeded(*result)) {
    if (llvm::Error error = checkSpace()) {
      return std::move(error);
    }
    result = forEach([](Compiler &program) { return program.lower(); });
  }
  if (!result || failed(*result)) {
    return result;
  }
  if (keep && options.report && options.target->runsOnDevice()) {
    keep->report = programs.front()->report();
  }
  if (llvm::Error error = makeBill(keep)) {
    return std::move(error);
  }
  SmallVector<std::string> units;
  result = generate(units);
  if (!result || failed(*result)) {
    return result;
  }
  if (keep && isWhole(options.emit) && options.output.empty()) {
    keep->text = std::move(units.front());
    return success();
  }
  if (llvm::Error error =
          write(SmallVector<StringRef>(units.begin(), units.end()))) {
    return std::move(error);
  }
  if (llvm::Error error = programs.front()->writeLines()) {
    return std::move(error);
  }
  return success();
}

llvm::Expected<LogicalResult> ProgramFile::runWeightsAlone() {
  llvm::Expected<LogicalResult> result = tile(nullptr);
  if (!result || failed(*result)) {
    return result;
  }
  if (llvm::Error error = checkSpace()) {
    return std::move(error);
  }
  if (llvm::Error error =
          writeFileWhole(options.output, 0644, [&](llvm::raw_ostream &os) {
            return writeImages(os);
          })) {
    return std::move(error);
  }
  return success();
}

llvm::Expected<LogicalResult> compileModule(ModuleOp imported,
                                            const CompileOptions &options,
                                            const WeightProvider &weights,
                                            CompiledModule *keep) {
  registerBuiltinDialectTranslation(*imported.getContext());
  registerLLVMDialectTranslation(*imported.getContext());
  return ProgramFile(imported, options, weights).run(keep);
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
  return ProgramFile(imported, options, weights).runWeightsAlone();
}

} // namespace hova
