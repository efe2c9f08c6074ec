//===- OnlineSoftmax.h - Weights of tiles that come one by one ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Milakov and Gimelshein, Online normalizer calculation for softmax: weights
// are relative to the greatest score of a row so far, and where that grows,
// what has been added up is multiplied with a factor.

#ifndef HOVA_CODEGEN_CUDA_RECIPES_ONLINESOFTMAX_H
#define HOVA_CODEGEN_CUDA_RECIPES_ONLINESOFTMAX_H

#include "codegen/cuda/recipes/KernelBuilder.h"

namespace hova {

class OnlineSoftmax {
public:
  /// Of scores that are multiplied with `scoreFactor` in front of exponentials
  /// and are raw ones where `isRaw`; of rows that may have no score but -inf
  /// where `mayBeNone`. Weights become numbers of `element`; `offset` is added
  /// to their exponents.
  OnlineSoftmax(KernelBuilder &b, mlir::Type element, double scoreFactor,
                bool isRaw, bool mayBeNone, Expr offset);

  /// Of a tile, and what those of the tiles before are multiplied with to be
  /// relative to its maxima too.
  struct Weights {
    mlir::Value ofTile, shrink;
  };
  /// exp2(factor (x - most) + offset) of the scores of a tile; those before are
  /// relative to the maxima `before`.
  Weights weigh(mlir::Value scores, mlir::Value before, mlir::Value most);
  /// The maxima of rows; where one is -inf nothing is left, and it is 0.
  mlir::Value finite(mlir::Value most);
  /// Weights of 1 for the keys of rows without a maximum: all, or those from
  /// `firstKey` on before `end`.
  mlir::Value evenly(mlir::Value weights, mlir::Value most, Expr firstKey = {},
                     Expr end = {});

private:
  using Elements = KernelBuilder::Elements;

  mlir::Value factorsOf(mlir::Value most);
  mlir::Value shiftsOf(mlir::Value most, mlir::Value factors);

  KernelBuilder &b;
  mlir::Type element;
  double scoreFactor, factor;
  bool isRaw, mayBeNone;
  Expr offset;
};

} // namespace hova

#endif // HOVA_CODEGEN_CUDA_RECIPES_ONLINESOFTMAX_H
