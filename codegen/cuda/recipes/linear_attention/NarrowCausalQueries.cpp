//===- NarrowCausalQueries.cpp - Narrow queries of the keys so far, on a GPU =//
// SPDX-License-Identifier: Apache-2.0
//
// As SummaryAttentionCausal.cpp: a block of threads has the queries and the
// keys of a block of tokens. The score of a query and a key of the block is a
// product of two features, both of which may lie anywhere in the range of f32:
// f16 has no factor for a row that would keep what the few keys of early
// queries weigh, so in f16 these products alone stay f32.

#include "codegen/cuda/recipes/linear_attention/NarrowQueries.h"

using namespace mlir;

namespace hova {

namespace {
class NarrowCausalWriter : NarrowQueryWriter {
public:
  NarrowCausalWriter(GroupEmitter &e, SummaryAttentionOp op);
  void write();

private:
  Type scoreElement() { return isScaled() ? Type(b.f32()) : element; }
  Value scoreFactor(Value wide) { return isScaled() ? wide : narrow(wide); }
  Value ofKeys(Value tensor) {
    return e.headOf(tensor, shapeOf(op.getSummary())[1], op.getGroup());
  }
  /// Features of the block's keys of a turn.
  Value keyFeaturesOf(Value products, Value shift, Expr turn);
  /// The sums over the keys before the block, relative to a query's maximum,
  /// and of softmax with what eps adds to them.
  void finishBefore();
  /// What the keys of the block weigh for each query, of the products of their
  /// features.
  Value weighBlock(Value scores);
  /// Adds what the keys of the block give.
  void addBlock(Value weights);

  Value keys, keyFeatures; ///< slots of the block, and of a turn
  Value keyHalf;           ///< of each key; null for relu
  Value keyMost;           ///< up to each key; null but for softmax
  Sums made; ///< of the keys before the block, and then of its own, too
};
} // namespace

NarrowCausalWriter::NarrowCausalWriter(GroupEmitter &e, SummaryAttentionOp op)
    : NarrowQueryWriter(e, op) {
  keys = rowBoxes();
  keyFeatures = b.slots({1, chosen.getRows(), step}, scoreElement());
}

Value NarrowCausalWriter::keyFeaturesOf(Value products, Value shift,
                                        Expr turn) {
  return b.map(products.getType(), {products, shift, validKeys(tile(1), row)},
               [&](Elements x, Expr i, Expr j) {
                 Expr feature = x[1] ? b.power(fma(x[0], factor(), x[1]))
                                     : rectify(x[0]) + eps;
                 Expr there = isFeature(turn, j) &
                              counts(row + i, tokensOf(tokens), x[2]);
                 return select(there, feature, 0);
               });
}

void NarrowCausalWriter::finishBefore() {
  Value before = keyMost ? maximumBefore(sums) : Value();
  for (Value *sum : {&made.result, &made.denominator}) {
    *sum = b.map(sum->getType(), {*sum, size, before, keyMost},
                 [&](Elements x, Expr, Expr) {
                   Expr whole = x[1] ? x[0] * x[1] : x[0];
                   return x[2] ? whole * b.power(x[2] - x[3]) : whole;
                 });
  }
  if (made.features) {
    addPlain(made, sums);
  }
}

Value NarrowCausalWriter::weighBlock(Value scores) {
  TileType line = rowTile(chosen.getRows());
  Value lineMost =
      keyMost ? Value(GroupTransposeOp::create(b, line, keyMost)) : Value();
  return b.map(tile(chosen.getRows()),
               {scores, keyMost, lineMost, made.features, validKeys(line, row)},
               [&](Elements x, Expr i, Expr j) {
                 Expr score = x[1] ? x[0] * b.power(x[2] - x[1]) : x[0];
                 if (x[3]) {
                   score = fma(x[3], eps, score);
                 }
                 return select(
                     i < j, 0,
                     select(counts(row + j, tokensOf(tokens), x[4]), score, 0));
               });
}

/// Weights of f16 are relative to the largest of their row.
void NarrowCausalWriter::addBlock(Value weights) {
  Value vs = b.slots({1, chosen.getRows(), chosen.getColumns()}, element);
  Value copy = copyBox(ofKeys(op.getValue()), row, vs, 0, rowsInside());
  Value largest;
  if (isScaled()) {
    Value most = b.reduce(Combine::max, weights, TileDistribution::product);
    largest = b.map(most.getType(), most,
                    [](Elements x, Expr, Expr) { return max(x[0], 0x1p-126); });
    weights = b.map(weights.getType(), {weights, largest},
                    [](Elements x, Expr, Expr) { return x[0] / x[1]; });
  }
  weights = narrow(weights);
  Value sum = GroupReduceOp::create(b, made.denominator.getType(), Combine::add,
                                    weights);
  auto add = [](Elements x, Expr, Expr) {
    return x[2] ? fma(x[0], x[2], x[1]) : x[0] + x[1];
  };
  made.denominator =
      b.map(sum.getType(), {sum, made.denominator, largest}, add);
  GroupWaitOp::create(b, copy);
  Value old = made.result;
  Value none = largest ? b.fill(old.getType(), 0) : old;
  Value product =
      GroupProductOp::create(b, weights, vs, b.index(0), none, Value(), false);
  made.result =
      largest ? b.map(old.getType(), {product, old, largest}, add) : product;
}

void NarrowCausalWriter::write() {
  Values copies = copyRows(e.headOf(op.getQuery(), op.getHeads()), queries);
  copies.append(copyRows(ofKeys(op.getKey()), keys));
  GroupWaitOp::create(b, copies);
  if (hasExponentials()) {
    half = halfNormsOfBox(queries, 0);
    keyHalf = halfNormsOfBox(keys, 0);
  }
  findQueryMaxima();
  if (hasMaximum()) {
    keyMost = maximaUpTo(findMaxima(keys).most, sums, row, tokensOf(tokens));
  }
  Value shift = shiftOf(most, hasMaximum() ? half : Value());
  Value keyShift;
  if (hasExponentials()) {
    Value of = keyMost ? keyMost : b.fill(tile(1), this->shift());
    keyShift = shiftOf(of, keyHalf);
  }
  Values state = startSums();
  state.push_back(b.fill(tile(chosen.getRows()), 0));
  if (addsFeatures()) {
    state.push_back(b.fill(tile(1, TileDistribution::partial), 0));
  }
  auto take = [&](Expr turn, Value ones, ValueRange before) -> Values {
    Expr zero = b.index(0);
    Value ofKeys = keyFeaturesOf(multiply(keys, turn), keyShift, turn);
    GroupShareOp::create(b, scoreFactor(ofKeys), keyFeatures, zero);
    Value ofQueries =
        b.map(tile(step), featuresOf(multiply(queries, turn), shift),
              [&](Elements x, Expr, Expr j) {
                Expr feature = eps != 0 ? x[0] + eps : x[0];
                return select(isFeature(turn, j), feature, 0);
              });
    Value weights = b.map(tile(step), {ofQueries, ones},
                          [](Elements x, Expr, Expr) { return x[0] * x[1]; });
    Values next = addMeans(weights, before);
    next.push_back(GroupProductOp::create(b, scoreFactor(ofQueries),
                                          keyFeatures, zero, before[2], Value(),
                                          true));
    if (addsFeatures()) {
      next.push_back(b.combineRows(Combine::add, before[3], ofQueries));
    }
    return next;
  };
  Values after = takeFeatures(Brings::all, state, take);
  made = {after[0], after[1],
          addsFeatures()
              ? b.reduce(Combine::add, after[3], TileDistribution::product)
              : Value()};
  finishBefore();
  addBlock(weighBlock(after[2]));
  divideAndStore(op, row, made, most, half);
}

void emitNarrowQueries(GroupEmitter &e, SummaryAttentionOp op) {
  if (op.getKey()) {
    NarrowCausalWriter(e, op).write();
  } else {
    NarrowQueryWriter(e, op).write();
  }
}

} // namespace hova
