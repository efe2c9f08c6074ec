//===- DecidingKeys.cpp - Which key a parameter has its value of ----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "frontend/folder/DecidingKeys.h"
#include "frontend/reader/Text.h"

#include <algorithm>

namespace hova::frontend {

DecidingKey decidingKey(const Config &config, std::string_view key,
                        std::string parameter, const Scalar &given) {
  DecidingKey result;
  result.parameter = std::move(parameter);
  result.isNothing = given.isNumber() && given.real <= 0;
  if (const Scalar *added = config.findAdded(key)) {
    result.key = key;
    result.value = reader::printable(added->str());
    return result;
  }
  const reader::Node *node = config.find(key);
  result.isMissing = !node;
  result.value = node ? config.textOf(*node) : reader::printable(given.str());
  // What is missing is so in the object that would have it.
  std::string below;
  while (!node) {
    size_t dot = key.rfind('.');
    below = "." + std::string(key.substr(dot + 1)) + below;
    key = key.substr(0, dot == std::string_view::npos ? 0 : dot);
    node = key.empty() ? &config.root() : config.find(key);
  }
  result.hasPlace = true;
  result.pointer = node->pointer();
  result.range = node->range;
  result.key = result.pointer.substr(result.pointer.empty() ? 0 : 1) + below;
  std::replace(result.key.begin(), result.key.end(), '/', '.');
  if (result.isMissing) {
    result.key = result.key.substr(result.key[0] == '.');
    result.range.end = result.range.begin + 1;
  }
  return result;
}

} // namespace hova::frontend
