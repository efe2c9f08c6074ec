//===- VisitedKeysTest.cpp - The keys that blocks of queries see ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialect/score/VisitedKeys.h"
#include "ScoreFixture.h"

using namespace mlir;
using namespace hova;

namespace {

/// Of 16 queries in blocks of 4 and 24 keys in tiles of 4.
class VisitedKeysTest : public test::ScoreTest {
protected:
  static constexpr int64_t kHeight = 4, kStep = 4;

  /// The bounds of every block: begin, wholeBegin, wholeEnd, end.
  std::string visited(const std::string &kept) {
    ScoreForm form(parse(kept + "\nhova.score_yield %raw kept %kept"));
    ScoreExtents extents{2, 4, 16, 24, 24};
    SmallVector<RowSpan> blocks;
    for (int64_t row = 0; row < 16; row += kHeight) {
      blocks.push_back({row, kHeight});
    }
    VisitedKeys keys(form, extents, kStep, blocks);
    std::string text;
    for (const RowSpan &block : blocks) {
      const VisitedKeys::Range &range = keys.at(block);
      text += std::to_string(range.begin) + "," +
              std::to_string(range.wholeBegin) + "," +
              std::to_string(range.wholeEnd) + "," + std::to_string(range.end) +
              " ";
      gaps += std::to_string(range.countLeftOut()) + " ";
    }
    steps = keys.stepsOf(kHeight, &VisitedKeys::Range::end);
    return text;
  }

  VisitedKeys::Steps steps;
  /// Tiles that each block leaves out between two that it visits.
  std::string gaps;
};

TEST_F(VisitedKeysTest, a_causal_block_ends_with_its_last_query) {
  EXPECT_EQ(visited("%kept = arith.cmpi sle, %key, %query : index"),
            "0,0,0,1 0,0,1,2 0,0,2,3 0,0,3,4 ");
  EXPECT_EQ(steps.first, 1);
  EXPECT_EQ(steps.evenDistance(), 4);
}

TEST_F(VisitedKeysTest, a_window_begins_and_ends_with_the_block) {
  EXPECT_EQ(visited("%c8 = arith.constant 8 : index\n"
                    "%d = arith.subi %query, %key : index\n"
                    "%near = arith.cmpi slt, %d, %c8 : index\n"
                    "%past = arith.cmpi sle, %key, %query : index\n"
                    "%kept = arith.andi %near, %past : i1"),
            "0,0,0,1 0,0,1,2 0,1,2,3 1,2,3,4 ");
}

TEST_F(VisitedKeysTest, every_block_sees_a_prefix_whole) {
  EXPECT_EQ(visited("%c8 = arith.constant 8 : index\n"
                    "%kept = arith.cmpi slt, %key, %c8 : index"),
            "0,0,2,2 0,0,2,2 0,0,2,2 0,0,2,2 ");
  EXPECT_TRUE(steps.rows.empty());
}

TEST_F(VisitedKeysTest, a_gap_is_between_the_first_keys_and_a_window) {
  EXPECT_EQ(visited("%c2 = arith.constant 2 : index\n"
                    "%d = arith.subi %query, %key : index\n"
                    "%near = arith.cmpi slt, %d, %c2 : index\n"
                    "%past = arith.cmpi sle, %key, %query : index\n"
                    "%first = arith.cmpi slt, %key, %c2 : index\n"
                    "%either = arith.ori %near, %first : i1\n"
                    "%kept = arith.andi %either, %past : i1"),
            "0,0,0,1 0,0,0,2 0,0,0,3 0,0,0,4 ");
  EXPECT_EQ(gaps, "0 0 0 1 ");
}

TEST_F(VisitedKeysTest, the_longest_gap_counts) {
  EXPECT_EQ(visited("%c4 = arith.constant 4 : index\n"
                    "%c8 = arith.constant 8 : index\n"
                    "%c12 = arith.constant 12 : index\n"
                    "%c20 = arith.constant 20 : index\n"
                    "%first = arith.cmpi slt, %key, %c4 : index\n"
                    "%from = arith.cmpi sge, %key, %c8 : index\n"
                    "%to = arith.cmpi slt, %key, %c12 : index\n"
                    "%middle = arith.andi %from, %to : i1\n"
                    "%last = arith.cmpi sge, %key, %c20 : index\n"
                    "%some = arith.ori %first, %middle : i1\n"
                    "%kept = arith.ori %some, %last : i1"),
            "0,5,6,6 0,5,6,6 0,5,6,6 0,5,6,6 ");
  EXPECT_EQ(gaps, "2 2 2 2 ");
}

TEST_F(VisitedKeysTest, later_keys_alone_are_seen_from_the_query_on) {
  EXPECT_EQ(visited("%kept = arith.cmpi sge, %key, %query : index"),
            "0,1,6,6 1,2,6,6 2,3,6,6 3,4,6,6 ");
}

TEST_F(VisitedKeysTest, rows_of_a_square_keep_themselves) {
  ScoreForm form(parse("%kept = arith.cmpi sle, %key, %query : index\n"
                       "hova.score_yield %raw kept %kept"));
  EXPECT_FALSE(mayHaveEmptyRows(form, {2, 4, 16, 24, 24}));
  ScoreForm later(parse("%kept = arith.cmpi slt, %key, %query : index\n"
                        "hova.score_yield %raw kept %kept"));
  EXPECT_TRUE(mayHaveEmptyRows(later, {2, 4, 16, 24, 24}));
}

} // namespace
