//===- BadBlocksTest.cpp - Mistakes of attention to blocks of tokens -----===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "test/frontend/BadDescriptions.h"

using namespace hova::test;

namespace {

/// One layer on 24 tokens.
Bad layer(const char *name, const std::string &keys,
          const std::string &message) {
  return {name,
          whole(R"("inputs": {"x": {"shape": [1, 24, 8]}, )"
                R"("memory": {"shape": [1, 25, 8]}, )"
                R"("mask": {"shape": [1, 1, 1, 24], "dtype": "bool"}, )"
                R"("bias": {"shape": [1, 1, 1, 24]}}, )"
                R"("layers": [{"name": "y", )" +
                keys + R"(}], "outputs": {"o": "y"})"),
          {message}};
}

/// One attention to blocks of two tokens.
Bad attention(const char *name, const std::string &keys,
              const std::string &message) {
  return layer(name,
               R"("op": "multi_head_attention", "heads": 2, )"
               R"("kind": "bigbird", "block_size": 2, )" +
                   keys,
               message);
}

std::vector<Bad> all() {
  return {
      layer("blocks_of_a_softmax",
            R"("op": "multi_head_attention", "input": "x", "heads": 2, )"
            R"("block_size": @4)",
            "\"block_size\" has no meaning for kind softmax, only for bigbird"),
      layer("random_blocks_of_a_softmax",
            R"("op": "multi_head_attention", "input": "x", "heads": 2, )"
            R"("random_blocks": @1)",
            "\"random_blocks\" has no meaning for kind softmax"),
      layer("repeats_of_a_softmax",
            R"("op": "multi_head_attention", "input": "x", "heads": 2, )"
            R"("repeats": @"count")",
            "\"repeats\" has no meaning for kind softmax"),
      layer("blocks_of_no_tokens",
            R"("op": "multi_head_attention", "input": "x", "heads": 2, )"
            R"("kind": "bigbird", "block_size": @0)",
            "\"block_size\" must be at least 1, got 0"),
      attention("bigbird_of_other_tokens", R"("query": "x", "key": @"memory")",
                "kind bigbird needs as many queries as keys, got 24 and 25"),
      attention("scores_of_a_bigbird", R"("input": "x", "scores": @true)",
                "so it has none to give"),
      attention("memory_of_a_bigbird", R"("input": "x", "memory": @3)",
                "the blocks of a bigbird have no place for the slots"),
      attention("uniform_rows_of_a_bigbird",
                R"("input": "x", "empty_row": @"uniform")",
                "a row without keys is zero for kind bigbird"),
      attention("bigbird_of_two_head_widths",
                R"("query": "x", "key": @"x", "random_blocks": 1, )"
                R"("key_head_width": 3)",
                "needs heads of one width for queries and keys, got 4 and 3"),
      attention("table_of_one_block",
                R"("input": "x", "random_blocks": 1, )"
                R"("init": {"random_table": @{"kind": "zeros"}})",
                "the blocks of a table differ and are drawn"),
      attention("table_of_a_spread",
                R"("input": "x", "random_blocks": 1, "repeats": "count", )"
                R"("init": {"random_table": @{"kind": "normal", "std": 1}})",
                "the blocks of a table differ and are drawn"),
      layer("omni_blocks_of_no_tokens",
            R"("op": "omni_attention", "inputs": ["x"], "heads": 2, )"
            R"("hidden": 4, "kind": "bigbird", "block_size": @0)",
            "\"block_size\" must be at least 1, got 0"),
  };
}

class BadBlocks : public BadDescriptions {};

TEST_P(BadBlocks, are_rejected_at_the_place) { expectRejected(GetParam()); }

INSTANTIATE_TEST_SUITE_P(All, BadBlocks, testing::ValuesIn(all()),
                         [](const auto &info) { return info.param.name; });

} // namespace
