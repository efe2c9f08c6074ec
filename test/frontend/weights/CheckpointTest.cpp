//===- CheckpointTest.cpp - Rules, plans and sources ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "TensorFiles.h"
#include "frontend/Model.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace hova;
using namespace hova::frontend;
using test::Folder;
using test::safetensors;

namespace {

/// A model with weights a.weight [2, 3] and a.bias [3] and some checkpoint
/// sources.
std::string describe(const std::string &sources) {
  return R"({"hova": 1, "name": "m", "parameters": {"eps": 1e-5, "out": 3},
 "inputs": {"x": {"shape": [1, 2]}},
 "layers": [{"name": "a", "op": "linear", "input": "x", "width": "out"}],
 "outputs": {"y": "a"}, "checkpoints": {)" +
         sources + "}}";
}

/// What loading gives: the weights, or the messages.
struct Loaded {
  ModelStatus status;
  Model model;
  std::string messages;

  Loaded(const std::string &description, const std::string &file,
         const std::string &checkpoint = "",
         std::vector<ParameterOverride> overrides = {}) {
    Folder folder;
    ModelOptions options;
    options.path = folder.write("model.json", description);
    options.weights = folder.write("w.safetensors", file);
    options.checkpoint = checkpoint;
    options.overrides = std::move(overrides);
    llvm::raw_string_ostream errors(messages);
    status = readModel(options, model, errors);
    if (status == ModelStatus::Ok) {
      status = openWeights(options, model, errors);
    }
  }

  std::vector<float> values(const std::string &name) {
    llvm::Expected<HostTensor> tensor = model.weights->load(name);
    if (!tensor) {
      messages += llvm::toString(tensor.takeError());
      return {};
    }
    return {tensor->as<float>(), tensor->as<float>() + tensor->size()};
  }
};

/// `rule` may close the list of rules and go on with further keys.
std::string withRule(const std::string &rule) {
  return describe(R"("lib": {"rules": [{"to": "a.bias", "constant": 0.5}, )" +
                  rule + "]}");
}

TEST(Checkpoint, reads_the_names_of_the_description) {
  Loaded l(describe(""),
           safetensors({{"a.weight", {{2, 3}}}, {"a.bias", {{3}}}}));
  ASSERT_EQ(l.status, ModelStatus::Ok) << l.messages;
  EXPECT_EQ(l.values("a.weight"), (std::vector<float>{0, 1, 2, 3, 4, 5}));
  EXPECT_NE(l.model.note.find("names of the description"), std::string::npos);
}

TEST(Checkpoint, transposes) {
  Loaded l(
      withRule(R"({"to": "a.weight", "from": "w", "apply": ["transpose"]})"),
      safetensors({{"w", {{3, 2}}}}));
  ASSERT_EQ(l.status, ModelStatus::Ok) << l.messages;
  EXPECT_EQ(l.values("a.weight"), (std::vector<float>{0, 2, 4, 1, 3, 5}));
  EXPECT_EQ(l.values("a.bias"), (std::vector<float>{0.5, 0.5, 0.5}));
}

TEST(Checkpoint, permutes_axes_and_reshapes) {
  Loaded l(
      withRule(
          R"({"to": "a.weight", "from": "w", "apply": [{"transpose": [2, 0, 1]}, {"reshape": [2, "out"]}]})"),
      safetensors({{"w", {{1, 3, 2}}}}));
  ASSERT_EQ(l.status, ModelStatus::Ok) << l.messages;
  EXPECT_EQ(l.values("a.weight"), (std::vector<float>{0, 2, 4, 1, 3, 5}));
}

TEST(Checkpoint, reshapes_to_what_is_left) {
  Loaded l(
      withRule(
          R"({"to": "a.weight", "from": "w", "apply": [{"reshape": [2, -1]}]})"),
      safetensors({{"w", {{1, 3, 2, 1}}}}));
  ASSERT_EQ(l.status, ModelStatus::Ok) << l.messages;
  EXPECT_EQ(l.values("a.weight"), (std::vector<float>{0, 1, 2, 3, 4, 5}));
}

TEST(Checkpoint, slices) {
  Loaded l(
      withRule(
          R"({"to": "a.weight", "from": "w", "apply": [{"slice": {"axis": 1, "start": 1, "end": 4}}]})"),
      safetensors({{"w", {{2, 5}}}}));
  ASSERT_EQ(l.status, ModelStatus::Ok) << l.messages;
  EXPECT_EQ(l.values("a.weight"), (std::vector<float>{1, 2, 3, 6, 7, 8}));
}

TEST(Checkpoint, concatenates) {
  Loaded l(
      withRule(
          R"({"to": "a.weight", "from": ["w.0", "w.1"], "apply": [{"concatenate": 1}]})"),
      safetensors({{"w.0", {{2, 1}}}, {"w.1", {{2, 2}}}}));
  ASSERT_EQ(l.status, ModelStatus::Ok) << l.messages;
  EXPECT_EQ(l.values("a.weight"), (std::vector<float>{0, 0, 1, 1, 2, 3}));
}

TEST(Checkpoint, adds_to_elements_and_multiplies_them_in_turn) {
  Loaded l(
      withRule(
          R"({"to": "a.weight", "from": "w", "apply": [{"multiply": 0.5}, "transpose", {"add": 1}, {"multiply": "2 * 3 / 4"}]})"),
      safetensors({{"w", {{3, 2}}}}));
  ASSERT_EQ(l.status, ModelStatus::Ok) << l.messages;
  EXPECT_EQ(l.values("a.weight"),
            (std::vector<float>{1.5f, 3, 4.5f, 2.25f, 3.75f, 5.25f}));
}

TEST(Checkpoint, calculates_with_parameters_and_numbers_alone) {
  auto load = [](const std::string &steps) {
    return Loaded(R"({"hova": 1, "name": "m",
 "parameters": {"offset": -0.5, "word": "'none'"},
 "inputs": {"x": {"shape": [1, 3]}},
 "layers": [{"name": "a", "op": "linear", "input": "x", "width": 1, "bias": false}],
 "outputs": {"y": "a"}, "checkpoints": {"lib": {"rules": [
  {"to": "a.weight", "from": "w", "apply": [)" +
                      steps + "]}]}}}",
                  safetensors({{"w", {{3, 1}}}}), "lib");
  };
  Loaded named = load(R"({"add": "2 * offset"})");
  ASSERT_EQ(named.status, ModelStatus::Ok) << named.messages;
  EXPECT_EQ(named.values("a.weight"), (std::vector<float>{-1, 0, 1}));
  const std::pair<const char *, const char *> wrong[] = {
      {R"({"add": "word"})", "got none"},
      {R"({"multiply": "1 / (0.5 + offset) ** 1"})", "division by zero"},
      {R"({"multiply": "2e38 / -offset"})", "beyond the largest number of f32"},
      {R"({"add": true})", "expected a number or an expression, got a boolean"},
      {R"({"add": 1, "multiply": 2})", "a step has one key"}};
  for (auto [steps, message] : wrong) {
    Loaded refused = load(steps);
    EXPECT_EQ(refused.status, ModelStatus::Rejected);
    EXPECT_NE(refused.messages.find(message), std::string::npos)
        << refused.messages;
  }
}

TEST(Checkpoint, has_no_constants) {
  const char *const description = R"({"hova": 1, "name": "m",
 "inputs": {"x": {"shape": [1, 3]}},
 "layers": [{"name": "c", "op": "constant", "shape": [3], "value": "index0"},
  {"name": "moved", "op": "add", "inputs": ["x", "c"]},
  {"name": "a", "op": "linear", "input": "moved", "width": 1, "bias": false}],
 "outputs": {"y": "a"}, "checkpoints": {"lib": {"rules": [
  {"to": "{name}.weight", "from": "{name}"}]}}})";
  Loaded renamed(description, safetensors({{"a", {{3, 1}}}}));
  ASSERT_EQ(renamed.status, ModelStatus::Ok) << renamed.messages;
  Loaded plain(description, safetensors({{"a.weight", {{3, 1}}}}));
  ASSERT_EQ(plain.status, ModelStatus::Ok) << plain.messages;
  // A tensor of that name is left over as any other.
  Loaded more(description,
              safetensors({{"a.weight", {{3, 1}}}, {"c.weight", {{3}}}}));
  EXPECT_EQ(more.status, ModelStatus::Rejected);
  EXPECT_NE(more.messages.find("left over: \"c.weight\""), std::string::npos)
      << more.messages;
}

TEST(Checkpoint, splits_by_capture) {
  const char *const description = R"({"hova": 1, "name": "m",
 "inputs": {"x": {"shape": [1, 2, 4]}},
 "layers": [{"name": "a", "op": "multi_head_attention", "input": "x", "heads": 2, "bias": false, "repeat": 2}],
 "outputs": {"y": "a"}, "checkpoints": {"lib": {"rules": [
  {"to": "a.{i}.output.weight", "from": "block.{i}.out", "apply": ["transpose"]},
  {"to": ["a.{i}.query.weight", "a.{i}.key.weight", "a.{i}.value.weight"], "from": "block.{i}.in", "apply": [{"split": 0}, "transpose"]}]}}})";
  Loaded l(description, safetensors({{"block.0.in", {{12, 4}}},
                                     {"block.0.out", {{4, 4}}},
                                     {"block.1.in", {{12, 4}}},
                                     {"block.1.out", {{4, 4}}}}));
  ASSERT_EQ(l.status, ModelStatus::Ok) << l.messages;
  std::vector<float> key = l.values("a.1.key.weight");
  ASSERT_EQ(key.size(), 16u);
  // Row r, column c of the transposed second third: 16 + 4c + r.
  EXPECT_EQ(key[0], 16);
  EXPECT_EQ(key[1], 20);
  EXPECT_EQ(key[4], 17);
  EXPECT_EQ(l.values("a.0.value.weight")[0], 32);
}

TEST(Checkpoint, takes_the_source_whose_names_fit) {
  std::string sources =
      R"("one": {"rules": [{"to": "a.{w}", "from": "one.{w}"}]},
         "two": {"set": {"eps": 1e-12}, "rules": [{"to": "a.{w}", "from": "two.{w}"}]})";
  Loaded l(describe(sources),
           safetensors({{"two.weight", {{2, 3}}}, {"two.bias", {{3}}}}));
  ASSERT_EQ(l.status, ModelStatus::Ok) << l.messages;
  EXPECT_NE(l.model.note.find("names of two"), std::string::npos);
  EXPECT_EQ(l.model.program->parameters.at("eps").real, 1e-12);

  Loaded forced(describe(sources),
                safetensors({{"two.weight", {{2, 3}}}, {"two.bias", {{3}}}}),
                "one");
  EXPECT_EQ(forced.status, ModelStatus::Rejected);
  EXPECT_NE(forced.messages.find("missing: \"one.weight\" for \"a.weight\""),
            std::string::npos)
      << forced.messages;

  Loaded unknown(describe(sources), safetensors({}), "tow");
  EXPECT_NE(unknown.messages.find(
                "unknown checkpoint source \"tow\"; the description has one, "
                "two\n  note: did you mean \"two\"?"),
            std::string::npos)
      << unknown.messages;
}

TEST(Checkpoint, rejects_a_parameter_that_contradicts_the_source) {
  std::string source =
      R"("lib": {"set": {"eps": 1e-12}, "rules": [{"to": "a.{w}", "from": "lib.{w}"}]})";
  std::string file =
      safetensors({{"lib.weight", {{2, 3}}}, {"lib.bias", {{3}}}});
  Loaded same(describe(source), file, "", {{"eps", "1e-12"}});
  EXPECT_EQ(same.status, ModelStatus::Ok) << same.messages;
  Loaded other(describe(source), file, "", {{"eps", "1e-6"}});
  EXPECT_EQ(other.status, ModelStatus::Rejected);
  EXPECT_NE(other.messages.find(
                "--set needs eps=1e-6, but checkpoint source lib says 1e-12"),
            std::string::npos)
      << other.messages;
}

TEST(Checkpoint, lists_everything_that_does_not_fit) {
  std::string source =
      R"("lib": {"ignore": ["*.index"], "rules": [{"to": "a.weight", "from": "w", "apply": ["transpose"]}]})";
  Loaded l(describe(source),
           safetensors({{"w", {{4, 2}}}, {"x.index", {{1}}}, {"rest", {{2}}}}),
           "lib");
  EXPECT_EQ(l.status, ModelStatus::Rejected);
  for (const char *problem :
       {"no rule makes weight \"a.bias\"",
        "shape: weight \"a.weight\" is [2, 3], but \"w\" [4, 2] gives [2, 4]",
        "left over: \"rest\" [2]"}) {
    EXPECT_NE(l.messages.find(problem), std::string::npos) << l.messages;
  }
  EXPECT_EQ(l.messages.find("x.index"), std::string::npos);
}

struct BadStep {
  const char *name;
  const char *step;
  const char *message;
};
class BadSteps : public testing::TestWithParam<BadStep> {};

TEST_P(BadSteps, are_rejected_before_anything_is_read) {
  Loaded l(
      withRule(std::string(R"({"to": "a.weight", "from": "w", "apply": [)") +
               GetParam().step + "]}"),
      safetensors({{"w", {{3, 2}}}}), "lib");
  EXPECT_EQ(l.status, ModelStatus::Rejected);
  EXPECT_NE(l.messages.find(GetParam().message), std::string::npos)
      << l.messages;
}

const BadStep badSteps[] = {
    {"reshape_to_another_size", R"({"reshape": [2, 2]})",
     "cannot reshape [3, 2] to [2, 2]"},
    {"reshape_to_fractions", R"({"reshape": [4, -1]})",
     "cannot reshape [3, 2] to [4, -1]"},
    {"reshape_to_two_that_are_left", R"({"reshape": [-1, -1]})",
     "cannot reshape [3, 2] to [-1, -1]"},
    {"reshape_to_less_than_nothing", R"({"reshape": [-2, 3]})",
     "no dimension: -2"},
    {"reshape_to_zero", R"({"reshape": [0, 6]})", "no dimension: 0"},
    {"reshape_too_large",
     R"({"reshape": [2147483647, 2147483647, 2147483647]})", "cannot reshape"},
    {"axes_twice", R"({"transpose": [0, 0]})", "not a permutation"},
    {"axis_outside", R"({"transpose": [0, 2]})", "no axis 2 in shape [3, 2]"},
    {"slice_outside", R"({"slice": {"axis": 0, "end": 4}})",
     "the slice [0, 4) of an axis of 3"},
    {"slice_empty", R"({"slice": {"axis": 0, "start": 3}})",
     "the slice [3, 3) of an axis of 3"},
    {"slice_by_fraction", R"({"slice": {"axis": 0, "end": "out/2"}})",
     "a number of a step is not an integer"},
};
INSTANTIATE_TEST_SUITE_P(All, BadSteps, testing::ValuesIn(badSteps),
                         [](const auto &info) { return info.param.name; });

TEST(Checkpoint, rejects_uneven_splits_and_unequal_joins) {
  Loaded split(
      describe(
          R"("lib": {"rules": [{"to": ["a.weight", "a.bias"], "from": "w", "apply": [{"split": 0}]}]})"),
      safetensors({{"w", {{3, 2}}}}), "lib");
  EXPECT_NE(
      split.messages.find("cannot split axis 0 of [3, 2] into 2 equal parts"),
      std::string::npos)
      << split.messages;
  Loaded join(
      withRule(
          R"({"to": "a.weight", "from": ["v", "w"], "apply": [{"concatenate": 0}]})"),
      safetensors({{"v", {{1, 3}}}, {"w", {{1, 2}}}}), "lib");
  EXPECT_NE(
      join.messages.find("cannot concatenate [1, 3] and [1, 2] along axis 0"),
      std::string::npos)
      << join.messages;
  Loaded count(withRule(R"({"to": "a.weight", "from": ["v", "w"]})"),
               safetensors({{"v", {{2, 3}}}, {"w", {{2, 3}}}}), "lib");
  EXPECT_NE(count.messages.find("the rule makes 2 tensors for 1 weights"),
            std::string::npos)
      << count.messages;
}

TEST(Checkpoint, names_what_a_forced_source_sets_wrongly) {
  const char *const description = R"({"hova": 1, "name": "m",
 "parameters": {"h": 2}, "inputs": {"x": {"shape": [1, 4, 8]}},
 "layers": [{"name": "y", "op": "multi_head_attention", "input": "x", "heads": "h"}],
 "outputs": {"o": "y"}, "checkpoints": {"s": {"set": {"h": 3}, "rules": []}}})";
  std::string file = safetensors({{"a", {{1}}}});
  Loaded forced(description, file, "s");
  EXPECT_EQ(forced.status, ModelStatus::Rejected);
  EXPECT_NE(forced.messages.find("cannot split a width of 8 into 3 heads"),
            std::string::npos)
      << forced.messages;
  // Unless it is asked for, such a source is passed over.
  Loaded found(description, file);
  EXPECT_EQ(found.status, ModelStatus::Rejected);
  EXPECT_NE(found.messages.find("by the names of the description"),
            std::string::npos)
      << found.messages;
}

TEST(Checkpoint, rejects_rules_of_nothing) {
  Loaded from(
      withRule(
          R"({"to": "a.weight", "from": [], "apply": [{"concatenate": 0}]})"),
      safetensors({}), "lib");
  EXPECT_NE(from.messages.find("a rule reads at least one tensor"),
            std::string::npos)
      << from.messages;
  Loaded to(withRule(R"({"to": [], "from": "w"})"), safetensors({}), "lib");
  EXPECT_NE(to.messages.find("a rule makes at least one weight"),
            std::string::npos)
      << to.messages;
  Loaded empty(
      withRule(
          R"({"to": "a.weight", "from": ["v", "w"], "apply": [{"concatenate": 1}]})"),
      safetensors({{"v", {{2, 3}}}, {"w", {{2, 0}}}}), "lib");
  EXPECT_NE(empty.messages.find("\"w\" has no elements"), std::string::npos)
      << empty.messages;
  Loaded often(
      withRule(
          R"({"to": "a.weight", "from": ["w", "w", "w"], "apply": [{"concatenate": 0}, {"slice": {"axis": 0, "end": 2}}]})"),
      safetensors({{"w", {{2, 3}}}}), "lib");
  EXPECT_NE(often.messages.find("the rule reads tensors again that have more "
                                "elements together than the weights it makes"),
            std::string::npos)
      << often.messages;
}

TEST(Checkpoint, reads_a_tensor_twice) {
  Loaded l(
      withRule(
          R"({"to": "a.weight", "from": ["w", "w"], "apply": [{"concatenate": 0}]})"),
      safetensors({{"w", {{1, 3}}}}));
  ASSERT_EQ(l.status, ModelStatus::Ok) << l.messages;
  EXPECT_EQ(l.values("a.weight"), (std::vector<float>{0, 1, 2, 0, 1, 2}));
}

TEST(Checkpoint, finds_names_with_and_without_their_prefixes) {
  std::string rule =
      R"({"to": "a.weight", "from": "[wrapper.][lib.]w"}], "ignore": ["[wrapper.][lib.]ids", "head.*")";
  for (std::string prefix : {"", "lib.", "wrapper.lib.", "wrapper."}) {
    Loaded l(withRule(rule), safetensors({{prefix + "w", {{2, 3}}},
                                          {prefix + "ids", {{1}}},
                                          {"head.bias", {{4}}}}));
    ASSERT_EQ(l.status, ModelStatus::Ok) << prefix << l.messages;
    EXPECT_EQ(l.values("a.weight"), (std::vector<float>{0, 1, 2, 3, 4, 5}));
    // What is in the file and not in the model is said.
    EXPECT_NE(l.model.note.find("the model has no part for head.bias"),
              std::string::npos)
        << l.model.note;
  }
  Loaded other(withRule(rule), safetensors({{"other_w", {{2, 3}}}}));
  EXPECT_NE(other.messages.find("missing: \"w\""), std::string::npos)
      << other.messages;
}

TEST(Checkpoint, rejects_brackets_that_are_no_prefix) {
  for (const char *name : {"a[b.]c", "[b.", "b.]c", "[]c", "[{i}]c", "[*]c"}) {
    Loaded l(
        withRule(std::string(R"({"to": "a.weight", "from": ")") + name + "\"}"),
        safetensors({{"w", {{2, 3}}}}));
    EXPECT_NE(
        l.messages.find("brackets hold a prefix that files may leave out"),
        std::string::npos)
        << name << l.messages;
  }
}

TEST(Checkpoint, names_the_source_that_fits_best_and_what_it_lacks) {
  std::string sources =
      R"("far": {"rules": [{"to": "a.weight", "from": "x"}, {"to": "a.bias", "from": "y"}]},)"
      R"("near": {"rules": [{"to": "a.weight", "from": "v"}, {"to": "a.bias", "from": "u"}]})";
  Loaded near(describe(sources), safetensors({{"v", {{2, 3}}}}));
  EXPECT_NE(near.messages.find("by the names of near, which fit best: it has 1 "
                               "of the 2 tensors that are wanted"),
            std::string::npos)
      << near.messages;
  EXPECT_NE(near.messages.find("missing: \"u\" for \"a.bias\""),
            std::string::npos);
  Loaded none(describe(sources), safetensors({{"z", {{2, 3}}}}));
  EXPECT_NE(none.messages.find("nor by any other: it has no tensor that is "
                               "wanted by the names of the description, far, "
                               "near"),
            std::string::npos)
      << none.messages;
}

TEST(Checkpoint, rejects_values_that_are_not_finite) {
  std::vector<float> values = {0, 1, 2, 3, NAN, INFINITY};
  Loaded l(describe(""),
           safetensors({{"a.weight", {{2, 3}, values}}, {"a.bias", {{3}}}}));
  // Before anything is compiled, and by the name in the file.
  EXPECT_EQ(l.status, ModelStatus::Rejected);
  EXPECT_NE(l.messages.find("tensor \"a.weight\" has the value NaN at [1, 1]"),
            std::string::npos)
      << l.messages;
}

TEST(Checkpoint, rejects_integers_as_weights) {
  Loaded l(describe(""),
           safetensors({{"a.weight", {{2, 3}, {}, "I32"}}, {"a.bias", {{3}}}}));
  EXPECT_EQ(l.status, ModelStatus::Rejected);
  EXPECT_NE(
      l.messages.find("\"a.weight\" has type i32; weights are floating-point"),
      std::string::npos)
      << l.messages;
}

TEST(Names, match_one_part_per_capture) {
  std::map<std::string, std::string> captures;
  EXPECT_TRUE(matchName("a.{i}.b.{j}", "a.12.b.c", captures));
  EXPECT_EQ(captures["i"], "12");
  EXPECT_EQ(captures["j"], "c");
  captures.clear();
  EXPECT_FALSE(matchName("a.{i}", "a.1.2", captures));
  captures.clear();
  EXPECT_FALSE(matchName("{i}.{i}", "1.2", captures));
  captures.clear();
  EXPECT_TRUE(matchName("layer{i}_w", "layer3_w", captures));
  EXPECT_EQ(fillName("x{i}.y", captures), "x3.y");
  captures.clear();
  EXPECT_FALSE(matchName("a.{i}", "a.", captures));
}

TEST(Names, match_stars) {
  EXPECT_TRUE(reader::matchGlob("*", ""));
  EXPECT_TRUE(reader::matchGlob("*.index", "a.b.index"));
  EXPECT_TRUE(reader::matchGlob("a*b*c", "axxbxbxc"));
  EXPECT_FALSE(reader::matchGlob("a*b", "axbx"));
  EXPECT_FALSE(reader::matchGlob("", "a"));
  // Backtracking stays linear.
  EXPECT_FALSE(reader::matchGlob("*a*a*a*a*a*a*a*a*b", std::string(5000, 'a')));
}

struct Index {
  const char *name;
  const char *map;
  const char *message;
};
class BadIndices : public testing::TestWithParam<Index> {};

TEST_P(BadIndices, are_rejected) {
  Folder folder;
  folder.write("one.safetensors", safetensors({{"a.weight", {{2, 3}}}}));
  folder.write("two.safetensors", safetensors({{"a.bias", {{3}}}}));
  llvm::Expected<TensorFile> file = TensorFile::open(
      folder.write("model.safetensors.index.json",
                   std::string("{\"weight_map\": ") + GetParam().map + "}"));
  ASSERT_FALSE(bool(file));
  std::string message = llvm::toString(file.takeError());
  EXPECT_NE(message.find(GetParam().message), std::string::npos) << message;
}

const Index indices[] = {
    {"inverted", R"({"one.safetensors": "a.weight"})",
     "\"weight_map\" is inverted"},
    {"of_pytorch", R"({"a.weight": "pytorch_model-00001.bin"})",
     "the index is of files each of which is by its name a PyTorch file; save "
     "its state_dict with"},
    {"path", R"({"a.weight": "../one.safetensors"})", "is not the plain name"},
    {"absolute", R"({"a.weight": "/one.safetensors"})",
     "is not the plain name"},
    {"hidden", R"({"a.weight": ".safetensors"})", "is not the plain name"},
    {"not_a_string", R"({"a.weight": 1})", "must be a string"},
    {"missing_file", R"({"a.weight": "three.safetensors"})",
     "three.safetensors"},
    {"missing_tensor",
     R"({"a.weight": "one.safetensors", "b": "one.safetensors"})",
     "tensor \"b\" is not in one.safetensors"},
    {"tensor_in_another_file",
     R"({"a.weight": "two.safetensors", "a.bias": "two.safetensors"})",
     "tensor \"a.weight\" is not in two.safetensors"},
    {"unnamed_tensor", R"({"x": "one.safetensors"})",
     "tensor \"a.weight\" is here, but the index does not name it"},
    {"named_twice",
     R"({"a.weight": "one.safetensors", "a.weight": "two.safetensors"})",
     "is given twice"},
};
INSTANTIATE_TEST_SUITE_P(All, BadIndices, testing::ValuesIn(indices),
                         [](const auto &info) { return info.param.name; });

TEST(Shards, are_no_description) {
  Folder folder;
  llvm::Expected<TensorFile> file =
      TensorFile::open(folder.write("model.json", describe("")));
  ASSERT_FALSE(bool(file));
  std::string message = llvm::toString(file.takeError());
  EXPECT_NE(message.find("this is a description, not weights; weights are read "
                         "from safetensors files"),
            std::string::npos)
      << message;
}

TEST(Shards, are_read_together) {
  Folder folder;
  folder.write("one.safetensors", safetensors({{"a.weight", {{2, 3}}}}));
  folder.write("two.safetensors", safetensors({{"a.bias", {{3}}}}));
  llvm::Expected<TensorFile> file = TensorFile::open(folder.write(
      "model.safetensors.index.json",
      R"({"metadata": {}, "weight_map": {"a.weight": "one.safetensors", "a.bias": "two.safetensors"}})"));
  ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
  llvm::Expected<HostTensor> bias = file->load("a.bias");
  ASSERT_TRUE(bool(bias));
  EXPECT_EQ(bias->as<float>()[2], 2);
}

} // namespace
