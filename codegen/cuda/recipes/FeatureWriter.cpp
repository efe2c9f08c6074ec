//===- FeatureWriter.cpp - What both halves of linear attention share -----===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cuda/recipes/FeatureWriter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace hova {

CudaScheduleAttr scheduleSums(MLIRContext *context, int64_t width) {
  return CudaScheduleAttr::get(context, kSumsRows, boxColumns(width), 4, 1,
                               kSumsStep, 2);
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

TileType FeatureWriter::tile(int64_t columns, TileDistribution lanes) {
  return TileType::get(b.getContext(), {own.getRows(), columns}, b.f32(), lanes,
                       own.getRowWarps(), 1);
}

TileType FeatureWriter::rowTile(int64_t columns) {
  return tile(columns).with({1, columns}, b.f32(), TileDistribution::product);
}

Value FeatureWriter::slots(int64_t boxes, int64_t boxRows, int64_t columns) {
  return GroupAllocOp::create(
      b, SlotsType::get(b.getContext(), {boxes, boxRows, columns}, b.f32()));
}

Value FeatureWriter::addRows(Value sum, Value terms) {
  Value added = b.reduce(Combine::add, terms, TileDistribution::partial);
  return b.map(sum.getType(), {sum, added},
               [&](ValueRange t, Value, Value) { return b.add(t[0], t[1]); });
}

Value FeatureWriter::raiseRows(Value most, Value terms) {
  Value top = b.reduce(Combine::max, terms, TileDistribution::partial);
  return b.map(most.getType(), {most, top},
               [&](ValueRange t, Value, Value) -> Value {
                 return arith::MaxNumFOp::create(b, t[0], t[1]);
               });
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

Value FeatureWriter::power(Value exponent) {
  return math::Exp2Op::create(b, exponent);
}
Value FeatureWriter::rectified(Value x) {
  Value zero = b.number(0);
  return b.choose(arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, x, zero),
                  zero, x);
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

Value FeatureWriter::halfNorms(Value x) {
  auto type = cast<TileType>(x.getType());
  TileType wide = type.with(type.getShape(), b.f32(), type.getDistribution());
  Value squares = b.map(wide, x, [&](ValueRange t, Value, Value) {
    Value own = widen(b, b.getLoc(), t[0]);
    return b.mul(own, own);
  });
  Value sums = b.reduce(Combine::add, squares, wide.getDistribution());
  double half = llvm::numbers::log2e * scale * scale / 2;
  return b.map(sums.getType(), sums, [&](ValueRange t, Value, Value) {
    return b.mul(t[0], b.number(half));
  });
}

FeatureWriter::Values FeatureWriter::takeTurns(int64_t turns,
                                               ValueRange resident,
                                               Values state, Copy copy,
                                               Take take) {
  Value first = b.index(0);
  Values carried = copy(first, first);
  if (!resident.empty()) {
    GroupWaitOp::create(b, resident);
  }
  size_t copies = carried.size();
  carried.push_back(first);
  llvm::append_range(carried, state);
  auto takeBox = [&](Value turn, ValueRange in) {
    return take(turn, in[copies], in.drop_front(copies + 1));
  };
  if (turns > 1) {
    carried =
        b.loop(turns - 1, carried, [&](Value turn, ValueRange in) -> Values {
          GroupWaitOp::create(b, in.take_front(copies));
          Value other = b.previous(in[copies], 2);
          Values next = copy(b.addIndex(turn, 1), other);
          next.push_back(other);
          llvm::append_range(next, takeBox(turn, in));
          return next;
        });
  }
  // The last turn has nothing to copy.
  GroupWaitOp::create(b, ArrayRef(carried).take_front(copies));
  Values made = takeBox(b.index(turns - 1), carried);
  GroupWaitOp::create(b, ValueRange());
  return made;
}

} // namespace hova
