//===- ConfigBeside.h - The configuration beside a file of weights --------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_FRONTEND_FOLDER_CONFIGBESIDE_H
#define HOVA_FRONTEND_FOLDER_CONFIGBESIDE_H

#include "frontend/elaborate/Program.h"
#include "frontend/folder/KeyReader.h"
#include "frontend/folder/SentenceModules.h"

#include <functional>

namespace hova::frontend {

/// A file of weights with a `config.json` beside it.
struct ConfigBeside {
  /// The source that the configuration is for; null: there is no configuration
  /// that the description knows how to read.
  const CheckpointSpec *source = nullptr;
  /// What it decides.
  std::vector<ParameterOverride> parameters;
  DecidingKeys deciding;
};

/// Reads the configuration beside `weights`, where `modules` are, unless
/// `checkpoint` names a source that takes none. Nothing if it was refused,
/// which `print` has been told.
std::optional<ConfigBeside>
readConfigBeside(const ModelSpec &spec, const std::string &weights,
                 const SentenceModules &modules, const std::string &checkpoint,
                 const KeyChoices &choices,
                 const std::function<void(const reader::Diagnostics &)> &print);

} // namespace hova::frontend

#endif // HOVA_FRONTEND_FOLDER_CONFIGBESIDE_H
