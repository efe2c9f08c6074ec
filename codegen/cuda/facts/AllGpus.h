//===- AllGpus.h - Figures that all GPUs have -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What the compiler relies on of GPUs of every level, and the sizes that were
// chosen for all of them; GpuFacts.h has those in which levels differ, and
// ProductFacts.h what products cost. Passes and recipes read them here; none
// holds a figure of its own. Where nothing else is said they are from NVIDIA's
// CUDA C++ programming guide, from compute capability 8.0 on, and shapes of
// instructions from the PTX ISA.

#ifndef HOVA_CODEGEN_CUDA_FACTS_ALLGPUS_H
#define HOVA_CODEGEN_CUDA_FACTS_ALLGPUS_H

#include "llvm/Support/MathExtras.h"
#include <cstdint>

namespace hova {

/// Threads of a warp.
inline constexpr int64_t kLanes = 32;
/// Rows and columns of a product of mma.sync, and its depth in 16 bits.
inline constexpr int64_t kMmaRows = 16, kMmaColumns = 8, kMmaDepth = 16;
/// Rows and columns of a block of ldmatrix; lanes that share a row of it.
inline constexpr int64_t kBlockRows = 8;
inline constexpr int64_t kLanesOfRow = 4;
/// What is moved at once, and the elements of 16 bits in it.
inline constexpr int64_t kChunkBytes = 16;
inline constexpr int64_t kChunk = 8;
/// The same of f32.
inline constexpr int64_t kChunk32 = kChunkBytes / 4;
/// Columns of a segment of a box: rows of 128 bytes, and of 256 in f32.
inline constexpr int64_t kSegment = 64;
/// Axes of a grid.
inline constexpr int64_t kGridAxes = 3;
/// Blocks of a grid along x, and along y or z.
inline constexpr int64_t kMostBlocksX = (int64_t(1) << 31) - 1;
inline constexpr int64_t kMostBlocksYZ = 65535;
/// Bytes that cp.async moves at least; also 8 and 16.
inline constexpr int64_t kLeastCopy = 4;
/// Threads of a block.
inline constexpr int64_t kMostThreads = 1024;
/// Blocks of a cluster that every GPU with clusters runs.
inline constexpr int64_t kMostClusterBlocks = 8;
/// What a multiprocessor has for the blocks that it holds at once, and the
/// pieces in which it is given away (cuda_occupancy.h): registers to a warp,
/// which one of four parts holds with a fourth of them, shared memory to a
/// block, with so many bytes more for the system.
inline constexpr int64_t kProcessorParts = 4;
inline constexpr int64_t kProcessorRegisters = 64 * 1024;
inline constexpr int64_t kRegisterPiece = 256;
inline constexpr int64_t kGroupPiece = 128;
inline constexpr int64_t kReservedGroupBytes = 1024;
/// Banks of shared memory, each of which moves so many bytes in a cycle.
inline constexpr int64_t kBanks = 32, kBankBytes = 4;
/// Bits of a register, registers of a thread, and the blocks that ptxas makes
/// room for if nobody says otherwise, though it may have to spill.
inline constexpr int64_t kRegisterBits = 32;
inline constexpr int64_t kMostRegisters = 255;
inline constexpr int64_t kUsualBlocks = 4;
/// Bytes of a matrix: offsets are numbers of 32 bits with a sign.
inline constexpr int64_t kMostMatrixBytes = (int64_t(1) << 31) - 1;

/// Microseconds before the blocks of a launch of a graph work, as an H100 was
/// measured (docs/rationale/gpu-measured.md), and behind a programmatic edge:
/// that is a model, and nobody has measured it.
inline constexpr double kStartTime = 2.0, kOverlappedStartTime = 0.9;

/// Bytes that global memory moves at least, from a multiple of as many on.
inline constexpr int64_t kSectorBytes = 32;

/// What rows of so many bytes begin at multiples of in memory: sectors, of
/// which whole ones are moved, unless the rows would be longer by more than an
/// eighth; then chunks, which are copied at once.
inline int64_t alignmentOfRows(int64_t bytes) {
  int64_t longer = llvm::alignTo(bytes, kSectorBytes) - bytes;
  return 8 * longer <= bytes ? kSectorBytes : kChunkBytes;
}

/// An argument of a kernel begins at a multiple of the widest access.
inline constexpr int64_t kArgumentBytes = 16;

//===----------------------------------------------------------------------===//
// Sizes that were chosen for it
//===----------------------------------------------------------------------===//

/// Half of the registers of a thread: what sums that a loop carries may take,
/// and with them what is loaded ahead of its use...
inline constexpr int64_t kHalfRegisters = (kMostRegisters + 1) / 2;
/// ...which never has fewer or more than these.
inline constexpr int64_t kLeastAhead = 32, kMostAhead = 96;
/// Elements of a product that a lane can hold in the registers of kUsualBlocks.
inline constexpr int64_t kFewElements = 32;

/// Rows of a block of a kernel of rows, each a warp's.
inline constexpr int64_t kRowsOfBlock = 4;
/// Columns that a warp holds of one row: 32 elements a thread.
inline constexpr int64_t kColumnsOfBlock = 32 * kLanes;
/// Of a row that it holds whole: 64 elements a thread, and as many again of
/// what it reads beside.
inline constexpr int64_t kMostRowColumns = 64 * kLanes;

/// Columns of the widest head of an attention, and of a linear one.
inline constexpr int64_t kMostHeadColumns = 256;
inline constexpr int64_t kMostLinearColumns = 128;
/// Columns of a head from which on queries stay in group memory and turns are
/// half as long.
inline constexpr int64_t kManyHeadColumns = 128;
/// Columns of all heads that a tile of results holds in registers, where heads
/// are small.
inline constexpr int64_t kMostSmallColumns = 64;
/// Queries of a warp at most.
inline constexpr int64_t kMostWarpQueries = 2 * kMmaRows;
/// Rows of a block of the logits of heads.
inline constexpr int64_t kLogitRows = 64;
/// Bytes of the weights that logits of heads bring beside keys and values.
inline constexpr int64_t kMostLogitBytes = 16 * 1024;
/// Of sums over keys: rows of a block, and of the boxes that a turn takes.
inline constexpr int64_t kSumsRows = 64, kSumsStep = 32;
/// The same of products of 16 bits: warps of a block, and keys of a turn.
inline constexpr int64_t kNarrowWarps = 4, kNarrowKeys = 64;

/// Bytes of pixels in group memory that leave room for several blocks.
inline constexpr int64_t kMostPixelBytes = 32 * 1024;
/// Depth of a turn of a product of f32 without tensor cores.
inline constexpr int64_t kFmaTurn = 8;

/// Columns beside each other that a lane holds of `columns` along a row; 0 if
/// the lanes cannot share them equally.
inline int64_t runOfRow(int64_t columns) {
  return columns % (4 * kLanes) == 0   ? 4
         : columns % (2 * kLanes) == 0 ? 2
         : columns % kLanes == 0       ? 1
                                       : 0;
}

} // namespace hova

#endif // HOVA_CODEGEN_CUDA_FACTS_ALLGPUS_H
