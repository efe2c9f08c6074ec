//===- VerifyDemands.cpp - Fusions that the description demands -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// A layer with `"require": "fused"` whose intermediates pass through memory is
// the mistake of whoever wrote it, or of whoever expected more of the compiler;
// either way compiling ends, at the place of the layer and with the first
// reason. A pass of its own, so that this is not taken for a broken promise.

#include "passes/Verdict.h"
#include "passes/fuse/Passes.h"

using namespace mlir;

namespace hova {
#define GEN_PASS_DEF_VERIFYDEMANDSPASS
#include "passes/fuse/Passes.h.inc"

namespace {
struct VerifyDemandsPass final
    : impl::VerifyDemandsPassBase<VerifyDemandsPass> {
  using Base::Base;
  void runOnOperation() override {
    markAllAnalysesPreserved();
    bool failed = false;
    getOperation().walk([&](Operation *op) {
      std::optional<SiteVerdict> verdict = siteVerdictOf(op);
      std::optional<Site> site = siteOf(op);
      if (site && verdict && !verdict->fused && op->hasAttr(kRequireAttr)) {
        op->emitError(site->kind)
            << " is required to be fused, but " << verdict->why;
        failed = true;
      }
    });
    if (failed) {
      signalPassFailure();
    }
  }
};
} // namespace
} // namespace hova
