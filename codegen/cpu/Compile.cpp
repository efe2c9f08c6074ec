//===- Compile.cpp - From kernels to object code and programs -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Runs the phases once per level, joins the levels in one LLVM module with the
// program's description, generates code without any middle end (vectors are
// final and nothing unrolls that was not unrolled: `opt -O3` before changes
// speed by less than 1 %), links, and streams the weights behind.

#include "codegen/cpu/Compile.h"
#include "codegen/cpu/Link.h"
#include "codegen/cpu/Machine.h"
#include "codegen/cpu/OutputFile.h"
#include "codegen/cpu/ProgramDescriptor.h"
#include "codegen/cpu/WeightImage.h"
#include "codegen/reference/Evaluator.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "passes/tile/ProgramAttrs.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"

using namespace mlir;

namespace hova {

/// Work of the description: twice the dense multiply-accumulates.
static int64_t flopsOf(ModuleOp imported) {
  int64_t macs = 0;
  imported.walk([&](CostOpInterface op) {
    macs += op.getLinearMacs() + op.getAttentionMacs();
  });
  return 2 * macs;
}

namespace {
/// One compilation: modules of each level and the LLVM module they end in.
class Compiler {
public:
  Compiler(ModuleOp imported, const CompileOptions &options,
           const WeightProvider &weights)
      : imported(imported), options(options), weights(weights) {}

  llvm::Expected<LogicalResult> run(CompiledModule *keep);
  /// Up to `tile` of the first level, which fixes the image.
  llvm::Expected<LogicalResult> tile(CompiledModule *keep);
  llvm::Error writeImageFile(StringRef path);

private:
  PipelineOptions pipelineOptions(size_t level) const;
  llvm::Expected<LogicalResult> runRange(ModuleOp module, size_t level,
                                         StringRef start, StringRef stop);
  llvm::Expected<LogicalResult> lowerLevel(size_t level);
  LogicalResult translate(ModuleOp module, size_t level);
  void describe();
  llvm::Error emit();
  llvm::Error emitText(llvm::raw_pwrite_stream &os, llvm::CodeGenFileType type);
  llvm::Error link(StringRef object);
  llvm::Error writeWeights(llvm::raw_ostream &os);
  WeightImageInfo imageInfo();

  ModuleOp imported;
  const CompileOptions &options;
  const WeightProvider &weights;
  /// Of the first level, after `tile`.
  OwningOpRef<ModuleOp> tiled;
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> program;
};
} // namespace

PipelineOptions Compiler::pipelineOptions(size_t level) const {
  PipelineOptions result;
  // The level compiled now comes first, the others still shape the layout.
  result.levels.push_back(options.levels[level]);
  for (size_t i = 0; i < options.levels.size(); ++i) {
    if (i != level) {
      result.levels.push_back(options.levels[i]);
    }
  }
  result.symbolSuffix = "_" + std::to_string(level);
  return result;
}

llvm::Expected<LogicalResult> Compiler::runRange(ModuleOp module, size_t level,
                                                 StringRef start,
                                                 StringRef stop) {
  PhaseRange range;
  range.startAt = start.str();
  range.stopAfter = stop.str();
  range.dumpDirectory = level == 0 ? options.dumpDirectory : "";
  range.configure = options.configure;
  return runPhases(module, pipelineOptions(level), range);
}

llvm::Expected<LogicalResult> Compiler::tile(CompiledModule *keep) {
  tiled = cast<ModuleOp>(imported->clone());
  llvm::Expected<LogicalResult> result = runRange(*tiled, 0, "", "assign");
  if (!result || failed(*result)) {
    return result;
  }
  if (keep) {
    keep->assigned = cast<ModuleOp>((*tiled)->clone());
  }
  return runRange(*tiled, 0, "tile", "tile");
}

llvm::Expected<LogicalResult> Compiler::lowerLevel(size_t level) {
  OwningOpRef<ModuleOp> module;
  if (level == 0) {
    module = cast<ModuleOp>((*tiled)->clone());
  } else {
    module = cast<ModuleOp>(imported->clone());
    llvm::Expected<LogicalResult> result = runRange(*module, level, "", "tile");
    if (!result || failed(*result)) {
      return result;
    }
  }
  llvm::Expected<LogicalResult> result =
      runRange(*module, level, "vectorize", "target");
  if (!result || failed(*result)) {
    return result;
  }
  return translate(*module, level);
}

LogicalResult Compiler::translate(ModuleOp module, size_t level) {
  std::unique_ptr<llvm::Module> code =
      translateModuleToLLVMIR(module, context, "hova");
  if (!code) {
    return failure();
  }
  const CpuLevel &target = options.levels[level];
  for (llvm::Function &function : *code) {
    if (function.isDeclaration()) {
      continue;
    }
    function.addFnAttr("target-cpu", target.cpu);
    if (!target.features.empty()) {
      function.addFnAttr("target-features", target.features);
    }
    function.addFnAttr(llvm::Attribute::NoUnwind);
    function.setVisibility(llvm::GlobalValue::HiddenVisibility);
    if (!function.getName().starts_with("hova_run")) {
      function.setVisibility(llvm::GlobalValue::DefaultVisibility);
      function.setLinkage(llvm::GlobalValue::InternalLinkage);
    }
  }
  if (!program) {
    program = std::move(code);
    return success();
  }
  return success(!llvm::Linker::linkModules(*program, std::move(code)));
}

void Compiler::describe() {
  SmallVector<LevelCode> levels;
  for (size_t i = 0; i < options.levels.size(); ++i) {
    llvm::Function *run = program->getFunction("hova_run_" + std::to_string(i));
    run->setLinkage(llvm::GlobalValue::InternalLinkage);
    run->setVisibility(llvm::GlobalValue::DefaultVisibility);
    levels.push_back({&options.levels[i], run});
  }
  addProgramDescriptor(*program, *tiled, levels, options,
                       {flopsOf(imported), weightDigest(*tiled)});
}

llvm::Error Compiler::emitText(llvm::raw_pwrite_stream &os,
                               llvm::CodeGenFileType type) {
  auto machine = makeTargetMachine(options.levels[0], options.optimization);
  if (!machine) {
    return machine.takeError();
  }
  program->setDataLayout((*machine)->createDataLayout());
  program->setTargetTriple((*machine)->getTargetTriple());
  llvm::legacy::PassManager manager;
  if ((*machine)->addPassesToEmitFile(manager, os, nullptr, type)) {
    return llvm::createStringError("the target cannot emit this kind of file");
  }
  manager.run(*program);
  return llvm::Error::success();
}

WeightImageInfo Compiler::imageInfo() {
  auto main = tiled->lookupSymbol<func::FuncOp>("main");
  auto model = (*tiled)->getAttrOfType<StringAttr>("hova.model");
  return {weightDigest(*tiled), model ? model.str() : options.prefix,
          static_cast<uint64_t>(
              main->getAttrOfType<IntegerAttr>(kImageBytesAttr).getInt())};
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
                uint64_t bytes = 4 * value.size();
                data.write(static_cast<const char *>(value.data()), bytes);
                written = offset + bytes;
                return success();
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

llvm::Error Compiler::writeImageFile(StringRef path) {
  return writeFileWhole(
      path, 0644, [&](llvm::raw_ostream &os) { return writeWeights(os); });
}

llvm::Error Compiler::link(StringRef object) {
  LinkOptions linkOptions;
  linkOptions.output = options.output;
  linkOptions.prefix = options.prefix;
  linkOptions.sharedLibrary = options.emit == EmitKind::Library;
  linkOptions.imageBytes =
      options.embedWeights ? getWeightImageBytes(imageInfo()) : 0;
  if (llvm::Error error = linkProgram(
          llvm::MemoryBufferRef(object, "program.o"), linkOptions,
          [&](llvm::raw_ostream &os) { return writeWeights(os); })) {
    return error;
  }
  if (options.embedWeights) {
    return llvm::Error::success();
  }
  std::string base = options.output;
  if (linkOptions.sharedLibrary && !StringRef(base).ends_with(".so")) {
    base += ".so";
  }
  return writeImageFile(base + ".weights");
}

llvm::Error Compiler::emit() {
  if (options.emit == EmitKind::LLVM) {
    return writeFileWhole(options.output, 0644, [&](llvm::raw_ostream &os) {
      program->print(os, nullptr);
      return llvm::Error::success();
    });
  }
  SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  bool assembly = options.emit == EmitKind::Assembly;
  if (llvm::Error error =
          emitText(stream, assembly ? llvm::CodeGenFileType::AssemblyFile
                                    : llvm::CodeGenFileType::ObjectFile)) {
    return error;
  }
  StringRef text(bytes.data(), bytes.size());
  if (assembly || options.emit == EmitKind::Object) {
    return writeFileWhole(options.output, 0644, [&](llvm::raw_ostream &os) {
      os << text;
      return llvm::Error::success();
    });
  }
  return link(text);
}

llvm::Expected<LogicalResult> Compiler::run(CompiledModule *keep) {
  llvm::Expected<LogicalResult> result = tile(keep);
  for (size_t i = 0; result && succeeded(*result) && i < options.levels.size();
       ++i) {
    result = lowerLevel(i);
  }
  if (!result || failed(*result)) {
    return result;
  }
  describe();
  std::string broken;
  llvm::raw_string_ostream os(broken);
  if (llvm::verifyModule(*program, &os)) {
    imported.emitError("generated LLVM code is invalid: ") << broken;
    return failure();
  }
  if (llvm::Error error = emit()) {
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
  if (llvm::Error error = compiler.writeImageFile(options.output)) {
    return std::move(error);
  }
  return success();
}

} // namespace hova
