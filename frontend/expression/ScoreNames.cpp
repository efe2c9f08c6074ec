//===- ScoreNames.cpp - What only scores have names for -------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "frontend/expression/ScoreNames.h"

namespace hova::frontend {

const std::vector<std::string> &scoreNames() {
  // In the order of the enumeration.
  static const std::vector<std::string> names = {
      "score", "batch", "head", "query", "key", "heads", "queries", "keys"};
  return names;
}

std::optional<ScoreName> findScoreName(std::string_view name) {
  const std::vector<std::string> &names = scoreNames();
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) {
      return static_cast<ScoreName>(i);
    }
  }
  return std::nullopt;
}

} // namespace hova::frontend
