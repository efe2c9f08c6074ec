//===- Site.cpp - What a description calls one thing ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialect/Site.h"
#include "dialect/AttentionOps.h"
#include "dialect/DenseOps.h"
#include "dialect/LinearAttentionOps.h"
#include "dialect/PlacementOps.h"
#include "dialect/Shapes.h"
#include "dialect/TokenOps.h"

using namespace mlir;

namespace hova {

StringRef pathOf(Location loc) {
  if (auto name = dyn_cast<NameLoc>(loc)) {
    return name.getName();
  }
  if (auto fused = dyn_cast<FusedLoc>(loc)) {
    for (Location part : fused.getLocations()) {
      StringRef path = pathOf(part);
      if (!path.empty()) {
        return path;
      }
    }
  }
  return {};
}

std::optional<Site> siteOf(Operation *op) {
  if (auto site = op->getAttrOfType<DictionaryAttr>(kSiteAttr)) {
    auto kind = site.getAs<StringAttr>("kind");
    auto path = site.getAs<StringAttr>("path");
    return Site{kind ? kind.getValue() : "", path ? path.getValue() : ""};
  }
  if (auto site = dyn_cast<SiteOpInterface>(op)) {
    return Site{site.getSiteKind(), pathOf(op->getLoc())};
  }
  return std::nullopt;
}

const void *siteKeyOf(Operation *op) {
  Attribute site = op->getAttr(kSiteAttr);
  return site ? site.getAsOpaquePointer() : op;
}

void setSite(Operation *op, const Site &site) {
  Builder builder(op->getContext());
  op->setAttr(
      kSiteAttr,
      builder.getDictionaryAttr(
          {builder.getNamedAttr("kind", builder.getStringAttr(site.kind)),
           builder.getNamedAttr("path", builder.getStringAttr(site.path))}));
}

void inheritSite(Operation *to, Operation *from) {
  for (StringRef name : {kSiteAttr, kRequireAttr}) {
    if (Attribute value = from->getAttr(name)) {
      to->setAttr(name, value);
    }
  }
}

//===----------------------------------------------------------------------===//
// Operations that are sites
//===----------------------------------------------------------------------===//

StringRef AttentionOp::getSiteKind() { return "attention"; }
StringRef LinearAttentionOp::getSiteKind() { return "attention"; }
StringRef SummaryAttentionOp::getSiteKind() { return "attention"; }
StringRef ProjectTokensOp::getSiteKind() { return "token projection"; }
StringRef HeadReweightOp::getSiteKind() { return "reweight"; }
StringRef ScaleHeadsOp::getSiteKind() { return "reweight"; }
StringRef ChannelGateOp::getSiteKind() { return "gate"; }
StringRef LinearOp::getSiteKind() { return "linear"; }
StringRef SumPartsOp::getSiteKind() { return "linear"; }
StringRef LayerNormOp::getSiteKind() { return "norm"; }
StringRef NormalizeHeadsOp::getSiteKind() { return "norm"; }
StringRef SoftmaxOp::getSiteKind() { return "softmax"; }
StringRef PatchEmbeddingOp::getSiteKind() { return "patch embedding"; }
StringRef UnfoldOp::getSiteKind() { return "rearrangement"; }
StringRef PadOp::getSiteKind() { return "rearrangement"; }
StringRef ReshapeOp::getSiteKind() { return "rearrangement"; }
StringRef RepeatOp::getSiteKind() { return "rearrangement"; }
StringRef ClassTokenOp::getSiteKind() { return "rearrangement"; }
StringRef RearrangeOp::getSiteKind() { return "rearrangement"; }
StringRef IndexSortOp::getSiteKind() { return "rearrangement"; }
StringRef ConcatOp::getSiteKind() { return "rearrangement"; }

/// The scores that there are, of all queries and heads, in f32. Where they are
/// all that is read there is nothing else.
int64_t AttentionOp::getInnerBytes() {
  if (!hasStaticShapes(*this) || givesScoresAlone()) {
    return 0;
  }
  return shapeOf(getQuery())[0] * getHeads() * countPairs() * 4;
}

/// What is scaled, or only moved, is a copy of what others have made.
bool ScaleHeadsOp::isResultIntermediate() { return true; }
bool UnfoldOp::isResultIntermediate() { return true; }
bool PadOp::isResultIntermediate() { return true; }
bool ReshapeOp::isResultIntermediate() { return true; }
bool RepeatOp::isResultIntermediate() { return true; }
bool ClassTokenOp::isResultIntermediate() { return true; }
bool RearrangeOp::isResultIntermediate() { return true; }
bool IndexSortOp::isResultIntermediate() { return true; }
bool ConcatOp::isResultIntermediate() { return true; }

} // namespace hova
