//===- AttentionLayout.h - Sizes of one attention ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_CPU_RECIPES_ATTENTIONLAYOUT_H
#define HOVA_CODEGEN_CPU_RECIPES_ATTENTIONLAYOUT_H

#include "codegen/cpu/CpuFacts.h"
#include "codegen/cpu/recipes/KernelEmitter.h"
#include "dialect/Shapes.h"
#include "dialect/attention/AttentionOps.h"
#include "dialect/score/VisitedKeys.h"
#include "passes/Verdict.h"
#include "llvm/Support/MathExtras.h"

namespace hova {

/// Where queries see blocks of keys: their sizes. Each block of packed keys has
/// whole panels of its own.
struct BlockLayout {
  BlockLayout(AttentionOp op, int64_t panel);

  /// Blocks that a query sees whatever is drawn, at most.
  static constexpr int64_t kFixed = 5;

  int64_t size;                  ///< tokens of a block; 0: queries see all keys
  int64_t keys = 0;              ///< of all blocks
  int64_t count = 0;             ///< blocks, of which the last may be shorter
  int64_t random = 0;            ///< in a row of the table
  int64_t panels = 0, lanes = 0; ///< of a block of packed keys
  int64_t most = 0;              ///< blocks that are listed at most
  bool isWhole = true;           ///< whether every lane has a key of its block

  /// Tokens of a block.
  int64_t lengthOf(int64_t block) const {
    return std::min((block + 1) * size, keys) - block * size;
  }
  /// The row blocks of all queries, none in two blocks.
  llvm::SmallVector<RowSpan> rowBlocks(int64_t tileRows) const;
  /// Keys that queries of block `queryBlock` see, or those in the blocks that
  /// they visit. A row of the table counts as full, or with all blocks that it
  /// may name where these are fewer.
  int64_t countKeys(int64_t queryBlock,
                    const VisitedKeys::Range *visited) const;
};

/// Sizes of one attention and the layout of its scratch.
///
/// Keys are in panels. Those after the last whole panel are a tail of their
/// own, of 16 lanes where they fit: 197 keys cost 208 lanes, not 224. Where
/// blocks of queries end at different panels, as with a causal mask, there is
/// no tail, and the last panel is a whole one.
///
/// With pairs, two channels of a key are one element of a panel, two keys one
/// row of the packed values, and probabilities have a buffer of bf16.
///
/// The slots of a memory are columns of scores after those of the keys. Every
/// query reads them, so with slots no panel is skipped.
///
/// Where queries see blocks of keys, there is no tail either, and scores are
/// those of the blocks that are listed for them.
///
/// Where the scores are all that is read, values have no width.
///
/// With products by a matrix unit, keys come in whole steps of it: the tail has
/// 32 lanes, and packed values end with as many zeros.
///
/// Where items have any number of tokens, sizes are those of the largest item.
/// All panels are whole, and limits hide the lanes after the last key.
struct AttentionLayout {
  AttentionLayout(AttentionOp op, const CpuSchedule &schedule);

  ScoreForm form;
  bool hasRanges;      ///< whether items have any number of tokens up to these
  int64_t queryBlocks; ///< units of a batch entry and head
  int64_t tileRows;    ///< of a block of rows at most
  bool pairs;
  int64_t unitHeight; ///< rows of a tile of the matrix unit; 0: no products by
                      ///< it
  int64_t interleave; ///< factor: channels in an element of a packed key
  int64_t batch, heads, queries, keys;
  int64_t group;          ///< heads of queries that share one of keys
  int64_t slots, columns; ///< of a memory; of scores
  int64_t keyWidth, valueWidth, panel;
  bool skipsPanels;
  BlockLayout blocks;
  int64_t panels, tailLanes, blockRows;
  bool mayLeaveKeys;  ///< whether lanes of a whole panel may be after the last
                      ///< key
  int64_t mostKeys;   ///< that a query sees, as often as it sees them
  int64_t packedRows; ///< of a panel
  int64_t valueRows;  ///< of packed values
  int64_t scoreStride, exponentialStride;
  int64_t limitLanes;    ///< of the row that scores may not exceed
  bool hidesKeys;        ///< whether a query may not see a key that is visited
  int64_t pooledColumns; ///< of sums of the values of blocks
  int64_t copiedQueries; ///< rows of queries that are copied

  /// Keys that the values of the matrix unit's products are multiples of.
  int64_t unitStep() const {
    return blocks.size ? blocks.size : MatrixUnit::depth;
  }
  ScoreExtents extents() const {
    return {batch, heads, queries, keys, columns};
  }
  /// The blocks of rows of one head.
  llvm::SmallVector<RowSpan> rowBlocks() const;
  /// The keys that they visit, in panels, or in blocks of keys.
  VisitedKeys visitedKeys() const;
  /// The pairs of a query and a key that they make, by the unit of the head.
  llvm::SmallVector<int64_t> countPairs() const;
};

/// Whether the products of an attention by pairs of bf16 pay on the matrix
/// unit.
Verdict judgeUnit(AttentionOp op);

/// Its buffers, which `layout` places; null where the attention has none.
struct AttentionScratch {
  const AttentionLayout &sizes;
  mlir::Builder b;
  ScratchLayout layout;

  mlir::Type word = sizes.pairs ? mlir::Type(b.getI32Type()) : b.getF32Type();
  mlir::Value packed =
      layout.take({sizes.panels, sizes.packedRows, sizes.panel}, word);
  mlir::Value packedTail =
      layout.take({sizes.packedRows, sizes.tailLanes}, word);
  mlir::Value values = layout.take({sizes.valueRows, sizes.valueWidth}, word);
  mlir::Value scores = layout.take({sizes.blockRows, sizes.scoreStride});
  mlir::Value exponentials =
      layout.take({sizes.blockRows, sizes.exponentialStride}, b.getBF16Type());
  mlir::Value limits = layout.take({1, sizes.limitLanes});
  /// Whether a value of the head is no number.
  mlir::Value unsound = layout.take({1, sizes.hidesKeys});
  /// Blocks of keys. One more, which may be written and does not count.
  mlir::Value listed = layout.take(
      {1, sizes.blocks.size ? sizes.blocks.most + 1 : 0}, b.getI32Type());
  /// Sums of the values of blocks of keys.
  mlir::Value pooled = layout.take({sizes.blockRows, sizes.pooledColumns});
  mlir::Value inverse = layout.take({sizes.blockRows, 1});
  /// A block of the matrix unit's sums, and queries that are fewer than its
  /// tiles have rows.
  mlir::Value unitSums = layout.take(
      {sizes.unitHeight ? sizes.blockRows : 0, MatrixUnit::blockColumns});
  mlir::Value queries = layout.take(
      {sizes.copiedQueries, paddedStride(sizes.keyWidth, 2)}, b.getBF16Type());
};

} // namespace hova

#endif // HOVA_CODEGEN_CPU_RECIPES_ATTENTIONLAYOUT_H
