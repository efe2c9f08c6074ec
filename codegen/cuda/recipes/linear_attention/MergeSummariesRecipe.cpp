//===- MergeSummariesRecipe.cpp - Sums of blocks made one, on a GPU -------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cuda/Recipe.h"
#include "codegen/cuda/recipes/GroupEmitter.h"
#include "dialect/Shapes.h"
#include "dialect/linear_attention/LinearAttentionOps.h"
#include "dialect/ranges/RangeMistakes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace hova {

namespace {
/// A block has rows of one head, and adds those of one block of keys after the
/// other. Sums that are relative to a maximum are made relative to the larger.
class SummaryMerger {
public:
  SummaryMerger(GroupEmitter &e, MergeSummariesOp op);
  void write();

private:
  using Values = KernelBuilder::Values;
  using Elements = KernelBuilder::Elements;

  /// The rows of this head of a block of a tensor.
  Value boxOf(Value tensor, Expr block) {
    Expr first = (head * shapeOf(tensor)[2] + block) * rows;
    return e.view(e.matrix(tensor), first, rows, 0, columns);
  }
  /// The sums of blocks, and their maximum if they have one, with one more.
  Values merge(ValueRange sums, Expr block);
  void store(ValueRange sums, Expr block);

  GroupEmitter &e;
  KernelBuilder &b;
  MergeSummariesOp op;
  int64_t rows, columns;
  bool hasMaximum;
  TileType tile, column;
  Expr head, row, firstColumn;
  Expr blocks; ///< of keys
  bool rowsInside, columnsInside;
};
} // namespace

SummaryMerger::SummaryMerger(GroupEmitter &e, MergeSummariesOp op)
    : e(e), b(e.b), op(op), rows(shapeOf(op.getSummary())[3]),
      columns(shapeOf(op.getSummary())[4]),
      hasMaximum(summaryExtraRows(op.getMap()) != 0),
      tile(e.tile(b.f32(), TileDistribution::row)),
      column(tile.with({tile.rows(), 1}, b.f32(), TileDistribution::row)),
      rowsInside(rows % tile.rows() == 0),
      columnsInside(columns % tile.columns() == 0) {
  int64_t perHead = llvm::divideCeil(rows, tile.rows());
  head = e.block(0) / perHead;
  row = e.block(0) % perHead * tile.rows();
  firstColumn = e.block(1) * tile.columns();
  blocks = shapeOf(op.getSummary())[2];
  if (e.haveTokenRanges()) {
    int64_t size = *op.getBlock();
    Expr item = head / shapeOf(op.getSummary())[1];
    Extent keys = extentOf(keysOfSums(op.getSummary()));
    blocks = (e.tokensOf(keys, item) + (size - 1)) / size;
  }
}

SummaryMerger::Values SummaryMerger::merge(ValueRange sums, Expr block) {
  Value from = boxOf(op.getSummary(), block);
  Value part = b.load(tile, from, row, firstColumn, rowsInside, columnsInside);
  if (!hasMaximum) {
    return {b.combine(Combine::add, sums[0], part)};
  }
  Value added = b.gather(
      column, from, [&](Expr, Expr) { return std::pair(Expr(rows - 1), 0); });
  Value most = b.combine(Combine::max, sums[1], added);
  auto factorOf = [&](Value maximum) {
    return b.map(column, {maximum, most}, [&](Elements x, Expr i, Expr) {
      // The sum of the values is relative to nothing.
      return select(row + i < rows - 2, b.power(x[0] - x[1]), 1);
    });
  };
  Value merged = b.map(
      tile, {sums[0], factorOf(sums[1]), part, factorOf(added)},
      [](Elements x, Expr, Expr) { return fma(x[2], x[3], x[0] * x[1]); });
  return {merged, most};
}

void SummaryMerger::store(ValueRange sums, Expr block) {
  Value stored = sums[0];
  if (hasMaximum) {
    stored = b.map(tile, sums, [&](Elements x, Expr i, Expr) {
      return select(row + i == rows - 1, x[1], x[0]);
    });
  }
  b.store(stored, boxOf(op.getResult(), block), row, firstColumn, rowsInside,
          columnsInside);
}

void SummaryMerger::write() {
  Values none{b.fill(tile, 0)};
  if (hasMaximum) {
    none.push_back(b.fill(column, kNoKeyMaximum));
  }
  Values all =
      b.loop(0, blocks, none, [&](Expr block, ValueRange sums) -> Values {
        if (op.getExclusive()) {
          store(sums, block);
        }
        return merge(sums, block);
      });
  if (!op.getExclusive()) {
    return store(all, 0);
  }
  int64_t most = shapeOf(op.getSummary())[2];
  if (e.haveTokenRanges()) {
    // Behind the end of an item all of its keys come before a block.
    b.loop(blocks, most, {}, [&](Expr block, ValueRange) -> Values {
      store(all, block);
      return {};
    });
  }
}

namespace {
struct MergeSummariesRecipe
    : ElementsRecipe<MergeSummariesRecipe, MergeSummariesOp> {
  /// Blocks of rows of all heads along x, of columns along y.
  Grid getGrid(Operation *op, CudaScheduleAttr schedule) const {
    ArrayRef<int64_t> s = shapeOf(cast<MergeSummariesOp>(op).getSummary());
    int64_t blocks =
        s[0] * s[1] * llvm::divideCeilSigned(s[3], schedule.getRows());
    return {blocks, llvm::divideCeilSigned(s[4], schedule.getColumns()), 1,
            blocks};
  }
  void emitGroup(Operation *op, GroupEmitter &e) const {
    SummaryMerger(e, cast<MergeSummariesOp>(op)).write();
  }
};
} // namespace

void attachCudaMergeSummariesRecipe(MLIRContext &context) {
  MergeSummariesOp::attachInterface<MergeSummariesRecipe>(context);
}

} // namespace hova
