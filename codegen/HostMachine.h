//===- HostMachine.h - LLVM's code generator for x86-64 -------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_HOSTMACHINE_H
#define HOVA_CODEGEN_HOSTMACHINE_H

#include "llvm/Support/Error.h"
#include "llvm/Target/TargetMachine.h"
#include <memory>

namespace hova {

/// Code for a processor of LLVM's name, such as "x86-64-v3", and its features;
/// `optimization` is LLVM's level, 0 to 3.
llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
makeHostMachine(llvm::StringRef cpu, llvm::StringRef features,
                unsigned optimization);

} // namespace hova

#endif // HOVA_CODEGEN_HOSTMACHINE_H
