//===- RowParts.cpp - Rows that are longer than a tile --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cuda/recipes/RowParts.h"
#include "dialect/Shapes.h"

using namespace mlir;

namespace hova {

RowParts::RowParts(GroupEmitter &e, Operation *op)
    : e(e), place(e.tilePlace(op)), columns(shapeOf(op->getResult(0)).back()) {}

RowParts::Values RowParts::forEach(ValueRange inits, Body body) {
  int64_t width = place.type.columns();
  int64_t parts = llvm::divideCeilSigned(columns, width);
  if (parts == 1) {
    return body(place, inits);
  }
  return e.b.loop(parts, inits, [&](Expr number, ValueRange carried) {
    GroupPlace part = place;
    part.column = number * width;
    return body(part, carried);
  });
}

Value RowParts::fold(
    double start, Combine combine,
    llvm::function_ref<Value(const GroupPlace &part)> partial) {
  TileType column =
      place.type.with({place.type.rows(), 1}, e.b.f32(), TileDistribution::row);
  return forEach(e.b.fill(column, start),
                 [&](const GroupPlace &part, ValueRange before) -> Values {
                   return {e.b.combineRows(combine, before[0], partial(part))};
                 })[0];
}

} // namespace hova
