//===- PlacementRows.cpp - Rows of placements as operations ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What `getRows` counts, computed where a row is read: for targets that keep no
// tables. Indices are not negative.

#include "dialect/HovaDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace hova;

namespace {
/// Arithmetic with constants.
struct Indices {
  ImplicitLocOpBuilder &b;

  Value constant(int64_t x) { return arith::ConstantIndexOp::create(b, x); }
  Value add(Value x, Value y) { return b.createOrFold<arith::AddIOp>(x, y); }
  Value add(Value x, int64_t y) { return y ? add(x, constant(y)) : x; }
  Value mul(Value x, int64_t y) {
    return b.createOrFold<arith::MulIOp>(x, constant(y));
  }
  Value div(Value x, int64_t y) {
    return b.createOrFold<arith::DivUIOp>(x, constant(y));
  }
  Value rem(Value x, int64_t y) {
    return b.createOrFold<arith::RemUIOp>(x, constant(y));
  }
  /// Row (entry, y, x) of grids one after the other.
  Value row(Value entry, int64_t height, Value y, int64_t width, Value x) {
    return add(mul(add(mul(entry, height), y), width), x);
  }
};
} // namespace

Value WindowAttr::emitRow(ImplicitLocOpBuilder &builder, Value row,
                          Value) const {
  Indices b{builder};
  int64_t area = getHeight() * getWidth();
  int64_t across = getGridWidth() / getWidth();
  Value token = b.rem(row, area), window = b.div(row, area);
  Value entry = b.div(window, countWindows());
  Value number = b.rem(window, countWindows());
  Value top = b.mul(b.div(number, across), getHeight());
  Value left = b.mul(b.rem(number, across), getWidth());
  auto rolled = [&](Value first, Value step, int64_t shift, int64_t size) {
    Value place = b.add(b.add(first, step), shift);
    return shift ? b.rem(place, size) : place;
  };
  Value y =
      rolled(top, b.div(token, getWidth()), getShiftHeight(), getGridHeight());
  Value x =
      rolled(left, b.rem(token, getWidth()), getShiftWidth(), getGridWidth());
  return b.row(entry, getGridHeight(), y, getGridWidth(), x);
}

Value WindowAttr::emitInverseRow(ImplicitLocOpBuilder &builder,
                                 Value row) const {
  Indices b{builder};
  int64_t grid = getGridHeight() * getGridWidth();
  int64_t across = getGridWidth() / getWidth();
  Value entry = b.div(row, grid), token = b.rem(row, grid);
  auto unrolled = [&](Value place, int64_t shift, int64_t size) {
    return shift ? b.rem(b.add(place, size - shift), size) : place;
  };
  Value y =
      unrolled(b.div(token, getGridWidth()), getShiftHeight(), getGridHeight());
  Value x =
      unrolled(b.rem(token, getGridWidth()), getShiftWidth(), getGridWidth());
  Value window =
      b.add(b.mul(b.div(y, getHeight()), across), b.div(x, getWidth()));
  Value all = b.add(b.mul(entry, countWindows()), window);
  return b.row(all, getHeight(), b.rem(y, getHeight()), getWidth(),
               b.rem(x, getWidth()));
}

Value MergeAttr::emitRow(ImplicitLocOpBuilder &builder, Value row,
                         Value segment) const {
  Indices b{builder};
  int64_t across = getGridWidth() / getWidth();
  int64_t blocks = getGridHeight() / getHeight() * across;
  Value entry = b.div(row, blocks), block = b.rem(row, blocks);
  Value y = b.add(b.mul(b.div(block, across), getHeight()),
                  b.rem(segment, getHeight()));
  Value x = b.add(b.mul(b.rem(block, across), getWidth()),
                  b.div(segment, getHeight()));
  return b.row(entry, getGridHeight(), y, getGridWidth(), x);
}

Value InverseAttr::emitRow(ImplicitLocOpBuilder &builder, Value row,
                           Value) const {
  return getPlacement().emitInverseRow(builder, row);
}

Value InverseAttr::emitInverseRow(ImplicitLocOpBuilder &builder,
                                  Value row) const {
  return getPlacement().emitRow(builder, row, Value());
}

/// The last placement is asked first: it says where the row is in what those
/// before it have made.
Value ChainAttr::emitRow(ImplicitLocOpBuilder &builder, Value row,
                         Value segment) const {
  for (PlacementAttrInterface placement : llvm::reverse(getPlacements())) {
    row = placement.emitRow(builder, row, segment);
  }
  return row;
}
