//===- KeySummaryRecipe.cpp - Sums over features of keys, on a GPU --------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cuda/Recipe.h"
#include "codegen/cuda/recipes/linear_attention/NarrowSums.h"

using namespace mlir;

namespace hova {

namespace {
/// A block has rows of the sums over one block of keys of one head; all of them
/// where features are relative to a maximum over all.
class KeySummaryWriter : FeatureWriter {
public:
  KeySummaryWriter(GroupEmitter &e, KeySummaryOp op);
  void write();

private:
  /// Turns over the block's keys, of which `take` multiplies with features from
  /// `firstRow` on.
  Values takeKeys(Expr firstRow, bool withValues, ValueRange state, Take take);
  /// Products of features from `firstRow` on and the keys of a turn.
  Value multiply(Expr firstRow, Expr turn, Expr slot);
  /// The same with the factor, or kNoKeyMaximum where nothing counts.
  Value multiplyCounted(Expr firstRow, Expr turn, Expr slot);
  Value findMaximum();
  void writeRows(Expr firstRow, Value most);
  Value weigh(Value products, Expr firstRow, Expr turn, Value most);
  Expr keyOf(Expr turn) { return block.first + turn * kSumsStep; }
  Value validKeys(Expr turn) {
    return FeatureWriter::validKeys(rowTile(kSumsStep), keyOf(turn));
  }

  KeySummaryOp op;
  KeyBlock block;
  int64_t turns;
  Value ks, vs, ws;
};
} // namespace

KeySummaryWriter::KeySummaryWriter(GroupEmitter &e, KeySummaryOp op)
    : FeatureWriter(e, op, shapeOf(op.getKey())[2] / op.getHeads(),
                    shapeOf(op.getValue())[2] / op.getHeads()),
      op(op), block(keyBlockOf(op)),
      turns(llvm::divideCeil(
          std::min<int64_t>(op.getBlock(), shapeOf(op.getKey())[1]),
          kSumsStep)) {
  if (weight) {
    ks = slots(2, kSumsStep, boxColumns(keyWidth));
    ws = slots(1, chosen.getRows(), boxColumns(keyWidth));
  }
  vs = slots(2, kSumsStep, chosen.getColumns());
}

KeySummaryWriter::Values KeySummaryWriter::takeKeys(Expr firstRow,
                                                    bool withValues,
                                                    ValueRange state,
                                                    Take take) {
  Values resident;
  if (weight) {
    resident.push_back(copyBox(weight, firstRow, ws, 0,
                               rows == count && count % chosen.getRows() == 0));
  }
  auto copy = [&](Expr turn, Expr slot) {
    Values copies;
    Expr key = keyOf(turn);
    if (weight) {
      copies.push_back(copyBox(block.keys, key, ks, slot));
    }
    if (withValues) {
      copies.push_back(copyBox(block.values, key, vs, slot));
    }
    return copies;
  };
  return takeTurns(turnsOf(block, turns, kSumsStep), resident, state, copy,
                   take);
}

Value KeySummaryWriter::multiply(Expr firstRow, Expr turn, Expr slot) {
  TileType type = tile(kSumsStep);
  if (weight) {
    return GroupProductOp::create(b, ws, ks, slot, b.fill(type, 0), b.index(0),
                                  true);
  }
  return columnsOfKeys(block.keys, type, firstRow, keyOf(turn));
}

Value KeySummaryWriter::multiplyCounted(Expr firstRow, Expr turn, Expr slot) {
  Value products = multiply(firstRow, turn, slot);
  return b.map(products.getType(), {products, validKeys(turn)},
               [&](Elements x, Expr i, Expr j) {
                 Expr there = (firstRow + i < count) &
                              counts(turn * kSumsStep + j, block.end, x[1]);
                 return select(there, x[0] * factor(), kNoKeyMaximum);
               });
}

/// The largest `factor w k` of the block of keys, as one element; that of no
/// keys is kNoKeyMaximum.
Value KeySummaryWriter::findMaximum() {
  Value most = b.fill(tile(1, TileDistribution::partial), kNoKeyMaximum);
  auto raise = [&](Expr number, ValueRange before) {
    Expr firstRow = number * chosen.getRows();
    return takeKeys(firstRow, /*withValues=*/false, before,
                    [&](Expr turn, Expr slot, ValueRange state) -> Values {
                      Value sums = multiplyCounted(firstRow, turn, slot);
                      return {b.combineRows(Combine::max, state[0], sums)};
                    });
  };
  most = b.loop(llvm::divideCeil(count, chosen.getRows()), most, raise)[0];
  Value column = b.reduce(Combine::max, most, TileDistribution::product);
  Value row = GroupTransposeOp::create(b, rowTile(chosen.getRows()), column);
  return b.reduce(Combine::max, row, TileDistribution::product);
}

/// What keys of a turn weigh in the rows from `firstRow` on: their features,
/// and in a row after these, of softmax, one.
Value KeySummaryWriter::weigh(Value products, Expr firstRow, Expr turn,
                              Value most) {
  Value half;
  if (hasExponentials()) {
    TileType keysTile =
        tile(1).with({kSumsStep, boxColumns(keyWidth)},
                     cast<MemRefType>(block.keys.getType()).getElementType(),
                     TileDistribution::row);
    Value keysOfTurn = b.load(keysTile, block.keys, keyOf(turn), 0, false,
                              keyWidth == keysTile.columns());
    half =
        GroupTransposeOp::create(b, rowTile(kSumsStep), halfNorms(keysOfTurn));
  }
  auto weightOf = [&](Elements x, Expr i, Expr j) {
    Expr row = firstRow + i;
    Expr feature = keyFeature(x[0], x[1], x[2]);
    Expr after = hasMaximum() ? select(row == count, b.number(1), 0) : 0;
    return select(counts(turn * kSumsStep + j, block.end, x[3]),
                  select(row < count, feature, after), 0);
  };
  return b.map(products.getType(), {products, half, most, validKeys(turn)},
               weightOf);
}

/// Rows from `firstRow` on; `most`, unless it is null, is the last of all.
void KeySummaryWriter::writeRows(Expr firstRow, Value most) {
  Values sums = takeKeys(
      firstRow, /*withValues=*/true,
      {b.fill(tile(chosen.getColumns()), 0),
       b.fill(tile(1, TileDistribution::partial), 0)},
      [&](Expr turn, Expr slot, ValueRange state) -> Values {
        Value products = multiply(firstRow, turn, slot);
        Value weights = weigh(products, firstRow, turn, most);
        Value result = GroupProductOp::create(b, weights, vs, slot, state[0],
                                              Value(), false);
        return {result, b.combineRows(Combine::add, state[1], weights)};
      });
  auto store = [&](Value sum, int64_t column, int64_t width) {
    auto type = cast<TileType>(sum.getType());
    if (most) {
      sum = b.map(type, {sum, most}, [&](Elements x, Expr i, Expr) {
        return select(firstRow + i == count + 1, x[1], x[0]);
      });
    }
    b.store(sum, e.view(block.to, 0, rows, column, width), firstRow, 0,
            rows % chosen.getRows() == 0, type.columns() == width);
  };
  store(sums[0], 0, valueWidth);
  store(b.reduce(Combine::add, sums[1], TileDistribution::product), valueWidth,
        1);
}

void KeySummaryWriter::write() {
  if (!hasMaximum()) {
    return writeRows(e.block(0) % countRowBlocks(op, chosen.getRows()) *
                         chosen.getRows(),
                     Value());
  }
  Value most = findMaximum();
  b.loop(llvm::divideCeil(rows, chosen.getRows()), {},
         [&](Expr number, ValueRange) -> Values {
           writeRows(number * chosen.getRows(), most);
           return {};
         });
}

namespace {
struct KeySummaryRecipe
    : CudaRecipeOpInterface::ExternalModel<KeySummaryRecipe, KeySummaryOp> {
  CudaScheduleAttr chooseSchedule(Operation *op) const {
    auto summary = cast<KeySummaryOp>(op);
    int64_t heads = summary.getHeads();
    int64_t width = shapeOf(summary.getValue())[2] / heads;
    int64_t keyWidth = shapeOf(summary.getKey())[2] / heads;
    if (failed(checkHeadWidths(op, {keyWidth, width}, kMostLinearColumns)) ||
        failed(checkSequences(op, shapeOf(summary.getKey())[0], heads))) {
      return {};
    }
    return summary.getNarrow()
               ? scheduleNarrowSummary(op->getContext(),
                                       shapeOf(summary.getResult())[3] -
                                           summaryExtraRows(summary.getMap()),
                                       keyWidth, width)
               : scheduleSums(op->getContext(), width);
  }
  Grid getGrid(Operation *op, CudaScheduleAttr schedule) const {
    auto summary = cast<KeySummaryOp>(op);
    ArrayRef<int64_t> shape = shapeOf(summary.getResult());
    return {shape[2] * countRowBlocks(summary, schedule.getRows()), shape[1],
            shape[0]};
  }
  void emitGroup(Operation *op, GroupEmitter &e) const {
    auto summary = cast<KeySummaryOp>(op);
    if (summary.getNarrow()) {
      return emitNarrowSummary(e, summary);
    }
    KeySummaryWriter(e, summary).write();
  }
  OperandReads getReads(Operation *op, unsigned index) const {
    bool isTable =
        op->getOperand(index) == cast<KeySummaryOp>(op).getFeatures();
    return isTable ? OperandReads::packed : OperandReads::rows;
  }
};
} // namespace

void attachCudaKeySummaryRecipe(MLIRContext &context) {
  KeySummaryOp::attachInterface<KeySummaryRecipe>(context);
}

} // namespace hova
