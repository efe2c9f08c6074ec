//===- Site.cpp - What a description calls one thing ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialect/Site.h"
#include "dialect/Interfaces.h"

using namespace mlir;

namespace hova {

StringRef pathOf(Location loc) {
  if (auto name = dyn_cast<NameLoc>(loc)) {
    StringRef inner = pathOf(name.getChildLoc());
    return inner.empty() ? name.getName().strref() : inner;
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

} // namespace hova
