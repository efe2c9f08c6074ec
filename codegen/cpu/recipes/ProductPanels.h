//===- ProductPanels.h - Weight panels and the tiles that read them -------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_CPU_RECIPES_PRODUCTPANELS_H
#define HOVA_CODEGEN_CPU_RECIPES_PRODUCTPANELS_H

#include "codegen/cpu/recipes/KernelEmitter.h"

namespace hova {

/// The panels of a weight, or nothing (and an error) if it has none.
mlir::Value packedWeight(KernelEmitter &e, mlir::Operation *op,
                         mlir::Value weight);

/// Lanes of the next tile when `rest` columns are left: the register tile's, or
/// a power of two that wastes less than a cache line.
int64_t tileLanes(const CpuSchedule &schedule, int64_t rest);

/// Columns 0 to `width` in register tiles: a loop over whole ones and one body
/// for the rest. `body(column, lanes, lanes inside of the width)`.
void forEachTileColumn(
    KernelEmitter &e, int64_t width,
    llvm::function_ref<void(mlir::Value, int64_t, int64_t)> body);

} // namespace hova

#endif // HOVA_CODEGEN_CPU_RECIPES_PRODUCTPANELS_H
