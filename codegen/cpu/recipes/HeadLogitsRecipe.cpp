//===- HeadLogitsRecipe.cpp - Loops of horizontal attention's logits ------===//
// SPDX-License-Identifier: Apache-2.0
//
// The product of each head's columns with one weight, whose tile is activated,
// weighted and summed along the row while it is in registers. By a matrix unit
// it comes from the unit's sums, row by row.

#include "codegen/cpu/CpuFacts.h"
#include "codegen/cpu/Recipe.h"
#include "codegen/cpu/TileOps.h"
#include "codegen/cpu/recipes/BlockProducts.h"
#include "codegen/cpu/recipes/ProductPanels.h"
#include "codegen/cpu/recipes/RowBlocks.h"
#include "dialect/Shapes.h"
#include "dialect/attention/AttentionOps.h"

using namespace mlir;

namespace hova {

static std::optional<Verdict> judgeUnit(HeadLogitsOp op) {
  if (!getElementTypeOrSelf(op.getHeadsIn()).isBF16() ||
      !getElementTypeOrSelf(op.getHeadWeight()).isBF16()) {
    return std::nullopt;
  }
  ArrayRef<int64_t> shape = shapeOf(op.getHeadWeight());
  return judgeUnitProduct(shape[0], shape[1]);
}

static bool usesUnit(HeadLogitsOp op, const CpuSchedule &schedule) {
  std::optional<Verdict> verdict = judgeUnit(op);
  return schedule.matrixUnit && verdict && verdict->fired;
}

namespace {
/// Per head: relu(H_m W + shift) . w, summed over the tiles of W's columns,
/// + bias.
struct HeadLogitsLoops {
  void emit();
  void emitHead(Expr head, const RowBlock &block);
  void emitUnitHead(Expr head, const UnitBlocks &blocks, Expr number);
  Expr sumOf(Expr tile, const TilePlace &place);
  void store(Expr sum, Expr row, Expr head, int64_t rows);

  KernelEmitter &e;
  HeadLogitsOp op;
  Value weight;

  Value in = e.buffer(op.getHeadsIn()), result = e.buffer(op.getResult());
  ArrayRef<int64_t> shift = shapeOf(op.getShift());
  int64_t hidden = shift.back(), width = shapeOf(op.getHeadWeight())[0];
};
} // namespace

/// The part of the sum that a tile of H_m W has.
Expr HeadLogitsLoops::sumOf(Expr tile, const TilePlace &place) {
  tile = tile + e.loadTile(op.getShift(), shift, place);
  tile = e.compute<ActivationOp>(tile.getType(), ActivationKind::relu, tile);
  tile = tile * e.loadTile(op.getScoreWeight(), shift, place);
  return e.compute<TileRowSumOp>(e.tileType(place.rows, 1), tile);
}

void HeadLogitsLoops::store(Expr sum, Expr row, Expr head, int64_t rows) {
  if (op.getScoreBias()) {
    sum = sum + e.loadTile(op.getScoreBias(), shapeOf(op.getResult()),
                           {row, 0, rows});
  }
  e.store(sum, result, {row, head, rows});
}

void HeadLogitsLoops::emitHead(Expr head, const RowBlock &block) {
  Expr sum;
  for (int64_t column = 0; column < hidden;) {
    int64_t lanes = tileLanes(e.schedule, hidden - column);
    TilePlace place{block.row,
                    block.height,
                    {column, lanes, std::min(lanes, hidden - column)}};
    Expr tile = e.multiply({block.row, block.height, {column, lanes}},
                           {in, {block.row, head * width}},
                           placeInPanels(weight, 0, column), width);
    Expr part = sumOf(tile, place);
    sum = sum ? sum + part : part;
    column += lanes;
  }
  store(sum, block.row, head, block.height);
}

/// The sums of a block of rows: all columns of one head.
static Value takeUnitSums(HeadLogitsOp op, ScratchLayout &layout) {
  return layout.take(
      {MatrixUnit::blockRows, wholeSteps(shapeOf(op.getShift()).back())});
}

void HeadLogitsLoops::emitUnitHead(Expr head, const UnitBlocks &blocks,
                                   Expr number) {
  constexpr int64_t lanes = MatrixUnit::blockColumns;
  ScratchLayout layout(&e);
  Value sums = takeUnitSums(op, layout);
  Expr first = blocks.firstOf(number), left = head * width;
  int64_t whole = width / MatrixUnit::depth * MatrixUnit::depth;
  for (int64_t column = 0; column < hidden; column += lanes) {
    multiplySplit(e, {sums, {0, column}}, SplitFactor({in, {first, left}}),
                  SplitFactor(placeInPanels(weight, 0, column)),
                  blocks.rowCount, blocks.height, whole);
  }
  e.forLoop("rows", blocks.skippedOf(number), blocks.rowCount, 1, [&](Expr i) {
    Expr row = first + i, sum;
    for (int64_t column = 0; column < hidden; column += lanes) {
      TilePlace place(row, 1,
                      {column, lanes, std::min(lanes, hidden - column)});
      Expr tile = e.load(sums, TilePlace(i, column, 1, lanes));
      if (whole < width) {
        // A row of the weight is a pair.
        tile = e.multiply({row, 1, {column, lanes}}, {in, {row, left + whole}},
                          placeInPanels(weight, whole / 2, column),
                          width - whole, tile);
      }
      Expr part = sumOf(tile, place);
      sum = sum ? sum + part : part;
    }
    store(sum, row, head, 1);
  });
}

void HeadLogitsLoops::emit() {
  if (usesUnit(op, e.schedule)) {
    UnitBlocks blocks(e.begin, e.end - e.begin, e.unitHeight);
    e.forLoop("blocks", blocks.count, [&](Expr number) {
      e.forLoop("heads", op.getHeads(),
                [&](Expr head) { emitUnitHead(head, blocks, number); });
    });
    return;
  }
  RowBlockSizes rows(e, staticSize(shift.drop_back()));
  forEachRowBlock(e, "rows", e.begin, e.end, rows.heights,
                  [&](const RowBlock &block) {
                    e.forLoop("heads", op.getHeads(),
                              [&](Expr head) { emitHead(head, block); });
                  });
}

static int64_t scratchBytes(HeadLogitsOp op, const CpuSchedule &schedule) {
  ScratchLayout layout;
  if (usesUnit(op, schedule)) {
    takeUnitSums(op, layout);
  }
  return layout.getBytes();
}

static LogicalResult emit(KernelEmitter &e, HeadLogitsOp op) {
  FailureOr<Value> weight = packedWeight(e, op, op.getHeadWeight());
  if (failed(weight)) {
    return failure();
  }
  HeadLogitsLoops{e, op, *weight}.emit();
  return success();
}

namespace {
struct HeadLogitsRecipe
    : StoringCpuRecipe<HeadLogitsRecipe, HeadLogitsOp, emit, scratchBytes> {
  OperandReads getReads(Operation *, unsigned index) const {
    return index == 2 ? OperandReads::packed : OperandReads::rows;
  }
  std::optional<Verdict> judgeUnit(Operation *op) const {
    return hova::judgeUnit(cast<HeadLogitsOp>(op));
  }
};
} // namespace

void attachHeadLogitsRecipe(MLIRContext &context) {
  HeadLogitsOp::attachInterface<HeadLogitsRecipe>(context);
}

} // namespace hova
