//===- RowBlocks.cpp - Rows in even blocks of a register tile's height ----===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cpu/recipes/RowBlocks.h"
#include "codegen/cpu/CpuFacts.h"
#include "llvm/Support/MathExtras.h"
#include <set>

using namespace mlir;

namespace hova {

/// The least number above `count` whose even shares of `units` have other
/// sizes: of a billion rows there are some ten thousand.
static int64_t nextShares(int64_t units, int64_t count) {
  int64_t lower = units / count, rest = (units - 1) / count;
  int64_t next = units / lower + 1;
  return rest ? std::min(next, (units - 1) / rest + 1) : next;
}

RowBlockSizes::RowBlockSizes(const KernelEmitter &e, int64_t rows)
    : RowBlockSizes(rows, e.schedule, e.getRanges().has_value()) {}

RowBlockSizes::RowBlockSizes(int64_t rows, const CpuSchedule &schedule,
                             bool ofAnyNumber)
    : fewest(ofAnyNumber ? CpuFacts::fewestRowBlocks : rows) {
  if (ofAnyNumber) {
    auto all = llvm::seq_inclusive<int64_t>(
        1, std::min<int64_t>(rows, schedule.tileRows));
    heights.assign(all.begin(), all.end());
    return;
  }
  using Sizes = std::set<int64_t>;
  // Sizes of `count` even shares of `units`: one or two.
  auto addShares = [](Sizes &sizes, int64_t units, int64_t count) {
    if (units && count) {
      sizes.insert(units / count);
      sizes.insert(llvm::divideCeil(units, count));
    }
  };
  Sizes parts, calls, sizes;
  bool divides = schedule.division == Division::rows;
  int64_t most = divides ? partsOf(rows, schedule.grain, rows) : 1;
  for (int64_t count = 1; count <= most; count = nextShares(rows, count)) {
    addShares(parts, rows, count);
  }
  for (int64_t part : parts) {
    addShares(calls, part,
              divides ? llvm::divideCeil(part, schedule.block) : 1);
  }
  for (int64_t call : calls) {
    int64_t blocks = llvm::divideCeil(call, schedule.tileRows);
    addShares(sizes, call, blocks);
    fewest = std::clamp<int64_t>(blocks, 1, fewest);
  }
  sizes.erase(0);
  heights.assign(sizes.begin(), sizes.end());
}

void forEachEvenBlock(KernelEmitter &e, StringRef name, int64_t rows,
                      int64_t most,
                      llvm::function_ref<void(Expr, int64_t)> body) {
  int64_t blocks = llvm::divideCeil(rows, most), height = rows / blocks;
  int64_t lower = rows % blocks * (height + 1);
  auto loop = [&](int64_t from, int64_t to, int64_t height) {
    if (from < to) {
      e.forLoop(name, from, to, height, [&](Expr row) { body(row, height); });
    }
  };
  loop(0, lower, height + 1);
  loop(lower, rows, height);
}

SmallVector<RowSpan> rowBlocksOf(int64_t rows, int64_t shares, int64_t most) {
  SmallVector<RowSpan> spans;
  for (int64_t share = 0; share < shares; ++share) {
    int64_t row = share * rows / shares;
    int64_t count = (share + 1) * rows / shares - row;
    int64_t blocks = llvm::divideCeil(count, most);
    for (int64_t block = 0; block < blocks; ++block) {
      int64_t height = count / blocks + (block < count % blocks);
      spans.push_back({row, height});
      row += height;
    }
  }
  return spans;
}

SmallVector<int64_t> heightsOf(ArrayRef<RowSpan> blocks) {
  std::set<int64_t> heights;
  for (const RowSpan &block : blocks) {
    heights.insert(block.height);
  }
  return {heights.begin(), heights.end()};
}

/// One body for each height that `rows` may be; the last is the default, which
/// the switch needs anyway.
static void switchHeight(KernelEmitter &e, Expr rows, ArrayRef<int64_t> heights,
                         llvm::function_ref<void(int64_t)> body) {
  auto choice = e.make<scf::IndexSwitchOp>(
      TypeRange(), rows, heights.drop_back(), heights.size() - 1);
  OpBuilder::InsertionGuard guard(e.builder);
  auto emitCase = [&](Region &region, int64_t size) {
    e.builder.setInsertionPointToStart(&region.emplaceBlock());
    body(size);
    e.make<scf::YieldOp>();
  };
  for (auto [region, size] :
       llvm::zip(choice.getCaseRegions(), heights.drop_back())) {
    emitCase(region, size);
  }
  emitCase(choice.getDefaultRegion(), heights.back());
}

void forEachRowBlock(KernelEmitter &e, StringRef name, Expr from, Expr to,
                     ArrayRef<int64_t> heights,
                     llvm::function_ref<void(const RowBlock &)> body) {
  int64_t top = e.schedule.tileRows;
  Expr rows = to - from, blocks = (rows + (top - 1)) / top;
  // Even blocks: the first `rows % blocks` are one row higher. No rows, no
  // blocks: the division below must not see a zero.
  Expr divisor = max(blocks, 1);
  Expr height = rows / divisor, higher = rows % divisor;
  e.forLoop(name, blocks, [&](Expr block) {
    Expr row = from + (block * height + min(block, higher));
    if (heights.size() == 1) {
      return body({row, heights.back(), block, divisor});
    }
    Expr rows = height + select(block < higher, 1, 0);
    switchHeight(e, rows, heights,
                 [&](int64_t size) { body({row, size, block, divisor}); });
  });
}

SmallVector<int64_t> overlappingHeights(int64_t most) {
  // A seventh of the rows of a block are computed twice at most, where there
  // are several.
  SmallVector<int64_t> heights;
  for (int64_t height = most; height > most / 2;
       height -= std::max<int64_t>(most / 7, 1)) {
    heights.push_back(height);
  }
  for (int64_t height = most / 2; height > 0; height /= 2) {
    heights.push_back(height);
  }
  std::reverse(heights.begin(), heights.end());
  return heights;
}

int64_t overlappingHeight(int64_t rows, int64_t most) {
  SmallVector<int64_t> heights = overlappingHeights(most);
  if (rows < most) {
    return *std::prev(llvm::upper_bound(heights, std::max<int64_t>(rows, 1)));
  }
  int64_t even = llvm::divideCeil(rows, llvm::divideCeil(rows, most));
  return *llvm::lower_bound(heights, even);
}

void forEachOverlappingBlock(KernelEmitter &e, StringRef name, Expr from,
                             Expr to, int64_t top,
                             llvm::function_ref<void(const RowBlock &)> body) {
  SmallVector<int64_t> heights = overlappingHeights(top);
  Expr rows = to - from;
  // Of many rows the least height that takes no more blocks than the largest;
  // of few the largest that they fill.
  Expr fewest = max((rows + (top - 1)) / top, 1);
  Expr even = (rows + (fewest - 1)) / fewest;
  Expr height = heights.front();
  for (size_t i = 1; i < heights.size(); ++i) {
    Expr isTaken = select(rows < top, e.index(heights[i]) <= rows,
                          e.index(heights[i - 1]) < even);
    height = select(isTaken, e.index(heights[i]), height);
  }
  Expr count = (rows + height - 1) / height;
  switchHeight(e, height, heights, [&](int64_t size) {
    e.forLoop(name, count, [&](Expr block) {
      body({from + min(block * size, rows - size), size, block, count});
    });
  });
}

} // namespace hova
