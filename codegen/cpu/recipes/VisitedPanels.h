//===- VisitedPanels.h - The keys that blocks of queries see --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Keys lie in panels, and a block of queries visits those from the first to the
// last in which it may see a key. Which these are follows from the region of
// the scores by interval analysis (dialect/ScoreForm.h), so that a causal mask,
// a sliding window and a condition that somebody wrote down end loops alike.
//
// Loops find them from the first row of a block: both bounds are made to rise
// with the row, which costs panels where a mask does not, and are then numbers
// of steps taken so far.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_CODEGEN_CPU_RECIPES_VISITEDPANELS_H
#define HOVA_CODEGEN_CPU_RECIPES_VISITEDPANELS_H

#include "codegen/cpu/recipes/ScoreLanes.h"

namespace hova {

class VisitedPanels {
public:
  /// Panels `begin` to before `end`.
  struct Range {
    int64_t begin, end;
  };
  struct Bounds {
    mlir::Value begin, end;
  };

  VisitedPanels(const ScoreForm &form, const ScoreExtents &extents,
                int64_t panel)
      : form(form), extents(extents), panel(panel),
        panels(llvm::divideCeil(extents.columns, panel)) {}

  /// Whether some block of `height` queries leaves panels out.
  bool areSome(int64_t height) const;
  /// What blocks of `height` queries visit, by their first query: as the loops
  /// do.
  llvm::SmallVector<Range> findAll(int64_t height) const;
  /// The same for the block that begins with query `row`, a value.
  Bounds emit(KernelEmitter &e, mlir::Value row, int64_t height) const;

private:
  /// The panels of the block of queries that begins with `row`, by halving.
  Range find(int64_t row, int64_t height) const;
  bool seesNone(int64_t row, int64_t height, int64_t begin, int64_t end) const;

  const ScoreForm &form;
  const ScoreExtents extents;
  const int64_t panel, panels;
};

} // namespace hova

#endif // HOVA_CODEGEN_CPU_RECIPES_VISITEDPANELS_H
