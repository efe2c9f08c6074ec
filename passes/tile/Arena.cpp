//===- Arena.cpp - Places of values that are alive at different times -----===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/tile/Arena.h"
#include "mlir/IR/Builders.h"
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

void hova::placeShares(llvm::ArrayRef<ArenaBlock> blocks, int64_t kernel,
                       bool fitAll, llvm::MutableArrayRef<ShareRows> shares) {
  // What is in use during the kernel, by offset: [begin, end).
  llvm::SmallVector<std::pair<int64_t, int64_t>> used = {{0, 0}};
  for (const ArenaBlock &block : blocks) {
    if (block.firstUse <= kernel && kernel <= block.lastUse) {
      used.push_back({block.offset, block.offset + block.bytes});
    }
  }
  llvm::sort(used);
  int64_t end = 0, rowBytes = 0;
  for (auto [from, to] : used) {
    end = std::max<int64_t>(end, llvm::alignTo(to, kAlignment));
  }
  auto findGap = [&](int64_t bytes) {
    for (auto [before, behind] : llvm::zip(used, llvm::drop_begin(used))) {
      int64_t offset = llvm::alignTo(before.second, kAlignment);
      if (offset + bytes <= behind.first) {
        return offset;
      }
    }
    return end;
  };
  for (ShareRows &share : shares) {
    int64_t bytes = share.rowBytes * share.units;
    share.offset = fitAll ? findGap(bytes) : end;
    if (share.offset < end) {
      used.push_back({share.offset, share.offset + bytes});
      llvm::sort(used);
    } else {
      share.rowBytesBefore = rowBytes;
      rowBytes += share.rowBytes;
    }
  }
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
