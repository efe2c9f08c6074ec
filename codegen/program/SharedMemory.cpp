//===- SharedMemory.cpp - What the levels of a program share --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Each level goes through the phases by itself, and what it is lowered for must
// not decide where a value lies: the level that is chosen when a program starts
// finds the memory and the weights that were made for the first one.

#include "codegen/program/SharedMemory.h"
#include "codegen/program/WeightData.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/tile/ProgramAttrs.h"

using namespace mlir;

namespace hova {

LogicalResult verifySharedMemory(ModuleOp first, StringRef firstLevel,
                                 ModuleOp other, StringRef otherLevel) {
  auto main = first.lookupSymbol<func::FuncOp>("main");
  auto otherMain = other.lookupSymbol<func::FuncOp>("main");
  if (!main || !otherMain) {
    return other.emitError("level ")
           << otherLevel << " has no function 'main' that shares memory with "
           << "level " << firstLevel;
  }
  for (StringRef name :
       {kArenaBytesAttr, kImageBytesAttr, kInputsAttr, kTypesAttr}) {
    if (main->getAttr(name) != otherMain->getAttr(name)) {
      return otherMain.emitError("levels of a program share its memory, but '")
             << name << "' is " << main->getAttr(name) << " of level "
             << firstLevel << " and " << otherMain->getAttr(name)
             << " of level " << otherLevel;
    }
  }
  if (weightDigest(first) != weightDigest(other)) {
    return otherMain.emitError(
               "levels of a program share its weights, but those of "
               "level ")
           << otherLevel << " stand elsewhere than those of level "
           << firstLevel;
  }
  return success();
}

} // namespace hova
