//===- FeatureWriter.h - What both halves of linear attention share -------===//
// SPDX-License-Identifier: Apache-2.0
//
// Both halves multiply twice, as an attention does, and everything is f32, or
// sums are (NarrowSums.h): the sums are over features of keys, which are
// weights of values, and queries read these sums with features of their own.
//
//   sums      features x keys, times values           (hova.key_summary)
//   results   queries x features, times sums          (hova.summary_attention)
//
// Copies of the next turn are on their way while one is computed. The maximum
// of softmax features is found first, by the same products.

#ifndef HOVA_CODEGEN_CUDA_RECIPES_LINEAR_ATTENTION_FEATUREWRITER_H
#define HOVA_CODEGEN_CUDA_RECIPES_LINEAR_ATTENTION_FEATUREWRITER_H

#include "codegen/cuda/recipes/CudaKernels.h"
#include "codegen/cuda/recipes/GroupEmitter.h"
#include "dialect/Shapes.h"
#include "dialect/linear_attention/LinearAttentionOps.h"
#include "dialect/ranges/RangeMistakes.h"
#include "llvm/Support/MathExtras.h"

namespace hova {

/// The schedule of either half, whose results have so many columns a head.
CudaScheduleAttr scheduleSums(mlir::MLIRContext *context, int64_t width);

/// Blocks of a launch for each block of keys: one where features are relative
/// to a maximum over all.
int64_t countRowBlocks(KeySummaryOp op, int64_t blockRows);

class FeatureWriter {
protected:
  using Values = KernelBuilder::Values;
  using Elements = KernelBuilder::Elements;
  using Copy = llvm::function_ref<Values(Expr turn, Expr slot)>;
  using Take =
      llvm::function_ref<Values(Expr turn, Expr slot, mlir::ValueRange state)>;

  template <typename OpT>
  FeatureWriter(GroupEmitter &e, OpT op, int64_t keyWidth, int64_t valueWidth)
      : e(e), b(e.b), chosen(e.schedule), map(op.getMap()),
        count(op.getFeatures() ? shapeOf(op.getFeatures())[1] : keyWidth),
        keyWidth(keyWidth), valueWidth(valueWidth),
        rows(count + summaryExtraRows(map)),
        scale(op.getScale().convertToDouble()),
        eps(op.getEps().convertToDouble()),
        weight(op.getFeatures() ? e.matrix(op.getFeatures()) : mlir::Value()),
        keyValid(op.getKeyValid() ? maskOf(op.getKeyValid()) : mlir::Value()),
        sequence(extentOf(tokensIn(op))) {}

  bool hasMaximum() const { return map == FeatureMap::softmax; }
  bool hasExponentials() const { return map != FeatureMap::relu; }
  /// Whether sums of keys have eps besides, of all values and of all keys.
  bool addsFeatures() const { return hasMaximum() && eps != 0; }
  /// Of products, in front of a power of two or a rectifier.
  double factor() const {
    return scale * (hasExponentials() ? llvm::numbers::log2e : 1);
  }
  /// What exponents of base two are lowered by.
  double shift() const {
    return llvm::numbers::log2e * featureExponentShift(map, count);
  }

  /// Tiles of f32 with the rows of a block, and with one row.
  TileType tile(int64_t columns,
                TileDistribution lanes = TileDistribution::product);
  TileType rowTile(int64_t columns);
  /// Half the squares of scaled rows, with the factor of the exponent, as a
  /// column; of a tile of any type of numbers.
  mlir::Value halfNorms(mlir::Value x);
  /// 1 for keys from `first` on that count, as i32, along the row or the column
  /// that `type` has; null if nothing masks.
  mlir::Value validKeys(TileType type, Expr first);

  // Matrices.
  mlir::Value slots(int64_t boxes, int64_t boxRows, int64_t columns);
  /// Begins to copy all columns of rows from `row` on to a box.
  mlir::Value copyBox(mlir::Value matrix, Expr row, mlir::Value slots,
                      Expr slot, bool rowsInside = false);

  /// The same to boxes beside each other.
  Values copyRows(mlir::Value matrix, Expr row, mlir::Value boxes,
                  bool rowsInside);
  /// Of keys whose columns are features, those of the keys from `firstKey` on:
  /// rows from feature `firstRow` on, in a tile of f32.
  mlir::Value columnsOfKeys(mlir::Value keys, TileType type, Expr firstRow,
                            Expr firstKey);
  /// Of the block of threads: the keys and values of its head, which of them
  /// are its block, `end` from `first` on, and where the sums over these go.
  struct KeyBlock {
    mlir::Value keys, values, to;
    Expr first, end;
  };
  KeyBlock keyBlockOf(KeySummaryOp op);
  /// How many turns a loop takes: `most`, or in a run with a range of tokens
  /// `here`, one at least.
  struct TurnCount {
    int64_t most;
    Expr here; ///< null where all blocks take as many
  };
  /// Those over the keys of a block, of `step` keys each.
  TurnCount turnsOf(const KeyBlock &block, int64_t most, int64_t step);
  /// Tokens of the block's sequence, `tokens` where all have as many.
  Expr tokensOf(int64_t tokens);
  /// Whether tokens are whole blocks of so many rows in every run.
  bool areWhole(int64_t tokens, int64_t blockRows) const {
    return !e.haveTokenRanges() && tokens % blockRows == 0;
  }
  /// The sums over keys that the queries of the block of threads read.
  mlir::Value sumsOf(SummaryAttentionOp op);

  // Elements.
  Expr rectified(Expr x) { return select(x < 0, 0, x); }
  /// Of a key, from its product; `half` of its norm, and the maximum `most`,
  /// are null where features do not have them.
  Expr keyFeature(Expr product, Expr half, Expr most) {
    Expr exponent = product * factor();
    return hasExponentials()
               ? b.power(exponent - (most ? most : shift()) - half)
               : rectified(exponent) + eps;
  }
  /// Whether a key counts: it is before `end`, and its mask, if that is not
  /// null, has it.
  Expr counts(Expr key, Expr end, Expr valid) {
    return (key < end) & (valid ? valid != 0 : Expr());
  }

  /// Turns that copy a box each: `copy` begins that of a turn to a slot, `take`
  /// makes the state after it of the one before. What all turns read is on its
  /// way as `resident`. Afterwards nobody reads slots.
  Values takeTurns(TurnCount turns, mlir::ValueRange resident,
                   mlir::ValueRange state, Copy copy, Take take);

  // Queries.
  /// What turns add up for a block of queries: the result, the denominator, and
  /// where eps is added to sums of keys, the features.
  struct Sums {
    mlir::Value result, denominator, features;
  };
  /// Of a causal block, the maximum of the keys before it, for all rows.
  mlir::Value maximumBefore(mlir::Value sums);
  /// That of the keys up to each, of the maximum of each key of the block,
  /// which begins with token `row`.
  mlir::Value maximaUpTo(mlir::Value maxima, mlir::Value sums, Expr row,
                         Expr tokens);
  /// Adds eps times the features' sums times what the last rows of `sums` are:
  /// the sum of all values, and the number of keys.
  void addPlain(Sums &all, mlir::Value sums);
  /// Divides, and stores rows from `row` on. `most` and `half` are those of the
  /// queries' exponentials. What is given is `scale` times the sums, a column,
  /// unless that is null.
  void divideAndStore(SummaryAttentionOp op, Expr row, const Sums &all,
                      mlir::Value most, mlir::Value half,
                      mlir::Value scale = {});

private:
  static mlir::Value tokensIn(KeySummaryOp op) { return op.getKey(); }
  static mlir::Value tokensIn(SummaryAttentionOp op) { return op.getQuery(); }
  mlir::Value maskOf(mlir::Value keyValid);

protected:
  GroupEmitter &e;
  KernelBuilder &b;
  CudaScheduleAttr chosen;
  FeatureMap map;
  /// Features, columns of heads, and rows of a summary.
  int64_t count, keyWidth, valueWidth, rows;
  double scale, eps;
  mlir::Value weight; ///< stored [features][key width]; null without
  /// Null without; a row of all keys of each item, or a column of those of the
  /// block's sequence.
  mlir::Value keyValid;
  Extent sequence; ///< whose tokens the block of threads has
  /// Of the turn that is written.
  bool isLastTurn = false;
};

} // namespace hova

#endif // HOVA_CODEGEN_CUDA_RECIPES_LINEAR_ATTENTION_FEATUREWRITER_H
