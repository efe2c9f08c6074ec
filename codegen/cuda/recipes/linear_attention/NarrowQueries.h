//===- NarrowQueries.h - Queries of narrow sums over keys -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// What a block of threads weighs the means of a turn with: features of queries
// times the features' sums. f16 has no range for these weights, so that those
// of a query are relative to its largest, which turns of their own find first.

#ifndef HOVA_CODEGEN_CUDA_RECIPES_LINEAR_ATTENTION_NARROWQUERIES_H
#define HOVA_CODEGEN_CUDA_RECIPES_LINEAR_ATTENTION_NARROWQUERIES_H

#include "codegen/cuda/recipes/linear_attention/NarrowTurns.h"

namespace hova {

/// A block has rows of queries of one head.
class NarrowQueryWriter : protected NarrowTurns {
public:
  NarrowQueryWriter(GroupEmitter &e, SummaryAttentionOp op);
  void write();

protected:
  /// Of rows, the exponent that features are relative to, and the largest of
  /// feature and sum where weights are scaled, or its exponent; null else.
  struct Maxima {
    mlir::Value most, reach;
  };

  /// Slots for rows of queries or keys: with a weight one box, as products read
  /// them, and otherwise the columns of each turn in a box.
  mlir::Value rowBoxes();
  /// Begins to copy the block's rows of a matrix there.
  Values copyRows(mlir::Value matrix, mlir::Value boxes) {
    return FeatureWriter::copyRows(matrix, row, boxes, rowsInside());
  }
  bool rowsInside() const { return areWhole(tokens, chosen.getRows()); }

  /// Products of rows with the features of a turn.
  mlir::Value multiply(mlir::Value boxes, Expr turn);
  /// Maxima over features, of a row each.
  Maxima findMaxima(mlir::Value boxes);
  /// Of the queries; finds what weights are multiplied with.
  void findQueryMaxima();
  /// What rows' exponents are lowered by; null for relu.
  mlir::Value shiftOf(mlir::Value most, mlir::Value half);
  /// Exponentials of features, relative to what is given for rows, or rectified
  /// products; without eps.
  mlir::Value featuresOf(mlir::Value products, mlir::Value shift);

  Values startSums();
  /// Adds `weights` times means to a result and a denominator.
  Values addMeans(mlir::Value weights, mlir::ValueRange before);

  mlir::Value queries;    ///< slots
  mlir::Value most, half; ///< of each query; null for relu
  /// What weights of each query are multiplied with, and what undoes it; null
  /// unless weights are scaled.
  mlir::Value scale, size;

private:
  mlir::Value largestOne; ///< of the features' sums, where it is needed
};

} // namespace hova

#endif // HOVA_CODEGEN_CUDA_RECIPES_LINEAR_ATTENTION_NARROWQUERIES_H
