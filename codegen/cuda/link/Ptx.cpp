//===- Ptx.cpp - Kernels as PTX -------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cuda/link/Ptx.h"
#include "codegen/cuda/LaunchOps.h"
#include "codegen/cuda/Passes.h"
#include "codegen/cuda/WgmmaFacts.h"
#include "codegen/cuda/WgmmaOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;

extern "C" {
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

namespace hova {

/// The back end, once. Addresses of shared memory have 32 bits; the switch is
/// an option of LLVM's command line alone.
static llvm::Error initialize() {
  static const bool known = [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    auto &options = llvm::cl::getRegisteredOptions();
    auto found = options.find("nvptx-short-ptr");
    return found != options.end() &&
           !found->second->addOccurrence(0, "nvptx-short-ptr", "true");
  }();
  if (!known) {
    return llvm::createStringError("LLVM's NVPTX back end has no option "
                                   "'nvptx-short-ptr'");
  }
  return llvm::Error::success();
}

namespace {
/// Kernels in LLVM IR, and what makes PTX of them.
struct DeviceModule {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::TargetMachine> machine;
  std::unique_ptr<llvm::Module> code;
};
} // namespace

static llvm::Error translate(ModuleOp original, const GpuFacts &gpu,
                             DeviceModule &device) {
  if (llvm::Error error = initialize()) {
    return error;
  }
  llvm::Triple triple("nvptx64-nvidia-cuda");
  std::string message;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, message);
  if (!target) {
    return llvm::createStringError(message);
  }
  device.machine.reset(target->createTargetMachine(
      triple, gpu.name, gpu.ptxVersion, {}, std::nullopt, std::nullopt,
      llvm::CodeGenOptLevel::Aggressive));
  WalkResult walked = original.walk([&](WgmmaOp op) {
    return gpu.name == kWgmmaArch ? WalkResult::skip()
                                  : WalkResult::interrupt();
  });
  if (walked.wasInterrupted()) {
    return llvm::createStringError("a kernel has products under way, which " +
                                   gpu.name + " does not have");
  }
  walked = original.walk([&](Operation *op) {
    return isa<AwaitLaunchesOp, AllowLaunchesOp>(op) && !gpu.overlapsLaunches
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  if (walked.wasInterrupted()) {
    return llvm::createStringError("a kernel waits for launches before it, "
                                   "which begin one after the other on " +
                                   gpu.name);
  }
  // Who asked may go on with the operations.
  OwningOpRef<ModuleOp> module = original.clone();
  PassManager manager(module->getContext());
  manager.addPass(createLowerWgmmaToPtxPass());
  manager.addPass(createLowerLaunchOrderToPtxPass());
  if (failed(manager.run(*module))) {
    return llvm::createStringError("operations of this target are no PTX");
  }
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
  module->getContext()->appendDialectRegistry(registry);
  device.code = translateModuleToLLVMIR(*module, device.context);
  if (!device.code) {
    return llvm::createStringError("kernels are no LLVM IR");
  }
  device.code->setTargetTriple(triple);
  device.code->setDataLayout(device.machine->createDataLayout());
  return llvm::Error::success();
}

llvm::Expected<std::string> translateToPtx(ModuleOp module,
                                           const GpuFacts &gpu) {
  DeviceModule device;
  if (llvm::Error error = translate(module, gpu, device)) {
    return error;
  }
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream stream(text);
  llvm::legacy::PassManager manager;
  if (device.machine->addPassesToEmitFile(
          manager, stream, nullptr, llvm::CodeGenFileType::AssemblyFile)) {
    return llvm::createStringError("LLVM's NVPTX back end writes no text");
  }
  manager.run(*device.code);
  return std::string(text);
}

llvm::Expected<std::string> translateToLlvm(ModuleOp module,
                                            const GpuFacts &gpu) {
  DeviceModule device;
  if (llvm::Error error = translate(module, gpu, device)) {
    return error;
  }
  std::string text;
  llvm::raw_string_ostream stream(text);
  device.code->print(stream, nullptr);
  return text;
}

} // namespace hova
