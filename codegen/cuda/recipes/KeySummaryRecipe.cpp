//===- KeySummaryRecipe.cpp - Sums over features of keys, on a GPU --------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cuda/recipes/FeatureWriter.h"
#include "codegen/cuda/recipes/Recipe.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>

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
  Values copyKeys(Value turn, Value slot, bool withValues);
  Values copyWeights(Value firstRow);
  /// Products of features from `firstRow` on and the keys of a turn.
  Value multiply(Value firstRow, Value turn, Value slot);
  Value findMaximum();
  void writeRows(Value firstRow, Value most);
  Value weigh(Value products, Value firstRow, Value turn, Value most);
  /// 1 for keys of a turn that count, as i32; null if nothing masks.
  Value validKeys(Value turn);
  Value counts(Value j, Value turn, Value valid);
  Value keyOf(Value turn) { return b.sum(first, b.mulIndex(turn, kSumsStep)); }

  KeySummaryOp op;
  int64_t tokens, turns;
  double eps;
  Value keys, values, to;
  Value first, end; ///< of the block's keys, and how many it has
  Value ks, vs, ws;
};
} // namespace

/// Blocks of a launch for each block of keys.
static int64_t rowBlocks(KeySummaryOp op) {
  return op.getMap() == FeatureMap::softmax
             ? 1
             : llvm::divideCeil(shapeOf(op.getResult())[3], kSumsRows);
}

KeySummaryWriter::KeySummaryWriter(GroupEmitter &e, KeySummaryOp op)
    : FeatureWriter(e, op, shapeOf(op.getKey())[2] / op.getHeads(),
                    shapeOf(op.getValue())[2] / op.getHeads()),
      op(op), tokens(shapeOf(op.getKey())[1]),
      turns(llvm::divideCeil(
          std::min<int64_t>(op.getBlock(), shapeOf(op.getKey())[1]),
          kSumsStep)),
      eps(op.getEps().convertToDouble()) {
  int64_t heads = op.getHeads(), size = op.getBlock();
  ArrayRef<int64_t> shape = shapeOf(op.getResult());
  keys = e.headOf(op.getKey(), heads);
  values = e.headOf(op.getValue(), heads);
  Value part = b.divIndex(e.block(0), rowBlocks(op));
  first = b.mulIndex(part, size);
  end = b.createOrFold<arith::MinUIOp>(
      b.index(size), b.createOrFold<arith::SubIOp>(b.index(tokens), first));
  Value head = b.sum(b.mulIndex(e.block(2), shape[1]), e.block(1));
  Value slot = b.sum(b.mulIndex(head, shape[2]), part);
  to = e.view(e.matrix(op.getResult()), b.mulIndex(slot, rows), rows,
              b.getIndexAttr(0), shape[4]);
  int64_t depth = boxColumns(keyWidth);
  if (weight) {
    ks = slots(2, kSumsStep, depth);
    ws = slots(1, own.getRows(), depth);
  }
  vs = slots(2, kSumsStep, own.getColumns());
}

KeySummaryWriter::Values KeySummaryWriter::copyKeys(Value turn, Value slot,
                                                    bool withValues) {
  Values copies;
  Value key = keyOf(turn), zero = b.index(0);
  if (weight) {
    copies.push_back(b.copy(keys, key, zero, ks, slot, false,
                            keyWidth == boxColumns(keyWidth)));
  }
  if (withValues) {
    copies.push_back(b.copy(values, key, zero, vs, slot, false,
                            valueWidth == own.getColumns()));
  }
  return copies;
}

/// Begins to copy a block's rows of the weight, if there is one.
KeySummaryWriter::Values KeySummaryWriter::copyWeights(Value firstRow) {
  if (!weight) {
    return {};
  }
  Value zero = b.index(0);
  return {b.copy(weight, firstRow, zero, ws, zero,
                 rows == count && count % own.getRows() == 0,
                 keyWidth == boxColumns(keyWidth))};
}

Value KeySummaryWriter::multiply(Value firstRow, Value turn, Value slot) {
  if (weight) {
    Value zero = b.index(0);
    return GroupProductOp::create(b, ws, ks, slot, b.fill(tile(kSumsStep), 0),
                                  zero, true);
  }
  // Features are columns of keys.
  Type element = cast<MemRefType>(keys.getType()).getElementType();
  Value narrow =
      b.gather(tile(kSumsStep).with({own.getRows(), kSumsStep}, element,
                                    TileDistribution::product),
               keys, [&](Value i, Value j) {
                 return std::pair(b.sum(keyOf(turn), j), b.sum(firstRow, i));
               });
  return b.map(tile(kSumsStep), narrow, [&](ValueRange t, Value, Value) {
    return widen(b, b.getLoc(), t[0]);
  });
}

Value KeySummaryWriter::validKeys(Value turn) {
  if (!op.getKeyValid()) {
    return {};
  }
  Value from = e.matrix(op.getKeyValid());
  Type type = rowTile(kSumsStep).with({1, kSumsStep}, b.getI32Type(),
                                      TileDistribution::product);
  return b.gather(type, from, [&](Value, Value j) {
    return std::pair(e.block(2), b.sum(keyOf(turn), j));
  });
}

/// Whether key j of a turn counts, of the block and by its mask `valid`.
Value KeySummaryWriter::counts(Value j, Value turn, Value valid) {
  Value there = b.isBelow(b.sum(b.mulIndex(turn, kSumsStep), j), end);
  if (!valid) {
    return there;
  }
  Value isValid = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, valid,
                                        arith::ConstantIntOp::create(b, 0, 32));
  return arith::AndIOp::create(b, there, isValid);
}

/// The largest `factor w k` of the block of keys, as one element; that of no
/// keys is kNoKeyMaximum.
Value KeySummaryWriter::findMaximum() {
  Value least = b.number(kNoKeyMaximum), all = b.index(count);
  auto raise = [&](Value firstRow, Value before) {
    return takeTurns(
        turns, copyWeights(firstRow), {before},
        [&](Value turn, Value slot) { return copyKeys(turn, slot, false); },
        [&](Value turn, Value slot, ValueRange state) -> Values {
          SmallVector<Value> operands{multiply(firstRow, turn, slot)};
          if (Value valid = validKeys(turn)) {
            operands.push_back(valid);
          }
          Value counted = b.map(
              tile(kSumsStep), operands, [&](ValueRange t, Value i, Value j) {
                Value there = arith::AndIOp::create(
                    b, b.isBelow(b.sum(firstRow, i), all),
                    counts(j, turn, t.size() > 1 ? t[1] : Value()));
                return b.choose(there, b.mul(t[0], b.number(factor())), least);
              });
          return {raiseRows(state[0], counted)};
        })[0];
  };
  Value most = b.fill(tile(1, TileDistribution::partial), kNoKeyMaximum);
  most = b.loop(llvm::divideCeil(count, own.getRows()), most,
                [&](Value block, ValueRange state) -> Values {
                  return {raise(b.mulIndex(block, own.getRows()), state[0])};
                })[0];
  Value column = b.reduce(Combine::max, most, TileDistribution::product);
  Value row = GroupTransposeOp::create(b, rowTile(own.getRows()), column);
  return b.reduce(Combine::max, row, TileDistribution::product);
}

/// What keys of a turn weigh in the rows from `firstRow` on: their features,
/// and in a row after these, of softmax, one.
Value KeySummaryWriter::weigh(Value products, Value firstRow, Value turn,
                              Value most) {
  SmallVector<Value> operands{products};
  if (hasExponentials()) {
    TileType keysTile =
        TileType::get(b.getContext(), {kSumsStep, boxColumns(keyWidth)},
                      cast<MemRefType>(keys.getType()).getElementType(),
                      TileDistribution::row, own.getRowWarps(), 1);
    Value own = b.load(keysTile, keys, keyOf(turn), b.index(0), false,
                       keyWidth == keysTile.columns());
    operands.push_back(
        GroupTransposeOp::create(b, rowTile(kSumsStep), halfNorms(own)));
  }
  if (most) {
    operands.push_back(most);
  }
  Value valid = validKeys(turn);
  if (valid) {
    operands.push_back(valid);
  }
  Value zero = b.number(0), all = b.index(count);
  return b.map(tile(kSumsStep), operands, [&](ValueRange t, Value i, Value j) {
    Value own = b.mul(t[0], b.number(factor())), row = b.sum(firstRow, i);
    if (hasExponentials()) {
      Value far = b.subtract(own, most ? t[2] : b.number(shift()));
      own = power(b.subtract(far, t[1]));
    } else {
      own = b.add(rectified(own), b.number(eps));
    }
    Value after =
        hasMaximum() ? b.choose(b.isEqual(row, all), b.number(1), zero) : zero;
    return b.choose(counts(j, turn, valid ? t.back() : Value()),
                    b.choose(b.isBelow(row, all), own, after), zero);
  });
}

/// Rows from `firstRow` on; `most`, unless it is null, is the last of all.
void KeySummaryWriter::writeRows(Value firstRow, Value most) {
  Values sums = takeTurns(
      turns, copyWeights(firstRow),
      {b.fill(tile(own.getColumns()), 0),
       b.fill(tile(1, TileDistribution::partial), 0)},
      [&](Value turn, Value slot) { return copyKeys(turn, slot, true); },
      [&](Value turn, Value slot, ValueRange state) -> Values {
        Value products = multiply(firstRow, turn, slot);
        Value weights = weigh(products, firstRow, turn, most);
        Value result = GroupProductOp::create(b, weights, vs, slot, state[0],
                                              Value(), false);
        return {result, addRows(state[1], weights)};
      });
  auto store = [&](Value sum, int64_t column, int64_t width) {
    if (most) {
      Value last = b.index(count + 1);
      sum =
          b.map(sum.getType(), {sum, most}, [&](ValueRange t, Value i, Value) {
            return b.choose(b.isEqual(b.sum(firstRow, i), last), t[1], t[0]);
          });
    }
    Value target =
        e.view(to, b.getIndexAttr(0), rows, b.getIndexAttr(column), width);
    b.store(sum, target, firstRow, b.index(0), rows % own.getRows() == 0,
            cast<TileType>(sum.getType()).columns() == width);
  };
  store(sums[0], 0, valueWidth);
  store(b.reduce(Combine::add, sums[1], TileDistribution::product), valueWidth,
        1);
}

void KeySummaryWriter::write() {
  if (!hasMaximum()) {
    Value block = b.remIndex(e.block(0), rowBlocks(op));
    return writeRows(b.mulIndex(block, own.getRows()), Value());
  }
  Value most = findMaximum();
  b.loop(llvm::divideCeil(rows, own.getRows()), {},
         [&](Value block, ValueRange) -> Values {
           writeRows(b.mulIndex(block, own.getRows()), most);
           return {};
         });
}

namespace {
struct KeySummaryRecipe
    : CudaRecipeOpInterface::ExternalModel<KeySummaryRecipe, KeySummaryOp> {
  CudaScheduleAttr chooseSchedule(Operation *op) const {
    auto own = cast<KeySummaryOp>(op);
    int64_t heads = own.getHeads();
    int64_t width = shapeOf(own.getValue())[2] / heads;
    if (failed(checkHeadWidths(op, {shapeOf(own.getKey())[2] / heads, width},
                               kMostLinearColumns)) ||
        failed(checkSequences(op, shapeOf(own.getKey())[0], heads))) {
      return {};
    }
    return scheduleSums(op->getContext(), width);
  }
  Grid getGrid(Operation *op, CudaScheduleAttr) const {
    auto own = cast<KeySummaryOp>(op);
    ArrayRef<int64_t> shape = shapeOf(own.getResult());
    return {shape[2] * rowBlocks(own), shape[1], shape[0]};
  }
  void emitGroup(Operation *op, GroupEmitter &e) const {
    KeySummaryWriter(e, cast<KeySummaryOp>(op)).write();
  }
  bool readsTransposed(Operation *op, unsigned index) const {
    return op->getOperand(index) == cast<KeySummaryOp>(op).getFeatures();
  }
};
} // namespace

void attachCudaKeySummaryRecipe(MLIRContext &context) {
  KeySummaryOp::attachInterface<KeySummaryRecipe>(context);
}

} // namespace hova
