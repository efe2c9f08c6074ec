//===- WeightLayouts.h - Which weights are transposed ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_CUDA_SCHEDULE_WEIGHTLAYOUTS_H
#define HOVA_CODEGEN_CUDA_SCHEDULE_WEIGHTLAYOUTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace hova {

/// Gives each weight that a product reads the layout `#hova.transposed<align
/// 16>`: rows for its columns, which copies take 16 bytes of at once.
void assignCudaWeightLayouts(mlir::func::FuncOp main);

/// Whether all weights have the layouts that their readers want. Fails with an
/// error on the first that has not.
mlir::LogicalResult verifyCudaWeightLayouts(mlir::func::FuncOp main);

} // namespace hova

#endif // HOVA_CODEGEN_CUDA_SCHEDULE_WEIGHTLAYOUTS_H
