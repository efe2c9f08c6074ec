//===- CodeUnit.cpp - Code that LLVM generates at once --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// There is no middle end: vectors are final, and nothing unrolls that was not
// unrolled. `opt -O3` before changes speed by less than 1 %.

#include "codegen/cpu/link/CodeUnit.h"
#include "codegen/cpu/Machine.h"
#include "codegen/cpu/Passes.h"
#include "codegen/program/BlockNames.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Threading.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/TimeProfiler.h"

using namespace mlir;

namespace hova {

static std::string unitName(StringRef function, size_t level,
                            StringRef prefix) {
  return (function + "." + Twine(level) + "." + prefix).str();
}

std::string runName(size_t level, StringRef prefix) {
  return unitName("hova_run", level, prefix);
}

std::string launchesName(size_t level, StringRef prefix) {
  return unitName("hova_launches", level, prefix);
}

//===----------------------------------------------------------------------===//
// Splitting
//===----------------------------------------------------------------------===//

/// Declares in `unit` the functions, and copies the constants, that its
/// function names.
static void addWhatIsNamed(ModuleOp unit, const SymbolTable &symbols) {
  llvm::SetVector<StringAttr> names;
  unit.walk([&](Operation *op) {
    auto call = dyn_cast<LLVM::CallOp>(op);
    if (call && call.getCalleeAttr()) {
      names.insert(call.getCalleeAttr().getAttr());
    } else if (auto address = dyn_cast<LLVM::AddressOfOp>(op)) {
      names.insert(address.getGlobalNameAttr().getAttr());
    }
  });
  OpBuilder builder(unit.getBodyRegion());
  for (StringAttr name : names) {
    Operation *named = symbols.lookup(name);
    if (isa<LLVM::GlobalOp>(named)) {
      builder.insert(named->clone());
      continue;
    }
    auto function =
        cast<LLVM::LLVMFuncOp>(builder.insert(named->cloneWithoutRegions()));
    // Debug information is where the function is defined.
    function->setLoc(UnknownLoc::get(unit.getContext()));
    function.setLinkage(LLVM::Linkage::External);
    function.setSymVisibility("private");
  }
}

void splitCode(ModuleOp lowered, size_t level,
               SmallVectorImpl<CodeUnit> &units) {
  SymbolTable symbols(lowered);
  for (auto function : lowered.getOps<LLVM::LLVMFuncOp>()) {
    if (function.isExternal()) {
      continue;
    }
    CodeUnit &unit = units.emplace_back();
    unit.level = level;
    unit.code = cast<ModuleOp>(lowered->cloneWithoutRegions());
    unit.code->getBodyRegion().emplaceBlock();
    unit.code->push_back(function.clone());
    addWhatIsNamed(*unit.code, symbols);
  }
}

//===----------------------------------------------------------------------===//
// Generation
//===----------------------------------------------------------------------===//

/// The name of a function or constant, which of hova's own ends with that of
/// the level. Kernels are not numbered by level.
static std::string finalName(StringRef name, const CodeUnit &unit,
                             StringRef prefix) {
  if (name.starts_with("hova_")) {
    name.consume_back("_" + std::to_string(unit.level));
  }
  return unitName(name, unit.level, prefix);
}

/// Sets what generated functions need beyond their code.
static void finishFunction(llvm::Function &function, const IsaLevel &level) {
  function.setVisibility(llvm::GlobalValue::HiddenVisibility);
  if (function.isDeclaration()) {
    return;
  }
  function.setLinkage(llvm::GlobalValue::ExternalLinkage);
  function.addFnAttr("target-cpu", level.cpu);
  if (!level.features.empty()) {
    function.addFnAttr("target-features", level.features);
  }
  function.addFnAttr(llvm::Attribute::NoUnwind);
  // Vectors that wait on the stack lie within a cache line. LLVM aligns the
  // stack for them only if it knows before it assigns registers.
  function.addFnAttr("stackrealign");
}

namespace {
/// Makes the code of one unit.
class UnitGenerator {
public:
  UnitGenerator(CodeUnit &unit, const IsaLevel &level,
                const CompileOptions &options, DescribeFunction describe)
      : unit(unit), level(level), options(options), describe(describe) {}

  llvm::Expected<std::string> generate();

private:
  void finishSymbols();
  llvm::Error emit(llvm::raw_pwrite_stream &os);

  CodeUnit &unit;
  const IsaLevel &level;
  const CompileOptions &options;
  DescribeFunction describe;
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module;
};
} // namespace

void UnitGenerator::finishSymbols() {
  for (llvm::GlobalVariable &constant : module->globals()) {
    if (!constant.hasLocalLinkage()) {
      constant.setVisibility(llvm::GlobalValue::HiddenVisibility);
      constant.setName(finalName(constant.getName(), unit, options.prefix));
    }
  }
  for (llvm::Function &function : *module) {
    StringRef name = function.getName();
    if (function.isIntrinsic() || name == kRunLaunches) {
      continue;
    }
    finishFunction(function, level);
    function.setName(finalName(name, unit, options.prefix));
  }
}

llvm::Error UnitGenerator::emit(llvm::raw_pwrite_stream &os) {
  auto machine = makeTargetMachine(level, options.optimization);
  if (!machine) {
    return machine.takeError();
  }
  (*machine)->Options.MCOptions.AsmVerbose = true;
  module->setDataLayout((*machine)->createDataLayout());
  module->setTargetTriple((*machine)->getTargetTriple());
  if (options.emit == EmitKind::LLVM) {
    module->print(os, nullptr);
    return llvm::Error::success();
  }
  llvm::legacy::PassManager manager;
  auto type = options.emit == EmitKind::Assembly
                  ? llvm::CodeGenFileType::AssemblyFile
                  : llvm::CodeGenFileType::ObjectFile;
  if ((*machine)->addPassesToEmitFile(manager, os, nullptr, type)) {
    return llvm::createStringError("the target cannot emit this kind of file");
  }
  manager.run(*module);
  return llvm::Error::success();
}

llvm::Expected<std::string> UnitGenerator::generate() {
  if (unit.code) {
    module = translateModuleToLLVMIR(*unit.code, context, "hova");
    if (module && isText(options.emit)) {
      nameBlocks(*unit.code, *module);
    }
    unit.code = nullptr;
  } else {
    module = std::make_unique<llvm::Module>("hova", context);
  }
  if (!module) {
    return llvm::createStringError("the code cannot be translated to LLVM");
  }
  finishSymbols();
  if (unit.describes) {
    describe(*module);
  }
  std::string broken;
  llvm::raw_string_ostream messages(broken);
  if (llvm::verifyModule(*module, &messages)) {
    return llvm::createStringError("generated LLVM code is invalid: " + broken);
  }
  SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  if (llvm::Error error = emit(stream)) {
    return std::move(error);
  }
  return std::string(bytes.begin(), bytes.end());
}

/// The largest first, so that none begins when the others end.
static SmallVector<size_t> orderBySize(ArrayRef<CodeUnit> units) {
  SmallVector<std::pair<size_t, size_t>> sizes;
  for (auto [index, unit] : llvm::enumerate(units)) {
    size_t operations = 0;
    if (unit.code) {
      unit.code.get()->walk([&](Operation *) { ++operations; });
    }
    sizes.push_back({operations, index});
  }
  llvm::sort(sizes, [](const auto &a, const auto &b) {
    return std::pair(b.first, a.second) < std::pair(a.first, b.second);
  });
  return llvm::to_vector(llvm::make_second_range(sizes));
}

FailureOr<SmallVector<std::string>>
generateCode(MLIRContext *context, MutableArrayRef<CodeUnit> units,
             ArrayRef<IsaLevel> levels, const CompileOptions &options,
             DescribeFunction describe) {
  SmallVector<std::string> results(units.size());
  // Every thread has a trace of its own, which its end adds to the first one.
  bool traced = llvm::timeTraceProfilerEnabled();
  auto generate = [&](size_t index) -> LogicalResult {
    bool isTraced = traced && !llvm::timeTraceProfilerEnabled();
    if (isTraced) {
      llvm::timeTraceProfilerInitialize(kTraceMicroseconds, "hova");
    }
    CodeUnit &unit = units[index];
    auto code =
        UnitGenerator(unit, levels[unit.level], options, describe).generate();
    if (isTraced) {
      llvm::timeTraceProfilerFinishThread();
    }
    if (!code) {
      return emitError(UnknownLoc::get(context))
             << llvm::toString(code.takeError());
    }
    results[index] = std::move(*code);
    return success();
  };
  if (failed(failableParallelForEach(context, orderBySize(units), generate))) {
    return failure();
  }
  return results;
}

} // namespace hova
