//===- ConfigBeside.cpp - The configuration beside a file of weights ------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "frontend/folder/ConfigBeside.h"
#include "frontend/folder/ImageProcessor.h"
#include "frontend/reader/Text.h"

#include <algorithm>
#include <filesystem>

namespace hova::frontend {

using reader::inQuotes;

/// The configuration in the folder of `file`; null: there is none.
static std::shared_ptr<const reader::Source>
openBeside(const std::string &file) {
  std::filesystem::path path =
      std::filesystem::path(file).parent_path() / "config.json";
  std::error_code code;
  return std::filesystem::is_regular_file(path, code)
             ? reader::Source::read(path.string(), reader::Limits().bytes)
             : nullptr;
}

std::optional<ConfigBeside> readConfigBeside(
    const ModelSpec &spec, const std::string &weights,
    const SentenceModules &modules, const std::string &checkpoint,
    const KeyChoices &choices,
    const std::function<void(const reader::Diagnostics &)> &print) {
  std::string types;
  bool isWanted = false;
  for (const CheckpointSpec &source : spec.checkpoints) {
    isWanted |=
        source.config && (checkpoint.empty() || checkpoint == source.name);
    for (const std::string &type : source.config ? source.config->modelTypes
                                                 : std::vector<std::string>()) {
      types += (types.empty() ? "" : ", ") + type;
    }
  }
  auto source = isWanted ? openBeside(weights) : nullptr;
  if (!source) {
    return ConfigBeside();
  }
  Config config(std::move(source));
  const reader::Node *type =
      config.isRead() ? config.find("model_type") : nullptr;
  if (config.isRead() && !type) {
    return ConfigBeside();
  }
  ConfigBeside beside;
  beside.source = config.isRead()
                      ? findConfigSource(spec, config.wordOf("model_type"))
                      : nullptr;
  if (config.isRead() && !beside.source) {
    config.error(*type, "the weights are of a model of type " +
                            config.textOf(*type) + ", and " + spec.name +
                            " is for " + types);
  }
  if (beside.source) {
    const std::string folder =
        std::filesystem::path(weights).parent_path().string();
    modules.tellMistakes(print);
    ImageProcessor images(folder, print);
    if ((modules.arePresent() && !modules.areRead()) || !images.isRight()) {
      return std::nullopt;
    }
    modules.addTo(config);
    images.addTo(config);
    KeyReading reading = readKeys(spec, *beside.source, config, choices);
    beside.deciding = std::move(reading.deciding);
    for (auto &[name, value] : reading.parameters) {
      beside.parameters.push_back(
          {name, value.str(), config.diagnostics().source().name()});
    }
  }
  if (config.diagnostics().hasErrors()) {
    print(config.diagnostics());
    return std::nullopt;
  }
  return beside;
}

} // namespace hova::frontend
