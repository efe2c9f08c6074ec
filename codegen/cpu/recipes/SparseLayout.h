//===- SparseLayout.h - Sizes of attention to few blocks --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_CPU_RECIPES_SPARSELAYOUT_H
#define HOVA_CODEGEN_CPU_RECIPES_SPARSELAYOUT_H

#include "codegen/cpu/recipes/VisitedPanels.h"
#include "dialect/Shapes.h"
#include "dialect/SparseAttentionOps.h"
#include "dialect/VisitedKeys.h"
#include "llvm/Support/MathExtras.h"

namespace hova {

/// The loops of one attention in numbers.
struct SparseLayout {
  SparseLayout(BlockSparseAttentionOp op, const CpuSchedule &schedule)
      : SparseLayout(op, schedule, ScoreForm(op.scoreRegion())) {}
  SparseLayout(BlockSparseAttentionOp op, const CpuSchedule &schedule,
               const ScoreForm &form);

  /// Rows and columns that are transposed at once.
  static constexpr int64_t kTransposed = 16;
  /// Keys of a group at most: their scores with all queries of a vector stay in
  /// the first-level cache.
  static constexpr int64_t kMostKeys = 64;

  int64_t batch, heads, tokens;
  int64_t group; ///< heads of queries that share one of keys
  int64_t keyWidth, valueWidth;
  int64_t block, blocks; ///< tokens of a block, and how many there are
  int64_t random;        ///< blocks in a row of the table
  int64_t tileRows;
  int64_t lanes;     ///< queries side by side
  int64_t groupKeys; ///< keys that follow them one below the other
  /// Whether a key of a group may not count.
  bool hasLimits;
  /// Whether queries leave out blocks of which they keep no key.
  bool skipsBlocks;

  int64_t pooledStride() const { return llvm::alignTo(valueWidth, 16); }
  /// Tokens of a block.
  int64_t lengthOf(int64_t own) const {
    return std::min((own + 1) * block, tokens) - own * block;
  }
  ScoreExtents extents() const {
    return {batch, heads, tokens, tokens, tokens};
  }
  /// The queries of a vector, and those of the last vector of a block where
  /// these are fewer; else 0.
  int64_t groupRows() const { return std::min(lanes, block); }
  int64_t restRows() const { return block > lanes ? block % lanes : 0; }
  /// The queries that lie in vectors together, as many as in a whole block.
  llvm::SmallVector<RowSpan> groups() const;
  /// The blocks of keys that they visit.
  VisitedKeys visitedBlocks(const ScoreForm &form) const {
    return VisitedKeys(form, extents(), block,
                       skipsBlocks ? groups() : llvm::SmallVector<RowSpan>());
  }
};

/// The blocks of keys that the queries of a vector visit, while their loops are
/// written.
class VisitedBlocks {
public:
  VisitedBlocks(const SparseLayout &layout, const ScoreForm &form)
      : layout(layout), visited(layout.visitedBlocks(form)) {}

  /// Begins with the queries from `row` on, of query block `block`.
  void begin(KernelEmitter &e, mlir::Value row, mlir::Value block);
  /// Whether they visit block `seen`; null where they visit all.
  mlir::Value contain(KernelEmitter &e, mlir::Value seen) const;

private:
  const SparseLayout &layout;
  const VisitedKeys visited;
  /// By the number of queries: a vector's, and the rest of a block.
  llvm::SmallVector<PanelBounds, 2> bounds;
  mlir::Value isRest;
};

/// The pairs of a query and a key that the loops multiply.
class SparsePairs {
public:
  SparsePairs(BlockSparseAttentionOp op, const CpuSchedule &schedule);

  const SparseLayout &getLayout() const { return layout; }
  /// Those of query block `own`. A row of the table counts as full, or with all
  /// blocks that it may name where some are not visited and these are fewer.
  int64_t count(int64_t own) const;

private:
  int64_t countKeys(int64_t own, const VisitedKeys::Range &range) const;

  const ScoreForm form;
  const SparseLayout layout;
  const VisitedKeys visited;
};

} // namespace hova

#endif // HOVA_CODEGEN_CPU_RECIPES_SPARSELAYOUT_H
