//===- WeightsTest.cpp - Weights drawn from a seed ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "frontend/weights/Weights.h"
#include "test/frontend/TestModel.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <set>

using namespace hova;
using namespace hova::frontend;
using test::around;
using test::Read;

namespace {

std::vector<float> draw(const Read &read, uint64_t seed, const char *name,
                        Drawing drawing = Drawing::Initialised) {
  llvm::Expected<HostTensor> tensor =
      drawWeights(*read.program, seed, drawing)->load(name);
  EXPECT_TRUE(bool(tensor));
  return {tensor->as<float>(), tensor->as<float>() + tensor->size()};
}

/// Mean and standard deviation.
std::pair<double, double> spread(const std::vector<float> &values) {
  double sum = 0, squares = 0;
  for (float value : values) {
    sum += value;
    squares += static_cast<double>(value) * value;
  }
  double mean = sum / values.size();
  return {mean, std::sqrt(squares / values.size() - mean * mean)};
}

const char *const layers = R"(
  {"name": "a", "op": "linear", "input": "x", "width": 2048, "init": {"bias": {"kind": "normal", "std": 0.5}}},
  {"name": "b", "op": "layer_norm", "input": "a"},
  {"name": "y", "op": "linear", "input": "b", "width": 4, "bias": false, "init": {"weight": {"kind": "uniform", "bound": 2}}})";

TEST(DrawnWeights, have_sinusoids_from_the_first_row_on) {
  auto table = [](const char *keys) {
    Read read(around(
        R"({"name": "y", "op": "linear", "input": "x", "width": 4, "init": {"weight": {"kind": "sinusoid")" +
        std::string(keys) + "}}}"));
    EXPECT_TRUE(read.program) << read.printed();
    return draw(read, 0, "y.weight");
  };
  EXPECT_EQ(table(""), table(R"(, "first": 0, "base": 10000)"));
  EXPECT_EQ(table(R"(, "base": 50)"), table(R"(, "first": 0, "base": 50)"));
  EXPECT_NE(table(R"(, "first": 1)"), table(""));
}

TEST(DrawnWeights, have_the_spread_of_their_initialiser) {
  Read read(around(layers));
  ASSERT_TRUE(read.program) << read.printed();
  auto [mean, deviation] = spread(draw(read, 0, "a.weight"));
  double bound = std::sqrt(6.0 / (8 + 2048));
  EXPECT_NEAR(mean, 0, 0.001);
  EXPECT_NEAR(deviation, bound / std::sqrt(3.0), 0.0005);
  EXPECT_NEAR(spread(draw(read, 0, "a.bias")).second, 0.5, 0.02);
  EXPECT_NEAR(spread(draw(read, 0, "b.gain")).first, 1, 0.01);
  EXPECT_NEAR(spread(draw(read, 0, "b.gain")).second, 0.1, 0.01);
  EXPECT_NEAR(spread(draw(read, 0, "b.bias")).second, 0.1, 0.01);
  EXPECT_NEAR(spread(draw(read, 0, "y.weight")).second, 2 / std::sqrt(3.0),
              0.02);
}

TEST(DrawnWeights, depend_on_seed_and_name_only) {
  Read read(around(layers));
  Read other(around(R"(
    {"name": "first", "op": "linear", "input": "x", "width": 8},
    {"name": "a", "op": "linear", "input": "first", "width": 2048},
    {"name": "y", "op": "linear", "input": "a", "width": 2})"));
  EXPECT_EQ(draw(read, 3, "a.weight"), draw(other, 3, "a.weight"));
  EXPECT_NE(draw(read, 3, "a.weight"), draw(read, 4, "a.weight"));
  EXPECT_NE(draw(read, 3, "b.gain"), draw(read, 3, "b.bias"));
}

TEST(DrawnWeights, are_the_same_on_every_machine) {
  Read read(around(layers));
  std::vector<float> weight = draw(read, 0, "a.weight");
  std::vector<float> bias = draw(read, 0, "a.bias");
  EXPECT_EQ(weight[0], -0x1.1917f4p-5f);
  EXPECT_EQ(weight[16383], 0x1.3e1e5cp-8f);
  EXPECT_EQ(bias[7], 0x1.2df3cp-1f);
}

TEST(VariedWeights, have_no_constants) {
  Read read(around(R"(
    {"name": "a", "op": "multi_head_attention", "input": "x", "heads": 8, "kind": "cosine"},
    {"name": "b", "op": "linear", "input": "a", "width": 9, "init": {"bias": {"kind": "zeros"},
      "weight": {"kind": "normal", "std": 0}}},
    {"name": "y", "op": "linear", "input": "b", "width": 16, "init": {"bias": {"kind": "constant", "value": -3e38}}})"));
  ASSERT_TRUE(read.program) << read.printed();
  for (const char *name : {"a.logit_scale", "b.bias", "b.weight", "y.bias"}) {
    std::vector<float> alike = draw(read, 1, name);
    EXPECT_EQ(std::set<float>(alike.begin(), alike.end()).size(), 1u) << name;
    std::vector<float> values = draw(read, 1, name, Drawing::Varied);
    EXPECT_GT(std::set<float>(values.begin(), values.end()).size(),
              values.size() / 3)
        << name;
    for (float value : values) {
      EXPECT_TRUE(std::isfinite(value)) << name;
    }
    EXPECT_NE(values, draw(read, 2, name, Drawing::Varied)) << name;
  }
}

TEST(VariedWeights, are_those_of_the_seed_where_they_differ_anyway) {
  Read read(around(layers));
  ASSERT_TRUE(read.program) << read.printed();
  for (const char *name : {"a.weight", "a.bias", "b.gain", "y.weight"}) {
    EXPECT_EQ(draw(read, 4, name), draw(read, 4, name, Drawing::Varied));
  }
}

/// Tables [2, 18, 3] of 20 blocks of two tokens.
std::vector<float> drawVariedTable(const std::string &more) {
  Read read(R"({"hova": 1, "name": "m", "inputs": {"x": {"shape": [1, 39, 8]}},
 "layers": [{"name": "y", "op": "multi_head_attention", "input": "x",
   "heads": 2, "kind": "bigbird", "block_size": 2)" +
            more + R"(}], "outputs": {"out": "y"}})");
  EXPECT_TRUE(read.program) << read.printed();
  if (!read.program) {
    return {};
  }
  llvm::Expected<HostTensor> table =
      drawWeights(*read.program, 5, Drawing::Varied)->load("y.random_table");
  EXPECT_TRUE(bool(table));
  for (const ProgramWeight &weight : read.program->weights) {
    if (weight.name == "y.random_table") {
      llvm::Error error = checkValues(weight, *table);
      EXPECT_FALSE(bool(error)) << llvm::toString(std::move(error));
    }
  }
  return {table->as<float>(), table->as<float>() + table->size()};
}

TEST(VariedWeights, are_tables_with_empty_entries) {
  std::vector<float> table = drawVariedTable("");
  auto empty = std::count(table.begin(), table.end(), -1.0f);
  EXPECT_GT(empty, 10);
  EXPECT_LT(empty, 50);
}

TEST(VariedWeights, are_any_blocks_where_blocks_may_repeat) {
  std::vector<float> table = drawVariedTable(
      R"(, "repeats": "count", "init": {"random_table": {"kind": "zeros"}})");
  std::set<float> drawn(table.begin(), table.end());
  EXPECT_GT(drawn.size(), 18u); // of 20 and none
  bool repeats = false, sees = false;
  for (size_t i = 0; i < table.size(); i += 3) {
    float row = static_cast<float>(i / 3 % 18 + 1);
    repeats |= table[i] >= 0 && table[i] == table[i + 1];
    sees |= table[i] == 0 || table[i] == row;
  }
  EXPECT_TRUE(repeats);
  EXPECT_TRUE(sees);
}

/// Tables [2, 18, 3] of 20 blocks of two tokens.
std::vector<float> drawTable(bool causal) {
  Read read(R"({"hova": 1, "name": "m", "inputs": {"x": {"shape": [1, 39, 8]}},
 "layers": [{"name": "y", "op": "multi_head_attention", "input": "x",
   "heads": 2, "kind": "bigbird", "block_size": 2, "causal": )" +
            std::string(causal ? "true" : "false") +
            R"(}], "outputs": {"out": "y"}})");
  EXPECT_TRUE(read.program) << read.printed();
  return read.program ? draw(read, 5, "y.random_table") : std::vector<float>();
}

TEST(DrawnWeights, are_blocks_that_are_not_seen_anyway) {
  std::vector<float> table = drawTable(false);
  ASSERT_EQ(table.size(), 2u * 18 * 3);
  std::set<float> drawn;
  for (size_t i = 0; i < table.size(); i += 3) {
    float number = static_cast<float>(i / 3 % 18 + 1);
    std::set<float> row(&table[i], &table[i] + 3);
    EXPECT_EQ(row.size(), 3u);
    for (float block : row) {
      EXPECT_TRUE(block >= 1 && block <= 18 && std::abs(block - number) > 1)
          << block << " of row " << number;
      drawn.insert(block);
    }
  }
  EXPECT_EQ(drawn.size(), 18u); // and any of them may be
}

TEST(DrawnWeights, are_blocks_before_those_of_a_causal_row) {
  std::vector<float> table = drawTable(true);
  ASSERT_EQ(table.size(), 2u * 18 * 3);
  for (size_t i = 0; i < table.size(); ++i) {
    int64_t row = static_cast<int64_t>(i / 3 % 18 + 1);
    int64_t candidates = std::max<int64_t>(row - 2, 0);
    if (static_cast<int64_t>(i % 3) < candidates) {
      EXPECT_TRUE(table[i] >= 1 && table[i] <= static_cast<float>(row - 2))
          << table[i] << " of row " << row;
    } else {
      EXPECT_EQ(table[i], -1);
    }
  }
}

TEST(DrawnWeights, know_the_weights_of_the_model_only) {
  Read read(around(layers));
  llvm::Expected<HostTensor> tensor =
      drawWeights(*read.program, 0)->load("a.gain");
  ASSERT_FALSE(bool(tensor));
  EXPECT_EQ(llvm::toString(tensor.takeError()),
            "the model has no weight \"a.gain\"");
}

} // namespace
