//===- MergeSummariesRecipe.cpp - Sums of blocks made one, on a GPU -------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cuda/recipes/GroupEmitter.h"
#include "codegen/cuda/recipes/Recipe.h"
#include "dialect/LinearAttentionOps.h"
#include "dialect/Shapes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace hova {

namespace {
/// A block has rows of one head, and adds those of one block of keys after the
/// other. Sums that are relative to a maximum are made relative to the larger.
struct MergeSummariesRecipe
    : CudaRecipeOpInterface::ExternalModel<MergeSummariesRecipe,
                                           MergeSummariesOp> {
  CudaScheduleAttr chooseSchedule(Operation *op) const {
    return scheduleElements(op);
  }
  /// Blocks of rows of all heads along x, of columns along y.
  Grid getGrid(Operation *op, CudaScheduleAttr schedule) const {
    ArrayRef<int64_t> s = shapeOf(cast<MergeSummariesOp>(op).getSummary());
    return {s[0] * s[1] * llvm::divideCeilSigned(s[3], schedule.getRows()),
            llvm::divideCeilSigned(s[4], schedule.getColumns())};
  }
  void emitGroup(Operation *op, GroupEmitter &e) const;
};

class SummaryMerger {
public:
  SummaryMerger(GroupEmitter &e, MergeSummariesOp op);
  void write();

private:
  using Values = KernelBuilder::Values;

  /// The rows of this head of a block of a matrix of `blocks` blocks a head.
  Value boxOf(Value matrix, int64_t blocks, Value block) {
    Value slot = b.sum(b.mulIndex(head, blocks), block);
    return e.view(matrix, b.mulIndex(slot, rows), rows, b.getIndexAttr(0),
                  columns);
  }
  /// The sums of blocks, and their maximum if they have one, with one more.
  Values merge(ValueRange sums, Value block);
  void store(ValueRange sums, Value block);

  GroupEmitter &e;
  KernelBuilder &b;
  MergeSummariesOp op;
  int64_t blocks, rows, columns;
  bool hasMaximum;
  TileType tile, column;
  Value head, row, firstColumn;
};
} // namespace

SummaryMerger::SummaryMerger(GroupEmitter &e, MergeSummariesOp op)
    : e(e), b(e.b), op(op), blocks(shapeOf(op.getSummary())[2]),
      rows(shapeOf(op.getSummary())[3]), columns(shapeOf(op.getSummary())[4]),
      hasMaximum(summaryExtraRows(op.getMap()) != 0),
      tile(e.tile(b.f32(), TileDistribution::row)),
      column(tile.with({tile.rows(), 1}, b.f32(), TileDistribution::row)) {
  int64_t perHead = llvm::divideCeil(rows, tile.rows());
  head = b.divIndex(e.block(0), perHead);
  row = b.mulIndex(b.remIndex(e.block(0), perHead), tile.rows());
  firstColumn = b.mulIndex(e.block(1), tile.columns());
}

SummaryMerger::Values SummaryMerger::merge(ValueRange sums, Value block) {
  Value from = boxOf(e.matrix(op.getSummary()), blocks, block);
  Value part = b.load(tile, from, row, firstColumn, rows % tile.rows() == 0,
                      columns % tile.columns() == 0);
  if (!hasMaximum) {
    return {b.map(tile, {sums[0], part}, [&](ValueRange t, Value, Value) {
      return b.add(t[0], t[1]);
    })};
  }
  Value added = b.gather(column, from, [&](Value, Value) {
    return std::pair(b.index(rows - 1), b.index(0));
  });
  Value most =
      b.map(column, {sums[1], added}, [&](ValueRange t, Value, Value) -> Value {
        return arith::MaxNumFOp::create(b, t[0], t[1]);
      });
  // The sum of the values is relative to nothing.
  Value features = b.index(rows - 2);
  auto factorOf = [&](Value maximum) {
    return b.map(column, {maximum, most}, [&](ValueRange t, Value i, Value) {
      Value power = math::Exp2Op::create(b, b.subtract(t[0], t[1]));
      return b.choose(b.isBelow(b.sum(row, i), features), power, b.number(1));
    });
  };
  Value merged =
      b.map(tile, {sums[0], factorOf(sums[1]), part, factorOf(added)},
            [&](ValueRange t, Value, Value) {
              return b.fma(t[2], t[3], b.mul(t[0], t[1]));
            });
  return {merged, most};
}

void SummaryMerger::store(ValueRange sums, Value block) {
  Value stored = sums[0];
  if (hasMaximum) {
    Value last = b.index(rows - 1);
    stored = b.map(tile, sums, [&](ValueRange t, Value i, Value) {
      return b.choose(b.isEqual(b.sum(row, i), last), t[1], t[0]);
    });
  }
  Value to =
      boxOf(e.matrix(op.getResult()), op.getExclusive() ? blocks : 1, block);
  b.store(stored, to, row, firstColumn, rows % tile.rows() == 0,
          columns % tile.columns() == 0);
}

void SummaryMerger::write() {
  Values none{b.fill(tile, 0)};
  if (hasMaximum) {
    none.push_back(b.fill(column, kNoKeyMaximum));
  }
  Values all =
      b.loop(blocks, none, [&](Value block, ValueRange sums) -> Values {
        if (op.getExclusive()) {
          store(sums, block);
        }
        return merge(sums, block);
      });
  if (!op.getExclusive()) {
    store(all, b.index(0));
  }
}

void MergeSummariesRecipe::emitGroup(Operation *op, GroupEmitter &e) const {
  SummaryMerger(e, cast<MergeSummariesOp>(op)).write();
}

void attachCudaMergeSummariesRecipe(MLIRContext &context) {
  MergeSummariesOp::attachInterface<MergeSummariesRecipe>(context);
}

} // namespace hova
