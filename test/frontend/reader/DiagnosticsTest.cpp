//===- DiagnosticsTest.cpp - What a message looks like --------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "test/frontend/TestModel.h"

#include <gtest/gtest.h>

using namespace hova;
using test::around;
using test::Read;

namespace {

TEST(Diagnostics, show_line_caret_pointer_and_suggestion) {
  Read read("{\"hova\": 1, \"name\": \"m\", \"inputs\": {\"x\": {\"shape\": "
            "[2, 4]}},\n"
            " \"layers\": [\n"
            "  {\"name\": \"y\", \"op\": \"activation\", \"kind\": "
            "\"gelu_erff\", \"input\": \"x\"}],\n"
            " \"outputs\": {\"o\": \"y\"}}");
  EXPECT_EQ(
      read.printed(),
      "model.json:3:45: error: unknown word \"gelu_erff\"; expected relu, "
      "gelu_erf, gelu_tanh, tanh, sigmoid, silu, quick_gelu, softplus, relu2, "
      "hard_swish\n"
      "    3 |   {\"name\": \"y\", \"op\": \"activation\", \"kind\": "
      "\"gelu_erff\", \"input\": \"x\"}],\n"
      "      |                                             ^~~~~~~~~~~\n"
      "  at /layers/0/kind\n"
      "  note: did you mean \"gelu_erf\"?\n");
}

TEST(Diagnostics, count_code_points_and_place_the_caret_by_display_width) {
  Read read("{\"é漢\": 1, \"é漢\": 2, \"hova\": 1, \"name\": \"m\", "
            "\"inputs\": {\"x\": {\"shape\": [1]}}, "
            "\"layers\": [{\"name\": \"y\", \"op\": \"scale\", \"input\": "
            "\"x\", \"by\": 1}], "
            "\"outputs\": {\"o\": \"y\"}}");
  std::string printed = read.printed();
  EXPECT_NE(
      printed.find("model.json:1:11: error: the key \"é漢\" is given twice"),
      std::string::npos)
      << printed;
  // Ten code points before the second key, one of which is two columns wide.
  EXPECT_NE(printed.find("\n      |            ^~~~~\n"), std::string::npos)
      << printed;
}

TEST(Diagnostics, show_both_places_of_a_shape_clash) {
  Read read(around(
      "{\"name\": \"a\", \"op\": \"linear\", \"input\": \"x\", \"width\": 4},\n"
      "{\"name\": \"y\", \"op\": \"add\", \"inputs\": [\"x\", \"a\"]}"));
  std::string printed = read.printed();
  EXPECT_NE(printed.find("note: \"x\" is f32 [2, 4, 8]"), std::string::npos)
      << printed;
  EXPECT_NE(printed.find("note: \"a\" is f32 [2, 4, 4]"), std::string::npos)
      << printed;
  EXPECT_NE(printed.find("model.json:7:10: note:"), std::string::npos)
      << printed;
}

TEST(Diagnostics, escape_what_a_terminal_would_obey) {
  Read read(around("{\"name\": \"y\", \"op\": \"x\xE2\x80\xAEy\xC2\x9B\", "
                   "\"input\": \"x\"}"));
  std::string printed = read.printed();
  EXPECT_EQ(printed.find("\xE2\x80\xAE"), std::string::npos);
  EXPECT_EQ(printed.find("\xC2\x9B"), std::string::npos);
  EXPECT_NE(printed.find("\"x\\u202ey\\u009b\""), std::string::npos) << printed;
}

TEST(Diagnostics, find_all_mistakes_in_one_run) {
  std::string layers;
  for (int i = 0; i < 15; ++i) {
    layers += "{\"name\": \"l" + std::to_string(i) +
              "\", \"op\": \"linear\", \"input\": \"x\", \"width\": 0},\n";
  }
  layers +=
      "{\"name\": \"y\", \"op\": \"scale\", \"input\": \"x\", \"by\": \"one\"}";
  Read read(around(layers, "\"typo\": 1, "));
  EXPECT_EQ(read.diagnostics.all().size(), 17u) << read.printed();
}

TEST(Diagnostics, print_twenty_and_count_the_rest) {
  std::string layers;
  for (int i = 0; i < 30; ++i) {
    layers += "{\"name\": \"l" + std::to_string(i) +
              "\", \"op\": \"linear\", \"input\": \"x\", \"width\": 0},\n";
  }
  layers += "{\"name\": \"y\", \"op\": \"scale\", \"input\": \"x\", \"by\": 1}";
  Read read(around(layers));
  std::string printed = read.printed();
  size_t count = 0;
  for (size_t at = printed.find(" error: "); at != std::string::npos;
       at = printed.find(" error: ", at + 1)) {
    ++count;
  }
  EXPECT_EQ(count, 20u);
  EXPECT_NE(printed.find("model.json: 30 errors, the first 20 shown\n"),
            std::string::npos)
      << printed;
}

TEST(Diagnostics, know_what_is_wrong_beyond_what_they_keep) {
  std::string layers;
  for (size_t i = 0; i <= reader::Diagnostics::maxKept; ++i) {
    layers += "{\"name\": \"l" + std::to_string(i) +
              "\", \"op\": \"none\", \"input\": \"x\"},\n";
  }
  // The last one is broken although nothing is kept about it.
  Read read(
      around(layers + R"({"name": "y", "op": "scale", "input": "l1000"})"));
  EXPECT_EQ(read.diagnostics.all().size(), reader::Diagnostics::maxKept);
  EXPECT_GT(read.diagnostics.mistakes(), reader::Diagnostics::maxKept);
  EXPECT_EQ(read.program, nullptr);
}

TEST(Diagnostics, say_one_mistake_of_a_repeated_block_once) {
  Read read(around(
      R"({"name": "y", "block": "b", "input": "x", "repeat": 12})",
      R"("blocks": {"b": {"inputs": ["a"], "layers": [{"name": "l", "op": "pool", "kind": "first", "input": "a"}, {"name": "m", "op": "class_token", "input": "l"}], "output": "m"}}, )"));
  EXPECT_EQ(read.diagnostics.all().size(), 1u) << read.printed();
}

TEST(Diagnostics, stay_quiet_about_what_follows_from_a_mistake) {
  Read read(around(R"({"name": "a", "op": "linear", "input": "x", "width": 0},
    {"name": "b", "op": "add", "inputs": ["a", "x"]},
    {"name": "y", "op": "pool", "kind": "mean", "input": "b"})"));
  EXPECT_EQ(read.diagnostics.all().size(), 1u) << read.printed();
}

TEST(Diagnostics, are_one_json_object_per_line) {
  std::string text =
      around(R"({"name": "y", "op": "sclae", "input": "x", "by": 1})");
  Read read(text);
  std::ostringstream out;
  read.diagnostics.print(out, reader::DiagnosticFormat::Json);
  size_t begin = text.find("\"sclae\"");
  EXPECT_EQ(out.str(),
            "{\"severity\":\"error\",\"message\":\"unknown operator "
            "\\\"sclae\\\"\",\"file\":\"model.json\",\"line\":7,\"column\":21,"
            "\"end_line\":7,\"end_column\":28,\"pointer\":\"/layers/0/op\","
            "\"notes\":[{\"message\":\"did you mean \\\"scale\\\"?\"}],"
            "\"fixits\":[{\"begin\":" +
                std::to_string(begin) +
                ",\"end\":" + std::to_string(begin + 7) +
                ",\"replacement\":\"\\\"scale\\\"\"}]}\n");
}

TEST(Diagnostics, mend_the_file_with_their_fix_its) {
  std::string text =
      around(R"({"name": "y", "op": "sclae", "input": "imgae", "by": "hafl"})");
  for (int round = 0; round < 4; ++round) {
    Read read(text);
    if (read.program) {
      return;
    }
    ASSERT_EQ(read.diagnostics.all()[0].fixIts.size(), 1u) << read.printed();
    const reader::FixIt &fix = read.diagnostics.all()[0].fixIts[0];
    text.replace(fix.range.begin, fix.range.end - fix.range.begin,
                 fix.replacement);
  }
  FAIL() << text;
}

TEST(Diagnostics, have_no_place_for_the_command_line) {
  std::string layers = R"({"name": "y", "op": "scale", "input": "x", "by": 1})";
  Read unknown(around(layers), {{"hiden", "3", "--set"}});
  EXPECT_EQ(unknown.printed(),
            "model.json: error: --set: unknown parameter \"hiden\"\n"
            "  note: did you mean \"hidden\"?\n");
  Read kind(around(layers), {{"n", "2.5", "--set"}});
  EXPECT_EQ(kind.printed(),
            "model.json: error: --set n=2.5: parameter \"n\" is "
            "an integer\n");
  Read value(around(layers), {{"kind", "cosine", "--set"}});
  EXPECT_EQ(value.printed(),
            "model.json: error: --set kind=cosine: parameter \"kind\" must be "
            "one of softmax, additive, got cosine\n");
}

TEST(Diagnostics, name_both_sides_of_a_contradiction) {
  std::string layers = R"({"name": "y", "op": "scale", "input": "x", "by": 1})";
  Read read(around(layers), {{"half", "0.25", "checkpoint source lib"},
                             {"half", "0.5", "--set"}});
  EXPECT_EQ(read.printed(), "model.json: error: --set needs half=0.5, but "
                            "checkpoint source lib says 0.25\n");
}

} // namespace
