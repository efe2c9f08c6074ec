//===- KeyBoxes.cpp - The boxes of keys that a block takes ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cuda/recipes/KeyBoxes.h"
#include "codegen/cuda/recipes/CudaKernels.h"

using namespace mlir;

namespace hova {

Expr KeyBoxes::offsetOfWeights(int64_t columns) {
  if (!count) {
    return Exp2Op::offsetOfWeights(columns);
  }
  Expr all = count + (columns - tokens);
  Expr offset = b.number(0);
  for (int64_t power = 1; power < columns; power *= 2) {
    offset = select(all > power, offset - 1, offset);
  }
  return offset;
}

void KeyBoxes::visit(const ScoreForm &form, const ScoreExtents &extents,
                     int64_t rows, Expr row) {
  using Range = VisitedKeys::Range;
  SmallVector<RowSpan> blocks = attentionBlocks(extents, rows);
  VisitedKeys visited(form, extents, step, blocks);
  boxes = emitVisitedTiles(b, b.getLoc(), visited, visited.haveWhole(),
                           [&](int64_t Range::*bound) {
                             return countSteps(b, b.getLoc(), row.in(b),
                                               visited.stepsOf(rows, bound));
                           });
  bool begins = llvm::any_of(blocks, [&](const RowSpan &block) {
    const Range &range = visited.at(block);
    return range.begin < range.wholeBegin;
  });
  if (boxes.wholeBegin && !boxes.gapLength && !begins) {
    boxes.wholeBegin = boxes.begin; // and there is no loop before
  }
  if (count) {
    cut();
  }
}

/// Ends what is visited with the keys that there are: whole boxes with the last
/// box that has all its keys.
void KeyBoxes::cut() {
  // The turn of the loops in which a box is the next one.
  auto turnOf = [&](Expr box) {
    if (!boxes.gapLength) {
      return box;
    }
    Expr gap = b(boxes.gapBegin), length = b(boxes.gapLength);
    return select(box <= gap, box, max(gap, max(box, length) - length));
  };
  Expr end = min(b(boxes.end), turnOf(countBoxes()));
  if (boxes.wholeBegin) {
    Expr whole = min(b(boxes.wholeEnd), turnOf(count / step));
    if (boxes.wholeBegin != boxes.begin) {
      boxes.wholeBegin = min(b(boxes.wholeBegin), end);
    }
    boxes.wholeEnd = max(b(boxes.wholeBegin), whole);
  }
  boxes.end = end;
}

} // namespace hova
