//===- JsonText.cpp - JSON that came from elsewhere -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/JsonText.h"

using namespace llvm;

namespace hova {

/// That of reader::Limits.
static constexpr size_t kMostDepth = 64;

/// Brackets that are open at once, as far as the text is JSON.
static size_t depthOf(StringRef text) {
  size_t depth = 0, deepest = 0;
  bool isInString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (isInString) {
      i += c == '\\';
      isInString = c != '"';
    } else if (c == '"') {
      isInString = true;
    } else if (c == '[' || c == '{') {
      deepest = std::max(deepest, ++depth);
    } else if ((c == ']' || c == '}') && depth != 0) {
      --depth;
    }
  }
  return deepest;
}

Expected<json::Value> parseJsonText(StringRef text) {
  size_t depth = depthOf(text);
  if (depth > kMostDepth) {
    return createStringError(std::errc::invalid_argument,
                             "nested %zu deep, and at most %zu are read", depth,
                             kMostDepth);
  }
  return json::parse(text);
}

} // namespace hova
