//===- AttentionEmitter.h - The loops of one attention --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Shared by the three files that write parts of an attention kernel:
// AttentionLoops.cpp (blocks, scores, values), AttentionKeys.cpp (packing) and
// AttentionSoftmax.cpp (masks, powers, sums).

#ifndef HOVA_PASSES_TILE_ATTENTIONEMITTER_H
#define HOVA_PASSES_TILE_ATTENTIONEMITTER_H

#include "dialect/AttentionOps.h"
#include "dialect/Shapes.h"
#include "passes/tile/KernelEmitter.h"
#include "llvm/Support/MathExtras.h"

namespace hova {

/// Sizes of one attention and the layout of its scratch, in floats.
struct AttentionLayout {
  AttentionLayout(AttentionOp op, const Schedule &schedule)
      : heads(op.getHeads()), queries(shapeOf(op.getQuery())[1]),
        keys(shapeOf(op.getKey())[1]),
        keyWidth(shapeOf(op.getQuery())[2] / heads),
        valueWidth(shapeOf(op.getValue())[2] / heads),
        panel(schedule.tileColumns), panels(llvm::divideCeil(keys, panel)),
        blockRows(std::min(schedule.tileRows, queries)),
        scoreStride(panels * panel + 16) {}

  int64_t heads, queries, keys, keyWidth, valueWidth, panel, panels, blockRows,
      scoreStride;
  int64_t packedFloats() const { return panels * keyWidth * panel; }
  int64_t scoreFloats() const { return blockRows * scoreStride; }
  int64_t bytes() const {
    return 4 *
           (llvm::alignTo(packedFloats(), 16) +
            llvm::alignTo(scoreFloats(), 16) + llvm::alignTo(blockRows, 16));
  }
};

class AttentionEmitter {
public:
  AttentionEmitter(KernelEmitter &emitter, AttentionOp op);
  void emit();

private:
  using FastMath = mlir::arith::FastMathFlags;
  static constexpr FastMath kMaxFlags = FastMath::nnan | FastMath::nsz;

  void packKeys();
  void packBlock(mlir::Value block, int64_t keys, mlir::Value channel,
                 int64_t channels);
  void emitBlock(mlir::Value row, int64_t height);
  void emitScores(mlir::Value row, int64_t height, mlir::Value panels);
  void emitAdditiveScores(mlir::Value row, int64_t height, mlir::Value panels);
  void emitSoftmax(mlir::Value row, int64_t height, mlir::Value panels);
  void emitValues(mlir::Value row, int64_t height, mlir::Value panels);

  /// Panels that some query of the block may read: all, or up to the last
  /// query's causal limit.
  mlir::Value panelCount(mlir::Value row, int64_t height);
  /// Keys below this index are kept by the causal mask of query `query`.
  mlir::Value causalLimit(mlir::Value query);
  /// Scores of a panel with scale, bias and masks applied; masked are -inf.
  mlir::Value maskedScores(mlir::Value row, mlir::Value query,
                           mlir::Value panel, bool isTail);
  mlir::Value keyIndices(mlir::Value panel);
  /// Row of an operand that broadcasts to [batch, heads, q_len, kv_len].
  mlir::Value broadcastRow(mlir::Value operand, mlir::Value query);
  /// `for panel < panels`, with the last one apart where it is partial and
  /// known to be the last. `body(panel, isTail, carried)`.
  mlir::Value foldPanels(
      mlir::Value panels, mlir::Value start,
      llvm::function_ref<mlir::Value(mlir::Value, bool, mlir::Value)> body);

  mlir::Value constant(double value) { return e.splat(value, lanesType); }
  mlir::Value splat(mlir::Value scalar) {
    return mlir::vector::BroadcastOp::create(
        b, loc, mlir::VectorType::get({layout.panel}, scalar.getType()),
        scalar);
  }
  template <typename OpTy, typename... Args> OpTy make(Args &&...args) {
    return OpTy::create(b, loc, std::forward<Args>(args)...);
  }
  bool hasTail() const { return layout.keys % layout.panel != 0; }
  /// Whether masks or biases touch whole panels.
  bool isGeneral() {
    return op.getScoreBias() || op.getMask() || op.getKeyValid() ||
           op.getCausal() || !(scale > 0);
  }
  /// Whether scores are final before the softmax, scale included.
  bool scalesEarly() { return op.getScoreBias() || !(scale > 0); }

  KernelEmitter &e;
  mlir::OpBuilder &b;
  mlir::Location loc;
  AttentionOp op;
  AttentionLayout layout;
  double scale;
  mlir::VectorType lanesType;
  mlir::Value packed, scores, inverse;
  // Of the current unit.
  mlir::Value batch, head, queryRow, keyRow, keyColumn, valueColumn;
};

} // namespace hova

#endif // HOVA_PASSES_TILE_ATTENTIONEMITTER_H
