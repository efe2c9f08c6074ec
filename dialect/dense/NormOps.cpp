//===- NormOps.cpp - Norms that are applied behind products ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialect/dense/NormOps.h"
#include "dialect/Shapes.h"

using namespace mlir;
using namespace hova;

#define GET_OP_CLASSES
#include "dialect/dense/NormOps.cpp.inc"

//===----------------------------------------------------------------------===//
// CenterOp
//===----------------------------------------------------------------------===//

LogicalResult CenterOp::verify() {
  if (shapeOf(getX()).empty()) { // C1
    return emitOpError("expects x with a last axis, got a scalar");
  }
  return success();
}

IterationSpace CenterOp::getIterationSpace() {
  return rowSpace(*this, 1).ignoringPosition();
}

//===----------------------------------------------------------------------===//
// RowSquaresOp
//===----------------------------------------------------------------------===//

LogicalResult RowSquaresOp::verify() {
  ArrayRef<int64_t> x = shapeOf(getX());
  if (x.empty() || ShapedType::isDynamic(x.back())) { // C1
    return emitOpError("expects x with a last axis of known width, got ")
           << shapeText(x);
  }
  SmallVector<int64_t> expected(x);
  expected.back() = llvm::divideCeilSigned(x.back(), getColumns());
  if (!agree(shapeOf(getResult()), expected) ||
      !getElementTypeOrSelf(getResult()).isF32()) { // C2
    return emitOpError("expects a result of shape ")
           << shapeText(expected) << " and of f32, got " << getType();
  }
  return success();
}

IterationSpace RowSquaresOp::getIterationSpace() {
  IterationSpaceBuilder builder(*this);
  SmallVector<AffineExpr> axes = builder.rows();
  auto columns = static_cast<int64_t>(getColumns());
  AffineExpr part = builder.parallel("part", shapeOf(getResult()).back());
  AffineExpr inner = builder.reduction("column", columns);
  axes.push_back(part);
  builder.result(axes);
  axes.back() = part * columns + inner;
  builder.operand(0, axes);
  return builder.build().ignoringPosition();
}

StringRef RowSquaresOp::getSiteKind() { return "norm"; }

//===----------------------------------------------------------------------===//
// DivideByRmsOp
//===----------------------------------------------------------------------===//

LogicalResult DivideByRmsOp::verify() {
  ArrayRef<int64_t> x = shapeOf(getX()), squares = shapeOf(getSquares());
  if (x.empty() || squares.empty() ||
      !agree(x.drop_back(), squares.drop_back())) { // C1
    return emitOpError("expects squares of the rows of ")
           << shapeText(x) << ", got " << shapeText(squares);
  }
  if (getBias() && !agree(shapeOf(getBias()), {x.back()})) { // C2
    return emitOpError("expects a bias of shape ")
           << x.back() << ", got " << shapeText(shapeOf(getBias()));
  }
  if (double eps = getEps().convertToDouble(); !(eps >= 0)) { // C3
    return emitOpError("expects eps >= 0, got ") << eps;
  }
  return success();
}

IterationSpace DivideByRmsOp::getIterationSpace() {
  IterationSpaceBuilder builder(*this);
  SmallVector<AffineExpr> axes = builder.rows();
  AffineExpr column = builder.parallel("column", shapeOf(getX()).back());
  AffineExpr part = builder.reduction("part", shapeOf(getSquares()).back());
  axes.push_back(column);
  builder.result(axes);
  builder.operand(0, axes);
  axes.back() = part;
  builder.operand(1, axes);
  if (getBias()) {
    builder.operand(2, {column});
  }
  return builder.build().ignoringPosition();
}
