//===- AttentionEmitter.h - The loops of one attention --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Shared by the three files that write parts of an attention kernel:
// AttentionRecipe.cpp (blocks, scores, values), AttentionPacking.cpp (keys,
// pairs of values) and AttentionSoftmax.cpp (masks, exponentials, sums).

#ifndef HOVA_CODEGEN_CPU_RECIPES_ATTENTIONEMITTER_H
#define HOVA_CODEGEN_CPU_RECIPES_ATTENTIONEMITTER_H

#include "codegen/cpu/recipes/KernelEmitter.h"
#include "dialect/AttentionOps.h"
#include "dialect/Shapes.h"
#include "llvm/Support/MathExtras.h"

namespace hova {

/// Sizes of one attention and the layout of its scratch.
///
/// Keys are in panels. Those behind the last whole panel are a tail of their
/// own, of 16 lanes where they fit: 197 keys cost 208 lanes, not 224. Where a
/// causal mask ends blocks at different panels there is no tail, and the last
/// panel is a whole one.
///
/// With pairs, two channels of a key are one element of a panel, two keys one
/// row of the packed values, and probabilities have a buffer of bf16.
///
/// The slots of a memory are columns of scores behind those of the keys. Every
/// query reads them, so with slots no panel is skipped.
///
/// Where the scores are all that is read, values have no width.
struct AttentionLayout {
  AttentionLayout(AttentionOp op, const CpuSchedule &schedule)
      : pairs(schedule.pairs), interleave(pairs ? 2 : 1), heads(op.getHeads()),
        queries(shapeOf(op.getQuery())[1]), keys(shapeOf(op.getKey())[1]),
        slots(op.getSlots()), columns(keys + slots),
        keyWidth(shapeOf(op.getQuery())[2] / heads),
        valueWidth(op.givesScoresAlone() ? 0
                                         : shapeOf(op.getValue())[2] / heads),
        panel(schedule.tileColumns),
        // A uniform empty row reads every value.
        // So does who reads the scores.
        skipsPanels(op.getCausal() && op.getEmptyRow() != EmptyRow::uniform &&
                    !slots && !op.getScores()),
        panels(skipsPanels ? llvm::divideCeil(columns, panel)
                           : columns / panel),
        tailLanes(llvm::alignTo(std::max(columns - panels * panel, int64_t(0)),
                                kTransposed)),
        blockRows(std::min(schedule.tileRows, queries)),
        packedRows(llvm::divideCeil(keyWidth, interleave)),
        valueRows(pairs && valueWidth ? llvm::divideCeil(columns, 2) : 0),
        scoreStride(panels * panel + tailLanes + 16),
        exponentialStride(
            valueRows ? paddedStride(panels * panel + tailLanes, 2) : 0),
        limitLanes(op.getKeyValid() ? panels * panel + tailLanes : 0) {}

  /// Keys and elements of them that are transposed at once.
  static constexpr int64_t kTransposed = 16;

  bool pairs;
  int64_t interleave; ///< factor: channels in an element of a packed key
  int64_t heads, queries, keys;
  int64_t slots, columns; ///< of a memory; of scores
  int64_t keyWidth, valueWidth, panel;
  bool skipsPanels;
  int64_t panels, tailLanes, blockRows;
  int64_t packedRows; ///< of a panel
  int64_t valueRows;  ///< of packed values
  int64_t scoreStride, exponentialStride;
  int64_t limitLanes; ///< of the row that scores may not exceed
};

/// A row of an operand.
struct OperandRow {
  mlir::Value matrix, row;
};

/// Keys that lie side by side in scratch.
struct KeyPanel {
  mlir::Value index;  ///< among the whole panels, null for the tail
  mlir::Value column; ///< the first key
  int64_t lanes;
  int64_t valid; ///< lanes that hold keys or slots, as far as that is known
                 ///< here
};

class AttentionEmitter {
public:
  AttentionEmitter(KernelEmitter &emitter, AttentionOp op);
  void emit();

private:
  void pack();
  void packKeys();
  void packValues();
  void writeLimits();
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
  void emitScores(mlir::Value row, int64_t height, mlir::Value panels);
  void emitAdditiveScores(mlir::Value row, int64_t height, mlir::Value panels);
  /// What is left to do where the scores are all that is read.
  void emitScoresAlone(mlir::Value row, int64_t height, mlir::Value panels);
  void emitSoftmax(mlir::Value row, int64_t height, mlir::Value panels);
  void emitMaximum(mlir::Value i, mlir::Value query, mlir::Value panels);
  /// The rows whose scores are too large to take exponentials of them as they
  /// are.
  mlir::Value areFar(mlir::Value from, int64_t height);
  void subtractMaximum(mlir::Value i, mlir::Value query, mlir::Value panels);
  mlir::Value isEmptyRow(mlir::Value query, mlir::Value panels);
  void emitExponentials(mlir::Value i, mlir::Value panels);
  double exponent();
  void emitValues(mlir::Value row, int64_t height, mlir::Value panels);

  /// Panels that some query of the block may read: all, or up to the last
  /// query's causal limit.
  mlir::Value panelCount(mlir::Value row, int64_t height);
  /// Keys below this index are kept by the causal mask of query `query`.
  mlir::Value causalLimit(mlir::Value query);
  /// The packed keys of a panel and the position of its first element.
  mlir::Value packedKeys(const KeyPanel &panel,
                         llvm::SmallVectorImpl<mlir::Value> &position);
  /// Scores that are stored, below the limits unless a scale or bias changes
  /// them first. One row or a tile.
  mlir::Value limitedEarly(mlir::Value scores, const KeyPanel &panel) {
    return limits && !scalesEarly() ? limited(scores, panel) : scores;
  }
  /// The lesser of each score and the limit of its key.
  mlir::Value limited(mlir::Value scores, const KeyPanel &panel);
  /// Scores of a panel with scale, bias and masks applied; masked are -inf.
  /// Before, they become the result that is the scores, where `isKept` says.
  mlir::Value maskedScores(mlir::Value score, mlir::Value query,
                           const KeyPanel &panel, bool isKept = false);
  void storeScores(mlir::Value score, mlir::Value query, const KeyPanel &panel,
                   mlir::Value isKey);
  /// The same for row `i`, which also become the scores in scratch.
  mlir::Value storeMaskedScores(mlir::Value score, mlir::Value i,
                                mlir::Value query, const KeyPanel &panel);
  mlir::Value keyIndices(const KeyPanel &panel);
  /// Lanes of a panel whose column is below `bound`.
  mlir::Value isBelow(const KeyPanel &panel, mlir::Value bound);
  /// Row of an operand that broadcasts to [batch, heads, q_len, kv_len], whose
  /// first axis is read at `entry`.
  mlir::Value broadcastRow(mlir::Value operand, mlir::Value entry,
                           mlir::Value query);
  mlir::Value findBiasEntry();

  KeyPanel panelAt(mlir::Value index) {
    return {index, e.mul(index, layout.panel), layout.panel, layout.panel};
  }
  KeyPanel tailPanel() {
    int64_t first = layout.panels * layout.panel;
    return {{}, e.index(first), layout.tailLanes, layout.columns - first};
  }
  void forEachPanel(mlir::Value panels,
                    llvm::function_ref<void(const KeyPanel &)> body);
  /// All lanes of `body`'s vectors, reduced to a scalar. `body` combines a
  /// panel with the panels before it, of which there are none at first: null.
  mlir::Value reducePanels(
      mlir::Value panels, mlir::Value start, mlir::vector::CombiningKind kind,
      llvm::function_ref<mlir::Value(const KeyPanel &, mlir::Value)> body);
  /// Lane by lane; `all` may be null.
  mlir::Value combine(mlir::vector::CombiningKind kind, mlir::Value all,
                      mlir::Value own);

  mlir::Value constant(double value, int64_t lanes) {
    return e.splat(value, e.vectorType(lanes));
  }
  mlir::Value splat(mlir::Value scalar, int64_t lanes) {
    return mlir::vector::BroadcastOp::create(
        b, loc, mlir::VectorType::get({lanes}, scalar.getType()), scalar);
  }
  template <typename OpTy, typename... Args> OpTy make(Args &&...args) {
    return OpTy::create(b, loc, std::forward<Args>(args)...);
  }
  /// Whether the softmax changes scores of whole panels before it reads them.
  bool rewritesScores() {
    return op.getMask() || op.getCausal() || scalesEarly();
  }
  /// Whether a row may have no kept key.
  bool canBeEmpty() {
    return !layout.slots && (op.getKeyValid() || op.getMask() ||
                             op.getCausal() || op.getScoreBias());
  }
  /// Whether scores are final before the softmax, scale included.
  bool scalesEarly() {
    return op.getScoreBias() || op.getScores() || temperature != 1 ||
           !(scale > 0);
  }

  KernelEmitter &e;
  mlir::OpBuilder &b;
  mlir::Location loc;
  AttentionOp op;
  AttentionLayout layout;
  int64_t queryBlocks; ///< units of a batch entry and head
  double scale, temperature;
  /// In scratch; null where the layout has none.
  mlir::Value packed, packedTail, values, scores, exponentials, limits, inverse;
  mlir::Value
      maxima; ///< the memory of `inverse` as one row, until it is needed
  // Of the current unit.
  mlir::Value next; ///< unit
  mlir::Value batch, head, queryRow, keyRow, keyColumn, valueColumn;
  mlir::Value biasEntry; ///< of the bias's first axis; null without a bias
};

} // namespace hova

#endif // HOVA_CODEGEN_CPU_RECIPES_ATTENTIONEMITTER_H
