//===- Positions.h - What is known about indices and addresses --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Tiles may begin at any row and column. How wide an access may be follows from
// what divides its address, and that from the operations that compute it.

#ifndef HOVA_CODEGEN_CUDA_LOWER_POSITIONS_H
#define HOVA_CODEGEN_CUDA_LOWER_POSITIONS_H

#include "mlir/IR/Value.h"

namespace hova {

/// The largest power of two that divides x; kMostDivisor of 0.
int64_t divisorOf(int64_t x);

/// A power of two that divides an index, whatever the coordinates of the group
/// are: the largest that its operations show.
int64_t divisorOf(mlir::Value index);

/// A power of two that divides the address of the first element of a matrix.
/// Arguments of a kernel begin at multiples of kArgumentBytes.
int64_t addressDivisorOf(mlir::Value matrix);

/// Whether an index is shown to be 0 or more, as long as it has 31 bits.
bool isNeverNegative(mlir::Value index);

} // namespace hova

#endif // HOVA_CODEGEN_CUDA_LOWER_POSITIONS_H
