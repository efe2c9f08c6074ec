//===- BlockNames.cpp - Says in LLVM's text what code is for --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Debug locations (DebugLines.h) would be comments for each instruction, but
// LLVM has them from debug information, which is made on request, and prints
// its directives between. Names of blocks cost nothing and are always there. A
// block is a loop's head or body, or what lies between two loops, so it belongs
// to few places of the model.

#include "codegen/program/BlockNames.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace hova {

/// A loop's variable is named within the path of what the loop is for.
static void addOrigin(Location location, CodeOrigin &origin) {
  if (auto name = dyn_cast<NameLoc>(location)) {
    origin.loop = origin.path;
    origin.path = name.getName();
    addOrigin(name.getChildLoc(), origin);
  } else if (auto fused = dyn_cast<FusedLoc>(location)) {
    if (auto stage = dyn_cast_or_null<StringAttr>(fused.getMetadata())) {
      origin.stage = stage.getValue();
    }
    addOrigin(fused.getLocations().front(), origin);
  }
}

CodeOrigin originOf(Location location) {
  CodeOrigin origin;
  addOrigin(location, origin);
  return origin;
}

/// "encoder.0.ffn.hidden, stage 1; loop over rows"; empty where nothing is
/// known.
static std::string nameOf(Block &block) {
  llvm::SetVector<std::pair<StringRef, StringRef>> places;
  for (Operation &op : block) {
    CodeOrigin origin = originOf(op.getLoc());
    bool isOnlyABranch = op.hasTrait<OpTrait::IsTerminator>();
    if (!origin.path.empty() && !(isOnlyABranch && !places.empty())) {
      places.insert({origin.path, origin.stage});
    }
  }
  bool hasStages = llvm::any_of(
      places, [](const auto &place) { return !place.second.empty(); });
  SmallVector<std::string> words;
  for (auto [path, stage] : places) {
    // The kernel's own place says nothing beside that of a stage.
    if (!hasStages) {
      words.push_back(path.str());
    } else if (!stage.empty()) {
      words.push_back((path + ", " + stage).str());
    }
  }
  for (BlockArgument argument : block.getArguments()) {
    StringRef loop = originOf(argument.getLoc()).loop;
    if (!loop.empty() && !block.isEntryBlock()) {
      words.push_back(("loop over " + loop).str());
    }
  }
  return llvm::join(words, "; ");
}

void nameBlocks(ModuleOp lowered, llvm::Module &translated) {
  for (auto function : lowered.getOps<LLVM::LLVMFuncOp>()) {
    llvm::Function *same = translated.getFunction(function.getName());
    // The translation makes one block of each, in their order.
    if (!same || same->size() != function.getBlocks().size()) {
      continue;
    }
    // LLVM tells equal names apart by a digit that looks like part of them.
    llvm::StringMap<int64_t> uses;
    for (auto [block, named] : llvm::zip(function.getBlocks(), *same)) {
      std::string name = nameOf(block);
      int64_t use = ++uses[name];
      named.setName(use == 1 || name.empty()
                        ? name
                        : name + " (" + std::to_string(use) + ")");
    }
  }
}

} // namespace hova
