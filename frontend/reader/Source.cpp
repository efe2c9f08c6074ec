//===- Source.cpp - A file's text with places in it -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "frontend/reader/Source.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace hova::reader {

/// Bytes between two marks.
static constexpr size_t stride = 4096;

Source::Source(std::string name, std::string text)
    : fileName(std::move(name)), contents(std::move(text)) {
  Mark mark;
  for (size_t at = 0; at < contents.size(); at += stride) {
    marks.push_back(mark);
    advance(mark, at, std::min(at + stride, contents.size()));
  }
  marks.push_back(mark);
}

std::shared_ptr<const Source> Source::read(const std::string &path,
                                           size_t limit) {
  int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    return nullptr;
  }
  // A file that says its size is read into a string of that size.
  struct stat status;
  bool isFile = fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
  size_t room = isFile ? static_cast<size_t>(status.st_size) + 1 : 1 << 16;
  std::string text;
  ssize_t got = 1;
  while (got > 0 && text.size() <= limit) {
    size_t size = text.size();
    room = size < room ? room : size + size / 2;
    text.resize(std::min(limit + 1, room));
    do {
      got = ::read(descriptor, &text[size], text.size() - size);
    } while (got < 0 && errno == EINTR);
    text.resize(size + (got > 0 ? static_cast<size_t>(got) : 0));
  }
  int reason = errno;
  close(descriptor);
  errno = reason;
  return got < 0 ? nullptr
                 : std::make_shared<const Source>(path, std::move(text));
}

void Source::advance(Mark &mark, size_t from, size_t to) const {
  for (size_t i = from; i < to; ++i) {
    char c = contents[i];
    // A continuation byte belongs to the code point before it.
    mark.points += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    if (c == '\n') {
      ++mark.lines;
      mark.lineStart = i + 1;
    }
  }
}

Source::Mark Source::markAt(size_t offset) const {
  Mark mark = marks[offset / stride];
  advance(mark, offset / stride * stride, offset);
  return mark;
}

Position Source::position(size_t offset) const {
  offset = std::min(offset, contents.size());
  Mark mark = markAt(offset);
  return {mark.lines + 1, mark.points - markAt(mark.lineStart).points + 1};
}

size_t Source::offset(Position place) const {
  if (place.line > markAt(contents.size()).lines + 1) {
    return contents.size();
  }
  size_t at = lineStart(place.line);
  size_t end = at + line(place.line).size();
  for (size_t column = 1; column < place.column && at < end; ++column) {
    do {
      ++at;
    } while (at < end &&
             (static_cast<unsigned char>(contents[at]) & 0xC0) == 0x80);
  }
  return at;
}

size_t Source::lineStart(size_t line) const {
  // The last mark before the line, then its first byte.
  auto next = std::lower_bound(
      marks.begin(), marks.end(), line - 1,
      [](const Mark &mark, size_t lines) { return mark.lines < lines; });
  size_t at = next == marks.begin()
                  ? 0
                  : static_cast<size_t>(next - marks.begin() - 1) * stride;
  for (size_t lines = marks[at / stride].lines; lines < line - 1; ++at) {
    lines += contents[at] == '\n';
  }
  return line == 1 ? 0 : at;
}

std::string_view Source::line(size_t line) const {
  size_t begin = lineStart(line);
  size_t end = std::min(contents.find('\n', begin), contents.size());
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
