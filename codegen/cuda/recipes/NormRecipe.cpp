//===- NormRecipe.cpp - Layer norm on a GPU -------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cuda/Recipe.h"
#include "codegen/cuda/recipes/CudaKernels.h"
#include "codegen/cuda/recipes/GroupEmitter.h"
#include "dialect/Shapes.h"
#include "dialect/dense/DenseOps.h"

using namespace mlir;

namespace hova {

using Elements = KernelBuilder::Elements;

/// The norm of a tile of f32, after whose columns there is 0.
static Value emitNorm(GroupEmitter &e, LayerNormOp norm, Value rows,
                      const GroupPlace &place) {
  ArrayRef<int64_t> shape = shapeOf(norm.getResult());
  // What is on its way while the sums are exchanged.
  Value gain, bias;
  if (norm.getGain()) {
    gain = e.load(norm.getGain(), shape, place);
    bias = e.load(norm.getBias(), shape, place);
  }
  Value result =
      emitNormalised(e.b, rows, shape.back(), norm.getEps().convertToDouble());
  if (!gain) {
    return result;
  }
  return e.b.map(place.type, {result, gain, bias},
                 [](Elements x, Expr, Expr) { return fma(x[0], x[1], x[2]); });
}

namespace {
struct NormRecipe : RowsRecipe<NormRecipe, LayerNormOp> {
  void emitGroup(Operation *op, GroupEmitter &e) const {
    auto norm = cast<LayerNormOp>(op);
    GroupPlace place = e.tilePlace(op);
    Value rows = e.load(norm.getX(), shapeOf(norm.getResult()), place);
    rows = e.b.map(place.type, rows,
                   [&](Elements x, Expr, Expr) { return widen(e.b, x[0]); });
    e.finishAndStore(emitNorm(e, norm, rows, place), place);
  }
  TileScope getHeldScope(Operation *) const { return TileScope::row; }
  OperandReads getReads(Operation *, unsigned index) const {
    return {/*placed=*/index == 0};
  }
};

struct NormJoin : CudaJoinOpInterface::ExternalModel<NormJoin, LayerNormOp> {
  std::optional<CudaJoin> getJoin(Operation *) const {
    return CudaJoin{TileScope::row};
  }
  Value emitOn(Operation *op, GroupEmitter &e, Value rows,
               const GroupPlace &place) const {
    auto norm = cast<LayerNormOp>(op);
    if (!place.columnsInside) {
      int64_t width = shapeOf(norm.getResult()).back();
      rows = e.b.map(place.type, rows, [&](Elements x, Expr, Expr j) {
        return select(j < width, x[0], 0);
      });
    }
    return emitNorm(e, norm, rows, place);
  }
};
} // namespace

void attachCudaNormRecipe(MLIRContext &context) {
  LayerNormOp::attachInterface<NormRecipe, NormJoin>(context);
}

} // namespace hova
