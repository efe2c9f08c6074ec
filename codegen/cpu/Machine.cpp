//===- Machine.cpp - LLVM's code generator for a level --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cpu/Machine.h"
#include "codegen/HostMachine.h"
#include <algorithm>

llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
hova::makeTargetMachine(const IsaLevel &level, unsigned optimization) {
  // The allocator of level 0 knows no tiles that loops carry: LLVM crashes.
  unsigned least = level.matrixUnit ? 1 : 0;
  return makeHostMachine(level.cpu, level.features,
                         std::max(optimization, least));
}
