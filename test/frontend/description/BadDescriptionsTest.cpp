//===- BadDescriptionsTest.cpp - Mistakes of sections and names -------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "test/frontend/BadDescriptions.h"

using namespace hova::test;

namespace {

std::vector<Bad> outlines() {
  return {
      {"root_is_list", "@[]", {"a description must be an object, got a list"}},
      {"unknown_section",
       whole(std::string(oneInput) + tail + R"(, @"layer": [])"),
       {"unknown key \"layer\" in a description"}},
      {"missing_version",
       R"(@{"name": "m", )" + std::string(oneInput) + tail + "}",
       {"missing key \"hova\""}},
      {"other_version",
       R"({"hova": @2, "name": "m", )" + std::string(oneInput) + tail + "}",
       {"version 1"}},
      {"version_as_real",
       R"({"hova": @1.0, "name": "m", )" + std::string(oneInput) + tail + "}",
       {"version 1"}},
      {"missing_name",
       R"(@{"hova": 1, )" + std::string(oneInput) + tail + "}",
       {"missing key \"name\""}},
      {"bad_name",
       R"({"hova": 1, "name": @"a b", )" + std::string(oneInput) + tail + "}",
       {"the name of a model \"a b\" must be letters"}},
      {"missing_inputs",
       R"(@{"hova": 1, "name": "m", "layers": [{"name": "y", "op": "scale", "input": "x", "by": 1}], "outputs": {"o": "y"}})",
       {"missing key \"inputs\""}},
      {"no_input",
       whole(
           R"("inputs": @{}, "layers": [{"name": "y", "op": "pool", "kind": "mean", "input": "x"}], "outputs": {"o": "y"})"),
       {"a model needs an input"}},
      {"no_output",
       whole(
           std::string(oneInput) +
           R"("layers": [{"name": "y", "op": "scale", "input": "x", "by": 1}], "outputs": @{})"),
       {"a model needs an output"}},
      {"output_of_nothing",
       whole(
           std::string(oneInput) +
           R"("layers": [{"name": "y", "op": "scale", "input": "x", "by": 1}], "outputs": {"o": "@z"})"),
       {"unknown value \"z\""}},
      {"output_of_ids",
       whole(
           std::string(
               R"("inputs": {"x": {"shape": [2, 4]}, "ids": {"shape": [4], "dtype": "i32"}}, )") +
           R"("layers": [{"name": "y", "op": "scale", "input": "x", "by": 1}], "outputs": {"x": "x", "o": @"ids"})"),
       {"the input \"ids\" is i32 [4]: only f32 inputs with an axis can be "
        "outputs"}},
      {"layers_as_object",
       whole(std::string(oneInput) + R"("layers": @{}, "outputs": {"o": "x"})"),
       {"\"layers\" must be a list, got an object"}},
      {"no_layers",
       whole(std::string(oneInput) + R"("layers": @[], "outputs": {"o": "x"})"),
       {"an empty list of layers"}},
      {"layer_as_string",
       whole(std::string(oneInput) +
             R"("layers": [@"norm"], "outputs": {"o": "x"})"),
       {"a layer must be an object, got a string"}},
      {"two_versions_of_a_key",
       whole(std::string(oneInput) + tail + R"(, @"outputs": {"o": "x"})"),
       {"the key \"outputs\" is given twice"}},
  };
}

std::vector<Bad> parametersAndInputs() {
  auto parameters = [](const char *name, const std::string &text,
                       std::vector<std::string> messages) {
    return Bad{name, whole("\"parameters\": " + text + ", " + oneInput + tail),
               std::move(messages)};
  };
  auto inputs = [](const char *name, const std::string &text,
                   std::vector<std::string> messages) {
    return Bad{name,
               whole("\"inputs\": {\"x\": {\"shape\": [2, 4]}, " + text +
                     "}, " + tail),
               std::move(messages)};
  };
  return {
      parameters("parameters_as_list", "@[]",
                 {"\"parameters\" must be an object"}),
      parameters("parameter_named_index", R"({@"index": 1})",
                 {"cannot be a parameter"}),
      parameters("parameter_with_dash", R"({@"d-model": 1})",
                 {"must be letters, digits and underscores"}),
      parameters("parameter_null", R"({"a": @null})",
                 {"expected a word, a number or an expression, got null"}),
      parameters("parameter_of_later_one", R"({"a": "@b", "b": 1})",
                 {"\"b\" is defined later; an expression knows what stands "
                  "before it"}),
      parameters("parameter_outside_of_list",
                 R"({"k": {"default": @"x", "values": ["a", "b"]}})",
                 {"unknown word \"x\"; expected a, b"}),
      parameters("parameter_without_default", R"({"k": @{"min": 1}})",
                 {"missing key \"default\""}),
      parameters("parameter_below_minimum",
                 R"({"k": {"default": @0, "min": 1}})",
                 {"parameter \"k\" must be at least 1, got 0"}),
      parameters("parameter_above_maximum",
                 R"({"k": {"default": @9, "max": 8}})",
                 {"must be at most 8, got 9"}),
      parameters("parameter_bad_bound", R"({"k": {"default": 1, "max": @"8"}})",
                 {"\"max\" must be a number, got a string"}),
      parameters("parameter_typo_in_key",
                 R"({"k": {"default": 1, @"maximum": 8}})",
                 {"unknown key \"maximum\" in a parameter"}),
      parameters("division_by_zero", R"({"a": 0, "b": "@1/a"})",
                 {"division by zero"}),
      parameters("overflow", R"({"a": "@2**63"})",
                 {"does not fit into 64 bits"}),
      parameters("half_an_expression", R"({"a": "2*@"})",
                 {"expected a number, a name or '(' at the end"}),
      parameters("two_expressions", R"({"a": 1, "b": "a @a"})",
                 {"expected an operator or the end, got 'a'"}),
      inputs("dimension_zero", R"("z": {"shape": [@0]})",
             {"a dimension must be 1 to 2147483647, got 0"}),
      inputs("dimension_negative", R"("z": {"shape": [@-1]})", {"got -1"}),
      inputs("dimension_huge", R"("z": {"shape": [@2147483648]})",
             {"got 2147483648"}),
      inputs("dimension_real", R"("z": {"shape": [@64.0]})",
             {"expected an integer or an expression, got a number"}),
      inputs("dimension_fraction", R"("z": {"shape": [@"7/2"]})",
             {"expected an integer, got a number (3.5)"}),
      inputs("too_many_elements",
             R"("z": @{"shape": [100000, 100000, 100000]})", {"is too large"}),
      inputs("rank_nine", R"("z": @{"shape": [1,1,1,1,1,1,1,1,1]})",
             {"at most 8 dimensions, got 9"}),
      inputs("no_shape", R"("z": @{})", {"missing key \"shape\""}),
      inputs("dtype_of_others", R"("z": {"shape": [1], "dtype": @"float32"})",
             {"unknown word \"float32\""}),
      inputs("range_of_numbers", R"("z": {"shape": [1], "range": @[0, 1]})",
             {"\"range\" is for integers"}),
      inputs("range_empty",
             R"("z": {"shape": [1], "dtype": "i32", "range": [@4, 4]})",
             {"the range [4, 4) has no value"}),
      inputs("range_of_three",
             R"("z": {"shape": [1], "dtype": "i32", "range": @[0, 1, 2]})",
             {"a list of two integers"}),
  };
}

std::vector<Bad> names() {
  return {
      layer("no_name",
            R"(@{"op": "scale", "input": "x", "by": 1})" + std::string(last),
            "missing key \"name\" in a layer"),
      layer(
          "name_twice",
          R"({"name": "a", "op": "scale", "input": "x", "by": 1}, {"name": @"a", "op": "scale", "input": "x", "by": 1})" +
              std::string(last),
          "the name \"a\" is given twice"),
      layer("name_of_an_input",
            R"({"name": @"ids", "op": "scale", "input": "x", "by": 1})" +
                std::string(last),
            "the name \"ids\" is given twice"),
      layer("neither_op_nor_block", R"(@{"name": "y", "input": "x"})",
            "either \"op\" or \"block\""),
      layer("both_op_and_block",
            R"(@{"name": "y", "op": "scale", "block": "b", "input": "x"})",
            "either \"op\" or \"block\""),
      layer("unknown_operator",
            R"({"name": "y", "op": @"layernorm", "input": "x"})",
            "unknown operator \"layernorm\""),
      layer("operator_as_number", R"({"name": "y", "op": @3, "input": "x"})",
            "\"op\" must be a string, got an integer"),
      layer(
          "unknown_key",
          R"({"name": "y", "op": "scale", "input": "x", "by": 1, @"factor": 2})",
          "unknown key \"factor\" in scale"),
      layer("key_of_another_operator",
            R"({"name": "y", "op": "layer_norm", "input": "x", @"hidden": 2})",
            "unknown key \"hidden\" in layer_norm"),
      layer("missing_attribute",
            R"(@{"name": "y", "op": "linear", "input": "x"})",
            "linear needs \"width\""),
      layer("missing_input", R"(@{"name": "y", "op": "layer_norm"})",
            "layer_norm needs \"input\""),
      layer(
          "missing_query",
          R"(@{"name": "y", "op": "multi_head_attention", "key": "x", "heads": 2})",
          "needs \"input\", or \"query\" and \"key\""),
      layer("unknown_value",
            R"({"name": "y", "op": "scale", "input": "@xs", "by": 1})",
            "unknown value \"xs\""),
      layer("value_as_number",
            R"({"name": "y", "op": "scale", "input": @1, "by": 1})",
            "the name of a value must be a string, got an integer"),
      layer(
          "cycle",
          R"({"name": "a", "op": "scale", "input": "@y", "by": 1}, {"name": "y", "op": "scale", "input": "a", "by": 1})",
          "value \"y\" is read before it is computed"),
      layer("reads_itself",
            R"({"name": "y", "op": "scale", "input": "@y", "by": 1})",
            "value \"y\" is read before it is computed"),
      layer("empty_reference",
            R"({"name": "y", "op": "scale", "input": "@", "by": 1})",
            "expected the name of a value at the end"),
      layer("open_bracket",
            R"({"name": "y", "op": "scale", "input": "x[1@", "by": 1})",
            "expected ']' at the end"),
      layer("empty_brackets",
            R"({"name": "y", "op": "scale", "input": "x[@]", "by": 1})",
            "expected an index, a range or '*'"),
      layer("dot_at_the_end",
            R"({"name": "y", "op": "scale", "input": "x.@", "by": 1})",
            "expected the name of a layer after '.'"),
      layer(
          "unknown_name_in_index",
          R"({"name": "a", "op": "scale", "input": "x", "by": 1, "repeat": 2}, {"name": "y", "op": "scale", "input": "a[@k]", "by": 1})",
          "unknown name \"k\""),
      layer(
          "unknown_name_in_expression",
          R"({"name": "y", "op": "linear", "input": "x", "width": "4*@widht"})",
          "unknown name \"widht\""),
      layer("place_after_escapes",
            "{\"name\": \"y\", \"op\": \"linear\", \"input\": \"x\", "
            "\"width\": \"\\u0034*n + @q\"}",
            "unknown name \"q\""),
      layer("index_outside_of_repeat",
            R"({"name": "y", "op": "linear", "input": "x", "width": "@index"})",
            "\"index\" counts repetitions: it is known in a layer with "
            "\"repeat\""),
      layer("misspelt_key_that_is_required",
            R"({"name": "y", "op": "linear", @"inptu": "x", "width": 4})",
            "unknown key \"inptu\" in linear"),
      layer("key_of_another_library_that_is_required",
            R"({"name": "y", "op": "linear", "input": "x", @"units": 4})",
            "unknown key \"units\" in linear"),
      layer("index_of_what_is_not_repeated",
            R"({"name": "y", "op": "scale", "input": "@x[0]", "by": 1})",
            "\"x\" is neither repeated nor a list"),
      layer(
          "index_too_large",
          R"({"name": "a", "op": "scale", "input": "x", "by": 1, "repeat": 2}, {"name": "y", "op": "scale", "input": "a@[2]", "by": 1})",
          "index 2 of 2 results"),
      layer(
          "step_zero",
          R"({"name": "a", "op": "scale", "input": "x", "by": 1, "repeat": 2}, {"name": "y", "op": "add", "inputs": ["x", "a@[::zero]"]})",
          "the step of a range must be positive"),
      layer(
          "list_where_one_value_is_read",
          R"({"name": "a", "op": "scale", "input": "x", "by": 1, "repeat": 2}, {"name": "y", "op": "scale", "input": @"a[*]", "by": 1})",
          "\"a[*]\" is a list of 2 values; expected one value"),
      layer(
          "member_of_what_is_no_block",
          R"({"name": "a", "op": "scale", "input": "x", "by": 1}, {"name": "y", "op": "scale", "input": "a.@b", "by": 1})",
          "\"a\" is not a block; it has no \"b\""),
      layer("empty_list_of_inputs",
            R"({"name": "y", "op": "add", "inputs": @[]})",
            "an empty list of values"),
      layer(
          "empty_range",
          R"({"name": "a", "op": "scale", "input": "x", "by": 1, "repeat": 2}, @{"name": "y", "op": "add", "inputs": ["a[0:0]"]})",
          "add reads an empty list"),
  };
}

std::vector<Bad> all() {
  std::vector<Bad> cases;
  for (const auto &group : {outlines(), parametersAndInputs(), names()}) {
    cases.insert(cases.end(), group.begin(), group.end());
  }
  return cases;
}

class BadSections : public BadDescriptions {};

TEST_P(BadSections, are_rejected_at_the_place) { expectRejected(GetParam()); }

INSTANTIATE_TEST_SUITE_P(All, BadSections, testing::ValuesIn(all()),
                         [](const auto &info) { return info.param.name; });

} // namespace
