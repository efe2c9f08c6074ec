//===- AttentionLayout.cpp - Sizes of one attention -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cpu/recipes/AttentionLayout.h"
#include "codegen/cpu/recipes/BlockProducts.h"
#include "codegen/cpu/recipes/RowBlocks.h"
#include "codegen/cpu/recipes/Transpose.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;

namespace hova {

//===----------------------------------------------------------------------===//
// BlockLayout
//===----------------------------------------------------------------------===//

BlockLayout::BlockLayout(AttentionOp op, int64_t panel)
    : size(op.getBlock() ? *op.getBlock() : 0) {
  if (!size) {
    return;
  }
  keys = shapeOf(op.getKey())[1];
  count = op.getBlocks();
  random = op.getRandomCount();
  panels = llvm::divideCeil(size, panel);
  most = std::max(count, kFixed + random);
  lanes = panels * panel;
  isWhole = size == lanes && keys % size == 0;
}

SmallVector<RowSpan> BlockLayout::rowBlocks(int64_t tileRows) const {
  SmallVector<RowSpan> all;
  for (int64_t block : llvm::seq(count)) {
    for (RowSpan span : rowBlocksOf(lengthOf(block), 1, tileRows)) {
      all.push_back({block * size + span.row, span.height});
    }
  }
  return all;
}

int64_t BlockLayout::countKeys(int64_t queryBlock,
                               const VisitedKeys::Range *visited) const {
  bool isGlobal = queryBlock == 0 || queryBlock == count - 1;
  int64_t seen = 0, others = visited ? visited->count() : random;
  for (int64_t block : alwaysSeenBlocks(queryBlock, count)) {
    if (!visited || visited->visits(block)) {
      seen += lengthOf(block);
      others -= visited ? 1 : 0;
    }
  }
  return seen + (isGlobal ? 0 : std::min(random, others) * size);
}

//===----------------------------------------------------------------------===//
// AttentionLayout
//===----------------------------------------------------------------------===//

/// Those that forEachOverlappingBlock makes of `rows` rows in even `shares`.
static SmallVector<RowSpan> overlappingBlocksOf(int64_t rows, int64_t shares,
                                                int64_t tileRows) {
  SmallVector<RowSpan> all;
  for (int64_t share = 0; share < shares; ++share) {
    int64_t from = share * rows / shares, to = (share + 1) * rows / shares;
    int64_t height = overlappingHeight(to - from, tileRows);
    for (int64_t row = from; row < to; row += height) {
      all.push_back({std::min(row, to - height), height});
    }
  }
  return all;
}

/// Those that it makes of any number of rows.
static SmallVector<RowSpan> anyRowBlocks(int64_t rows, int64_t tileRows) {
  SmallVector<RowSpan> all;
  for (int64_t height : overlappingHeights(tileRows)) {
    for (int64_t row = 0; row + height <= rows; ++row) {
      all.push_back({row, height});
    }
  }
  return all;
}

/// The rows of the higher of even blocks of at most `most` rows.
static int64_t evenHeight(int64_t rows, int64_t most) {
  return llvm::divideCeil(rows, llvm::divideCeil(rows, most));
}

/// Neither queries nor keys are counted: a program for any number of them would
/// have other bits than one for few.
Verdict judgeUnit(AttentionOp op) {
  int64_t width = shapeOf(op.getQuery())[2] / op.getHeads();
  Verdict scores = judgeUnitProduct(width, MatrixUnit::blockColumns);
  if (!scores.fired || op.givesScoresAlone()) {
    return scores;
  }
  int64_t values = shapeOf(op.getValue())[2] / op.countKeyHeads();
  if (std::optional<int64_t> block = op.getBlock();
      block &&
      (*block % MatrixUnit::depth || values % MatrixUnit::blockColumns)) {
    return Verdict::decline("blocks of " + Twine(*block) + " keys, with " +
                                Twine(values) +
                                " channels, are no whole steps of the matrix "
                                "unit",
                            "both are multiples of 32");
  }
  return judgeUnitProduct(MatrixUnit::depth, values);
}

AttentionLayout::AttentionLayout(AttentionOp op, const CpuSchedule &schedule)
    : form(op.scoreRegion()),
      hasRanges(SequenceRanges::ofTokens(op).has_value()),
      queryBlocks(blocksOf(*op->getParentOfType<KernelOp>().getUnits())),
      tileRows(schedule.tileRows), pairs(schedule.pairs), unitHeight(0),
      interleave(pairs ? 2 : 1), batch(shapeOf(op.getQuery())[0]),
      heads(op.getHeads()), queries(shapeOf(op.getQuery())[1]),
      keys(shapeOf(op.getKey())[1]), group(op.getGroup()), slots(op.getSlots()),
      columns(keys + slots), keyWidth(shapeOf(op.getQuery())[2] / heads),
      valueWidth(op.givesScoresAlone()
                     ? 0
                     : shapeOf(op.getValue())[2] / op.countKeyHeads()),
      panel(std::min<int64_t>(
          schedule.tileColumns,
          llvm::alignTo(op.getBlock().value_or(schedule.tileColumns),
                        kTransposed))),
      blocks(op, panel),
      blockRows(std::min(schedule.tileRows,
                         blocks.size ? blocks.lengthOf(0) : queries)),
      mostKeys(std::max(columns,
                        (BlockLayout::kFixed + blocks.random) * blocks.size)) {
  bool hasUnit = schedule.matrixUnit && pairs && judgeUnit(op).fired;
  int64_t lineOfLanes = hasUnit ? MatrixUnit::depth : kTransposed;
  // A uniform empty row reads every value. So does who reads the scores.
  skipsPanels = op.getEmptyRow() != EmptyRow::uniform && !slots &&
                !op.getScores() &&
                VisitedKeys::areSome(
                    form, extents(), blocks.size ? blocks.size : panel,
                    evenHeight(blocks.size ? blocks.size : queries, blockRows));
  // Counts of panels say nothing of gaps between those that items have.
  skipsPanels = skipsPanels && !(hasRanges && visitedKeys().haveGaps());
  panels = blocks.size                ? blocks.count * blocks.panels
           : skipsPanels || hasRanges ? llvm::divideCeil(columns, panel)
                                      : columns / panel;
  mayLeaveKeys = blocks.size
                     ? (blocks.count - 1) * blocks.size + blocks.lanes > keys
                     : hasRanges || (skipsPanels && keys % panel);
  tailLanes = llvm::alignTo(std::max(columns - panels * panel, int64_t(0)),
                            lineOfLanes);
  packedRows = llvm::divideCeil(keyWidth, interleave);
  valueRows = !pairs || !valueWidth ? 0
              : hasUnit             ? llvm::alignTo(columns, unitStep()) / 2
                                    : llvm::divideCeil(columns, 2);
  int64_t lanes = panels * panel + tailLanes;
  int64_t ofRow = blocks.size ? blocks.most * blocks.lanes : lanes;
  scoreStride = ofRow + 16;
  exponentialStride = valueRows ? paddedStride(ofRow, 2) : 0;
  bool hasLimits = !blocks.isWhole || hasRanges ||
                   llvm::any_of(form.conditions, [&](Value condition) {
                     return form.isAboutKeys(condition);
                   });
  limitLanes = hasLimits ? lanes : 0;
  hidesKeys = valueWidth && !form.conditions.empty();
  pooledColumns = blocks.size && !hasUnit ? schedule.tileColumns : 0;
  copiedQueries = 0;
  if (hasUnit) {
    SmallVector<int64_t> heights =
        hasRanges ? overlappingHeights(blockRows) : heightsOf(rowBlocks());
    unitHeight = llvm::divideCeil(heights.back(), 2);
    copiedQueries = heights.front() < unitHeight ? unitHeight : 0;
  }
}

SmallVector<RowSpan> AttentionLayout::rowBlocks() const {
  if (hasRanges) {
    return overlappingBlocksOf(queries, queryBlocks, blockRows);
  }
  return blocks.size ? blocks.rowBlocks(tileRows)
                     : rowBlocksOf(queries, queryBlocks, tileRows);
}

VisitedKeys AttentionLayout::visitedKeys() const {
  return VisitedKeys(form, extents(), blocks.size ? blocks.size : panel,
                     !skipsPanels ? SmallVector<RowSpan>()
                     : hasRanges  ? anyRowBlocks(queries, blockRows)
                                  : rowBlocks());
}

SmallVector<int64_t> AttentionLayout::countPairs() const {
  VisitedKeys visited = visitedKeys();
  auto keysOf = [&](const RowSpan &rows) -> int64_t {
    const VisitedKeys::Range *range = skipsPanels ? &visited.at(rows) : nullptr;
    if (blocks.size) {
      return blocks.countKeys(rows.row / blocks.size, range);
    }
    // Whole panels, up to the last key.
    return range ? std::min(range->end * panel, keys) -
                       std::min(range->begin * panel, keys) -
                       range->countLeftOut() * panel
                 : columns;
  };
  SmallVector<int64_t> pairs(queryBlocks);
  for (const RowSpan &rows : rowBlocks()) {
    int64_t unit = blocks.size ? rows.row / blocks.size
                               : ((rows.row + 1) * queryBlocks - 1) / queries;
    pairs[unit] += rows.height * keysOf(rows);
  }
  return pairs;
}

} // namespace hova
