//===- AttentionKernel.cpp - Softmax attention of one head ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Queries are loaded once and stay in registers as a left operand. A turn takes
// one box of keys and one of values, while those of the next turn are on their
// way. Row sums stay with the lane that made them, and are exchanged once. The
// keys behind the last whole box are a turn of their own, the only one that
// masks.

#include "codegen/cuda/recipes/CudaKernels.h"
#include "codegen/cuda/recipes/KernelBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include <cmath>

using namespace mlir;

namespace hova {

namespace {
/// Below every score, and far enough from the least f32 to be scaled.
constexpr double kLeast = -1.0e30;
constexpr double kLog2E = 1.4426950408889634;

class AttentionWriter {
public:
  AttentionWriter(ModuleOp module, StringRef name,
                  const AttentionKernel &kernel);
  func::FuncOp write();

private:
  using Values = KernelBuilder::Values;
  /// What turns carry: maxima, partial sums, the unnormalised result.
  struct State {
    Value most, sum, result;
  };
  TileType tile(int64_t columns, Type element, TileLanes lanes);
  Value sequenceOf(Value matrix);
  Values copyKeys(Value turn, Value slot);
  State takeKeys(State before, Value slot, Value firstKey);
  Value maskTail(Value scores, Value firstKey);
  /// exp2(scale (x - most)), with -scale most already there.
  Value power(Value x, Value shift);

  AttentionKernel own;
  MLIRContext *context;
  KernelBuilder b;
  double scale;
  Value qkv, queryColumn, keyColumn, valueColumn, ks, vs, queries;
};
} // namespace

static SmallVector<Type> matricesOf(const AttentionKernel &own, Builder b) {
  int64_t width = own.heads * own.width;
  return {MemRefType::get({own.batch, own.tokens, 3 * width}, b.getBF16Type()),
          MemRefType::get({own.batch, own.tokens, width}, b.getBF16Type())};
}

AttentionWriter::AttentionWriter(ModuleOp module, StringRef name,
                                 const AttentionKernel &kernel)
    : own(kernel), context(module.getContext()),
      b(module, name, matricesOf(own, Builder(context)), 3),
      scale(kLog2E / std::sqrt(double(own.width))) {}

TileType AttentionWriter::tile(int64_t columns, Type element,
                               TileLanes lanes = TileLanes::product) {
  return TileType::get(context, {own.queries, columns}, element, lanes,
                       own.warps, 1);
}

/// The rows of this group's sequence.
Value AttentionWriter::sequenceOf(Value matrix) {
  auto type = cast<MemRefType>(matrix.getType());
  SmallVector<OpFoldResult> offsets{b.argument(4), b.getIndexAttr(0),
                                    b.getIndexAttr(0)};
  SmallVector<OpFoldResult> sizes{b.getIndexAttr(1),
                                  b.getIndexAttr(type.getDimSize(1)),
                                  b.getIndexAttr(type.getDimSize(2))};
  SmallVector<OpFoldResult> strides(3, b.getIndexAttr(1));
  MemRefType view = memref::SubViewOp::inferRankReducedResultType(
      type.getShape().drop_front(), type, offsets, sizes, strides);
  return memref::SubViewOp::create(b, view, matrix, offsets, sizes, strides);
}

AttentionWriter::Values AttentionWriter::copyKeys(Value turn, Value slot) {
  bool inside = own.tokens % own.keys == 0;
  // Behind the last box it is copied again: nobody reads that. The tail is
  // behind the last whole box, and so within reach.
  Value last = inside ? b.atMost(turn, own.tokens / own.keys - 1) : turn;
  Value row = b.mulIndex(last, own.keys);
  return {b.copy(qkv, row, keyColumn, ks, slot, inside, true),
          b.copy(qkv, row, valueColumn, vs, slot, inside, true)};
}

Value AttentionWriter::maskTail(Value scores, Value firstKey) {
  Value least = b.number(kLeast), tokens = b.index(own.tokens);
  return b.map(scores.getType(), scores,
               [&](ValueRange elements, Value, Value j) -> Value {
                 Value key = arith::AddIOp::create(b, firstKey, j);
                 Value there = arith::CmpIOp::create(
                     b, arith::CmpIPredicate::ult, key, tokens);
                 return arith::SelectOp::create(b, there, elements[0], least);
               });
}

Value AttentionWriter::power(Value x, Value shift) {
  return math::Exp2Op::create(b, b.fma(x, b.number(scale), shift));
}

/// One turn. `firstKey` is null where no key needs a mask.
AttentionWriter::State AttentionWriter::takeKeys(State before, Value slot,
                                                 Value firstKey) {
  Type column = tile(1, b.f32());
  Value zero = b.fill(tile(own.keys, b.f32()), 0);
  Value scores =
      GroupProductOp::create(b, queries, ks, slot, zero, Value(), true);
  if (firstKey) {
    scores = maskTail(scores, firstKey);
  }
  Value top = b.reduce(Combine::max, scores, TileLanes::product);
  Value most = b.map(column, {before.most, top},
                     [&](ValueRange x, Value, Value) -> Value {
                       return arith::MaxNumFOp::create(b, x[0], x[1]);
                     });
  Value shift = b.map(column, most, [&](ValueRange x, Value, Value) {
    return b.mul(x[0], b.number(-scale));
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
  Value narrow = b.map(tile(own.keys, b.bf16()), powers,
                       [](ValueRange x, Value, Value) { return x[0]; });
  Value result =
      GroupProductOp::create(b, narrow, vs, slot, small, Value(), false);
  return {most, sum, result};
}

func::FuncOp AttentionWriter::write() {
  Value row = b.mulIndex(b.argument(2), own.queries);
  queryColumn = b.mulIndex(b.argument(3), own.width);
  keyColumn = b.addIndex(queryColumn, own.heads * own.width);
  valueColumn = b.addIndex(keyColumn, own.heads * own.width);
  qkv = sequenceOf(b.argument(0));
  auto slots = [&](int64_t count, int64_t rows) {
    return GroupAllocOp::create(
        b, SlotsType::get(context, {count, rows, own.width}, b.bf16()));
  };
  Value qs = slots(1, own.queries), first = b.index(0);
  ks = slots(2, own.keys);
  vs = slots(2, own.keys);
  bool inside = own.tokens % own.queries == 0;
  Value token = b.copy(qkv, row, queryColumn, qs, first, inside, true);
  Values copies = copyKeys(first, first);
  GroupWaitOp::create(b, token);
  queries = GroupLoadOp::create(b, tile(own.width, b.bf16()), qs, first,
                                {false, false});
  State state{b.fill(tile(1, b.f32()), kLeast),
              b.fill(tile(1, b.f32(), TileLanes::partial), 0),
              b.fill(tile(own.width, b.f32()), 0)};
  int64_t whole = own.tokens / own.keys;
  Values carried{state.most, state.sum, state.result,
                 first,      copies[0], copies[1]};
  carried = b.loop(whole, carried, [&](Value turn, ValueRange in) -> Values {
    GroupWaitOp::create(b, in.drop_front(4));
    Value other = b.previous(in[3], 2);
    Values ahead = copyKeys(b.addIndex(turn, 1), other);
    State after = takeKeys({in[0], in[1], in[2]}, in[3], Value());
    return {after.most, after.sum, after.result, other, ahead[0], ahead[1]};
  });
  GroupWaitOp::create(b, ArrayRef(carried).drop_front(4));
  state = {carried[0], carried[1], carried[2]};
  if (own.tokens % own.keys) {
    state = takeKeys(state, carried[3], b.index(whole * own.keys));
  }
  Value sums = b.reduce(Combine::add, state.sum, TileLanes::product);
  Value inverse =
      b.map(sums.getType(), sums, [&](ValueRange x, Value, Value) -> Value {
        return arith::DivFOp::create(b, b.number(1), x[0]);
      });
  Value result =
      b.map(tile(own.width, b.bf16()), {state.result, inverse},
            [&](ValueRange x, Value, Value) { return b.mul(x[0], x[1]); });
  b.store(result, sequenceOf(b.argument(1)), row, queryColumn, inside, true);
  return b.finish();
}

func::FuncOp buildAttentionKernel(ModuleOp module, StringRef name,
                                  const AttentionKernel &kernel) {
  return AttentionWriter(module, name, kernel).write();
}

} // namespace hova
