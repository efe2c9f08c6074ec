//===- NarrowSums.cpp - Linear attention by products of 16 bits -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cuda/recipes/linear_attention/NarrowSums.h"

using namespace mlir;

namespace hova {

/// Rows of a block: two rows of mma a warp, where registers hold their sums.
static int64_t rowsOfBlock(int64_t rows, int64_t keyWidth, int64_t valueWidth) {
  bool isWide = std::max(keyWidth, valueWidth) > kSegment;
  return rows > kSumsRows && !isWide ? 2 * kSumsRows : kSumsRows;
}

CudaScheduleAttr scheduleNarrowSummary(MLIRContext *context, int64_t rows,
                                       int64_t keyWidth, int64_t valueWidth) {
  return CudaScheduleAttr::get(context, rowsOfBlock(rows, keyWidth, valueWidth),
                               boxColumns(valueWidth), kNarrowWarps, 1,
                               kNarrowKeys, 2);
}

CudaScheduleAttr scheduleNarrowQueries(MLIRContext *context, int64_t queries,
                                       bool isCausal, int64_t keyWidth,
                                       int64_t valueWidth) {
  int64_t rows =
      isCausal ? kSumsRows : rowsOfBlock(queries, keyWidth, valueWidth);
  return CudaScheduleAttr::get(context, rows, boxColumns(valueWidth),
                               kNarrowWarps, 1, kSumsStep, 2);
}

Value NarrowWriter::narrow(Value wide) {
  auto type = cast<TileType>(wide.getType());
  return b.map(type.with(type.getShape(), element, type.getDistribution()),
               wide, [](Elements x, Expr, Expr) { return x[0]; });
}

Value NarrowWriter::afterMaximum(Value most) {
  if (!maximumIsRaw()) {
    return most;
  }
  return b.map(most.getType(), most, [&](Elements x, Expr, Expr) {
    return select(x[0] == kNoKeyMaximum, x[0], x[0] * factor());
  });
}

Value NarrowWriter::widened(Value rounded) {
  auto type = cast<TileType>(rounded.getType());
  return b.map(type.with(type.getShape(), b.f32(), type.getDistribution()),
               rounded, [&](Elements x, Expr, Expr) { return widen(b, x[0]); });
}

Value NarrowWriter::addSums(Value before, Value weights) {
  Value sums =
      GroupReduceOp::create(b, before.getType(), Combine::add, weights);
  return b.combine(Combine::add, before, sums);
}

/// Lanes add squares by multiply-adds: those of each 16th column, and then
/// their sums.
Value NarrowWriter::halfNormsOfBox(Value box, Expr slot) {
  auto slots = cast<SlotsType>(box.getType());
  TileType type = tile(1).with({slots.rows(), slots.columns()}, element,
                               TileDistribution::product);
  Values parts{widened(
      GroupLoadOp::create(b, type, box, Value(slot.in(b)), {false, false}))};
  while (cast<TileType>(parts.front().getType()).columns() > kMmaRows) {
    Values halves;
    for (Value part : parts) {
      halves.append({b.half(part, false), b.half(part, true)});
    }
    parts = std::move(halves);
  }
  Value squares;
  for (Value part : parts) {
    squares =
        b.map(part.getType(), {part, squares}, [](Elements x, Expr, Expr) {
          return x[1] ? fma(x[0], x[0], x[1]) : x[0] * x[0];
        });
  }
  Value sums = b.reduce(Combine::add, squares, TileDistribution::product);
  return b.map(sums.getType(), sums, [&](Elements x, Expr, Expr) {
    return x[0] * (llvm::numbers::log2e * scale * scale / 2);
  });
}

} // namespace hova
