//===- DecomposeProgram.cpp - Code apart from what describes it -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// What `target` lowers is code alone; what the program is called, takes, gives
// and keeps in its arena is read from `main` afterwards, and the folding
// function is evaluated. Upstream's conversions lower all of a module, so the
// code gets one of its own. Does nothing to a module that has it already.

#include "codegen/Passes.h"
#include "passes/tile/ProgramAttrs.h"

using namespace mlir;

namespace hova {
#define GEN_PASS_DEF_DECOMPOSEPROGRAMPASS
#include "codegen/Passes.h.inc"

static bool isProgram(Operation &op, StringRef name) {
  auto function = dyn_cast<func::FuncOp>(op);
  return function && function.getName() == name;
}

static bool isTiledMain(Operation &op) {
  return isa<func::FuncOp>(op) && op.hasAttr(kArenaBytesAttr);
}

namespace {
struct DecomposeProgramPass final
    : impl::DecomposeProgramPassBase<DecomposeProgramPass> {
  using Base::Base;
  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (codeOf(module)) {
      return;
    }
    SmallVector<Operation *> operations;
    for (Operation &op : module.getOps()) {
      operations.push_back(&op);
    }
    auto builder = OpBuilder::atBlockEnd(module.getBody());
    auto code = ModuleOp::create(builder, module.getLoc(), kCodeName);
    for (Operation *op : operations) {
      if (isProgram(*op, kFoldingFunction)) {
        continue;
      }
      // Tables become data of the code.
      if (isProgram(*op, kTableProgram)) {
        op->moveBefore(code.getBody(), code.getBody()->end());
        continue;
      }
      // What `main` launches is declared beside it.
      builder.setInsertionPoint(op);
      if (isTiledMain(*op)) {
        builder.clone(*op);
      } else if (auto kernel = dyn_cast<func::FuncOp>(op)) {
        auto declaration = cast<func::FuncOp>(kernel->cloneWithoutRegions());
        declaration.setPrivate();
        builder.insert(declaration);
      }
      op->moveBefore(code.getBody(), code.getBody()->end());
    }
  }
};
} // namespace

ModuleOp codeOf(ModuleOp module) {
  return module.lookupSymbol<ModuleOp>(kCodeName);
}

} // namespace hova
