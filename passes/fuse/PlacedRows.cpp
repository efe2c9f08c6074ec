//===- PlacedRows.cpp - Operations on rows in another order ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Part of the grouping: an operation after rows in the order of windows may
// keep that order, where nothing of its result says which row it is.

#include "passes/fuse/PlacedRows.h"
#include "dialect/Interfaces.h"
#include "passes/Validity.h"

using namespace mlir;

namespace hova {

/// Whether `op` computes every row of its result from the same rows of its
/// operands and from operands that are the same for all rows.
static bool worksByRow(const IterationSpace &space) {
  return space.dividesRows() &&
         llvm::all_of(llvm::seq<unsigned>(0, space.operands.size()),
                      [&](unsigned index) {
                        return space.readsSameRow(index) ||
                               space.readsAlike(index, space.units);
                      });
}

std::string whyNotPlaced(Operation *op, PlacementAttrInterface placement) {
  IterationSpace space = cast<StructuredOpInterface>(op).getIterationSpace();
  std::string name = ("'" + op->getName().getStringRef() + "'").str();
  if (!worksByRow(space) || op->getNumResults() != 1) {
    return name + " cannot compute its rows in another order";
  }
  if (!space.ignoresPosition) {
    return "rows of " + name + " may depend on their position";
  }
  auto placed = [&](Type type) -> Type {
    return placedType(placement, cast<RankedTensorType>(type));
  };
  SmallVector<Type> operands(op->getOperandTypes());
  for (auto [index, type] : llvm::enumerate(operands)) {
    type = space.readsSameRow(index) ? placed(type) : type;
  }
  SmallVector<Type> results = llvm::map_to_vector(op->getResultTypes(), placed);
  if (!isValidWith(op, operands, results)) {
    return name + " is not valid for rows in another order";
  }
  return "";
}

} // namespace hova
