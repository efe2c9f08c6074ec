//===- AttentionEmitter.h - The loops of one attention --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Shared by the six files that write parts of an attention kernel:
// AttentionRecipe.cpp (blocks of rows, scores, values), AttentionUnit.cpp
// (products by a matrix unit), AttentionPanels.cpp (the keys that a block of
// rows visits), AttentionPacking.cpp (keys, pairs of values),
// AttentionSoftmax.cpp (masks, exponentials, sums) and AttentionHidden.cpp
// (values behind masks that are no numbers).

#ifndef HOVA_CODEGEN_CPU_RECIPES_ATTENTIONEMITTER_H
#define HOVA_CODEGEN_CPU_RECIPES_ATTENTIONEMITTER_H

#include "codegen/cpu/recipes/AttentionLayout.h"
#include "codegen/cpu/recipes/KernelEmitter.h"
#include "codegen/cpu/recipes/ScoreLanes.h"
#include <optional>

namespace hova {

/// A row of an operand.
struct OperandRow {
  mlir::Value matrix;
  Expr row;
};

/// Keys that lie side by side in scratch.
struct KeyPanel {
  Expr index;  ///< among the whole panels, null for the tail
  Expr column; ///< of scores in scratch, the first
  Expr lane;   ///< of all packed ones, the first
  Expr key;    ///< the first key
  int64_t lanes = 1;
  int64_t valid = lanes; ///< lanes that hold keys or slots, as far as that is
                         ///< known here
  bool isWhole = false;  ///< whether the block's queries see all of its keys

  Chunk scores() const { return {column, lanes}; }
};

/// Keys that follow each other, from a panel on.
struct KeyRun {
  Expr panel, keys;
};

class AttentionEmitter {
  using Panels = VisitedTiles;
  using Kind = mlir::vector::CombiningKind;

public:
  AttentionEmitter(KernelEmitter &emitter, AttentionOp op);
  void emit();

private:
  // AttentionRecipe.cpp
  void pack(Expr unit, Expr block);
  void emitBlock();
  /// Prefetches a query's result, and its share of the next block and the next
  /// unit: a few lines each in rows of all heads, which no processor foresees.
  void prefetchNext(Expr query);
  void emitScores();
  void emitSumsOfTerms();
  void emitValues();
  /// Weights of rows of the block, from column `first` of scratch on, times the
  /// values of `depth` keys from `key` on, of the columns of `rows`.
  Expr multiplyValues(const TilePlace &rows, Expr first, Expr key, Expr depth,
                      Expr init = {});
  Expr sumOfRuns(llvm::ArrayRef<KeyRun> runs, const TilePlace &rows);
  Expr sumOfBlocks(const Chunk &at);

  // AttentionUnit.cpp
  /// Rows of a block product: those of the block, or of one tile at least.
  int64_t unitRows() { return std::max(height, layout.unitHeight); }
  void multiplyBlock(const MatrixPlace &sums, const MatrixPlace &left,
                     const MatrixPlace &right, Expr depth,
                     bool isAdded = false);
  MatrixPlace unitQueries();
  void emitUnitScores();
  void emitUnitValues();
  void sumUnitBlocks(const Chunk &at);
  void storeUnitValues(const Chunk &at, llvm::function_ref<Expr(Expr)> sumOf);

  // AttentionPanels.cpp
  /// Panels that some query of the block may read.
  Panels visitedPanels();
  Panels boundsOfPanels();
  /// The panels of these that have a key of the item.
  Panels clipToItem(Panels bounds);
  Expr isVisited(const Panels &bounds, Expr panel, int64_t panels);
  /// Lists the blocks of keys that the block of rows sees; their panels.
  Panels listBlocks();
  /// `seesAll`: `block` does, as the first and the last.
  Expr seenBlock(Expr block, Expr entry, Expr seesAll, Expr &isSeen);
  Expr drawnBlock(Expr block, Expr entry);
  Expr listedBlock(Expr entry);
  /// The keys of the visited panels before `all`, as few runs as they are.
  llvm::SmallVector<KeyRun, 2> visitedRuns(Expr all);
  /// A panel of packed keys.
  KeyPanel panelAt(Expr index);
  KeyPanel tailPanel();
  /// The panel of a turn of a loop over those that are visited.
  KeyPanel visitedPanel(Expr turn, bool isWhole = false);
  /// Where a channel of a lane lies in the packed keys of a panel.
  MatrixPlace packedKeys(const KeyPanel &panel, Expr channel = 0,
                         Expr lane = 0);
  void forEachPanel(llvm::function_ref<void(const KeyPanel &)> body);
  /// All lanes of `body`'s vectors, reduced to a scalar. `body` combines a
  /// panel with the panels before it, of which there are none at first: null.
  /// Whole panels may have a loop of their own.
  enum class Loops { one, ofWholePanels };
  Expr reducePanels(Loops loops, Expr start, Kind kind,
                    llvm::function_ref<Expr(const KeyPanel &, Expr)> body);

  // AttentionPacking.cpp
  void packKeys();
  void packValues();
  void packSlots();
  void packZeros(Expr columns);
  void packLanes(const KeyPanel &panel, Expr lane,
                 llvm::ArrayRef<OperandRow> keys);
  void packBlock(const KeyPanel &panel, Expr lane,
                 llvm::ArrayRef<OperandRow> keys, Expr row, int64_t channels);
  void packMixedPanel(const KeyPanel &panel, int64_t first);
  void packValueRow(Expr row, OperandRow low, std::optional<OperandRow> high);

  // AttentionHidden.cpp
  void findUnsoundValues();
  Expr addSeenValues(Expr i, Expr column, Expr count, mlir::Value matrix,
                     Expr key, const Chunk &at, Expr before);
  /// The results again, of those values alone that a query gives a weight.
  void emitSeenValues();

  // AttentionSoftmax.cpp
  void writeLimits();
  void writeLimits(const KeyPanel &panel, Expr isValid, Expr tokens);
  /// What is left to do where the scores are all that is read.
  void emitScoresAlone();
  void emitSoftmax();
  /// The same without a softmax: the region has made weights.
  void emitWeights();
  /// Weights of row `i`, to where values are multiplied with them; returns
  /// their sum with `sum`, which may be null.
  Expr storeWeights(Expr weights, Expr i, const KeyPanel &panel, Expr sum);
  /// One over the sum of row `i`, or 0 where it may have none.
  void storeInverse(Expr sum, Expr i, bool mayBeZero);
  void emitMaximum(Expr i);
  /// The rows whose scores are too large to take exponentials of them as they
  /// are.
  Expr areFar(Expr from, int64_t height);
  void subtractMaximum(Expr i);
  Expr isEmptyRow(Expr maximum, Expr query);
  void emitExponentials(Expr i);
  double exponent();
  /// Scores that are stored, below the limits unless a scale or bias changes
  /// them first. One row or a tile.
  Expr limitedEarly(Expr scores, const KeyPanel &panel) {
    return scratch.limits && !scalesEarly() ? limited(scores, panel) : scores;
  }
  /// The lesser of each score and the limit of its key; of weights, 0 where
  /// that is -inf.
  Expr limited(Expr scores, const KeyPanel &panel);
  /// What the region makes of the raw scores of a panel, unless it is a factor
  /// that exponentials take; masked are -inf, or 0 without a softmax. What it
  /// carries becomes the result that is the scores, where `isCarried` says.
  Expr maskedScores(Expr raw, Expr query, const KeyPanel &panel,
                    bool isCarried = false);
  void storeScores(Expr score, Expr query, const KeyPanel &panel, Expr isKey);
  /// Lanes of a panel whose key is below `bound`.
  Expr isBelow(const KeyPanel &panel, Expr bound);
  Expr loadScores(Expr i, const KeyPanel &panel) {
    return e.load(scratch.scores, i, panel.scores());
  }

  /// Whether the softmax changes scores of whole panels before it reads them.
  bool rewritesScores() {
    return scalesEarly() ||
           llvm::any_of(form.conditions, [this](mlir::Value condition) {
             return !form.isAboutKeys(condition);
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
  AttentionOp op;
  const AttentionLayout layout;
  const ScoreForm &form;
  const AttentionScratch scratch;
  /// The memory of `scratch.inverse` as one row, until that is needed.
  const mlir::Value maxima;
  const VisitedKeys visited;
  // Of the current unit.
  Expr next;          ///< unit
  Expr queries, keys; ///< how many
  Expr columns;       ///< keys, and the slots of a memory
  Expr batch, head, queryRow, queryColumn, resultColumn;
  Expr keyRow, keyColumn, valueColumn;  ///< of keys and values
  std::optional<ScoreLanes> scoreLanes; ///< with batch entry and head
  // Of the current block of rows.
  Expr row;
  int64_t height = 0;
  Panels panels;
};

} // namespace hova

#endif // HOVA_CODEGEN_CPU_RECIPES_ATTENTIONEMITTER_H
