//===- ProductPanels.h - Weight panels and the tiles that read them -------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_CPU_RECIPES_PRODUCTPANELS_H
#define HOVA_CODEGEN_CPU_RECIPES_PRODUCTPANELS_H

#include "codegen/cpu/recipes/KernelEmitter.h"

namespace hova {

/// The panels of a weight, null where that is; an error if it has none.
mlir::FailureOr<mlir::Value> packedWeight(KernelEmitter &e, mlir::Operation *op,
                                          mlir::Value weight);

/// The strips that a call computes of a product with a packed weight; nothing
/// where it computes all of them in every call.
std::optional<Strips> stripsOf(const KernelEmitter &e, mlir::Value packed);

/// The place in a packed weight of an element of its matrix.
MatrixPlace placeInPanels(mlir::Value packed, Expr row, Expr column);

/// Lanes of the next tile when `rest` columns are left: the register tile's, or
/// a power of two that wastes less than a cache line.
int64_t tileLanes(const CpuSchedule &schedule, int64_t rest);

/// Columns 0 to `width` in register tiles: a loop over whole ones and one body
/// for the rest.
void forEachTileColumn(KernelEmitter &e, int64_t width,
                       KernelEmitter::ChunkBody body);

} // namespace hova

#endif // HOVA_CODEGEN_CPU_RECIPES_PRODUCTPANELS_H
