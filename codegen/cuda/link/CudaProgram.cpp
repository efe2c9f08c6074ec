//===- CudaProgram.cpp - Programs for GPUs --------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cuda/link/CudaProgram.h"
#include "codegen/HostMachine.h"
#include "codegen/Passes.h"
#include "codegen/cuda/CudaTarget.h"
#include "codegen/cuda/Passes.h"
#include "codegen/cuda/link/DeviceCode.h"
#include "codegen/cuda/link/Ptx.h"
#include "codegen/program/Compile.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Verifier.h"

using namespace mlir;

namespace hova {

/// Emulated programs run wherever hova's runtime does.
static constexpr llvm::StringLiteral kHostCpu = "x86-64";

/// The host's object code of a module.
static llvm::Expected<std::string> makeObject(llvm::Module &module,
                                              unsigned optimization) {
  std::string broken;
  llvm::raw_string_ostream messages(broken);
  if (llvm::verifyModule(module, &messages)) {
    return llvm::createStringError("generated LLVM code is invalid: " + broken);
  }
  auto machine = makeHostMachine(kHostCpu, "", optimization);
  if (!machine) {
    return machine.takeError();
  }
  // Arithmetic is what the instructions of a GPU say.
  (*machine)->Options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  module.setDataLayout((*machine)->createDataLayout());
  module.setTargetTriple((*machine)->getTargetTriple());
  SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager manager;
  if ((*machine)->addPassesToEmitFile(manager, stream, nullptr,
                                      llvm::CodeGenFileType::ObjectFile)) {
    return llvm::createStringError("LLVM's back end writes no object");
  }
  manager.run(module);
  return std::string(bytes.begin(), bytes.end());
}

namespace {
class CudaCode final : public ProgramCode {
public:
  CudaCode(MLIRContext *context, CudaMachine machine, StringRef chip,
           const CompileOptions &options)
      : context(context), machine(machine), chip(chip), options(options) {}

  void add(ModuleOp code, size_t) override {
    whole = cast<ModuleOp>(code->getParentOfType<ModuleOp>()->clone());
  }

  std::vector<LevelCode> describeLevels() const override {
    return {{chip, 0, "", "", deviceName()}};
  }

  FailureOr<SmallVector<std::string>>
  generate(DescribeFunction describe) override {
    auto text = generateUnit(describe);
    if (!text) {
      return emitError(UnknownLoc::get(context))
             << llvm::toString(text.takeError());
    }
    return SmallVector<std::string>{std::move(*text)};
  }

private:
  std::string deviceName() const {
    return "hova_device_code." + options.prefix;
  }
  ModuleOp code() { return codeOf(*whole); }

  /// The kernels as host code, which checks what they do.
  llvm::Expected<std::unique_ptr<llvm::Module>> emulate() {
    OwningOpRef<ModuleOp> copy = cast<ModuleOp>(code()->clone());
    PassManager manager(context);
    manager.addPass(createLowerToEmulationPass());
    if (failed(manager.run(*copy))) {
      return llvm::createStringError("kernels cannot be emulated");
    }
    auto module = translateModuleToLLVMIR(*copy, llvmContext, "hova");
    if (!module) {
      return llvm::createStringError("the code cannot be translated to LLVM");
    }
    return std::move(module);
  }

  /// What of the emulation is seen outside of the object has the program's
  /// name, so that programs can be linked together.
  void finishSymbols(llvm::Module &module) {
    for (llvm::GlobalVariable &global : module.globals()) {
      if (!global.hasLocalLinkage() &&
          global.getName().starts_with("hova_emulated_")) {
        global.setVisibility(llvm::GlobalValue::HiddenVisibility);
        global.setName(global.getName() + "." + options.prefix);
      }
    }
  }

  llvm::Expected<std::string> generateUnit(DescribeFunction describe) {
    if (options.emit == EmitKind::Assembly) {
      return translateToPtx(code(), chip);
    }
    if (options.emit == EmitKind::LLVM) {
      return translateToLlvm(code(), chip);
    }
    FailureOr<DeviceProgram> program = readDeviceProgram(code());
    if (failed(program)) {
      return llvm::createStringError("the code is no program for a GPU");
    }
    int64_t capability = 0;
    StringRef(chip).drop_front(3).getAsInteger(10, capability);
    std::unique_ptr<llvm::Module> module;
    std::string ptx;
    if (machine == CudaMachine::Emulated) {
      auto emulated = emulate();
      if (!emulated) {
        return emulated.takeError();
      }
      module = std::move(*emulated);
    } else {
      module = std::make_unique<llvm::Module>("hova", llvmContext);
      auto text = translateToPtx(code(), chip);
      if (!text) {
        return text.takeError();
      }
      ptx = std::move(*text);
    }
    addDeviceCode(*module, deviceName(), *program, capability, ptx);
    finishSymbols(*module);
    describe(*module);
    return makeObject(*module, options.optimization);
  }

  MLIRContext *context;
  CudaMachine machine;
  std::string chip;
  const CompileOptions &options;
  OwningOpRef<ModuleOp> whole;
  llvm::LLVMContext llvmContext;
};
} // namespace

std::shared_ptr<const Target> CudaProgram::getTarget(size_t) const {
  return std::make_shared<CudaTarget>();
}

std::unique_ptr<ProgramCode>
CudaProgram::makeCode(MLIRContext *context,
                      const CompileOptions &options) const {
  return std::make_unique<CudaCode>(context, machine, chip, options);
}

} // namespace hova
