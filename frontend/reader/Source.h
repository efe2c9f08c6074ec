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

/// The text of one file and its table of line starts.
class Source {
public:
  Source(std::string name, std::string text);

  const std::string &name() const { return fileName; }
  std::string_view text() const { return contents; }

  /// The position of a byte; bytes behind the end count as the end.
  Position position(size_t offset) const;

  /// The text of line `line` (from 1) without its line break.
  std::string_view line(size_t line) const;

  /// The offset of the first byte of line `line` (from 1).
  size_t lineStart(size_t line) const { return lineStarts[line - 1]; }

  /// The place in the file of byte `decoded` of a string whose token, quotes
  /// included, is `token`. Escapes make the two differ.
  size_t offsetInString(Range token, size_t decoded) const;

private:
  /// Code points before `offset`.
  size_t codePoints(size_t offset) const;

  std::string fileName;
  std::string contents;
  std::vector<size_t> lineStarts;
  std::vector<size_t> pointsBefore;
};

} // namespace hova::reader

#endif // HOVA_FRONTEND_READER_SOURCE_H
