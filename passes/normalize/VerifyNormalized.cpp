//===- VerifyNormalized.cpp - The promise of normalize --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialect/dense/DenseOps.h"
#include "dialect/program/ProgramOps.h"
#include "dialect/token/TokenOps.h"
#include "passes/normalize/Passes.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace hova {
#define GEN_PASS_DEF_VERIFYNORMALIZEDPASS
#include "passes/normalize/Passes.h.inc"

namespace {
struct VerifyNormalizedPass final
    : impl::VerifyNormalizedPassBase<VerifyNormalizedPass> {
  using Base::Base;
  void runOnOperation() override {
    markAllAnalysesPreserved();
    llvm::StringSet<> stored;
    bool failed = false;
    getOperation().walk([&](StoreWeightOp op) {
      if (!stored.insert(op.getName()).second) {
        op.emitError("folding function stores '") << op.getName() << "' twice";
        failed = true;
      }
    });
    auto check = [&](Operation *op) {
      if (isa<WeightOp, DecomposeOpInterface, PatchEmbeddingOp>(op)) {
        op->emitError("normalized program still holds '")
            << op->getName() << "'";
        failed = true;
      }
      auto linear = dyn_cast<LinearOp>(op);
      if (linear && linear.getTransposed()) {
        op->emitError("normalized program still holds a transposed linear");
        failed = true;
      }
      auto reference = dyn_cast<ImageWeightOp>(op);
      if (reference && !stored.contains(reference.getName())) {
        op->emitError("folding function does not store '")
            << reference.getName() << "'";
        failed = true;
      }
    };
    if (auto main = getOperation().lookupSymbol<func::FuncOp>("main")) {
      main.walk(check);
    }
    if (failed) {
      signalPassFailure();
    }
  }
};
} // namespace
} // namespace hova
