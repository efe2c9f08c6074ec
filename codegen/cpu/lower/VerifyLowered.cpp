//===- VerifyLowered.cpp - The promise of target --------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cpu/Passes.h"

using namespace mlir;

namespace hova {
#define GEN_PASS_DEF_VERIFYLOWEREDPASS
#include "codegen/cpu/Passes.h.inc"

namespace {
struct VerifyLoweredPass final
    : impl::VerifyLoweredPassBase<VerifyLoweredPass> {
  using Base::Base;
  void runOnOperation() override {
    markAllAnalysesPreserved();
    bool failed = false;
    getOperation()->walk([&](Operation *op) {
      if (!isa<LLVM::LLVMDialect>(op->getDialect()) && !isa<ModuleOp>(op)) {
        op->emitError("lowered program still holds '") << op->getName() << "'";
        failed = true;
      }
    });
    for (auto function : getOperation().getOps<LLVM::LLVMFuncOp>()) {
      if (function.isExternal() && function.getName() != kRunLaunches) {
        function.emitError("generated code calls '")
            << function.getName() << "'";
        failed = true;
      }
    }
    if (failed) {
      signalPassFailure();
    }
  }
};
} // namespace
} // namespace hova
