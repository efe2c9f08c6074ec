//===- VisitedPanels.h - Loops over the keys that queries see -------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_CPU_RECIPES_VISITEDPANELS_H
#define HOVA_CODEGEN_CPU_RECIPES_VISITEDPANELS_H

#include "codegen/cpu/recipes/KernelEmitter.h"
#include "dialect/VisitedKeys.h"

namespace hova {

/// Panels of keys that a block of queries visits.
using PanelBounds = VisitedTiles;

/// Those of the block of `height` rows that begins with `row`.
PanelBounds emitPanelBounds(KernelEmitter &e, const VisitedKeys &visited,
                            mlir::Value row, int64_t height);

/// Whether `panel` of `panels` is one of them; null where all are.
mlir::Value isVisited(KernelEmitter &e, const PanelBounds &bounds,
                      mlir::Value panel, int64_t panels);

} // namespace hova

#endif // HOVA_CODEGEN_CPU_RECIPES_VISITEDPANELS_H
