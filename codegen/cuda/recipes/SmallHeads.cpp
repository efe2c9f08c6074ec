//===- SmallHeads.cpp - All heads of an attention in one block ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cuda/recipes/SmallHeads.h"
#include "codegen/cuda/Recipe.h"
#include "codegen/cuda/facts/AllGpus.h"
#include "dialect/Shapes.h"
#include "dialect/token/TokenOps.h"

using namespace mlir;

namespace hova {

/// The tensor that a value is columns of, and the first of them.
static std::pair<Value, int64_t> columnsOf(Value tensor) {
  auto slice = tensor.getDefiningOp<SliceOp>();
  return slice && isColumnSlice(slice)
             ? std::pair(slice.getX(), slice.getOffset())
             : std::pair(Value(), int64_t(0));
}

std::optional<SmallHeads> SmallHeads::find(AttentionOp op) {
  ArrayRef<int64_t> shape = shapeOf(op.getQuery());
  int64_t heads = op.getHeads(), keyWidth = shape[2],
          valueWidth = shapeOf(op.getResult())[2];
  Type element = getElementTypeOrSelf(op.getQuery());
  int64_t bytes = element.getIntOrFloatBitWidth() / 8;
  bool areSmall = heads > 1 &&
                  std::max(keyWidth, valueWidth) <= kMostSmallColumns &&
                  std::max(keyWidth, valueWidth) / heads * bytes < kSectorBytes;
  // Copies move two elements of 16 bits at least.
  bool areInPieces = keyWidth % 2 == 0 && valueWidth % 2 == 0;
  int64_t mostRows = element.isF32() ? 32 : 64; // of a box of keys
  if (!areSmall || !areInPieces || SequenceRanges::ofTokens(op) ||
      shape[1] > mostRows || op.getGroup() != 1 || op.getSlots() ||
      op.getBlock() || op.givesScoresAlone() ||
      (op.getSimilarity() && !op.getSimilarity().isProduct())) {
    return std::nullopt;
  }
  // What joins the kernel by heads reads one of a block.
  if (llvm::any_of(op.getResult().getUsers(), joinsHeads)) {
    return std::nullopt;
  }
  auto [rows, queries] = columnsOf(op.getQuery());
  auto [keyRows, keys] = columnsOf(op.getKey());
  auto [valueRows, values] = columnsOf(op.getValue());
  if (!rows || rows != keyRows || rows != valueRows || queries % 2 ||
      keys % 2 || values % 2 || shapeOf(rows).back() % 2) {
    return std::nullopt;
  }
  int64_t end =
      std::max({queries + keyWidth, keys + keyWidth, values + valueWidth});
  int64_t begin = std::min({queries, keys, values});
  if (end - begin > 2 * keyWidth + valueWidth) {
    return std::nullopt; // others stand between them
  }
  return SmallHeads(op, rows, begin, end,
                    {queries - begin, keys - begin, values - begin});
}

HeadBox SmallHeads::bring(GroupEmitter &e) {
  KernelBuilder &b = e.b;
  CudaScheduleAttr schedule = e.schedule;
  Type element = getElementTypeOrSelf(op.getQuery());
  int64_t tokens = shapeOf(op.getQuery())[1];
  auto makeSlots = [&](int64_t rows, int64_t columns) {
    return b.slots({1, rows, columns}, element);
  };
  // The last head is read in whole boxes too, as are all values.
  int64_t keyWidth = shapeOf(op.getQuery())[2];
  int64_t past = boxColumns(keyWidth / op.getHeads());
  int64_t reach = std::max({columns.queries + keyWidth + past,
                            columns.keys + keyWidth + past,
                            columns.values + schedule.getColumns()});
  int64_t rows = std::max(schedule.getRows(), schedule.getStep());
  int64_t width = boxColumns(reach);
  HeadBox box{makeSlots(rows, width),
              makeSlots(schedule.getStep(), schedule.getColumns()),
              columns.queries, columns.keys};
  Value matrix =
      e.view(e.matrix(tensor), e.block(2) * tokens, tokens, begin, end - begin);
  GroupWaitOp::create(b, b.copy(matrix, 0, 0, box.rows, 0, tokens == rows,
                                end - begin == width));
  auto type = TileType::get(
      b.getContext(), {schedule.getStep(), schedule.getColumns()}, element,
      TileDistribution::product, schedule.getRowWarps(), 1);
  Value values = b.gatherOfBox(type, box.rows, 0, [&](Expr i, Expr j) {
    return std::pair(i, j + columns.values);
  });
  GroupShareOp::create(b, values, box.values, b.index(0));
  return box;
}

} // namespace hova
