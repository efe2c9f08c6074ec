//===- FittingParametersTest.cpp - Which variant a checkpoint is of -------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "TensorFiles.h"
#include "frontend/Model.h"
#include "llvm/Support/raw_ostream.h"

#include <gtest/gtest.h>

using namespace hova::frontend;
using hova::test::Folder;
using hova::test::safetensors;
using hova::test::TestTensor;

namespace {

using Tensors = std::map<std::string, TestTensor>;

/// A body of some layers, with a head, two kinds of gates and a neck that may
/// be missing.
constexpr const char *kModel = R"({"hova": 1, "name": "m", "parameters": {
  "batch": 1, "in": 2, "width": 3, "hidden": "2*width", "depth": 2, "classes": 5,
  "neck": true, "gate": {"default": "none", "values": ["none", "one", "two"]}},
 "inputs": {"x": {"shape": ["batch", "in"]}},
 "layers": [
  {"name": "stem", "op": "linear", "input": "x", "width": "width", "bias": false},
  {"name": "body", "op": "linear", "input": "stem", "width": "width", "bias": false, "repeat": "depth"},
  {"name": "up", "op": "linear", "input": "body", "width": "hidden", "bias": false},
  {"name": "neck", "if": "neck", "op": "linear", "input": "up", "width": "hidden", "bias": false},
  {"name": "one", "if": "gate == 'one'", "op": "linear", "input": "neck", "width": "hidden", "bias": false},
  {"name": "two", "if": "gate == 'two'", "op": "linear", "input": "one", "width": "hidden", "bias": false},
  {"name": "head", "if": "classes > 0", "op": "linear", "input": "two", "width": "classes", "bias": false}],
 "outputs": {"y": "head"},
 "checkpoints": {"lib": {"set": {"batch": 1}, "rules": [
  {"to": "body.{i}.weight", "from": "[model.]layers.{i}.w"},
  {"to": "{part}.weight", "from": "[model.]{part}.w"}]}}})";

/// What fits by the names of the source, as it is.
Tensors whole(int64_t width = 3, int64_t hidden = 6, int64_t depth = 2,
              int64_t classes = 5) {
  Tensors tensors = {{"stem.w", {{2, width}}},
                     {"up.w", {{width, hidden}}},
                     {"neck.w", {{hidden, hidden}}},
                     {"head.w", {{hidden, classes}}}};
  for (int64_t i = 0; i < depth; ++i) {
    tensors["layers." + std::to_string(i) + ".w"] = {{width, width}};
  }
  return tensors;
}

/// The messages of opening a file, and whether what they advise helps.
struct Opened {
  std::string messages;
  std::string advice;

  Opened(const Tensors &tensors, std::vector<ParameterOverride> overrides = {},
         const std::string &description = kModel) {
    Folder folder;
    ModelOptions options;
    options.path = folder.write("m.json", description);
    options.weights = folder.write("w.safetensors", safetensors(tensors));
    options.overrides = std::move(overrides);
    messages = open(options);
    std::string begin = "note: it fits with ";
    size_t at = messages.find(begin);
    if (at == std::string::npos) {
      return;
    }
    at += begin.size();
    advice = messages.substr(at, messages.find('\n', at) - at);
    follow(options.overrides);
    EXPECT_EQ(open(options), "") << advice;
  }

  /// Sets what the advice says, in the place of what it names.
  void follow(std::vector<ParameterOverride> &overrides) const {
    auto [settings, replaced] =
        llvm::StringRef(advice).split(", in the place of ");
    auto read = [](llvm::StringRef text) {
      std::vector<ParameterOverride> read;
      llvm::SmallVector<llvm::StringRef> words;
      text.split(words, ' ', -1, /*KeepEmpty=*/false);
      for (llvm::StringRef word : words) {
        if (word != "--set") {
          read.push_back(*parseOverride({word.data(), word.size()}));
        }
      }
      return read;
    };
    for (const ParameterOverride &old : read(replaced)) {
      llvm::erase_if(overrides, [&](const ParameterOverride &given) {
        return given.name == old.name && given.text == old.text;
      });
    }
    for (const ParameterOverride &setting : read(settings)) {
      overrides.push_back(setting);
    }
  }

  static std::string open(const ModelOptions &options) {
    std::string text;
    llvm::raw_string_ostream errors(text);
    Model model;
    if (readModel(options, model, errors) == ModelStatus::Ok) {
      openWeights(options, model, errors);
    }
    return text;
  }
};

Tensors without(Tensors tensors, const std::string &name) {
  tensors.erase(name);
  return tensors;
}

TEST(FittingParameters, says_nothing_of_what_fits) {
  EXPECT_EQ(Opened(whole()).messages, "");
}

TEST(FittingParameters, leave_out_what_the_file_has_not) {
  Opened neck(without(whole(), "neck.w"));
  EXPECT_EQ(neck.advice, "--set neck=false");
  // All that is missing is said too.
  EXPECT_NE(neck.messages.find("missing: \"neck.w\""), std::string::npos);
  EXPECT_EQ(Opened(without(whole(), "head.w")).advice, "--set classes=0");
}

TEST(FittingParameters, are_the_sizes_of_the_file) {
  EXPECT_EQ(Opened(whole(3, 6, 2, 7)).advice, "--set classes=7");
  EXPECT_EQ(Opened(whole(3, 9)).advice, "--set hidden=9");
  EXPECT_EQ(Opened(whole(3, 6, 4)).advice, "--set depth=4");
  EXPECT_EQ(Opened(whole(3, 6, 1)).advice, "--set depth=1");
}

TEST(FittingParameters, take_one_of_the_legal_values) {
  Tensors tensors = whole();
  tensors["two.w"] = {{6, 6}};
  EXPECT_EQ(Opened(tensors).advice, "--set gate=two");
}

TEST(FittingParameters, change_together_where_they_have_to) {
  EXPECT_EQ(Opened(without(whole(4, 8, 3), "head.w")).advice,
            "--set width=4 --set depth=3 --set classes=0");
}

TEST(FittingParameters, keep_what_was_given_where_something_fits) {
  EXPECT_EQ(Opened(whole(3, 6, 2, 7), {{"gate", "none"}}).advice,
            "--set classes=7");
  EXPECT_EQ(Opened(without(whole(), "neck.w"), {{"neck", "true"}}).advice,
            "--set neck=false, in the place of --set neck=true");
  // Some of what was given stays.
  EXPECT_EQ(Opened(whole(4, 8, 3), {{"classes", "5"}, {"width", "2"}}).advice,
            "--set width=4 --set depth=3, in the place of --set width=2");
}

TEST(FittingParameters, keep_what_the_source_sets) {
  std::string fixed = kModel;
  size_t at = fixed.find("\"batch\": 1}, \"rules\"");
  fixed.insert(at, "\"depth\": 3, ");
  EXPECT_EQ(Opened(whole(3, 6, 4), {}, fixed).advice, "");
}

TEST(FittingParameters, are_found_where_most_layers_are_missing) {
  EXPECT_EQ(Opened(whole(3, 6, 4), {{"depth", "40"}}).advice,
            "--set depth=4, in the place of --set depth=40");
}

TEST(FittingParameters, are_not_guessed_where_something_stays_wrong) {
  Tensors tensors = without(whole(), "neck.w");
  tensors["other.w"] = {{1}};
  EXPECT_EQ(Opened(tensors).advice, "");
  EXPECT_NE(Opened(tensors).messages.find("left over: \"other.w\""),
            std::string::npos);
  // Less than half of what is wanted: the file is of another model.
  EXPECT_EQ(Opened({{"stem.w", {{2, 3}}}}).advice, "");
}

TEST(FittingParameters, are_found_by_the_names_of_the_description_too) {
  std::string model = kModel;
  model = model.substr(0, model.find(",\n \"checkpoints\"")) + "}";
  Opened neck({{"stem.weight", {{2, 3}}},
               {"body.0.weight", {{3, 3}}},
               {"body.1.weight", {{3, 3}}},
               {"up.weight", {{3, 6}}},
               {"head.weight", {{6, 5}}}},
              {}, model);
  EXPECT_EQ(neck.advice, "--set neck=false");
}

/// An image of some patches, windows, and attentions whose heads a block takes
/// as an argument.
constexpr const char *kImage = R"({"hova": 1, "name": "m", "parameters": {
  "image": 64, "patch": 8, "width": 48, "heads": 12, "window": 2},
 "inputs": {"x": {"shape": [1, 3, "image", "image"]}},
 "blocks": {"layer": {"inputs": ["x"], "arguments": {"count": null}, "layers": [
   {"name": "attn", "op": "multi_head_attention", "input": "x", "heads": "count", "bias": false}],
  "output": "attn"}},
 "layers": [
  {"name": "patches", "op": "patch_embedding", "input": "x", "patch": "patch", "width": "width", "bias": false},
  {"name": "win", "op": "multi_head_attention", "input": "patches", "heads": 1, "window": "window", "relative_bias": true, "bias": false},
  {"name": "token", "op": "class_token", "input": "win"},
  {"name": "placed", "op": "positions", "kind": "learned", "input": "token"},
  {"name": "body", "block": "layer", "input": "placed", "arguments": {"count": "heads"}}],
 "outputs": {"y": "body"}})";

/// What fits such an image of `grid` patches a side.
Tensors ofImage(int64_t grid, int64_t width, int64_t window = 2) {
  int64_t offsets = (2 * window - 1) * (2 * window - 1);
  Tensors tensors = {{"patches.weight", {{3 * 64, width}}},
                     {"token.weight", {{width}}},
                     {"win.relative_bias", {{offsets, 1}}},
                     {"placed.weight", {{grid * grid + 1, width}}}};
  for (const char *layer : {"win.", "body.attn."}) {
    for (const char *part : {"query", "key", "value", "output"}) {
      tensors[std::string(layer) + part + ".weight"] = {{width, width}};
    }
  }
  return tensors;
}

TEST(FittingParameters, are_sides_of_images_and_of_windows) {
  EXPECT_EQ(Opened(ofImage(8, 48), {}, kImage).messages, "");
  EXPECT_EQ(Opened(ofImage(4, 48), {}, kImage).advice, "--set image=32");
  EXPECT_EQ(Opened(ofImage(12, 48, 3), {}, kImage).advice,
            "--set image=96 --set window=3");
}

TEST(FittingParameters, divide_another_width_into_other_heads) {
  // As wide as they were: 48 / 12 columns.
  Opened kept(ofImage(8, 20), {}, kImage);
  EXPECT_EQ(kept.advice, "--set width=20 --set heads=5");
  EXPECT_NE(kept.messages.find("note: no tensor says how many heads there are: "
                               "check that heads is 5\n"),
            std::string::npos)
      << kept.messages;
  // As many as divide it.
  EXPECT_EQ(Opened(ofImage(8, 50), {}, kImage).advice,
            "--set width=50 --set heads=10");
  // They divide it, and may still be others.
  Opened same(ofImage(8, 54), {{"heads", "6"}}, kImage);
  EXPECT_EQ(same.advice, "--set width=54");
  EXPECT_EQ(same.messages.find("how many heads"), std::string::npos);
  Opened divides(ofImage(8, 18), {}, kImage);
  EXPECT_EQ(divides.advice, "--set width=18 --set heads=9");
  // Not where no width changes.
  Opened image(ofImage(4, 48), {}, kImage);
  EXPECT_EQ(image.messages.find("how many heads"), std::string::npos);
}

/// `kImage` of other sides, whose patches a library stores as a convolution.
std::string imageOf(const char *image, const char *patch) {
  std::string model = kImage;
  model.replace(model.find("\"image\": 64"), 11,
                std::string("\"image\": ") + image);
  model.replace(model.find("\"patch\": 8"), 10,
                std::string("\"patch\": ") + patch);
  model.pop_back();
  return model + R"(, "checkpoints": {"lib": {"rules": [
  {"to": "patches.weight", "from": "patches.conv", "apply": [{"reshape": ["width", "3*patch*patch"]}, "transpose"]},
  {"to": "{a}.{b}", "from": "{a}.{b}"}, {"to": "{a}.{b}.{c}", "from": "{a}.{b}.{c}"},
  {"to": "{a}.{b}.{c}.{d}", "from": "{a}.{b}.{c}.{d}"}]}}})";
}

Tensors ofConvolution(int64_t grid, int64_t width) {
  Tensors tensors = without(ofImage(grid, width), "patches.weight");
  tensors["patches.conv"] = {{width, 3, 8, 8}};
  return tensors;
}

TEST(FittingParameters, are_patches_and_the_image_that_they_divide) {
  // As many patches, fewer, and sides that the other size does not divide.
  EXPECT_EQ(Opened(ofConvolution(4, 48), {}, imageOf("64", "16")).advice,
            "--set image=32 --set patch=8");
  EXPECT_EQ(Opened(ofConvolution(4, 48), {}, imageOf("96", "16")).advice,
            "--set image=32 --set patch=8");
  EXPECT_EQ(Opened(ofConvolution(4, 48), {}, imageOf("84", "14")).advice,
            "--set image=32 --set patch=8");
  EXPECT_EQ(Opened(ofConvolution(4, 48), {}, imageOf("60", "15")).advice,
            "--set image=32 --set patch=8");
  EXPECT_EQ(Opened(ofConvolution(4, 20), {}, imageOf("64", "16")).advice,
            "--set image=32 --set patch=8 --set width=20 --set heads=5");
}

TEST(FittingParameters, replace_heads_that_divide_another_width) {
  EXPECT_EQ(Opened(ofConvolution(4, 48), {{"heads", "5"}, {"width", "50"}},
                   imageOf("64", "16"))
                .advice,
            "--set image=32 --set patch=8 --set width=48 --set heads=4, in the "
            "place of --set width=50 --set heads=5");
}

/// Sequences, whose length no weight knows and positions bound.
constexpr const char *kSequence = R"({"hova": 1, "name": "m", "parameters": {
  "length": 128, "vocab": 9, "positions": 512, "width": 4},
 "inputs": {"x": {"shape": [1, "length"], "dtype": "i32", "range": [0, "vocab"]}},
 "layers": [
  {"name": "words", "op": "embedding", "input": "x", "vocab": "vocab", "width": "width"},
  {"name": "placed", "op": "positions", "input": "words", "kind": "learned", "length": "positions"}],
 "outputs": {"y": "placed"}})";

TEST(FittingParameters, bound_a_length_by_the_positions_of_the_file) {
  auto ofSequence = [](int64_t vocab, int64_t positions) {
    return Tensors{{"words.weight", {{vocab, 4}}},
                   {"placed.weight", {{positions, 4}}}};
  };
  Opened shorter(ofSequence(9, 40), {}, kSequence);
  EXPECT_EQ(shorter.advice, "--set length=40 --set positions=40");
  EXPECT_NE(shorter.messages.find(
                "note: no tensor says what length is: it is at most 40\n"),
            std::string::npos)
      << shorter.messages;
  EXPECT_EQ(Opened(ofSequence(11, 40), {}, kSequence).advice,
            "--set length=40 --set vocab=11 --set positions=40");
  EXPECT_EQ(Opened(ofSequence(9, 40), {{"length", "50"}}, kSequence).advice,
            "--set length=40 --set positions=40, in the place of --set "
            "length=50");
  Opened fits(ofSequence(9, 140), {}, kSequence);
  EXPECT_EQ(fits.advice, "--set positions=140");
  EXPECT_EQ(fits.messages.find("at most"), std::string::npos);
}

} // namespace
