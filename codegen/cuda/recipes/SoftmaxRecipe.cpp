//===- SoftmaxRecipe.cpp - Shares of whole rows, on a GPU -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A warp reads its row three times: for the maximum, for the sum of the
// exponentials, and for what it stores. A row of one part is read once.

#include "codegen/cuda/Recipe.h"
#include "codegen/cuda/recipes/RowParts.h"
#include "dialect/Shapes.h"
#include "dialect/dense/DenseOps.h"
#include <cmath>

using namespace mlir;

namespace hova {

using Elements = KernelBuilder::Elements;

/// A part of the rows, in f32; after the last column there is -inf.
static Value loadPart(GroupEmitter &e, SoftmaxOp op, const GroupPlace &part) {
  int64_t columns = shapeOf(op.getResult()).back();
  Value x = e.load(op.getX(), shapeOf(op.getResult()), part);
  return e.b.map(part.type, x, [&](Elements elements, Expr, Expr j) {
    Expr there = part.columnsInside ? Expr() : part.column + j < columns;
    return select(there, widen(e.b, elements[0]), -INFINITY);
  });
}

static void emitSoftmax(GroupEmitter &e, SoftmaxOp op) {
  KernelBuilder &b = e.b;
  RowParts parts(e, op);
  auto load = [&](const GroupPlace &part) { return loadPart(e, op, part); };
  Value most = parts.fold(-INFINITY, Combine::max, load);
  Value sum = parts.fold(0, Combine::add, [&](const GroupPlace &part) {
    return b.map(part.type, {load(part), most},
                 [&](Elements x, Expr, Expr) { return b.power(x[0], x[1]); });
  });
  Value last = b.map(sum.getType(), sum, [&](Elements x, Expr, Expr) {
    return op.getLog() ? b.compute<math::LogOp>(x[0]) : 1 / x[0];
  });
  parts.forEach(
      {}, [&](const GroupPlace &part, ValueRange) -> KernelBuilder::Values {
        Value result = b.map(part.type, {load(part), most, last},
                             [&](Elements x, Expr, Expr) {
                               return op.getLog() ? x[0] - x[1] - x[2]
                                                  : b.power(x[0], x[1]) * x[2];
                             });
        e.finishAndStore(result, part);
        return {};
      });
}

namespace {
struct SoftmaxRecipe : ElementsRecipe<SoftmaxRecipe, SoftmaxOp> {
  Grid getGrid(Operation *op, CudaScheduleAttr schedule) const {
    Grid grid = gridOfTiles(op, schedule);
    grid.y = 1;
    return grid;
  }
  OperandReads getReads(Operation *, unsigned) const {
    return OperandReads::placed;
  }
  void emitGroup(Operation *op, GroupEmitter &e) const {
    emitSoftmax(e, cast<SoftmaxOp>(op));
  }
};
} // namespace

void attachCudaSoftmaxRecipe(MLIRContext &context) {
  SoftmaxOp::attachInterface<SoftmaxRecipe>(context);
}

} // namespace hova
