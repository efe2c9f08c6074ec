//===- TiesTest.cpp - Weights that layers share, in files -----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "TensorFiles.h"
#include "frontend/Model.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace hova;
using namespace hova::frontend;
using test::Folder;
using test::safetensors;
using test::TestTensor;

namespace {

/// A table that a product multiplies by too, and two layers with one weight.
/// The source `lib` has names of its own.
constexpr const char *kTied = R"({"hova": 1, "name": "m",
 "inputs": {"ids": {"shape": [1, 2], "dtype": "i32"}},
 "layers": [
  {"name": "embed", "op": "embedding", "input": "ids", "vocab": 3, "width": 2},
  {"name": "left", "op": "linear", "input": "embed", "width": 2, "bias": false},
  {"name": "right", "op": "linear", "input": "left", "width": 2, "bias": false, "weights": "left"},
  {"name": "head", "op": "linear", "input": "right", "width": 3, "bias": false, "weight": "embed.weight", "transposed": true}],
 "outputs": {"y": "head"},
 "checkpoints": {"lib": {"rules": [
  {"to": "head.weight", "from": "lm_head", "apply": ["transpose"]},
  {"to": "{layer}.weight", "from": "{layer}.table"}]}}})";

/// What opening a file says.
std::string messagesOf(const std::map<std::string, TestTensor> &tensors) {
  Folder folder;
  ModelOptions options;
  options.path = folder.write("model.json", kTied);
  options.weights = folder.write("w.safetensors", safetensors(tensors));
  std::string messages;
  llvm::raw_string_ostream errors(messages);
  Model model;
  if (readModel(options, model, errors) == ModelStatus::Ok) {
    openWeights(options, model, errors);
  }
  return messages;
}

const std::map<std::string, TestTensor> kOnce = {{"embed.weight", {{3, 2}}},
                                                 {"left.weight", {{2, 2}}}};

std::map<std::string, TestTensor> onceAnd(const std::string &name,
                                          TestTensor tensor) {
  auto tensors = kOnce;
  tensors[name] = std::move(tensor);
  return tensors;
}

TEST(Ties, a_file_has_a_shared_weight_once) {
  EXPECT_EQ(messagesOf(kOnce), "");
}

TEST(Ties, a_file_may_have_it_for_each_layer) {
  EXPECT_EQ(messagesOf(onceAnd("right.weight", {{2, 2}})), "");
  EXPECT_EQ(messagesOf(onceAnd("head.weight", {{2, 3}, {0, 2, 4, 1, 3, 5}})),
            "");
}

TEST(Ties, other_numbers_are_an_error_with_both_names) {
  std::string said =
      messagesOf(onceAnd("right.weight", {{2, 2}, {0, 1, 2, 4}}));
  EXPECT_NE(said.find("layer \"right\" shares weight \"left.weight\", but the "
                      "file has other numbers for each: \"left.weight\" and "
                      "\"right.weight\", which differs first at [1, 1]"),
            std::string::npos)
      << said;
  // As they are where they should be the transpose.
  said = messagesOf(onceAnd("head.weight", {{2, 3}}));
  EXPECT_NE(said.find("\"embed.weight\" and \"head.weight\", which differs "
                      "first at [0, 1]"),
            std::string::npos)
      << said;
}

TEST(Ties, other_numbers_are_found_by_rules) {
  std::map<std::string, TestTensor> tensors = {{"embed.table", {{3, 2}}},
                                               {"left.table", {{2, 2}}}};
  EXPECT_EQ(messagesOf(tensors), "");
  tensors["lm_head"] = {{3, 2}};
  EXPECT_EQ(messagesOf(tensors), "");
  tensors["lm_head"] = {{3, 2}, {0, 1, 2, 3, 4, 6}};
  std::string said = messagesOf(tensors);
  EXPECT_NE(said.find("layer \"head\" shares weight \"embed.weight\""),
            std::string::npos)
      << said;
  EXPECT_NE(said.find("\"embed.table\" and \"lm_head\", which differs first at "
                      "[1, 2]"),
            std::string::npos)
      << said;
}

TEST(Ties, numbers_that_are_none_are_named) {
  std::string said =
      messagesOf(onceAnd("right.weight", {{2, 2}, {0, 1, NAN, 3}}));
  EXPECT_NE(said.find("\"right.weight\""), std::string::npos) << said;
  EXPECT_NE(said.find("[1, 0]"), std::string::npos) << said;
}

TEST(Ties, another_shape_is_left_over) {
  std::string said = messagesOf(onceAnd("right.weight", {{2, 3}}));
  EXPECT_NE(said.find("left over: \"right.weight\" [2, 3]"), std::string::npos)
      << said;
}

} // namespace
