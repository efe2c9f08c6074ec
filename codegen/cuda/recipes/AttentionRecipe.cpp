//===- AttentionRecipe.cpp - Softmax attention on a GPU -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A block of threads has rows of queries of one head of one sequence: blocks of
// queries along x, heads along y, sequences along z. Of small heads it has all.
// Where queries see blocks of keys, its rows are of one block of tokens.

#include "codegen/cuda/Recipe.h"
#include "codegen/cuda/recipes/CudaKernels.h"
#include "codegen/cuda/recipes/GroupEmitter.h"
#include "codegen/cuda/recipes/ScoreTiles.h"
#include "codegen/cuda/recipes/SeenBlocks.h"
#include "codegen/cuda/recipes/SmallHeads.h"
#include "dialect/Shapes.h"
#include "dialect/attention/AttentionOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace hova {

static ScoreExtents extentsOf(AttentionOp op) {
  ArrayRef<int64_t> queries = shapeOf(op.getQuery());
  int64_t keys = shapeOf(op.getKey())[1];
  return {queries[0], static_cast<int64_t>(op.getHeads()), queries[1], keys,
          keys + op.getSlots()};
}

/// Columns of one head of the slots of a memory, which all sequences share;
/// null without.
static Value slotsOf(GroupEmitter &e, Value tensor, int64_t heads,
                     int64_t group) {
  if (!tensor) {
    return {};
  }
  ArrayRef<int64_t> shape = shapeOf(tensor);
  int64_t width = shape[1] / heads;
  return e.view(e.matrix(tensor), 0, shape[0], e.head() / group * width, width);
}

/// The scores of the block's sequence and head; null without.
static Value scoresOf(GroupEmitter &e, Value tensor) {
  if (!tensor) {
    return {};
  }
  ArrayRef<int64_t> shape = shapeOf(tensor);
  Expr head = e.block(2) * shape[1] + e.head();
  return e.view(e.matrix(tensor), head * shape[2], shape[2], 0, shape[3]);
}

/// The head's part of the vector for scores, as a row; null without.
static Value vectorOf(GroupEmitter &e, AttentionOp op) {
  if (!op.getScoreVector()) {
    return {};
  }
  int64_t width = shapeOf(op.getScoreVector())[0] / op.getHeads();
  return e.view(e.matrix(op.getScoreVector()), 0, 1, e.head() * width, width);
}

static HeadMatrices headOf(AttentionOp op, GroupEmitter &e) {
  int64_t keyHeads = op.countKeyHeads(), group = op.getGroup();
  return {e.headOf(op.getQuery(), op.getHeads()),
          e.headOf(op.getKey(), keyHeads, group),
          e.headOf(op.getValue(), keyHeads, group),
          slotsOf(e, op.getMemoryKey(), keyHeads, group),
          slotsOf(e, op.getMemoryValue(), keyHeads, group),
          scoresOf(e, op.getScores()),
          op.getEmptyRow() == EmptyRow::uniform,
          op.getSimilarity(),
          vectorOf(e, op),
          op.getNormalization()};
}

/// All heads, one after the other, from rows that are brought once. A head adds
/// its columns to a tile of all.
static void emitHeads(AttentionOp op, SmallHeads small, GroupEmitter &e) {
  KernelBuilder &b = e.b;
  Expr row = e.block(0) * e.schedule.getRows();
  HeadBox box = small.bring(e);
  ArrayRef<int64_t> shape = shapeOf(op.getResult());
  int64_t width = shape[2] / op.getHeads();
  Value none = b.fill(e.tile(b.f32(), TileDistribution::product), 0);
  auto add = [&](Expr number, ValueRange in) -> KernelBuilder::Values {
    e.setHead(number);
    HeadMatrices head = headOf(op, e);
    head.box = box;
    head.number = number;
    Value result = emitAttention(e, op.scoreRegion(), op.getCaptured(), head,
                                 extentsOf(op), row);
    return {b.map(none.getType(), {result, in[0]},
                  [&](KernelBuilder::Elements x, Expr, Expr j) {
                    return select(j / width == number, x[0], x[1]);
                  })};
  };
  Value all = b.loop(op.getHeads(), none, add)[0];
  e.setHead({});
  b.storeRounded(all, e.sequenceOf(op.getResult()), row, 0,
                 shape[1] % e.schedule.getRows() == 0,
                 shape[2] == e.schedule.getColumns());
}

/// Rows of one block of tokens, to the keys of the blocks that these see.
static void emitBlockRows(AttentionOp op, GroupEmitter &e) {
  int64_t size = *op.getBlock(), rows = e.schedule.getRows();
  int64_t tokens = shapeOf(op.getQuery())[1];
  int64_t parts = llvm::divideCeil(size, rows);
  Expr block = e.block(0) / parts;
  Expr row = block * size + e.block(0) % parts * rows;
  SeenBlocks seen(e, op, block);
  KeyList list = seen.list();
  Value tile = emitAttention(e, op.scoreRegion(), op.getCaptured(),
                             headOf(op, e), extentsOf(op), row, &list);
  // Rows after the block are another's. The last block may be shorter: what
  // ends with it begins earlier.
  Expr first = min(block * size, tokens - size);
  Value of = e.headOf(op.getResult(), op.getHeads());
  int64_t width = cast<MemRefType>(of.getType()).getDimSize(1);
  e.b.storeRounded(tile, e.view(of, first, size, 0, width), row - first, 0,
                   parts * rows == size && tokens % size == 0,
                   width == e.schedule.getColumns());
}

namespace {
struct AttentionRecipe
    : CudaRecipeOpInterface::ExternalModel<AttentionRecipe, AttentionOp> {
  CudaScheduleAttr chooseSchedule(Operation *op) const {
    auto attention = cast<AttentionOp>(op);
    ScoreForm form(attention.scoreRegion());
    if (std::string lack = ScoreTiles::whatLacks(form, extentsOf(attention));
        !lack.empty()) {
      op->emitOpError("has no code for a GPU yet with ")
          << lack << "; a CPU runs it (--target=cpu)";
      return {};
    }
    int64_t keyWidth = shapeOf(attention.getQuery())[2] / attention.getHeads();
    int64_t valueWidth =
        shapeOf(attention.getResult())[2] / attention.getHeads();
    if (failed(checkHeadWidths(op, {keyWidth, valueWidth}, kMostHeadColumns))) {
      return {};
    }
    if (failed(checkSequences(op, shapeOf(attention.getQuery())[0],
                              attention.getHeads()))) {
      return {};
    }
    int64_t resultWidth = SmallHeads::find(attention)
                              ? shapeOf(attention.getResult())[2]
                              : valueWidth;
    int64_t queries =
        attention.getBlock().value_or(shapeOf(attention.getQuery())[1]);
    // What becomes of scores needs registers beside them.
    bool needsMore = attention.getScores() || form.readsPairs() ||
                     (attention.hasSoftmax() && !form.isRaw());
    return scheduleAttention(
        gpuOf(op), getElementTypeOrSelf(attention.getQuery()),
        shapeOf(attention.getQuery())[0] * attention.getHeads(), queries,
        extentsOf(attention).columns, keyWidth, resultWidth, needsMore);
  }
  /// The boxes of small heads have the schedule's own sizes.
  bool takesSchedule(Operation *op, CudaScheduleAttr schedule) const {
    auto attention = cast<AttentionOp>(op);
    CudaScheduleAttr chosen = chooseSchedule(op);
    int64_t rows = schedule.getRows(), step = schedule.getStep();
    int64_t keyColumns =
        boxColumns(shapeOf(attention.getQuery())[2] / attention.getHeads());
    int64_t elements =
        rows * keyColumns +
        schedule.getStages() * step * (keyColumns + schedule.getColumns());
    Type element = getElementTypeOrSelf(attention.getQuery());
    return !SmallHeads::find(attention) && canHoldSums(schedule) &&
           schedule.getCluster() == 1 &&
           rows <= kMostWarpQueries * schedule.getRowWarps() &&
           schedule.getColumns() == chosen.getColumns() &&
           schedule.getColumnWarps() == 1 &&
           schedule.getStages() == chosen.getStages() &&
           (step == 16 || step == 32 || step == 64) &&
           fitsGroup(gpuOf(op), elements, element);
  }
  Grid getGrid(Operation *op, CudaScheduleAttr schedule) const {
    auto attention = cast<AttentionOp>(op);
    ArrayRef<int64_t> queries = shapeOf(attention.getQuery());
    int64_t heads = SmallHeads::find(attention) ? 1 : attention.getHeads();
    int64_t blocks = attention.getBlock() ? attention.getBlocks() : 1;
    int64_t rows = attention.getBlock().value_or(queries[1]);
    return {blocks * llvm::divideCeilSigned(rows, schedule.getRows()), heads,
            queries[0], /*units=*/0, schedule.getRows()};
  }
  std::optional<ScoreTileCounts>
  countScoreTiles(Operation *op, CudaScheduleAttr schedule) const {
    auto attention = cast<AttentionOp>(op);
    ScoreForm form(attention.scoreRegion());
    ScoreExtents extents = extentsOf(attention);
    int64_t rows = schedule.getRows(), step = schedule.getStep();
    bool takesAll = attention.getEmptyRow() == EmptyRow::uniform &&
                    mayHaveEmptyRows(form, extents);
    if (attention.getBlock() || attention.getSlots() || attention.getScores() ||
        takesAll || !VisitedKeys::areSome(form, extents, step, rows)) {
      return std::nullopt;
    }
    return VisitedKeys(form, extents, step, attentionBlocks(extents, rows))
        .countTiles(std::min(rows, extents.queries));
  }
  void emitGroup(Operation *op, GroupEmitter &e) const {
    auto attention = cast<AttentionOp>(op);
    if (std::optional<SmallHeads> small = SmallHeads::find(attention)) {
      return emitHeads(attention, *small, e);
    }
    if (attention.getBlock()) {
      return emitBlockRows(attention, e);
    }
    int64_t length = shapeOf(attention.getQuery())[1];
    HeadMatrices head = headOf(attention, e);
    Expr row = e.block(0) * e.schedule.getRows();
    if (attention.givesScoresAlone()) {
      return emitScores(e, attention.scoreRegion(), attention.getCaptured(),
                        head, extentsOf(attention), row);
    }
    KernelBuilder::Values brought = e.bringForHeads();
    head.before = brought;
    Value tile =
        emitAttention(e, attention.scoreRegion(), attention.getCaptured(), head,
                      extentsOf(attention), row);
    Value to = e.headOf(attention.getResult(), attention.getHeads());
    e.b.storeRounded(tile, to, row, 0, e.areWhole(length, e.schedule.getRows()),
                     cast<MemRefType>(to.getType()).getDimSize(1) ==
                         e.schedule.getColumns());
    e.finishHead(tile, row);
  }
  TileScope getHeldScope(Operation *op) const {
    auto attention = cast<AttentionOp>(op);
    return attention.givesScoresAlone() || attention.getBlock()
               ? TileScope::pair
               : TileScope::head;
  }
};
} // namespace

void attachCudaAttentionRecipe(MLIRContext &context) {
  AttentionOp::attachInterface<AttentionRecipe>(context);
}

} // namespace hova
