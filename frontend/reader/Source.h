//===- Source.h - A file's text with places in it -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Every message of the frontend names a place. A place is a byte range; lines
// and columns are computed only when a message is printed.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_FRONTEND_READER_SOURCE_H
#define HOVA_FRONTEND_READER_SOURCE_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace hova::reader {

/// Bytes [begin, end) of a source.
struct Range {
  size_t begin = 0;
  size_t end = 0;
};

/// Line and column, both from 1; the column counts code points.
struct Position {
  size_t line = 1;
  size_t column = 1;
};

/// The text of one file, with what it takes to find lines and columns in it.
class Source {
public:
  Source(std::string name, std::string text);

  /// The text of a file, a FIFO or a device: at most `limit` bytes and one
  /// more, by which a longer one is recognised. Null, with errno, if it cannot
  /// be read.
  static std::shared_ptr<const Source> read(const std::string &path,
                                            size_t limit);

  const std::string &name() const { return fileName; }
  std::string_view text() const { return contents; }

  /// The position of a byte; bytes after the end count as the end.
  Position position(size_t offset) const;

  /// The byte at a position; past the end of its line or of the text, that end.
  size_t offset(Position place) const;

  /// The text of line `line` (from 1) without its line break.
  std::string_view line(size_t line) const;

  /// The offset of the first byte of line `line` (from 1).
  size_t lineStart(size_t line) const;

  /// The place in the file of byte `decoded` of a string whose token, quotes
  /// included, is `token`. Escapes make the two differ.
  size_t offsetInString(Range token, size_t decoded) const;

private:
  /// What lies before a byte: a file may be one line of 16 MiB or nothing but
  /// line breaks, so this is kept for a few bytes and counted on from there.
  struct Mark {
    size_t points = 0;
    size_t lines = 0;
    /// Where the line of the byte starts.
    size_t lineStart = 0;
  };
  /// Of any byte, or the end.
  Mark markAt(size_t offset) const;
  void advance(Mark &mark, size_t from, size_t to) const;

  std::string fileName;
  std::string contents;
  std::vector<Mark> marks;
};

} // namespace hova::reader

#endif // HOVA_FRONTEND_READER_SOURCE_H
