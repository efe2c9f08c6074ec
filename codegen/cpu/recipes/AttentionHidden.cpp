//===- AttentionHidden.cpp - Values that are no numbers, behind masks -----===//
// SPDX-License-Identifier: Apache-2.0
//
// A key that a query does not see has the weight 0, and 0 times NaN or an
// infinity is NaN: what nobody has written behind a mask, as padding, would be
// in the row of every query. Products stay as they are. When a head's values
// are packed it is found out whether all are numbers, and where they are not,
// rows are computed again, without the keys whose weight is 0:
//
//   O_i = sum over j with S_ij != 0 of S_ij v_j / sum S_i
//
// Attention without conditions on keys has nothing of this.

#include "codegen/cpu/recipes/AttentionEmitter.h"

using namespace mlir;

namespace hova {

/// unsound = whether some value of the head is NaN or infinite: 0 times it is
/// not 0.
void AttentionEmitter::findUnsoundValues() {
  int64_t width = layout.valueWidth, lanes = e.schedule.lanes;
  Value value = e.buffer(op.getValue());
  Expr zeros = e.splat(0, lanes);
  Expr sum = e.fold("keys", 0, keys, 1, zeros, [&](Expr j, Expr before) {
    for (int64_t column = 0; column < width; column += lanes) {
      Chunk at{valueColumn + column, lanes, std::min(lanes, width - column)};
      before = fma(e.load(value, keyRow + j, at), zeros, before);
    }
    return before;
  });
  Expr isSound = reduceVector(Kind::ADD, sum) == 0;
  e.store(select(isSound, e.scalar(0), e.scalar(1)), scratch.unsound, 0, 0);
}

/// `before` and the values of `count` keys from row `key` of `matrix` on, whose
/// weights for row `i` begin at `column`.
Expr AttentionEmitter::addSeenValues(Expr i, Expr column, Expr count,
                                     Value matrix, Expr key, const Chunk &at,
                                     Expr before) {
  Value weights = layout.pairs ? scratch.exponentials : scratch.scores;
  return e.fold("keys", 0, count, 1, before, [&](Expr j, Expr sum) {
    Expr weight = e.load(weights, i, column + j);
    Expr value = e.load(matrix, key + j, at + valueColumn);
    Expr all = weight.broadcast(value.getType());
    return select(weight == 0, sum, fma(all, value, sum));
  });
}

void AttentionEmitter::emitSeenValues() {
  const BlockLayout &blocks = layout.blocks;
  Value value = e.buffer(op.getValue()), result = e.buffer(op.getResult());
  Type element = getElementTypeOrSelf(result);
  auto sumOf = [&](Expr i, const Chunk &at) {
    Expr sum = e.splat(0, at.lanes);
    if (blocks.size) {
      Expr count = e(panels.end) / blocks.panels;
      return e.fold("seen_block", 0, count, 1, sum,
                    [&](Expr entry, Expr before) {
                      Expr key = listedBlock(entry) * blocks.size;
                      Expr keys = min(layout.keys - key, blocks.size);
                      return addSeenValues(i, entry * blocks.lanes, keys, value,
                                           keyRow + key, at, before);
                    });
    }
    for (const KeyRun &run : visitedRuns(keys)) {
      Expr key = run.panel * layout.panel;
      sum = addSeenValues(i, key, run.keys, value, keyRow + key, at, sum);
    }
    return layout.slots
               ? addSeenValues(i, keys, layout.slots,
                               e.buffer(op.getMemoryValue()), 0, at, sum)
               : sum;
  };
  e.forLoop("queries", height, [&](Expr i) {
    e.forEachChunk(layout.valueWidth, [&](const Chunk &at) {
      Expr sum = sumOf(i, at);
      Expr weighed =
          sum * e.load(scratch.inverse, i, 0).broadcast(sum.getType());
      if (!element.isF32()) {
        Type type = VectorType::get({at.lanes}, element);
        weighed = e.compute<arith::TruncFOp>(type, weighed);
      }
      e.store(weighed, result, queryRow + row + i, at + resultColumn);
    });
  });
}

} // namespace hova
