//===- NarrowKeySummary.cpp - Narrow sums over features of keys, on a GPU -===//
// SPDX-License-Identifier: Apache-2.0
//
// A block has rows of the sums over one block of keys of one head; all of them
// where features are relative to a maximum over all. Those rows of softmax that
// are no features' are a pass over the values alone.

#include "codegen/cuda/recipes/linear_attention/NarrowSums.h"

using namespace mlir;

namespace hova {

namespace {
class NarrowSummaryWriter : NarrowWriter {
public:
  NarrowSummaryWriter(GroupEmitter &e, KeySummaryOp op);
  void write();

private:
  /// Turns over the block's keys, which `take` multiplies with features from
  /// `firstRow` on.
  Values takeKeys(Expr firstRow, bool withValues, ValueRange state, Take take);
  /// Products of features from `firstRow` on and the keys of a turn.
  Value multiply(Expr firstRow, Expr turn, Expr slot);
  /// Whether a key of a turn may be none.
  bool mayLack() const {
    return keyValid || !FeatureWriter::areWhole(tokens, size) ||
           (isLastTurn && size % step != 0);
  }
  Expr keyOf(Expr turn) { return block.first + turn * step; }
  /// Whether all turns have a step of keys.
  bool areWhole() const {
    return FeatureWriter::areWhole(tokens, size) && size % step == 0;
  }
  /// `made` of the keys of a turn, `none` where there is no key. `i` is a row.
  Value ofKeys(ValueRange tiles, Expr turn, double none,
               KernelBuilder::Body made);
  /// What is added to the exponents of the keys of a turn, as a row.
  Value shifts(Expr slot, Value most);
  Value findMaximum();
  /// The largest weight of each row, or its exponent.
  Value findRowMost(Expr firstRow);
  /// What keys of a turn weigh in the rows; `rowMost` may be null.
  Value weigh(Value products, Expr turn, Expr slot, Value most, Value rowMost);
  void writeRows(Expr firstRow, Value most);
  void writePlainRows(Value most);

  KeySummaryOp op;
  KeyBlock block;
  int64_t size, tokens, turns;
  Value ks, vs, ws;
};
} // namespace

NarrowSummaryWriter::NarrowSummaryWriter(GroupEmitter &e, KeySummaryOp op)
    : NarrowWriter(e, op, shapeOf(op.getKey())[2] / op.getHeads(),
                   shapeOf(op.getValue())[2] / op.getHeads()),
      op(op), block(keyBlockOf(op)),
      size(std::min<int64_t>(op.getBlock(), shapeOf(op.getKey())[1])),
      tokens(shapeOf(op.getKey())[1]), turns(llvm::divideCeil(size, step)) {
  if (weight) {
    ks = b.slots({2, step, keyColumns}, element);
    ws = b.slots({1, chosen.getRows(), keyColumns}, element);
  }
  vs = b.slots({2, step, chosen.getColumns()}, element);
}

NarrowSummaryWriter::Values NarrowSummaryWriter::takeKeys(Expr firstRow,
                                                          bool withValues,
                                                          ValueRange state,
                                                          Take take) {
  if (weight) {
    Value projections =
        b.load(tile(keyColumns, TileDistribution::row), weight, firstRow, 0,
               count % chosen.getRows() == 0, keyWidth == keyColumns);
    GroupShareOp::create(b, narrow(projections), ws, b.index(0));
  }
  auto copy = [&](Expr turn, Expr slot) {
    Values copies;
    Expr key = keyOf(turn);
    if (weight) {
      copies.push_back(copyBox(block.keys, key, ks, slot, areWhole()));
    }
    if (withValues) {
      copies.push_back(copyBox(block.values, key, vs, slot, areWhole()));
    }
    return copies;
  };
  return takeTurns(turnsOf(block, turns, step), {}, state, copy, take);
}

Value NarrowSummaryWriter::multiply(Expr firstRow, Expr turn, Expr slot) {
  TileType type = tile(step);
  if (weight) {
    return GroupProductOp::create(b, ws, ks, slot, b.fill(type, 0), b.index(0),
                                  true);
  }
  return columnsOfKeys(block.keys, type, firstRow, keyOf(turn));
}

Value NarrowSummaryWriter::ofKeys(ValueRange tiles, Expr turn, double none,
                                  KernelBuilder::Body made) {
  Values operands(tiles);
  auto type = cast<TileType>(tiles.front().getType());
  if (!mayLack()) {
    return b.map(type, operands, made);
  }
  operands.push_back(validKeys(rowTile(step), keyOf(turn)));
  return b.map(type, operands, [&](Elements x, Expr i, Expr j) {
    Expr isKey = counts(turn * step + j, block.end, x.back());
    return select(isKey, made(x.drop_back(), i, j), none);
  });
}

Value NarrowSummaryWriter::shifts(Expr slot, Value most) {
  Value half =
      GroupTransposeOp::create(b, rowTile(step), halfNormsOfBox(ks, slot));
  return b.map(rowTile(step), {half, most}, [&](Elements x, Expr, Expr) {
    return x[1] ? -(x[0] + x[1]) : -x[0];
  });
}

/// The largest `factor w k` of the block of keys, as one element; that of no
/// keys is kNoKeyMaximum.
Value NarrowSummaryWriter::findMaximum() {
  int64_t blocks = llvm::divideCeil(count, chosen.getRows());
  Value most = b.fill(tile(1, TileDistribution::partial), kNoKeyMaximum);
  auto raise = [&](Expr number, ValueRange before) {
    Expr firstRow = number * chosen.getRows();
    Value outside; // rows of no feature, whose products are 0
    if (count % chosen.getRows() != 0) {
      outside = b.map(tile(1), {}, [&](Elements, Expr i, Expr) {
        return select(firstRow + i < count, b.number(0), kNoKeyMaximum);
      });
    }
    return takeKeys(firstRow, /*withValues=*/false, before,
                    [&](Expr turn, Expr slot, ValueRange state) -> Values {
                      Value counted = ofKeys(
                          {multiply(firstRow, turn, slot), outside}, turn,
                          kNoKeyMaximum, [&](Elements x, Expr, Expr) {
                            Expr product = beforeMaximum(x[0]);
                            return x[1] ? product + x[1] : product;
                          });
                      return {b.combineRows(Combine::max, state[0], counted)};
                    });
  };
  most = b.loop(blocks, most, raise)[0];
  Value column = b.reduce(Combine::max, most, TileDistribution::product);
  Value row = GroupTransposeOp::create(b, rowTile(chosen.getRows()), column);
  return afterMaximum(b.reduce(Combine::max, row, TileDistribution::product));
}

Value NarrowSummaryWriter::findRowMost(Expr firstRow) {
  // Not 0, by which weights would be divided.
  double least = hasExponentials() ? kNoKeyMaximum : 0x1p-126;
  Value most = b.fill(tile(1, TileDistribution::partial), least);
  most = takeKeys(firstRow, /*withValues=*/false, most,
                  [&](Expr turn, Expr slot, ValueRange state) -> Values {
                    Value shift =
                        hasExponentials() ? shifts(slot, Value()) : Value();
                    Value sizes =
                        ofKeys({multiply(firstRow, turn, slot), shift}, turn,
                               least, [&](Elements x, Expr, Expr) {
                                 return x[1] ? fma(x[0], factor(), x[1])
                                             : rectify(x[0]) + eps;
                               });
                    return {b.combineRows(Combine::max, state[0], sizes)};
                  })[0];
  return b.reduce(Combine::max, most, TileDistribution::product);
}

Value NarrowSummaryWriter::weigh(Value products, Expr turn, Expr slot,
                                 Value most, Value rowMost) {
  if (!hasExponentials()) {
    Value inverse;
    if (rowMost) {
      inverse = b.map(rowMost.getType(), rowMost,
                      [](Elements x, Expr, Expr) { return 1 / x[0]; });
    }
    return ofKeys({products, inverse}, turn, 0, [&](Elements x, Expr, Expr) {
      Expr feature = rectify(x[0]) + eps;
      return x[1] ? feature * x[1] : feature;
    });
  }
  Value shift = shifts(slot, rowMost ? Value() : most);
  return ofKeys({products, shift, rowMost}, turn, 0,
                [&](Elements x, Expr, Expr) {
                  Expr exponent = fma(x[0], factor(), x[1]);
                  return b.power(x[2] ? exponent - x[2] : exponent);
                });
}

void NarrowSummaryWriter::writeRows(Expr firstRow, Value most) {
  Value rowMost = isScaled() ? findRowMost(firstRow) : Value();
  if (!most && hasExponentials()) {
    most = b.fill(tile(1).with({1, 1}, b.f32(), TileDistribution::product),
                  shift());
  }
  Values sums = takeKeys(
      firstRow, /*withValues=*/true,
      {b.fill(tile(chosen.getColumns()), 0), b.fill(tile(1), 0)},
      [&](Expr turn, Expr slot, ValueRange state) -> Values {
        Value products = multiply(firstRow, turn, slot);
        Value weights = narrow(weigh(products, turn, slot, most, rowMost));
        Value result = GroupProductOp::create(b, weights, vs, slot, state[0],
                                              Value(), false);
        return {result, addSums(state[1], weights)};
      });
  Value scale;
  if (rowMost) {
    scale =
        b.map(rowMost.getType(), {rowMost, most}, [&](Elements x, Expr, Expr) {
          return x[1] ? b.power(x[0] - x[1]) : x[0];
        });
  }
  auto store = [&](Value sum, int64_t column, int64_t width) {
    auto type = cast<TileType>(sum.getType());
    if (scale) {
      sum = b.map(type, {sum, scale},
                  [](Elements x, Expr, Expr) { return x[0] * x[1]; });
    }
    b.store(sum, e.view(block.to, 0, count, column, width), firstRow, 0,
            count % chosen.getRows() == 0, type.columns() == width);
  };
  store(sums[0], 0, valueWidth);
  store(sums[1], valueWidth, 1);
}

/// The sum of the values and the number of keys, and then the maximum.
void NarrowSummaryWriter::writePlainRows(Value most) {
  auto plain = [&](int64_t columns) { return tileOf(kSumsRows, columns); };
  auto copy = [&](Expr turn, Expr slot) {
    return Values{copyBox(block.values, keyOf(turn), vs, slot, areWhole())};
  };
  Values sums = takeTurns(
      turnsOf(block, turns, step), {},
      {b.fill(plain(chosen.getColumns()), 0), b.fill(plain(1), 0)}, copy,
      [&](Expr turn, Expr slot, ValueRange state) -> Values {
        Value weights = ofKeys(b.fill(plain(step), 0), turn, 0,
                               [&](Elements, Expr i, Expr) {
                                 return select(i == 0, b.number(1), 0);
                               });
        weights = narrow(weights);
        Value result = GroupProductOp::create(b, weights, vs, slot, state[0],
                                              Value(), false);
        return {result, addSums(state[1], weights)};
      });
  auto store = [&](Value sum, int64_t column, int64_t width) {
    auto type = cast<TileType>(sum.getType());
    sum = b.map(type, {sum, most}, [&](Elements x, Expr i, Expr) {
      return select(i == 1, x[1], x[0]);
    });
    b.store(sum, e.view(block.to, count, 2, column, width), 0, 0, false,
            type.columns() == width);
  };
  store(sums[0], 0, valueWidth);
  store(sums[1], valueWidth, 1);
}

void NarrowSummaryWriter::write() {
  int64_t blocks = llvm::divideCeil(count, chosen.getRows());
  if (!hasMaximum()) {
    return writeRows(e.block(0) % blocks * chosen.getRows(), Value());
  }
  Value most = findMaximum();
  b.loop(blocks, {}, [&](Expr number, ValueRange) -> Values {
    writeRows(number * chosen.getRows(), most);
    return {};
  });
  writePlainRows(most);
}

void emitNarrowSummary(GroupEmitter &e, KeySummaryOp op) {
  NarrowSummaryWriter(e, op).write();
}

} // namespace hova
