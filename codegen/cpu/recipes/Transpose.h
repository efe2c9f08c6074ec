//===- Transpose.h - Small blocks transposed in registers -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_CPU_RECIPES_TRANSPOSE_H
#define HOVA_CODEGEN_CPU_RECIPES_TRANSPOSE_H

#include "codegen/cpu/CpuFacts.h"
#include "codegen/cpu/recipes/KernelEmitter.h"

namespace hova {

/// Rows and columns that are transposed at once.
inline constexpr int64_t kTransposed = CpuFacts::registerLanes;

/// Transposes 16 vectors of 16 lanes by 64 shuffles of two vectors, each one
/// instruction of AVX-512: 4 x 4 blocks inside of 128 bits by interleaving
/// lanes and pairs of lanes, then the blocks by exchanging 128 bits at a time.
void transpose16(KernelEmitter &e, llvm::MutableArrayRef<Expr> rows);

/// Stores the first `stored` columns of 16 x 16 elements, of which the first
/// `loaded` rows exist and the others are 0.
void transposeBlock(KernelEmitter &e, int64_t loaded, int64_t stored,
                    llvm::function_ref<Expr(int64_t row)> load,
                    llvm::function_ref<void(Expr column, int64_t i)> store);

} // namespace hova

#endif // HOVA_CODEGEN_CPU_RECIPES_TRANSPOSE_H
