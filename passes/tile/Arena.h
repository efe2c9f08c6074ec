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

/// The lowest place, a multiple of 64, where `bytes` bytes are free during a
/// kernel; behind all blocks that are alive then, every number is.
int64_t findFree(llvm::ArrayRef<ArenaBlock> blocks, int64_t kernel,
                 int64_t bytes);

/// Where a value lies that kernel `number` writes, as an entry of the program's
/// list of values: its `path`, `kernel`, `type`, `row_stride` and `offset`.
mlir::DictionaryAttr describeArenaValue(llvm::StringRef path, int64_t number,
                                        mlir::Type type,
                                        mlir::MemRefType buffer,
                                        int64_t offset);

} // namespace hova

#endif // HOVA_PASSES_TILE_ARENA_H
