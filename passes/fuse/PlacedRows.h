//===- PlacedRows.h - Operations on rows in another order -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_PASSES_FUSE_PLACEDROWS_H
#define HOVA_PASSES_FUSE_PLACEDROWS_H

#include "dialect/Placement.h"
#include "mlir/IR/Operation.h"
#include <string>

namespace hova {

/// Why `op` cannot compute its rows as `placement` makes them; empty if it can.
/// It can if every row of its result is a function of the same rows of its
/// operands and of operands that are the same for all rows, if no row depends
/// on its position, and if its verifier accepts the placed types.
std::string whyNotPlaced(mlir::Operation *op, PlacementAttrInterface placement);

} // namespace hova

#endif // HOVA_PASSES_FUSE_PLACEDROWS_H
