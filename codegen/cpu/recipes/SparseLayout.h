//===- SparseLayout.h - Sizes of attention to few blocks --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_CPU_RECIPES_SPARSELAYOUT_H
#define HOVA_CODEGEN_CPU_RECIPES_SPARSELAYOUT_H

#include "codegen/cpu/CpuSchedule.h"
#include "dialect/Shapes.h"
#include "dialect/SparseAttentionOps.h"
#include "llvm/Support/MathExtras.h"

namespace hova {

/// The loops of one attention in numbers.
struct SparseLayout {
  SparseLayout(BlockSparseAttentionOp op, const CpuSchedule &schedule)
      : heads(op.getHeads()), tokens(shapeOf(op.getQuery())[1]),
        keyWidth(shapeOf(op.getQuery())[2] / heads),
        valueWidth(shapeOf(op.getValue())[2] / heads), block(op.getBlock()),
        blocks(op.getBlocks()), random(op.getRandomCount()),
        causal(op.getCausal().value_or(0)), tileRows(schedule.tileRows),
        lanes(std::min<int64_t>(schedule.tileColumns,
                                llvm::alignTo(block, kTransposed))),
        groupKeys(std::min(block, kMostKeys)),
        hasLimits(op.getKeyValid() || tokens % block || block % groupKeys) {}

  /// Rows and columns that are transposed at once.
  static constexpr int64_t kTransposed = 16;
  /// Keys of a group at most: their scores with all queries of a vector stay in
  /// the first-level cache.
  static constexpr int64_t kMostKeys = 64;

  int64_t heads, tokens, keyWidth, valueWidth;
  int64_t block, blocks; ///< tokens of a block, and how many there are
  int64_t random;        ///< blocks in a row of the table
  int64_t causal;        ///< 0: not
  int64_t tileRows;
  int64_t lanes;     ///< queries side by side
  int64_t groupKeys; ///< keys that follow them one below the other
  /// Whether a key of a group may not count.
  bool hasLimits;

  int64_t pooledStride() const { return llvm::alignTo(valueWidth, 16); }
  /// Tokens of a block.
  int64_t lengthOf(int64_t own) const {
    return std::min((own + 1) * block, tokens) - own * block;
  }
  /// Pairs of a query and a key that are multiplied in query block `own`. A row
  /// of the table counts as full: of a causal attention with all blocks before
  /// the window where these are fewer.
  int64_t countPairs(int64_t own) const;
};

} // namespace hova

#endif // HOVA_CODEGEN_CPU_RECIPES_SPARSELAYOUT_H
