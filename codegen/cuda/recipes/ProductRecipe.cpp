//===- ProductRecipe.cpp - Products with a weight matrix ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cuda/recipes/CudaKernels.h"
#include "codegen/cuda/recipes/GroupEmitter.h"
#include "codegen/cuda/recipes/Recipe.h"
#include "dialect/DenseOps.h"
#include "dialect/Shapes.h"

using namespace mlir;

namespace hova {

/// The sums, with the bias.
static Value emitSums(GroupEmitter &e, LinearOp op,
                      const GroupEmitter::Place &place) {
  Value sums = emitProduct(e.b, e.schedule, e.matrix(op.getX()),
                           e.matrix(op.getWeight()), place.row, place.column);
  if (!op.getBias()) {
    return sums;
  }
  Value bias = e.load(op.getBias(), shapeOf(op.getResult()), place);
  return e.b.map(sums.getType(), {sums, bias}, [&](ValueRange x, Value, Value) {
    return e.b.add(x[0], widen(e.b, e.b.getLoc(), x[1]));
  });
}

namespace {
struct ProductRecipe
    : CudaRecipeOpInterface::ExternalModel<ProductRecipe, LinearOp> {
  CudaScheduleAttr chooseSchedule(Operation *op) const {
    auto linear = cast<LinearOp>(op);
    Type x = getElementTypeOrSelf(linear.getX());
    if (Type weight = getElementTypeOrSelf(linear.getWeight()); weight != x) {
      op->emitOpError("has code for a GPU for a weight of its input's type, ")
          << x << ", got " << weight;
      return {};
    }
    if (failed(checkCopied(op, linear.getX()))) {
      return {};
    }
    ArrayRef<int64_t> shape = shapeOf(linear.getResult());
    return scheduleProduct(x, staticSize(shape.drop_back()),
                           shapeOf(linear.getX()).back(), shape.back());
  }
  Grid getGrid(Operation *op, CudaScheduleAttr schedule) const {
    return gridOfTiles(op, schedule);
  }
  void emitGroup(Operation *op, GroupEmitter &emitter) const {
    GroupEmitter::Place place = emitter.tilePlace(op);
    place.type = emitter.tile(emitter.b.f32(), TileLanes::product);
    emitter.finishAndStore(emitSums(emitter, cast<LinearOp>(op), place), place);
  }
  bool readsTransposed(Operation *op, unsigned index) const {
    return index == 1 && !cast<LinearOp>(op).getTransposed();
  }
};
} // namespace

void attachCudaProductRecipe(MLIRContext &context) {
  LinearOp::attachInterface<ProductRecipe>(context);
}

} // namespace hova
