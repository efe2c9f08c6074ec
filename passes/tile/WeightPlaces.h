//===- WeightPlaces.h - Where weights are in the image ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_PASSES_TILE_WEIGHTPLACES_H
#define HOVA_PASSES_TILE_WEIGHTPLACES_H

#include "dialect/ProgramOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace hova {

/// Bytes of an element in memory.
int64_t elementBytes(mlir::MemRefType type);

/// Fixes the image's layout, in the order of the weight program, and makes the
/// weight program pack what `main` reads in panels.
class WeightPlaces {
public:
  WeightPlaces(mlir::ModuleOp module, mlir::func::FuncOp main)
      : module(module), main(main) {}

  /// Told of every weight that `main` reads: its buffer and its place in bytes.
  using Place =
      llvm::function_ref<void(mlir::Value, mlir::MemRefType, int64_t)>;
  /// Fails, with an error on the operation, where what is read and what is
  /// stored do not fit.
  llvm::LogicalResult assign(Place place);
  /// Of the whole image, after `assign`.
  int64_t getBytes() const { return bytes; }

private:
  llvm::LogicalResult assignWeight(StoreWeightOp store,
                                   llvm::ArrayRef<ImageWeightOp> references,
                                   Place place);

  mlir::ModuleOp module;
  mlir::func::FuncOp main;
  int64_t bytes = 0;
};

} // namespace hova

#endif // HOVA_PASSES_TILE_WEIGHTPLACES_H
