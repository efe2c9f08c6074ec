//===- FeatureRows.h - Features of tokens in scratch ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Linear attention computes with the features of a block of queries or keys: a
// matrix in scratch, one row per token. Products with the weight of the
// features are tiles; maxima, exponentials and sums then work row by row.
// Exponents are of base two, change of base and scale being one factor of the
// products.

#ifndef HOVA_CODEGEN_CPU_RECIPES_FEATUREROWS_H
#define HOVA_CODEGEN_CPU_RECIPES_FEATUREROWS_H

#include "codegen/cpu/recipes/KernelEmitter.h"
#include "codegen/cpu/recipes/ScratchLayout.h"
#include "dialect/LinearAttentionOps.h"
#include "dialect/Shapes.h"
#include "llvm/Support/MathExtras.h"

namespace hova {

/// What an operation on features is asked to compute.
struct FeatureSizes {
  template <typename OpT>
  FeatureSizes(OpT op, mlir::Value tokens, int64_t valueWidth)
      : map(op.getMap()), heads(op.getHeads()), block(op.getBlock()),
        tokens(shapeOf(tokens)[1]), keyWidth(shapeOf(tokens)[2] / heads),
        valueWidth(valueWidth),
        count(op.getFeatures() ? shapeOf(op.getFeatures())[1] : keyWidth),
        scale(op.getScale().convertToDouble()),
        eps(op.getEps().convertToDouble()) {
    block = std::min(block, this->tokens);
    blocks = llvm::divideCeil(this->tokens, block);
    last = this->tokens - (blocks - 1) * block;
    // A column more: what the sum of the plain values is multiplied with.
    stride = paddedStride(count + 1, 4);
  }

  FeatureMap map;
  int64_t heads, block, tokens, keyWidth, valueWidth;
  int64_t count; ///< features
  double scale, eps;
  int64_t blocks, last; ///< and the tokens of the last
  int64_t stride;       ///< of rows in scratch

  bool hasMaximum() const { return map == FeatureMap::softmax; }
  bool hasExponentials() const { return map != FeatureMap::relu; }
  /// What is added to exponents, of base two, that are relative to no maximum.
  double shift() const {
    return -llvm::numbers::log2e * featureExponentShift(map, count);
  }
};

class FeatureRows {
public:
  /// `tokens` is the operand that has heads, `weight` null or that of the
  /// features. Takes its scratch from `layout`.
  FeatureRows(KernelEmitter &emitter, const FeatureSizes &sizes,
              ScratchLayout &layout, mlir::Value tokens, mlir::Value weight);
  static void takeScratch(const FeatureSizes &sizes, ScratchLayout &layout);

  /// Rows 0 to `count` from row `first` of the operand: what exponents are made
  /// of, or rectified features, which are final.
  void emitProducts(mlir::Value first, mlir::Value head, int64_t count);
  /// The largest product of row `i`.
  mlir::Value maximum(mlir::Value i);
  /// Products of row `i` become 2^(product + shift - half norm) + eps.
  void exponentiate(mlir::Value i, mlir::Value shift, double eps);
  /// Row `i` becomes 0 unless `keep`.
  void keepIf(mlir::Value keep, mlir::Value i);
  void scale(mlir::Value i, mlir::Value factor);
  /// Row `i`, with the column after the features, becomes row `j` of `from`
  /// times `factor`; what is finite stays so.
  void enlarge(mlir::Value i, mlir::Value factor, mlir::Value from,
               mlir::Value j);
  /// Copies row `i`, with the column after the features, to row 0 of `to`.
  void save(mlir::Value i, mlir::Value to);
  mlir::Value sum(mlir::Value i);
  /// The sum over the first `count` elements of row `i` times those of `other`,
  /// a matrix of one row.
  mlir::Value dot(mlir::Value i, mlir::Value other, int64_t count);

  /// block x stride.
  mlir::Value matrix() const { return rows; }
  /// The same as features x tokens.
  mlir::Value transposed() const { return columns; }

private:
  using Chunk = llvm::function_ref<mlir::Value(mlir::Value column,
                                               int64_t lanes, int64_t valid)>;
  void emitHalfNorms(mlir::Value row, mlir::Value from, mlir::Value head,
                     int64_t height);
  void emitTile(mlir::Value row, mlir::Value from, mlir::Value head,
                int64_t height, mlir::Value column, int64_t lanes,
                int64_t valid);
  mlir::Value product(mlir::VectorType type, mlir::Value from, mlir::Value head,
                      mlir::Value column, mlir::IntegerAttr columns);
  void rewrite(mlir::Value i,
               llvm::function_ref<mlir::Value(mlir::Value, int64_t)> body);
  mlir::Value reduce(int64_t width, mlir::vector::CombiningKind kind,
                     Chunk chunk);
  mlir::Value exponentialOfAny(mlir::Value x, int64_t lanes);

  KernelEmitter &e;
  mlir::OpBuilder &b;
  mlir::Location loc;
  const FeatureSizes &sizes;
  mlir::Value source, weight; ///< buffers
  mlir::Value rows, columns, halfNorms;
};

} // namespace hova

#endif // HOVA_CODEGEN_CPU_RECIPES_FEATUREROWS_H
