//===- SumOps.cpp - Sums of rows that pass between groups -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cuda/SumOps.h"
#include "codegen/cuda/facts/AllGpus.h"

using namespace mlir;
using namespace hova;

#define GET_OP_CLASSES
#include "codegen/cuda/SumOps.cpp.inc"

/// Whether the lanes that hold columns of a sum hold no others of their row:
/// all lanes of a row have so many columns at once, or some have all of a
/// sum's.
static bool areWholeSums(TileType tile, int64_t width) {
  int64_t part = tile.columns() / tile.getColumnMembers();
  bool isRow = tile.getDistribution() == TileDistribution::row;
  int64_t run = isRow ? runOfRow(part) : 2;
  int64_t atOnce = (isRow ? kLanes : kLanesOfRow) * run;
  return tile.columns() > 1 && part % width == 0 && run != 0 &&
         (width % atOnce == 0 ||
          (isRow && atOnce % width == 0 && width % run == 0 &&
           llvm::isPowerOf2_64(width / run)));
}

LogicalResult StoreSumsOp::verify() {
  TileType tile = getTile().getType();
  if (!tile.getElementType().isF32() ||
      tile.getDistribution() == TileDistribution::partial) { // C1
    return emitOpError("expects a tile of f32 that is not partial, got ")
           << tile;
  }
  if (!areWholeSums(tile, getWidth())) { // C2
    return emitOpError("expects lanes to have whole sums of ")
           << getWidth() << " columns, got " << tile;
  }
  if (failed(verifyInBounds(*this, getInBounds()))) {
    return failure();
  }
  return verifyRows(*this, "target", getTarget().getType()); // C3
}

LogicalResult LoadSumsOp::verify() {
  TileType tile = getTile().getType();
  if (!tile.getElementType().isF32() || tile.columns() != 1 ||
      tile.getDistribution() == TileDistribution::partial) { // C1
    return emitOpError("expects a column of f32 that is not partial, got ")
           << tile;
  }
  return verifyRows(*this, "source", getSource().getType()); // C2
}
