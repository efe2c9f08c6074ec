//===- ProductFacts.h - What products cost on a GPU -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Tiles and times as they were measured (docs/rationale/gpu-measured.md).

#ifndef HOVA_CODEGEN_CUDA_PRODUCTFACTS_H
#define HOVA_CODEGEN_CUDA_PRODUCTFACTS_H

#include "codegen/cuda/Sm80.h"

namespace hova {

struct ProductTile {
  int64_t rows, columns, rowWarps, columnWarps;
  /// Time of an element, where that of the largest tile is 1, as measured on an
  /// H100: the smaller the part of a warp, the more its main loop reads of
  /// shared memory.
  double pressure;
  /// The same for a block that has a multiprocessor to itself: nobody works
  /// while its warps wait.
  double alone;
  int64_t warps() const { return rowWarps * columnWarps; }
};

/// Of equal times the first is taken. Measured with operands of 16 bits; those
/// of f32 go by the same.
inline constexpr ProductTile kProductTiles[] = {{128, 128, 2, 2, 1.0, 1.07},
                                                {64, 128, 2, 2, 1.18, 1.32},
                                                {128, 64, 2, 2, 1.18, 1.38},
                                                {64, 64, 2, 2, 1.35, 1.68}};

/// Those whose blocks may have all of their rows in group memory. Not measured
/// but for the first two: others have the warps of 64x64, and eight of these do
/// not wait alone.
inline constexpr ProductTile kScaledProductTiles[] = {
    {64, 128, 2, 2, 1.18, 1.32},
    {64, 64, 2, 2, 1.35, 1.68},
    {32, 128, 1, 4, 1.35, 1.68},
    {32, 256, 1, 8, 1.35, 1.35},
    {64, 128, 2, 4, 1.35, 1.35}};

/// As many warps of a multiprocessor do not wait alone.
inline constexpr int64_t kManyWarps = 8;

/// Parts of the inner dimension of a product that are on their way or read.
inline constexpr int64_t kProductStages = 3;

/// As many columns of a tile take as long as its rows are scaled: three
/// instructions of a thread for each of them and one of the inner dimension, of
/// which a multiprocessor begins those of four warps in a cycle.
inline constexpr int64_t kScalingColumns =
    3 * kCycleMacs16 / (kProcessorParts * kLanes);

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
/// Terms of a part of a reduction that is always divided, at most.
inline constexpr int64_t kPartTerms = 256;

} // namespace hova

#endif // HOVA_CODEGEN_CUDA_PRODUCTFACTS_H
