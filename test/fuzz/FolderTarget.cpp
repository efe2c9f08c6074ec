//===- FolderTarget.cpp - The JSON in a model's folder --------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "Targets.h"
#include "frontend/folder/ImportFolder.h"
#include "frontend/folder/KeyErrors.h"
#include "frontend/weights/TensorFile.h"

#include <cassert>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <unistd.h>

namespace hova::fuzz {

using namespace hova::frontend;
namespace fs = std::filesystem;

namespace {

/// Everything that a source may say of configurations.
constexpr const char *description = R"json({
  "hova": 1, "name": "tiny",
  "parameters": {
    "task": {"default": "hidden", "values": ["hidden", "embed"]},
    "kind": {"default": "relu", "values": ["relu", "tanh"]},
    "pooling": {"default": "mean", "values": ["first", "mean"]},
    "mean": [0, 0, 0],
    "dense": [], "biases": [], "bends": [],
    "widths": [4, 4], "width": {"default": 4, "min": 1, "max": 64}, "eps": 0.5,
    "classes": 2, "unit": false},
  "inputs": {"x": {"shape": [1, "width", "count(widths)"]}},
  "layers": [
    {"name": "a", "op": "activation", "input": "x", "kind": "kind"},
    {"name": "b", "op": "layer_norm", "input": "a", "eps": "eps"},
    {"name": "c", "op": "linear", "input": "b", "width": "classes", "if": "unit"},
    {"name": "d", "op": "pool", "input": "c", "kind": "pooling", "if": "task == 'embed'"}],
  "outputs": {"out": "d"},
  "checkpoints": {"library": {
    "set": {"eps": 0.25},
    "config": {
      "model_type": ["tiny"],
      "architectures": {
        "One": {},
        "Two": {"unit": true, "classes": {"value": "count(id2label)", "default": 3}}},
      "set": {
        "width": {"value": "a.size // 2", "default": 6},
        "widths": {"value": "sizes", "default": 2},
        "eps": ["if(eps > 0, eps, sizes[0])", "image.factor"],
        "mean": {"value": ["image.mean", "image.side"], "default": [0, 1, 2]},
        "kind": {"value": "act", "default": "relu",
                 "words": {"relu": "relu", "null": "tanh", "3": "tanh"}},
        "pooling": {"value": "sentence.pooling", "default": "mean"},
        "dense": {"value": "sentence.dense", "default": []},
        "biases": {"value": "sentence.dense_bias", "default": []},
        "bends": {"value": "sentence.dense_activation", "default": []},
        "unit": {"value": ["a.unit", "sentence.normalize", "flag"], "default": false}},
      "aliases": {"b": "a", "other": "flag"},
      "require": {"a.kind": ["plain", null, {"b": [1, 2.5]}], "flag": [false]},
      "ignore": ["a.skip*", "*_id"]},
    "rules": [{"to": "{any}", "from": "{any}"}]}}
})json";

/// A folder of a model with its library beside it, which goes away at the end.
class Folders {
public:
  Folders() {
    char name[] = "/tmp/hova-fuzz-XXXXXX";
    root = mkdtemp(name);
    fs::create_directories(root / "models");
    fs::create_directories(root / "folder" / "1_Pooling");
    fs::create_directories(root / "folder" / "2_Dense");
    std::ofstream(root / "models" / "tiny.json") << description;
  }
  ~Folders() {
    std::error_code code;
    fs::remove_all(root, code);
  }

  fs::path root;
};

} // namespace

void readFolder(std::string_view input) {
  static Folders folders;
  constexpr std::string_view separator = "\n---\n";
  const fs::path folder = folders.root / "folder";
  for (const char *name :
       {"config.json", "modules.json", "1_Pooling/config.json",
        "model.safetensors.index.json", "preprocessor_config.json",
        "2_Dense/config.json"}) {
    size_t split = input.find(separator);
    if (input.empty()) {
      std::error_code code;
      fs::remove(folder / name, code);
      continue;
    }
    std::ofstream(folder / name, std::ios::binary) << input.substr(0, split);
    input = split == std::string_view::npos
                ? std::string_view()
                : input.substr(split + separator.size());
  }
  FolderOptions options;
  options.path = folder.string();
  options.models = {(folders.root / "models").string()};
  ImportedFolder imported;
  std::ostringstream errors;
  if (importFolder(options, imported, errors) != FolderStatus::Ok) {
    assert(!errors.str().empty() && "what is refused has a reason");
    return;
  }
  // What is written is a description with the parameters set.
  reader::Diagnostics diagnostics(
      std::make_shared<reader::Source>("fuzz.json", imported.text));
  std::unique_ptr<ModelSpec> spec = readModelSpec(diagnostics);
  assert(spec && !diagnostics.hasErrors());
  assert(!spec->checkpoints[0].config && spec->checkpoints[0].set.empty());
  elaborate(*spec, {}, diagnostics);
  KeyErrors told = tellAtKeys(diagnostics, *spec, imported.deciding, {});
  assert((told.atKeys.hasErrors() || told.others.hasErrors()) ==
             diagnostics.hasErrors() &&
         "a mistake is told at its key, or where it is");
  told.atKeys.print(errors);
  told.others.print(errors);
  if (!imported.weights.empty()) {
    llvm::consumeError(TensorFile::open(imported.weights).takeError());
  }
}

} // namespace hova::fuzz
