//===- Site.h - What a description calls one thing --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A site is what reports speak of: an operation that says of itself that it is
// one (SiteOpInterface), or all operations that a compound one was decomposed
// into. Those carry `hova.site`, a dictionary of the kind and the path of what
// they were, which says the same in every dump and whatever becomes of
// locations:
//
//   hova.add {hova.site = {kind = "gate", path = "encoder.0.attn.vertical"}}
//
// Slices of columns are addresses and belong to no site: the columns of a
// merged product are made at the product's.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_DIALECT_SITE_H
#define HOVA_DIALECT_SITE_H

#include "mlir/IR/Operation.h"

namespace hova {

inline constexpr llvm::StringLiteral kSiteAttr = "hova.site";
/// On an operation of a site that has to be fused: `"fused"`.
inline constexpr llvm::StringLiteral kRequireAttr = "hova.require";

/// The path in the description, such as `encoder.3.attn.query`: the first name
/// in the location, or an empty string. A name over a name is what a value is
/// called within that path, `"rows"("encoder.3.attn"(..))`.
llvm::StringRef pathOf(mlir::Location loc);

struct Site {
  llvm::StringRef kind, path;
};

/// The site that `op` belongs to; nothing where it belongs to none.
std::optional<Site> siteOf(mlir::Operation *op);

/// What tells the sites of operations apart: what a compound operation left on
/// its parts, else the operation itself.
const void *siteKeyOf(mlir::Operation *op);

/// Makes `op` a part of a site.
void setSite(mlir::Operation *op, const Site &site);

/// Makes `to`, which computes what `from` did, a part of the site of which
/// `from` is a part, with what is demanded of it.
void inheritSite(mlir::Operation *to, mlir::Operation *from);

} // namespace hova

#endif // HOVA_DIALECT_SITE_H
