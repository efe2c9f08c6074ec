//===- VerifyFused.cpp - The promise of fuse ------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialect/program/ProgramOps.h"
#include "dialect/token/TokenOps.h"
#include "passes/Columns.h"
#include "passes/Verdict.h"
#include "passes/fuse/Passes.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace hova {
#define GEN_PASS_DEF_VERIFYFUSEDPASS
#include "passes/fuse/Passes.h.inc"

/// Every site carries its verdict on one of its operations.
static LogicalResult checkVerdicts(func::FuncOp main) {
  llvm::MapVector<const void *, Operation *> missing;
  llvm::SmallPtrSet<const void *, 8> judged;
  main.walk([&](Operation *op) {
    if (siteOf(op) && !isColumnSlice(op)) {
      if (siteVerdictOf(op)) {
        judged.insert(siteKeyOf(op));
      }
      missing.insert({siteKeyOf(op), op});
    }
  });
  bool failed = false;
  for (auto [key, op] : missing) {
    if (!judged.contains(key)) {
      op->emitError(siteOf(op)->kind) << " site carries no verdict";
      failed = true;
    }
  }
  return success(!failed);
}

namespace {
struct VerifyFusedPass final : impl::VerifyFusedPassBase<VerifyFusedPass> {
  using Base::Base;
  void runOnOperation() override {
    markAllAnalysesPreserved();
    auto main = getOperation().lookupSymbol<func::FuncOp>("main");
    if (!main || main.isExternal()) {
      return;
    }
    bool failed = false;
    for (Operation &op : main.getBody().front().without_terminator()) {
      auto view = dyn_cast<RowViewOpInterface>(op);
      if (!isa<ImageWeightOp, KernelOp, AssembleOpInterface, ReshapeOp>(op) &&
          !(view && view.getSourceRows())) {
        op.emitError("fused program still holds '") << op.getName() << "'";
        failed = true;
      }
      if (auto kernel = dyn_cast<KernelOp>(op); kernel && !kernel.getUnits()) {
        kernel.emitOpError("does not say what its threads divide");
        failed = true;
      }
    }
    failed |= checkVerdicts(main).failed();
    if (failed) {
      signalPassFailure();
    }
  }
};
} // namespace
} // namespace hova
