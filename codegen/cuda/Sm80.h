//===- Sm80.h - Figures of a GPU that the lowering goes by ----------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_CUDA_SM80_H
#define HOVA_CODEGEN_CUDA_SM80_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MathExtras.h"
#include <cstdint>

namespace hova {

/// LLVM's name of the architecture.
inline constexpr llvm::StringLiteral kGpuArch = "sm_80";

/// What a byte of memory costs beside floating-point operations, where the time
/// of a kernel is divided among its stages: 312 TFLOP/s against 1.6 TB/s.
inline constexpr int64_t kFlopsPerByte = 195;
/// Threads of a warp.
inline constexpr int64_t kLanes = 32;
/// Rows and columns of a block of ldmatrix; lanes that share a row of it.
inline constexpr int64_t kBlockRows = 8;
inline constexpr int64_t kLanesOfRow = 4;
/// What is moved at once, and the elements of 16 bits in it.
inline constexpr int64_t kChunkBytes = 16;
inline constexpr int64_t kChunk = 8;
/// Columns of a segment of a box: rows of 128 bytes, and of 256 in f32.
inline constexpr int64_t kSegment = 64;
/// Blocks of a grid along x, and along y or z.
inline constexpr int64_t kMostBlocksX = (int64_t(1) << 31) - 1;
inline constexpr int64_t kMostBlocksYZ = 65535;
/// Bytes that cp.async moves at least; also 8 and 16.
inline constexpr int64_t kLeastCopy = 4;
/// Threads of a block.
inline constexpr int64_t kMostThreads = 1024;
/// Bytes of shared memory that a block of sm_80 may ask for.
inline constexpr int64_t kMostGroupBytes = 163 * 1024;
/// What a multiprocessor of sm_80 has for the blocks that it holds at once, and
/// the pieces in which it is given away (NVIDIA's CUDA C++ programming guide,
/// compute capabilities, and cuda_occupancy.h): registers to a warp, which one
/// of four parts holds with a fourth of them, shared memory to a block, with so
/// many bytes more for the system.
inline constexpr int64_t kProcessorBlocks = 32;
inline constexpr int64_t kProcessorThreads = 2048;
inline constexpr int64_t kProcessorParts = 4;
inline constexpr int64_t kProcessorRegisters = 64 * 1024;
inline constexpr int64_t kRegisterPiece = 256;
inline constexpr int64_t kProcessorGroupBytes = 164 * 1024;
inline constexpr int64_t kGroupPiece = 128;
inline constexpr int64_t kReservedGroupBytes = 1024;
/// Multiply-adds of a multiprocessor in a cycle: on its tensor cores, with
/// operands of 16 bits, and in f32.
inline constexpr int64_t kCycleMacs16 = 1024, kCycleMacs32 = 64;
/// Multiprocessors of an A100 and of an H100 (SXM).
inline constexpr int64_t kProcessors[] = {108, 132};
/// Registers of a thread, and the blocks that ptxas makes room for if nobody
/// says otherwise, though it may have to spill.
inline constexpr int64_t kMostRegisters = 255;
inline constexpr int64_t kUsualBlocks = 4;
/// Elements of a product that a lane can hold in the registers of so many.
inline constexpr int64_t kFewElements = 32;
/// Bytes of a matrix: offsets are numbers of 32 bits with a sign.
inline constexpr int64_t kMostMatrixBytes = (int64_t(1) << 31) - 1;

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

/// Columns beside each other that a lane holds of `columns` along a row; 0 if
/// the lanes cannot share them equally.
inline int64_t runOfRow(int64_t columns) {
  return columns % (4 * kLanes) == 0   ? 4
         : columns % (2 * kLanes) == 0 ? 2
         : columns % kLanes == 0       ? 1
                                       : 0;
}

} // namespace hova

#endif // HOVA_CODEGEN_CUDA_SM80_H
