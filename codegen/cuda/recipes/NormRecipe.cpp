//===- NormRecipe.cpp - Layer norm on a GPU -------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cuda/recipes/CudaKernels.h"
#include "codegen/cuda/recipes/GroupEmitter.h"
#include "codegen/cuda/recipes/Recipe.h"
#include "dialect/DenseOps.h"
#include "dialect/Shapes.h"

using namespace mlir;

namespace hova {

namespace {
struct NormRecipe : RowsRecipe<NormRecipe, LayerNormOp> {
  void emitGroup(Operation *op, GroupEmitter &e) const {
    auto norm = cast<LayerNormOp>(op);
    ArrayRef<int64_t> shape = shapeOf(norm.getResult());
    GroupEmitter::Place place = e.tilePlace(op);
    Value x = e.load(norm.getX(), shape, place);
    Value wide = e.b.map(place.type, x, [&](ValueRange element, Value, Value) {
      return widen(e.b, e.b.getLoc(), element[0]);
    });
    Value result = emitNormalised(e.b, wide, shape.back(),
                                  norm.getEps().convertToDouble());
    if (norm.getGain()) {
      Value gain = e.load(norm.getGain(), shape, place);
      Value bias = e.load(norm.getBias(), shape, place);
      result = e.b.map(place.type, {result, gain, bias},
                       [&](ValueRange element, Value, Value) {
                         return e.b.fma(element[0], element[1], element[2]);
                       });
    }
    e.finishAndStore(result, place);
  }
  bool readsPlaced(Operation *, unsigned index) const { return index == 0; }
};
} // namespace

void attachCudaNormRecipe(MLIRContext &context) {
  LayerNormOp::attachInterface<NormRecipe>(context);
}

} // namespace hova
