//===- ProductRows.h - A tile's product, row by row -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_CPU_LOWER_PRODUCTROWS_H
#define HOVA_CODEGEN_CPU_LOWER_PRODUCTROWS_H

#include "codegen/cpu/TileOps.h"
#include "codegen/cpu/lower/FlatBuffer.h"

namespace hova {

/// The vector of one row of a tile.
mlir::VectorType rowType(mlir::Type tile);

/// How the loop of a product over its inner dimension k looks.
struct ProductLoop {
  /// Steps of k in one turn.
  int64_t steps = 1;
  /// Elements of f32 in a cache line, of which each is prefetched once; 0:
  /// nothing is.
  int64_t lineElements = 0;
};

/// The loop of a product over k, with one vector per row of its tile. `init`
/// has the rows that it begins with, or is empty.
llvm::SmallVector<mlir::Value>
emitProductRows(const FlatBuilder &flat, TileProductOp op,
                const FlatBuffer &lhs, const FlatBuffer &rhs,
                llvm::ArrayRef<mlir::Value> init, const ProductLoop &form);

} // namespace hova

#endif // HOVA_CODEGEN_CPU_LOWER_PRODUCTROWS_H
