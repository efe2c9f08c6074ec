//===- Arena.h - Places of values that are alive at different times -------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_PASSES_TILE_ARENA_H
#define HOVA_PASSES_TILE_ARENA_H

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>

namespace hova {

/// A block of memory and the kernels during which it is in use.
struct ArenaBlock {
  int64_t bytes = 0;
  int64_t firstUse = 0; ///< index of the kernel that writes it
  int64_t lastUse = 0;  ///< index of the last kernel that reads it
  int64_t offset = 0;   ///< the result, a multiple of 64
};

/// Fixes the offsets: largest block first, each at the lowest place that no
/// block alive at the same time covers (greedy by size; Pisarchyk and Lee,
/// Efficient Memory Management for Deep Neural Net Inference, section 5.2).
/// Returns the size of the arena.
int64_t placeBlocks(llvm::MutableArrayRef<ArenaBlock> blocks);

/// A buffer of the threads' shares in the units of a kernel.
struct ShareRows {
  int64_t rowBytes = 0;
  int64_t units = 0;
  int64_t offset = 0;         ///< the result, a multiple of 64
  int64_t rowBytesBefore = 0; ///< the result: as many more for each row
};

/// Places buffers where nothing is alive during a kernel. Where `fitAll` tells
/// that threads never have more rows together than there are units, a buffer
/// stands in the lowest gap between blocks that has room for so many. Others
/// stand one behind the other, behind all blocks: there is no end to how many
/// threads can be.
void placeShares(llvm::ArrayRef<ArenaBlock> blocks, int64_t kernel, bool fitAll,
                 llvm::MutableArrayRef<ShareRows> shares);

/// Where a value lies that kernel `number` writes and `last` is the last one to
/// read, as an entry of the program's list of values: its `path`, `kernel`,
/// `last`, `type`, `row_stride` and `offset`.
mlir::DictionaryAttr describeArenaValue(llvm::StringRef path, int64_t number,
                                        int64_t last, mlir::Type type,
                                        mlir::MemRefType buffer,
                                        int64_t offset);

} // namespace hova

#endif // HOVA_PASSES_TILE_ARENA_H
