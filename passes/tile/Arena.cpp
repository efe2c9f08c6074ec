//===- Arena.cpp - Places of values that are alive at different times -----===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/tile/Arena.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace hova;

static constexpr int64_t kAlignment = 64;

int64_t hova::placeBlocks(llvm::MutableArrayRef<ArenaBlock> blocks) {
  llvm::SmallVector<ArenaBlock *> bySize;
  for (ArenaBlock &block : blocks) {
    bySize.push_back(&block);
  }
  // Equal sizes keep their order, which their addresses tell.
  llvm::sort(bySize, [](const ArenaBlock *a, const ArenaBlock *b) {
    return a->bytes != b->bytes ? a->bytes > b->bytes : a < b;
  });
  // Blocks already placed, by offset.
  llvm::SmallVector<ArenaBlock *> placed;
  int64_t total = 0;
  for (ArenaBlock *block : bySize) {
    int64_t offset = 0;
    for (const ArenaBlock *other : placed) {
      bool together = other->firstUse <= block->lastUse &&
                      block->firstUse <= other->lastUse;
      if (!together) {
        continue;
      }
      if (offset + block->bytes <= other->offset) {
        break;
      }
      offset = std::max<int64_t>(
          offset, llvm::alignTo(other->offset + other->bytes, kAlignment));
    }
    block->offset = offset;
    total = std::max<int64_t>(total,
                              llvm::alignTo(offset + block->bytes, kAlignment));
    auto place = llvm::upper_bound(
        placed, block, [](const ArenaBlock *a, const ArenaBlock *b) {
          return a->offset < b->offset;
        });
    placed.insert(place, block);
  }
  return total;
}

int64_t hova::findFree(llvm::ArrayRef<ArenaBlock> blocks, int64_t kernel,
                       int64_t bytes) {
  llvm::SmallVector<const ArenaBlock *> alive;
  for (const ArenaBlock &block : blocks) {
    if (block.firstUse <= kernel && kernel <= block.lastUse) {
      alive.push_back(&block);
    }
  }
  llvm::sort(alive, [](const ArenaBlock *a, const ArenaBlock *b) {
    return a->offset < b->offset;
  });
  int64_t offset = 0;
  for (const ArenaBlock *block : alive) {
    if (offset + bytes <= block->offset) {
      break;
    }
    offset = llvm::alignTo(block->offset + block->bytes, kAlignment);
  }
  return offset;
}
