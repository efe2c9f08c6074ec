//===- ExpressionTest.cpp - Values and mistakes of expressions ------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "frontend/expression/Expression.h"

#include <gtest/gtest.h>
#include <map>

using namespace hova::frontend;

namespace {

const Scalar *find(std::string_view name) {
  static const std::map<std::string_view, Scalar> values = {
      {"n", Scalar::ofInteger(7)},
      {"width", Scalar::ofInteger(512)},
      {"eps", Scalar::ofReal(1e-6)},
      {"on", Scalar::ofBoolean(true)},
      {"kind", Scalar::ofText("softmax")},
      {"count", Scalar::ofInteger(3)},
      {"largest", Scalar::ofInteger(5)},
      {"largest(n)", Scalar::ofInteger(9)},
      {"depths", Scalar::ofList({Scalar::ofInteger(2), Scalar::ofReal(0.5),
                                 Scalar::ofText("a\"b")})}};
  auto found = values.find(name);
  return found == values.end() ? nullptr : &found->second;
}

std::string value(const std::string &text) {
  TextError error;
  std::optional<Expression> expression = Expression::parse(text, error);
  std::optional<Scalar> result =
      expression ? expression->evaluate(find, error) : std::nullopt;
  if (!result) {
    return std::to_string(error.begin) + ": " + error.message;
  }
  std::string suffix = result->is(Scalar::Kind::Real) ? " real" : "";
  return result->str() + suffix;
}

TEST(Expression, reads_lists) {
  EXPECT_EQ(value("count(depths)"), "3");
  EXPECT_EQ(value("depths[0] + count"), "5");
  EXPECT_EQ(value("depths[-2]"), "0.5 real");
  EXPECT_EQ(value("depths[depths[0]] == 'a\"b'"), "true");
  EXPECT_EQ(value("depths"), "[2, 0.5, \"a\\\"b\"]");
  EXPECT_EQ(value("depths[3]"), "7: index 3 is outside of a list of 3");
  EXPECT_EQ(value("depths[-4]"), "7: index -4 is outside of a list of 3");
  EXPECT_EQ(value("depths[0.5]"),
            "7: an index is an integer, got a number (0.5)");
  EXPECT_EQ(value("n[0]"), "0: expected a list, got an integer (7)");
  EXPECT_EQ(value("count(n)"), "6: expected a list, got an integer (7)");
  EXPECT_EQ(value("depths[0"), "8: expected ']' at the end");
  EXPECT_EQ(value("rope.theta"), "4: expected an operator or the end, got '.'");
}

// The name of a parameter's largest value is one that a lookup is asked for.
TEST(Expression, asks_for_the_largest_value_of_a_parameter) {
  EXPECT_EQ(value("2*largest( n ) + 1"), "19");
  EXPECT_EQ(value("largest(eps)"), "0: unknown name \"largest(eps)\"");
  EXPECT_EQ(value("largest + 1"), "6");
  EXPECT_EQ(value("largest(n + 1)"),
            "8: largest takes the name of a parameter, as in largest(length)");
  EXPECT_EQ(value("largest(n, n)"), "0: largest takes 1 value, got 2");
  EXPECT_EQ(value("sum(largest(n), 3, 1)").find("0: unknown function"), 0u);
  TextError error;
  std::optional<Expression> uses = Expression::parse("largest(n)", error);
  ASSERT_TRUE(uses && uses->names().size() == 1);
  EXPECT_EQ(uses->names()[0].name, "n");
  EXPECT_FALSE(Expression::parseKeys("largest(n)", error));
  EXPECT_FALSE(Expression::parseConstant("sum(largest(n), 3, 1)", error));
  EXPECT_EQ(error.message.find("sum takes a name that counts"), 0u);
}

TEST(Expression, knows_keys_of_objects) {
  TextError error;
  std::optional<Expression> keys =
      Expression::parseKeys("if(rope.theta > 1, rope.types[0], 2.)", error);
  ASSERT_TRUE(keys) << error.message;
  ASSERT_EQ(keys->names().size(), 2u);
  EXPECT_EQ(keys->names()[0].name, "rope.theta");
  EXPECT_EQ(keys->names()[1].name, "rope.types");
}

TEST(Expression, follows_the_usual_precedence) {
  EXPECT_EQ(value("1 + 2*3"), "7");
  EXPECT_EQ(value("(1 + 2)*3"), "9");
  EXPECT_EQ(value("2**3**2"), "512");
  EXPECT_EQ(value("-2**2"), "-4");
  EXPECT_EQ(value("2**-1"), "0.5 real");
  EXPECT_EQ(value("10 - 3 - 2"), "5");
  EXPECT_EQ(value("1 < 2 and not 2 < 1 or false"), "true");
  EXPECT_EQ(value("(width/16)**2 + 1"), "1025");
}

TEST(Expression, divides_exactly_or_gives_a_real) {
  EXPECT_EQ(value("width/4"), "128");
  EXPECT_EQ(value("n/2"), "3.5 real");
  EXPECT_EQ(value("n//2"), "3");
  EXPECT_EQ(value("-n//2"), "-4");
  EXPECT_EQ(value("-n % 4"), "1");
  EXPECT_EQ(value("n % -4"), "-1");
  EXPECT_EQ(value("(-9223372036854775807 - 1) % 3"), "1");
  EXPECT_EQ(value("7.5 // 2"), "3 real");
  EXPECT_EQ(value("2*eps"), "2e-06 real");
}

TEST(Expression, calls_functions) {
  EXPECT_EQ(value("if(on, n, 1/0)"), "7");
  EXPECT_EQ(value("if(kind == 'additive', 1, 2)"), "2");
  EXPECT_EQ(value("min(3, n, 5) + max(n, 2.5)"), "10");
  EXPECT_EQ(value("abs(-n)"), "7");
  EXPECT_EQ(value("sqrt(16)"), "4 real");
  EXPECT_EQ(value("floor(7/2) + ceil(7/2)"), "7");
  EXPECT_EQ(value("log2(512)"), "9 real");
}

TEST(Expression, skips_what_is_not_needed) {
  EXPECT_EQ(value("n == 0 or 7 % n == 0"), "true");
  EXPECT_EQ(value("n != 7 and 1/0 == 1"), "false");
}

TEST(Expression, names_the_place_of_a_mistake) {
  EXPECT_EQ(value("1 +"), "3: expected a number, a name or '(' at the end");
  EXPECT_EQ(value("(1"), "2: expected ')' at the end");
  EXPECT_EQ(value("1 ? 2"), "2: expected an operator or the end, got '?'");
  EXPECT_EQ(value("1 \u00e9 2"),
            "2: expected an operator or the end, got '\u00e9'");
  EXPECT_EQ(value("1 \xc3"), "2: expected an operator or the end, got '\\xc3'");
  EXPECT_EQ(value("foo(1)"),
            "0: unknown function \"foo\"; there are if, min, "
            "max, abs, sqrt, floor, ceil, log2, count and largest");
  EXPECT_EQ(value("if(on, 1)"), "0: if takes 3 values, got 2");
  EXPECT_EQ(value("'abc"), "0: missing closing quote (')");
  EXPECT_EQ(value("1.2.3"), "0: this is not a number");
  EXPECT_EQ(value("1e999"), "0: the number is out of range");
  EXPECT_EQ(value("99999999999999999999"), "0: the number is out of range");
  EXPECT_EQ(value("3 + 4/(n - 7)"), "4: division by zero");
  EXPECT_EQ(value("n % 0"), "0: division by zero");
  EXPECT_EQ(value("n + on"), "4: expected a number, got a boolean (true)");
  EXPECT_EQ(value("not n"), "4: expected a boolean, got an integer (7)");
  EXPECT_EQ(value("n == kind"),
            "0: cannot compare an integer (7) with text (softmax)");
  EXPECT_EQ(value("sqrt(-1)"), "0: square root of a negative number");
  EXPECT_EQ(value("log2(0)"), "0: logarithm of a number not above zero");
  EXPECT_EQ(value("1 + zzz"), "4: unknown name \"zzz\"");
}

TEST(Expression, never_overflows) {
  const char *const message = ": the result does not fit into 64 bits";
  EXPECT_EQ(value("9223372036854775807 + 1"), std::string("0") + message);
  EXPECT_EQ(value("-9223372036854775807 - 2"), std::string("0") + message);
  EXPECT_EQ(value("4611686018427387904 * 2"), std::string("0") + message);
  EXPECT_EQ(value("3**40"), std::string("0") + message);
  EXPECT_EQ(value("(-9223372036854775807 - 1) // -1"),
            std::string("0") + message);
  EXPECT_EQ(value("abs(-9223372036854775807 - 1)"), std::string("0") + message);
  EXPECT_EQ(value("1**9223372036854775807"), "1");
  EXPECT_EQ(value("(-1)**9223372036854775807"), "-1");
  EXPECT_EQ(value("0**9223372036854775807"), "0");
  EXPECT_EQ(value("1e308 * 10"), "0: the result is not a finite number");
}

TEST(Expression, limits_nesting) {
  EXPECT_EQ(value(std::string(1000, '(') + "1" + std::string(1000, ')')),
            "65: the expression is nested deeper than 64 levels");
  EXPECT_EQ(value(std::string(1000, '-') + "1"),
            "65: the expression is nested deeper than 64 levels");
  std::string sum = "1";
  for (int i = 0; i < 2000; ++i) {
    sum += "+1";
  }
  EXPECT_EQ(value(sum), "2001");
}

TEST(Reference, parses_members_indices_and_ranges) {
  TextError error;
  std::optional<Reference> r =
      Reference::parse("encoder[2*index + 1].attn[*][1:n:2]", error);
  ASSERT_TRUE(r) << error.message;
  EXPECT_EQ(r->base, "encoder");
  ASSERT_EQ(r->accessors.size(), 4u);
  EXPECT_EQ(r->accessors[0].kind, Reference::Accessor::Kind::Index);
  EXPECT_EQ(r->accessors[1].member, "attn");
  EXPECT_EQ(r->accessors[2].kind, Reference::Accessor::Kind::Range);
  EXPECT_FALSE(r->accessors[2].first);
  EXPECT_TRUE(r->accessors[3].step);
  ASSERT_EQ(r->names().size(), 2u);
  EXPECT_EQ(r->names()[1].name, "n");
}

TEST(PathTemplate, fills_expressions_in) {
  TextError error;
  std::optional<PathTemplate> path =
      PathTemplate::parse("encoder.{n // 2}.attn", error);
  ASSERT_TRUE(path);
  EXPECT_EQ(path->evaluate(find, error), "encoder.3.attn");
  EXPECT_FALSE(PathTemplate::parse("a.{n", error));
  EXPECT_EQ(error.message, "missing '}'");
  EXPECT_FALSE(PathTemplate::parse("", error));
  EXPECT_FALSE(PathTemplate::parse("a/b", error));
  EXPECT_EQ(error.begin, 1u);
}

} // namespace
