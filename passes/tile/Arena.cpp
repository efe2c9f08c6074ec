//===- Arena.cpp - Places of values that are alive at different times -----===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/tile/Arena.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace hova;

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
          offset, llvm::alignTo(other->offset + other->bytes, kArenaAlignment));
    }
    block->offset = offset;
    total = std::max<int64_t>(
        total, llvm::alignTo(offset + block->bytes, kArenaAlignment));
    auto place = llvm::upper_bound(
        placed, block, [](const ArenaBlock *a, const ArenaBlock *b) {
          return a->offset < b->offset;
        });
    placed.insert(place, block);
  }
  return total;
}

mlir::DictionaryAttr hova::describeArenaValue(llvm::StringRef path,
                                              int64_t number, int64_t last,
                                              mlir::Type type,
                                              mlir::MemRefType buffer,
                                              int64_t offset) {
  mlir::Builder builder(type.getContext());
  int64_t stride = buffer.getStridesAndOffset().first.front();
  return builder.getDictionaryAttr(
      {builder.getNamedAttr("path", builder.getStringAttr(path)),
       builder.getNamedAttr("kernel", builder.getI64IntegerAttr(number)),
       builder.getNamedAttr("last", builder.getI64IntegerAttr(last)),
       builder.getNamedAttr("type", mlir::TypeAttr::get(type)),
       builder.getNamedAttr("row_stride", builder.getI64IntegerAttr(stride)),
       builder.getNamedAttr("offset", builder.getI64IntegerAttr(offset))});
}
