//===- ClusterOps.cpp - Sums that blocks of a cluster add -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cuda/ClusterOps.h"
#include "codegen/cuda/facts/AllGpus.h"

using namespace mlir;
using namespace hova;

#define GET_OP_CLASSES
#include "codegen/cuda/ClusterOps.cpp.inc"

LogicalResult AddPartsOp::verify() {
  TileType tile = getTile().getType(), result = getResult().getType();
  SlotsType slots = getSlots().getType();
  if (!tile.getElementType().isF32() || !result.getElementType().isF32() ||
      !slots.getElementType().isF32()) { // C1
    return emitOpError("expects elements of f32, got ")
           << tile << ", " << slots << " and " << result;
  }
  if (tile.getDistribution() != TileDistribution::product ||
      result.getDistribution() != TileDistribution::row ||
      result.getColumnMembers() != 1 || result.members() != tile.members() ||
      result.columns() != tile.columns()) { // C2
    return emitOpError("expects a tile as a product leaves it, and a result "
                       "along the row with as many columns and members, which "
                       "divide rows alone, got ")
           << tile << " and " << result;
  }
  if (tile.rows() % result.rows() != 0 || countBlocks() < 2 ||
      countBlocks() > kMostClusterBlocks) { // C3
    return emitOpError("expects the rows of 2 to ")
           << kMostClusterBlocks << " blocks, got " << result.rows() << " of "
           << tile.rows();
  }
  if (slots.count() != 1 || slots.rows() != tile.rows() ||
      slots.columns() < tile.columns()) { // C4
    return emitOpError("expects one box of ")
           << tile.rows() << "x" << tile.columns()
           << " or with more columns, got " << slots;
  }
  return success();
}
