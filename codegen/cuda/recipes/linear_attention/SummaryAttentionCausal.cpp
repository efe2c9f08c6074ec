//===- SummaryAttentionCausal.cpp - Queries of the keys so far, on a GPU --===//
// SPDX-License-Identifier: Apache-2.0
//
// A block of threads has a block of tokens, its queries and its keys alike. A
// turn takes the features of both, and multiplies those of the queries with the
// sums over the keys before the block, and with those of the block's keys:
// these products are scores, of which each query reads those up to its token.
//
// Softmax features are relative to the maximum of the keys up to the query,
// which grows along the block. Those of key j are made relative to the maximum
// up to j, so that none leaves f32, and a score of query i is multiplied by two
// to the power of the difference, which is 1 at most.

#include "codegen/cuda/recipes/linear_attention/SummaryAttentionWriter.h"

using namespace mlir;

namespace hova {

CausalSummaryWriter::CausalSummaryWriter(GroupEmitter &e, SummaryAttentionOp op)
    : SummaryAttentionWriter(e, op) {
  keys =
      rowsOf(e.headOf(op.getKey(), shapeOf(op.getSummary())[1], op.getGroup()));
  keyFeatures = slots(1, chosen.getRows(), kSumsStep);
}

//===----------------------------------------------------------------------===//
// Features
//===----------------------------------------------------------------------===//

Value CausalSummaryWriter::weighKeys(Value products, Expr turn) {
  return b.map(tile(kSumsStep),
               {products, keyHalf, keyMost, validKeys(tile(1), row)},
               [&](Elements x, Expr i, Expr j) {
                 Expr there = isFeature(turn, j) &
                              counts(row + i, tokensOf(tokens), x[3]);
                 return select(there, keyFeature(x[0], x[1], x[2]), 0);
               });
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

void CausalSummaryWriter::rescale(Sums &all) {
  Value before = maximumBefore(sums);
  for (Value *sum : {&all.result, &all.denominator}) {
    *sum = b.map(
        sum->getType(), {*sum, before, keyMost},
        [&](Elements x, Expr, Expr) { return x[0] * b.power(x[1] - x[2]); });
  }
}

void CausalSummaryWriter::addBlock(Sums &all, Value scores) {
  Value vs = weight && boxColumns(keyWidth) == chosen.getColumns()
                 ? keys.box // nobody reads the keys any more
                 : slots(1, chosen.getRows(), chosen.getColumns());
  Value values =
      e.headOf(op.getValue(), shapeOf(op.getSummary())[1], op.getGroup());
  Value copy = copyBox(values, row, vs, 0, rowsInside());
  TileType line = rowTile(chosen.getRows());
  Value lineMost =
      keyMost ? Value(GroupTransposeOp::create(b, line, keyMost)) : Value();
  Value weights =
      b.map(tile(chosen.getRows()),
            {scores, keyMost, lineMost, all.features, validKeys(line, row)},
            [&](Elements x, Expr i, Expr j) {
              Expr score = x[0];
              if (keyMost) {
                score = score * b.power(x[2] - x[1]);
              }
              if (all.features) {
                score = fma(x[3], eps, score);
              }
              return select(
                  i < j, 0,
                  select(counts(row + j, tokensOf(tokens), x[4]), score, 0));
            });
  GroupWaitOp::create(b, copy);
  all.result = GroupProductOp::create(b, weights, vs, b.index(0), all.result,
                                      Value(), false);
  all.denominator =
      b.combine(Combine::add, all.denominator,
                b.reduce(Combine::add, weights, TileDistribution::product));
}

void CausalSummaryWriter::write() {
  Values resident = copyRows(queries);
  resident.append(copyRows(keys));
  if (hasExponentials()) {
    GroupWaitOp::create(b, resident);
    resident.clear(); // they are there
    half = halfNormsOf(queries);
    keyHalf = halfNormsOf(keys);
    SmallVector<Rows> of{queries};
    if (hasMaximum()) {
      of.push_back(keys);
    }
    Values maxima = findMaxima(of);
    most = maxima[0];
    if (hasMaximum()) {
      keyMost = maximaUpTo(maxima[1], sums, row, tokensOf(tokens));
    }
  }
  Values start = startSums();
  start.push_back(b.fill(tile(chosen.getRows()), 0));
  Expr zero = b.index(0);
  Values state = takeFeatures(
      resident, /*withSums=*/true, start,
      [&](Expr turn, Expr slot, ValueRange before) {
        Value products = multiply(keys, turn, slot);
        GroupShareOp::create(b, weighKeys(products, turn), keyFeatures, zero);
        Value weights = weigh(multiply(queries, turn, slot), turn);
        Values next = addSums(weights, turn, slot, before.drop_back());
        next.push_back(GroupProductOp::create(b, weights, keyFeatures, zero,
                                              before.back(), Value(), true));
        return next;
      });
  Sums made = finishSums(ValueRange(state).drop_back());
  if (keyMost) {
    rescale(made);
  }
  if (made.features) {
    addPlain(made, sums);
  }
  addBlock(made, state.back());
  divideAndStore(op, row, made, most, half);
}

} // namespace hova
