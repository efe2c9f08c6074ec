//===- ProductLoops.cpp - Loops of matrix products ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Weight panels are the outer loop: each is read once for all rows of the
// thread, which matters when weights come from memory (115 instead of 108
// GFLOP/s for 197 x 3072 x 768 with cold weights). Row blocks are inside; the
// inner dimension is never blocked.

#include "dialect/AttentionOps.h"
#include "dialect/DenseOps.h"
#include "dialect/Shapes.h"
#include "dialect/TileOps.h"
#include "passes/tile/KernelEmitter.h"

using namespace mlir;

namespace hova {

/// Panels of a packed matrix: a loop over the whole ones and one body for the
/// last, partial one. `body(panel, column, valid)`.
static void forEachPanel(KernelEmitter &emitter, int64_t width, int64_t lanes,
                         llvm::function_ref<void(Value, Value, int64_t)> body) {
  int64_t whole = width / lanes;
  if (whole) {
    emitter.forLoop(
        emitter.index(0), emitter.index(whole), 1,
        [&](Value panel) { body(panel, emitter.mul(panel, lanes), lanes); });
  }
  if (width % lanes) {
    body(emitter.index(whole), emitter.index(whole * lanes), width % lanes);
  }
}

static Value product(KernelEmitter &emitter, Value lhs, const TilePlace &place,
                     Value lhsColumn, Value weight, Value panel,
                     int64_t depth) {
  Value zero = emitter.index(0);
  return TileProductOp::create(
      emitter.builder, emitter.loc,
      VectorType::get({place.rows, place.lanes}, emitter.builder.getF32Type()),
      lhs, place.row, lhsColumn, weight, ValueRange{panel, zero, zero},
      emitter.index(depth), IntegerAttr());
}

/// The panels of a weight, or nothing (and an error) if it has none.
static Value packedWeight(KernelEmitter &emitter, Operation *op, Value weight) {
  Value packed = emitter.buffer(weight);
  if (cast<MemRefType>(packed.getType()).getRank() != 3) {
    op->emitOpError("needs a weight that is known before the program runs");
    return {};
  }
  return packed;
}

static LogicalResult emitLinear(KernelEmitter &emitter, LinearOp op) {
  Value weight = packedWeight(emitter, op, op.getWeight());
  if (!weight) {
    return failure();
  }
  Value x = emitter.buffer(op.getX());
  ArrayRef<int64_t> shape = shapeOf(op.getResult());
  int64_t lanes = cast<MemRefType>(weight.getType()).getShape()[2];
  SmallVector<int64_t> heights =
      blockHeights(staticSize(shape.drop_back()), emitter.schedule);
  forEachPanel(emitter, shape.back(), lanes,
               [&](Value panel, Value column, int64_t valid) {
                 forEachRowBlock(
                     emitter, emitter.begin, emitter.end, heights,
                     [&](Value row, int64_t height) {
                       TilePlace place{row, column, height, lanes, valid};
                       Value tile =
                           product(emitter, x, place, emitter.index(0), weight,
                                   panel, shapeOf(op.getX()).back());
                       if (op.getBias()) {
                         tile = arith::AddFOp::create(
                             emitter.builder, emitter.loc, tile,
                             emitter.loadTile(op.getBias(), shape, place));
                       }
                       emitter.finishTile(place, tile);
                     });
               });
  return success();
}

/// Per head: relu(H_m W + shift) . w, summed over the panels of W.
static LogicalResult emitHeadLogits(KernelEmitter &emitter, HeadLogitsOp op) {
  Value weight = packedWeight(emitter, op, op.getHeadWeight());
  if (!weight) {
    return failure();
  }
  OpBuilder &builder = emitter.builder;
  Location loc = emitter.loc;
  Value heads = emitter.buffer(op.getHeadsIn());
  Value result = emitter.buffer(op.getResult());
  ArrayRef<int64_t> shift = shapeOf(op.getShift());
  int64_t hidden = shift.back(), width = shapeOf(op.getHeadWeight())[0];
  int64_t lanes = cast<MemRefType>(weight.getType()).getShape()[2];
  SmallVector<int64_t> heights =
      blockHeights(staticSize(shift.drop_back()), emitter.schedule);
  auto scores = [&](Value head, Value row, int64_t height) {
    Value sum;
    for (int64_t column = 0; column < hidden; column += lanes) {
      TilePlace place{row, emitter.index(column), height, lanes,
                      std::min(lanes, hidden - column)};
      Value tile = product(emitter, heads, place, emitter.mul(head, width),
                           weight, emitter.index(column / lanes), width);
      tile = arith::AddFOp::create(
          builder, loc, tile, emitter.loadTile(op.getShift(), shift, place));
      tile = ActivationOp::create(builder, loc, tile.getType(),
                                  ActivationKind::relu, tile);
      tile = arith::MulFOp::create(
          builder, loc, tile,
          emitter.loadTile(op.getScoreWeight(), shift, place));
      Value part = TileRowSumOp::create(
          builder, loc, VectorType::get({height, 1}, builder.getF32Type()),
          tile);
      sum = sum ? arith::AddFOp::create(builder, loc, sum, part) : part;
    }
    TileStoreOp::create(builder, loc, sum, result, row, head, IntegerAttr());
  };
  forEachRowBlock(emitter, emitter.begin, emitter.end, heights,
                  [&](Value row, int64_t height) {
                    emitter.forLoop(
                        emitter.index(0), emitter.index(op.getHeads()), 1,
                        [&](Value head) { scores(head, row, height); });
                  });
  return success();
}

LogicalResult emitProductLoops(KernelEmitter &emitter, Operation *op) {
  if (auto linear = dyn_cast<LinearOp>(op)) {
    return emitLinear(emitter, linear);
  }
  return emitHeadLogits(emitter, cast<HeadLogitsOp>(op));
}

} // namespace hova
