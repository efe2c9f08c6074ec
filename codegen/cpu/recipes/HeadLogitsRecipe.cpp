//===- HeadLogitsRecipe.cpp - Loops of horizontal attention's logits ------===//
// SPDX-License-Identifier: Apache-2.0
//
// The product of each head's columns with one weight, whose tile is activated,
// weighted and summed along the row while it is in registers.

#include "codegen/cpu/Recipe.h"
#include "codegen/cpu/TileOps.h"
#include "codegen/cpu/recipes/ProductPanels.h"
#include "codegen/cpu/recipes/RowBlocks.h"
#include "dialect/Shapes.h"
#include "dialect/attention/AttentionOps.h"

using namespace mlir;

namespace hova {

/// Per head: relu(H_m W + shift) . w, summed over the tiles of W's columns,
/// + bias.
static LogicalResult emit(KernelEmitter &e, HeadLogitsOp op) {
  FailureOr<Value> weight = packedWeight(e, op, op.getHeadWeight());
  if (failed(weight)) {
    return failure();
  }
  Value in = e.buffer(op.getHeadsIn()), result = e.buffer(op.getResult());
  ArrayRef<int64_t> shift = shapeOf(op.getShift());
  int64_t hidden = shift.back(), width = shapeOf(op.getHeadWeight())[0];
  auto emitHead = [&](Expr head, const RowBlock &block) {
    Expr sum;
    for (int64_t column = 0; column < hidden;) {
      int64_t lanes = tileLanes(e.schedule, hidden - column);
      TilePlace place{block.row,
                      block.height,
                      {column, lanes, std::min(lanes, hidden - column)}};
      Expr tile = e.multiply({block.row, block.height, {column, lanes}},
                             {in, {block.row, head * width}},
                             placeInPanels(*weight, 0, column), width);
      tile = tile + e.loadTile(op.getShift(), shift, place);
      tile =
          e.compute<ActivationOp>(tile.getType(), ActivationKind::relu, tile);
      tile = tile * e.loadTile(op.getScoreWeight(), shift, place);
      Expr part = e.compute<TileRowSumOp>(e.tileType(block.height, 1), tile);
      sum = sum ? sum + part : part;
      column += lanes;
    }
    if (op.getScoreBias()) {
      sum = sum + e.loadTile(op.getScoreBias(), shapeOf(op.getResult()),
                             {block.row, 0, block.height});
    }
    e.store(sum, result, {block.row, head, block.height});
  };
  RowBlockSizes rows(e, staticSize(shift.drop_back()));
  forEachRowBlock(e, "rows", e.begin, e.end, rows.heights,
                  [&](const RowBlock &block) {
                    e.forLoop("heads", op.getHeads(),
                              [&](Expr head) { emitHead(head, block); });
                  });
  return success();
}

namespace {
struct HeadLogitsRecipe
    : StoringCpuRecipe<HeadLogitsRecipe, HeadLogitsOp, emit> {
  OperandReads getReads(Operation *, unsigned index) const {
    return index == 2 ? OperandReads::packed : OperandReads::rows;
  }
};
} // namespace

void attachHeadLogitsRecipe(MLIRContext &context) {
  HeadLogitsOp::attachInterface<HeadLogitsRecipe>(context);
}

} // namespace hova
