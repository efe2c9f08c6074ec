//===- WeightValues.h - Values that no input reaches ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_PASSES_NORMALIZE_WEIGHTVALUES_H
#define HOVA_PASSES_NORMALIZE_WEIGHTVALUES_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"

namespace hova {

/// Whether `op` has no effects and is computed from weights and constants
/// alone.
bool isWeightOperation(mlir::Operation *op);

/// Whether `value` is the result of such an operation.
bool isWeightValue(mlir::Value value);

/// Moves weight operations, in their order, to the start of `block`.
void hoistWeightValues(mlir::Block &block);

} // namespace hova

#endif // HOVA_PASSES_NORMALIZE_WEIGHTVALUES_H
