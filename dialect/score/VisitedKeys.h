//===- VisitedKeys.h - The keys that blocks of queries see ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A recipe takes keys in tiles of a fixed number, and a block of queries visits
// those from the first to the last in which it may see a key, but for the
// longest gap between them; in some of them each of its queries sees all. Which
// these are follows from the region of the scores by interval analysis
// (dialect/score/ScoreForm.h), so that a causal mask, a sliding window after a
// few tokens that all see, and a condition that somebody wrote down end loops
// alike.
//
//   tiles    0 .. begin .. gapBegin .. gapEnd .. wholeBegin .. wholeEnd .. end
//   seen     none     some        none      some          all         some
//
// Loops find these bounds from the first row of a block. All are made to rise
// with the row, which costs tiles where a mask does not, and are then counts of
// the steps that they have taken.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_DIALECT_SCORE_VISITEDKEYS_H
#define HOVA_DIALECT_SCORE_VISITEDKEYS_H

#include "dialect/score/ScoreForm.h"
#include <algorithm>
#include <map>

namespace hova {

/// What is known of an attention's indices.
struct ScoreExtents {
  int64_t batch, heads, queries;
  int64_t keys;    ///< tokens
  int64_t columns; ///< keys and slots

  ScoreBox box() const {
    return {{0, batch - 1}, {0, heads - 1}, {0, queries - 1}, {0, columns - 1}};
  }
};

/// Rows `row` to before `row + height`.
struct RowSpan {
  int64_t row, height;
};

/// The tiles of scores of one head: `queries` by `keys` scores each, but for
/// the last ones.
struct ScoreTileCounts {
  int64_t queries = 0, keys = 0;
  int64_t skipped = 0; ///< no query sees a key: they are not computed
  int64_t mixed = 0;   ///< conditions are evaluated
  int64_t whole = 0;   ///< each query sees all keys that count
};

class VisitedKeys {
public:
  /// What a block of queries visits, in tiles of keys. Bounds that were made to
  /// rise may cross: then there is nothing between them.
  struct Range {
    int64_t begin, wholeBegin, wholeEnd, end;
    int64_t gapBegin = 0, gapEnd = 0;

    bool visits(int64_t tile) const {
      return tile >= begin && tile < end && (tile < gapBegin || tile >= gapEnd);
    }
    /// Tiles of the gap that are between the first and the last.
    int64_t countLeftOut() const {
      return std::max<int64_t>(
          std::min(gapEnd, end) - std::max(gapBegin, begin), 0);
    }
    int64_t count() const {
      return std::max<int64_t>(end - begin, 0) - countLeftOut();
    }
  };
  /// A number that rises with the row: `first`, and one more from each of
  /// `rows` on.
  struct Steps {
    int64_t first;
    llvm::SmallVector<int64_t> rows;
    /// Rows between two steps, if all are even; otherwise 0.
    int64_t evenDistance() const;
  };

  /// Of the blocks of queries that begin at these rows, in tiles of `step`
  /// keys.
  VisitedKeys(const ScoreForm &form, const ScoreExtents &extents, int64_t step,
              llvm::ArrayRef<RowSpan> blocks);

  /// What a block visits in the loops.
  const Range &at(const RowSpan &block) const;
  /// A bound of the blocks of `height` rows.
  Steps stepsOf(int64_t height, int64_t Range::*bound) const;
  /// What the loops do with the tiles of all blocks, of `queries` rows at most.
  ScoreTileCounts countTiles(int64_t queries) const;
  /// Whether any block has whole tiles. Padding is nothing that a block
  /// decides: a tile is whole where all but the conditions on keys alone hold.
  bool haveWhole() const;
  /// Whether any block leaves out tiles between two that it visits.
  bool haveGaps() const;

  /// Whether blocks of `height` queries leave tiles out.
  static bool areSome(const ScoreForm &form, const ScoreExtents &extents,
                      int64_t step, int64_t height);

private:
  /// By the first row.
  using Ranges = std::map<int64_t, Range>;

  /// The tiles of one block, before they are made to rise.
  Range findTiles(const RowSpan &block) const;
  /// The longest run of tiles between `begin` and `end` that the block does not
  /// see, as far as few questions tell.
  std::pair<int64_t, int64_t> findGap(const RowSpan &block, int64_t begin,
                                      int64_t end) const;
  ScoreBox boxOf(const RowSpan &block, int64_t begin, int64_t end) const;
  bool seesNone(const RowSpan &block, int64_t begin, int64_t end) const;
  bool seesAll(const RowSpan &block, int64_t begin, int64_t end) const;

  const ScoreForm &form;
  const ScoreExtents extents;
  const int64_t step, tiles;
  /// Whether a gap is looked for: some blocks were asked.
  bool mayHaveGaps = true;
  std::map<int64_t, Ranges> byHeight;
};

/// Whether every query keeps every slot, with a score that is a number where
/// the raw one is: what is read there is 0. False where there are none.
bool keepsSlots(const ScoreForm &form, const ScoreExtents &extents);

/// Whether a query may have no key that is kept, as far as indices and the form
/// of the scores tell.
bool mayHaveEmptyRows(const ScoreForm &form, const ScoreExtents &extents);

/// The number of `steps` for `row`, by a division where they are even,
/// otherwise by a sum of comparisons.
mlir::Value countSteps(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Value row, const VisitedKeys::Steps &steps);

/// The tiles that a block of queries visits, as loops count them: from
/// `gapBegin` on, numbers of tiles are `gapLength` more. Both are null where no
/// block has a gap. Whole tiles come after it, and are null where they have no
/// loop of their own.
struct VisitedTiles {
  mlir::Value begin, wholeBegin, wholeEnd, end;
  mlir::Value gapBegin = {}, gapLength = {};

  /// The tile of a turn of a loop.
  mlir::Value tileAt(mlir::OpBuilder &builder, mlir::Location loc,
                     mlir::Value turn, bool isWhole = false) const;
};

/// Those of the blocks whose bounds `boundOf` writes.
VisitedTiles emitVisitedTiles(
    mlir::OpBuilder &builder, mlir::Location loc, const VisitedKeys &visited,
    bool hasWhole,
    llvm::function_ref<mlir::Value(int64_t VisitedKeys::Range::*)> boundOf);

} // namespace hova

#endif // HOVA_DIALECT_SCORE_VISITEDKEYS_H
