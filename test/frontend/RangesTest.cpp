//===- RangesTest.cpp - Parameters whose value is that of a run -----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "TestModel.h"

#include <gtest/gtest.h>

using namespace hova::frontend;
using namespace hova::test;

namespace {

/// A description whose parameters, inputs and layers are these.
std::string described(
    const std::string &parameters =
        R"("length": {"min": 1, "max": 512}, "items": {"min": 2, "max": 32})",
    const std::string &inputs = R"("x": {"shape": ["items", "length", 8]})",
    const std::string &layers =
        R"({"name": "y", "op": "linear", "input": "x", "width": 4})") {
  return R"({"hova": 1, "name": "m", "parameters": {)" + parameters +
         "},\n \"inputs\": {" + inputs + "},\n \"layers\": [" + layers +
         "],\n \"outputs\": {\"o\": \"y\"}}";
}

std::vector<ParameterOverride> set(const std::vector<std::string> &texts) {
  std::vector<ParameterOverride> overrides;
  for (const std::string &text : texts) {
    overrides.push_back(*parseOverride(text));
  }
  return overrides;
}

using Bounds = std::array<int64_t, 4>;

Bounds boundsOf(const Read &read) {
  const auto &[items, length, otherLength] = *read.program->sequences;
  EXPECT_FALSE(otherLength);
  return {items.least, items.most, length.least, length.most};
}

TEST(Ranges, AreItemsAndTokensByTheirAxis) {
  Read read(described());
  ASSERT_TRUE(read.program) << read.printed();
  EXPECT_EQ(boundsOf(read), (Bounds{2, 32, 1, 512}));
  EXPECT_EQ(read.program->sequences->items.name, "items");
  EXPECT_EQ(read.program->sequences->length.name, "length");
  // The program is that of the largest sizes.
  EXPECT_EQ(read.type("y"), "f32 [32, 512, 4]");
}

TEST(Ranges, AreFixedByAValue) {
  Read one(described(), set({"length=7"}));
  ASSERT_TRUE(one.program) << one.printed();
  EXPECT_EQ(boundsOf(one), (Bounds{2, 32, 1, 1}));
  EXPECT_EQ(one.program->sequences->items.name, "items");
  EXPECT_EQ(one.program->sequences->length.name, "");
  EXPECT_EQ(one.type("y"), "f32 [32, 7, 4]");
  Read both(described(), set({"length=7", "items=3..3"}));
  ASSERT_TRUE(both.program) << both.printed();
  EXPECT_FALSE(both.program->sequences);
  EXPECT_EQ(both.type("y"), "f32 [3, 7, 4]");
}

TEST(Ranges, AreGivenOfAnyParameter) {
  Read read(described(R"("length": 16, "items": 1)"),
            set({"items=1..5", "length=3..9"}));
  ASSERT_TRUE(read.program) << read.printed();
  EXPECT_EQ(boundsOf(read), (Bounds{1, 5, 3, 9}));
}

// What is as many in every run may be said of items alone.
TEST(Ranges, MayCountItems) {
  const std::string parameters =
      R"("items": {"min": 1, "max": 6}, "pairs": false)";
  Read read(described(
      parameters,
      R"json("x": {"shape": ["if(pairs, 2*items, items)", 3, 8, 2]})json",
      R"({"name": "r", "op": "reshape", "input": "x", "shape": ["items", 24, 2]},
                         {"name": "q", "op": "weight", "shape": [4, 2], "batch": "items"},
                         {"name": "y", "op": "attention", "query": "q", "key": "r", "value": "r", "heads": 1})"));
  ASSERT_TRUE(read.program) << read.printed();
  EXPECT_EQ(boundsOf(read), (Bounds{1, 6, 1, 1}));
  EXPECT_EQ(read.type("y"), "f32 [6, 4, 2]");
}

// A sentence and what it is translated into.
TEST(Ranges, AreOfTwoSequences) {
  const std::string inputs =
      R"("x": {"shape": ["items", "length", 8]}, "z": {"shape": ["items", "more", 8]},
         "seen": {"shape": ["items", "more"], "dtype": "bool"})";
  const std::string layers =
      R"({"name": "y", "op": "attention", "query": "x", "key": "z", "value": "z", "heads": 2})";
  const std::string both =
      R"("length": {"min": 1, "max": 9}, "more": {"min": 2, "max": 9}, "items": 1)";
  Read read(described(both, inputs, layers));
  ASSERT_TRUE(read.program) << read.printed();
  const SequenceSizes &sizes = *read.program->sequences;
  EXPECT_EQ(sizes.length.name, "length");
  ASSERT_TRUE(sizes.otherLength);
  EXPECT_EQ(sizes.otherLength->name, "more");
  EXPECT_EQ(sizes.otherLength->least, 2);
  EXPECT_EQ(sizes.otherLength->most, 9);
  std::vector<bool> others;
  for (const ProgramInput &input : read.program->inputs) {
    others.push_back(input.hasOtherTokens);
  }
  EXPECT_EQ(others, (std::vector<bool>{false, true, true}));
  // One of them may be fixed, and have as many tokens as the other at most.
  Read fixed(described(both, inputs, layers), set({"length=9"}));
  ASSERT_TRUE(fixed.program) << fixed.printed();
  EXPECT_EQ(fixed.program->sequences->length.name, "");
  EXPECT_EQ(fixed.program->sequences->length.most, 9);
  EXPECT_EQ(fixed.program->sequences->otherLength->name, "more");
  // What counts tokens is refused, whichever of them it counts.
  Read counts(described(both, inputs,
                        R"({"name": "y", "op": "attention", "query": "x",
      "key": "z", "value": "z", "heads": 2, "score": "score / keys"})"),
              set({"length=9"}));
  EXPECT_FALSE(counts.program);
  EXPECT_NE(counts.printed().find("the parameter \"more\" is a range"),
            std::string::npos)
      << counts.printed();
}

// What reads the largest size of a range knows that it is.
TEST(Ranges, LendTheirLargestValue) {
  const std::string parameters =
      R"json("length": {"min": 1, "max": 9}, "items": 1, "rows": "2*largest(length)")json";
  const std::string inputs = R"("x": {"shape": ["items", "length", 8]})";
  const std::string layers =
      R"json({"name": "t", "op": "constant", "shape": ["rows"], "value": "index0 / largest(length)"},
         {"name": "y", "op": "attention", "query": "x", "key": "x", "value": "x", "heads": 2,
          "score": "score + t[key - query + largest(length) - 1]"})json";
  Read read(described(parameters, inputs, layers));
  ASSERT_TRUE(read.program) << read.printed();
  EXPECT_EQ(read.type("t"), "f32 [18]");
  Read four(described(parameters, inputs, layers), set({"length=4"}));
  ASSERT_TRUE(four.program) << four.printed();
  EXPECT_EQ(four.type("t"), "f32 [8]");
}

struct Wrong {
  std::string text;
  std::vector<std::string> overrides;
  std::string message;
};

class WrongRanges : public testing::TestWithParam<Wrong> {};

TEST_P(WrongRanges, AreRejectedAtTheirPlace) {
  Read read(GetParam().text, set(GetParam().overrides));
  EXPECT_FALSE(read.program);
  EXPECT_NE(read.printed().find(GetParam().message), std::string::npos)
      << read.printed();
  EXPECT_EQ(read.diagnostics.mistakes(), 1u) << read.printed();
}

const std::string fixed = R"("length": 16, "items": 1)";
const std::string ranges = R"("length": {"min": 1, "max": 9}, "items": 1)";
const std::string x = R"("x": {"shape": ["items", "length", 8]})";

INSTANTIATE_TEST_SUITE_P(
    Descriptions, WrongRanges,
    testing::Values(
        Wrong{described(fixed),
              {"length=0..9"},
              "--set length=0..9: a range is of sizes, 1 to 2147483647"},
        Wrong{described(fixed),
              {"length=9..3"},
              "--set length=9..3: a range begins with its least value"},
        Wrong{described(),
              {"length=1..513"},
              "--set length=1..513: parameter \"length\" must be at most 512"},
        Wrong{
            described(R"("length": {"min": 1, "max": 1.5}, "items": 1)"),
            {},
            "model.json:1:51: error: a parameter without a default is a range"},
        Wrong{described(R"("length": {"min": 1}, "items": 1)"),
              {},
              "missing key \"default\" in a parameter"},
        Wrong{described(ranges + R"(, "half": "length // 2")"),
              {},
              "error: the parameter \"length\" is a range, which only the "
              "shapes of inputs may name: what depends on it would differ from "
              "run to run. largest(length) is the largest of its values, and "
              "--set length=VALUE fixes it"},
        Wrong{
            described(
                ranges, x,
                R"({"name": "t", "op": "constant", "shape": [4], "value": "index0 / length"},
                           {"name": "y", "op": "linear", "input": "x", "width": 4})"),
            {},
            "error: the parameter \"length\" is a range"},
        Wrong{
            described(
                ranges, x,
                R"json({"name": "y", "op": "linear", "input": "x", "width": "largest(wide)"})json"),
            {},
            "unknown name \"wide\""},
        Wrong{
            described(ranges, R"("x": {"shape": ["items", "length + 1", 8]})"),
            {},
            "error: the parameter \"length\" is a range"},
        Wrong{
            described(
                ranges, x,
                R"({"name": "y", "op": "linear", "input": "x", "width": "length"})"),
            {},
            "error: the parameter \"length\" is a range"},
        Wrong{
            described(
                ranges, x,
                R"({"name": "y", "op": "attention", "query": "x", "key": "x", "value": "x", "heads": 2,
                            "score": "score / length"})"),
            {},
            "the parameter \"length\" is a range"},
        Wrong{
            described(
                ranges, x,
                R"({"name": "y", "op": "attention", "query": "x", "key": "x", "value": "x", "heads": 2,
                            "score": "score - key / keys"})"),
            {},
            "\"keys\" counts tokens: the parameter \"length\" is a range"},
        Wrong{
            described(
                ranges, x,
                R"({"name": "y", "op": "attention", "query": "x", "key": "x", "value": "x", "heads": 2,
                            "keep": "key < queries - 1"})"),
            {},
            "\"queries\" counts tokens: the parameter \"length\" is a range"},
        Wrong{described(
                  R"("length": 4, "items": 1, "depth": {"min": 1, "max": 9})"),
              {},
              "the parameter \"depth\" is a range, and no input has it as an "
              "axis"},
        Wrong{described(ranges, R"("x": {"shape": ["items", 4, "length"]})"),
              {},
              "a range is the first axis of inputs, the items of a run, or the "
              "second, the tokens of one"},
        Wrong{
            described(ranges, R"("x": {"shape": ["length", "length", 8]})"),
            {},
            "the range \"length\" is the items of a run at one axis and their "
            "tokens at another"},
        Wrong{
            described(
                R"("length": {"min": 1, "max": 9}, "more": {"min": 1, "max": 9}, "most": {"min": 1, "max": 9}, "items": 1)",
                x + R"(, "z": {"shape": ["items", "more", 8]}, "w": {"shape": ["items", "most", 8]})"),
            {},
            "the inputs have three ranges as axis 1, \"length\", \"more\" and "
            "\"most\""},
        Wrong{
            described(
                R"("length": 4, "items": {"min": 1, "max": 9}, "more": {"min": 1, "max": 9})",
                x + R"(, "z": {"shape": ["more", "length", 8]})"),
            {},
            "the inputs have two ranges as axis 0, \"items\" and \"more\""},
        Wrong{
            described(
                R"("length": {"min": 1, "max": 9}, "more": {"min": 1, "max": 9}, "items": 1)",
                x + R"(, "z": {"shape": ["items", "more", 8]}, "w": {"shape": ["more", "length", 8]})"),
            {},
            "the range \"more\" is the items of a run at one axis and their "
            "tokens at another"},
        Wrong{
            described(
                ranges,
                x + R"(, "z": {"shape": ["items", 9, 8]}, "w": {"shape": ["items", 8, 8]})"),
            {},
            "beside a range all inputs have the same items, as their first "
            "axis, tokens of one sequence or of two"},
        Wrong{described(ranges, x + R"(, "z": {"shape": [2, "length", 8]})"),
              {},
              "beside a range all inputs have the same items"},
        Wrong{described(ranges, x + R"(, "z": {"shape": ["items", "length"]})"),
              {},
              "numbers [items, columns] cannot be beside a range of tokens"},
        Wrong{described(
                  R"("items": {"min": 1, "max": 6})",
                  R"("x": {"shape": ["items", 8]}, "z": {"shape": [6, 8]})"),
              {},
              "beside a range of items every input has them as its first axis, "
              "and another one"},
        Wrong{described(R"("items": {"min": 1, "max": 6})",
                        R"("x": {"shape": ["items"]})"),
              {},
              "beside a range of items every input has them as its first axis"},
        Wrong{described(R"("items": {"min": 1, "max": 6})",
                        R"("x": {"shape": ["2*items", 8]})"),
              {},
              "the parameter \"items\" is a range"},
        Wrong{
            described(
                R"("items": {"min": 1, "max": 6})",
                R"("x": {"shape": ["items", 4, 8]})",
                R"({"name": "y", "op": "reshape", "input": "x", "shape": [12, 16]})"),
            {},
            "items of any number are reshaped to what begins with \"items\", "
            "not with as many"},
        Wrong{described(
                  R"("items": {"min": 1, "max": 6})",
                  R"json("x": {"shape": ["if(items == 3, 7, items)", 8]})json"),
              {},
              "the parameter \"items\" is a range"},
        Wrong{described(R"("items": {"default": 1, "values": [1, 4]})",
                        R"("x": {"shape": ["items", 8]})"),
              {"items=1..4"},
              "a parameter that has one of several values is no range"},
        Wrong{described(ranges, x + R"(, "z": {"shape": [8]})"),
              {},
              "beside a range every input is [items, tokens]"}));

} // namespace
