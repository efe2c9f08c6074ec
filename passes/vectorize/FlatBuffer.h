//===- FlatBuffer.h - A buffer as one dimension ---------------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_PASSES_VECTORIZE_FLATBUFFER_H
#define HOVA_PASSES_VECTORIZE_FLATBUFFER_H

#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace hova {

/// A buffer as one dimension: element (i, j, ..) is at
/// `offset + i * strides[0] + j * strides[1] + ..` of `memory`.
struct FlatBuffer {
  mlir::Value memory;
  llvm::SmallVector<int64_t> strides;
  int64_t offset = 0;

  /// Distance of two rows of a matrix.
  int64_t rowStride() const { return strides[strides.size() - 2]; }
};

/// Builds the view behind the definition of `memref`. Fails, without a word,
/// where shape, strides or offset are not static.
mlir::FailureOr<FlatBuffer> flattenBuffer(mlir::OpBuilder &builder,
                                          mlir::Value memref);

} // namespace hova

#endif // HOVA_PASSES_VECTORIZE_FLATBUFFER_H
