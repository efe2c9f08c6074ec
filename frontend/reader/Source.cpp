//===- Source.cpp - A file's text with places in it -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "frontend/reader/Source.h"

#include <algorithm>

namespace hova::reader {

/// Bytes between two entries of the table of code points: a file may be one
/// line of 16 MiB, and every operation has a place in it.
static constexpr size_t stride = 4096;

/// A continuation byte belongs to the code point before it.
static bool startsCodePoint(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
}

Source::Source(std::string name, std::string text)
    : fileName(std::move(name)), contents(std::move(text)) {
  lineStarts.push_back(0);
  size_t points = 0;
  for (size_t i = 0; i < contents.size(); ++i) {
    if (i % stride == 0) {
      pointsBefore.push_back(points);
    }
    points += startsCodePoint(contents[i]);
    if (contents[i] == '\n') {
      lineStarts.push_back(i + 1);
    }
  }
  pointsBefore.push_back(points);
}

size_t Source::codePoints(size_t offset) const {
  size_t entry = offset / stride;
  size_t points = pointsBefore[entry];
  for (size_t i = entry * stride; i < offset; ++i) {
    points += startsCodePoint(contents[i]);
  }
  return points;
}

Position Source::position(size_t offset) const {
  offset = std::min(offset, contents.size());
  auto next = std::upper_bound(lineStarts.begin(), lineStarts.end(), offset);
  size_t line = static_cast<size_t>(next - lineStarts.begin());
  return {line, codePoints(offset) - codePoints(lineStarts[line - 1]) + 1};
}

std::string_view Source::line(size_t line) const {
  size_t begin = lineStarts[line - 1];
  size_t end =
      line < lineStarts.size() ? lineStarts[line] - 1 : contents.size();
  if (end > begin && contents[end - 1] == '\r') {
    --end;
  }
  return std::string_view(contents).substr(begin, end - begin);
}

/// The number of bytes of UTF-8 that `\uXXXX` at `at` stands for. The second
/// half of a surrogate pair counts nothing: the first half has paid for both.
static size_t decodedLength(std::string_view text, size_t at) {
  unsigned unit = 0;
  for (size_t i = at + 2; i < at + 6 && i < text.size(); ++i) {
    char c = text[i];
    unit = unit * 16 +
           static_cast<unsigned>(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
  }
  if (unit >= 0xD800 && unit < 0xDC00) {
    return 4;
  }
  if (unit >= 0xDC00 && unit < 0xE000) {
    return 0;
  }
  return unit < 0x80 ? 1 : unit < 0x800 ? 2 : 3;
}

size_t Source::offsetInString(Range token, size_t decoded) const {
  size_t at = token.begin + 1;
  size_t seen = 0;
  while (seen < decoded && at + 1 < token.end) {
    if (contents[at] != '\\') {
      ++seen;
      ++at;
    } else if (contents[at + 1] == 'u') {
      seen += decodedLength(contents, at);
      at += 6;
    } else {
      ++seen;
      at += 2;
    }
  }
  return std::min(at, token.end);
}

} // namespace hova::reader
