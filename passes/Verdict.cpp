//===- Verdict.cpp - What became of a site, and why -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/Verdict.h"
#include "llvm/Support/DebugLog.h"

using namespace mlir;

bool hova::isRemark(StringRef attribute) {
  return attribute == kSiteAttr || attribute == kRequireAttr ||
         attribute == kVerdictAttr || attribute == kRewritesAttr ||
         attribute == kMissedFusionsAttr || attribute == kScoreTilesAttr;
}

void hova::writeScoreTiles(Operation *op, const ScoreTileCounts &counts) {
  Builder builder(op->getContext());
  NamedAttrList entries;
  entries.set("size",
              builder.getDenseI64ArrayAttr({counts.queries, counts.keys}));
  entries.set("skipped", builder.getI64IntegerAttr(counts.skipped));
  entries.set("mixed", builder.getI64IntegerAttr(counts.mixed));
  entries.set("whole", builder.getI64IntegerAttr(counts.whole));
  op->setAttr(kScoreTilesAttr, entries.getDictionary(op->getContext()));
}

std::optional<hova::ScoreTileCounts> hova::scoreTilesOf(Operation *op) {
  auto entries = op->getAttrOfType<DictionaryAttr>(kScoreTilesAttr);
  auto size =
      entries ? entries.getAs<DenseI64ArrayAttr>("size") : DenseI64ArrayAttr();
  if (!size || size.size() != 2) {
    return std::nullopt;
  }
  ScoreTileCounts counts{size[0], size[1]};
  for (auto [name, count] :
       {std::pair("skipped", &counts.skipped),
        std::pair("mixed", &counts.mixed), std::pair("whole", &counts.whole)}) {
    auto number = entries.getAs<IntegerAttr>(name);
    if (!number) {
      return std::nullopt;
    }
    *count = number.getInt();
  }
  return counts;
}

void hova::writeVerdict(Operation *last, const SiteVerdict &verdict) {
  Builder builder(last->getContext());
  NamedAttrList entries;
  auto add = [&](StringRef name, ArrayRef<std::string> texts) {
    if (!texts.empty()) {
      entries.set(name, builder.getStrArrayAttr(SmallVector<StringRef>(
                            texts.begin(), texts.end())));
    }
  };
  SmallVector<Attribute> apart;
  for (const SiteVerdict::Neighbour &neighbour : verdict.apart) {
    NamedAttrList entry;
    entry.set("path", builder.getStringAttr(neighbour.path));
    entry.set("why", builder.getStringAttr(neighbour.why));
    apart.push_back(entry.getDictionary(last->getContext()));
  }
  entries.set("fused", builder.getBoolAttr(verdict.fused));
  add("kernels", verdict.kernels);
  add("columns", verdict.columns);
  add("joined", verdict.joined);
  add("writers", verdict.writers);
  if (!apart.empty()) {
    entries.set("apart", builder.getArrayAttr(apart));
  }
  if (!verdict.why.empty()) {
    entries.set("why", builder.getStringAttr(verdict.why));
  }
  last->setAttr(kVerdictAttr, entries.getDictionary(last->getContext()));
}

static std::string textOf(DictionaryAttr entries, StringRef name) {
  auto text = entries.getAs<StringAttr>(name);
  return text ? text.str() : std::string();
}

std::optional<hova::SiteVerdict> hova::siteVerdictOf(Operation *op) {
  auto entries = op->getAttrOfType<DictionaryAttr>(kVerdictAttr);
  auto fused = entries ? entries.getAs<BoolAttr>("fused") : BoolAttr();
  if (!fused) {
    return std::nullopt;
  }
  SiteVerdict verdict;
  verdict.fused = fused.getValue();
  verdict.why = textOf(entries, "why");
  auto read = [&](StringRef name, SmallVectorImpl<std::string> &texts) {
    auto list = entries.getAs<ArrayAttr>(name);
    for (Attribute element : list ? list.getValue() : ArrayRef<Attribute>()) {
      if (auto text = dyn_cast<StringAttr>(element)) {
        texts.push_back(text.str());
      }
    }
  };
  read("kernels", verdict.kernels);
  read("columns", verdict.columns);
  read("joined", verdict.joined);
  read("writers", verdict.writers);
  auto apart = entries.getAs<ArrayAttr>("apart");
  for (Attribute element : apart ? apart.getValue() : ArrayRef<Attribute>()) {
    if (auto entry = dyn_cast<DictionaryAttr>(element)) {
      verdict.apart.push_back({textOf(entry, "path"), textOf(entry, "why")});
    }
  }
  return verdict;
}

void hova::writeVerdict(Operation *site, StringRef pass,
                        const Verdict &verdict) {
  LDBG(pass.str().c_str(), 1)
      << (verdict.fired ? "fires" : "declines") << " on " << site->getName()
      << " at " << site->getLoc() << ": " << verdict.why;
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
    if (auto present = to->getAttrOfType<DictionaryAttr>(kRewritesAttr)) {
      for (NamedAttribute entry : present) {
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
