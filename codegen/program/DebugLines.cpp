//===- DebugLines.cpp - Lines of a text for generated code ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/program/DebugLines.h"
#include "codegen/program/BlockNames.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FileSystem.h"

using namespace mlir;

namespace hova {

DebugLines::DebugLines(StringRef path) {
  llvm::SmallString<256> absolute(path);
  llvm::sys::fs::make_absolute(absolute);
  this->path = absolute.str().str();
}

unsigned DebugLines::newLine(const Twine &line) {
  text += line.str() + "\n";
  return ++lines;
}

/// "stage 1: early.0.norm1 (digits.json:15:18)"; empty where nothing is known.
static std::string describe(Location location) {
  CodeOrigin origin = originOf(location);
  if (origin.path.empty()) {
    return {};
  }
  std::string text = origin.stage.empty() ? "" : origin.stage.str() + ": ";
  text += origin.path;
  if (auto place = location->findInstanceOf<FileLineColLoc>()) {
    text += (" (" + place.getFilename().getValue() + ":" +
             Twine(place.getLine()) + ":" + Twine(place.getColumn()) + ")")
                .str();
  }
  return text;
}

LogicalResult DebugLines::add(ModuleOp lowered, StringRef level) {
  MLIRContext *context = lowered.getContext();
  auto locationOf = [&](unsigned line) {
    return FileLineColLoc::get(context, path, line, 1);
  };
  for (auto function : lowered.getOps<LLVM::LLVMFuncOp>()) {
    if (function.isExternal()) {
      function->setLoc(UnknownLoc::get(context));
      continue;
    }
    unsigned first = newLine(function.getName() + " at level " + level);
    llvm::StringMap<unsigned> known;
    function->setLoc(locationOf(first));
    function.walk([&](Operation *op) {
      if (op == function) {
        return;
      }
      std::string place = describe(op->getLoc());
      unsigned line = first;
      if (!place.empty()) {
        auto [entry, isNew] = known.try_emplace(place, 0);
        if (isNew) {
          entry->second = newLine("  " + place);
        }
        line = entry->second;
      }
      op->setLoc(locationOf(line));
    });
  }
  PassManager manager(context);
  manager.addPass(LLVM::createDIScopeForLLVMFuncOpPass());
  return manager.run(lowered);
}

} // namespace hova
