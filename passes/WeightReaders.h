//===- WeightReaders.h - Layouts of weights, by who reads them ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A target says which operands its kernels read in a layout of the packed
// weights. What is read both ways is in the image twice.

#ifndef HOVA_PASSES_WEIGHTREADERS_H
#define HOVA_PASSES_WEIGHTREADERS_H

#include "dialect/program/ProgramOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <functional>

namespace hova {

/// What a target says of the layouts of weights.
struct WeightReaders {
  /// Whether the operation reads this operand, a weight, in the layout.
  std::function<bool(mlir::OpOperand &use)> readsLayout;
  std::function<WeightLayoutAttrInterface(ImageWeightOp weight)> layoutOf;
  /// What a second copy of a weight has after its name, such as "strips".
  llvm::StringRef suffix;
};

/// The operation of the folding function that stores what `weight` names, or
/// null.
StoreWeightOp storeOf(ImageWeightOp weight);

/// Gives a layout to each weight that has none and is read in one.
void assignWeightLayouts(mlir::func::FuncOp main, const WeightReaders &readers);

/// Whether everything that reads `weight`, which has a layout, reads it in
/// that. Fails with an error on the first that does not.
mlir::LogicalResult verifyWeightReaders(ImageWeightOp weight,
                                        const WeightReaders &readers);

} // namespace hova

#endif // HOVA_PASSES_WEIGHTREADERS_H
