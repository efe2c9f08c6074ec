//===- ProgramTest.cpp - What descriptions can say ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "TestModel.h"

#include <cmath>
#include <fstream>
#include <gtest/gtest.h>

using namespace hova;
using test::around;
using test::Read;

namespace {

const char *const layerBlock = R"("blocks": {
  "layer": {"inputs": ["a"], "layers": [
    {"name": "norm", "op": "layer_norm", "input": "a"},
    {"name": "ffn", "op": "feed_forward", "input": "norm", "hidden": 16},
    {"name": "out", "op": "add", "inputs": ["a", "ffn"]}], "output": "out"},
  "reader": {"inputs": ["a", "memory"], "layers": [
    {"name": "attn", "op": "multi_head_attention", "input": "a", "key": "memory", "heads": 2},
    {"name": "out", "op": "add", "inputs": ["a", "attn"]}], "output": "out"}},
)";

TEST(Program, has_the_shapes_of_every_operator) {
  Read read(around(R"(
    {"name": "linear", "op": "linear", "input": "x", "width": 12},
    {"name": "norm", "op": "layer_norm", "input": "linear"},
    {"name": "act", "op": "activation", "input": "norm", "kind": "tanh"},
    {"name": "sum", "op": "add", "inputs": ["act", "norm", "linear"]},
    {"name": "product", "op": "multiply", "inputs": ["sum", "act"]},
    {"name": "scaled", "op": "scale", "input": "product", "by": "half"},
    {"name": "wide", "op": "concat", "inputs": ["scaled", "x"]},
    {"name": "part", "op": "slice", "input": "wide", "axis": 1, "start": 1, "end": -1},
    {"name": "y", "op": "scale", "input": "wide", "by": 1})"));
  // Ends are counted from 0: -1 is no end.
  ASSERT_EQ(read.diagnostics.all().size(), 1u) << read.printed();

  Read good(around(R"(
    {"name": "linear", "op": "linear", "input": "x", "width": 12},
    {"name": "norm", "op": "layer_norm", "input": "linear"},
    {"name": "act", "op": "activation", "input": "norm", "kind": "tanh"},
    {"name": "sum", "op": "add", "inputs": ["act", "norm", "linear"]},
    {"name": "product", "op": "multiply", "inputs": ["sum", "act"]},
    {"name": "scaled", "op": "scale", "input": "product", "by": "half"},
    {"name": "wide", "op": "concat", "inputs": ["scaled", "x"]},
    {"name": "part", "op": "slice", "input": "wide", "axis": 1, "start": 1},
    {"name": "ffn", "op": "feed_forward", "input": "part", "hidden": 6, "width": 8},
    {"name": "words", "op": "embedding", "input": "ids", "vocab": 9, "width": 8},
    {"name": "placed", "op": "positions", "input": "words", "kind": "learned", "length": 6},
    {"name": "waves", "op": "positions", "input": "placed", "kind": "sinusoid", "layout": "split"},
    {"name": "present", "op": "padding_mask", "input": "ids", "pad": 1},
    {"name": "mha", "op": "multi_head_attention", "input": "waves", "key": "ffn", "heads": 2, "horizontal": true,
     "vertical": {"if": "on", "width": 3}},
    {"name": "raw", "op": "attention", "query": "waves", "key": "waves", "value": "wide", "heads": 4, "key_valid": "present"},
    {"name": "again", "op": "head_reweight", "input": "x", "heads_input": "raw", "heads": 4},
    {"name": "gated", "op": "channel_gate", "input": "x", "gated": "again"},
    {"name": "omni", "op": "omni_attention", "inputs": ["waves", "mha"], "heads": 2, "hidden": 5},
    {"name": "cls", "op": "class_token", "input": "omni"},
    {"name": "first", "op": "pool", "input": "cls", "kind": "first"},
    {"name": "patches", "op": "patch_embedding", "input": "image", "patch": 4, "width": 8},
    {"name": "mean", "op": "pool", "input": "patches", "kind": "mean"},
    {"name": "glued", "op": "slice", "input": "gated", "axis": 1, "end": 1},
    {"name": "z", "op": "pool", "input": "glued", "kind": "mean"},
    {"name": "y", "op": "concat", "inputs": ["first", "z"]})"));
  // The patches are read by nobody, which is a mistake only for their weights.
  ASSERT_EQ(good.diagnostics.all().size(), 1u) << good.printed();
  EXPECT_EQ(
      good.diagnostics.all()[0].message,
      "the weights of \"patches\" are not used: no output depends on this "
      "layer");
}

TEST(Program, splits_composite_operators_into_named_operations) {
  Read read(around(
      R"({"name": "y", "op": "multi_head_attention", "input": "x", "heads": 2, "head_width": 3,
    "value_head_width": 5, "width": 7, "causal": true, "horizontal": true, "vertical": true, "require": "fused"})"));
  ASSERT_TRUE(read.program) << read.printed();
  EXPECT_EQ(read.type("y.query"), "f32 [2, 4, 6]");
  EXPECT_EQ(read.type("y.value"), "f32 [2, 4, 10]");
  EXPECT_EQ(read.type("y"), "f32 [2, 4, 10]");
  EXPECT_EQ(read.find("y")->attributes.at("require").text, "fused");
  using Op = frontend::ScoreTerm::Op;
  const frontend::ScoreProgram *scores =
      read.program->scoresOf(*read.find("y"));
  ASSERT_NE(scores, nullptr);
  auto term = [&](int number) {
    return scores->terms.at(static_cast<size_t>(number));
  };
  EXPECT_EQ(term(scores->keep).op, Op::LessEqual);
  ASSERT_EQ(term(scores->score).op, Op::Multiply);
  EXPECT_EQ(term(term(scores->score).operands[0]).op, Op::Similarity);
  EXPECT_DOUBLE_EQ(term(term(scores->score).operands[1]).real,
                   1 / std::sqrt(3.0));
  EXPECT_EQ(read.reads("y.horizontal", "heads_in"), "y");
  EXPECT_EQ(read.reads("y.output", "x"), "y.horizontal");
  EXPECT_EQ(read.reads("y.vertical", "x"), "x");
  EXPECT_EQ(read.type("y.vertical"), "f32 [2, 4, 7]");
  EXPECT_EQ(
      read.program->values[read.program->findWeight("y.vertical.input")->value]
          .type.str(),
      "f32 [8, 1]");
}

TEST(Program, writes_masks_and_biases_as_written_scores_are) {
  Read read(around(
      R"({"name": "bias", "op": "weight", "shape": [1, 2, 1, "n"]},
    {"name": "a", "op": "attention", "query": "x", "key": "x", "value": "x", "heads": 2, "temperature": 2, "causal": true,
     "score_bias": "bias", "key_valid": "valid", "scores": true, "keep": "valid[batch, key]"},
    {"name": "y", "op": "softmax", "input": "a.scores"})"));
  ASSERT_TRUE(read.program) << read.printed();
  const frontend::ProgramOperation *attention = read.find("a");
  std::vector<std::string> captured;
  for (const auto &[role, value] : attention->operands) {
    if (role == "captured") {
      captured.push_back(read.program->values[static_cast<size_t>(value)].path);
    }
  }
  // A value that several of them read is one operand.
  EXPECT_EQ(captured, (std::vector<std::string>{"bias.weight", "valid"}));
  const frontend::ScoreProgram &scores = *read.program->scoresOf(*attention);
  using Op = frontend::ScoreTerm::Op;
  auto term = [&](int number) {
    return scores.terms.at(static_cast<size_t>(number));
  };
  EXPECT_EQ(term(scores.score).op, Op::Divide);
  EXPECT_EQ(term(scores.score).operands[0], scores.carried);
  EXPECT_EQ(term(scores.carried).op, Op::Add);
  EXPECT_EQ(term(scores.keep).op, Op::And);
  // What is read of the scores is in front of the masks.
  const auto &further = read.program->furtherResultsOf(*attention);
  ASSERT_EQ(further.size(), 1u);
  auto needed = read.program->operandsOfResult.at(further[0].second);
  EXPECT_TRUE(needed.count(read.program->findWeight("bias.weight")->value));
  EXPECT_EQ(needed.size(), 2u) << "x and the bias";
}

TEST(Program, warns_of_weights_that_no_read_result_needs) {
  Read alone(around(
      R"({"name": "v", "op": "linear", "input": "x", "width": 6},
    {"name": "a", "op": "attention", "query": "x", "key": "x", "value": "v", "heads": 2, "scores": true},
    {"name": "y", "op": "softmax", "input": "a.scores"})"));
  EXPECT_TRUE(alone.diagnostics.hasWarnings());
  EXPECT_FALSE(alone.diagnostics.hasErrors()) << alone.printed();
  EXPECT_NE(
      alone.printed().find("some weights of \"v\" are not used: no output "
                           "depends on \"v.weight\", \"v.bias\""),
      std::string::npos)
      << alone.printed();
}

TEST(Program, repeats_with_paths_and_carries_the_first_input) {
  Read read(
      around(R"({"name": "body", "block": "layer", "repeat": 3, "input": "x"},
    {"name": "y", "op": "scale", "input": "body", "by": 1})",
             layerBlock));
  ASSERT_TRUE(read.program) << read.printed();
  EXPECT_EQ(read.reads("body.0.norm", "x"), "x");
  EXPECT_EQ(read.reads("body.2.norm", "x"), "body.1.out");
  EXPECT_EQ(read.reads("y", "x"), "body.2.out");
  EXPECT_TRUE(read.program->findWeight("body.1.ffn.hidden.weight"));
}

TEST(Program, repeats_nothing_as_identity) {
  Read read(around(
      R"({"name": "body", "block": "layer", "repeat": "zero", "input": "x"},
    {"name": "y", "op": "scale", "input": "body", "by": 1})",
      layerBlock));
  ASSERT_TRUE(read.program) << read.printed();
  EXPECT_EQ(read.reads("y", "x"), "x");
}

TEST(Program, leaves_out_a_layer_whose_condition_is_false) {
  Read read(around(
      R"({"name": "norm", "op": "layer_norm", "if": "not on", "input": "x"},
    {"name": "y", "op": "scale", "input": "norm", "by": 1})"));
  ASSERT_TRUE(read.program) << read.printed();
  EXPECT_EQ(read.reads("y", "x"), "x");
  EXPECT_TRUE(read.program->weights.empty());
}

TEST(Program, reads_every_second_layer_of_another_stack) {
  Read read(around(
      R"({"name": "encoder", "block": "layer", "repeat": 4, "input": "x"},
    {"name": "decoder", "block": "reader", "repeat": 2, "inputs": {"a": "x", "memory": "encoder[2*index + 1]"}},
    {"name": "y", "op": "scale", "input": "decoder", "by": 1})",
      layerBlock));
  ASSERT_TRUE(read.program) << read.printed();
  EXPECT_EQ(read.reads("decoder.0.attn.key", "x"), "encoder.1.out");
  EXPECT_EQ(read.reads("decoder.1.attn.key", "x"), "encoder.3.out");
  EXPECT_EQ(read.reads("decoder.1.attn.query", "x"), "decoder.0.out");
}

TEST(Program, lists_earlier_states) {
  Read read(
      around(R"({"name": "body", "block": "layer", "repeat": 5, "input": "x"},
    {"name": "some", "op": "add", "inputs": ["x", "body[1::2]"]},
    {"name": "last", "op": "add", "inputs": ["body[-2:]", "body[1].norm"]},
    {"name": "all", "op": "omni_attention", "inputs": "body[*].norm", "heads": 2, "hidden": 4},
    {"name": "y", "op": "add", "inputs": ["some", "last", "all"]})",
             layerBlock));
  ASSERT_TRUE(read.program) << read.printed();
  EXPECT_EQ(read.reads("some.1", "rhs"), "body.1.out");
  EXPECT_EQ(read.reads("some", "rhs"), "body.3.out");
  EXPECT_EQ(read.reads("last.1", "lhs"), "body.3.out");
  EXPECT_EQ(read.reads("last", "rhs"), "body.1.norm");
  EXPECT_EQ(read.reads("all.states", "states"), "body.0.norm");
}

TEST(Program, gives_a_repetition_the_states_before_it) {
  // The partitioned form of OmniNet: every third layer attends to the two
  // before it.
  const char *const blocks =
      R"("blocks": {"step": {"inputs": ["a", "states"], "arguments": {"omni": null}, "layers": [
    {"name": "ordinary", "op": "feed_forward", "if": "not omni", "input": "a", "hidden": 16},
    {"name": "pooled", "op": "omni_attention", "if": "omni", "inputs": "states", "heads": 2, "hidden": 4},
    {"name": "out", "op": "add", "if": "omni", "inputs": ["ordinary", "pooled"]}], "output": "out"}},
)";
  Read read(around(R"({"name": "body", "block": "step", "repeat": 6,
     "inputs": {"a": "x", "states": "body[max(index - 2, 0):index]"}, "arguments": {"omni": "(index + 1) % 3 == 0"}},
    {"name": "y", "op": "scale", "input": "body", "by": 1})",
                   blocks));
  ASSERT_TRUE(read.program) << read.printed();
  EXPECT_EQ(read.reads("body.2.pooled.states", "states"),
            "body.0.ordinary.output");
  EXPECT_EQ(read.reads("body.2.out", "lhs"), "body.1.ordinary.output");
  EXPECT_EQ(read.reads("body.5.pooled.states", "states"),
            "body.3.ordinary.output");
  EXPECT_EQ(read.reads("y", "x"), "body.5.out");
  EXPECT_FALSE(read.find("body.2.ordinary.output"));
}

TEST(Program, carries_several_values_beside_the_stream) {
  const char *const blocks =
      R"("blocks": {"two": {"inputs": ["a", "b"], "layers": [
    {"name": "p", "op": "add", "inputs": ["a", "b"]}, {"name": "q", "op": "scale", "input": "b", "by": 2}],
    "outputs": {"a": "p", "b": "q"}}},
)";
  Read read(around(
      R"({"name": "body", "block": "two", "repeat": 3, "inputs": {"a": "x", "b": "x"}},
    {"name": "y", "op": "add", "inputs": ["body", "body.b", "body[0].b"]})",
      blocks));
  ASSERT_TRUE(read.program) << read.printed();
  EXPECT_EQ(read.reads("body.1.p", "rhs"), "body.0.q");
  EXPECT_EQ(read.reads("body.2.q", "x"), "body.1.q");
  EXPECT_EQ(read.reads("y.1", "lhs"), "body.2.p");
  EXPECT_EQ(read.reads("y.1", "rhs"), "body.2.q");
  EXPECT_EQ(read.reads("y", "rhs"), "body.0.q");
}

TEST(Program, passes_on_the_inputs_of_the_same_names_where_nothing_repeats) {
  const char *const blocks =
      R"("blocks": {"two": {"inputs": ["a", "b"], "layers": [
    {"name": "p", "op": "add", "inputs": ["a", "b"]}, {"name": "q", "op": "scale", "input": "b", "by": 2}],
    "outputs": {"b": "q", "a": "p"}}},
)";
  for (const char *nothing : {R"("repeat": 0)", R"("if": false)"}) {
    Read read(around(
        R"({"name": "z", "op": "scale", "input": "x", "by": 3},
    {"name": "body", "block": "two", )" +
            std::string(nothing) + R"(, "inputs": {"a": "x", "b": "z"}},
    {"name": "y", "op": "add", "inputs": ["body.a", "body.b", "body"]})",
        blocks));
    ASSERT_TRUE(read.program) << read.printed();
    EXPECT_EQ(read.reads("y.1", "lhs"), "x");
    EXPECT_EQ(read.reads("y.1", "rhs"), "z");
    EXPECT_EQ(read.reads("y", "rhs"), "z");
  }
}

TEST(Program, begins_to_carry_what_is_null_at_first) {
  // A step attends to what the one before has kept, the first one to itself.
  const char *const blocks =
      R"("blocks": {"inner": {"inputs": ["a", "kept"], "layers": [
    {"name": "attn", "op": "multi_head_attention", "input": "a", "key": "kept", "heads": 2}], "output": "attn"},
   "step": {"inputs": ["a", "kept"], "layers": [
    {"name": "inner", "block": "inner", "inputs": {"a": "a", "kept": "kept"}},
    {"name": "half", "op": "slice", "input": "inner", "axis": 1, "start": 1}],
    "outputs": {"a": "inner", "kept": "half"}}},
)";
  Read read(around(
      R"({"name": "body", "block": "step", "repeat": 2, "inputs": {"a": "x", "kept": null}},
    {"name": "y", "op": "linear", "input": "body.kept", "width": 2})",
      blocks));
  ASSERT_TRUE(read.program) << read.printed();
  EXPECT_EQ(read.reads("body.0.inner.attn.key", "x"), "x");
  EXPECT_EQ(read.reads("body.1.inner.attn.key", "x"), "body.0.half");
}

TEST(Program, unfolds_images_and_knows_the_image_of_the_result) {
  Read read(around(R"(
    {"name": "split", "op": "unfold", "input": "image", "kernel": 3, "stride": 2, "padding": 1},
    {"name": "again", "op": "unfold", "input": "split", "kernel": 2},
    {"name": "cut", "op": "windows", "input": "again", "window": 3},
    {"name": "squares", "op": "unfold", "input": "image", "kernel": 2, "stride": 2, "within": 4},
    {"name": "whole", "op": "windows", "input": "squares", "window": 2},
    {"name": "more", "op": "pad", "input": "whole", "axis": 1, "before": 1, "after": "n"},
    {"name": "same", "op": "pad", "input": "more"},
    {"name": "flat", "op": "reshape", "input": "same", "shape": ["2*n", "n + 5", 6]},
    {"name": "both", "op": "reshape", "input": "cut", "shape": [243, 4]},
    {"name": "wide", "op": "reshape", "input": "flat", "shape": [108, 4]},
    {"name": "y", "op": "concat", "axis": 0, "inputs": ["both", "wide"]})"));
  ASSERT_TRUE(read.program) << read.printed();
  EXPECT_EQ(read.type("split"), "f32 [1, 16, 27]");
  EXPECT_EQ(read.type("again"), "f32 [1, 9, 108]");
  EXPECT_EQ(read.type("squares"), "f32 [4, 4, 12]");
  // Windows that are the image, and a rim of nothing, are the value itself.
  EXPECT_EQ(read.reads("more", "x"), "squares");
  EXPECT_EQ(read.type("more"), "f32 [4, 9, 12]");
  EXPECT_EQ(read.reads("flat", "x"), "more");
}

TEST(Program, shares_weights_between_towers) {
  Read read(around(
      R"({"name": "words", "op": "embedding", "input": "ids", "vocab": 9, "width": 8},
    {"name": "left", "block": "layer", "repeat": 2, "input": "x"},
    {"name": "right", "block": "layer", "repeat": 2, "input": "words", "weights": "left.{index}"},
    {"name": "both", "op": "add", "inputs": ["left", "right"]},
    {"name": "y", "op": "linear", "input": "both", "width": 9, "weight": "words.weight", "transposed": true, "bias": false})",
      layerBlock));
  ASSERT_TRUE(read.program) << read.printed();
  EXPECT_EQ(read.reads("right.1.ffn.hidden", "weight"),
            "left.1.ffn.hidden.weight");
  EXPECT_EQ(read.reads("y", "weight"), "words.weight");
  EXPECT_FALSE(read.program->findWeight("right.0.norm.gain"));
}

TEST(Program, uses_one_layer_again_and_again) {
  Read read(around(
      R"({"name": "body", "block": "layer", "repeat": 4, "input": "x", "weights": "body.0"},
    {"name": "y", "op": "scale", "input": "body", "by": 1})",
      layerBlock));
  ASSERT_TRUE(read.program) << read.printed();
  EXPECT_EQ(read.program->weights.size(), 6u);
  EXPECT_EQ(read.reads("body.3.ffn.output", "weight"),
            "body.0.ffn.output.weight");
}

TEST(Program, finds_shared_paths_below_the_block_first) {
  const char *const blocks = R"("blocks": {"pair": {"inputs": ["a"], "layers": [
    {"name": "one", "op": "linear", "input": "a", "width": 8},
    {"name": "two", "op": "linear", "input": "one", "width": 8, "weights": "one"}], "output": "two"}},
)";
  Read read(around(R"({"name": "one", "op": "linear", "input": "x", "width": 8},
    {"name": "body", "block": "pair", "repeat": 2, "input": "one"},
    {"name": "y", "op": "scale", "input": "body", "by": 1})",
                   blocks));
  ASSERT_TRUE(read.program) << read.printed();
  EXPECT_EQ(read.reads("body.1.two", "weight"), "body.1.one.weight");
}

TEST(Program, chooses_a_block_by_an_expression) {
  const char *const blocks = R"("blocks": {
   "plus": {"inputs": ["a"], "layers": [{"name": "l", "op": "add", "inputs": ["a", "a"]}], "output": "l"},
   "times": {"inputs": ["a"], "layers": [{"name": "l", "op": "multiply", "inputs": ["a", "a"]}], "output": "l"}},
)";
  Read read(around(
      R"json({"name": "y", "block": "if(index % 2 == 0, 'plus', 'times')", "repeat": 3, "input": "x"})json",
      blocks));
  ASSERT_TRUE(read.program) << read.printed();
  EXPECT_EQ(read.find("y.0.l")->mnemonic, "add");
  EXPECT_EQ(read.find("y.1.l")->mnemonic, "multiply");
  EXPECT_EQ(read.find("y.2.l")->mnemonic, "add");
}

TEST(Program, passes_arguments_and_the_index_down) {
  const char *const blocks = R"("blocks": {
   "inner": {"inputs": ["a"], "arguments": {"by": 1, "twice": "2*by"}, "layers": [{"name": "l", "op": "scale", "input": "a", "by": "twice + index"}], "output": "l"},
   "outer": {"inputs": ["a"], "layers": [{"name": "m", "block": "inner", "repeat": 2, "input": "a", "arguments": {"by": "10*index"}}], "output": "m"}},
)";
  Read read(around(
      R"({"name": "y", "block": "outer", "repeat": 2, "input": "x"})", blocks));
  ASSERT_TRUE(read.program) << read.printed();
  EXPECT_EQ(read.find("y.0.m.1.l")->attributes.at("factor").real, 21);
  EXPECT_EQ(read.find("y.1.m.0.l")->attributes.at("factor").real, 0);
}

TEST(Program, takes_parameters_from_the_command_line) {
  std::string text = around(
      R"({"name": "y", "op": "multi_head_attention", "input": "x", "heads": 2, "kind": "kind"})");
  Read read(text, {{"n", "6", "--set"}, {"kind", "additive", "--set"}});
  ASSERT_TRUE(read.program) << read.printed();
  EXPECT_EQ(read.type("y"), "f32 [2, 6, 8]");
  EXPECT_EQ(read.find("y")->attributes.at("similarity").text, "hova.additive");
  EXPECT_EQ(read.program->parameters.at("hidden").integer, 12);
}

TEST(Program, freezes_the_weights_of_a_layer) {
  Read read(around(
      R"({"name": "a", "block": "layer", "input": "x", "trainable": false},
    {"name": "y", "op": "linear", "input": "a", "width": 4})",
      layerBlock));
  ASSERT_TRUE(read.program) << read.printed();
  EXPECT_FALSE(read.program->findWeight("a.ffn.hidden.weight")->trainable);
  EXPECT_TRUE(read.program->findWeight("y.weight")->trainable);
}

TEST(Program, takes_initialisers) {
  Read read(around(R"({"name": "y", "op": "linear", "input": "x", "width": 4,
    "init": {"weight": {"kind": "normal", "std": "half"}, "bias": {"kind": "zeros"}}})"));
  ASSERT_TRUE(read.program) << read.printed();
  EXPECT_EQ(read.program->findWeight("y.weight")->initializer.str(),
            "normal(0.5)");
  EXPECT_EQ(read.program->findWeight("y.bias")->initializer.str(),
            "constant(0)");
}

TEST(Program, checks_ids_against_the_table) {
  Read read(around(
      R"({"name": "y", "op": "embedding", "input": "ids", "vocab": 9, "width": 8})"));
  ASSERT_TRUE(read.program) << read.printed();
  const frontend::ProgramInput &ids = read.program->inputs[1];
  ASSERT_TRUE(ids.range);
  EXPECT_EQ((*ids.range)[0], 0);
  EXPECT_EQ((*ids.range)[1], 9);
}

struct Published {
  const char *model;
  int64_t parameters;
};

class Models : public testing::TestWithParam<Published> {};

TEST_P(Models, have_the_published_number_of_parameters) {
  std::ifstream file(std::string(HOVA_MODELS "/") + GetParam().model + ".json");
  std::stringstream text;
  text << file.rdbuf();
  Read read(text.str());
  ASSERT_TRUE(read.program) << read.printed();
  int64_t parameters = 0;
  for (const frontend::ProgramWeight &weight : read.program->weights) {
    int64_t size = 1;
    for (int64_t dimension :
         read.program->values[static_cast<size_t>(weight.value)].type.shape) {
      size *= dimension;
    }
    parameters += size;
  }
  EXPECT_EQ(parameters, GetParam().parameters);
}

INSTANTIATE_TEST_SUITE_P(
    All, Models,
    testing::Values(
        Published{"vanilla_hv", 49018880},
        Published{"transformer_base", 63045632}, Published{"vit_b16", 86567656},
        Published{"vit_b32", 88224232}, Published{"swin_t", 28288354},
        // Features are weights, sinusoids not.
        Published{"t2t_vit_14", 21465806 + 2 * 32 * 64},
        Published{"tnt_s", 23768584}, Published{"swinv2_t", 28347154},
        Published{"bert_base", 109482240}, Published{"minilm_l6", 22713216},
        Published{"lecture_mha", 180}),
    [](const auto &info) { return info.param.model; });

} // namespace
