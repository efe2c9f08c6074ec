//===- NarrowTurns.h - Turns of narrow queries over features ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A turn takes the projections of some features, and means of values: what the
// keys' sums for a feature are of the sum of its weights. Both are f32 in
// memory, are in registers a turn before, and become boxes of 16 bits.

#ifndef HOVA_CODEGEN_CUDA_RECIPES_LINEAR_ATTENTION_NARROWTURNS_H
#define HOVA_CODEGEN_CUDA_RECIPES_LINEAR_ATTENTION_NARROWTURNS_H

#include "codegen/cuda/recipes/linear_attention/NarrowSums.h"

namespace hova {

class NarrowTurns : protected NarrowWriter {
protected:
  /// What turns bring.
  enum class Brings { projections, sums, all };
  /// What a turn computes: `ones` are the sums of the weights of its features,
  /// as a row, null where it does not bring sums.
  using TakeFeatures = llvm::function_ref<Values(Expr turn, mlir::Value ones,
                                                 mlir::ValueRange state)>;

  NarrowTurns(GroupEmitter &e, SummaryAttentionOp op);

  /// What `take` makes of the state, turn after turn. Afterwards nobody reads
  /// slots.
  Values takeFeatures(Brings what, mlir::ValueRange state, TakeFeatures take);
  Expr isFeature(Expr turn, Expr j) { return turn * step + j < count; }

  SummaryAttentionOp op;
  int64_t tokens, turns;
  Expr row;                ///< the first of the block's queries
  mlir::Value sums;        ///< of the block's keys, or of those before them
  mlir::Value projections; ///< the slot of a turn's; null without a weight
  mlir::Value means;       ///< the slot of a turn's

private:
  /// The projections, and sums over keys, of a turn: tiles of f32.
  Values bring(Expr turn, Brings what);
  /// Makes boxes of them, and returns the row of the features' sums.
  mlir::Value give(mlir::ValueRange brought, Expr turn, Brings what);
  /// Shares of sums of values in the sums of their weights: means.
  /// `added` times the sum of all values comes first, unless it is null.
  mlir::Value shareOut(mlir::Value sums, mlir::Value ones, mlir::Value added);
  TileType boxTile(int64_t columns) {
    return tileOf(step, columns, TileDistribution::row);
  }

  /// The sum of the values, and the number of keys: eps times of it is added to
  /// sums of softmax; null where it is not.
  mlir::Value plainValues, plainOnes;
};

} // namespace hova

#endif // HOVA_CODEGEN_CUDA_RECIPES_LINEAR_ATTENTION_NARROWTURNS_H
