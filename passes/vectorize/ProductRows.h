//===- ProductRows.h - A tile's product, row by row -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_PASSES_VECTORIZE_PRODUCTROWS_H
#define HOVA_PASSES_VECTORIZE_PRODUCTROWS_H

#include "dialect/TileOps.h"
#include "passes/vectorize/FlatBuffer.h"

namespace hova {

/// The vector of one row of a tile.
mlir::VectorType rowType(mlir::Type tile);

/// The loop of a product over k, with one vector per row of its tile.
llvm::SmallVector<mlir::Value> emitProductRows(const FlatBuilder &flat,
                                               TileProductOp op,
                                               const FlatBuffer &lhs,
                                               const FlatBuffer &rhs);

} // namespace hova

#endif // HOVA_PASSES_VECTORIZE_PRODUCTROWS_H
