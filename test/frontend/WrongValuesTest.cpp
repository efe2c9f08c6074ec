//===- WrongValuesTest.cpp - No key takes a value of another kind ---------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Every attribute of the vocabulary gets every value that its kind excludes,
// and every other key of a description those of a list: each must be an error
// at that value, so that a new attribute cannot forget it.
//
//===----------------------------------------------------------------------===//

#include "BadDescriptions.h"

using namespace hova::frontend;
using namespace hova::test;

namespace {

using Words = std::vector<std::string>;

/// A layer `y` of each operator that is accepted; `@` is where more goes.
const std::map<std::string, std::string> layers = {
    {"linear", R"("input": "x", "width": 4)"},
    {"layer_norm", R"("input": "x")"},
    {"softmax", R"("input": "x")"},
    {"activation", R"("input": "x", "kind": "relu")"},
    {"add", R"("inputs": "x")"},
    {"multiply", R"("inputs": "x")"},
    {"subtract", R"("inputs": "x")"},
    {"divide", R"("inputs": "x")"},
    {"exp", R"("input": "x")"},
    {"scale", R"("input": "x", "by": 2)"},
    {"concat", R"("inputs": "x")"},
    {"slice", R"("input": "x")"},
    {"pad", R"("input": "x", "before": 1)"},
    {"reshape", R"("input": "x", "shape": [64])"},
    {"feed_forward", R"("input": "x", "hidden": 4)"},
    {"weight", R"("trainable": true, "batch": 4, "shape": [8])"},
    {"constant", R"("trainable": true, "value": 2, "shape": [8])"},
    {"embedding", R"("input": "ids", "vocab": 4, "width": 4)"},
    {"positions",
     R"("input": "x", "kind": "sinusoid", "base": 100, "offset": 1)"},
    {"patch_embedding", R"("input": "image", "patch": 4, "width": 4)"},
    {"class_token", R"("input": "x")"},
    {"rotate",
     R"("input": "x", "cosines": "table", "sines": "table", "heads": 2)"},
    {"unfold", R"("input": "image", "kernel": 2)"},
    {"windows", R"("input": "x", "window": 2, "grid_height": 2)"},
    {"merge_patches", R"("input": "x", "grid_height": 2)"},
    {"pool", R"("input": "x", "kind": "mean")"},
    {"padding_mask", R"("input": "ids")"},
    {"mask_rows", R"("input": "x", "valid": "valid")"},
    {"position_ids", R"("valid": "valid")"},
    {"multi_head_attention", R"("input": "x", "heads": 2)"},
    {"attention", R"("query": "x", "key": "x", "value": "x", "heads": 2)"},
    {"head_reweight", R"("input": "x", "heads_input": "x", "heads": 2)"},
    {"channel_gate", R"("input": "x", "gated": "x")"},
    {"omni_attention", R"("inputs": ["x", "x"], "heads": 2, "hidden": 4)"},
};

/// What an attribute must not be. Names are those of `around`.
Words wrongFor(const AttributeInfo &info) {
  Words wrong = {"null", "[]",      "[1]",   "{\"a\": 1}",
                 "\"\"", "\"1/0\"", "\"q\"", "\"1 +\""};
  using Kind = AttributeInfo::Kind;
  auto add = [&](const Words &more) {
    wrong.insert(wrong.end(), more.begin(), more.end());
  };
  switch (info.kind) {
  case Kind::Integer:
    add({"true", "1.0", "0.5", "\"half\"", "\"on\"", "\"'1'\"", "2147483648",
         "-9223372036854775808"});
    break;
  case Kind::Sides:
    add({"true", "0.5", "\"half\"", "2147483648", "[1, 1, 1]", "[1, true]",
         "[1, -1]", "[1, 0.5]", "[\"half\", 1]", "[2147483648, 1]"});
    break;
  case Kind::Number:
    add({"true", "\"on\"", "\"'1'\"", "1e39", "-1e39", "\"1e300\"", "1e-60"});
    break;
  case Kind::Boolean:
    add({"1", "0", "0.5", "\"n\"", "\"'true'\"", "\"'no'\""});
    break;
  case Kind::Word:
    add({"true", "1", "0.5", "\"n\"", "\"'no'\"", "\"Relu\""});
    break;
  case Kind::Gate:
    add({"1", "\"n\"", "{\"if\": 1}", "{\"width\": 0}", "{\"width\": 0.5}",
         "{\"width\": \"'4'\"}", "{\"width\": 2147483648}"});
    break;
  case Kind::Path:
    add({"true", "1", "0.5", "\"y.weight\""});
    break;
  case Kind::Score:
    add({"true", "1", "0.5", "\"'text'\"", "\"x\"", "\"x[0, 0]\"",
         "\"x[0, 0, 0.5]\"", "\"x[0, 0, 8]\"", "\"x[0][0, 0]\""});
    break;
  case Kind::Elements:
    add({"true", "1e39", "\"'text'\"", "\"on\"", "\"x\"", "\"x[0, 0, 0]\"",
         "\"row\"", "\"index1\"", "\"sum(1, 2, 3)\"", "\"sum(k, index0, k)\"",
         "\"log(index0 - 3)\"", "\"if(index0 > 6, 1 / 0, 1)\""});
    break;
  case Kind::Shape:
    add({"true", "1", "0.5", "[0]", "[-1]", "[0.5]", "[true]", "[\"half\"]",
         "[2147483648]", "[[1]]", "[null]"});
    break;
  }
  if (info.minimum && *info.minimum >= 0) {
    add({"-1"});
  }
  return wrong;
}

void expectErrorAt(const std::string &pointer, const std::string &text) {
  Read read(text);
  EXPECT_EQ(read.program, nullptr) << text;
  ASSERT_FALSE(read.diagnostics.all().empty()) << text;
  for (const hova::reader::Diagnostic &error : read.diagnostics.all()) {
    EXPECT_EQ(error.pointer.rfind(pointer, 0), 0u) << read.printed();
  }
}

TEST(WrongValues, of_attributes_are_errors_at_the_value) {
  for (const OperatorInfo &op : vocabulary()) {
    ASSERT_TRUE(layers.count(op.name)) << op.name;
    // What reads nothing is read beside an input.
    std::string name = op.roles.empty() ? "w" : "y", end = "}";
    if (op.roles.empty()) {
      end += R"(, {"name": "y", "op": "add", "inputs": ["x", "w"]})";
    }
    std::string start =
        "{\"name\": \"" + name + "\", \"op\": \"" + op.name + "\", ";
    const std::string &rest = layers.at(op.name);
    std::string accepted = around(start + rest + end);
    EXPECT_NE(Read(accepted).program, nullptr) << Read(accepted).printed();
    for (const AttributeInfo &info : op.attributes) {
      std::string kept = rest;
      size_t known = kept.find(", \"" + info.name + "\"");
      if (known != std::string::npos) {
        kept.erase(known, kept.find(',', known + 1) - known);
      }
      for (const std::string &wrong : wrongFor(info)) {
        if (op.roles.empty() && wrong == "[1]") {
          continue; // a value of its own may have any shape
        }
        expectErrorAt(
            "/layers/0/" + info.name,
            around(start + kept + ", \"" + info.name + "\": " + wrong + end));
      }
    }
  }
}

/// A layer with the keys that every layer may have.
std::string common(const std::string &key, const std::string &value) {
  return around(R"({"name": "y", "op": "linear", "input": "x", "width": 4, ")" +
                key + "\": " + value + "}");
}

TEST(WrongValues, of_common_keys_are_errors_at_the_value) {
  const std::map<std::string, Words> wrong = {
      {"if", {"null", "1", "[]", "{}", "\"n\"", "\"'yes'\"", "\"\""}},
      {"repeat", {"null", "true", "1.0", "-1", "[]", "\"half\"", "\"'2'\""}},
      {"weights", {"null", "1", "true", "[]", "{}", "\"\"", "\"{q}\""}},
      {"trainable", {"null", "1", "[]", "\"n\"", "\"'no'\""}},
      {"init",
       {"null",
        "1",
        "[]",
        R"({"weight": 1})",
        R"({"weight": {}})",
        R"({"weight": {"kind": 1}})",
        R"({"weight": {"kind": "1/0"}})",
        R"({"weight": {"kind": "'ones'"}})",
        R"({"weight": {"kind": "normal"}})",
        R"({"weight": {"kind": "normal", "std": "'1'"}})",
        R"({"weight": {"kind": "normal", "std": -1}})",
        R"({"weight": {"kind": "normal", "std": 1e38}})",
        R"({"weight": {"kind": "uniform", "bound": 1e39}})",
        R"({"weight": {"kind": "constant", "value": "1/0"}})",
        R"({"weight": {"kind": "constant", "value": 1e-60}})",
        R"({"weight": {"kind": "sinusoid", "first": 0.5}})",
        R"({"weight": {"kind": "sinusoid", "first": -1}})",
        R"({"weight": {"kind": "sinusoid", "first": 0, "base": 0.5}})",
        R"({"weight": {"kind": "sinusoid", "first": 0, "base": "'e'"}})",
        R"({"weight": {"kind": "ones", "base": 2}})",
        R"({"weight": {"kind": "ones", "value": 1}})"}},
  };
  for (const auto &[key, values] : wrong) {
    for (const std::string &value : values) {
      expectErrorAt("/layers/0/" + key, common(key, value));
    }
  }
}

TEST(WrongValues, of_sections_are_errors_at_the_value) {
  auto inputs = [](const std::string &input) {
    return whole("\"inputs\": {\"x\": " + input + "}, " + tail);
  };
  auto parameter = [](const std::string &text) {
    return whole("\"parameters\": {\"k\": " + text + "}, " + oneInput + tail);
  };
  for (const char *dtype :
       {"null", "1", "\"\"", "\"'i32'\"", "\"1/0\"", "\"f64\"", "[\"f32\"]"}) {
    expectErrorAt(
        "/inputs/x/dtype",
        inputs(std::string(R"({"shape": [2, 4], "dtype": )") + dtype + "}"));
  }
  for (const char *range : {"null", "1", "[0]", "[0, 1.5]", "[0, \"'1'\"]",
                            "[0, true]", "[0, 2147483649]"}) {
    expectErrorAt(
        "/inputs/x/range",
        inputs(std::string(R"({"shape": [2, 4], "dtype": "i32", "range": )") +
               range + "}"));
  }
  for (const char *text :
       {"[null]", R"({"default": [{}]})", R"({"default": 1, "values": []})",
        R"({"default": 1, "values": [null]})", R"({"default": 1, "min": "0"})",
        R"({"default": true, "min": 0})", R"({"default": "'a'", "max": 1})",
        R"({"default": 1, "min": null})",
        R"({"default": 3, "values": ["a", 2]})"}) {
    expectErrorAt("/parameters/k", parameter(text));
  }
  for (const char *require : {"null", "true", "\"'no'\"", "\"'fused'\""}) {
    expectErrorAt(
        "/layers/0/require",
        around(
            std::string(
                R"({"name": "y", "op": "attention", "query": "x", "key": "x", "value": "x", "heads": 2, "require": )") +
            require + "}"));
  }
}

TEST(WrongValues, of_checkpoints_are_errors_at_the_value) {
  auto source = [](const std::string &text) {
    return around(R"({"name": "y", "op": "linear", "input": "x", "width": 4})",
                  "\"checkpoints\": {\"s\": " + text + "},\n");
  };
  for (const char *set : {"1", "{\"q\": 1}", "{\"n\": null}", "{\"n\": \"m\"}",
                          "{\"n\": \"1/0\"}", "{\"kind\": \"soft\"}"}) {
    expectErrorAt("/checkpoints/s/set",
                  source(std::string("{\"rules\": [], \"set\": ") + set + "}"));
  }
  for (const char *rule :
       {"1", "{}", R"({"to": "y.weight"})", R"({"to": "y.weight", "from": 1})",
        R"({"to": "y.weight", "constant": "'0'"})",
        R"({"to": "y.weight", "constant": 1e39})", R"({"to": [], "from": "w"})",
        R"({"to": "y.weight", "from": []})",
        R"({"to": "y.weight", "constant": 0, "apply": ["transpose"]})",
        R"({"to": "y.weight", "from": "w", "apply": ["'transpose'"]})",
        R"({"to": "y.weight", "from": "w", "apply": [{"split": true}]})"}) {
    expectErrorAt("/checkpoints/s/rules/0",
                  source(std::string("{\"rules\": [") + rule + "]}"));
  }
}

} // namespace
