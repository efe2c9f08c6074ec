//===- LearnedTest.cpp - Values that are learned --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "TestModel.h"

#include <gtest/gtest.h>

using namespace hova;
using namespace hova::test;

namespace {

TEST(Learned, is_a_parameter_that_no_operation_makes) {
  Read read(around(R"({"name": "gain", "op": "weight", "shape": ["2*n"],
     "init": {"weight": {"kind": "ones"}}},
    {"name": "y", "op": "multiply", "inputs": ["x", "gain"]})"));
  ASSERT_TRUE(read.program) << read.printed();
  ASSERT_EQ(read.program->operations.size(), 1u);
  EXPECT_EQ(read.reads("y", "rhs"), "gain.weight");
  const frontend::ProgramWeight *weight =
      read.program->findWeight("gain.weight");
  ASSERT_NE(weight, nullptr);
  EXPECT_TRUE(weight->trainable);
  EXPECT_EQ(weight->initializer.str(), "constant(1)");
  EXPECT_EQ(read.program->layers[weight->layer].path, "gain");
  EXPECT_EQ(read.program->layers[weight->layer].result, weight->value);
}

TEST(Learned, has_a_batch_only_where_it_says) {
  Read read(around(
      R"({"name": "queries", "op": "weight", "shape": [3, 8], "batch": 2},
    {"name": "y", "op": "multi_head_attention", "query": "queries", "key": "x", "heads": 2})"));
  ASSERT_TRUE(read.program) << read.printed();
  EXPECT_EQ(read.type("queries"), "f32 [2, 3, 8]");
  EXPECT_EQ(read.reads("queries", "x"), "queries.weight");
  EXPECT_EQ(read.type("y"), "f32 [2, 3, 8]");
  // The weight has none, so that a file serves every batch.
  int value = read.program->findWeight("queries.weight")->value;
  EXPECT_EQ(read.program->values[static_cast<size_t>(value)].type.str(),
            "f32 [3, 8]");
}

TEST(Learned, is_shared_as_other_weights_are) {
  Read read(around(R"({"name": "basis", "op": "weight", "shape": [8, 5]},
    {"name": "same", "op": "weight", "shape": [8, 5], "weights": "basis"},
    {"name": "z", "op": "linear", "input": "x", "width": 5, "weight": "basis.weight", "bias": false},
    {"name": "back", "op": "linear", "input": "z", "width": 8, "weight": "same.weight", "transposed": true, "bias": false},
    {"name": "y", "op": "add", "inputs": ["x", "back"]})"));
  ASSERT_TRUE(read.program) << read.printed();
  EXPECT_EQ(read.program->weights.size(), 1u);
  EXPECT_EQ(read.reads("z", "weight"), "basis.weight");
  EXPECT_EQ(read.reads("back", "weight"), "basis.weight");
}

TEST(Learned, is_nothing_where_it_is_left_out) {
  const std::string block =
      R"("blocks": {"b": {"inputs": ["x", "bias"], "layers": [
       {"name": "a", "op": "attention", "query": "x", "key": "x", "value": "x", "heads": 2, "score_bias": "bias"}],
       "output": "a"}},)";
  auto text = [&](const char *condition) {
    return around(
        std::string(
            R"({"name": "bias", "op": "weight", "shape": [1, 2, "n", "n"], "if": ")") +
            condition +
            R"("}, {"name": "y", "block": "b", "inputs": {"x": "x", "bias": "bias"}})",
        block);
  };
  Read with(text("on")), without(text("not on"));
  ASSERT_TRUE(with.program) << with.printed();
  ASSERT_TRUE(without.program) << without.printed();
  EXPECT_EQ(with.reads("y.a", "captured"), "bias.weight");
  EXPECT_EQ(without.reads("y.a", "captured"), "nothing");
  EXPECT_TRUE(without.program->weights.empty());
  // Where a value is needed there is an error, and one alone.
  Read needed(around(
      R"({"name": "g", "op": "weight", "shape": [8], "if": "not on"},
     {"name": "y", "op": "add", "inputs": ["x", "g"]})"));
  EXPECT_EQ(needed.program, nullptr);
  ASSERT_EQ(needed.diagnostics.all().size(), 1u) << needed.printed();
  EXPECT_NE(needed.printed().find("\"g\" has no value"), std::string::npos);
}

void expectOneError(const std::string &layers, const std::string &message) {
  Read read(around(layers));
  EXPECT_EQ(read.program, nullptr);
  ASSERT_EQ(read.diagnostics.all().size(), 1u) << read.printed();
  EXPECT_NE(read.printed().find(message), std::string::npos) << read.printed();
}

TEST(Learned, cannot_be_all_that_an_output_is_made_of) {
  const std::string message =
      "the output \"out\" depends on no input: it is made of weights alone";
  expectOneError(R"({"name": "y", "op": "weight", "shape": [8]})", message);
  expectOneError(R"({"name": "w", "op": "weight", "shape": [3, 8], "batch": 2},
    {"name": "l", "op": "linear", "input": "w", "width": 4},
    {"name": "y", "op": "add", "inputs": ["l", "l"]})",
                 message);
  // Scores do not depend on the values, which alone are of an input.
  expectOneError(R"({"name": "w", "op": "weight", "shape": [4, 8], "batch": 2},
    {"name": "a", "op": "attention", "query": "w", "key": "w", "value": "x", "heads": 2, "scores": true},
    {"name": "y", "op": "scale", "input": "a.scores", "by": 2})",
                 message);
}

TEST(Learned, has_a_shape) {
  expectOneError(R"({"name": "w", "op": "weight"},
    {"name": "y", "op": "scale", "input": "x", "by": 1})",
                 "weight needs \"shape\"");
  expectOneError(R"({"name": "w", "op": "weight", "shape": []},
    {"name": "y", "op": "scale", "input": "x", "by": 1})",
                 "a shape without axes");
  expectOneError(R"({"name": "w", "op": "weight", "shape": [8, "zero"]},
    {"name": "y", "op": "add", "inputs": ["x", "w"]})",
                 "a dimension must be 1 to 2147483647, got 0");
  expectOneError(R"({"name": "w", "op": "weight", "shape": [8], "batch": 0},
    {"name": "y", "op": "add", "inputs": ["x", "w"]})",
                 "\"batch\" must be at least 1, got 0");
  expectOneError(
      R"({"name": "w", "op": "weight", "shape": [1, 1, 1, 1, 1, 1, 1, 8], "batch": 2},
    {"name": "y", "op": "add", "inputs": ["x", "w"]})",
      "a shape has at most 8 dimensions, got 9");
  expectOneError(R"({"name": "w", "op": "weight", "shape": [8], "repeat": 2},
    {"name": "y", "op": "add", "inputs": ["x", "w"]})",
                 "weight cannot be repeated");
  expectOneError(R"({"name": "w", "op": "weight", "shape": [8]},
    {"name": "y", "op": "scale", "input": "x", "by": 1})",
                 "the weights of \"w\" are not used");
}

} // namespace
