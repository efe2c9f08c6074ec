//===- RangedLaunches.h - Launches of programs with ranges ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_PASSES_TILE_RANGEDLAUNCHES_H
#define HOVA_PASSES_TILE_RANGEDLAUNCHES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace hova {

/// What `main` says of its ranges, on what became of it; and on each launch of
/// what the units of its kernel are so many times as many (`hova.extent`). An
/// error where items do not have as many each.
mlir::LogicalResult copyRanges(mlir::func::FuncOp main,
                               mlir::func::FuncOp tiled);

} // namespace hova

#endif // HOVA_PASSES_TILE_RANGEDLAUNCHES_H
