//===- NotJson.h - What other notations have and JSON has not -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A comment is no "invalid literal": whoever comes from JavaScript, Python or
// YAML is told which of their habits JSON does without.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_FRONTEND_READER_NOTJSON_H
#define HOVA_FRONTEND_READER_NOTJSON_H

#include "frontend/reader/Source.h"

#include <optional>
#include <string>
#include <string_view>

namespace hova::reader {

struct NotJson {
  /// What is written there.
  Range range;
  std::string message;
  /// What to write in its place; none where that is not known.
  std::optional<std::string> replacement = {};
};

/// What the token of `text` at `at`, which no JSON has there, was meant to be.
/// `wantsKey`: a key of an object is expected. Nothing where it is no habit of
/// another notation.
std::optional<NotJson> recognizeNotJson(std::string_view text, size_t at,
                                        bool wantsKey);

} // namespace hova::reader

#endif // HOVA_FRONTEND_READER_NOTJSON_H
