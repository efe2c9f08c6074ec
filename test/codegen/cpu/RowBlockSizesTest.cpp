//===- RowBlockSizesTest.cpp - Heights that kernels have bodies for -------===//
// SPDX-License-Identifier: Apache-2.0
//
// Rows are divided three times: by the runtime among threads, by the kernel
// into calls of at most a block of rows, and by a product into row blocks. The
// last height that a kernel lists is also the one of the default, so that a
// height that is missing would compute other rows. Here the runtime's own
// function divides, and the rest is counted row by row.

#include "codegen/cpu/recipes/RowBlocks.h"
#include <gtest/gtest.h>
#include <set>

extern "C" {
#include "runtime/cpu/Scratch.h"
}

using namespace hova;

namespace {

struct RowDivision {
  int64_t rows, grain, block, tileRows;
};

/// The heights of the row blocks of a call of `rows` rows, the largest ones
/// first: as few blocks as possible, as even as possible.
void addHeights(int64_t rows, int64_t tileRows, std::set<int64_t> &heights,
                int64_t &fewest) {
  int64_t blocks = 0;
  for (int64_t left = rows; left > 0; ++blocks) {
    int64_t rest = (rows + tileRows - 1) / tileRows - blocks;
    int64_t height = (left + rest - 1) / rest;
    heights.insert(height);
    left -= height;
  }
  fewest = std::min(fewest, blocks);
}

void check(const RowDivision &sizes) {
  CpuSchedule schedule;
  schedule.division = Division::rows;
  schedule.grain = sizes.grain;
  schedule.block = sizes.block;
  schedule.tileRows = sizes.tileRows;
  RowBlockSizes listed(sizes.rows, schedule);
  std::set<int64_t> heights;
  int64_t fewest = sizes.rows;
  uint64_t rows = static_cast<uint64_t>(sizes.rows);
  uint64_t parts =
      static_cast<uint64_t>(partsOf(sizes.rows, sizes.grain, sizes.rows));
  for (uint64_t threads = 1; threads <= rows + 1; ++threads) {
    uint64_t team = std::min(threads, parts);
    ASSERT_EQ(hova_units_before(0, rows, team), 0u);
    ASSERT_EQ(hova_units_before(team, rows, team), rows);
    for (uint64_t thread = 0; thread < team; ++thread) {
      int64_t chunk =
          static_cast<int64_t>(hova_units_before(thread + 1, rows, team) -
                               hova_units_before(thread, rows, team));
      int64_t calls = (chunk + sizes.block - 1) / sizes.block;
      for (int64_t call = 0; call < calls; ++call) {
        int64_t begin = chunk * call / calls, end = chunk * (call + 1) / calls;
        addHeights(end - begin, sizes.tileRows, heights, fewest);
      }
    }
  }
  std::string place = "rows " + std::to_string(sizes.rows) + ", grain " +
                      std::to_string(sizes.grain) + ", block " +
                      std::to_string(sizes.block) + ", tile " +
                      std::to_string(sizes.tileRows);
  for (int64_t height : heights) {
    EXPECT_TRUE(llvm::is_contained(listed.heights, height))
        << place << " has blocks of " << height << " rows";
  }
  for (int64_t height : listed.heights) {
    EXPECT_TRUE(heights.count(height))
        << place << " has no blocks of " << height << " rows";
  }
  EXPECT_TRUE(llvm::is_sorted(listed.heights)) << place;
  EXPECT_EQ(listed.fewest, fewest) << place;
}

TEST(RowBlockSizes, lists_what_the_runtime_and_the_loops_make) {
  for (int64_t rows = 1; rows <= 130; ++rows) {
    for (int64_t grain : {1, 20, 48}) {
      for (int64_t block : {7, 32, 256}) {
        for (int64_t tileRows : {1, 4, 6, 14}) {
          check({rows, grain, block, tileRows});
        }
      }
    }
  }
  check({784, 48, 256, 6});
  check({1576, 48, 256, 6});
}

// As many rows as nobody counts one by one.
TEST(RowBlockSizes, lists_those_of_billions) {
  CpuSchedule schedule;
  schedule.division = Division::rows;
  schedule.grain = 1;
  schedule.block = 256;
  schedule.tileRows = 6;
  RowBlockSizes listed(int64_t(1) << 40, schedule);
  EXPECT_EQ(listed.heights, (llvm::SmallVector<int64_t>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(listed.fewest, 1);
}

// Blocks of queries: share i is rows * i / shares to rows * (i + 1) / shares.
TEST(RowBlockSizes, lists_the_heights_of_even_shares) {
  for (int64_t rows = 1; rows <= 130; ++rows) {
    for (int64_t shares = 1; shares <= std::min<int64_t>(rows, 9); ++shares) {
      for (int64_t most : {1, 4, 14}) {
        std::set<int64_t> heights;
        int64_t fewest = rows;
        for (int64_t share = 0; share < shares; ++share) {
          int64_t ofShare = rows * (share + 1) / shares - rows * share / shares;
          addHeights(ofShare, most, heights, fewest);
        }
        llvm::SmallVector<int64_t> expected(heights.begin(), heights.end());
        EXPECT_EQ(heightsOf(rowBlocksOf(rows, shares, most)), expected)
            << rows << " rows, " << shares << " shares of at most " << most;
      }
    }
  }
}

TEST(RowBlockSizes, lists_one_chunk_where_rows_are_not_divided) {
  CpuSchedule schedule;
  schedule.division = Division::columnStrips;
  schedule.tileRows = 6;
  // Threads that divide columns take all rows in one call.
  for (int64_t block : {1, 7, 20, 256}) {
    schedule.block = block;
    RowBlockSizes listed(20, schedule);
    EXPECT_EQ(listed.heights, (llvm::SmallVector<int64_t>{5})) << block;
    EXPECT_EQ(listed.fewest, 4) << block;
  }
}

} // namespace
