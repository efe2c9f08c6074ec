//===- AttentionEmitter.h - The loops of one attention --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Shared by the four files that write parts of an attention kernel:
// AttentionRecipe.cpp (blocks of rows, scores, values), AttentionBlocks.cpp
// (blocks of keys), AttentionPacking.cpp (keys, pairs of values) and
// AttentionSoftmax.cpp (masks, exponentials, sums).

#ifndef HOVA_CODEGEN_CPU_RECIPES_ATTENTIONEMITTER_H
#define HOVA_CODEGEN_CPU_RECIPES_ATTENTIONEMITTER_H

#include "codegen/cpu/recipes/AttentionLayout.h"
#include "codegen/cpu/recipes/KernelEmitter.h"
#include "codegen/cpu/recipes/ScoreLanes.h"
#include "codegen/cpu/recipes/VisitedPanels.h"
#include <optional>

namespace hova {

/// A row of an operand.
struct OperandRow {
  mlir::Value matrix, row;
};

/// Keys that lie side by side in scratch.
struct KeyPanel {
  mlir::Value index;  ///< among the whole panels, null for the tail
  mlir::Value column; ///< of scores in scratch, the first
  mlir::Value lane;   ///< of all packed ones, the first
  mlir::Value key;    ///< the first key
  int64_t lanes;
  int64_t valid; ///< lanes that hold keys or slots, as far as that is known
                 ///< here
  bool isWhole = false; ///< whether the block's queries see all of its keys
};

/// Keys that follow each other, from a panel on.
struct KeyRun {
  mlir::Value panel, keys;
};

class AttentionEmitter {
  using Panels = PanelBounds;

public:
  AttentionEmitter(KernelEmitter &emitter, AttentionOp op);
  void emit();

private:
  void pack(mlir::Value unit, mlir::Value block);
  void packKeys();
  void packValues();
  void writeLimits();
  void writeLimits(const KeyPanel &panel, mlir::Value isValid,
                   mlir::Value tokens);
  void packLanes(const KeyPanel &panel, mlir::Value lane,
                 llvm::ArrayRef<OperandRow> keys);
  void packBlock(const KeyPanel &panel, mlir::Value lane,
                 llvm::ArrayRef<OperandRow> keys, mlir::Value row,
                 int64_t channels);
  void packMixedPanel(const KeyPanel &panel, int64_t first);
  void packValueRow(mlir::Value row, OperandRow low,
                    std::optional<OperandRow> high);
  void emitBlock(mlir::Value row, int64_t height);
  /// Prefetches the rows of the next unit that belong to query `row`: they lie
  /// a few lines each in rows of all heads, which the processor does not
  /// foresee.
  void prefetchNext(mlir::Value row);
  void emitScores(mlir::Value row, int64_t height, const Panels &panels);
  void emitSumsOfTerms(mlir::Value row, int64_t height, const Panels &panels);
  /// What is left to do where the scores are all that is read.
  void emitScoresAlone(mlir::Value row, int64_t height, const Panels &panels);
  void emitSoftmax(mlir::Value row, int64_t height, const Panels &panels);
  /// The same without a softmax: the region has made weights.
  void emitWeights(mlir::Value row, int64_t height, const Panels &panels);
  /// Weights of row `i`, to where values are multiplied with them; returns
  /// their sum with `sum`, which may be null.
  mlir::Value storeWeights(mlir::Value weights, mlir::Value i,
                           const KeyPanel &panel, mlir::Value sum);
  /// One over the sum of row `i`, or 0 where it may have none.
  void storeInverse(mlir::Value sum, mlir::Value i, bool mayBeZero);
  void emitMaximum(mlir::Value i, mlir::Value query, const Panels &panels);
  /// The rows whose scores are too large to take exponentials of them as they
  /// are.
  mlir::Value areFar(mlir::Value from, int64_t height);
  void subtractMaximum(mlir::Value i, mlir::Value query, const Panels &panels);
  mlir::Value isEmptyRow(mlir::Value maximum, mlir::Value query,
                         const Panels &panels);
  void emitExponentials(mlir::Value i, const Panels &panels);
  double exponent();
  void emitValues(mlir::Value row, int64_t height, const Panels &panels);

  /// Lists the blocks of keys that the block of rows sees; their panels.
  Panels listBlocks(mlir::Value row, int64_t height);
  /// `seesAll`: block `own` does, as the first and the last.
  mlir::Value seenBlock(mlir::Value own, mlir::Value entry, mlir::Value seesAll,
                        mlir::Value &isSeen);
  mlir::Value drawnBlock(mlir::Value own, mlir::Value entry);
  mlir::Value listedBlock(mlir::Value entry);
  /// The end of the keys in the block of a panel.
  mlir::Value endOf(const KeyPanel &panel);
  mlir::Value sumOfBlocks(mlir::VectorType type, mlir::Value count,
                          mlir::Value column, mlir::IntegerAttr columns);
  mlir::Value sumOfRuns(mlir::VectorType type, llvm::ArrayRef<KeyRun> runs,
                        mlir::Value column, mlir::IntegerAttr columns);

  /// Panels that some query of the block may read.
  Panels visitedPanels(mlir::Value row, int64_t height);
  /// Their keys, as few runs as they are.
  llvm::SmallVector<KeyRun, 2> visitedRuns(const Panels &panels);
  /// The packed keys of a panel and the position of its first element.
  mlir::Value packedKeys(const KeyPanel &panel,
                         llvm::SmallVectorImpl<mlir::Value> &position);
  /// Scores that are stored, below the limits unless a scale or bias changes
  /// them first. One row or a tile.
  mlir::Value limitedEarly(mlir::Value scores, const KeyPanel &panel) {
    return limits && !scalesEarly() ? limited(scores, panel) : scores;
  }
  /// The lesser of each score and the limit of its key; of weights, 0 where
  /// that is -inf.
  mlir::Value limited(mlir::Value scores, const KeyPanel &panel);
  /// What the region makes of the raw scores of a panel, unless it is a factor
  /// that exponentials take; masked are -inf, or 0 without a softmax. What it
  /// carries becomes the result that is the scores, where `isCarried` says.
  mlir::Value maskedScores(mlir::Value raw, mlir::Value query,
                           const KeyPanel &panel, bool isCarried = false);
  void storeScores(mlir::Value score, mlir::Value query, const KeyPanel &panel,
                   mlir::Value isKey);
  /// The same for row `i`, which also become the scores in scratch.
  mlir::Value storeMaskedScores(mlir::Value score, mlir::Value i,
                                mlir::Value query, const KeyPanel &panel);
  /// Lanes of a panel whose key is below `bound`.
  mlir::Value isBelow(const KeyPanel &panel, mlir::Value bound);
  mlir::Value isBelow(const KeyPanel &panel, int64_t bound) {
    return isBelow(panel, e.index(bound));
  }

  /// A panel of packed keys.
  KeyPanel panelAt(mlir::Value index);
  /// The panel of a turn of a loop over those that are visited.
  KeyPanel visitedPanel(const Panels &panels, mlir::Value turn,
                        bool isWhole = false);
  KeyPanel tailPanel() {
    int64_t from = layout.panels * layout.panel;
    mlir::Value first = e.index(from);
    return {{}, first, first, first, layout.tailLanes, layout.columns - from};
  }
  void forEachPanel(const Panels &panels,
                    llvm::function_ref<void(const KeyPanel &)> body);
  /// All lanes of `body`'s vectors, reduced to a scalar. `body` combines a
  /// panel with the panels before it, of which there are none at first: null.
  /// Whole panels may have a loop of their own.
  enum class Loops { one, ofWholePanels };
  mlir::Value reducePanels(
      Loops loops, const Panels &panels, mlir::Value start,
      mlir::vector::CombiningKind kind,
      llvm::function_ref<mlir::Value(const KeyPanel &, mlir::Value)> body);
  /// Lane by lane; `all` may be null.
  mlir::Value combine(mlir::vector::CombiningKind kind, mlir::Value all,
                      mlir::Value own);

  template <typename OpTy, typename... Args> OpTy make(Args &&...args) {
    return e.make<OpTy>(std::forward<Args>(args)...);
  }
  /// Whether the softmax changes scores of whole panels before it reads them.
  bool rewritesScores() {
    return scalesEarly() ||
           llvm::any_of(form.conditions, [this](mlir::Value own) {
             return !form.isAboutKeys(own);
           });
  }
  /// Whether a row may have no kept key.
  bool canBeEmpty() {
    return layout.slots ? mayHaveEmptyRows(form, layout.extents())
                        : !(form.conditions.empty() && form.isRaw());
  }
  /// Whether the exponential takes on the factor of scores.
  bool leavesFactor() { return form.leavesFactor() && op.hasSoftmax(); }
  /// Whether the region does more to scores than a factor in front of the
  /// exponential, or gives them away.
  bool scalesEarly() {
    return !form.isRaw() || !leavesFactor() || op.getScores();
  }

  KernelEmitter &e;
  mlir::OpBuilder &b;
  mlir::Location loc;
  AttentionOp op;
  const ScoreForm form;
  AttentionLayout layout;
  int64_t queryBlocks; ///< units of a batch entry and head
  const VisitedKeys visited;
  /// In scratch; null where the layout has none.
  mlir::Value packed, packedTail, values, scores, exponentials, limits, inverse;
  mlir::Value listed, pooled; ///< blocks of keys; sums of their values
  mlir::Value
      maxima; ///< the memory of `inverse` as one row, until it is needed
  // Of the current unit.
  mlir::Value next; ///< unit
  mlir::Value batch, head, queryRow, queryColumn, resultColumn;
  mlir::Value keyRow, keyColumn, valueColumn; ///< of keys and values
  std::optional<ScoreLanes> scoreLanes;       ///< with batch entry and head
};

} // namespace hova

#endif // HOVA_CODEGEN_CPU_RECIPES_ATTENTIONEMITTER_H
