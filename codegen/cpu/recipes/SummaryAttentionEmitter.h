//===- SummaryAttentionEmitter.h - Queries that read sums -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Shared by the two files that write parts of the kernel:
// SummaryAttentionRecipe.cpp (merging, features and results of queries) and
// SummaryAttentionCausal.cpp (the keys of a causal block).

#ifndef HOVA_CODEGEN_CPU_RECIPES_SUMMARYATTENTIONEMITTER_H
#define HOVA_CODEGEN_CPU_RECIPES_SUMMARYATTENTIONEMITTER_H

#include "codegen/cpu/recipes/FeatureRows.h"
#include <optional>

namespace hova {

/// Sizes and the layout of the scratch.
struct SummaryAttentionLayout {
  SummaryAttentionLayout(SummaryAttentionOp op, const CpuSchedule &schedule)
      : sizes(op, op.getQuery(), shapeOf(op.getSummary())[4] - 1),
        group(op.getGroup()), isCausal(op.getKey() != nullptr),
        merged(shapeOf(op.getSummary())[2]),
        depth(sizes.count + (sizes.hasMaximum() ? 1 : 0)),
        stateStride(paddedStride(sizes.valueWidth, 4)),
        tileRows(std::min(schedule.tileRows, sizes.block)),
        tileColumns(schedule.tileColumns),
        paddedTokens(llvm::alignTo(sizes.block, tileColumns)) {}

  FeatureSizes sizes;
  int64_t group; ///< heads of queries that share one of keys
  bool isCausal;
  int64_t merged; ///< blocks of the summary
  /// Rows of the merged sums: the features, and of softmax the plain values.
  int64_t depth;
  int64_t stateStride, tileRows, tileColumns;
  int64_t paddedTokens; ///< of a block, to whole tiles
};

class SummaryAttentionEmitter {
public:
  /// The reciprocal of a denominator above this, and a product with it, stay in
  /// f32.
  static constexpr double kLeastDenominator = 0x1p-64;
  /// The features of a query whose denominator is smaller are enlarged until it
  /// is this, which the result does not see; where it is 0, since all products
  /// vanish, by as much as f32 has.
  static constexpr double kEnlargedDenominator = 0x1p-32;
  static constexpr double kLargestFactor = 0x1p+127;

  SummaryAttentionEmitter(KernelEmitter &emitter, SummaryAttentionOp op,
                          mlir::Value weight);
  static int64_t scratchBytes(SummaryAttentionOp op,
                              const CpuSchedule &schedule);
  void emit();

private:
  // Merged sums.
  void mergeBefore(mlir::Value unit, mlir::Value block);
  void clearState();
  void mergeSlot(mlir::Value slot);
  mlir::Value exponential(mlir::Value exponent);

  // Queries.
  void emitBlock(int64_t tokens);
  void emitQueryFeatures(int64_t tokens);
  /// Whether a denominator may be small and not 0.
  bool canVanish();
  mlir::Value denominatorOf(mlir::Value sum, mlir::Value factor);
  void writeInverse(mlir::Value place, llvm::function_ref<mlir::Value()> sum,
                    llvm::function_ref<void(mlir::Value)> enlarge);
  void emitResults(mlir::Value row, int64_t height, mlir::Value limit);

  // Keys of a causal block.
  void emitKeyFeatures(int64_t tokens);
  void writeValid(int64_t tokens);
  mlir::Value isValid(mlir::Value token);
  void transposeKeys(int64_t tokens);
  void transposeBlock(mlir::Value token, int64_t tokens, mlir::Value feature,
                      int64_t features);
  void emitCausalRows(int64_t tokens);
  void emitScores(mlir::Value row, int64_t height, mlir::Value tiles,
                  mlir::Value to);
  mlir::Value emitCausalSum(mlir::Value i, mlir::Value query,
                            mlir::Value tiles);
  void emitCausalRow(mlir::Value row, mlir::Value i, mlir::Value tiles);
  mlir::Value maskScores(mlir::Value i, mlir::Value query, mlir::Value column,
                         mlir::Value scores);

  template <typename OpTy, typename... Args> OpTy make(Args &&...args) {
    return e.make<OpTy>(std::forward<Args>(args)...);
  }

  KernelEmitter &e;
  mlir::OpBuilder &b;
  mlir::Location loc;
  SummaryAttentionOp op;
  SummaryAttentionLayout layout;
  const FeatureSizes &sizes = layout.sizes;
  ScratchLayout scratch;
  FeatureRows queries;
  std::optional<FeatureRows> keys;
  /// Merged sums [depth][value_width], those of ones [1][depth], the exponent
  /// that they are relative to [1][1], and the inverse denominators of a row
  /// block [rows][1].
  mlir::Value state, ones, peak, inverse;
  /// Of a causal block: features [features][tokens], exponents that they are
  /// relative to [1][tokens], which keys count [1][tokens], scores of a row
  /// block [rows][tokens], and the features of one query as they were
  /// [1][features + 1].
  mlir::Value packed, peaks, valid, scores, saved;
  mlir::Value slots, result;
  // Of the current unit.
  mlir::Value batch, head, keyHead, token, queryRow;
};

} // namespace hova

#endif // HOVA_CODEGEN_CPU_RECIPES_SUMMARYATTENTIONEMITTER_H
