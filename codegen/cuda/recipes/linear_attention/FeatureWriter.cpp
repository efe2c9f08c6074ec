//===- FeatureWriter.cpp - What both halves of linear attention share -----===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cuda/recipes/linear_attention/FeatureWriter.h"

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
  return TileType::get(b.getContext(), {chosen.getRows(), columns}, b.f32(),
                       lanes, chosen.getRowWarps(), 1);
}

TileType FeatureWriter::rowTile(int64_t columns) {
  return tile(columns).with({1, columns}, b.f32(), TileDistribution::product);
}

Value FeatureWriter::halfNorms(Value x) {
  auto type = cast<TileType>(x.getType());
  TileType wide = type.with(type.getShape(), b.f32(), type.getDistribution());
  Value squares = b.map(wide, x, [&](Elements elements, Expr, Expr) {
    Expr element = widen(b, elements[0]);
    return element * element;
  });
  Value sums = b.reduce(Combine::add, squares, wide.getDistribution());
  return b.map(sums.getType(), sums, [&](Elements elements, Expr, Expr) {
    return elements[0] * (llvm::numbers::log2e * scale * scale / 2);
  });
}

Value FeatureWriter::validKeys(TileType type, Expr first) {
  if (!keyValid) {
    return {};
  }
  Type ints =
      type.with(type.getShape(), b.getI32Type(), type.getDistribution());
  return b.gather(ints, keyValid, [&](Expr i, Expr j) {
    return std::pair(e.block(2), first + (type.rows() == 1 ? j : i));
  });
}

//===----------------------------------------------------------------------===//
// Matrices
//===----------------------------------------------------------------------===//

Value FeatureWriter::slots(int64_t boxes, int64_t boxRows, int64_t columns) {
  return b.slots({boxes, boxRows, columns}, b.f32());
}

Value FeatureWriter::copyBox(Value matrix, Expr row, Value slots, Expr slot,
                             bool rowsInside) {
  int64_t width = cast<MemRefType>(matrix.getType()).getDimSize(1);
  return b.copy(matrix, row, 0, slots, slot, rowsInside,
                width == cast<SlotsType>(slots.getType()).columns());
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

FeatureWriter::Values FeatureWriter::takeTurns(int64_t turns,
                                               ValueRange resident,
                                               ValueRange state, Copy copy,
                                               Take take) {
  Expr first = b.index(0);
  Values carried = copy(first, first);
  if (!resident.empty()) {
    GroupWaitOp::create(b, resident);
  }
  size_t copies = carried.size();
  carried.push_back(first);
  llvm::append_range(carried, state);
  auto takeBox = [&](Expr turn, ValueRange in) {
    return take(turn, b(in[copies]), in.drop_front(copies + 1));
  };
  if (turns > 1) {
    carried =
        b.loop(turns - 1, carried, [&](Expr turn, ValueRange in) -> Values {
          GroupWaitOp::create(b, in.take_front(copies));
          Expr other = b.previous(b(in[copies]), 2);
          Values next = copy(turn + 1, other);
          next.push_back(other);
          llvm::append_range(next, takeBox(turn, in));
          return next;
        });
  }
  // The last turn has nothing to copy.
  GroupWaitOp::create(b, ArrayRef(carried).take_front(copies));
  isLastTurn = true;
  Values made = takeBox(b.index(turns - 1), carried);
  isLastTurn = false;
  GroupWaitOp::create(b, ValueRange());
  return made;
}

} // namespace hova
