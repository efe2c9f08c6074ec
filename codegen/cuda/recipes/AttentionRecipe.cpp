//===- AttentionRecipe.cpp - Softmax attention on a GPU -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A block has rows of queries of one head of one sequence: blocks of queries
// along x, heads along y, sequences along z.

#include "codegen/cuda/recipes/CudaKernels.h"
#include "codegen/cuda/recipes/GroupEmitter.h"
#include "codegen/cuda/recipes/Recipe.h"
#include "codegen/cuda/recipes/ScoreTiles.h"
#include "dialect/AttentionOps.h"
#include "dialect/Shapes.h"

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
  Value head = group == 1 ? e.block(1) : e.b.divIndex(e.block(1), group);
  return e.view(e.matrix(tensor), e.b.getIndexAttr(0), shape[0],
                e.b.mulIndex(head, width), width);
}

/// The scores of the block's sequence and head; null without.
static Value scoresOf(GroupEmitter &e, Value tensor) {
  if (!tensor) {
    return {};
  }
  ArrayRef<int64_t> shape = shapeOf(tensor);
  Value head = e.b.sum(e.b.mulIndex(e.block(2), shape[1]), e.block(1));
  return e.view(e.matrix(tensor), e.b.mulIndex(head, shape[2]), shape[2],
                e.b.getIndexAttr(0), shape[3]);
}

/// The head's part of the vector for scores, as a row; null without.
static Value vectorOf(GroupEmitter &e, AttentionOp op) {
  if (!op.getScoreVector()) {
    return {};
  }
  int64_t width = shapeOf(op.getScoreVector())[0] / op.getHeads();
  return e.view(e.matrix(op.getScoreVector()), e.b.getIndexAttr(0), 1,
                e.b.mulIndex(e.block(1), width), width);
}

namespace {
struct AttentionRecipe
    : CudaRecipeOpInterface::ExternalModel<AttentionRecipe, AttentionOp> {
  CudaScheduleAttr chooseSchedule(Operation *op) const {
    auto own = cast<AttentionOp>(op);
    ScoreForm form(own.scoreRegion());
    if (std::string lack = ScoreTiles::whatLacks(form, extentsOf(own));
        !lack.empty()) {
      op->emitOpError("has no code for a GPU yet with ")
          << lack << "; a CPU runs it (--target=cpu)";
      return {};
    }
    int64_t keyWidth = shapeOf(own.getQuery())[2] / own.getHeads();
    int64_t valueWidth = shapeOf(own.getResult())[2] / own.getHeads();
    if (failed(checkHeadWidths(op, {keyWidth, valueWidth}, kMostHeadColumns))) {
      return {};
    }
    if (failed(
            checkSequences(op, shapeOf(own.getQuery())[0], own.getHeads()))) {
      return {};
    }
    return scheduleAttention(getElementTypeOrSelf(own.getQuery()),
                             shapeOf(own.getQuery())[1], extentsOf(own).columns,
                             keyWidth, valueWidth,
                             own.getScores() || form.readsPairs());
  }
  Grid getGrid(Operation *op, CudaScheduleAttr schedule) const {
    auto own = cast<AttentionOp>(op);
    ArrayRef<int64_t> queries = shapeOf(own.getQuery());
    return {llvm::divideCeilSigned(queries[1], schedule.getRows()),
            static_cast<int64_t>(own.getHeads()), queries[0]};
  }
  std::optional<ScoreTileCounts>
  countScoreTiles(Operation *op, CudaScheduleAttr schedule) const {
    auto own = cast<AttentionOp>(op);
    ScoreForm form(own.scoreRegion());
    ScoreExtents extents = extentsOf(own);
    int64_t rows = schedule.getRows(), step = schedule.getStep();
    bool takesAll = own.getEmptyRow() == EmptyRow::uniform &&
                    mayHaveEmptyRows(form, extents);
    if (own.getSlots() || own.getScores() || takesAll ||
        !VisitedKeys::areSome(form, extents, step, rows)) {
      return std::nullopt;
    }
    return VisitedKeys(form, extents, step, attentionBlocks(extents, rows))
        .countTiles(std::min(rows, extents.queries));
  }
  void emitGroup(Operation *op, GroupEmitter &e) const {
    auto own = cast<AttentionOp>(op);
    int64_t heads = own.getHeads(), length = shapeOf(own.getQuery())[1];
    int64_t keyHeads = own.countKeyHeads(), group = own.getGroup();
    HeadMatrices head{e.headOf(own.getQuery(), heads),
                      e.headOf(own.getKey(), keyHeads, group),
                      e.headOf(own.getValue(), keyHeads, group),
                      slotsOf(e, own.getMemoryKey(), keyHeads, group),
                      slotsOf(e, own.getMemoryValue(), keyHeads, group),
                      scoresOf(e, own.getScores()),
                      own.getEmptyRow() == EmptyRow::uniform,
                      own.getSimilarity(),
                      vectorOf(e, own),
                      own.getNormalization()};
    Value row = e.b.mulIndex(e.block(0), e.schedule.getRows());
    if (own.givesScoresAlone()) {
      return emitScores(e, own.scoreRegion(), own.getCaptured(), head,
                        extentsOf(own), row);
    }
    Value tile = emitAttention(e, own.scoreRegion(), own.getCaptured(), head,
                               extentsOf(own), row);
    Value to = e.headOf(own.getResult(), heads);
    e.b.storeRounded(tile, to, row, e.b.index(0),
                     length % e.schedule.getRows() == 0,
                     cast<MemRefType>(to.getType()).getDimSize(1) ==
                         e.schedule.getColumns());
  }
};
} // namespace

void attachCudaAttentionRecipe(MLIRContext &context) {
  AttentionOp::attachInterface<AttentionRecipe>(context);
}

} // namespace hova
