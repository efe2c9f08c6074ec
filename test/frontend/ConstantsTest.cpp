//===- ConstantsTest.cpp - Constants by expression ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "BadDescriptions.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace hova;
using frontend::ConstantTable;
using test::Read;
using test::whole;

namespace {

using Numbers = std::vector<double>;

/// Layers of constants, the last of which is `c`, beside one that reads none.
std::string description(const std::string &layers) {
  return whole(
      R"("parameters": {"n": 4, "base": 100.0, "row": 7, "name": "'long'", )"
      R"("factors": [1, 1.5, 2, 3]}, "inputs": {"x": {"shape": [3, 4]}}, )"
      "\"layers\": [" +
      layers +
      R"(, {"name": "y", "op": "scale", "input": "x", "by": 1}], )"
      R"("outputs": {"o": "y"})");
}

std::string constant(const std::string &name, const std::string &shape,
                     const std::string &value, const std::string &more = "") {
  return R"({"name": ")" + name + R"(", "op": "constant", "shape": )" + shape +
         R"(, "value": ")" + value + "\"" + more + "}";
}

const ConstantTable *tableOf(const Read &read, const std::string &path) {
  const frontend::ProgramOperation *op = read.find(path);
  return op ? read.program->findConstant(op->result) : nullptr;
}

/// The elements of a constant with that expression.
Numbers elements(const std::string &value, const std::string &shape = "[3, 4]",
                 const std::string &before = "") {
  Read read(description(before + constant("c", shape, value)));
  EXPECT_NE(read.program, nullptr) << read.printed();
  return read.program ? tableOf(read, "c")->elements : Numbers();
}

/// What is said of it.
std::string said(const std::string &value, const std::string &shape = "[3, 4]",
                 const std::string &before = "", const std::string &more = "") {
  Read read(description(before + constant("c", shape, value, more)));
  EXPECT_EQ(read.program, nullptr) << value;
  return read.printed();
}

#define EXPECT_SAYS(text, part)                                                \
  EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST(Constants, are_expressions_of_their_indices) {
  EXPECT_EQ(elements("row * 10 + column"),
            (Numbers{0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23}));
  EXPECT_EQ(elements("index0 - index1 / 2", "[2, 2]"),
            (Numbers{0, -0.5, 1, 0.5}));
  EXPECT_EQ(elements("index2 + 2 * index1 + 4 * index0", "[1, 3, 4]"),
            (Numbers{0, 1, 2, 3, 2, 3, 4, 5, 4, 5, 6, 7}));
  EXPECT_EQ(elements("base ** (-index0 / n)", "[\"n\"]"),
            (Numbers{1, std::pow(100, -0.25), 0.1, std::pow(100, -0.75)}));
  EXPECT_EQ(elements("sin(row) + cos(column)", "[2, 1]"),
            (Numbers{1, std::sin(1.0) + 1}));
}

TEST(Constants, have_words_that_hide_parameters_where_they_mean_something) {
  EXPECT_EQ(elements("row", "[2, 2]"), (Numbers{0, 0, 1, 1}));
  EXPECT_EQ(elements("row", "[2]"), (Numbers{7, 7}));
  EXPECT_EQ(elements("if(name == 'long', 1, 2)", "[1]"), (Numbers{1}));
}

TEST(Constants, read_lists_and_earlier_constants) {
  std::string rate = constant("rate", "[4]", "1 / (3 * factors[index0])") + ",";
  EXPECT_EQ(elements("row * rate[column]", "[2, 4]", rate),
            (Numbers{0, 0, 0, 0, 1 / 3.0, 1 / 4.5, 1 / 6.0, 1 / 9.0}))
      << "with all digits";
  std::string places =
      constant("places", "[4]", "3 - index0", R"(, "dtype": "i32")") + ",";
  EXPECT_EQ(
      elements("factors[places[column]] + places[row] // 2", "[3, 4]", places),
      (Numbers{4, 3, 2.5, 2, 4, 3, 2.5, 2, 3, 2, 1.5, 1}));
  std::string factors = constant("factors", "[1]", "5") + ",";
  EXPECT_EQ(elements("factors[0]", "[1]", factors), (Numbers{5}))
      << "a value hides a parameter";
  EXPECT_EQ(
      elements("if(n > 5, missing[0], 1)", "[1]",
               constant("missing", "[1]", "2", R"(, "if": "n > 5")") + ","),
      (Numbers{1}))
      << "what parameters rule out may be about what there is not";
}

TEST(Constants, add_up_what_a_name_counts) {
  EXPECT_EQ(elements("sum(k, 4, k * row)", "[3, 1]"), (Numbers{0, 6, 12}));
  EXPECT_EQ(elements("sum(k, n, sum(j, 2, k * 10 + j + column))", "[1, 4]"),
            (Numbers{124, 132, 140, 148}));
  EXPECT_EQ(elements("sum(row, 3, row) + row", "[2, 2]"), (Numbers{3, 3, 4, 4}))
      << "the name means what it counts inside, and what it meant outside";
  EXPECT_EQ(elements("sum(k, 0, 1 / 0)", "[1]"), (Numbers{0}));
  EXPECT_SAYS(said("sum(k, column, 1)"), "integer of parameters");
  EXPECT_SAYS(said("sum(k, -1, 1)"), "0 to 2147483647, got -1");
  EXPECT_SAYS(said("sum(3, 3, 1)"), "takes a name that counts");
  EXPECT_SAYS(said("sum(k, 3, 1) + k"), "unknown name \"k\"");
  EXPECT_SAYS(said("sum(k, k, 1)"), "unknown name \"k\"");
}

TEST(Constants, evaluate_only_what_an_element_needs) {
  EXPECT_EQ(elements("if(row > 0, log(row), -1)", "[2, 1]"), (Numbers{-1, 0}));
  EXPECT_EQ(elements("if(index0 > 0 and 1 / index0 > 0.4, 1, 0)", "[4]"),
            (Numbers{0, 1, 1, 0}));
}

TEST(Constants, evaluate_what_parameters_leave_open) {
  EXPECT_EQ(elements("if(n > 3 and index0 > 1, 1, 0)", "[4]"),
            (Numbers{0, 0, 1, 1}));
  EXPECT_EQ(elements("if(n > 9 or index0 > 1, 1, 0)", "[4]"),
            (Numbers{0, 0, 1, 1}));
  // There is no such factor.
  EXPECT_EQ(elements("if(n > 3 or factors[n] > 1, 1, 0)", "[2]"),
            (Numbers{1, 1}));
  EXPECT_EQ(elements("if(n > 9 and factors[n] > 1, 1, 0)", "[2]"),
            (Numbers{0, 0}));
}

TEST(Constants, say_where_and_for_which_element_they_are_wrong) {
  std::string text = said("column + log(row)");
  EXPECT_SAYS(text, "logarithm of a number not above zero, at element [0, 0]");
  EXPECT_SAYS(text, ":");
  std::string rate = constant("rate", "[4]", "1 + index0") + ",";
  EXPECT_SAYS(said("rate[column + row]", "[3, 4]", rate),
              "index 0 of \"rate\" is 4, and this axis has 4 elements: 0 to 3, "
              "at element [1, 3]");
  EXPECT_SAYS(said("rate[column - 1]", "[3, 4]", rate), "is -1, and this axis");
  EXPECT_SAYS(said("rate[row / 2]", "[3, 4]", rate),
              "an index is an integer, got 0.5, at element [1, 0]");
  EXPECT_SAYS(said("rate[row, column]", "[3, 4]", rate),
              "expected 1 index, one for each axis of \"rate\", got 2");
  EXPECT_SAYS(said("factors[row + 2]"), "is outside of a list of 4");
  EXPECT_SAYS(said("factors[row, 0]"), "a list has one index");
  EXPECT_SAYS(said("n[row]"), "expected a list, got an integer (4)");
  EXPECT_SAYS(said("x[row, column]"), "\"x\" is no constant");
  EXPECT_SAYS(said("later[row]"), "unknown value \"later\"");
  EXPECT_SAYS(said("c[row, column]"), "read before it is computed");
  EXPECT_SAYS(said("rate", "[3, 4]", rate), "of which an element is read");
  EXPECT_SAYS(said("index2"), "is no index of an element");
  EXPECT_SAYS(said("column", "[4]"), "is no index of an element");
  EXPECT_SAYS(said("index"), "counts repetitions");
  EXPECT_SAYS(said("row > 1"), "expected a number, got a boolean (false)");
  EXPECT_SAYS(said("1e30 * 10 ** row", "[10, 1]"),
              "beyond the largest number of f32");
}

TEST(Constants, of_integers_are_integers_of_32_bits) {
  const std::string integer = R"(, "dtype": "i32")";
  Read read(description(
      constant("c", "[4]", "index0") + "," +
      constant("whole", "[4]", "floor(index0 / 2) - 4 / 2 + 0.0", integer) +
      "," +
      R"({"name": "t", "op": "embedding", "input": "whole", "vocab": 3, "width": 4})"));
  EXPECT_EQ(read.program, nullptr) << "no table has rows below 0";
  EXPECT_SAYS(read.printed(), "the ids are in [-2, 0)");
  EXPECT_SAYS(said("column / 4", "[1, 4]", "", integer),
              "0.25 is no integer, at element [0, 1]");
  EXPECT_SAYS(said("2 ** 31 - row", "[2, 1]", "", integer),
              "2147483648 does not fit into 32 bits");
  EXPECT_SAYS(said("row", "[2, 1]", "", R"(, "dtype": "i8")"), "i32");
}

TEST(Constants, that_are_the_same_are_computed_once) {
  Read read(whole(R"("inputs": {"x": {"shape": [3, 4]}}, "blocks": {"b": {
    "inputs": ["x"], "arguments": {"by": 1}, "layers": [)" +
                  constant("c", "[3, 4]", "by * (row + column)") + R"(,
    {"name": "out", "op": "add", "inputs": ["x", "c"]}], "output": "out"}},
    "layers": [{"name": "same", "block": "b", "input": "x", "repeat": 3},
    {"name": "y", "block": "b", "input": "same", "arguments": {"by": 2}}],
    "outputs": {"o": "y"})"));
  ASSERT_NE(read.program, nullptr) << read.printed();
  EXPECT_EQ(tableOf(read, "same.0.c"), tableOf(read, "same.2.c"));
  EXPECT_NE(tableOf(read, "same.0.c"), tableOf(read, "y.c"));
  EXPECT_TRUE(read.program->weights.empty());
}

TEST(Constants, may_take_so_much_and_no_more) {
  EXPECT_SAYS(said("1", "[2049, 2048]"), "4194304 elements");
  EXPECT_SAYS(said("sum(k, 2147483647, 1)", "[1]"), "are evaluated");
  EXPECT_SAYS(said("sum(k, 100000, sum(j, 100000, sum(i, 100000, "
                   "sum(h, 100000, 1))))",
                   "[1]"),
              "are evaluated");
  EXPECT_SAYS(said("1", "[1, 1, 1, 1, 1, 1, 1, 1, 1]"), "at most 8 dimensions");
  // Together.
  std::string half = constant("first", "[2000, 2000]", "1") + ",";
  EXPECT_SAYS(said("2", "[2000, 2000]", half), "4194304 elements");
}

} // namespace
