//===- Machine.cpp - LLVM's code generator for a level --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cpu/Machine.h"
#include "codegen/HostMachine.h"

llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
hova::makeTargetMachine(const IsaLevel &level, unsigned optimization) {
  return makeHostMachine(level.cpu, level.features, optimization);
}
