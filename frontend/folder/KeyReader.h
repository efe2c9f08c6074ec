//===- KeyReader.h - What the keys of a configuration decide --------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A configuration that is half understood gives a program with wrong numbers
// and no message. So every key has a fate: it decides parameters, it has a
// value that the description requires, the description says that it changes no
// number, or it is one that no inference reads. Any other key is an error.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_FRONTEND_FOLDER_KEYREADER_H
#define HOVA_FRONTEND_FOLDER_KEYREADER_H

#include "frontend/description/ModelSpec.h"
#include "frontend/folder/DecidingKeys.h"

namespace hova::frontend {

/// What a command line says of a configuration.
struct KeyChoices {
  /// The value of the parameter `task`; empty: that of the architecture.
  std::string task;
  /// Keys that are left out although nothing is known of them.
  std::vector<std::string> ignored;
};

/// What became of a key, for people.
struct KeyFate {
  std::string key;
  std::string value;
  /// "decides width, hidden", "ignored by bert".
  std::string fate;
};

struct KeyReading {
  /// Parameters of the description, each once.
  std::vector<std::pair<std::string, Scalar>> parameters;
  /// In the order of the file.
  std::vector<KeyFate> fates;
  DecidingKeys deciding;
};

/// What `config` decides of the model `spec` by its source `source`, which has
/// a `config`. Mistakes are in the diagnostics of `config`.
KeyReading readKeys(const ModelSpec &spec, const CheckpointSpec &source,
                    Config &config, const KeyChoices &choices);

/// The source of `spec` whose configurations have this model type; null: none.
const CheckpointSpec *findConfigSource(const ModelSpec &spec,
                                       std::string_view modelType);

/// Whether a key says how a model was trained, saved or decoded from, and
/// nothing of what it computes.
bool isIdleKey(std::string_view key);

} // namespace hova::frontend

#endif // HOVA_FRONTEND_FOLDER_KEYREADER_H
