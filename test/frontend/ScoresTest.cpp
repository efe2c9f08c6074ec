//===- ScoresTest.cpp - Programs of written scores ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "BadDescriptions.h"

#include <gtest/gtest.h>

using namespace hova;
using frontend::ProgramOperation;
using frontend::ScoreProgram;
using frontend::ScoreTerm;
using test::Read;
using test::whole;

namespace {

const char *nameOf(ScoreTerm::Op op) {
  static const char *const names[] = {
      "constant", "score", "batch", "head",   "query",  "key",  "read",
      "add",      "sub",   "mul",   "neg",    "abs",    "min",  "max",
      "div",      "mod",   "rem",   "number", "divide", "exp",  "log",
      "log2",     "tanh",  "sigm",  "sqrt",   "floor",  "ceil", "eq",
      "ne",       "lt",    "le",    "and",    "or",     "not",  "select"};
  return names[static_cast<int>(op)];
}

std::string plain(double number) {
  std::ostringstream text;
  text << number;
  return text.str();
}

/// `add(score, number(sub(query, key)))`; what is read is `#n[..]`.
std::string spell(const ScoreProgram &program, int number) {
  if (number < 0) {
    return "nothing";
  }
  const ScoreTerm &term = program.terms[static_cast<size_t>(number)];
  if (term.op == ScoreTerm::Op::Constant) {
    return term.type == ScoreTerm::Type::Number ? plain(term.real) + "f"
           : term.type == ScoreTerm::Type::Integer
               ? std::to_string(term.integer)
               : (term.integer ? "true" : "false");
  }
  bool isRead = term.op == ScoreTerm::Op::Read;
  std::string text =
      isRead ? "#" + std::to_string(term.capture) : nameOf(term.op);
  std::string inside;
  for (int operand : term.operands) {
    EXPECT_LT(operand, number) << "terms use earlier ones";
    inside += (inside.empty() ? "" : ", ") + spell(program, operand);
  }
  return inside.empty()
             ? text
             : text + (isRead ? "[" : "(") + inside + (isRead ? "]" : ")");
}

std::string description(const std::string &layers,
                        const std::string &blocks = "") {
  return whole(
      R"("parameters": {"n": 6, "window": 3, "cap": 20.0, "heads": 9, )"
      R"("kind": {"default": "alibi", "values": ["alibi", "plain"]}}, )"
      R"("inputs": {"x": {"shape": [2, "n", 8]}, "one": {"shape": [1, 1, 8]}, )"
      R"("image": {"shape": [2, 16, 8]}, )"
      R"("bias": {"shape": [2, "n", 11]}, )"
      R"("document": {"shape": [2, 6], "dtype": "i64", "range": [0, 3]}, )"
      R"("free": {"shape": [2, 6], "dtype": "i32"}, )"
      R"("wide": {"shape": [2, 6], "dtype": "i64"}, )"
      R"("valid": {"shape": [2, 6], "dtype": "bool"}}, )" +
      blocks + "\"layers\": [" + layers + R"(], "outputs": {"o": "y"})");
}

/// What an attention makes of `keys`: "score | keep | captured values".
std::string made(const std::string &keys, const std::string &input = "x",
                 const std::string &before = "") {
  // Without a factor, which some kinds have none of, the similarity alone is
  // what "score" begins with.
  bool isGiven = keys.find("\"scale\"") != std::string::npos ||
                 keys.find("\"kind\"") != std::string::npos;
  Read read(description(
      before + R"({"name": "y", "op": "attention", "query": ")" + input +
      R"(", "key": ")" + input + R"(", "value": ")" + input +
      R"(", "heads": 2, )" + (isGiven ? "" : "\"scale\": 1, ") + keys + "}"));
  if (!read.program) {
    return read.printed();
  }
  const ProgramOperation &op = *read.find("y");
  const ScoreProgram *scores = read.program->scoresOf(op);
  if (!scores) {
    return "none";
  }
  bool isWritten = keys.find("\"score\"") != std::string::npos;
  std::string text = (isWritten ? spell(*scores, scores->score) : "nothing") +
                     " | " + spell(*scores, scores->keep) + " |";
  for (const auto &[role, value] : op.operands) {
    if (role == "captured") {
      text += " " + read.program->values[static_cast<size_t>(value)].path;
    }
  }
  return text;
}
std::string score(const std::string &expression) {
  std::string text = made("\"score\": \"" + expression + "\"");
  return text.substr(0, text.find(" | nothing"));
}
std::string keep(const std::string &expression) {
  std::string text = made("\"keep\": \"" + expression + "\"");
  return text.rfind("nothing | ", 0) == 0
             ? text.substr(10, text.find(" |", 10) - 10)
             : text;
}

TEST(Scores, are_nothing_unless_given) {
  EXPECT_EQ(made("\"scale\": 1"), "nothing | nothing |");
  EXPECT_EQ(made(R"("score": "score")"), "score | nothing |");
  EXPECT_EQ(made(R"("keep": "true")"), "nothing | true |");
}

TEST(Scores, fold_what_depends_on_parameters_alone) {
  EXPECT_EQ(score("cap * tanh(score / cap)"),
            "mul(20f, tanh(divide(score, 20f)))");
  EXPECT_EQ(score("score + exp(0) * (window - 1)"), "add(score, 2f)");
  EXPECT_EQ(score("sigmoid(0) + log(1) + tanh(0) + 2**-1"), "1f");
}

TEST(Scores, choose_by_constants_without_the_other_branch) {
  EXPECT_EQ(score("if(kind == 'plain', bias[head, query, 99], score)"),
            "score");
  EXPECT_EQ(keep("kind == 'plain' and bias[head, query, 99] > 0"), "false");
  EXPECT_EQ(keep("kind == 'alibi' or bias[head, query, 99] > 0"), "true");
  EXPECT_EQ(keep("kind == 'alibi' and key < 2"), "lt(key, 2)");
  EXPECT_EQ(keep("key < 2 or false"), "lt(key, 2)");
}

TEST(Scores, have_names_that_hide_parameters) {
  EXPECT_EQ(score("score / heads"), "divide(score, 2f)");
  EXPECT_EQ(score("queries + keys"), "12f");
}

TEST(Scores, keep_integers_exact) {
  EXPECT_EQ(score("query - key"), "number(sub(query, key))");
  EXPECT_EQ(score("-abs(query - key)"), "number(neg(abs(sub(query, key))))");
  EXPECT_EQ(score("(query - key) / 2"), "divide(number(sub(query, key)), 2f)");
  EXPECT_EQ(score("min(key, window) + max(2.5, key)"),
            "add(number(min(key, 3)), max(2.5f, number(key)))");
  EXPECT_EQ(keep("(query - key) // 2 == query % 3"),
            "eq(div(sub(query, key), 2), mod(query, 3))");
  EXPECT_EQ(keep("query // -2 == query % -3"),
            "eq(div(neg(query), 2), neg(mod(neg(query), 3)))");
  EXPECT_EQ(score("floor(key) + ceil(score)"), "add(number(key), ceil(score))");
  EXPECT_EQ(score("score * if(key < 2, key, query)"),
            "mul(score, number(select(lt(key, 2), key, query)))");
}

TEST(Scores, divide_any_integer_of_32_bits) {
  EXPECT_EQ(keep("free[batch, key] // 3 == 1"),
            "eq(div(#0[batch, key], 3), 1)");
  EXPECT_EQ(keep("free[batch, key] % 3 == 1"),
            "eq(mod(rem(#0[batch, key], 3), 3), 1)");
  EXPECT_EQ(keep("free[batch, key] % -3 == -1"),
            "eq(neg(mod(neg(rem(#0[batch, key], 3)), 3)), -1)");
  EXPECT_EQ(keep("free[batch, key] // -3 == 1"),
            "eq(neg(add(div(#0[batch, key], 3), min(mod(rem(#0[batch, key], "
            "3), 3), 1))), 1)");
  EXPECT_EQ(keep("key % 2147483647 < 1 and key // -2147483647 < 0"),
            "and(lt(mod(key, 2147483647), 1), lt(div(neg(key), 2147483647), "
            "0))");
  // A power of two times a quotient is not less than the dividend.
  EXPECT_EQ(keep("free[batch, key] % 8 == 1"), "eq(mod(#0[batch, key], 8), 1)");
  EXPECT_EQ(score("bias[0, 0, free[batch, key] % 11]"),
            "#0[0, 0, mod(rem(#1[batch, key], 11), 11)]");
  EXPECT_EQ(score("bias[0, 0, 2 + free[batch, key] % -3]"),
            "#0[0, 0, add(2, neg(mod(neg(rem(#1[batch, key], 3)), 3)))]");
}

TEST(Scores, compare_integers_numbers_and_booleans) {
  EXPECT_EQ(keep("key <= query and query - key < window"),
            "and(le(key, query), lt(sub(query, key), 3))");
  EXPECT_EQ(keep("key >= 2"), "le(2, key)");
  EXPECT_EQ(keep("key > 2.5"), "lt(2.5f, number(key))");
  EXPECT_EQ(keep("not (key != query)"), "not(ne(key, query))");
  EXPECT_EQ(keep("valid[batch, key] == valid[batch, query]"),
            "eq(#0[batch, key], #0[batch, query])");
  EXPECT_EQ(keep("if(key < 2, valid[batch, key], true)"),
            "select(lt(key, 2), #0[batch, key], true)");
}

TEST(Scores, raise_to_constant_powers_by_multiplication) {
  EXPECT_EQ(score("score ** 0"), "1f");
  EXPECT_EQ(score("score ** 1"), "score");
  EXPECT_EQ(score("score ** 3"), "mul(mul(score, score), score)");
  EXPECT_EQ(score("score ** 4"), "mul(mul(score, score), mul(score, score))");
  // A square is not negative.
  EXPECT_EQ(score("bias[0, 0, min((query - key) ** 2, 10)]"),
            "#0[0, 0, min(mul(sub(query, key), sub(query, key)), 10)]");
}

TEST(Scores, read_values_at_indices) {
  EXPECT_EQ(made(R"("score": "score + bias[head, query, query - key + 5]")"),
            "add(score, #0[head, query, add(sub(query, key), 5)]) | nothing | "
            "bias");
  EXPECT_EQ(
      made(R"("score": "bias[0, 0, document[batch, key]]", )"
           R"("keep": "valid[batch, key] and document[batch, key] > 0")"),
      "#0[0, 0, #1[batch, key]] | and(#2[batch, key], lt(0, #1[batch, key])) "
      "| bias document valid");
}

TEST(Scores, know_the_ranges_of_what_is_read) {
  EXPECT_EQ(score("bias[0, 2 * document[batch, key], 10 - document[0, 0] * 3]"),
            "#0[0, mul(2, #1[batch, key]), sub(10, mul(#1[0, 0], 3))]");
  EXPECT_EQ(score("bias[0, max(0, min(free[batch, key], 5)), 0]"),
            "#0[0, max(0, min(#1[batch, key], 5)), 0]");
  EXPECT_EQ(score("bias[0, max(0, min(wide[batch, key], 5)), 0]"),
            "#0[0, max(0, min(#1[batch, key], 5)), 0]");
  EXPECT_EQ(keep("wide[batch, key] == wide[batch, query]"),
            "eq(#0[batch, key], #0[batch, query])");
  EXPECT_EQ(score("bias[0, query % 6, (query - key) % 11]"),
            "#0[0, mod(query, 6), mod(sub(query, key), 11)]");
  Read read(description(
      R"({"name": "y", "op": "attention", "query": "x", "key": "x", )"
      R"("value": "x", "heads": 2, "keep": "document[batch, key] > 0"})"));
  ASSERT_TRUE(read.program) << read.printed();
  for (const ScoreTerm &term : read.program->scoresOf(*read.find("y"))->terms) {
    if (term.op == ScoreTerm::Op::Read) {
      ASSERT_TRUE(term.range);
      EXPECT_EQ((*term.range)[0], 0);
      EXPECT_EQ((*term.range)[1], 3);
    }
  }
}

TEST(Scores, make_equal_terms_once) {
  Read read(description(
      R"({"name": "y", "op": "attention", "query": "x", "key": "x", )"
      R"("value": "x", "heads": 2, "score": "score + bias[head, query, key] * )"
      R"(bias[head, query, key]", "keep": "bias[head, query, key] > 0"})"));
  ASSERT_TRUE(read.program) << read.printed();
  // similarity, factor, score, head, query, key, the element, its square, the
  // sum, 0, the
  // comparison
  EXPECT_EQ(read.program->scoresOf(*read.find("y"))->terms.size(), 11u);
}

TEST(Scores, may_divide_by_an_index_whatever_the_sizes) {
  EXPECT_EQ(made(R"("score": "score / key + batch")", "one"),
            "add(divide(score, number(key)), number(batch)) | nothing |");
}

TEST(Scores, count_the_tokens_of_windows_and_the_entries_of_images) {
  Read read(description(
      R"({"name": "y", "op": "multi_head_attention", "input": "image", )"
      R"("heads": 2, "window": 2, "grid_height": 4, )"
      R"("score": "score + bias[batch, key, query]", "keep": "queries == 4"})"));
  ASSERT_TRUE(read.program) << read.printed();
  const ScoreProgram &scores = *read.program->scoresOf(*read.find("y"));
  EXPECT_EQ(spell(scores, scores.score),
            "add(mul(score, 0.5f), #0[div(batch, 4), key, query])");
  EXPECT_EQ(spell(scores, scores.keep), "true");
}

TEST(Scores, are_those_of_the_rows_of_omni_attention) {
  Read read(description(
      R"({"name": "y", "op": "omni_attention", "inputs": ["x", "x"], )"
      R"("heads": 2, "hidden": 4, "keep": "key // 2 <= query // 2"})"));
  ASSERT_TRUE(read.program) << read.printed();
  const ScoreProgram &scores = *read.program->scoresOf(*read.find("y"));
  EXPECT_EQ(spell(scores, scores.keep), "le(div(key, 2), div(query, 2))");
}

TEST(Scores, of_additive_and_cosine_attention_are_read_too) {
  EXPECT_EQ(made(R"("kind": "additive", "score": "score * 2")"),
            "mul(score, 2f) | nothing |");
  EXPECT_EQ(made(R"("kind": "cosine", "score": "score * 2")"),
            "mul(score, 2f) | nothing |");
}

TEST(Scores, use_weights_that_nothing_else_reads) {
  std::string slope = R"({"name": "slope", "op": "weight", "shape": [2]}, )";
  EXPECT_EQ(made(R"x("score": "score - slope[head] * abs(query - key)")x", "x",
                 slope),
            "sub(score, mul(#0[head], number(abs(sub(query, key))))) | nothing "
            "| slope.weight");
}

TEST(Scores, read_results_of_repetitions_and_blocks) {
  Read read(description(
      R"({"name": "table", "block": "tables", "input": "bias", "repeat": 2}, )"
      R"({"name": "s", "block": "step", "inputs": {"a": "x", "t": "table[0].scaled"}, )"
      R"("repeat": 2, "arguments": {"far": "index"}}, )"
      R"({"name": "y", "op": "attention", "query": "s", "key": "s", "value": "s", )"
      R"("heads": 2, "score": "table[0].scaled[head, query, key] + table[-1][head, 0, 0]"})",
      R"("blocks": {"tables": {"inputs": ["a"], "layers": [)"
      R"({"name": "scaled", "op": "scale", "input": "a", "by": 2}], "output": "scaled"}, )"
      R"("step": {"inputs": ["a", "t"], "arguments": {"far": 0}, "layers": [)"
      R"({"name": "out", "op": "attention", "query": "a", "key": "a", "value": "a", "heads": 2, )"
      R"("keep": "t[head, query, key] > far + index and a[batch, key, 0] < 1"}], "output": "out"}}, )"));
  ASSERT_TRUE(read.program) << read.printed();
  for (const char *name : {"\"bias\"", "\"table\"", "\"t\"", "\"far\""}) {
    EXPECT_EQ(read.printed().find(std::string(name) + " is not used"),
              std::string::npos)
        << read.printed();
  }
  const ScoreProgram &last = *read.program->scoresOf(*read.find("y"));
  EXPECT_EQ(spell(last, last.score),
            "add(#0[head, query, key], #1[head, 0, 0])");
  EXPECT_EQ(read.reads("y", "captured"), "table.0.scaled");
  const ScoreProgram &inner = *read.program->scoresOf(*read.find("s.1.out"));
  EXPECT_EQ(spell(inner, inner.keep),
            "and(lt(2f, #0[head, query, key]), lt(#1[batch, key, 0], 1f))");
  EXPECT_EQ(read.reads("s.1.out", "captured"), "table.0.scaled");
}

} // namespace
