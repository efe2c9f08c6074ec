//===- NarrowQueries.h - Queries of narrow sums over keys -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A turn takes the projections of some features, and means of values: what the
// keys' sums for a feature are of the sum of its weights. Both are f32 in
// memory, are in registers a turn before, and become boxes of 16 bits.

#ifndef HOVA_CODEGEN_CUDA_RECIPES_LINEAR_ATTENTION_NARROWQUERIES_H
#define HOVA_CODEGEN_CUDA_RECIPES_LINEAR_ATTENTION_NARROWQUERIES_H

#include "codegen/cuda/recipes/linear_attention/NarrowSums.h"

namespace hova {

/// A block has rows of queries of one head.
class NarrowQueryWriter : protected NarrowWriter {
public:
  NarrowQueryWriter(GroupEmitter &e, SummaryAttentionOp op);
  void write();

protected:
  /// What turns bring.
  enum class Brings { projections, sums, all };
  /// What a turn computes: `ones` are the sums of the weights of its features,
  /// as a row, null where it does not bring sums.
  using TakeFeatures = llvm::function_ref<Values(Expr turn, mlir::Value ones,
                                                 mlir::ValueRange state)>;
  /// Of rows, the exponent that features are relative to, and the largest of
  /// feature and sum where weights are scaled, or its exponent; null else.
  struct Maxima {
    mlir::Value most, reach;
  };

  /// Slots for rows of queries or keys: with a weight one box, as products read
  /// them, and otherwise the columns of each turn in a box.
  mlir::Value rowBoxes();
  /// Begins to copy the block's rows of a matrix there.
  Values copyRows(mlir::Value matrix, mlir::Value boxes);

  /// The projections, and sums over keys, of a turn: tiles of f32.
  Values bring(Expr turn, Brings what);
  /// Makes boxes of them, and returns the row of the features' sums.
  mlir::Value give(mlir::ValueRange brought, Expr turn, Brings what);
  Values takeFeatures(Brings what, mlir::ValueRange state, TakeFeatures take);
  /// Products of rows with the features of a turn.
  mlir::Value multiply(mlir::Value boxes, Expr turn);
  /// Maxima over features, of a row each.
  Maxima findMaxima(mlir::Value boxes);
  /// Of the queries; finds what weights are multiplied with.
  void findQueryMaxima();

  /// Exponents of features, relative to what is given for rows, or rectified
  /// products; without eps.
  mlir::Value featuresOf(mlir::Value products, mlir::Value shift);
  /// What rows' exponents are lowered by; null for relu.
  mlir::Value shiftOf(mlir::Value most, mlir::Value half);

  /// Adds `weights` times means to a result and a denominator.
  Values addMeans(mlir::Value weights, mlir::ValueRange before);
  Values startSums();
  void divideAndStore(mlir::Value result, mlir::Value denominator,
                      mlir::Value scale);

  bool rowsInside() const { return tokens % chosen.getRows() == 0; }
  Expr isFeature(Expr turn, Expr j) { return turn * step + j < count; }
  TileType boxTile(int64_t columns) {
    return tileOf(step, columns, TileDistribution::row);
  }

  SummaryAttentionOp op;
  int64_t tokens, turns;
  Expr row;
  mlir::Value sums;       ///< of the block's keys, or of those before them
  mlir::Value queries;    ///< slots
  mlir::Value most, half; ///< of each query; null for relu
  /// What weights of each query are multiplied with, and what undoes it; null
  /// unless weights are scaled.
  mlir::Value scale, size;
  mlir::Value projections, means; ///< slots of a turn

private:
  /// Shares of sums of values in the sums of their weights: means.
  /// `added` times the sum of all values comes first, unless it is null.
  mlir::Value shareOut(mlir::Value sums, mlir::Value ones, mlir::Value added);

  /// The sum of the values, and the number of keys: eps times of it is added to
  /// sums of softmax; null where it is not.
  mlir::Value plainValues, plainOnes;
  mlir::Value largestOne; ///< of the features' sums, where it is needed
};

} // namespace hova

#endif // HOVA_CODEGEN_CUDA_RECIPES_LINEAR_ATTENTION_NARROWQUERIES_H
