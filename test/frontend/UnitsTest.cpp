//===- UnitsTest.cpp - The units of a description end anywhere ------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A description that is too large ends somewhere inside of some layer, with a
// value that nobody knows; what is built after it must not use it. Here every
// operator is built with every smaller number of units than it needs. Built
// with AddressSanitizer (test/full/test_check_of_bombs.py), a use is a
// finding.
//
//===----------------------------------------------------------------------===//

#include "TestModel.h"

#include <gtest/gtest.h>

using namespace hova;
using namespace hova::test;

namespace {

/// Every operator, in each of its forms that builds something of its own.
const char *const layers[] = {
    R"({"name": "y", "op": "linear", "input": "x", "width": 5})",
    R"({"name": "e", "op": "embedding", "input": "ids", "vocab": 9, "width": 8},
       {"name": "y", "op": "linear", "input": "e", "width": 9, "weight": "e.weight", "transposed": true})",
    R"({"name": "y", "op": "layer_norm", "input": "x"})",
    R"({"name": "y", "op": "softmax", "input": "x"})",
    R"({"name": "y", "op": "activation", "input": "x", "kind": "relu"})",
    R"({"name": "y", "op": "add", "inputs": ["x", "x", "x", "x"]})",
    R"({"name": "y", "op": "multiply", "inputs": ["x", "x", "x", "x"]})",
    R"({"name": "y", "op": "subtract", "inputs": ["x", "x", "x", "x"]})",
    R"({"name": "y", "op": "divide", "inputs": ["x", "x", "x", "x"]})",
    R"({"name": "y", "op": "exp", "input": "x"})",
    R"({"name": "y", "op": "scale", "input": "x", "by": 2})",
    R"({"name": "y", "op": "concat", "inputs": ["x", "x", "x"]})",
    R"({"name": "y", "op": "slice", "input": "x", "end": 3})",
    R"({"name": "w", "op": "weight", "shape": [4, 8]}, {"name": "v", "op": "weight", "shape": [4, 8], "batch": 2},
       {"name": "y", "op": "add", "inputs": ["x", "w", "v"]})",
    R"y({"name": "c", "op": "constant", "shape": [8], "value": "cos(index0)"},
        {"name": "d", "op": "constant", "shape": [4, 8], "value": "row + c[column]"},
        {"name": "y", "op": "add", "inputs": ["x", "d"]})y",
    R"({"name": "y", "op": "pad", "input": "x", "before": 3})",
    R"({"name": "y", "op": "reshape", "input": "x", "shape": [4, 16]})",
    R"({"name": "y", "op": "feed_forward", "input": "x", "hidden": 5})",
    R"({"name": "y", "op": "positions", "input": "x", "kind": "learned", "length": 9})",
    R"({"name": "y", "op": "positions", "input": "x", "kind": "sinusoid", "length": 9})",
    R"({"name": "y", "op": "patch_embedding", "input": "image", "patch": 4, "width": 6})",
    R"({"name": "y", "op": "class_token", "input": "x"})",
    R"({"name": "u", "op": "unfold", "input": "image", "kernel": 2, "stride": 2},
       {"name": "v", "op": "unfold", "input": "u", "kernel": 2, "stride": 2, "within": 2},
       {"name": "w", "op": "windows", "input": "u", "window": 2},
       {"name": "y", "op": "merge_patches", "input": "u"})",
    R"({"name": "y", "op": "pool", "input": "x", "kind": "mean"})",
    R"({"name": "m", "op": "padding_mask", "input": "ids"},
       {"name": "i", "op": "position_ids", "valid": "m"},
       {"name": "e", "op": "embedding", "input": "i", "vocab": 9, "width": 8},
       {"name": "y", "op": "mask_rows", "input": "e", "valid": "m"})",
    R"({"name": "y", "op": "attention", "query": "x", "key": "x", "value": "x", "heads": 2, "scores": true})",
    R"({"name": "y", "op": "multi_head_attention", "input": "x", "heads": 2, "key_valid": "valid", "memory": 3,
        "horizontal": true, "vertical": true, "kind": "additive"})",
    R"({"name": "y", "op": "multi_head_attention", "input": "x", "heads": 2, "kind": "cosine"})",
    R"y({"name": "s", "op": "scale", "input": "x", "by": 1, "repeat": 3}, {"name": "w", "op": "weight", "shape": [2]},
        {"name": "y", "op": "attention", "query": "x", "key": "x", "value": "x", "heads": 2,
         "score": "tanh(score) - w[head] * abs(query - key)", "keep": "valid[batch, key] and s[2][batch, key, 0] < n"})y",
    R"({"name": "y", "op": "multi_head_attention", "input": "x", "heads": 2, "kind": "performer", "features": 4})",
    R"({"name": "y", "op": "multi_head_attention", "input": "x", "heads": 2, "kind": "linformer", "projected_tokens": 2,
        "max_tokens": 7, "shared_projection": false})",
    R"({"name": "u", "op": "unfold", "input": "image", "kernel": 1},
       {"name": "y", "op": "multi_head_attention", "input": "u", "heads": 1, "kind": "bigbird", "block_size": 4, "random_blocks": 2})",
    R"({"name": "u", "op": "patch_embedding", "input": "image", "patch": 2, "width": 8},
       {"name": "y", "op": "multi_head_attention", "input": "u", "heads": 2, "window": 2, "shift": 1, "relative_bias": true})",
    R"({"name": "u", "op": "patch_embedding", "input": "image", "patch": 2, "width": 8},
       {"name": "y", "op": "multi_head_attention", "input": "u", "heads": 2, "window": 2, "shift": 1,
        "relative_bias": "continuous", "kind": "cosine"})",
    R"({"name": "c", "op": "constant", "shape": [4, 2], "value": 1},
       {"name": "y", "op": "rotate", "input": "x", "heads": 2, "cosines": "c", "sines": "c", "pairs": "neighbours"})",
    R"({"name": "y", "op": "head_reweight", "input": "x", "heads_input": "x", "heads": 2})",
    R"({"name": "y", "op": "channel_gate", "input": "x", "gated": "x"})",
    R"({"name": "y", "op": "omni_attention", "inputs": ["x", "x"], "heads": 2, "hidden": 5, "pool": "after_attention"})",
    R"({"name": "y", "op": "omni_attention", "inputs": ["x", "x"], "heads": 2, "hidden": 5, "norm": "res_post"})",
    // Values after the one that the units end in.
    R"({"name": "a", "block": "both", "repeat": 3, "inputs": {"p": "x", "q": ["x", "a[*]"]}},
       {"name": "y", "op": "concat", "inputs": ["a[*].first", "a[-1].s", "x"]})",
};

const std::string blocks =
    R"( "blocks": {"both": {"inputs": ["p", "q"], "arguments": {"k": "2*n"},
   "layers": [{"name": "s", "op": "scale", "input": "p", "by": "k", "repeat": 2}, {"name": "t", "op": "add", "inputs": ["q", "s[*]"]}],
   "outputs": {"first": "t", "second": "s"}}},)";

class Units : public testing::TestWithParam<const char *> {};

TEST_P(Units, end_with_one_error) {
  Read whole(around(GetParam(), blocks));
  ASSERT_NE(whole.program, nullptr) << whole.printed();
  for (int64_t units = 0;; ++units) {
    reader::Diagnostics diagnostics(whole.spec->source);
    auto program = frontend::elaborate(*whole.spec, {}, diagnostics, units);
    if (program) {
      EXPECT_GT(units, 4) << "nothing was counted";
      EXPECT_FALSE(diagnostics.hasErrors());
      break;
    }
    ASSERT_EQ(diagnostics.all().size(), 1u) << units;
    EXPECT_NE(diagnostics.all()[0].message.find("the model becomes too large"),
              std::string::npos)
        << diagnostics.all()[0].message;
  }
}

INSTANTIATE_TEST_SUITE_P(Operators, Units, testing::ValuesIn(layers));

TEST(Units, of_every_operator_are_tried) {
  std::string all;
  for (const char *layer : layers) {
    all += layer;
  }
  for (const frontend::OperatorInfo &info : frontend::vocabulary()) {
    EXPECT_NE(all.find("\"op\": \"" + info.name + "\""), std::string::npos)
        << info.name;
  }
}

} // namespace
