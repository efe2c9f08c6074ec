//===- ScoreOps.cpp - Verifiers of what a score region holds --------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialect/score/ScoreOps.h"
#include "dialect/Shapes.h"

using namespace mlir;
using namespace hova;

LogicalResult ElementOp::verify() {
  size_t axes = shapeOf(getTable()).size();
  if (getIndices().size() != axes) { // C1
    return emitOpError("expects an index for each of ")
           << axes << " axes, got " << getIndices().size();
  }
  std::optional<ArrayRef<int64_t>> range = getRange();
  bool fits = !range || (isa<IntegerType>(getResult().getType()) &&
                         range->size() == 2 && (*range)[0] < (*range)[1]);
  if (!fits) { // C2
    return emitOpError("expects a range [low, high] of integers with low < "
                       "high, got ")
           << getRangeAttr() << " of " << getResult().getType();
  }
  return success();
}

void HovaDialect::registerScoreOps() {
  addOperations<
#define GET_OP_LIST
#include "dialect/score/ScoreOps.cpp.inc"
      >();
}

#define GET_OP_CLASSES
#include "dialect/score/ScoreOps.cpp.inc"
