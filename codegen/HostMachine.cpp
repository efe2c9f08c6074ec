//===- HostMachine.cpp - LLVM's code generator for x86-64 -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/HostMachine.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Triple.h"
#include <mutex>

using namespace llvm;

Expected<std::unique_ptr<TargetMachine>>
hova::makeHostMachine(StringRef cpu, StringRef features,
                      unsigned optimization) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  });
  Triple triple("x86_64-unknown-linux-gnu");
  std::string message;
  const Target *target = TargetRegistry::lookupTarget(triple, message);
  if (!target) {
    return createStringError(std::errc::not_supported, message.c_str());
  }
  std::unique_ptr<TargetMachine> machine(target->createTargetMachine(
      triple, cpu, features, TargetOptions(), Reloc::PIC_, CodeModel::Small,
      *CodeGenOpt::getLevel(static_cast<int>(std::min(optimization, 3u)))));
  return machine;
}
