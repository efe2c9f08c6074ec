//===- Text.cpp - Text of files, fit for a terminal -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "frontend/reader/Text.h"

#include <cstdint>
#include <cstdio>

namespace hova::reader {

namespace {

/// Longer names in messages are cut: nobody reads them.
constexpr size_t maxShownText = 120;

/// Stands for one byte that is not UTF-8.
constexpr uint32_t broken = 0xFFFD;

/// The code point at `at`, which moves behind it; broken bytes come one at a
/// time.
uint32_t decode(std::string_view text, size_t &at) {
  unsigned char lead = static_cast<unsigned char>(text[at++]);
  if (lead < 0x80) {
    return lead;
  }
  size_t more = lead >= 0xF8   ? 0
                : lead >= 0xF0 ? 3
                : lead >= 0xE0 ? 2
                : lead >= 0xC0 ? 1
                               : 0;
  if (more == 0 || at + more > text.size()) {
    return broken;
  }
  uint32_t point = lead & (0x3Fu >> more);
  for (size_t i = 0; i < more; ++i) {
    unsigned char next = static_cast<unsigned char>(text[at + i]);
    if ((next & 0xC0) != 0x80) {
      return broken;
    }
    point = point << 6 | (next & 0x3Fu);
  }
  // A code point has one spelling, the shortest; halves of pairs are none.
  constexpr uint32_t least[] = {0, 0x80, 0x800, 0x10000};
  bool isHalf = point >= 0xD800 && point <= 0xDFFF;
  if (point < least[more] || point > 0x10FFFF || isHalf) {
    return broken;
  }
  at += more;
  return point;
}

/// Controls, marks that reorder text, and what is invisible: they would let a
/// file forge what a terminal shows.
bool isUnsafe(uint32_t point) {
  constexpr uint32_t ranges[][2] = {
      {0x00, 0x1F},     {0x7F, 0x9F},     {0xAD, 0xAD},     {0x61C, 0x61C},
      {0x180E, 0x180E}, {0x200B, 0x200F}, {0x2028, 0x202E}, {0x2060, 0x206F},
      {0x3164, 0x3164}, {0xFEFF, 0xFEFF}, {0xFFF9, 0xFFFD}, {0xE0000, 0xE0FFF}};
  for (const auto &range : ranges) {
    if (point >= range[0] && point <= range[1]) {
      return true;
    }
  }
  return false;
}

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
  size_t begin = at;
  uint32_t point = decode(text, at);
  if (point == '\t') {
    out += "  ";
    return 2;
  }
  if (!isUnsafe(point)) {
    out += text.substr(begin, at - begin);
    return displayWidth(point);
  }
  bool isByte = point == broken && at == begin + 1;
  std::string escape =
      isByte ? formatted("\\x%02x", static_cast<unsigned char>(text[begin]))
             : formatted("\\u%04x", point);
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
    size_t begin = at;
    uint32_t point = decode(text, at);
    if (point == '"' || point == '\\') {
      out += '\\';
      out += static_cast<char>(point);
    } else if (isUnsafe(point) && point > 0xFFFF) {
      out += formatted("\\u%04x\\u%04x", 0xD7C0 + (point >> 10),
                       0xDC00 + (point & 0x3FF));
    } else if (isUnsafe(point)) {
      out += formatted("\\u%04x", point);
    } else {
      out += text.substr(begin, at - begin);
    }
  }
  return out;
}

} // namespace hova::reader
