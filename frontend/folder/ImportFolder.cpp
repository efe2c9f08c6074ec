//===- ImportFolder.cpp - A description out of a model's folder -----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "frontend/folder/ImportFolder.h"
#include "frontend/folder/ImageProcessor.h"
#include "frontend/folder/ModelLibrary.h"
#include "frontend/folder/SettledText.h"
#include "frontend/reader/Text.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

namespace hova::frontend {

using reader::inQuotes;
namespace fs = std::filesystem;

namespace {

bool exists(const std::string &path) {
  std::error_code code;
  return fs::exists(path, code);
}

std::string inFolder(const std::string &folder, const char *name) {
  return (fs::path(folder) / name).string();
}

class FolderImport {
public:
  FolderImport(const FolderOptions &options, ImportedFolder &folder,
               std::ostream &errors)
      : options(options), folder(folder), errors(errors) {}

  FolderStatus run();

private:
  FolderStatus fail(const std::string &file, const std::string &message,
                    std::vector<std::string> notes = {},
                    FolderStatus status = FolderStatus::Rejected);
  FolderStatus failed(reader::Diagnostics &diagnostics);
  std::string findWeights() const;
  std::string chooseDescription(Config &config);
  FolderStatus readDescription();
  void checkOverrides(Config &config, const KeyReading &reading);
  void checkSide(Config &config, const CheckpointSpec &source);

  const FolderOptions &options;
  ImportedFolder &folder;
  std::ostream &errors;
  std::unique_ptr<ModelSpec> spec;
};

FolderStatus FolderImport::fail(const std::string &file,
                                const std::string &message,
                                std::vector<std::string> notes,
                                FolderStatus status) {
  reader::Message error{reader::Severity::Error, file, message,
                        std::move(notes)};
  errors << error.str(options.format, options.color);
  return status;
}

FolderStatus FolderImport::failed(reader::Diagnostics &diagnostics) {
  diagnostics.print(errors, options.format, options.color);
  return FolderStatus::Rejected;
}

/// One file of a name that all libraries know, or several and their index. Any
/// other is named on the command line.
std::string FolderImport::findWeights() const {
  for (const char *name :
       {"model.safetensors", "model.safetensors.index.json"}) {
    if (exists(inFolder(options.path, name))) {
      return inFolder(options.path, name);
    }
  }
  return "";
}

/// The file of the description for a configuration; empty after a mistake.
std::string FolderImport::chooseDescription(Config &config) {
  const reader::Node *type = config.find("model_type");
  if (!type || !type->is(reader::Node::Kind::String)) {
    config.errorAtStart("key \"model_type\" is missing: it says which "
                        "description the folder is for");
    return "";
  }
  ModelLibrary library(options.models);
  for (const std::string &missing : library.unreadable()) {
    fail(missing, "cannot read this folder of descriptions");
  }
  std::vector<std::string> paths = library.find(type->text);
  if (paths.size() == 1) {
    return paths[0];
  }
  if (paths.empty()) {
    reader::Diagnostic &unknown = config.error(
        *type, "no description is for models of type " + inQuotes(type->text));
    config.diagnostics().suggestFrom(unknown, type->text, library.modelTypes());
    unknown.notes.push_back(
        {"--models=DIR takes descriptions of your own", std::nullopt});
    return "";
  }
  config.error(*type, "two descriptions are for models of type " +
                          inQuotes(type->text) + ": " +
                          reader::printable(paths[0]) + " and " +
                          reader::printable(paths[1]));
  return "";
}

FolderStatus FolderImport::readDescription() {
  auto source =
      reader::Source::read(folder.description, reader::Limits().bytes);
  if (!source) {
    return fail(folder.description,
                std::string("cannot read: ") + std::strerror(errno), {},
                FolderStatus::Unreadable);
  }
  reader::Diagnostics diagnostics(std::move(source));
  spec = readModelSpec(diagnostics);
  return diagnostics.hasErrors() || !spec ? failed(diagnostics)
                                          : FolderStatus::Ok;
}

/// What a configuration decides, the command line cannot say otherwise.
void FolderImport::checkOverrides(Config &config, const KeyReading &reading) {
  for (const auto &[name, value] : reading.parameters) {
    for (const ParameterOverride &given : options.overrides) {
      if (given.name == name && given.text != value.str()) {
        config.diagnostics().errorElsewhere(
            "the file says " + name + "=" + reader::printable(value.str()) +
            ", but " + given.origin + " says " + reader::printable(given.text));
      }
    }
  }
}

/// Images of another size than the model has places for are a mistake, unless
/// the description makes the model for that size.
void FolderImport::checkSide(Config &config, const CheckpointSpec &source) {
  constexpr std::string_view given = "image.side";
  const Scalar *side = config.findAdded(given);
  std::string wanted = "image_size";
  for (const ConfigSetting &setting : source.config->set) {
    for (const std::string &key : setting.keys()) {
      side = key == given ? nullptr : side;
      // A model of images and of something else has an object for each.
      wanted = std::string_view(key).substr(key.rfind('.') + 1) == "image_size"
                   ? key
                   : wanted;
    }
  }
  const reader::Node *size = config.find(wanted);
  if (side && size && size->is(reader::Node::Kind::Integer) &&
      size->integer != side->integer) {
    config.error(*size, "key " + inQuotes(config.nameOf(wanted)) + " is " +
                            config.textOf(*size) +
                            ", and preprocessor_config.json makes images of " +
                            side->str() + " by " + side->str());
  }
}

FolderStatus FolderImport::run() {
  folder.path = options.path;
  std::string path = inFolder(options.path, "config.json");
  auto source = reader::Source::read(path, reader::Limits().bytes);
  if (!source) {
    return fail(path, std::string("cannot read: ") + std::strerror(errno),
                {"a folder of a model has a config.json, which says what the "
                 "model is"},
                FolderStatus::Unreadable);
  }
  Config config(std::move(source));
  folder.description = config.isRead() ? chooseDescription(config) : "";
  if (folder.description.empty()) {
    return failed(config.diagnostics());
  }
  if (FolderStatus status = readDescription(); status != FolderStatus::Ok) {
    return status;
  }
  const CheckpointSpec *checkpoint =
      findConfigSource(*spec, config.wordOf("model_type"));
  folder.files = {path, folder.description};
  auto print = [&](const reader::Diagnostics &wrong) {
    wrong.print(errors, options.format, options.color);
  };
  folder.modules = std::make_shared<SentenceModules>(options.path);
  const SentenceModules &modules = *folder.modules;
  modules.tellMistakes(print);
  ImageProcessor images(options.path, print);
  if ((modules.arePresent() && !modules.areRead()) || !images.isRight()) {
    return FolderStatus::Rejected;
  }
  KeyChoices choices = options.choices;
  if (modules.arePresent() && choices.task.empty()) {
    choices.task = "embed";
  }
  modules.addTo(config);
  images.addTo(config);
  if (!images.file().empty()) {
    folder.files.push_back(images.file());
  }
  folder.files.insert(folder.files.end(), modules.files().begin(),
                      modules.files().end());
  KeyReading reading = readKeys(*spec, *checkpoint, config, choices);
  checkOverrides(config, reading);
  checkSide(config, *checkpoint);
  folder.fates = std::move(reading.fates);
  folder.deciding = std::move(reading.deciding);
  if (config.diagnostics().hasErrors()) {
    return failed(config.diagnostics());
  }
  folder.checkpoint = checkpoint->name;
  folder.text = settledText(*spec, *checkpoint, reading.parameters);
  folder.weights = findWeights();
  if (!folder.weights.empty()) {
    folder.files.push_back(folder.weights);
  }
  for (const SentenceModules::TensorsOfModule &file : modules.tensors()) {
    folder.files.push_back(file.path);
  }
  return FolderStatus::Ok;
}

} // namespace

bool isModelFolder(const std::string &path) {
  std::error_code code;
  return fs::is_directory(path, code);
}

FolderStatus importFolder(const FolderOptions &options, ImportedFolder &folder,
                          std::ostream &errors) {
  return FolderImport(options, folder, errors).run();
}

} // namespace hova::frontend
