//===- CheckpointFilesTest.cpp - Files of weights as people have them -----===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "TensorFiles.h"
#include "frontend/Model.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace hova;
using namespace hova::frontend;
using test::Folder;
using test::safetensors;
using test::TestTensor;

namespace {

/// A sum with a frozen table [3, 4], and a linear layer [4, 2] with a bias;
/// `table` is the rest of the table's layer, `sources` are checkpoints.
std::string describe(const std::string &table, const std::string &sources) {
  return R"({"hova": 1, "name": "m", "inputs": {"x": {"shape": [1, 3, 4]}},
 "layers": [
  {"name": "t", "op": "weight", "shape": [3, 4], "trainable": false)" +
         table + R"(},
  {"name": "s", "op": "add", "inputs": ["x", "t"]},
  {"name": "l", "op": "linear", "input": "s", "width": 2}],
 "outputs": {"y": "l"}, "checkpoints": {)" +
         sources + "}}";
}

constexpr const char *kSinusoid =
    R"(, "init": {"weight": {"kind": "sinusoid", "first": 0, "base": 100}})";
constexpr const char *kLibrary =
    R"("lib": {"ignore": ["extra.*"], "rules": [{"to": "l.{p}", "from": "fc.{p}"}]})";

std::map<std::string, TestTensor> ofLibrary(const std::string &prefix = "") {
  return {{prefix + "fc.weight", {{4, 2}}}, {prefix + "fc.bias", {{2}}}};
}

/// What opening a file says, and the weights that it gives.
struct Opened {
  ModelStatus status;
  Model model;
  std::string messages;

  Opened(const std::string &description, const std::string &weights,
         const std::string &name = "w.safetensors") {
    ModelOptions options;
    options.path = folder.write("model.json", description);
    options.weights = folder.write(name, weights);
    open(options);
  }
  Opened(const std::string &description, const ModelOptions &given) {
    ModelOptions options = given;
    options.path = folder.write("model.json", description);
    open(options);
  }

  std::vector<float> values(const std::string &name) {
    llvm::Expected<HostTensor> tensor = model.weights->load(name);
    if (!tensor) {
      messages += llvm::toString(tensor.takeError());
      return {};
    }
    return {tensor->as<float>(), tensor->as<float>() + tensor->size()};
  }
  bool says(const std::string &text) const {
    return messages.find(text) != std::string::npos;
  }

private:
  void open(const ModelOptions &options) {
    llvm::raw_string_ostream errors(messages);
    status = readModel(options, model, errors);
    if (status == ModelStatus::Ok) {
      status = openWeights(options, model, errors);
    }
  }

  Folder folder;
};

//===----------------------------------------------------------------------===//
// Frozen weights
//===----------------------------------------------------------------------===//

TEST(FrozenWeights, are_made_by_their_initialiser_where_no_rule_names_them) {
  Opened l(describe(kSinusoid, kLibrary), safetensors(ofLibrary()));
  ASSERT_EQ(l.status, ModelStatus::Ok) << l.messages;
  std::vector<float> table = l.values("t.weight");
  ASSERT_EQ(table.size(), 12u);
  for (size_t row = 0; row < 3; ++row) {
    // 100 ** (2/4) = 10.
    double angles[] = {double(row), row / 10.0};
    for (size_t pair = 0; pair < 2; ++pair) {
      EXPECT_NEAR(table[4 * row + 2 * pair], std::sin(angles[pair]), 1e-7);
      EXPECT_NEAR(table[4 * row + 2 * pair + 1], std::cos(angles[pair]), 1e-7);
    }
  }
  EXPECT_EQ(l.values("l.bias"), (std::vector<float>{0, 1}));
  // Nothing is made without a word.
  EXPECT_NE(l.model.note.find("by initialisers: t.weight"), std::string::npos)
      << l.model.note;
}

TEST(FrozenWeights, may_be_in_a_file_of_the_names_of_the_description) {
  std::map<std::string, TestTensor> named = {{"l.weight", {{4, 2}}},
                                             {"l.bias", {{2}}}};
  Opened without(describe(kSinusoid, ""), safetensors(named));
  ASSERT_EQ(without.status, ModelStatus::Ok) << without.messages;
  EXPECT_NEAR(without.values("t.weight")[4], std::sin(1.0), 1e-7);
  named["t.weight"] = {{3, 4}};
  Opened with(describe(kSinusoid, ""), safetensors(named));
  ASSERT_EQ(with.status, ModelStatus::Ok) << with.messages;
  EXPECT_EQ(with.values("t.weight")[4], 4);
  EXPECT_EQ(with.model.note.find("initialisers"), std::string::npos);
}

TEST(FrozenWeights, are_read_where_a_rule_names_them) {
  std::string rules =
      R"("lib": {"rules": [{"to": "l.{p}", "from": "fc.{p}"}, {"to": "t.weight", "from": "table"}]})";
  Opened missing(describe(kSinusoid, rules), safetensors(ofLibrary()));
  EXPECT_TRUE(missing.says("missing: \"table\" for \"t.weight\""))
      << missing.messages;
}

TEST(FrozenWeights, are_missed_where_a_seed_would_draw_them) {
  for (const char *init :
       {"", R"(, "init": {"weight": {"kind": "normal", "std": 1}})",
        R"(, "init": {"weight": {"kind": "glorot"}})"}) {
    Opened l(describe(init, kLibrary), safetensors(ofLibrary()));
    EXPECT_TRUE(l.says("no rule makes weight \"t.weight\"")) << l.messages;
  }
  for (const char *kind :
       {R"("zeros")", R"("ones")", R"("constant", "value": 7)"}) {
    Opened l(
        describe(std::string(R"(, "init": {"weight": {"kind": )") + kind + "}}",
                 kLibrary),
        safetensors(ofLibrary()));
    EXPECT_EQ(l.status, ModelStatus::Ok) << l.messages;
  }
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

TEST(Names, are_one_of_the_words_in_brackets) {
  std::string rules =
      R"("lib": {"rules": [{"to": "l.weight", "from": "[a.]n.[weight|gamma]"},
         {"to": "l.bias", "from": "[a.]n.[bias|beta]"}]})";
  auto open = [&](const std::string &weight, const std::string &bias) {
    return Opened(describe(kSinusoid, rules),
                  safetensors({{weight, {{4, 2}}}, {bias, {{2}}}}));
  };
  for (std::string prefix : {"", "a."}) {
    for (std::string weight : {"n.weight", "n.gamma"}) {
      Opened l = open(prefix + weight, prefix + "n.beta");
      ASSERT_EQ(l.status, ModelStatus::Ok) << l.messages;
      EXPECT_EQ(l.values("l.weight")[7], 7);
    }
  }
  Opened other = open("n.scale", "n.beta");
  EXPECT_TRUE(other.says("missing: \"n.weight\" for \"l.weight\""))
      << other.messages;
  EXPECT_TRUE(other.says("left over: \"n.scale\"")) << other.messages;
}

TEST(Names, have_one_list_of_words) {
  for (const char *name :
       {"n.[a|]", "n.[|a]", "n.[a||b]", "[a|b].[c|d]", "[a|{i}]", "n.[a|b"}) {
    std::string rules = R"("lib": {"rules": [{"to": "l.weight", "from": ")" +
                        std::string(name) + "\"}]}";
    Opened l(describe(kSinusoid, rules), safetensors(ofLibrary()));
    EXPECT_TRUE(l.says("or one list of words of which a file has one"))
        << name << l.messages;
  }
  Opened ignored(
      describe(kSinusoid, R"("lib": {"rules": [], "ignore": ["[a|b].c"]})"),
      safetensors(ofLibrary()));
  EXPECT_TRUE(ignored.says("brackets hold a prefix")) << ignored.messages;
  EXPECT_FALSE(ignored.says("list of words"));
}

TEST(Prefix, of_all_names_is_left_out_where_the_model_fits_so) {
  for (std::string prefix :
       {"module.", "_orig_mod.", "model.", "module._orig_mod.model."}) {
    Opened l(describe(kSinusoid, kLibrary), safetensors(ofLibrary(prefix)));
    ASSERT_EQ(l.status, ModelStatus::Ok) << prefix << l.messages;
    EXPECT_EQ(l.values("l.weight")[7], 7);
    EXPECT_NE(l.model.note.find("(names of lib below \"" + prefix + "\""),
              std::string::npos)
        << l.model.note;
  }
}

TEST(Prefix, of_all_names_is_said_before_any_list) {
  auto tensors = ofLibrary("module.");
  tensors["module.fc.weight"] = {{5, 2}};
  Opened l(describe(kSinusoid, kLibrary), safetensors(tensors));
  EXPECT_EQ(l.status, ModelStatus::Rejected);
  size_t said = l.messages.find("note: all names of the file begin with "
                                "\"module.\", which is left out here");
  EXPECT_LT(said, l.messages.find("\"fc.weight\" [5, 2] is in the file"))
      << l.messages;
  // Of another model altogether.
  Opened other(describe(kSinusoid, kLibrary),
               safetensors({{"model.a.w", {{1}}}, {"model.b.w", {{1}}}}));
  EXPECT_LT(other.messages.find(
                "note: all names of the file begin with \"model.\"\n"),
            other.messages.find("missing"))
      << other.messages;
}

TEST(Prefix, is_of_all_names) {
  auto tensors = ofLibrary("module.");
  tensors["step"] = {{1}};
  Opened l(describe(kSinusoid, kLibrary), safetensors(tensors));
  EXPECT_EQ(l.status, ModelStatus::Rejected);
  EXPECT_FALSE(l.says("all names of the file")) << l.messages;
}

TEST(Prefix, is_part_of_the_name_of_a_tensor_that_is_not_finite) {
  auto tensors = ofLibrary("module.");
  tensors["module.fc.bias"] = {{2}, {0, NAN}};
  Opened l(describe(kSinusoid, kLibrary), safetensors(tensors));
  EXPECT_TRUE(l.says("tensor \"module.fc.bias\" has the value NaN at [1]"))
      << l.messages;
}

//===----------------------------------------------------------------------===//
// Types that are not read
//===----------------------------------------------------------------------===//

TEST(Types, that_are_not_read_are_no_matter_where_no_rule_needs_them) {
  for (const char *dtype : {"F8_E8M0", "F8_E4M3", "F8_E5M2FNUZ"}) {
    auto tensors = ofLibrary();
    // Four elements of a byte.
    tensors["extra.scale"] = {{4}, {1}, dtype};
    Opened l(describe(kSinusoid, kLibrary), safetensors(tensors));
    ASSERT_EQ(l.status, ModelStatus::Ok) << dtype << l.messages;
    EXPECT_NE(l.model.note.find("no part for extra.scale"), std::string::npos)
        << l.model.note;
  }
}

TEST(Types, that_are_not_read_are_named_where_a_rule_needs_them) {
  struct {
    const char *dtype;
    Shape shape;
    const char *said;
  } cases[] = {{"F8_E4M3", {8}, "f8_e4m3"},
               {"F4", {16}, "f4"},
               {"F6_E3M2", {16}, "f6_e3m2"},
               {"C64", {1}, "c64"}};
  for (const auto &[dtype, shape, said] : cases) {
    auto tensors = ofLibrary();
    size_t floats = std::string(dtype) == "F6_E3M2" ? 3 : 2;
    tensors["fc.bias"] = {shape, std::vector<float>(floats, 1), dtype};
    Opened l(describe(kSinusoid, kLibrary), safetensors(tensors));
    EXPECT_EQ(l.status, ModelStatus::Rejected);
    EXPECT_TRUE(l.says("\"fc.bias\" has type " + std::string(said) +
                       ", which hova does not read; save it as f32, bf16 or "
                       "f16"))
        << l.messages;
    EXPECT_FALSE(l.says("weights are floating-point")) << l.messages;
  }
}

//===----------------------------------------------------------------------===//
// What is no safetensors file
//===----------------------------------------------------------------------===//

TEST(OtherFiles, are_called_what_they_are) {
  constexpr const char *lfs =
      "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 4\n";
  struct {
    std::string text, name, said;
  } cases[] = {
      {lfs, "w.safetensors",
       "w.safetensors: this is a pointer of git-lfs, not a safetensors file; "
       "git lfs pull fetches the file it stands for"},
      {lfs, "w.bin", "w.bin: this is a pointer of git-lfs"},
      {lfs, "m.index.json",
       "this is a pointer of git-lfs, not the index of a checkpoint; git lfs"},
      {"\n <!DOCTYPE HTML><html>", "w.safetensors",
       "this is a page of HTML, not a safetensors file; a download that fails"},
      {"\xef\xbb\xbf<Html lang=\"en\">", "w.safetensors",
       "this is a page of HTML"},
      {"<html></html>", "m.index.json",
       "this is a page of HTML, not the index of a checkpoint"},
      {"Entry not found\n", "w.safetensors",
       "this is a text, not a safetensors file"},
      {"{\"weight_map\": {}}", "w.safetensors",
       "this is a text, not a safetensors file"},
      {std::string("\1\2\3\0\0\0\0\0", 8), "w.safetensors",
       "is not a valid safetensors file: its header is longer than the file"},
  };
  for (const auto &[text, name, said] : cases) {
    Opened l(describe(kSinusoid, kLibrary), text, name);
    EXPECT_EQ(l.status, ModelStatus::Rejected) << name;
    EXPECT_TRUE(l.says(said)) << l.messages;
  }
}

/// The message about a folder with these files.
std::string saidOfFolder(const std::vector<std::string> &names) {
  Folder folder;
  ModelOptions options;
  std::string inside = folder.write("x", "");
  options.weights = inside.substr(0, inside.size() - 2);
  for (const std::string &name : names) {
    folder.write(name, "");
  }
  Opened l(describe(kSinusoid, kLibrary), options);
  EXPECT_EQ(l.status, ModelStatus::Rejected);
  // Without the folder, whose name differs.
  for (size_t at;
       (at = l.messages.find(options.weights)) != std::string::npos;) {
    l.messages.replace(at, options.weights.size(), "FOLDER");
  }
  return l.messages.substr(0, l.messages.find('\n'));
}

TEST(Folders, say_which_file_is_meant) {
  std::string start = "hova: error: FOLDER: this is a folder";
  EXPECT_EQ(saidOfFolder({"model.safetensors", "other.safetensors", "a.json"}),
            start + "; its weights are in FOLDER/model.safetensors");
  EXPECT_EQ(saidOfFolder({"m-00001-of-00002.safetensors",
                          "m-00002-of-00002.safetensors",
                          "m.safetensors.index.json"}),
            start + "; the index of its weights is "
                    "FOLDER/m.safetensors.index.json");
  EXPECT_EQ(saidOfFolder({"digits.safetensors"}),
            start + "; its weights are in FOLDER/digits.safetensors");
  EXPECT_EQ(saidOfFolder({"b.safetensors", "a.safetensors", "e.safetensors",
                          "c.safetensors", "d.safetensors"}),
            start + "; expected one of the files in it: a.safetensors, "
                    "b.safetensors, c.safetensors, d.safetensors and 1 more");
  EXPECT_EQ(saidOfFolder({"pytorch_model.bin"}),
            start + ", in which there is no safetensors file");
}

TEST(Folders, have_an_index_beside_one_of_several_files) {
  Folder folder;
  ModelOptions options;
  auto tensors = ofLibrary();
  tensors.erase("fc.bias");
  options.weights =
      folder.write("m-00001-of-00002.safetensors", safetensors(tensors));
  Opened alone(describe(kSinusoid, kLibrary), options);
  EXPECT_FALSE(alone.says("one of several")) << alone.messages;
  std::string index = folder.write("m.safetensors.index.json", "{}");
  Opened l(describe(kSinusoid, kLibrary), options);
  EXPECT_TRUE(
      l.says("note: the file is one of several, whose index is " + index))
      << l.messages;
}

} // namespace
