//===- NotJson.cpp - What other notations have and JSON has not -----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "frontend/reader/NotJson.h"
#include "frontend/reader/Text.h"

#include <algorithm>

namespace hova::reader {

static bool isBlank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool isWordByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         (c >= '0' && c <= '9');
}

/// The end of the line, or of the comment in stars, that starts at `at`.
static size_t commentEnd(std::string_view text, size_t at) {
  bool isStarred = text.substr(at, 2) == "/*";
  size_t end = isStarred ? text.find("*/", at + 2) : text.find('\n', at);
  return std::min(end == std::string_view::npos ? text.size()
                                                : end + (isStarred ? 2 : 0),
                  text.size());
}

/// The end of the string in single quotes that starts at `at`, on its line.
static size_t quotedEnd(std::string_view text, size_t at) {
  size_t end = text.find_first_of("'\n", at + 1);
  return end == std::string_view::npos || text[end] == '\n' ? at + 1 : end + 1;
}

static NotJson singleQuotes(std::string_view text, size_t at) {
  Range range{at, quotedEnd(text, at)};
  std::string inside;
  if (range.end > at + 1) {
    inside = std::string(text.substr(at + 1, range.end - at - 2));
  }
  bool isPlain =
      range.end > at + 1 && inside.find_first_of("\"\\") == std::string::npos;
  return {range, "a string of JSON stands in double quotes",
          isPlain ? std::optional('"' + inside + '"') : std::nullopt};
}

static std::optional<NotJson> bareWord(std::string_view text, size_t at,
                                       bool wantsKey) {
  size_t end = at;
  while (end < text.size() && isWordByte(text[end])) {
    ++end;
  }
  std::string_view word = text.substr(at, end - at);
  if (wantsKey) {
    return NotJson{{at, end},
                   "the key " + printable(word) + " must stand in quotes",
                   '"' + std::string(word) + '"'};
  }
  if (word == "true" || word == "false" || word == "null") {
    return std::nullopt; // misplaced, but JSON
  }
  constexpr std::string_view words[][2] = {
      {"True", "true"},      {"False", "false"}, {"None", "null"},
      {"undefined", "null"}, {"TRUE", "true"},   {"FALSE", "false"},
      {"NULL", "null"},      {"Null", "null"},   {"nil", "null"},
      {"yes", "true"},       {"no", "false"},    {"on", "true"},
      {"off", "false"}};
  for (const auto &[foreign, json] : words) {
    if (word == foreign) {
      return NotJson{{at, end},
                     std::string(foreign) + " is " + std::string(json) +
                         " in JSON",
                     std::string(json)};
    }
  }
  for (std::string_view name : {"NaN", "nan", "Infinity", "inf"}) {
    if (word == name) {
      return NotJson{{at, end},
                     "JSON has no number " + std::string(name) +
                         "; a description needs finite ones"};
    }
  }
  return NotJson{{at, end},
                 "the word " + printable(word) +
                     " must stand in quotes; without them JSON has true, "
                     "false and null"};
}

std::optional<NotJson> recognizeNotJson(std::string_view text, size_t at,
                                        bool wantsKey) {
  if (at >= text.size()) {
    return std::nullopt;
  }
  char first = text[at];
  bool isComment =
      first == '#' || text.substr(at, 2) == "//" || text.substr(at, 2) == "/*";
  if (isComment) {
    return NotJson{{at, commentEnd(text, at)},
                   "JSON has no comments; \"metadata\" takes any remark",
                   ""};
  }
  if (first == '\'') {
    return singleQuotes(text, at);
  }
  if (first == '}' || first == ']') {
    size_t before = at;
    while (before > 0 && isBlank(text[before - 1])) {
      --before;
    }
    if (before > 0 && text[before - 1] == ',') {
      return NotJson{{before - 1, before},
                     std::string("a comma in front of '") + first +
                         "'; after the last entry there is none",
                     ""};
    }
    return std::nullopt;
  }
  if (first == '+' || first == '.') {
    return NotJson{{at, at + 1},
                   "a number of JSON starts with a digit or '-', not with '" +
                       std::string(1, first) + "'"};
  }
  bool startsWord = isWordByte(first) && !(first >= '0' && first <= '9');
  return startsWord ? bareWord(text, at, wantsKey) : std::nullopt;
}

} // namespace hova::reader
