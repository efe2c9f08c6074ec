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
static void emitLogits(KernelEmitter &emitter, HeadLogitsOp op, Value weight) {
  OpBuilder &builder = emitter.builder;
  Location loc = emitter.loc;
  Value heads = emitter.buffer(op.getHeadsIn());
  Value result = emitter.buffer(op.getResult());
  ArrayRef<int64_t> shift = shapeOf(op.getShift());
  int64_t hidden = shift.back(), width = shapeOf(op.getHeadWeight())[0];
  int64_t panelColumns = cast<MemRefType>(weight.getType()).getShape()[2];
  auto scores = [&](Value head, const RowBlock &block) {
    Value sum, zero = emitter.index(0);
    for (int64_t column = 0; column < hidden;) {
      int64_t lanes = tileLanes(emitter.schedule, hidden - column);
      TilePlace place{block.row, emitter.index(column), block.height, lanes,
                      std::min(lanes, hidden - column)};
      Value tile = TileProductOp::create(
          builder, loc,
          VectorType::get({block.height, lanes}, builder.getF32Type()), heads,
          block.row, emitter.mul(head, width), weight,
          ValueRange{emitter.index(column / panelColumns), zero,
                     emitter.index(column % panelColumns)},
          emitter.index(width));
      tile = arith::AddFOp::create(
          builder, loc, tile, emitter.loadTile(op.getShift(), shift, place));
      tile = ActivationOp::create(builder, loc, tile.getType(),
                                  ActivationKind::relu, tile);
      tile = arith::MulFOp::create(
          builder, loc, tile,
          emitter.loadTile(op.getScoreWeight(), shift, place));
      Value part = TileRowSumOp::create(
          builder, loc,
          VectorType::get({block.height, 1}, builder.getF32Type()), tile);
      sum = sum ? arith::AddFOp::create(builder, loc, sum, part) : part;
      column += lanes;
    }
    if (op.getScoreBias()) {
      TilePlace place{block.row, zero, block.height, 1, 1};
      sum = arith::AddFOp::create(
          builder, loc, sum,
          emitter.loadTile(op.getScoreBias(), shapeOf(op.getResult()), place));
    }
    TileStoreOp::create(builder, loc, sum, result, block.row, head,
                        IntegerAttr());
  };
  RowBlockSizes rows(staticSize(shift.drop_back()), emitter.schedule);
  forEachRowBlock(emitter, "rows", emitter.begin, emitter.end, rows.heights,
                  [&](const RowBlock &block) {
                    emitter.forLoop("heads", emitter.index(0),
                                    emitter.index(op.getHeads()), 1,
                                    [&](Value head) { scores(head, block); });
                  });
}

static LogicalResult emit(KernelEmitter &emitter, HeadLogitsOp op) {
  Value weight = packedWeight(emitter, op, op.getHeadWeight());
  if (!weight) {
    return failure();
  }
  emitLogits(emitter, op, weight);
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
