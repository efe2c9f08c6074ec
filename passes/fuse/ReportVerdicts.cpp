//===- ReportVerdicts.cpp - Verdicts as remarks of MLIR -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// For whoever reads a dump with hova-opt or runs passes from a plugin: what
// `hova explain` prints of a description, said at the operations. Not part of a
// compilation. Does nothing where no verdict is.

#include "passes/Verdict.h"
#include "passes/fuse/Passes.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace hova {
#define GEN_PASS_DEF_REPORTVERDICTSPASS
#include "passes/fuse/Passes.h.inc"

static void reportSite(Operation *op, const Site &site,
                       const SiteVerdict &verdict) {
  // Not with the operation itself, which has all of this as attributes.
  StringRef name = site.path.empty() ? op->getName().getStringRef() : site.path;
  InFlightDiagnostic remark =
      emitRemark(op->getLoc(), site.kind)
      << " " << name << (verdict.fused ? " is fused in " : " is not fused, in ")
      << llvm::join(verdict.kernels, ", ");
  if (!verdict.why.empty()) {
    remark << ": " << verdict.why;
  }
  if (!verdict.joined.empty()) {
    remark.attachNote() << "with " << llvm::join(verdict.joined, ", ");
  }
  for (const SiteVerdict::Neighbour &neighbour : verdict.apart) {
    remark.attachNote() << "not with " << neighbour.path << ": "
                        << neighbour.why;
  }
}

static void reportRewrites(Operation *op) {
  auto entries = op->getAttrOfType<DictionaryAttr>(kRewritesAttr);
  for (NamedAttribute entry :
       entries ? entries.getValue() : ArrayRef<NamedAttribute>()) {
    auto verdict = cast<DictionaryAttr>(entry.getValue());
    bool fired = verdict.getAs<BoolAttr>("fired").getValue();
    InFlightDiagnostic remark =
        emitRemark(op->getLoc(), entry.getName().getValue())
        << (fired ? " fired: " : " did not fire: ")
        << verdict.getAs<StringAttr>("why").getValue();
    if (auto firesIf = verdict.getAs<StringAttr>("fires_if")) {
      remark.attachNote() << "it fires if " << firesIf.getValue();
    }
  }
}

namespace {
struct ReportVerdictsPass final
    : impl::ReportVerdictsPassBase<ReportVerdictsPass> {
  using Base::Base;
  void runOnOperation() override {
    getOperation().walk([](Operation *op) {
      std::optional<SiteVerdict> verdict = siteVerdictOf(op);
      std::optional<Site> site = siteOf(op);
      if (verdict && site) {
        reportSite(op, *site, *verdict);
      }
      reportRewrites(op);
    });
    markAllAnalysesPreserved();
  }
};
} // namespace
} // namespace hova
