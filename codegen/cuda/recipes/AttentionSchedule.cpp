//===- AttentionSchedule.cpp - How an attention is divided into blocks ----===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cuda/facts/Occupancy.h"
#include "codegen/cuda/recipes/CudaKernels.h"

using namespace mlir;

namespace hova {

/// Shared memory of a block: its queries, two turns of keys and values, and
/// what its warps stage of results.
static int64_t bytesOfBlock(Type element, int64_t rows, int64_t warps,
                            int64_t step, int64_t keyColumns,
                            int64_t valueColumns) {
  int64_t bytes = element.getIntOrFloatBitWidth() / 8;
  int64_t stage =
      element.isF32() ? 0 : kMmaRows * std::min(valueColumns, kSegment);
  return bytes * (rows * keyColumns + 2 * step * (keyColumns + valueColumns) +
                  warps * stage);
}

/// The keys of a turn, at most `step`, that leave room for as many blocks as
/// there are to be, or for one.
static int64_t chooseStep(const GpuFacts &gpu, int64_t step,
                          llvm::function_ref<int64_t(int64_t step)> bytesOf) {
  for (int64_t blocks : {gpu.attentionBlocks, int64_t(1)}) {
    for (int64_t keys = step; keys >= kMmaRows; keys /= 2) {
      if (blocksByGroupMemory(gpu, bytesOf(keys)) >= blocks) {
        return keys;
      }
    }
  }
  return kMmaRows;
}

CudaScheduleAttr scheduleAttention(const GpuFacts &gpu, Type element,
                                   int64_t heads, int64_t queries, int64_t keys,
                                   int64_t keyWidth, int64_t valueWidth,
                                   bool needsMore) {
  int64_t columns = boxColumns(valueWidth);
  bool isWide = std::max(keyWidth, valueWidth) > kManyHeadColumns;
  auto schedule = [&](int64_t rows, int64_t warps, int64_t step) {
    return CudaScheduleAttr::get(element.getContext(), rows, columns, warps, 1,
                                 step, 2);
  };
  // Turns of wide heads are short: the result has most of the registers.
  int64_t wideStep = needsMore ? 16 : 32;
  if (!isWide && keys <= 64) {
    // Without a loop over keys little is read twice, and fewer queries than a
    // tile has rows leave lanes idle. A warp alone copies rows of so many
    // columns even where elements move one at a time.
    bool isNarrow = std::max(boxColumns(keyWidth), columns) <= 32;
    if (queries <= kMmaRows && keys <= 32 && isNarrow) {
      return schedule(kMmaRows, 1, keys <= 16 ? 16 : 32);
    }
    if (queries <= 2 * kMmaRows) {
      return schedule(2 * kMmaRows, 2, element.isF32() ? 32 : 64);
    }
  }
  auto inTurns = [&](int64_t rows, int64_t warps, int64_t step) {
    return schedule(rows, warps, chooseStep(gpu, step, [&](int64_t keys) {
                      return bytesOfBlock(element, rows, warps, keys,
                                          boxColumns(keyWidth), columns);
                    }));
  };
  if (element.isF32()) {
    // What products read goes through registers, which fewer sums leave free.
    return isWide ? inTurns(32, 2, wideStep) : inTurns(64, 4, 32);
  }
  if (isWide) {
    return inTurns(64, 4, wideStep);
  }
  // Beside wide results, warps of 16 queries have registers for such a tile.
  // Where each block has a multiprocessor to itself, as in one image, nobody
  // works while its warps wait: more blocks of the same warps take four fifths
  // of the time, though they read shared memory twice as often.
  int64_t blocks = heads * llvm::divideCeil(queries, 64);
  bool hasFewQueries = (needsMore && columns > 32) ||
                       (queries > 64 && blocks <= gpu.processors.front());
  return hasFewQueries  ? inTurns(64, 4, 64)
         : queries > 64 ? inTurns(128, 4, 64)
                        : inTurns(64, 2, 64);
}

SmallVector<RowSpan> attentionBlocks(const ScoreExtents &extents,
                                     int64_t rows) {
  SmallVector<RowSpan> blocks;
  for (int64_t first = 0; first < extents.queries; first += rows) {
    blocks.push_back({first, rows});
  }
  return blocks;
}

} // namespace hova
