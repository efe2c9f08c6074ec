//===- Verdict.cpp - What became of a site, and why -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/Verdict.h"

using namespace mlir;

void hova::writeVerdict(SiteOpInterface site, StringRef kernel) {
  Builder builder(site.getContext());
  std::string why =
      kernel.empty() ? "no kernel took the operation: its shapes are not static"
                     : site.describeFusion();
  site->setAttr(
      kVerdictAttr,
      builder.getDictionaryAttr(
          {builder.getNamedAttr("fused", builder.getBoolAttr(!kernel.empty())),
           builder.getNamedAttr("kernel", builder.getStringAttr(kernel)),
           builder.getNamedAttr("why", builder.getStringAttr(why))}));
}

void hova::writeVerdict(Operation *site, StringRef pass,
                        const Verdict &verdict) {
  Builder builder(site->getContext());
  NamedAttrList entry;
  entry.set("fired", builder.getBoolAttr(verdict.fired));
  entry.set("why", builder.getStringAttr(verdict.why));
  if (!verdict.fired) {
    entry.set("fires_if", builder.getStringAttr(verdict.firesIf));
  }
  NamedAttrList entries(site->getAttrOfType<DictionaryAttr>(kRewritesAttr));
  entries.set(pass, entry.getDictionary(site->getContext()));
  site->setAttr(kRewritesAttr, entries.getDictionary(site->getContext()));
}

void hova::inheritVerdicts(Operation *to, Operation *from) {
  auto inherited = from->getAttrOfType<DictionaryAttr>(kRewritesAttr);
  if (inherited) {
    NamedAttrList entries(inherited);
    if (auto own = to->getAttrOfType<DictionaryAttr>(kRewritesAttr)) {
      for (NamedAttribute entry : own) {
        entries.set(entry.getName(), entry.getValue());
      }
    }
    to->setAttr(kRewritesAttr, entries.getDictionary(to->getContext()));
  }
  Attribute required = from->getAttr(kRequireAttr);
  if (required && !to->hasAttr(kRequireAttr)) {
    to->setAttr(kRequireAttr, required);
  }
}

LogicalResult hova::notifyDecline(RewriterBase &rewriter, Operation *op,
                                  const Verdict &decline) {
  return rewriter.notifyMatchFailure(op, decline.why);
}
