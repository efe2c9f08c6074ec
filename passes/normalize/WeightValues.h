//===- WeightValues.h - Values that no input reaches ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_PASSES_NORMALIZE_WEIGHTVALUES_H
#define HOVA_PASSES_NORMALIZE_WEIGHTVALUES_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseSet.h"

namespace hova {

/// The operations of a block that have no effects and are computed from weights
/// and constants alone, but for those that make them anew for every item of a
/// batch (PerItem). They are found in one walk: asked one by one, each
/// would have to look at everything before it, which takes the square of a
/// model's depth.
class WeightValues {
public:
  explicit WeightValues(mlir::Block &block);

  bool contains(mlir::Operation *op) const { return ops.contains(op); }
  /// Whether `value` is the result of such an operation.
  bool makes(mlir::Value value) const {
    mlir::Operation *op = value.getDefiningOp();
    return op && contains(op);
  }

  /// Takes in an operation that was made after the walk, if it is one.
  void add(mlir::Operation *op);

  /// Moves them, in their order, to the start of `block`.
  void hoist(mlir::Block &block) const;

private:
  llvm::DenseSet<mlir::Operation *> ops;
};

} // namespace hova

#endif // HOVA_PASSES_NORMALIZE_WEIGHTVALUES_H
