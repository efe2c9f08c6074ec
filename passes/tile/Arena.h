//===- Arena.h - Places of values that are alive at different times -------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_PASSES_TILE_ARENA_H
#define HOVA_PASSES_TILE_ARENA_H

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>

namespace hova {

/// What every place in the arena is a multiple of, in bytes.
inline constexpr int64_t kArenaAlignment = 64;

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

/// Where a value lies that kernel `number` writes and `last` is the last one to
/// read, as an entry of the program's list of values: its `path`, `kernel`,
/// `last`, `type`, `row_stride` and `offset`.
mlir::DictionaryAttr describeArenaValue(llvm::StringRef path, int64_t number,
                                        int64_t last, mlir::Type type,
                                        mlir::MemRefType buffer,
                                        int64_t offset);

} // namespace hova

#endif // HOVA_PASSES_TILE_ARENA_H
