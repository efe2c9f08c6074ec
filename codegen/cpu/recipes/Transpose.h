//===- Transpose.h - Small blocks transposed in registers -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_CPU_RECIPES_TRANSPOSE_H
#define HOVA_CODEGEN_CPU_RECIPES_TRANSPOSE_H

#include "mlir/IR/Builders.h"

namespace hova {

/// Transposes 16 vectors of 16 lanes by 64 shuffles of two vectors, each one
/// instruction of AVX-512: 4 x 4 blocks inside of 128 bits by interleaving
/// lanes and pairs of lanes, then the blocks by exchanging 128 bits at a time.
void transpose16(mlir::OpBuilder &builder, mlir::Location loc,
                 llvm::MutableArrayRef<mlir::Value> rows);

} // namespace hova

#endif // HOVA_CODEGEN_CPU_RECIPES_TRANSPOSE_H
