//===- Folders.cpp - A model's folder in the place of a description -------===//
// SPDX-License-Identifier: Apache-2.0

#include "tools/hova/session/Folders.h"
#include "codegen/program/ShippedFile.h"
#include <sstream>

namespace hova::tool {

/// The folders of descriptions: those of the command line, and those that hova
/// ships.
static std::vector<std::string> modelFolders(const Arguments &arguments) {
  std::vector<std::string> folders = arguments.values(OPT_models);
  llvm::Expected<std::string> shipped = findShippedFile("models");
  if (shipped) {
    folders.push_back(std::move(*shipped));
  } else {
    llvm::consumeError(shipped.takeError());
  }
  return folders;
}

/// What only folders have.
static void refuseIdleOptions(const Arguments &arguments) {
  for (OptionID id : {OPT_models, OPT_task}) {
    if (arguments.has(id)) {
      arguments.usageError("option '" + Arguments::spelling(id) +
                           "' is for the folder of a model, and '" +
                           arguments.model() + "' is none");
    }
  }
  if (arguments.has(OPT_ignore_config) && !arguments.has(OPT_weights)) {
    arguments.usageError("option '--ignore-config' is for a folder, or for "
                         "the config.json beside '--weights'");
  }
}

void openFolder(const Arguments &arguments, frontend::ModelOptions &options) {
  options.choices.task = arguments.value(OPT_task).str();
  options.choices.ignored = arguments.values(OPT_ignore_config);
  if (!frontend::isModelFolder(options.path)) {
    refuseIdleOptions(arguments);
    return;
  }
  if (arguments.failed()) {
    return;
  }
  frontend::FolderOptions folder;
  folder.path = options.path;
  folder.models = modelFolders(arguments);
  folder.choices = options.choices;
  folder.overrides = options.overrides;
  folder.format = options.format;
  folder.color = options.color;
  auto imported = std::make_shared<frontend::ImportedFolder>();
  std::ostringstream errors;
  frontend::FolderStatus status =
      frontend::importFolder(folder, *imported, errors);
  llvm::errs() << errors.str();
  options.folder = imported;
  if (status != frontend::FolderStatus::Ok) {
    arguments.fail(status == frontend::FolderStatus::Unreadable ? InputOutput
                                                                : Rejected);
    return;
  }
  options.path = imported->description;
  options.text = imported->text;
  if (options.weights.empty() && !arguments.has(OPT_init)) {
    // Where there is none, opening the folder says what is wrong.
    options.weights =
        imported->weights.empty() ? folder.path : imported->weights;
    options.modules = imported->modules;
    options.checkpoint =
        options.checkpoint.empty() ? imported->checkpoint : options.checkpoint;
  }
}

} // namespace hova::tool
