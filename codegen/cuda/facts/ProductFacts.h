//===- ProductFacts.h - What products cost on a GPU -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Times as they were measured (docs/rationale/gpu-measured.md), which are taken
// for those of every level; the tiles of each are in its row (GpuFacts.h).

#ifndef HOVA_CODEGEN_CUDA_FACTS_PRODUCTFACTS_H
#define HOVA_CODEGEN_CUDA_FACTS_PRODUCTFACTS_H

#include <cstdint>

namespace hova {

/// As many warps of a multiprocessor do not wait alone.
inline constexpr int64_t kManyWarps = 8;

/// In cycles: the first copies of a block and its stores, and a launch after
/// another; both together are 2 microseconds, as on an H100.
inline constexpr double kBlockCycles = 1200, kLaunchCycles = 2800;
/// What the largest tile reaches of the multiply-adds of tensor cores.
inline constexpr double kReachedShare = 0.8;
/// Bytes that are moved to and from the second cache in a cycle. Assumed: a
/// fifth of what an A100 has, since a kernel of rows has few blocks.
inline constexpr double kCacheBytesOfCycle = 1024;

/// Parts that the inner dimension is divided into, each in blocks of its own,
/// at most.
inline constexpr int64_t kMostProductParts = 8;
/// The share of a product's time that one by blocks of a cluster takes at most:
/// how fast these read each other's memory nobody has measured here.
inline constexpr double kClusterShare = 0.9;
/// Columns beside each other whose squares have one sum, where a norm is
/// applied behind the products that read it: each warp of each tile of each
/// level has whole ones.
inline constexpr int64_t kSquareColumns = 32;
/// Terms of a part of a reduction that is always divided, at most.
inline constexpr int64_t kPartTerms = 256;

} // namespace hova

#endif // HOVA_CODEGEN_CUDA_FACTS_PRODUCTFACTS_H
