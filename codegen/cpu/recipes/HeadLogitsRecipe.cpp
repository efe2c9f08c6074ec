//===- HeadLogitsRecipe.cpp - Loops of horizontal attention's logits ------===//
// SPDX-License-Identifier: Apache-2.0
//
// The product of each head's columns with one weight, whose tile is activated,
// weighted and summed along the row while it is in registers.

#include "codegen/cpu/TileOps.h"
#include "codegen/cpu/recipes/ProductPanels.h"
#include "codegen/cpu/recipes/Recipe.h"
#include "codegen/cpu/recipes/RowBlocks.h"
#include "dialect/AttentionOps.h"
#include "dialect/Shapes.h"

using namespace mlir;

namespace hova {

/// Per head: relu(H_m W + shift) . w, summed over the tiles of W's columns,
/// + bias.
static void emitLogits(KernelEmitter &e, HeadLogitsOp op, Value weight) {
  OpBuilder &builder = e.builder;
  Value heads = e.buffer(op.getHeadsIn());
  Value result = e.buffer(op.getResult());
  ArrayRef<int64_t> shift = shapeOf(op.getShift());
  int64_t hidden = shift.back(), width = shapeOf(op.getHeadWeight())[0];
  int64_t panelColumns = cast<MemRefType>(weight.getType()).getShape()[2];
  auto scores = [&](Value head, const RowBlock &block) {
    Value sum, zero = e.index(0);
    for (int64_t column = 0; column < hidden;) {
      int64_t lanes = tileLanes(e.schedule, hidden - column);
      TilePlace place{block.row, e.index(column), block.height, lanes,
                      std::min(lanes, hidden - column)};
      Value tile = e.make<TileProductOp>(
          VectorType::get({block.height, lanes}, builder.getF32Type()), heads,
          block.row, e.mul(head, width), weight,
          ValueRange{e.index(column / panelColumns), zero,
                     e.index(column % panelColumns)},
          e.index(width));
      tile =
          e.make<arith::AddFOp>(tile, e.loadTile(op.getShift(), shift, place));
      tile = e.make<ActivationOp>(tile.getType(), ActivationKind::relu, tile);
      tile = e.make<arith::MulFOp>(
          tile, e.loadTile(op.getScoreWeight(), shift, place));
      Value part = e.make<TileRowSumOp>(
          VectorType::get({block.height, 1}, builder.getF32Type()), tile);
      sum = sum ? e.make<arith::AddFOp>(sum, part) : part;
      column += lanes;
    }
    if (op.getScoreBias()) {
      TilePlace place{block.row, zero, block.height, 1, 1};
      sum = e.make<arith::AddFOp>(
          sum, e.loadTile(op.getScoreBias(), shapeOf(op.getResult()), place));
    }
    e.make<TileStoreOp>(sum, result, block.row, head, IntegerAttr());
  };
  RowBlockSizes rows(staticSize(shift.drop_back()), e.schedule);
  forEachRowBlock(e, "rows", e.begin, e.end, rows.heights,
                  [&](const RowBlock &block) {
                    e.forLoop("heads", e.index(0), e.index(op.getHeads()), 1,
                              [&](Value head) { scores(head, block); });
                  });
}

static LogicalResult emit(KernelEmitter &e, HeadLogitsOp op) {
  Value weight = packedWeight(e, op, op.getHeadWeight());
  if (!weight) {
    return failure();
  }
  emitLogits(e, op, weight);
  return success();
}

namespace {
struct HeadLogitsRecipe : CpuRecipe<HeadLogitsRecipe, HeadLogitsOp, emit> {
  bool readsPanels(Operation *, unsigned index) const { return index == 2; }
  bool takesJoins(Operation *) const { return false; }
};
} // namespace

void attachHeadLogitsRecipe(MLIRContext &context) {
  HeadLogitsOp::attachInterface<HeadLogitsRecipe>(context);
}

} // namespace hova
