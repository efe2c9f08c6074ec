//===- ThreadChunks.cpp - What threads keep for their chunk of units ------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cpu/ThreadChunks.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace hova {

SmallVector<Value> chunkValuesOf(KernelOp kernel) {
  SmallVector<Value> values;
  auto yield = cast<YieldOp>(kernel.getBody().front().getTerminator());
  for (StageOp stage : kernel.getBody().getOps<StageOp>()) {
    for (OpResult value : stage.getResults()) {
      LayoutAttr layout = stage.getLayout(value.getResultNumber());
      if (layout.getKind() == LayoutKind::rows &&
          !llvm::is_contained(yield.getValues(), Value(value))) {
        values.push_back(value);
      }
    }
  }
  return values;
}

void placeChunks(ArrayRef<ArenaBlock> blocks, int64_t kernel, bool fitAll,
                 MutableArrayRef<ChunkRows> chunks) {
  // What is in use during the kernel, by offset: [begin, end).
  SmallVector<std::pair<int64_t, int64_t>> used = {{0, 0}};
  for (const ArenaBlock &block : blocks) {
    if (block.firstUse <= kernel && kernel <= block.lastUse) {
      used.push_back({block.offset, block.offset + block.bytes});
    }
  }
  llvm::sort(used);
  int64_t end = 0, rowBytes = 0;
  for (auto [from, to] : used) {
    end = std::max<int64_t>(end, llvm::alignTo(to, kArenaAlignment));
  }
  auto findGap = [&](int64_t bytes) {
    for (auto [before, after] : llvm::zip(used, llvm::drop_begin(used))) {
      int64_t offset = llvm::alignTo(before.second, kArenaAlignment);
      if (offset + bytes <= after.first) {
        return offset;
      }
    }
    return end;
  };
  for (ChunkRows &chunk : chunks) {
    int64_t bytes = chunk.rowBytes * chunk.units;
    chunk.offset = fitAll ? findGap(bytes) : end;
    if (chunk.offset < end) {
      used.push_back({chunk.offset, chunk.offset + bytes});
      llvm::sort(used);
    } else {
      chunk.rowBytesBefore = rowBytes;
      rowBytes += chunk.rowBytes;
    }
  }
}

} // namespace hova
