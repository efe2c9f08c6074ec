//===- LimitsTest.cpp - What is too large, in a file and after it ---------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// test/fuzz/bombs.py shows what the limits are worth in seconds and memory.
//
//===----------------------------------------------------------------------===//

#include "TestModel.h"

#include <algorithm>
#include <gtest/gtest.h>

using namespace hova;
using namespace hova::test;
using frontend::SpecLimits;

namespace {

const std::string last =
    R"({"name": "y", "op": "scale", "input": "x", "by": 1})";

/// `count` times `entry` with `%` for the number.
std::string many(size_t count, const std::string &entry) {
  std::string list;
  for (size_t i = 0; i < count; ++i) {
    size_t at = entry.find('%');
    list += (i == 0 ? "" : ", ") + entry.substr(0, at);
    if (at != std::string::npos) {
      list += std::to_string(i) + entry.substr(at + 1);
    }
  }
  return list;
}

/// The description is rejected with one error.
void expectTooLarge(const std::string &text, const std::string &message) {
  Read read(text);
  EXPECT_EQ(read.program, nullptr);
  ASSERT_FALSE(read.diagnostics.all().empty());
  EXPECT_NE(read.printed().find(message), std::string::npos)
      << read.printed().substr(0, 1000);
}

std::string block(const std::string &members) {
  return R"("blocks": {"b": {)" + members + "}}, ";
}

TEST(Limits, count_what_is_written_down) {
  size_t entries = SpecLimits::blockEntries + 1;
  std::string body = R"("layers": [)" + last + R"(], "output": "y")";
  expectTooLarge(around(last, block("\"inputs\": [\"x\", " +
                                    many(entries, "\"i%\"") + "], " + body)),
                 "130 inputs of a block, more than the limit of 128");
  expectTooLarge(around(last, block("\"inputs\": [\"x\"], \"arguments\": {" +
                                    many(entries, "\"a%\": 1") + "}, " + body)),
                 "129 arguments of a block, more than the limit of 128");
  expectTooLarge(around(last, block(R"("inputs": ["x"], "layers": [)" + last +
                                    "], \"outputs\": {" +
                                    many(entries, "\"o%\": \"y\"") + "}")),
                 "129 outputs of a block, more than the limit of 128");
  expectTooLarge(around(last, "\"checkpoints\": {" +
                                  many(SpecLimits::sources + 1,
                                       "\"s%\": {\"rules\": []}") +
                                  "}, "),
                 "17 checkpoint sources, more than the limit of 16");
  std::string row = R"({"row": "r", "macs": "1G"})";
  expectTooLarge(around(last, "\"published\": [" +
                                  many(SpecLimits::tables + 1,
                                       R"({"source": "s%", "rows": []})") +
                                  "], "),
                 "9 published tables, more than the limit of 8");
  expectTooLarge(around(last, R"("published": [{"source": "s", "rows": [)" +
                                  many(SpecLimits::rows + 1, row) + "]}], "),
                 "33 rows of a published table, more than the limit of 32");
  expectTooLarge(
      around(
          last,
          R"("published": [{"source": "s", "rows": [{"row": "r", "when": {)" +
              many(SpecLimits::rowParameters + 1, "\"n%\": 1") + "}}]}], "),
      "17 parameters of a row, more than the limit of 16");
  expectTooLarge(
      around(many(SpecLimits::layers, R"({"name": "l%", "op": "none"})") +
             ", " + last),
      "65537 layers in this file, more than the limit of 65536");
  expectTooLarge(
      R"({"hova": 1, "name": "m", "inputs": {)" +
          many(SpecLimits::inputs + 1, "\"i%\": {\"shape\": [1]}") +
          R"(}, "layers": [{"name": "y", "op": "scale", "input": "i0", "by": 1}], "outputs": {"o": "y"}})",
      "1025 inputs, more than the limit of 1024");
  std::string terms = many(2000, "%");
  std::replace(terms.begin(), terms.end(), ',', '+');
  terms.erase(std::remove(terms.begin(), terms.end(), ' '), terms.end());
  terms = terms.substr(0, terms.rfind('+', 4000));
  expectTooLarge(
      around(
          many(400, R"({"name": "l%", "op": "scale", "input": "x", "by": ")" +
                        terms + "\"}") +
          ", " + last),
      "the expressions of this file have more than 250000 numbers");
}

TEST(Limits, bound_names) {
  std::string name(SpecLimits::nameBytes, 'n');
  std::string layer = R"("op": "scale", "input": "x", "by": 1}, )" + last;
  Read fits(around("{\"name\": \"" + name + "\", " + layer));
  EXPECT_NE(fits.program, nullptr) << fits.printed();
  expectTooLarge(around("{\"name\": \"" + name + "n\", " + layer),
                 "has 256 letters, more than the limit of 255");
}

TEST(Limits, count_what_a_description_becomes) {
  const std::string message = "the model becomes too large here";
  const std::string identity = block(R"("inputs": ["x", "l"], "layers": [)" +
                                     last + R"(], "output": "y")");
  // A list by its name, operands, and a block's inputs: each is short here.
  expectTooLarge(
      around(
          R"({"name": "s", "op": "scale", "input": "x", "by": 1, "repeat": 2000},
                {"name": "y", "block": "b", "inputs": {"x": "x", "l": "s[*]"}, "repeat": 2000})",
          identity),
      message);
  expectTooLarge(
      around(
          R"({"name": "y", "block": "b", "inputs": {"x": "x", "l": ["x", "y[*]"]}, "repeat": 200000})",
          identity),
      message);
  expectTooLarge(
      around(
          R"({"name": "y", "block": "b", "input": "x", "repeat": 100000})",
          block(
              R"("inputs": ["x"], "layers": [{"name": "a", "op": "add", "inputs": [)" +
              many(100, "\"x\"") + "]}, " + last + R"(], "output": "y")")),
      message);
  // Layers that are left out take their turn too.
  expectTooLarge(
      around(
          R"({"name": "y", "block": "b", "input": "x", "repeat": 200000})",
          block(
              R"("inputs": ["x"], "layers": [)" +
              many(
                  10,
                  R"({"name": "l%", "op": "scale", "input": "x", "by": 1, "if": false})") +
              ", " + last + R"(], "output": "y")")),
      message);
}

TEST(Limits, leave_room_for_ten_thousand_layers) {
  Read read(
      around(R"({"name": "y", "block": "b", "input": "x", "repeat": 10000})",
             block(
                 R"("inputs": ["x"], "layers": [
     {"name": "n", "op": "layer_norm", "input": "x"},
     {"name": "a", "op": "multi_head_attention", "input": "n", "heads": 2},
     {"name": "m", "op": "add", "inputs": ["x", "a"]},
     {"name": "k", "op": "layer_norm", "input": "m"},
     {"name": "f", "op": "feed_forward", "input": "k", "hidden": 16},
     {"name": "o", "op": "add", "inputs": ["m", "f"]}], "output": "o")")));
  EXPECT_NE(read.program, nullptr) << read.printed();
}

} // namespace
