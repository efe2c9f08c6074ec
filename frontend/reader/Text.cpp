//===- Text.cpp - Text of files, fit for a terminal -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "frontend/reader/Text.h"
#include "runtime/Text.h"

#include <cstdint>
#include <cstdio>

namespace hova::reader {

namespace {

/// Longer names in messages are cut: nobody reads them.
constexpr size_t maxShownText = 120;

/// The next code point of a text, or a byte that begins none.
struct Character {
  uint32_t point = 0;
  std::string_view bytes;
  bool isPlain = false; ///< may be printed as it is

  /// Takes the one at `at`, which moves after it.
  Character(std::string_view text, size_t &at) {
    hova_cursor cursor = {
        {reinterpret_cast<const uint8_t *>(text.data()), text.size()}, at};
    isPlain = hova_take_shown(&cursor, &point);
    bytes = text.substr(at, cursor.at - at);
    at = cursor.at;
  }
};

/// Columns that a terminal gives a code point.
size_t displayWidth(uint32_t point) {
  if (point >= 0x0300 && point <= 0x036F) {
    return 0;
  }
  bool wide = (point >= 0x1100 && point <= 0x115F) ||
              (point >= 0x2E80 && point <= 0xA4CF) ||
              (point >= 0xAC00 && point <= 0xD7A3) ||
              (point >= 0xF900 && point <= 0xFAFF) ||
              (point >= 0xFE30 && point <= 0xFE6F) ||
              (point >= 0xFF00 && point <= 0xFF60) ||
              (point >= 0xFFE0 && point <= 0xFFE6) ||
              (point >= 0x1F300 && point <= 0x1FAFF) ||
              (point >= 0x20000 && point <= 0x3FFFD);
  return wide ? 2 : 1;
}

template <typename... Values>
std::string formatted(const char *format, Values... values) {
  char buffer[32];
  std::snprintf(buffer, sizeof(buffer), format, values...);
  return buffer;
}

} // namespace

size_t appendShown(std::string &out, std::string_view text, size_t &at) {
  Character next(text, at);
  if (next.point == '\t') {
    out += "  ";
    return 2;
  }
  if (next.isPlain) {
    out += next.bytes;
    return displayWidth(next.point);
  }
  // Of what is not plain, only a broken byte is one byte and no ASCII.
  unsigned char byte = static_cast<unsigned char>(next.bytes.front());
  bool isBroken = next.bytes.size() == 1 && byte >= 0x80;
  std::string escape =
      isBroken ? formatted("\\x%02x", byte) : formatted("\\u%04x", next.point);
  out += escape;
  return escape.size();
}

std::string escaped(std::string_view text) {
  std::string shown;
  for (size_t at = 0; at < text.size();) {
    appendShown(shown, text, at);
  }
  return shown;
}

std::string escapedLines(std::string_view text) {
  std::string shown;
  for (size_t at = 0; at < text.size();) {
    if (text[at] == '\n') {
      shown += text[at++];
    } else {
      appendShown(shown, text, at);
    }
  }
  return shown;
}

std::string printable(std::string_view text) {
  std::string shown;
  for (size_t at = 0; at < text.size();) {
    if (shown.size() > maxShownText) {
      return shown + "...";
    }
    appendShown(shown, text, at);
  }
  return shown;
}

std::string inQuotes(std::string_view text) {
  return '"' + printable(text) + '"';
}

std::string jsonEscaped(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    Character next(text, at);
    if (next.point == '"' || next.point == '\\') {
      out += '\\';
      out += next.bytes;
    } else if (next.isPlain) {
      out += next.bytes;
    } else if (next.point > 0xFFFF) {
      out += formatted("\\u%04x\\u%04x", 0xD7C0 + (next.point >> 10),
                       0xDC00 + (next.point & 0x3FF));
    } else {
      out += formatted("\\u%04x", next.point);
    }
  }
  return out;
}

bool matchGlob(std::string_view pattern, std::string_view name) {
  // The last star takes the blame for a mismatch: one step back is enough.
  size_t p = 0, n = 0, star = std::string_view::npos, restart = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      restart = n;
    } else if (p < pattern.size() && pattern[p] == name[n]) {
      ++p;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++restart;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') {
    ++p;
  }
  return p == pattern.size();
}

} // namespace hova::reader
