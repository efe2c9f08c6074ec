//===- JsonTest.cpp - The located tree and its limits ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "frontend/reader/Json.h"

#include <gtest/gtest.h>

using namespace hova::reader;

namespace {

struct Parsed {
  Diagnostics diagnostics;
  std::unique_ptr<Document> document;

  explicit Parsed(std::string text, const Limits &limits = Limits())
      : diagnostics(std::make_shared<Source>("t.json", std::move(text))),
        document(parseJson(diagnostics, limits)) {}

  /// The text of a node, cut out of the file by its place.
  std::string cut(const Node &node) const {
    return std::string(diagnostics.source().text().substr(
        node.range.begin, node.range.end - node.range.begin));
  }
};

TEST(Json, gives_every_value_its_exact_place) {
  Parsed p("{ \"a\" : [ 1 , -2.5e3,true , null,\"x\\u00e9\\n\" ] ,\"b\":{}}");
  ASSERT_TRUE(p.document);
  const Node &root = *p.document->root();
  const Node &list = *root.get("a");
  ASSERT_EQ(list.elements.size(), 5u);
  EXPECT_EQ(p.cut(list), "[ 1 , -2.5e3,true , null,\"x\\u00e9\\n\" ]");
  EXPECT_EQ(p.cut(*list.elements[0]), "1");
  EXPECT_EQ(p.cut(*list.elements[1]), "-2.5e3");
  EXPECT_EQ(p.cut(*list.elements[2]), "true");
  EXPECT_EQ(p.cut(*list.elements[3]), "null");
  EXPECT_EQ(p.cut(*list.elements[4]), "\"x\\u00e9\\n\"");
  EXPECT_EQ(p.cut(*root.get("b")), "{}");
  EXPECT_EQ(root.find("b")->keyRange.begin, 48u);
  EXPECT_EQ(list.elements[1]->pointer(), "/a/1");
}

TEST(Json, escapes_pointers) {
  Parsed p(R"({"a/b~c": [0]})");
  EXPECT_EQ(p.document->root()->members[0].value->elements[0]->pointer(),
            "/a~1b~0c/0");
}

TEST(Json, keeps_integers_exact) {
  Parsed p("[9223372036854775807, -9223372036854775808, -0]");
  ASSERT_TRUE(p.document);
  const auto &e = p.document->root()->elements;
  EXPECT_EQ(e[0]->integer, INT64_MAX);
  EXPECT_EQ(e[1]->integer, INT64_MIN);
  EXPECT_TRUE(e[2]->is(Node::Kind::Integer));
}

struct Syntax {
  const char *name;
  std::string text;
  size_t line;
  size_t column;
  const char *message;
};

class BadSyntax : public testing::TestWithParam<Syntax> {};

TEST_P(BadSyntax, is_one_error_at_the_place) {
  Parsed p(GetParam().text);
  EXPECT_EQ(p.document, nullptr);
  ASSERT_EQ(p.diagnostics.all().size(), 1u);
  const Diagnostic &error = p.diagnostics.all()[0];
  Position place = p.diagnostics.source().position(error.range.begin);
  EXPECT_EQ(place.line, GetParam().line) << error.message;
  EXPECT_EQ(place.column, GetParam().column) << error.message;
  EXPECT_NE(error.message.find(GetParam().message), std::string::npos)
      << error.message;
}

const Syntax syntaxes[] = {
    {"empty", "", 1, 1, "ends too early"},
    {"open_object", "{\"a\": 1,\n", 2, 1, "ends too early"},
    {"open_list", "[1, 2", 1, 6, "ends too early"},
    {"literal", "{\"a\": tru}", 1, 7, "the word tru must stand in quotes"},
    {"comma_before_bracket", "[1,]", 1, 3, "a comma in front of ']'"},
    {"comma_before_brace", "{\"a\": 1,\n}", 1, 8, "a comma in front of '}'"},
    {"two_commas", "[1,,2]", 1, 4, "unexpected ','"},
    {"missing_colon", "{\"a\" \"b\"}", 1, 6, "unexpected string literal"},
    {"two_colons", "{\"a\"::1}", 1, 6, "unexpected ':'"},
    {"missing_comma", "[1 2]", 1, 4,
     "unexpected number literal; expected ',' or ']'"},
    {"missing_comma_between_members", "{\"a\": 1\n \"b\": 2}", 2, 2,
     "unexpected string literal"},
    {"bare_key", "{a: 1}", 1, 2, "the key a must stand in quotes"},
    {"single_quotes", "{'a': 1}", 1, 2, "double quotes"},
    {"comment", "// a\n{}", 1, 1, "JSON has no comments"},
    {"escape", "[\"\\x\"]", 1, 4, "forbidden character after backslash"},
    {"tab_in_string", "[\"a\tb\"]", 1, 4, "control character"},
    {"escaped_control", "{\"a\\u0000\": 1}", 1, 2,
     "control character in a key"},
    {"leading_zero", "[01]", 1, 3, "unexpected number literal"},
    {"number_without_digits", "[1.]", 1, 4, "expected digit"},
    {"infinite_number", "[1, 1e999]", 1, 5, "too large for a double"},
    {"vanishing_number", "[1e-400]", 1, 2, "too small for a double"},
    {"long_integer", "[18446744073709551615]", 1, 2,
     "does not fit into 64 bits"},
    {"longer_integer", "[123456789012345678901234567890]", 1, 2,
     "does not fit into 64 bits"},
    {"two_values", "{} {}", 1, 4, "unexpected '{'"},
    {"byte_order_mark", "\xEF\xBB\xBF{}", 1, 1, "byte order mark"},
    {"nul_byte", std::string("[1\0]", 4), 1, 3, "NUL byte"},
    {"broken_utf8", "[\"\xFF\"]", 1, 3, "ill-formed UTF-8"},
};

INSTANTIATE_TEST_SUITE_P(All, BadSyntax, testing::ValuesIn(syntaxes),
                         [](const auto &info) { return info.param.name; });

TEST(Json, stops_at_its_limits) {
  Limits small;
  small.depth = 3;
  small.nodes = 5;
  small.stringBytes = 4;
  small.bytes = 40;
  auto message = [&](const std::string &text) {
    Parsed p(text, small);
    EXPECT_EQ(p.document, nullptr);
    return p.diagnostics.all().at(0).message;
  };
  EXPECT_EQ(message("[[[[]]]]"), "nested deeper than 3 levels");
  EXPECT_EQ(message("[1,2,3,4,5]"), "more than 5 values");
  EXPECT_EQ(message("[\"abcde\"]"),
            "a string of 5 bytes, more than the limit of 4");
  EXPECT_EQ(message("{\"abcde\": 1}"),
            "a string of 5 bytes, more than the limit of 4");
  small.blankBytes = 3;
  EXPECT_EQ(message("[1,   \n2]"), "more than 3 bytes of white space in a row");
  EXPECT_EQ(message(std::string(41, ' ')),
            "the file has more than 40 bytes, the limit of a description");
}

TEST(Json, survives_deep_nesting) {
  Parsed p(std::string(100000, '['));
  EXPECT_EQ(p.document, nullptr);
  EXPECT_EQ(p.diagnostics.all().at(0).range.begin, 64u);
}

TEST(Source, finds_lines_and_columns_in_large_files) {
  // Lines of every length from 0 to 199, of one, two and four bytes a letter.
  std::string text;
  std::vector<std::pair<size_t, Position>> places;
  for (size_t line = 1; line <= 200; ++line) {
    for (size_t column = 1; column <= line; ++column) {
      places.push_back({text.size(), {line, column}});
      text += column == line ? "\n" : column % 3 == 0 ? "\u00e9" : "\U0001F600";
    }
  }
  Source source("s", text);
  for (const auto &[offset, place] : places) {
    Position found = source.position(offset);
    ASSERT_EQ(found.line, place.line) << offset;
    ASSERT_EQ(found.column, place.column) << offset;
  }
  size_t start = 0;
  for (size_t line = 1; line <= 200; ++line) {
    ASSERT_EQ(source.lineStart(line), start);
    size_t size = source.line(line).size();
    ASSERT_EQ(text.find('\n', start), start + size);
    start += size + 1;
  }
}

TEST(Source, reads_no_more_than_its_limit) {
  EXPECT_EQ(Source::read("/dev/zero", 1000)->text().size(), 1001u);
  EXPECT_EQ(Source::read("/dev/null", 1000)->text().size(), 0u);
  EXPECT_EQ(Source::read("/nowhere", 1000), nullptr);
  // A folder opens, and cannot be read.
  EXPECT_EQ(Source::read("/", 1000), nullptr);
}

TEST(Source, finds_places_in_strings_with_escapes) {
  Source source("s", "\"a\\u00e9\\ud83d\\ude00\\n*b\"");
  Range token{0, source.text().size()};
  // Decoded: a, two bytes, four bytes, a line break, *, b.
  EXPECT_EQ(source.offsetInString(token, 0), 1u);
  EXPECT_EQ(source.offsetInString(token, 1), 2u);
  EXPECT_EQ(source.text()[source.offsetInString(token, 8)], '*');
  EXPECT_EQ(source.text()[source.offsetInString(token, 9)], 'b');
}

} // namespace
