//===- ColumnOps.cpp - Verifiers, dims and tiles --------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialect/columns/ColumnOps.h"
#include "dialect/Shapes.h"
#include "dialect/dense/DenseOps.h"
#include "dialect/token/TokenOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace hova;

//===----------------------------------------------------------------------===//
// RotaryOp
//===----------------------------------------------------------------------===//

LogicalResult RotaryOp::verify() {
  ArrayRef<int64_t> x = shapeOf(getX()), table = shapeOf(getCosines());
  if (x.size() < 2 || table.size() != 2 ||
      !agree(x[x.size() - 2], table[0])) { // C1
    return emitOpError("expects tables with a row for each token of x, got ")
           << shapeText(table) << " and " << shapeText(x);
  }
  int64_t width = x.back(), pairs = table[1], heads = getHeads();
  bool isKnown = !ShapedType::isDynamic(width) && !ShapedType::isDynamic(pairs);
  if (heads < 1 || (isKnown && (width % heads != 0 || pairs < 1 ||
                                2 * pairs > width / heads))) { // C2
    return emitOpError("expects heads of at least two columns for each of ")
           << pairs << " pairs, got " << heads << " heads of " << width
           << " columns";
  }
  return success();
}

namespace {
/// Writes tables of all columns of a head from those of its pairs.
class TableWriter {
public:
  TableWriter(RewriterBase &rewriter, RotaryOp op)
      : rewriter(rewriter), op(op), tokens(shapeOf(op.getCosines())[0]),
        pairs(shapeOf(op.getCosines())[1]),
        width(shapeOf(op.getX()).back() / static_cast<int64_t>(op.getHeads())) {
  }

  /// `first` in the first columns of pairs, `second` in the second ones, and
  /// `rest` in those that are not rotated.
  Value write(Value first, Value second, double rest) {
    Value table;
    if (op.getPairs() == RotaryPairs::halves) {
      table = join({first, second}, {tokens, 2 * pairs});
    } else {
      table = reshape(join({reshape(first, {tokens, pairs, 1}),
                            reshape(second, {tokens, pairs, 1})},
                           {tokens, pairs, 2}),
                      {tokens, 2 * pairs});
    }
    int64_t left = width - 2 * pairs;
    if (left == 0) {
      return table;
    }
    auto type = RankedTensorType::get({tokens, left}, element());
    Value others = arith::ConstantOp::create(
        rewriter, op.getLoc(),
        DenseElementsAttr::get(type, rewriter.getFloatAttr(element(), rest)));
    return join({table, others}, {tokens, width});
  }

private:
  Type element() { return getElementTypeOrSelf(op.getCosines()); }
  Value join(ArrayRef<Value> parts, ArrayRef<int64_t> shape) {
    return ConcatOp::create(rewriter, op.getLoc(),
                            RankedTensorType::get(shape, element()), parts,
                            /*axis=*/static_cast<int64_t>(shape.size()) - 1);
  }
  Value reshape(Value table, ArrayRef<int64_t> shape) {
    return ReshapeOp::create(rewriter, op.getLoc(),
                             RankedTensorType::get(shape, element()), table);
  }

  RewriterBase &rewriter;
  RotaryOp op;
  int64_t tokens, pairs, width;
};
} // namespace

/// rotary %x, %c, %s -> rotate %x, (%c, %c, 1), (-%s, %s, 0)
FailureOr<SmallVector<Value>> RotaryOp::decompose(RewriterBase &rewriter) {
  if (!hasStaticShapes(*this)) {
    return failure();
  }
  rewriter.setInsertionPoint(*this);
  Value negative = ScaleOp::create(rewriter, getLoc(), getSines().getType(),
                                   getSines(), rewriter.getF64FloatAttr(-1));
  TableWriter tables(rewriter, *this);
  Value cosine = tables.write(getCosines(), getCosines(), 1);
  Value sine = tables.write(negative, getSines(), 0);
  int64_t distance =
      getPairs() == RotaryPairs::halves ? shapeOf(getCosines())[1] : 1;
  Value rotated = RotateOp::create(rewriter, getLoc(), getX().getType(), getX(),
                                   cosine, sine, distance);
  return SmallVector<Value>{rotated};
}

//===----------------------------------------------------------------------===//
// RotateOp
//===----------------------------------------------------------------------===//

LogicalResult RotateOp::verify() {
  ArrayRef<int64_t> x = shapeOf(getX()), table = shapeOf(getCosines());
  if (x.size() < 2 || table.size() != 2 ||
      !agree(x[x.size() - 2], table[0])) { // C1
    return emitOpError("expects tables with a row for each token of x, got ")
           << shapeText(table) << " and " << shapeText(x);
  }
  int64_t width = x.back(), period = table[1];
  bool isKnown =
      !ShapedType::isDynamic(width) && !ShapedType::isDynamic(period);
  if (isKnown && (period < 1 || width % period != 0)) { // C2
    return emitOpError("expects tables whose columns divide ")
           << width << ", got " << period;
  }
  int64_t distance = getDistance();
  if (distance < 1 ||
      (!ShapedType::isDynamic(period) && distance > period / 2)) { // C3
    return emitOpError("expects a distance of 1 to ")
           << period / 2 << ", got " << distance;
  }
  return success();
}

/// A row is computed of the row of x and of the tables' at its token.
IterationSpace RotateOp::getIterationSpace() {
  IterationSpaceBuilder builder(*this);
  SmallVector<AffineExpr> axes = builder.rows();
  AffineExpr token = axes.back();
  AffineExpr column = builder.parallel("column", shapeOf(getX()).back());
  SmallVector<AffineExpr> read = axes;
  read.push_back(builder.reduction("partner", shapeOf(getX()).back()));
  builder.operand(0, read);
  int64_t period = shapeOf(getCosines())[1];
  AffineExpr entry = ShapedType::isDynamic(period) ? column : column % period;
  builder.operand(1, {token, entry});
  builder.operand(2, {token, entry});
  axes.push_back(column);
  builder.result(axes);
  return builder.build().ignoringPosition();
}

TileScope RotateOp::getScope() {
  // The second head of an odd width begins with the second column of a pair.
  bool isEven = shapeOf(getCosines())[1] % 2 == 0;
  return getDistance() == 1 && isEven ? TileScope::pair : TileScope::row;
}

Value RotateOp::emitTile(OpBuilder &builder, ValueRange tiles) {
  Value kept = arith::MulFOp::create(builder, getLoc(), tiles[0], tiles[1]);
  return math::FmaOp::create(builder, getLoc(), tiles[3], tiles[2], kept);
}

//===----------------------------------------------------------------------===//
// Sites
//===----------------------------------------------------------------------===//

StringRef RotaryOp::getSiteKind() { return "rotation"; }
StringRef RotateOp::getSiteKind() { return "rotation"; }

void HovaDialect::registerColumnOps() {
  addOperations<
#define GET_OP_LIST
#include "dialect/columns/ColumnOps.cpp.inc"
      >();
}

#define GET_OP_CLASSES
#include "dialect/columns/ColumnOps.cpp.inc"
