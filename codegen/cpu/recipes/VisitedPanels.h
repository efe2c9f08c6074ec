//===- VisitedPanels.h - The keys that blocks of queries see --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Keys lie in panels, and a block of queries visits those from the first to the
// last in which it may see a key; in some of them each of its queries sees all.
// Which these are follows from the region of the scores by interval analysis
// (dialect/ScoreForm.h), so that a causal mask, a sliding window and a
// condition that somebody wrote down end loops alike.
//
//   panels   0 .. begin .. wholeBegin .. wholeEnd .. end .. all
//   seen     none     some           all         some     none
//
// Loops find these bounds from the first row of a block. All four are made to
// rise with the row, which costs panels where a mask does not, and are then
// counts of the steps that they have taken.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_CODEGEN_CPU_RECIPES_VISITEDPANELS_H
#define HOVA_CODEGEN_CPU_RECIPES_VISITEDPANELS_H

#include "codegen/cpu/recipes/RowBlocks.h"
#include "codegen/cpu/recipes/ScoreLanes.h"
#include <map>

namespace hova {

class VisitedPanels {
public:
  /// What a block of queries visits.
  struct Range {
    int64_t begin, wholeBegin, wholeEnd, end;
  };
  struct Bounds {
    mlir::Value begin, wholeBegin, wholeEnd, end;
  };

  /// Of the blocks of queries that begin at these rows.
  VisitedPanels(const ScoreForm &form, const ScoreExtents &extents,
                int64_t panel, llvm::ArrayRef<RowSpan> blocks);

  /// What a block visits in the loops.
  const Range &at(const RowSpan &block) const;
  /// The same, of the block of `height` rows that begins with `row`.
  Bounds emit(KernelEmitter &e, mlir::Value row, int64_t height) const;

  /// Whether any block has panels of which its queries see all keys, those
  /// apart that no query may see: padding is nothing that a block decides.
  bool haveWhole() const;

  /// Whether blocks of `height` queries leave panels out.
  static bool areSome(const ScoreForm &form, const ScoreExtents &extents,
                      int64_t panel, int64_t height);

private:
  /// By the first row.
  using Ranges = std::map<int64_t, Range>;

  /// The panels of one block, before they are made to rise.
  Range find(const RowSpan &block) const;
  ScoreBox boxOf(const RowSpan &block, int64_t begin, int64_t end) const;
  bool seesNone(const RowSpan &block, int64_t begin, int64_t end) const;
  bool seesAll(const RowSpan &block, int64_t begin, int64_t end) const;
  mlir::Value emitBound(KernelEmitter &e, mlir::Value row, int64_t height,
                        int64_t Range::*bound) const;

  const ScoreForm &form;
  const ScoreExtents extents;
  const int64_t panel, panels;
  std::map<int64_t, Ranges> byHeight;
};

} // namespace hova

#endif // HOVA_CODEGEN_CPU_RECIPES_VISITEDPANELS_H
