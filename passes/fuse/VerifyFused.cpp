//===- VerifyFused.cpp - The promise of fuse ------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialect/ProgramOps.h"
#include "passes/Verdict.h"
#include "passes/fuse/Passes.h"

using namespace mlir;

namespace hova {
#define GEN_PASS_DEF_VERIFYFUSEDPASS
#include "passes/fuse/Passes.h.inc"

/// Reports a demanded fusion that did not happen.
static LogicalResult checkDemand(SiteOpInterface site) {
  auto verdict = site->getAttrOfType<DictionaryAttr>(kVerdictAttr);
  if (!verdict) {
    return site.emitError("attention site carries no verdict");
  }
  if (site->hasAttr(kRequireAttr) &&
      !verdict.getAs<BoolAttr>("fused").getValue()) {
    return site.emitError("attention is required to be fused, but ")
           << verdict.getAs<StringAttr>("why").getValue();
  }
  return success();
}

namespace {
struct VerifyFusedPass final : impl::VerifyFusedPassBase<VerifyFusedPass> {
  using Base::Base;
  void runOnOperation() override {
    auto main = getOperation().lookupSymbol<func::FuncOp>("main");
    if (!main || main.isExternal()) {
      return;
    }
    bool failed = false;
    for (Operation &op : main.getBody().front().without_terminator()) {
      if (!isa<ImageWeightOp, KernelOp, AssembleOpInterface>(op)) {
        op.emitError("fused program still holds '") << op.getName() << "'";
        failed = true;
      }
      if (auto kernel = dyn_cast<KernelOp>(op); kernel && !kernel.getUnits()) {
        kernel.emitOpError("does not say what its threads divide");
        failed = true;
      }
    }
    main.walk(
        [&](SiteOpInterface site) { failed |= checkDemand(site).failed(); });
    if (failed) {
      signalPassFailure();
    }
  }
};
} // namespace
} // namespace hova
