//===- RowBlocks.cpp - Rows in even blocks of a register tile's height ----===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cpu/recipes/RowBlocks.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace hova {

/// Sizes of `count` even shares of `units`: one or two.
static void addShares(llvm::SmallDenseSet<int64_t> &sizes, int64_t units,
                      int64_t count) {
  if (units && count) {
    sizes.insert(units / count);
    sizes.insert(llvm::divideCeil(units, count));
  }
}

RowBlockSizes::RowBlockSizes(int64_t rows, const CpuSchedule &schedule) {
  llvm::SmallDenseSet<int64_t> parts, calls, sizes;
  bool divides = schedule.division == Division::rows;
  int64_t most = divides ? partsOf(rows, schedule.grain, rows) : 1;
  for (int64_t count = 1; count <= most; ++count) {
    addShares(parts, rows, count);
  }
  for (int64_t part : parts) {
    addShares(calls, part,
              divides ? llvm::divideCeil(part, schedule.block) : 1);
  }
  fewest = rows;
  for (int64_t call : calls) {
    int64_t blocks = llvm::divideCeil(call, schedule.tileRows);
    addShares(sizes, call, blocks);
    fewest = std::clamp<int64_t>(blocks, 1, fewest);
  }
  sizes.erase(0);
  heights.assign(sizes.begin(), sizes.end());
  llvm::sort(heights);
}

void forEachEvenBlock(KernelEmitter &e, StringRef name, int64_t rows,
                      int64_t most,
                      llvm::function_ref<void(Value, int64_t)> body) {
  int64_t blocks = llvm::divideCeil(rows, most), height = rows / blocks;
  int64_t lower = rows % blocks * (height + 1);
  auto loop = [&](int64_t from, int64_t to, int64_t own) {
    if (from < to) {
      e.forLoop(name, e.index(from), e.index(to), own,
                [&](Value row) { body(row, own); });
    }
  };
  loop(0, lower, height + 1);
  loop(lower, rows, height);
}

SmallVector<int64_t> rowBlockHeights(int64_t rows, int64_t shares,
                                     int64_t most) {
  SmallVector<int64_t> heights;
  auto up = [](int64_t a, int64_t b) -> int64_t {
    return llvm::divideCeil(a, b);
  };
  for (int64_t share : {rows / shares, up(rows, shares)}) {
    int64_t blocks = up(share, most);
    heights.append({share / blocks, up(share, blocks)});
  }
  llvm::sort(heights);
  heights.erase(llvm::unique(heights), heights.end());
  return heights;
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

void forEachRowBlock(KernelEmitter &e, StringRef name, Value from, Value to,
                     ArrayRef<int64_t> heights,
                     llvm::function_ref<void(const RowBlock &)> body) {
  OpBuilder &builder = e.builder;
  int64_t top = e.schedule.tileRows;
  Value rows = e.make<arith::SubIOp>(to, from);
  Value blocks = e.div(e.add(rows, top - 1), top);
  // Even blocks: the first `rows % blocks` are one row higher. No rows, no
  // blocks: the division below must not see a zero.
  Value one = e.index(1);
  Value divisor = e.make<arith::MaxUIOp>(blocks, one);
  Value height = e.make<arith::DivUIOp>(rows, divisor);
  Value higher = e.make<arith::RemUIOp>(rows, divisor);
  e.forLoop(name, e.index(0), blocks, 1, [&](Value block) {
    Value before = e.make<arith::MinUIOp>(block, higher);
    Value offset = e.add(e.make<arith::MulIOp>(block, height), before);
    RowBlock place{e.add(from, offset), heights.back(), block, divisor};
    if (heights.size() == 1) {
      return body(place);
    }
    Value isHigher =
        e.make<arith::CmpIOp>(arith::CmpIPredicate::ult, block, higher);
    Value own =
        e.add(height, e.make<arith::SelectOp>(isHigher, one, e.index(0)));
    // The last height is the default, which the switch needs anyway.
    auto choice = e.make<scf::IndexSwitchOp>(
        TypeRange(), own, heights.drop_back(), heights.size() - 1);
    OpBuilder::InsertionGuard guard(builder);
    for (auto [region, size] :
         llvm::zip(choice.getCaseRegions(), heights.drop_back())) {
      builder.setInsertionPointToStart(&region.emplaceBlock());
      body({place.row, size, block, divisor});
      e.make<scf::YieldOp>();
    }
    builder.setInsertionPointToStart(&choice.getDefaultRegion().emplaceBlock());
    body(place);
    e.make<scf::YieldOp>();
  });
}

} // namespace hova
