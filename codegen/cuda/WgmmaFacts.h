//===- WgmmaFacts.h - What wgmma multiplies at once -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Shapes of the asynchronous products of compute capability 9.0, from the PTX
// ISA, sections "wgmma.mma_async" and "Matrix Descriptor".

#ifndef HOVA_CODEGEN_CUDA_WGMMAFACTS_H
#define HOVA_CODEGEN_CUDA_WGMMAFACTS_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace hova {

/// LLVM's name of the only architecture that has them.
inline constexpr llvm::StringLiteral kWgmmaArch = "sm_90a";

/// Warps that multiply together, rows of their product, and its depth in
/// elements of 16 bits.
inline constexpr int64_t kWgmmaWarps = 4;
inline constexpr int64_t kWgmmaRows = 64, kWgmmaDepth = 16;
/// Columns of a product are a multiple of the first, and at most the second.
inline constexpr int64_t kWgmmaColumns = 8, kMostWgmmaColumns = 256;
/// Registers of a thread for a left operand of that depth.
inline constexpr int64_t kWgmmaLeftWords = 4;
/// Rows of the pattern in which chunks of a row are exchanged. What a
/// descriptor names begins where such a pattern does.
inline constexpr int64_t kWgmmaPatternRows = 8;

} // namespace hova

#endif // HOVA_CODEGEN_CUDA_WGMMAFACTS_H
