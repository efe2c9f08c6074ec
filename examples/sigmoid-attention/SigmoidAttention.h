//===- SigmoidAttention.h - A dialect of one operation --------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef SIGATTN_SIGMOIDATTENTION_H
#define SIGATTN_SIGMOIDATTENTION_H

#include "dialect/HovaDialect.h"

#include "sigattnDialect.h.inc"

#define GET_OP_CLASSES
#include "sigattnOps.h.inc"

namespace sigattn {

/// Attaches the loops of the operation on a CPU, and its kernel on a GPU.
void attachRecipe(mlir::MLIRContext &context);
void attachCudaRecipe(mlir::MLIRContext &context);

} // namespace sigattn

#endif // SIGATTN_SIGMOIDATTENTION_H
