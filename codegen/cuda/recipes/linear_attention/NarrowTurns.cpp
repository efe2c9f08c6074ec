//===- NarrowTurns.cpp - Turns of narrow queries over features ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cuda/recipes/linear_attention/NarrowTurns.h"

using namespace mlir;

namespace hova {

NarrowTurns::NarrowTurns(GroupEmitter &e, SummaryAttentionOp op)
    : NarrowWriter(e, op, shapeOf(op.getQuery())[2] / op.getHeads(),
                   shapeOf(op.getSummary())[4] - 1),
      op(op), tokens(shapeOf(op.getQuery())[1]),
      turns(llvm::divideCeil(count, step)) {
  row = e.block(0) * chosen.getRows();
  sums = sumsOf(op);
  if (weight) {
    projections = b.slots({1, step, keyColumns}, element);
  }
  means = b.slots({1, step, chosen.getColumns()}, element);
  // Of causal queries eps is relative to another maximum than the sums.
  if (addsFeatures() && !op.getKey()) {
    auto plain = [&](int64_t column, int64_t columns, int64_t width) {
      return b.load(tileOf(1, columns, TileDistribution::row),
                    e.view(sums, 0, rows, column, width), count, 0, true,
                    columns == width);
    };
    plainValues = plain(0, chosen.getColumns(), valueWidth);
    plainOnes = plain(valueWidth, 1, 1);
  }
}

NarrowTurns::Values NarrowTurns::bring(Expr turn, Brings what) {
  Values brought;
  Expr first = turn * step;
  bool inside = count % step == 0;
  if (weight) {
    brought.push_back(b.load(boxTile(keyColumns), weight, first, 0, inside,
                             keyWidth == keyColumns));
  }
  if (what != Brings::projections) {
    brought.push_back(b.load(boxTile(1), e.view(sums, 0, count, valueWidth, 1),
                             first, 0, inside, true));
  }
  if (what == Brings::all) {
    brought.push_back(b.load(boxTile(chosen.getColumns()),
                             e.view(sums, 0, count, 0, valueWidth), first, 0,
                             inside, valueWidth == chosen.getColumns()));
  }
  return brought;
}

/// A sum is multiplied with a power of two first, which keeps it and its
/// reciprocal away from the ends of f32. Where it is 0 so is what it divides.
Value NarrowTurns::shareOut(Value sums, Value ones, Value added) {
  Value near = b.map(ones.getType(), ones, [](Elements x, Expr, Expr) {
    return select(x[0] < 0x1p-24, 0x1p24, Expr(0x1p-2));
  });
  Value inverse =
      b.map(ones.getType(), {ones, near}, [&](Elements x, Expr, Expr) {
        Expr one = 1 / max(x[0] * x[1], 0x1p-126);
        Value(one).getDefiningOp<arith::DivFOp>().setFastmath(
            arith::FastMathFlags::arcp);
        return one;
      });
  return b.map(sums.getType(), {sums, near, inverse, plainValues, added},
               [&](Elements x, Expr, Expr) {
                 Expr sum = x[3] ? fma(x[3], x[4], x[0]) : x[0];
                 return sum * x[1] * x[2];
               });
}

Value NarrowTurns::give(ValueRange brought, Expr turn, Brings what) {
  GroupWaitOp::create(b, ValueRange());
  if (weight) {
    GroupShareOp::create(b, narrow(brought.front()), projections, b.index(0));
    brought = brought.drop_front();
  }
  if (what == Brings::projections) {
    return {};
  }
  Value ones = brought[0], added;
  if (plainOnes) {
    // Not to what a turn has after the last feature, whose sums stay 0.
    added = b.map(ones.getType(), {}, [&](Elements, Expr i, Expr) {
      return count % step == 0
                 ? b.number(eps)
                 : select(turn * step + i < count, eps, Expr(0.0));
    });
    ones = b.map(ones.getType(), {ones, plainOnes, added},
                 [&](Elements x, Expr, Expr) { return fma(x[1], x[2], x[0]); });
  }
  if (what == Brings::all) {
    GroupShareOp::create(b, narrow(shareOut(brought[1], ones, added)), means,
                         b.index(0));
  }
  return GroupTransposeOp::create(b, rowTile(step), ones);
}

NarrowTurns::Values NarrowTurns::takeFeatures(Brings what, ValueRange state,
                                              TakeFeatures take) {
  Values carried = bring(b.index(0), what);
  size_t ahead = carried.size();
  llvm::append_range(carried, state);
  if (turns > 1) {
    carried =
        b.loop(turns - 1, carried, [&](Expr turn, ValueRange in) -> Values {
          Value ones = give(in.take_front(ahead), turn, what);
          Values next = bring(turn + 1, what);
          llvm::append_range(next, take(turn, ones, in.drop_front(ahead)));
          return next;
        });
  }
  Expr last = b.index(turns - 1);
  ValueRange in(carried);
  Value ones = give(in.take_front(ahead), last, what);
  Values made = take(last, ones, in.drop_front(ahead));
  GroupWaitOp::create(b, ValueRange());
  return made;
}

} // namespace hova
