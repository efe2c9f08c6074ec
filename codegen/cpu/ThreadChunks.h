//===- ThreadChunks.h - What threads keep for their chunk of units --------===//
// SPDX-License-Identifier: Apache-2.0
//
// A value between two stages of a kernel has rows for the units that a thread
// takes through all stages together. They lie in the arena, where nothing is
// alive during the launch (`hova.chunk_buffer`).

#ifndef HOVA_CODEGEN_CPU_THREADCHUNKS_H
#define HOVA_CODEGEN_CPU_THREADCHUNKS_H

#include "dialect/program/ProgramOps.h"
#include "passes/tile/Arena.h"

namespace hova {

/// The values between stages of a kernel that lie in rows of a thread's chunk:
/// all but those in lanes, which scratch holds, and the kernel's results.
llvm::SmallVector<mlir::Value> chunkValuesOf(KernelOp kernel);

/// A buffer of the threads' chunks in the units of a kernel.
struct ChunkRows {
  int64_t rowBytes = 0;
  int64_t units = 0;
  int64_t offset = 0;         ///< the result, a multiple of 64
  int64_t rowBytesBefore = 0; ///< the result: as many more for each row
};

/// Places buffers where nothing is alive during a kernel. Where `fitAll` tells
/// that threads never have more rows together than there are units, a buffer
/// stands in the lowest gap between blocks that has room for so many. Others
/// stand one after the other, after all blocks: there is no end to how many
/// threads can be.
void placeChunks(llvm::ArrayRef<ArenaBlock> blocks, int64_t kernel, bool fitAll,
                 llvm::MutableArrayRef<ChunkRows> chunks);

} // namespace hova

#endif // HOVA_CODEGEN_CPU_THREADCHUNKS_H
