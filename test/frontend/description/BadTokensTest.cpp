//===- BadTokensTest.cpp - Mistakes of positions, pooling and kernels -----===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "test/frontend/BadDescriptions.h"

using namespace hova::test;

namespace {

std::vector<Bad> all() {
  return {
      layer("positions_of_numbers",
            R"({"name": "y", "op": "position_ids", "valid": @"image"})",
            "expects valid of shape [batch, N], got f32 [1, 3, 8, 8]"),
      layer(
          "positions_beyond_the_table",
          R"({"name": "v", "op": "padding_mask", "input": "ids"}, {"name": "p", "op": "position_ids", "valid": "v"}, {"name": "y", "op": "embedding", "input": @"p", "vocab": 4, "width": 3})",
          "has rows 0 to 3, but the ids are in [0, 5)"),
      layer(
          "kernel_of_three_numbers",
          R"({"name": "y", "op": "unfold", "input": "image", "kernel": @[3, 1, 1]})",
          "\"kernel\" is an integer, or two: [down, across]"),
      layer(
          "stride_of_nothing",
          R"({"name": "y", "op": "unfold", "input": "image", "kernel": 2, "stride": [1, @0]})",
          "\"stride\" must be at least 1, got 0"),
      layer(
          "kernel_with_wide_holes",
          R"({"name": "y", "op": "unfold", "input": "image", "kernel": @[3, 1], "dilation": 4, "padding": [0, 3]})",
          "a kernel of 9 x 1 is larger than an image of 8 x 8 with a padding "
          "of 0 x 3"),
      layer("pool_by_nothing",
            R"({"name": "y", "op": "pool", "input": "x", "kind": @"token"})",
            "kind token finds the token by \"ids\""),
      layer(
          "pool_by_ids_of_others",
          R"({"name": "y", "op": "pool", "input": "x", "kind": "mean", "ids": @"ids"})",
          "\"ids\" has no meaning for kind mean"),
      layer(
          "first_of_the_valid",
          R"({"name": "v", "op": "padding_mask", "input": "ids"}, {"name": "y", "op": "pool", "input": "x", "kind": "first", "valid": @"v"})",
          "\"valid\" has no meaning for kind first"),
      layer(
          "id_of_a_mean",
          R"({"name": "y", "op": "pool", "input": "x", "kind": "mean", "id": @3})",
          "\"id\" has no meaning for kind mean"),
      layer(
          "id_beyond_i32",
          R"({"name": "y", "op": "pool", "input": "x", "kind": "token", "ids": "ids", "id": @-2147483649})",
          "\"id\" is no number of i32: -2147483649"),
      layer(
          "pool_by_numbers",
          R"({"name": "y", "op": "pool", "input": "x", "kind": "last", "valid": @"ids"})",
          "expects valid of bool [2, 4], got i32 [2, 4]"),
      layer(
          "positions_beyond_a_table_after_some",
          R"({"name": "y", "op": "positions", "input": "x", "kind": "learned", "offset": 2, "length": @5})",
          "the table has 5 rows for 4 tokens after the first 2"),
      layer(
          "positions_beyond_all_numbers",
          R"({"name": "y", "op": "positions", "input": "x", "kind": "learned", "offset": @2147483647})",
          "the table has 2147483651 rows for 4 tokens after the first "
          "2147483647"),
      layer(
          "no_position_for_padding",
          R"({"name": "v", "op": "padding_mask", "input": "ids"}, {"name": "y", "op": "positions", "input": "x", "valid": "v", "kind": "learned", "offset": @0})",
          "with \"valid\", masked tokens have row \"offset\" - 1, so it is at "
          "least 1"),
      layer(
          "positions_of_ids",
          R"({"name": "y", "op": "positions", "input": "x", "valid": @"ids", "kind": "learned"})",
          "expects valid of bool [2, 4], got i32 [2, 4]"),
      layer(
          "rows_masked_by_numbers",
          R"({"name": "y", "op": "mask_rows", "input": "x", "valid": @"ids"})",
          "expects valid of bool [2, 4], got i32 [2, 4]"),
      layer(
          "rotation_of_other_tokens",
          R"({"name": "c", "op": "constant", "shape": [5, 2], "value": 1}, {"name": "y", "op": "rotate", "input": "x", "heads": 2, "cosines": @"c", "sines": "c"})",
          "needs a row for each of 4 tokens"),
      layer(
          "rotation_of_more_pairs_than_columns",
          R"({"name": "c", "op": "constant", "shape": [4, 3], "value": 1}, {"name": "y", "op": "multi_head_attention", "input": "x", "heads": 2, "cosines": @"c", "sines": "c"})",
          "has more pairs than the 4 columns of a head"),
      layer(
          "sines_of_other_pairs",
          R"({"name": "c", "op": "constant", "shape": [4, 2], "value": 1}, {"name": "s", "op": "constant", "shape": [4, 1], "value": 1}, {"name": "y", "op": "rotate", "input": "x", "heads": 2, "cosines": "c", "sines": @"s"})",
          "needs the shape of the cosines"),
      layer(
          "pairs_of_no_rotation",
          R"({"name": "y", "op": "multi_head_attention", "input": "x", "heads": 2, "pairs": @"neighbours"})",
          "\"pairs\" needs \"cosines\" and \"sines\""),
  };
}

class BadTokens : public BadDescriptions {};

TEST_P(BadTokens, are_rejected_at_the_place) { expectRejected(GetParam()); }

INSTANTIATE_TEST_SUITE_P(All, BadTokens, testing::ValuesIn(all()),
                         [](const auto &info) { return info.param.name; });

} // namespace
