//===- KeyErrorsTest.cpp - Values of keys that no model can have ----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Whoever has a folder has not written the description: whatever a value of
// `config.json` makes impossible is told at its key.
//
//===----------------------------------------------------------------------===//

#include "../weights/TensorFiles.h"
#include "frontend/Model.h"
#include "llvm/Support/raw_ostream.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <sstream>

using namespace hova::frontend;
using hova::test::Folder;
namespace fs = std::filesystem;

namespace {

/// Values as JSON, by keys with dots.
using Keys = std::map<std::string, std::string>;

std::string jsonOf(const Keys &keys) {
  std::string text;
  for (auto key = keys.begin(); key != keys.end();) {
    size_t dot = key->first.find('.');
    std::string name = key->first.substr(0, dot), value = key->second;
    Keys inner;
    do {
      if (dot != std::string::npos) {
        inner[key->first.substr(dot + 1)] = key->second;
      }
      ++key;
    } while (dot != std::string::npos && key != keys.end() &&
             key->first.compare(0, dot + 1, name + ".") == 0);
    text += (text.empty() ? "\n \"" : ",\n \"") + name +
            "\": " + (inner.empty() ? value : jsonOf(inner));
  }
  return "{" + text + "}";
}

/// What reading a folder with such a configuration says.
std::string messagesOf(const Keys &keys, const std::string &models) {
  Folder files;
  std::string path = files.write("config.json", jsonOf(keys));
  FolderOptions options;
  options.path = fs::path(path).parent_path();
  options.models = {models};
  auto folder = std::make_shared<ImportedFolder>();
  std::ostringstream imported;
  if (importFolder(options, *folder, imported) != FolderStatus::Ok) {
    return imported.str();
  }
  ModelOptions opened;
  opened.path = folder->description;
  opened.text = folder->text;
  opened.folder = folder;
  Model model;
  std::string messages;
  llvm::raw_string_ostream errors(messages);
  readModel(opened, model, errors);
  return messages;
}

/// Every error of `messages` is at a line of config.json.
void expectAtKeys(const std::string &messages, const std::string &what) {
  std::istringstream lines(messages);
  for (std::string line; std::getline(lines, line);) {
    if (line.find(": error: ") != std::string::npos) {
      size_t file = line.find("/config.json:");
      EXPECT_TRUE(file != std::string::npos && file < line.find(": error: "))
          << what << ": " << line;
    }
  }
}

std::unique_ptr<ModelSpec> read(const fs::path &path) {
  hova::reader::Diagnostics diagnostics(
      hova::reader::Source::read(path, hova::reader::Limits().bytes));
  return readModelSpec(diagnostics);
}

/// The model type, and the keys that must be there with the values that the
/// description's parameters have.
Keys leastOf(const ModelSpec &spec, const ConfigSpec &config) {
  Keys keys = {{"model_type", '"' + config.modelTypes[0] + '"'}};
  for (const ConfigSetting &setting : config.set) {
    const auto &literal = spec.findParameter(setting.parameter)->value.literal;
    for (const std::string &key : setting.keys()) {
      if (!setting.otherwise && literal) {
        keys[key] = literal->str();
      }
    }
  }
  return keys;
}

/// What a key may be changed to: numbers that are too small and too large, and
/// the words that it may be, which may need other keys.
std::set<std::string> valuesOf(const ConfigSetting &setting) {
  std::set<std::string> values = {"0", "1000000000000"};
  for (const auto &[word, meaning] : setting.words) {
    values.insert('"' + word + '"');
  }
  return values;
}

class KeyErrors : public testing::TestWithParam<std::string> {};

TEST_P(KeyErrors, are_told_at_keys) {
  const std::string models = HOVA_FRONTEND_MODELS;
  auto spec = read(fs::path(models) / (GetParam() + ".json"));
  ASSERT_TRUE(spec);
  size_t mistakes = 0;
  for (const CheckpointSpec &source : spec->checkpoints) {
    Keys least = leastOf(*spec, *source.config);
    ASSERT_EQ(messagesOf(least, models), "");
    for (const ConfigSetting &setting : source.config->set) {
      for (const std::string &key : setting.keys()) {
        for (const std::string &value : valuesOf(setting)) {
          Keys changed = least;
          changed[key] = value;
          std::string messages = messagesOf(changed, models);
          mistakes += !messages.empty();
          expectAtKeys(messages, key + " = " + value);
        }
      }
    }
  }
  EXPECT_GE(mistakes, 5u);
}

std::vector<std::string> families() {
  std::vector<std::string> names;
  for (const auto &entry : fs::directory_iterator(HOVA_FRONTEND_MODELS)) {
    names.push_back(entry.path().stem());
  }
  std::sort(names.begin(), names.end());
  return names;
}

INSTANTIATE_TEST_SUITE_P(Library, KeyErrors, testing::ValuesIn(families()),
                         [](const auto &info) { return info.param; });

} // namespace
