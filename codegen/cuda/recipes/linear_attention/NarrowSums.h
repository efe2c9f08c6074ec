//===- NarrowSums.h - Linear attention by products of 16 bits ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Where a linear attention is `narrow`, what its kernels multiply has 16 bits
// and sums stay f32, so that tensor cores multiply. Three products have four
// kinds of factors besides queries, keys and values, and each has a range of
// its own:
//
//   projections   numbers of the model; as they are
//   features of keys, times values
//                 bf16 has the range of f32. For f16 those of a row, one
//                 feature of all keys, are relative to the largest of the row,
//                 as scores are, and the sum is multiplied with it
//   sums over keys, as queries read them
//                 their share of the features' sum: a mean of values, which is
//                 as large as values are, whatever the features are
//   features of queries, times the features' sums
//                 as those of keys, rows being queries
//
// So no number leaves its type that f32 would hold, and what is lost below the
// range of f16 is 2^-24 of the largest of its row.

#ifndef HOVA_CODEGEN_CUDA_RECIPES_LINEAR_ATTENTION_NARROWSUMS_H
#define HOVA_CODEGEN_CUDA_RECIPES_LINEAR_ATTENTION_NARROWSUMS_H

#include "codegen/cuda/recipes/linear_attention/FeatureWriter.h"

namespace hova {

/// The schedule of the narrow sums over keys of `rows` features, and that of
/// their queries, of which a causal block has kSumsRows.
CudaScheduleAttr scheduleNarrowSummary(mlir::MLIRContext *context, int64_t rows,
                                       int64_t keyWidth, int64_t valueWidth);
CudaScheduleAttr scheduleNarrowQueries(mlir::MLIRContext *context,
                                       int64_t queries, bool isCausal,
                                       int64_t keyWidth, int64_t valueWidth);

/// What a block of threads does for an operation that is narrow.
void emitNarrowSummary(GroupEmitter &e, KeySummaryOp op);
void emitNarrowQueries(GroupEmitter &e, SummaryAttentionOp op);

/// What writers of narrow kernels share.
class NarrowWriter : protected FeatureWriter {
protected:
  template <typename OpT>
  NarrowWriter(GroupEmitter &e, OpT op, int64_t keyWidth, int64_t valueWidth)
      : FeatureWriter(e, op, keyWidth, valueWidth), step(chosen.getStep()),
        keyColumns(boxColumns(keyWidth)),
        element(mlir::getElementTypeOrSelf(op->getOperand(0))) {}

  /// Whether factors need a range of their own, which f32 has and they not.
  bool isScaled() const { return element.isF16(); }

  /// A tile with other rows than the block's.
  TileType tileOf(int64_t rows, int64_t columns,
                  TileDistribution lanes = TileDistribution::product) {
    return tile(1).with({rows, columns}, b.f32(), lanes);
  }
  /// A tile of f32 rounded to what products read.
  mlir::Value narrow(mlir::Value wide);
  /// Numbers of 16 bits as f32.
  mlir::Value widened(mlir::Value rounded);
  /// A column and the sums of rows of weights, as they are multiplied: what is
  /// divided by them is weighed with numbers that add up to one.
  mlir::Value addSums(mlir::Value before, mlir::Value weights);
  /// Half the norms of the rows of a box, as a column.
  mlir::Value halfNormsOfBox(mlir::Value box, Expr slot);

  /// max(x, 0) of products, NaN where they are; a feature without eps.
  Expr rectify(Expr product) {
    Expr zero = b.number(0);
    return b.compute<mlir::arith::MaximumFOp>(product * factor(), zero);
  }

  /// Of exponents that are products times the factor the largest is found
  /// without it, which costs nothing for each, where it turns none around.
  bool maximumIsRaw() const { return factor() > 0; }
  Expr beforeMaximum(Expr product) {
    return maximumIsRaw() ? product : product * factor();
  }
  mlir::Value afterMaximum(mlir::Value most);

  int64_t step, keyColumns;
  mlir::Type element; ///< of what is multiplied, 16 bits
};

} // namespace hova

#endif // HOVA_CODEGEN_CUDA_RECIPES_LINEAR_ATTENTION_NARROWSUMS_H
