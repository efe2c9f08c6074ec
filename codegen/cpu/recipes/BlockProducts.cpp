//===- BlockProducts.cpp - Products by blocks of a matrix unit ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Half strips are the outer loop: 32 columns of a weight, of which a block's
// tiles are in the first-level cache while its left operand comes from the
// second, since both from there would take longer than the products. All rows
// of the call pass over a half strip, and prefetch the next one.
//
// Where the inner dimension is no multiple of the unit's steps, the rest of it
// is added in vectors, row by row.

#include "codegen/cpu/recipes/BlockProducts.h"
#include "codegen/cpu/CpuFacts.h"
#include "codegen/cpu/TileOps.h"
#include "dialect/Shapes.h"
#include "dialect/dense/DenseOps.h"

using namespace mlir;

namespace hova {

static constexpr int64_t kRows = MatrixUnit::blockRows;
static constexpr int64_t kColumns = MatrixUnit::blockColumns;
/// Cache lines of pairs in a row of a half strip.
static constexpr int64_t kLines = kColumns / CpuFacts::lineElements;

Expr unitHeightOf(const Expr &rows) {
  Expr tiles = (rows + (kRows - 1)) / kRows * 2;
  return (rows + (tiles - 1)) / tiles;
}

UnitBlocks::UnitBlocks(const Expr &first, const Expr &rows, const Expr &height)
    : first(first), rows(rows), height(height),
      rowCount(max(min(height * 2, rows), 1)),
      count((rows + (rowCount - 1)) / rowCount) {}

Expr UnitBlocks::firstOf(const Expr &block) const {
  return first + min(block * rowCount, rows - rowCount);
}

Expr UnitBlocks::skippedOf(const Expr &block) const {
  Expr before = block * rowCount;
  return before - min(before, rows - rowCount);
}

Verdict judgeUnitProduct(int64_t depth, int64_t columns) {
  struct Least {
    int64_t size;
    StringRef what;
    int64_t least;
  };
  for (const Least &of : {Least{depth, "channels", MatrixUnit::depth},
                          Least{columns, "columns", kColumns}}) {
    if (of.size < of.least) {
      return Verdict::decline("products of " + Twine(of.size) + " " + of.what +
                                  " are faster in vectors than by the matrix "
                                  "unit",
                              "there are " + Twine(of.least) + " " + of.what);
    }
  }
  return Verdict::fire("products are those of the matrix unit");
}

/// Two blocks of sums: one is written while the other is read.
static Value takeSums(ScratchLayout &layout) {
  return layout.take({2 * kRows, kColumns});
}

int64_t unitScratchBytes() {
  ScratchLayout layout;
  takeSums(layout);
  return layout.getBytes();
}

namespace {
/// A block of sums: where it lies in the result, and in the buffer.
struct UnitBlock {
  Expr row, strip; ///< the first row, and the half strip
  Expr skipped;    ///< rows that the block before has handed on
  Expr buffer;     ///< the first row of the sums
};

struct UnitProduct {
  KernelEmitter &e;
  LinearOp op;
  Value weight;
  UnitBlocks blocks;

  Value x = e.buffer(op.getX());
  ArrayRef<int64_t> shape = shapeOf(op.getResult());
  int64_t depth = shapeOf(op.getX()).back();
  int64_t wholeDepth = depth / MatrixUnit::depth * MatrixUnit::depth;
  int64_t panelColumns = cast<MemRefType>(weight.getType()).getShape()[2];
  int64_t stripsOfPanel = panelColumns / kColumns;
  /// Cache lines of a half strip, and those that each row prefetches.
  int64_t lines = (depth + 1) / 2 * kLines;
  Expr rows = max(blocks.rows, 1), share = (rows + (lines - 1)) / rows;
  Value sums = [this] {
    ScratchLayout scratch(&e);
    return takeSums(scratch);
  }();

  /// Half strips from `first` on, of which `valid` columns each are in the
  /// matrix. One loop over all blocks of all, since a block is finished during
  /// the next one.
  void emitStrips(Expr first, Expr count, int64_t valid) {
    Expr turns = count * blocks.count;
    e.forLoop("blocks", turns, [&](Expr turn) {
      UnitBlock block = blockAt(first, turn);
      UnitBlock before = blockAt(first, max(turn, 1) - 1);
      Expr rows = select(turn == 0, 0, blocks.rowCount - before.skipped);
      multiply(block, rows, [&](Expr row) {
        prefetchShare(before, row, first + count);
        finish(before, row, valid);
      });
    });
    // Without a block there is none to finish: of no rows, or no strips.
    UnitBlock last = blockAt(first, max(turns, 1) - 1);
    Expr rows = select(turns == 0, 0, blocks.rowCount - last.skipped);
    e.forLoop("rows", rows, [&](Expr row) { finish(last, row, valid); });
  }

  UnitBlock blockAt(Expr firstStrip, Expr turn) {
    Expr count = max(blocks.count, 1), block = turn % count;
    return {blocks.firstOf(block), firstStrip + turn / count,
            blocks.skippedOf(block), turn % 2 * kRows};
  }

  void multiply(const UnitBlock &block, Expr turns,
                KernelEmitter::Body meanwhile) {
    auto product = e.make<BlockProductOp>(
        sums, ValueRange{block.buffer, e.index(0)}, x,
        ValueRange{block.row, e.index(0)}, weight,
        ValueRange{block.strip / stripsOfPanel, e.index(0),
                   block.strip % stripsOfPanel * kColumns},
        blocks.rowCount, blocks.height, e.index(wholeDepth), kColumns);
    OpBuilder::InsertionGuard guard(e.builder);
    Block &body = product.runMeanwhile(turns);
    e.builder.setInsertionPointToStart(&body);
    meanwhile(e(body.getArgument(0)));
  }

  /// A row's share of the half strip that follows: its lines, even among all
  /// rows.
  void prefetchShare(const UnitBlock &block, Expr row, Expr endStrip) {
    Expr next = min(block.strip + 1, endStrip - 1);
    Expr from = (block.row + block.skipped + row - blocks.first) * share;
    e.forLoop("lines", from, min(from + share, lines), 1, [&](Expr line) {
      e.prefetch(weight, {next / stripsOfPanel, line / kLines,
                          next % stripsOfPanel * kColumns +
                              line % kLines * CpuFacts::lineElements});
    });
  }

  /// Hands row `row` of those that the block has for itself on.
  void finish(const UnitBlock &block, Expr row, int64_t valid) {
    Expr inBlock = block.skipped + row;
    TilePlace place(block.row + inBlock, 1,
                    {block.strip * kColumns, kColumns, valid});
    Expr tile = e.load(sums, TilePlace(block.buffer + inBlock, 0, 1, kColumns));
    if (wholeDepth < depth) {
      tile = e.compute<TileProductOp>(
          tile.getType(), x, place.row, e.index(wholeDepth), weight,
          ValueRange{block.strip / stripsOfPanel, e.index(wholeDepth / 2),
                     block.strip % stripsOfPanel * kColumns},
          e.index(depth - wholeDepth), /*columns=*/IntegerAttr(), tile);
    }
    if (op.getBias()) {
      tile = tile + e.loadTile(op.getBias(), shape, place);
    }
    e.finishAndStoreTile(place, tile);
  }
};
} // namespace

void emitUnitProduct(KernelEmitter &e, LinearOp op, Value weight,
                     const ColumnRange &group, Expr beginRow, Expr rows) {
  UnitProduct product{e, op, weight, UnitBlocks(beginRow, rows, e.unitHeight)};
  int64_t first = group.from / kColumns, whole = group.to / kColumns;
  int64_t rest = group.to % kColumns;
  bool dividesRows = e.schedule.division == Division::rows;
  int64_t strips = product.stripsOfPanel;
  if (whole > first) {
    Expr from = dividesRows ? e.index(first) : max(e.begin * strips, first);
    Expr to = dividesRows ? e.index(whole) : min(e.end * strips, whole);
    product.emitStrips(from, to - min(from, to), kColumns);
  }
  if (rest) {
    // The thread whose chunk ends after it has the last half strip.
    Expr count = dividesRows ? e.index(1)
                             : select(e.index(whole) < e.end * strips, 1, 0);
    product.emitStrips(e.index(whole), count, rest);
  }
}

} // namespace hova
