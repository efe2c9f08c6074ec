//===- SentenceModules.cpp - What follows the encoder of a sentence -------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "frontend/folder/SentenceModules.h"

#include <algorithm>
#include <filesystem>

namespace hova::frontend {

using reader::inQuotes;
using reader::Node;
namespace fs = std::filesystem;

/// A mode has a key that is true, or, of newer files, is the word of one key.
struct PoolingMode {
  std::string_view key, name;
  const char *word;
};

namespace {

/// Each is a file to open; models have one or two.
constexpr size_t mostDense = 16;

constexpr std::string_view modeKey = "pooling_mode";
constexpr PoolingMode modes[] = {
    {"pooling_mode_cls_token", "cls", "first"},
    {"pooling_mode_mean_tokens", "mean", "mean"},
    {"pooling_mode_lasttoken", "lasttoken", "last"},
    {"pooling_mode_max_tokens", "max", "max"},
    {"pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens",
     "mean_sqrt_length"},
    {"pooling_mode_weightedmean_tokens", "weightedmean", "weighted_mean"},
};

/// Keys that change no number.
bool isIdle(const reader::Member &member) {
  return member.key == "word_embedding_dimension" ||
         member.key == "embedding_dimension" ||
         (member.key == "include_prompt" &&
          member.value->is(Node::Kind::Boolean) && member.value->boolean);
}

/// The name of a class without those of its packages.
std::string_view classOf(std::string_view type) {
  return type.substr(type.rfind('.') + 1);
}

/// Whether a path is one folder inside of the one that names it: modules come
/// from anywhere.
bool isPlainName(std::string_view path) {
  return !path.empty() && path[0] != '.' &&
         path.find_first_of("/\\") == std::string_view::npos;
}

std::string textIn(const Node &object, std::string_view key) {
  const Node *value = object.get(key);
  return value && value->is(Node::Kind::String) ? value->text : "";
}

} // namespace

/// A file of the folder; null: it cannot be read.
std::shared_ptr<const reader::Source>
SentenceModules::open(const std::string &path) {
  std::string whole = (fs::path(folder) / path).string();
  auto source = reader::Source::read(whole, reader::Limits().bytes);
  if (source) {
    paths.push_back(whole);
  }
  return source;
}

SentenceModules::SentenceModules(const std::string &folder) : folder(folder) {
  auto source = open("modules.json");
  if (!source) {
    return;
  }
  isPresent = true;
  Config list(std::move(source), Node::Kind::Array);
  isRead = list.isRead();
  for (size_t i = 0; isRead && i < list.root().elements.size(); ++i) {
    isRead = readModule(*list.root().elements[i], i, list);
  }
  if (isRead && pooling.empty()) {
    list.errorAtStart("no module makes one vector of the states of a sentence");
    isRead = false;
  }
  if (list.diagnostics().hasErrors()) {
    mistakes.push_back(list.diagnostics());
  }
}

void SentenceModules::tellMistakes(const Print &print) const {
  for (const reader::Diagnostics &file : mistakes) {
    print(file);
  }
}

/// The modules stand in one order: encoder, pooling, perhaps linear layers, and
/// perhaps unit length.
bool SentenceModules::readModule(const Node &module, size_t number,
                                 Config &list) {
  std::string type = textIn(module, "type");
  std::string_view name = classOf(type);
  if (number == 0 && name == "Transformer" && textIn(module, "path").empty()) {
    return true;
  }
  if (number == 1 && name == "Pooling") {
    return readPooling(module, list);
  }
  if (number > 1 && name == "Dense" && !normalizes) {
    return readDense(module, list);
  }
  if (number > 1 && name == "Normalize" && !normalizes) {
    return normalizes = true;
  }
  list.error(module, "module " + std::to_string(number) + " is " +
                         inQuotes(type) +
                         "; expected a Transformer in this folder, a Pooling, "
                         "perhaps Dense layers, and perhaps a Normalize");
  return false;
}

/// The configuration of a module; nothing: its folder has none.
std::optional<Config> SentenceModules::openModule(const Node &module,
                                                  Config &list) {
  std::string path = textIn(module, "path");
  auto source = isPlainName(path) ? open(path + "/config.json") : nullptr;
  if (!source) {
    list.error(module, "expected a folder beside this file with a "
                       "config.json, got " +
                           inQuotes(path));
    return std::nullopt;
  }
  return std::optional<Config>(std::in_place, std::move(source));
}

bool SentenceModules::readPooling(const Node &module, Config &list) {
  std::optional<Config> config = openModule(module, list);
  bool isRight = config && config->isRead() && readModes(*config);
  if (config && !isRight) {
    mistakes.push_back(config->diagnostics());
  }
  return isRight;
}

bool SentenceModules::readDense(const Node &module, Config &list) {
  if (dense.size() == mostDense) {
    list.error(module, "expected at most " + std::to_string(mostDense) +
                           " Dense layers");
    return false;
  }
  std::optional<Config> config = openModule(module, list);
  std::optional<DenseModule> layer =
      config && config->isRead() ? readDenseModule(*config) : std::nullopt;
  if (config && !layer) {
    mistakes.push_back(config->diagnostics());
  }
  if (!layer) {
    return false;
  }
  if (!dense.empty() && layer->inputs != dense.back().outputs) {
    list.error(module, "the layer takes " + std::to_string(layer->inputs) +
                           " features, and the one before gives " +
                           std::to_string(dense.back().outputs));
    return false;
  }
  dense.push_back(std::move(*layer));
  denseFiles.push_back(
      (fs::path(folder) / textIn(module, "path") / "model.safetensors")
          .string());
  return true;
}

/// One of the modes is on; several make a longer vector.
bool SentenceModules::addMode(const Node &place, const PoolingMode &mode,
                              std::string_view name, Config &config) {
  if (!pooling.empty()) {
    config.error(place, "expected one mode of pooling, got " + inQuotes(name) +
                            " too");
    return false;
  }
  pooling = mode.word;
  return true;
}

/// The word of a mode, or a list of such words.
bool SentenceModules::readModeNames(const Node &value, Config &config) {
  std::vector<const Node *> names(value.elements.begin(), value.elements.end());
  if (!value.is(Node::Kind::Array)) {
    names.push_back(&value);
  }
  for (const Node *name : names) {
    auto mode = std::find_if(
        std::begin(modes), std::end(modes), [&](const PoolingMode &other) {
          return name->is(Node::Kind::String) && other.name == name->text;
        });
    if (mode == std::end(modes)) {
      config.error(*name,
                   "expected a mode of pooling, got " + config.textOf(*name));
      return false;
    }
    if (!addMode(*name, *mode, name->text, config)) {
      return false;
    }
  }
  return true;
}

bool SentenceModules::readModes(Config &config) {
  // Where modes have a word, keys of older files are without an effect.
  const Node *names = config.find(modeKey);
  for (const reader::Member &member : config.root().members) {
    auto mode = std::find_if(
        std::begin(modes), std::end(modes),
        [&](const PoolingMode &other) { return other.key == member.key; });
    bool isMode = mode != std::end(modes);
    bool isOn = !member.value->is(Node::Kind::Boolean) || member.value->boolean;
    if (isMode && isOn && !names &&
        !addMode(*member.value, *mode, member.key, config)) {
      return false;
    }
    if (!isMode && member.value != names && !isIdle(member)) {
      config.error(*member.value, "nothing is known of key " +
                                      inQuotes(member.key) +
                                      " of a pooling with the value " +
                                      config.textOf(*member.value));
      return false;
    }
  }
  if (names && !readModeNames(*names, config)) {
    return false;
  }
  if (pooling.empty()) {
    config.errorAtStart("no mode of pooling is on");
  }
  return !pooling.empty();
}

void SentenceModules::addTo(Config &config) const {
  if (isRead) {
    config.add("sentence.pooling", Scalar::ofText(pooling));
    config.add("sentence.normalize", Scalar::ofBoolean(normalizes));
    std::vector<Scalar> widths, biases, activations;
    for (const DenseModule &layer : dense) {
      widths.push_back(Scalar::ofInteger(layer.outputs));
      biases.push_back(Scalar::ofBoolean(layer.hasBias));
      activations.push_back(Scalar::ofText(layer.activation));
    }
    config.add("sentence.dense", Scalar::ofList(std::move(widths)));
    config.add("sentence.dense_bias", Scalar::ofList(std::move(biases)));
    config.add("sentence.dense_activation",
               Scalar::ofList(std::move(activations)));
  }
}

std::vector<SentenceModules::TensorsOfModule> SentenceModules::tensors() const {
  std::vector<TensorsOfModule> files;
  for (size_t i = 0; isRead && i < denseFiles.size(); ++i) {
    files.push_back(
        {std::string(tensorPrefix) + "dense." + std::to_string(i) + ".",
         denseFiles[i]});
  }
  return files;
}

} // namespace hova::frontend
