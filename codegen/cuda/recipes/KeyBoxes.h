//===- KeyBoxes.h - The boxes of keys that a block takes --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_CUDA_RECIPES_KEYBOXES_H
#define HOVA_CODEGEN_CUDA_RECIPES_KEYBOXES_H

#include "codegen/cuda/recipes/KernelBuilder.h"
#include "dialect/score/VisitedKeys.h"

namespace hova {

/// The keys of a sequence in boxes of `step`, and those of them that a block of
/// queries visits: all, unless `visit` says less.
class KeyBoxes {
public:
  /// Of `tokens` keys, of which the sequence has the first `count` in a run;
  /// null: all.
  KeyBoxes(KernelBuilder &b, int64_t tokens, int64_t step, Expr count)
      : b(b), tokens(tokens), step(step), count(count) {}

  int64_t getTokens() const { return tokens; }
  /// Whether a run may have fewer keys.
  bool mayEnd() const { return bool(count); }
  /// Whether each box has all its keys in every run.
  bool areWhole() const { return !count && tokens % step == 0; }
  /// Boxes that have keys.
  Expr countBoxes() const {
    return count ? (count + (step - 1)) / step
                 : Expr(llvm::divideCeil(tokens, step));
  }
  /// Where keys end within a box; null: they end with one.
  Expr endInBox() const {
    return count ? count : tokens % step ? Expr(tokens) : Expr();
  }
  /// What is added to exponents, so that sums of values that as many weigh do
  /// not overflow (`Exp2Op::offsetOfWeights`), of which `columns` are the most:
  /// of the keys that there are, so that bits do not depend on how many there
  /// may be.
  Expr offsetOfWeights(int64_t columns);

  /// Visits what the queries from `row` on, in blocks of `rows`, may see.
  void visit(const ScoreForm &form, const ScoreExtents &extents, int64_t rows,
             Expr row);
  /// In turns of loops; null where all are visited.
  const VisitedTiles &visited() const { return boxes; }
  /// The first key of the box of a turn.
  Expr keyAt(Expr turn) const { return boxAt(turn) * step; }
  /// The same of a box that can be copied whole, if boxes are whole: after
  /// those that are visited one more is copied, which nobody reads.
  Expr copiedKeyAt(Expr turn) const {
    Expr box = boxAt(turn);
    bool isLast = boxes.end && areWhole();
    return (isLast ? min(box, tokens / step - 1) : box) * step;
  }

private:
  Expr boxAt(Expr turn) const {
    return b(boxes.tileAt(b, b.getLoc(), turn.in(b)));
  }
  void cut();

  KernelBuilder &b;
  int64_t tokens, step;
  Expr count;
  VisitedTiles boxes;
};

} // namespace hova

#endif // HOVA_CODEGEN_CUDA_RECIPES_KEYBOXES_H
