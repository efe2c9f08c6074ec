//===- SummaryAttentionWriter.h - Queries of sums over keys -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_CUDA_RECIPES_LINEAR_ATTENTION_SUMMARYATTENTIONWRITER_H
#define HOVA_CODEGEN_CUDA_RECIPES_LINEAR_ATTENTION_SUMMARYATTENTIONWRITER_H

#include "codegen/cuda/recipes/linear_attention/FeatureWriter.h"

namespace hova {

/// A block has rows of queries of one head.
class SummaryAttentionWriter : protected FeatureWriter {
public:
  SummaryAttentionWriter(GroupEmitter &e, SummaryAttentionOp op);
  void write();

protected:
  /// A head of queries or keys, of which the block has the rows from `row` on
  /// in group memory: with a weight in one box, as products read them, and
  /// otherwise the columns of each turn in a box.
  struct Rows {
    mlir::Value matrix, box;
  };

  Rows rowsOf(mlir::Value matrix);
  /// Begins to copy them.
  Values copyRows(const Rows &from) {
    return FeatureWriter::copyRows(from.matrix, row, from.box, rowsInside());
  }
  mlir::Value halfNormsOf(const Rows &from);
  /// Turns over all features, and over the sums of keys.
  Values takeFeatures(mlir::ValueRange resident, bool withSums,
                      mlir::ValueRange state, Take take);
  /// Products of rows with the features of a turn.
  mlir::Value multiply(const Rows &from, Expr turn, Expr slot);
  /// The largest product with a feature, times the factor, of each row.
  Values findMaxima(llvm::ArrayRef<Rows> of);
  /// What queries weigh the sums of keys of a turn with.
  mlir::Value weigh(mlir::Value products, Expr turn);
  Expr isFeature(Expr turn, Expr j) { return turn * kSumsStep + j < count; }

  Values startSums();
  /// Adds the sums of the features of a turn.
  Values addSums(mlir::Value weights, Expr turn, Expr slot,
                 mlir::ValueRange before);
  Sums finishSums(mlir::ValueRange state);

  bool rowsInside() const { return areWhole(tokens, chosen.getRows()); }

  SummaryAttentionOp op;
  int64_t tokens;
  Expr row;
  Rows queries;
  mlir::Value sums;       ///< of the block's keys, or of those before them
  mlir::Value most, half; ///< of each query; null for relu

private:
  mlir::Value ws, ss;
};

/// The same where a query reads the keys up to its own token: those before its
/// block by their sums, those of the block by products of features.
class CausalSummaryWriter : SummaryAttentionWriter {
public:
  CausalSummaryWriter(GroupEmitter &e, SummaryAttentionOp op);
  void write();

private:
  /// Features of the block's keys of a turn, as weights of their values.
  mlir::Value weighKeys(mlir::Value products, Expr turn);
  /// Makes sums over the keys before the block relative to a query's maximum.
  void rescale(Sums &sums);
  /// Adds what the keys of the block give, whose products with the queries'
  /// features are `scores`.
  void addBlock(Sums &sums, mlir::Value scores);

  Rows keys;
  mlir::Value keyFeatures; ///< slots of a turn
  mlir::Value keyHalf;     ///< of each key; null for relu
  mlir::Value keyMost;     ///< up to each key; null but for softmax
};

} // namespace hova

#endif // HOVA_CODEGEN_CUDA_RECIPES_LINEAR_ATTENTION_SUMMARYATTENTIONWRITER_H
