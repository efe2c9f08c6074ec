//===- EmulatedModule.cpp - Kernels, ready to be emulated -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cuda/lower/EmulatedModule.h"
#include "codegen/cuda/lower/DeviceOperations.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "runtime/emulation/Calls.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/TargetSelect.h"

using namespace mlir;

namespace hova {

EmulatedModule::EmulatedModule(std::unique_ptr<llvm::orc::LLJIT> jit)
    : jit(std::move(jit)) {}
EmulatedModule::EmulatedModule(EmulatedModule &&) = default;
EmulatedModule::~EmulatedModule() = default;

/// Code calls the functions that this process has, not what it may find of the
/// same name.
static llvm::Error defineCalls(llvm::orc::LLJIT &jit) {
  llvm::orc::SymbolMap symbols;
  auto define = [&](StringRef name, void *address) {
    symbols[jit.mangleAndIntern(name)] = {
        llvm::orc::ExecutorAddr::fromPtr(address),
        llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
  };
  for (const DeviceOperation &operation : getDeviceOperations()) {
    if (operation.address) {
      define(operation.call, operation.address);
    }
  }
  for (auto [name, address] :
       {std::pair("hova_emulated_load_global",
                  reinterpret_cast<void *>(hova_emulated_load_global)),
        std::pair("hova_emulated_load_shared",
                  reinterpret_cast<void *>(hova_emulated_load_shared)),
        std::pair("hova_emulated_store_global",
                  reinterpret_cast<void *>(hova_emulated_store_global)),
        std::pair("hova_emulated_store_shared",
                  reinterpret_cast<void *>(hova_emulated_store_shared)),
        std::pair("hova_emulated_turn",
                  reinterpret_cast<void *>(hova_emulated_turn))}) {
    define(name, address);
  }
  return jit.getMainJITDylib().define(
      llvm::orc::absoluteSymbols(std::move(symbols)));
}

llvm::Expected<EmulatedModule> EmulatedModule::compile(ModuleOp lowered) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  lowered.getContext()->appendDialectRegistry(registry);
  auto llvmContext = std::make_unique<llvm::LLVMContext>();
  auto code = translateModuleToLLVMIR(lowered, *llvmContext);
  if (!code) {
    return llvm::createStringError("the module of kernels was not lowered for "
                                   "emulation");
  }
  auto machine = llvm::orc::JITTargetMachineBuilder::detectHost();
  if (!machine) {
    return machine.takeError();
  }
  // To optimize a kernel takes longer than what it saves when it runs once.
  machine->setCodeGenOptLevel(llvm::CodeGenOptLevel::None);
  machine->getOptions().AllowFPOpFusion = llvm::FPOpFusion::Strict;
  auto jit = llvm::orc::LLJITBuilder()
                 .setJITTargetMachineBuilder(std::move(*machine))
                 .create();
  if (!jit) {
    return jit.takeError();
  }
  if (llvm::Error error = defineCalls(**jit)) {
    return error;
  }
  if (llvm::Error error = (*jit)->addIRModule(llvm::orc::ThreadSafeModule(
          std::move(code), std::move(llvmContext)))) {
    return error;
  }
  return EmulatedModule(std::move(*jit));
}

llvm::Expected<const hova_emulated_kernel *>
EmulatedModule::find(StringRef name) const {
  auto address = jit->lookup("hova_emulated_" + name.str());
  if (!address) {
    return address.takeError();
  }
  return address->toPtr<const hova_emulated_kernel *>();
}

hova_emulation_report emulate(const hova_emulation_launch &launch) {
  hova_emulation_report report;
  hova_emulate(&launch, &report);
  return report;
}

} // namespace hova
