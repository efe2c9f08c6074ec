//===- ForeignWordsTest.cpp - What other libraries and notations have -----===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A mistake that comes from another library, or from a file that is nearly
// JSON, has a sentence of its own, and is one mistake.
//
//===----------------------------------------------------------------------===//

#include "TestModel.h"

#include "frontend/description/ForeignWords.h"

#include <gtest/gtest.h>

using namespace hova;
using namespace hova::test;

namespace {

/// A layer `y` that does nothing, after others.
const char *const end =
    R"(, {"name": "y", "op": "scale", "input": "x", "by": 1})";

struct Foreign {
  std::string text;
  /// What is said, place included.
  std::string said;
  std::string replacement = {};
};

std::ostream &operator<<(std::ostream &out, const Foreign &foreign) {
  return out << foreign.text;
}

class ForeignWords : public testing::TestWithParam<Foreign> {};

TEST_P(ForeignWords, are_one_mistake_with_a_way_out) {
  Read read(GetParam().text);
  ASSERT_EQ(read.diagnostics.all().size(), 1u) << read.printed();
  EXPECT_NE(read.printed().find(GetParam().said), std::string::npos)
      << read.printed();
  const auto &fixes = read.diagnostics.all()[0].fixIts;
  EXPECT_EQ(fixes.empty() ? "" : fixes[0].replacement, GetParam().replacement)
      << read.printed();
}

/// A layer with another operator in front of the rest.
Foreign op(const std::string &word, const std::string &said,
           const std::string &replacement = "") {
  return {
      around(R"({"name": "f", "op": ")" + word + R"(", "input": "x"})" + end),
      said, replacement};
}

INSTANTIATE_TEST_SUITE_P(
    Operators, ForeignWords,
    testing::Values(
        op("rms_norm", "note: write \"op\": \"layer_norm\", \"center\": false, "
                       "\"bias\": false"),
        op("RMSNorm", "\"center\": false"),
        op("l2_norm", "note: write \"op\": \"layer_norm\", \"kind\": \"l2\""),
        op("SiLU", "note: write \"op\": \"activation\", \"kind\": \"silu\""),
        op("SwiGLU", "feed_forward with \"gate\": true"),
        op("rope", "or the operator rotate"),
        op("conv2d", "compose it as unfold, then linear: block \"conv2d\""),
        op("sub", "note: did you mean \"subtract\"?", "\"subtract\""),
        op("div", "note: did you mean \"divide\"?", "\"divide\""),
        op("batch_norm", "block \"batch_norm\""),
        op("dropout", "note: nothing is dropped when a model runs: leave the "
                      "layer out"),
        op("matmul", "note: the product with a weight is linear"),
        op("transpose", "note: no value has its axes exchanged"),
        op("permute", "note: no value has its axes exchanged"),
        op("gelu", "note: write \"op\": \"activation\", \"kind\": "
                   "\"gelu_erf\""),
        op("parameter", "note: did you mean \"weight\"?", "\"weight\""),
        op("mul", "note: did you mean \"multiply\"?", "\"multiply\""),
        op("multi_head_atention", "did you mean \"multi_head_attention\"?",
           "\"multi_head_attention\"")));

INSTANTIATE_TEST_SUITE_P(
    Settings, ForeignWords,
    testing::Values(
        Foreign{
            around(
                R"({"name": "f", "op": "activation", "input": "x", "kind": "hardswish"})" +
                std::string(end)),
            "did you mean \"hard_swish\"?", "\"hard_swish\""},
        Foreign{
            around(
                R"({"name": "f", "op": "feed_forward", "input": "x", "hidden": 4, "activation": "swish"})" +
                std::string(end)),
            "did you mean \"silu\"?", "\"silu\""},
        Foreign{
            around(
                R"({"name": "f", "op": "layer_norm", "input": "x", "init": {"kind": "ones"}})" +
                std::string(end)),
            "\"init\" has an initialiser for each weight: {\"gain\": "
            "{\"kind\": \"ones\", ...}}"},
        Foreign{
            around(
                R"({"name": "f", "op": "reshape", "input": "x", "shape": [-1, 8]})" +
                std::string(end)),
            "note: every axis is written out"},
        Foreign{
            around(R"({"name": "f", "op": "linear", "input": "x", "width": 4},
                          {"name": "f", "op": "linear", "input": "f", "width": 5},
                          {"name": "g", "op": "reshape", "input": "f", "shape": [2, 4, 7]})" +
                   std::string(end)),
            "the name \"f\" is given twice"},
        // The caret is at the number that is wrong.
        Foreign{
            around(R"({"name": "f", "op": "multi_head_attention", "input": "x",
                           "heads": 3})" +
                   std::string(end)),
            "model.json:8:37: error: multi_head_attention \"f\" cannot "
            "split a width of 8 into 3 heads: \"heads\" must divide the "
            "width of \"input\", or \"head_width\" be given"},
        Foreign{
            around(
                R"({"name": "f", "op": "attention", "query": "x", "key": "x", "value": "x",
                           "heads": 3})" +
                std::string(end)),
            "model.json:8:37: error: attention \"f\" cannot split a width "
            "of 8 into 3 heads: \"heads\" must divide the width of "
            "\"query\"\n"}));

std::string described(const std::string &sections) {
  return R"({"hova": 1, "name": "m", )" + sections + "}";
}

/// A description of one input.
std::string input(const std::string &members) {
  return R"({"hova": 1, "name": "m", "inputs": {"x": {"shape": [2, 4]}, "t": {)" +
         members +
         R"(}}, "layers": [{"name": "e", "op": "embedding", "input": "t", "vocab": 9, "width": 4},
          {"name": "y", "op": "scale", "input": "x", "by": 1}], "outputs": {"o": "y"}})";
}

INSTANTIATE_TEST_SUITE_P(
    Inputs, ForeignWords,
    testing::Values(
        Foreign{input(R"("shape": [2], "dtype": "int64", "range": [0, 9])"),
                "note: did you mean \"i64\"?", "\"i64\""},
        Foreign{input(R"("shape": [-1, 4], "dtype": "i64")"), "got -1\n"},
        Foreign{input(R"("shape": [-1, 4], "dtype": "i64")"),
                "note: name a parameter, such as \"batch\", in the shape, and "
                "choose it with --set batch=8, or --set batch=1..8 for any "
                "number of these"},
        Foreign{input(R"("shape": [null, 4], "dtype": "i64")"),
                "choose it with --set batch=8"},
        Foreign{input(R"("shape": ["batch", 4], "dtype": "i64")"),
                "note: a parameter is declared beside \"inputs\": "
                "\"parameters\": {\"batch\": 8}"},
        Foreign{described(R"("inputs": {"x": [2, 4]}, "outputs": {"o": "y"},
                "layers": [{"name": "y", "op": "scale", "input": "x", "by": 1}])"),
                "note: the list is its shape: write {\"shape\": [...]}"},
        Foreign{described(R"("inputs": {"x": {"shape": [2, 4]}},
                "layers": [{"name": "y", "op": "scale", "input": "x", "by": 1}], "outputs": ["y"])"),
                "note: an output has a name of its own: write {\"NAME\": "
                "\"LAYER\"}"},
        Foreign{described(R"("inputs": {"x": {"shape": [2, 4]}},
                "layers": [{"name": "y", "op": "scale", "input": "x", "by": 1}], "outputs": "y")"),
                "error: \"outputs\" must be an object, got a string"}));

INSTANTIATE_TEST_SUITE_P(
    Notations, ForeignWords,
    testing::Values(
        Foreign{"{\"hova\": 1, // one\n \"name\": \"m\"}",
                "model.json:1:13: error: JSON has no comments; \"metadata\" "
                "takes any remark"},
        Foreign{"{\"hova\": 1, /* one\n */ \"name\": \"m\"}",
                "model.json:1:13: error: JSON has no comments"},
        Foreign{"# one\n{\"hova\": 1}",
                "model.json:1:1: error: JSON has no comments"},
        Foreign{"{'hova': 1}",
                "model.json:1:2: error: a string of JSON stands in double "
                "quotes",
                "\"hova\""},
        Foreign{"{\"hova\": 1, \"name\": 'm'}", "stands in double quotes",
                "\"m\""},
        Foreign{"{\"hova\": 1, \"name\": 'm}", "stands in double quotes"},
        Foreign{"{\"hova\": 1,\n \"name\": \"m\",\n}",
                "model.json:2:13: error: a comma in front of '}'; after the "
                "last entry there is none"},
        Foreign{"{\"hova\": 1, \"layers\": [1, 2, ]}",
                "model.json:1:28: error: a comma in front of ']'"},
        Foreign{"{\"hova\": True}", "True is true in JSON", "true"},
        Foreign{"{\"hova\": None}", "None is null in JSON", "null"},
        Foreign{"{\"hova\": NaN}", "JSON has no number NaN"},
        Foreign{"{hova: 1}", "the key hova must stand in quotes", "\"hova\""},
        Foreign{"{\"hova\": one}", "the word one must stand in quotes"},
        Foreign{"{\"hova\": .5}", "starts with a digit or '-', not with '.'"},
        Foreign{"{\"hova\": 1 \"name\": \"m\"}",
                "unexpected string literal; expected ',' or '}'"},
        Foreign{"{\"hova\": [1 true]}",
                "unexpected true literal; expected ',' or ']'"}));

/// Around a block `b` of one input, which may be wrong, and its use.
Foreign inBlock(const std::string &inputs, const std::string &layers,
                const std::string &said) {
  return {around(R"({"name": "y", "block": "b", "inputs": {"a": "x"}})",
                 R"("blocks": {"b": {"inputs": )" + inputs + R"(, "layers": )" +
                     layers + R"(, "output": "l"}},)"),
          said};
}

// A value may have the name that could not be read, and a weight may belong to
// the layer that could not be built: nothing is said of who reads them.
INSTANTIATE_TEST_SUITE_P(
    Consequences, ForeignWords,
    testing::Values(
        Foreign{
            around(R"(7, {"name": "y", "op": "add", "inputs": ["x", "f"]})"),
            "a layer must be an object, got an integer"},
        Foreign{around(R"({"name": 7, "op": "scale", "input": "x", "by": 2},
          {"name": "y", "op": "add", "inputs": ["x", "f"]})"),
                "\"name\" must be a string, got an integer"},
        Foreign{around(R"({"op": "scale", "input": "x", "by": 2},
          {"name": "y", "op": "add", "inputs": ["x", "f"]})"),
                "missing key \"name\" in a layer"},
        inBlock(R"([7])",
                R"([{"name": "l", "op": "scale", "input": "a", "by": 1}])",
                "the input of a block must be a string, got an integer"),
        inBlock(R"("a")",
                R"([{"name": "l", "op": "scale", "input": "a", "by": 1}])",
                "\"inputs\" of a block must be a list, got a string"),
        inBlock(R"(["a"])", "7", "\"layers\" must be a list, got an integer"),
        Foreign{
            around(
                R"({"name": "e", "op": "embedding", "input": "ids", "vocab": 9, "width": "q"},
          {"name": "y", "op": "linear", "input": "x", "width": 9, "weight": "e.weight", "transposed": true})"),
            "unknown name \"q\""},
        Foreign{
            around(R"({"name": "e", "op": "linear", "input": "x", "width": 0},
          {"name": "y", "op": "linear", "input": "x", "width": 9, "weights": "e"})"),
            "\"width\" must be at least 1, got 0"},
        // What reads the name alone is built of nothing, and says so to nobody.
        Foreign{
            around(R"(7, {"name": "y", "op": "scale", "input": "f", "by": 1})"),
            "a layer must be an object, got an integer"},
        Foreign{
            around(
                R"(7, {"name": "y", "block": "b", "inputs": {"a": "f"}})",
                R"("blocks": {"b": {"inputs": ["a"], "layers": [{"name": "l", "op": "scale", "input": "a", "by": 1}], "output": "l"}},)"),
            "a layer must be an object, got an integer"},
        inBlock(R"(["a"])", "[]", "an empty list of layers"),
        Foreign{around(R"({"name": "y", "block": "b", "input": "x"})",
                       R"("blocks": {"b": 7},)"),
                "a block must be an object, got an integer"},
        inBlock(R"(["a"], "arguments": 7)",
                R"([{"name": "l", "op": "scale", "input": "a", "by": "k"}])",
                "\"arguments\" must be an object, got an integer"),
        Foreign{
            around(
                R"({"name": "y", "op": "scale", "input": "x", "by": "index", "repeat": 1.5})"),
            "expected an integer or an expression, got a number"},
        Foreign{around(R"({"name": "y", "block": "nothing", "input": "x"})"),
                "unknown block \"nothing\""}));

TEST(ForeignWords, are_near_to_legal_values_of_parameters) {
  const std::string text = described(
      R"("parameters": {"kind": {"default": "softmax", "values": ["softmax", "additive"]}},
         "inputs": {"x": {"shape": [2, 4, 8]}}, "outputs": {"o": "y"},
         "layers": [{"name": "y", "op": "attention", "query": "x", "key": "x", "value": "x", "kind": "kind"}])");
  std::string near = Read(text, {{"kind", "softmx"}}).printed();
  EXPECT_NE(
      near.find("parameter \"kind\" must be one of softmax, additive, got "
                "softmx\n  note: did you mean \"softmax\"?"),
      std::string::npos)
      << near;
  std::string far = Read(text, {{"kind", "performer"}}).printed();
  EXPECT_NE(far.find("got performer"), std::string::npos) << far;
  EXPECT_EQ(far.find("note"), std::string::npos) << far;
}

TEST(ForeignWords, do_not_mix_with_blocks) {
  const std::string blocks =
      R"("blocks": {"layer": {"inputs": ["a"], "layers": [{"name": "b", "op": "scale", "input": "a", "by": 1}], "output": "b"}},)";
  auto said = [&](const std::string &layer) {
    return Read(around(layer + end, blocks)).printed();
  };
  std::string exact = said(R"({"name": "f", "op": "layer", "input": "x"})");
  EXPECT_NE(exact.find("\"layer\" is a block: write \"block\": \"layer\""),
            std::string::npos)
      << exact;
  std::string near = said(R"({"name": "f", "op": "layr", "input": "x"})");
  EXPECT_NE(near.find("did you mean the block \"layer\"?"), std::string::npos)
      << near;
  std::string op = said(R"({"name": "f", "block": "linear", "input": "x"})");
  EXPECT_NE(op.find("\"linear\" is an operator: write \"op\": \"linear\""),
            std::string::npos)
      << op;
  // Where nothing is near, all operators are listed, and operators alone.
  std::string far = said(R"({"name": "f", "op": "qqqqqq", "input": "x"})");
  for (const frontend::OperatorInfo &info : frontend::vocabulary()) {
    EXPECT_NE(far.find(info.name), std::string::npos) << info.name;
  }
  EXPECT_EQ(far.find("layer,"), std::string::npos) << far;
}

TEST(ForeignWords, are_no_words_of_hova) {
  for (const frontend::OperatorInfo &info : frontend::vocabulary()) {
    EXPECT_EQ(frontend::adviceFor(info.name), "");
    EXPECT_EQ(frontend::canonicalWord(info.name), "") << info.name;
  }
}

} // namespace
