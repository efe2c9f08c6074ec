//===- SoftmaxRecipe.cpp - Shares of whole rows, on a GPU -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A warp has a row, of any length, and reads it three times, in parts of as
// many columns as it holds: for the maximum, for the sum of the exponentials,
// and for what it stores. A row of one part is read once.

#include "codegen/cuda/Recipe.h"
#include "codegen/cuda/recipes/GroupEmitter.h"
#include "dialect/Shapes.h"
#include "dialect/dense/DenseOps.h"
#include <cmath>

using namespace mlir;

namespace hova {

namespace {
class SoftmaxEmitter {
public:
  using Place = GroupEmitter::Place;
  using Values = KernelBuilder::Values;
  using Elements = KernelBuilder::Elements;

  SoftmaxEmitter(GroupEmitter &e, SoftmaxOp op)
      : e(e), b(e.b), op(op), place(e.tilePlace(op)),
        columns(shapeOf(op.getResult()).back()), width(place.type.columns()) {}
  void emit();

private:
  /// A part of the rows, in f32; after the last column there is -inf.
  Value load(const Place &part);
  /// Folds all parts of the rows into a tile of one column.
  Value fold(double start, Combine combine,
             llvm::function_ref<Value(Value part)> partial);
  /// What `body` makes of the last part, and carries from part to part.
  Values
  forEachPart(ValueRange inits,
              llvm::function_ref<Values(const Place &, ValueRange)> body);

  GroupEmitter &e;
  KernelBuilder &b;
  SoftmaxOp op;
  const Place place; ///< of the first part
  int64_t columns, width;
};
} // namespace

Value SoftmaxEmitter::load(const Place &part) {
  Value x = e.load(op.getX(), shapeOf(op.getResult()), part);
  return b.map(part.type, x, [&](Elements elements, Expr, Expr j) {
    Expr there = part.columnsInside ? Expr() : part.column + j < columns;
    return select(there, widen(b, elements[0]), -INFINITY);
  });
}

SoftmaxEmitter::Values SoftmaxEmitter::forEachPart(
    ValueRange inits,
    llvm::function_ref<Values(const Place &, ValueRange)> body) {
  int64_t parts = llvm::divideCeilSigned(columns, width);
  if (parts == 1) {
    return body(place, inits);
  }
  return b.loop(parts, inits, [&](Expr number, ValueRange carried) {
    Place part = place;
    part.column = number * width;
    return body(part, carried);
  });
}

Value SoftmaxEmitter::fold(double start, Combine combine,
                           llvm::function_ref<Value(Value part)> partial) {
  TileType column =
      place.type.with({place.type.rows(), 1}, b.f32(), TileDistribution::row);
  return forEachPart(
      b.fill(column, start),
      [&](const Place &part, ValueRange before) -> Values {
        return {b.combineRows(combine, before[0], partial(load(part)))};
      })[0];
}

void SoftmaxEmitter::emit() {
  Value most = fold(-INFINITY, Combine::max, [](Value part) { return part; });
  Value sum = fold(0, Combine::add, [&](Value part) {
    return b.map(part.getType(), {part, most},
                 [&](Elements x, Expr, Expr) { return b.power(x[0], x[1]); });
  });
  Value last = b.map(sum.getType(), sum, [&](Elements x, Expr, Expr) {
    return op.getLog() ? b.compute<math::LogOp>(x[0]) : 1 / x[0];
  });
  forEachPart({}, [&](const Place &part, ValueRange) -> Values {
    Value result =
        b.map(part.type, {load(part), most, last}, [&](Elements x, Expr, Expr) {
          return op.getLog() ? x[0] - x[1] - x[2] : b.power(x[0], x[1]) * x[2];
        });
    e.finishAndStore(result, part);
    return {};
  });
}

namespace {
struct SoftmaxRecipe : ElementsRecipe<SoftmaxRecipe, SoftmaxOp> {
  Grid getGrid(Operation *op, CudaScheduleAttr schedule) const {
    return {gridOfTiles(op, schedule).x, 1, 1};
  }
  OperandReads getReads(Operation *, unsigned) const {
    return OperandReads::placed;
  }
  void emitGroup(Operation *op, GroupEmitter &e) const {
    SoftmaxEmitter(e, cast<SoftmaxOp>(op)).emit();
  }
};
} // namespace

void attachCudaSoftmaxRecipe(MLIRContext &context) {
  SoftmaxOp::attachInterface<SoftmaxRecipe>(context);
}

} // namespace hova
