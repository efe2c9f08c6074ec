//===- Similarity.h - What makes raw scores of queries and keys -----------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_CUDA_RECIPES_SIMILARITY_H
#define HOVA_CODEGEN_CUDA_RECIPES_SIMILARITY_H

#include "codegen/cuda/recipes/CudaKernels.h"
#include <memory>

namespace hova {

/// Makes a tile of raw scores, in f32, of the queries of a block and a box of
/// keys.
class Similarity {
public:
  using Values = KernelBuilder::Values;
  /// Keys from row `first` on of a matrix, and the slot that they have.
  struct Box {
    mlir::Value keys;
    Expr first, slot;
  };
  virtual ~Similarity() = default;

  /// Begins to bring the queries from `row` on; `inside`: the matrix has all.
  virtual void begin(Expr row, bool inside) = 0;
  /// Makes slots for so many boxes of keys.
  virtual void makeSlots(int64_t boxes) {}
  /// Begins to bring keys, and says what to wait for.
  virtual Values copy(const Box &box, bool inside) { return {}; }
  /// Queries are there from here on, and what copies brought that began before
  /// them.
  virtual void awaitQueries(mlir::ValueRange before = {}) = 0;
  virtual mlir::Value multiply(const Box &box) = 0;
};

/// Of the heads of an attention with this schedule: sums of products, or of the
/// terms of another similarity (dialect/Similarity.td).
std::unique_ptr<Similarity> makeSimilarity(KernelBuilder &b,
                                           CudaScheduleAttr schedule,
                                           const HeadMatrices &head);

} // namespace hova

#endif // HOVA_CODEGEN_CUDA_RECIPES_SIMILARITY_H
