//===- AttentionKernel.cpp - The main loop of a softmax attention ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// Queries are loaded once and stay in registers as a left operand. A turn takes
// one box of keys and one of values, while those of the next turn are on their
// way. Row sums stay with the lane that made them, and are exchanged once. The
// keys behind the last whole box are a turn of their own, the only one that
// masks.

#include "codegen/cuda/Sm80.h"
#include "codegen/cuda/recipes/CudaKernels.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>

using namespace mlir;

namespace hova {

static constexpr double kLog2E = 1.4426950408889634;

CudaScheduleAttr scheduleAttention(MLIRContext *context, int64_t queries,
                                   int64_t valueWidth) {
  bool few = queries <= 64;
  return CudaScheduleAttr::get(context, few ? 64 : 128, boxColumns(valueWidth),
                               few ? 2 : 4, 1, 64, 2);
}

namespace {
class AttentionWriter {
public:
  AttentionWriter(KernelBuilder &b, CudaScheduleAttr schedule,
                  const HeadMatrices &head, double scale, Value row)
      : b(b), own(schedule), head(head), row(row), factor(kLog2E * scale) {
    auto keys = cast<MemRefType>(head.keys.getType());
    element = keys.getElementType();
    tokens = keys.getDimSize(0);
    width = boxColumns(keys.getDimSize(1));
    widthInside = keys.getDimSize(1) == width;
    valuesInside = cast<MemRefType>(head.values.getType()).getDimSize(1) ==
                   own.getColumns();
  }
  Value attend();

private:
  using Values = KernelBuilder::Values;
  /// What turns carry: maxima, partial sums, the unnormalised result.
  struct State {
    Value most, sum, result;
  };
  TileType tile(int64_t columns, Type element,
                TileLanes lanes = TileLanes::product) {
    return TileType::get(b.getContext(), {own.getRows(), columns}, element,
                         lanes, own.getRowWarps(), 1);
  }
  Value slots(int64_t count, int64_t rows, int64_t columns) {
    return GroupAllocOp::create(
        b, SlotsType::get(b.getContext(), {count, rows, columns}, element));
  }
  Values copyKeys(Value turn, Value slot);
  Value loadQueries();
  State takeKeys(State before, Value slot, Value firstKey);
  State takeAll(Values copies);
  Value maskTail(Value scores, Value firstKey);
  /// exp2(factor (x - most)), with -factor most already there.
  Value power(Value x, Value shift);

  KernelBuilder &b;
  CudaScheduleAttr own;
  HeadMatrices head;
  Value row;
  double factor;
  Type element; ///< of queries, keys and values
  int64_t tokens, width;
  bool widthInside, valuesInside;
  Value ks, vs, queries;
};
} // namespace

AttentionWriter::Values AttentionWriter::copyKeys(Value turn, Value slot) {
  int64_t step = own.getStep();
  bool inside = tokens % step == 0;
  // Behind the last box it is copied again: nobody reads that. The tail is
  // behind the last whole box, and so within reach.
  Value last = inside ? b.atMost(turn, tokens / step - 1) : turn;
  Value key = b.mulIndex(last, step), first = b.index(0);
  return {b.copy(head.keys, key, first, ks, slot, inside, widthInside),
          b.copy(head.values, key, first, vs, slot, inside, valuesInside)};
}

Value AttentionWriter::maskTail(Value scores, Value firstKey) {
  Value least = b.number(-INFINITY), count = b.index(tokens);
  return b.map(scores.getType(), scores,
               [&](ValueRange elements, Value, Value j) -> Value {
                 Value key = arith::AddIOp::create(b, firstKey, j);
                 Value there = arith::CmpIOp::create(
                     b, arith::CmpIPredicate::ult, key, count);
                 return arith::SelectOp::create(b, there, elements[0], least);
               });
}

Value AttentionWriter::power(Value x, Value shift) {
  return math::Exp2Op::create(b, b.fma(x, b.number(factor), shift));
}

/// One turn. `firstKey` is null where no key needs a mask.
AttentionWriter::State AttentionWriter::takeKeys(State before, Value slot,
                                                 Value firstKey) {
  Type column = tile(1, b.f32());
  Value zero = b.fill(tile(own.getStep(), b.f32()), 0);
  Value scores =
      GroupProductOp::create(b, queries, ks, slot, zero, Value(), true);
  if (factor <= 0) {
    // The largest is the one that is largest when scaled.
    Value scale = b.number(factor);
    scores = b.map(scores.getType(), scores, [&](ValueRange x, Value, Value) {
      return b.mul(x[0], scale);
    });
    factor = 1;
  }
  if (firstKey) {
    scores = maskTail(scores, firstKey);
  }
  Value top = b.reduce(Combine::max, scores, TileLanes::product);
  Value most = b.map(column, {before.most, top},
                     [&](ValueRange x, Value, Value) -> Value {
                       return arith::MaxNumFOp::create(b, x[0], x[1]);
                     });
  Value shift = b.map(column, most, [&](ValueRange x, Value, Value) {
    return b.mul(x[0], b.number(-factor));
  });
  Value shrink =
      b.map(column, {before.most, shift},
            [&](ValueRange x, Value, Value) { return power(x[0], x[1]); });
  Value powers =
      b.map(scores.getType(), {scores, shift},
            [&](ValueRange x, Value, Value) { return power(x[0], x[1]); });
  Value added = b.reduce(Combine::add, powers, TileLanes::partial);
  Value sum = b.map(
      before.sum.getType(), {before.sum, shrink, added},
      [&](ValueRange x, Value, Value) { return b.fma(x[0], x[1], x[2]); });
  Value small =
      b.map(before.result.getType(), {before.result, shrink},
            [&](ValueRange x, Value, Value) { return b.mul(x[0], x[1]); });
  Value narrow = b.map(tile(own.getStep(), element), powers,
                       [](ValueRange x, Value, Value) { return x[0]; });
  Value result =
      GroupProductOp::create(b, narrow, vs, slot, small, Value(), false);
  return {most, sum, result};
}

/// Whole boxes in a loop, and what is behind them.
AttentionWriter::State AttentionWriter::takeAll(Values copies) {
  Value first = b.index(0);
  int64_t whole = tokens / own.getStep();
  Values carried{b.fill(tile(1, b.f32()), -INFINITY),
                 b.fill(tile(1, b.f32(), TileLanes::partial), 0),
                 b.fill(tile(own.getColumns(), b.f32()), 0),
                 first,
                 copies[0],
                 copies[1]};
  double given = factor;
  carried = b.loop(whole, carried, [&](Value turn, ValueRange in) -> Values {
    GroupWaitOp::create(b, in.drop_front(4));
    Value other = b.previous(in[3], 2);
    Values ahead = copyKeys(b.addIndex(turn, 1), other);
    State after = takeKeys({in[0], in[1], in[2]}, in[3], Value());
    return {after.most, after.sum, after.result, other, ahead[0], ahead[1]};
  });
  GroupWaitOp::create(b, ArrayRef(carried).drop_front(4));
  State state{carried[0], carried[1], carried[2]};
  factor = given;
  return tokens % own.getStep()
             ? takeKeys(state, carried[3], b.index(whole * own.getStep()))
             : state;
}

Value AttentionWriter::attend() {
  int64_t length = cast<MemRefType>(head.queries.getType()).getDimSize(0);
  Value qs = slots(1, own.getRows(), width), first = b.index(0);
  ks = slots(2, own.getStep(), width);
  vs = slots(2, own.getStep(), own.getColumns());
  Value token = b.copy(head.queries, row, first, qs, first,
                       length % own.getRows() == 0, widthInside);
  Values copies = copyKeys(first, first);
  GroupWaitOp::create(b, token);
  queries =
      GroupLoadOp::create(b, tile(width, element), qs, first, {false, false});
  State state = takeAll(copies);
  Value sums = b.reduce(Combine::add, state.sum, TileLanes::product);
  Value inverse =
      b.map(sums.getType(), sums, [&](ValueRange x, Value, Value) -> Value {
        return arith::DivFOp::create(b, b.number(1), x[0]);
      });
  return b.map(state.result.getType(), {state.result, inverse},
               [&](ValueRange x, Value, Value) { return b.mul(x[0], x[1]); });
}

Value emitAttention(KernelBuilder &b, CudaScheduleAttr schedule,
                    const HeadMatrices &head, double scale, Value row) {
  return AttentionWriter(b, schedule, head, scale, row).attend();
}

} // namespace hova
