//===- BadScoresTest.cpp - Mistakes in written scores ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "test/frontend/BadDescriptions.h"

using namespace hova::test;

namespace {

/// One attention of two heads on six tokens, and values that it may read.
Bad layers(const char *name, const std::string &attention,
           const std::vector<std::string> &messages) {
  return {
      name,
      whole(R"("parameters": {"n": 6, "on": true, "word": "'relu'"}, )"
            R"("inputs": {"x": {"shape": [2, "n", 8]}, )"
            R"("bias": {"shape": [2, "n", 11]}, )"
            R"("lengths": {"shape": [2], "dtype": "i32", "range": [0, 7]}, )"
            R"("free": {"shape": [2, 6], "dtype": "i32"}, )"
            R"("wide": {"shape": [2, 6], "dtype": "i64"}, )"
            R"("valid": {"shape": [2, 6], "dtype": "bool"}}, "layers": [)"
            R"({"name": "three", "op": "scale", "input": "x", "by": 1, )"
            R"("repeat": 3}, )" +
            attention +
            R"(, {"name": "later", "op": "add", "inputs": ["y", "x"]}], )"
            R"("outputs": {"o": "later", "t": "three"})"),
      messages};
}

Bad attention(const char *name, const std::string &keys,
              const std::string &message) {
  return layers(name,
                R"({"name": "y", "op": "multi_head_attention", "input": "x", )"
                R"("heads": 2, )" +
                    keys + "}",
                {message});
}

/// `@` stands before the place in the expression.
Bad score(const char *name, const std::string &expression,
          const std::string &message) {
  return attention(name, "\"score\": \"" + expression + "\"", message);
}
Bad keep(const char *name, const std::string &expression,
         const std::string &message) {
  return attention(name, "\"keep\": \"" + expression + "\"", message);
}

std::vector<Bad> weights() {
  return {
      attention("weights_are_no_mean",
                R"("normalize": "sum", "empty_row": @"uniform")",
                "a row without keys is zero with \"normalize\": \"sum\" as all "
                "its weights are"),
      attention("weights_have_no_temperature",
                R"("normalize": "none", "temperature": @2)",
                "\"temperature\" has no meaning with \"normalize\": \"none\" "
                "which has no softmax"),
      attention("weights_in_shifted_windows",
                R"("normalize": "none", "window": 3, "grid_height": 1, )"
                R"("clamp": "per_axis", "shift": @1)",
                "the mask of a shift is a number that is added to scores"),
      attention(
          "weights_of_a_performer",
          R"("kind": "performer", "normalize": @"sum")",
          "\"normalize\" has no meaning for kind performer, whose weights "
          "are products of features over their sum"),
      attention("weights_are_a_word", R"("normalize": @"l1")",
                "unknown word \"l1\"; expected softmax, sum, none"),
  };
}

std::vector<Bad> syntax() {
  return {
      score("ends_early", "score +@", "expected a number, a name or '('"),
      score("no_function", "@erf(score)",
            "unknown function \"erf\"; there are if, min, max, abs, sqrt, "
            "floor, ceil, log2, largest, exp, log, tanh and sigmoid"),
      score("brackets_stay_open", "bias[head, query, 0@",
            "expected ',' or ']' at the end"),
      score("no_index", "bias[@]", "expected a number, a name or '(', got ']'"),
      score("no_brackets", "three.x @+ 1", "expected '['"),
      score("no_member", "three.@[0]", "expected the name of a layer after"),
      score("chosen_by_two", "three@[0, 1][0, 0, 0]",
            "what chooses one of several results is one expression"),
      score("chosen_by_a_value", "three@[lengths[0]][0, 0, 0]",
            "what chooses one of several results is one expression"),
      attention("no_string", R"("score": @1)",
                "\"score\" must be a string, got an integer"),
      attention("no_expression", R"("keep": @true)",
                "\"keep\" must be a string, got a boolean"),
      attention("in_a_parameter", R"("scale": "@bias[0, 0, 0]")",
                "values cannot be read here, only in the \"score\" and "
                "\"keep\" of an attention"),
      attention("function_in_a_parameter", R"x("scale": "@exp(1)")x",
                "unknown function \"exp\""),
  };
}

std::vector<Bad> names() {
  return {
      score("unknown", "score + @slop",
            "unknown name \"slop\"; scores know score, batch, head, query, "
            "key, heads, queries, keys, parameters, arguments and index"),
      score("a_whole_value", "score + @bias",
            "\"bias\" is a value, of which an element is read: bias[...], "
            "with an index for each axis"),
      score("index_without_repeat", "score * @index",
            "\"index\" counts repetitions"),
      score("unknown_value", "score + @bais[head, query, key]",
            "unknown value \"bais\""),
      score("later_value", "score + @later[batch, query, 0]",
            "value \"later\" is read before it is computed"),
      score("itself", "score + @y[batch, query, 0]",
            "value \"y\" is read before it is computed"),
      score("a_parameter_as_a_value", "score + @n[head]",
            "unknown value \"n\""),
      score("chosen_by_an_index", "three[@head][batch, query, key]",
            "\"head\" cannot choose a value"),
      score("chosen_by_nobody", "three[@who][batch, query, key]",
            "unknown name \"who\""),
      score("too_late_a_repetition", "three@[3][batch, query, key]",
            "index 3 of 3 results"),
      score("nothing_repeated", "@bias[0][batch, query, key]",
            "\"bias\" is neither repeated nor a list"),
      score("no_block", "bias.@inner[batch, query, key]",
            "\"bias\" is not a block; it has no \"inner\""),
      keep("score_in_keep", "@score > 0",
           "\"score\" is known in \"score\" alone"),
  };
}

std::vector<Bad> types() {
  return {
      score("boolean_score", "@key <= query",
            "expected a number, got a boolean"),
      score("constant_boolean", "@on", "expected a number, got a boolean"),
      score("text", "@word", "expected a number, got text (relu)"),
      keep("number", "@query - key", "expected a boolean, got an integer"),
      keep("constant_number", "@1", "expected a boolean, got an integer (1)"),
      keep("and_of_a_number", "key <= query and @score_of_nobody",
           "unknown name"),
      keep("and_of_an_index", "key <= query and @key",
           "expected a boolean, got an integer"),
      keep("or_of_a_number", "@bias[0, 0, 0] or on",
           "expected a boolean, got a number"),
      keep("not_of_a_number", "not @query",
           "expected a boolean, got an integer"),
      keep("compared_with_text", "@key == word",
           "cannot compare an integer with text (relu)"),
      keep("order_of_booleans", "@valid[batch, key] < on",
           "cannot compare a boolean with a boolean (true)"),
      score("boolean_in_a_sum", "score + @valid[batch, key]",
            "expected a number, got a boolean"),
      score("boolean_in_a_function", "tanh(@key < query)",
            "expected a number, got a boolean"),
      score("condition", "if(@key, 0, score)",
            "expected a boolean, got an integer"),
      score("branches", "@if(key < 3, score, key < 2)",
            "if gives two numbers or two booleans, got a number and a "
            "boolean"),
      score("number_index", "score + bias[head, query, @key / 2]",
            "an index is an integer, got a number"),
      score("rounded_index", "bias[head, query, @floor(score)]",
            "an index is an integer, got a number"),
      score("real_index", "bias[head, query, @0.5]",
            "an index is an integer, got a number (0.5)"),
      score("boolean_index", "bias[head, query, @key < 2]",
            "an index is an integer, got a boolean"),
      score("quotient_of_a_number", "@score // 2",
            "// is of integers in scores, got a number"),
      score("rest_of_a_number", "key % @0.5",
            "% is of integers in scores, got a number (0.5)"),
      score("quotient_by_an_index", "query // (@key + 1)",
            "// is by an integer of parameters in scores, got an integer"),
      score("real_exponent", "score ** @0.5",
            "the exponent must be an integer of parameters, 0 to 8, unless the "
            "base is a positive number of parameters, got a number (0.5); "
            "a**b is exp(b * log(a))"),
      score("large_exponent", "score ** @9",
            "base is a positive number of parameters, got an integer (9)"),
      score("variable_exponent", "score ** (@-head)",
            "the exponent must be an integer of parameters"),
      score("power_of_a_negative", "(-2) ** @head",
            "the exponent must be an integer of parameters"),
      score("power_to_a_boolean", "2 ** (@head < 1)",
            "the exponent must be an integer of parameters"),
      score("power_of_a_boolean", "(@key < 2) ** 2",
            "expected a number, got a boolean"),
  };
}

std::vector<Bad> ranges() {
  return {
      score("too_few_indices", "score + @bias[head, query]",
            "expected 3 indices, one for each axis of \"bias\", got 2"),
      score("too_many_indices", "score + @lengths[batch, 0]",
            "expected 1 index, one for each axis of \"lengths\", got 2"),
      score("below", "bias[head, query, @query - key]",
            "index 2 of \"bias\" can be -5 to 5, and this axis has 11 "
            "elements: 0 to 10"),
      score("beyond", "bias[head, query, @query - key + 6]",
            "index 2 of \"bias\" can be 1 to 11, and this axis has 11 "
            "elements: 0 to 10"),
      score("constant", "bias[@2, query, key]",
            "index 0 of \"bias\" is 2, and this axis has 2 elements: 0 to 1"),
      score("heads_as_tokens", "bias[@query, head, key]",
            "index 0 of \"bias\" can be 0 to 5"),
      score("conditions_do_not_narrow",
            "if(key > query, 0, bias[head, query, @query - key])",
            "index 2 of \"bias\" can be -5 to 5"),
      score("read_index", "bias[0, @lengths[batch], 0]",
            "index 1 of \"bias\" can be 0 to 6, and this axis has 6 elements"),
      score("read_without_range", "bias[0, @free[batch, key], 0]",
            "index 1 of \"bias\" can be -2147483648 to 2147483647, and this "
            "axis has 6 elements: 0 to 5; give the input \"free\" a "
            "\"range\""),
      score("bounded_half", "bias[0, @min(free[batch, key], 5), 0]",
            "can be -2147483648 to 5"),
      score("wide_read_without_range", "bias[0, @wide[batch, key], 0]",
            "index 1 of \"bias\" can be any integer"),
      keep("sum_of_what_is_unknown", "@free[batch, key] + 1 < 3",
           "this integer can be -2147483647 to 2147483648, which does not fit "
           "into 32 bits; give the input \"free\" a \"range\""),
      keep("sum_of_what_is_wide", "@wide[batch, key] + 1 < 3",
           "this integer can be any integer, which does not fit into 32 bits; "
           "give the input \"wide\" a \"range\""),
      score("number_of_what_is_wide", "@wide[batch, key]",
            "which does not fit into 32 bits"),
      score("large_product", "@(key * 100000) * (query * 100000)",
            "this integer can be 0 to 250000000000, which does not fit into "
            "32 bits"),
      score("large_constant", "key + @3000000000",
            "this integer is 3000000000, which does not fit into 32 bits"),
      score("large_number", "score * @1e39",
            "1e+39 is beyond the largest number of f32"),
      score("small_number", "score * @1e-60", "1e-60 is 0 in f32"),
      score("quotient_by_zero", "@key // 0", "division by zero"),
      keep("quotient_by_the_least", "key // @-2147483648 == 0",
           "// is by an integer above -2147483648, whose opposite fits into "
           "32 bits"),
      keep("opposite_of_the_least", "@free[batch, key] // -1 == 0",
           "this integer can be -2147483647 to 2147483648, which does not fit "
           "into 32 bits; give the input \"free\" a \"range\""),
      score("number_by_zero", "@score / 0", "division by zero"),
      score("constant_by_zero", "score + @1 / (n - 6)", "division by zero"),
      score("constant_logarithm", "score + @log(n - 6)",
            "logarithm of a number not above zero"),
  };
}

std::vector<Bad> operators() {
  auto mha = [](const char *name, const std::string &keys,
                const std::string &message) {
    return attention(name, keys, message);
  };
  return {
      mha("performer", R"("kind": "performer", "score": @"score")",
          "a performer has no scores that score could change"),
      mha("performer_keeps", R"("kind": "performer", "keep": @"key < 2")",
          "a performer has no scores that keep could change"),
      mha("linformer",
          R"("kind": "linformer", "projected_tokens": 2, "keep": @"key < 2")",
          "each key of linformer is a sum of all tokens, which no keep could "
          "change"),
      mha("bigbird",
          R"("kind": "bigbird", "block_size": 1, "random_blocks": 0, )"
          R"("score": "score + bias[head, @query + 1, key]")",
          "index 1 of \"bias\" can be 1 to 6"),
      mha("memory", R"("memory": @2, "keep": "key < 2")",
          "the slots of a memory are keys without an index, so \"keep\" "
          "cannot be about them"),
      layers("window_tokens",
             R"({"name": "y", "op": "multi_head_attention", "input": "x", )"
             R"("heads": 2, "window": 1, "grid_height": 2, )"
             R"("score": "score + bias[@batch + 1, query, key]"})",
             {"index 0 of \"bias\" can be 1 to 2"}),
      layers("all_mistakes",
             R"({"name": "y", "op": "multi_head_attention", "input": "x", )"
             R"("heads": 2, "score": "bias[head, @3.5, key]", )"
             R"("keep": "not @key"})",
             {"an index is an integer", "expected a boolean"}),
      layers("omni",
             R"({"name": "y", "op": "omni_attention", "inputs": ["x", "x"], )"
             R"("heads": 2, "hidden": 4, "score": "bias[head, @query, 0]"})",
             {"index 1 of \"bias\" can be 0 to 11"}),
      layers("another_operator",
             R"({"name": "y", "op": "scale", "input": "x", "by": 1, )"
             R"(@"score": "score"})",
             {"unknown key \"score\" in scale"}),
  };
}

class BadScores : public BadDescriptions {};

TEST_P(BadScores, have_an_error_at_their_place) { expectRejected(GetParam()); }

const auto nameOf = [](const auto &info) {
  return std::string(info.param.name);
};
INSTANTIATE_TEST_SUITE_P(Weights, BadScores, testing::ValuesIn(weights()),
                         nameOf);
INSTANTIATE_TEST_SUITE_P(Syntax, BadScores, testing::ValuesIn(syntax()),
                         nameOf);
INSTANTIATE_TEST_SUITE_P(Names, BadScores, testing::ValuesIn(names()), nameOf);
INSTANTIATE_TEST_SUITE_P(Types, BadScores, testing::ValuesIn(types()), nameOf);
INSTANTIATE_TEST_SUITE_P(Ranges, BadScores, testing::ValuesIn(ranges()),
                         nameOf);
INSTANTIATE_TEST_SUITE_P(Operators, BadScores, testing::ValuesIn(operators()),
                         nameOf);

} // namespace
