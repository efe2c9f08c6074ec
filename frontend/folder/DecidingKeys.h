//===- DecidingKeys.h - Which key a parameter has its value of ------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_FRONTEND_FOLDER_DECIDINGKEYS_H
#define HOVA_FRONTEND_FOLDER_DECIDINGKEYS_H

#include "frontend/folder/Config.h"

namespace hova::frontend {

/// A key that decides a parameter.
struct DecidingKey {
  std::string parameter;
  /// As the file has it or should have it.
  std::string key;
  /// What it is; of a key that is missing, what the parameter is without it.
  std::string value;
  bool isMissing = false;
  /// Whether the parameter is a number that is not above zero.
  bool isNothing = false;
  /// Where it is, or the object that it is missing in. A key of another file
  /// has no place.
  bool hasPlace = false;
  reader::Range range;
  std::string pointer;
};

struct DecidingKeys {
  /// The configuration.
  std::shared_ptr<const reader::Source> source;
  std::vector<DecidingKey> keys;
};

/// What is to say of `key` if the value `given` that it gives `parameter` is a
/// mistake.
DecidingKey decidingKey(const Config &config, std::string_view key,
                        std::string parameter, const Scalar &given);

} // namespace hova::frontend

#endif // HOVA_FRONTEND_FOLDER_DECIDINGKEYS_H
