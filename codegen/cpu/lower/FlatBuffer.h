//===- FlatBuffer.h - A buffer as one dimension ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Every access to a tile's buffer has one index into a flat view of the whole
// buffer: a base outside the loop over k, plus k, plus a constant for the row.
// The constant becomes the displacement of the machine instruction.

#ifndef HOVA_CODEGEN_CPU_LOWER_FLATBUFFER_H
#define HOVA_CODEGEN_CPU_LOWER_FLATBUFFER_H

#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace hova {

/// A buffer as one dimension: element (i, j, ..) is at
/// `offset + i * strides[0] + j * strides[1] + ..` of `memory`.
struct FlatBuffer {
  mlir::Value memory;
  llvm::SmallVector<int64_t> strides;
  int64_t offset = 0;
  mlir::Value moved; ///< added to it; null where all of it is static

  mlir::Type element() const;
  /// Distance of two rows of a matrix.
  int64_t rowStride() const { return strides[strides.size() - 2]; }
};

/// Builds the view after the definition of `memref`. Fails, without a word,
/// where shape or strides are not static.
mlir::FailureOr<FlatBuffer> flattenBuffer(mlir::OpBuilder &builder,
                                          mlir::Value memref);

/// A vector type and which of its lanes are in memory.
struct Lanes {
  mlir::VectorType type;
  mlir::Value mask; ///< null where all are
};

/// Builds accesses to flat buffers.
class FlatBuilder {
public:
  FlatBuilder(mlir::OpBuilder &builder, mlir::Location loc)
      : builder(builder), loc(loc) {}

  mlir::OpBuilder &builder;
  const mlir::Location loc;

  mlir::Value index(int64_t value) const;
  mlir::Value plus(mlir::Value index, int64_t constant) const;
  /// Index of the element at a position that is known at run time.
  mlir::Value at(const FlatBuffer &buffer, mlir::ValueRange position) const;
  /// The same index, as a whole: loop strength reduction would split the base
  /// of a row block into its terms and compute a minimum and a multiplication
  /// again in every step over k.
  mlir::Value pin(mlir::Value index) const;

  /// The first `valid` of the type's lanes, all where it is not given.
  Lanes lanesOf(mlir::VectorType type, std::optional<uint64_t> valid) const;
  /// Lanes that are not in memory are zero. Floats of 16 bits are widened to
  /// the lanes' type, and narrowed where they are stored.
  mlir::Value load(const FlatBuffer &buffer, mlir::Value index,
                   const Lanes &lanes) const;
  /// One float as f32.
  mlir::Value loadScalar(const FlatBuffer &buffer, mlir::Value index) const;
  void store(mlir::Value vector, const FlatBuffer &buffer, mlir::Value index,
             const Lanes &lanes) const;
};

} // namespace hova

#endif // HOVA_CODEGEN_CPU_LOWER_FLATBUFFER_H
