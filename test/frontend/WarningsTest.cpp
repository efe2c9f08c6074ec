//===- WarningsTest.cpp - What nothing needs is worth a warning -----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "BadDescriptions.h"

using namespace hova::test;

namespace {

/// Every name of this description is used.
std::string description(const std::string &parameters,
                        const std::string &inputs, const std::string &blocks,
                        const std::string &layers) {
  return R"({"hova": 1, "name": "m", "parameters": {"n": 4)" + parameters +
         R"(}, "inputs": {"x": {"shape": [2, "n", 8]})" + inputs +
         R"(}, "blocks": {"b": {"inputs": ["a"], "arguments": {"k": 1}, )"
         R"("layers": [{"name": "s", "op": "scale", "input": "a", "by": "k"}], )"
         R"("output": "s"})" +
         blocks + R"(}, "layers": [{"name": "y", "block": "b", "input": "x"})" +
         layers + R"(], "outputs": {"o": "y"}})";
}

/// The warnings of a description that is accepted.
std::string warningsOf(const std::string &text) {
  Read read(text);
  EXPECT_NE(read.program, nullptr) << read.printed();
  return read.printed();
}

void expectWarning(const std::string &text, const std::string &message,
                   const std::string &place) {
  std::string printed = warningsOf(text);
  EXPECT_NE(printed.find("warning: " + message + "\n"), std::string::npos)
      << printed;
  EXPECT_NE(printed.find("\n  at " + place + "\n"), std::string::npos)
      << printed;
  EXPECT_EQ(printed.find("warning"), printed.rfind("warning")) << printed;
}

TEST(Warnings, are_not_given_where_every_name_is_used) {
  EXPECT_EQ(warningsOf(description("", "", "", "")), "");
}

TEST(Warnings, name_parameters_that_nothing_mentions) {
  expectWarning(description(R"(, "k": 2)", "", "", ""),
                "parameter \"k\" is not used: no expression names it",
                "/parameters/k");
}

TEST(Warnings, name_inputs_that_nothing_reads) {
  expectWarning(description("", R"(, "z": {"shape": [1]})", "", ""),
                "input \"z\" is not used: no layer and no output reads it",
                "/inputs/z");
}

TEST(Warnings, name_blocks_that_nothing_is_made_of) {
  std::string block =
      R"(, "c": {"inputs": ["a"], "layers": [{"name": "s", "op": "scale", "input": "a", "by": 1}], "output": "s"})";
  expectWarning(description("", "", block, ""),
                "block \"c\" is not used: no layer is made of it", "/blocks/c");
  // An expression may choose it.
  std::string chosen = description(
      R"(, "w": {"default": "c", "values": ["b", "c"]})", "", block, "");
  size_t use = chosen.find(R"("block": "b")");
  chosen.replace(use, 12, R"("block": "w")");
  EXPECT_EQ(warningsOf(chosen), "");
}

TEST(Warnings, name_inputs_and_arguments_of_blocks) {
  std::string block =
      R"(, "c": {"inputs": ["a", "z"], "layers": [{"name": "s", "op": "scale", "input": "a", "by": 1}], "output": "s"})";
  std::string use =
      R"(, {"name": "q", "block": "c", "inputs": {"a": "y", "z": "y"}}, {"name": "r", "op": "scale", "input": "q", "by": 1})";
  std::string text = description("", "", block, use);
  text.replace(text.find(R"("o": "y")"), 8, R"("o": "r")");
  expectWarning(text, "input \"z\" is not used: no layer of the block reads it",
                "/blocks/c/inputs/1");
  text = description("", "", "", "");
  text.replace(text.find(R"("by": "k")"), 9, R"("by": 2)");
  expectWarning(text,
                "argument \"k\" is not used: no expression of the block names "
                "it",
                "/blocks/b/arguments/k");
}

TEST(Warnings, name_dead_layers_once) {
  // The layer before it is read, if only by a dead one.
  expectWarning(
      description("", "", "",
                  R"(, {"name": "p", "op": "scale", "input": "x", "by": 2},
                      {"name": "q", "op": "scale", "input": "p", "by": 2})"),
      "layer \"q\" is not used: no layer and no output reads it", "/layers/2");
  expectWarning(
      description("", "", "",
                  R"(, {"name": "q", "op": "scale", "input": "x", "by": 2,
                        "repeat": 2})"),
      "layer \"q\" is not used: no layer and no output reads it", "/layers/1");
}

TEST(Warnings, count_both_sides_of_a_condition) {
  std::string text = description(
      R"(, "on": false)", R"(, "z": {"shape": [2, "n", 8]})", "",
      R"(, {"name": "q", "op": "add", "inputs": ["y", "z"], "if": "on"})");
  text.replace(text.find(R"("o": "y")"), 8, R"("o": "q")");
  EXPECT_EQ(warningsOf(text), "");
}

TEST(Warnings, are_left_out_beside_errors) {
  Read read(description(R"(, "k": 2, "l": "1/0")", "", "", ""));
  EXPECT_EQ(read.printed().find("warning"), std::string::npos)
      << read.printed();
}

TEST(Warnings, become_errors_when_promoted) {
  Read read(description(R"(, "k": 2)", "", "", ""));
  EXPECT_FALSE(read.diagnostics.hasErrors());
  read.diagnostics.promoteWarnings();
  EXPECT_TRUE(read.diagnostics.hasErrors());
  EXPECT_NE(read.printed().find("error: parameter \"k\" is not used"),
            std::string::npos);
}

TEST(Warnings, are_json_objects_too) {
  Read read(description(R"(, "k": 2)", "", "", ""));
  std::ostringstream out;
  read.diagnostics.print(out, hova::reader::DiagnosticFormat::Json);
  EXPECT_EQ(out.str().rfind("{\"severity\":\"warning\",\"message\":\"parameter "
                            "\\\"k\\\" is not used",
                            0),
            0u)
      << out.str();
}

} // namespace
