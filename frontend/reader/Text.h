//===- Text.h - Text of files, fit for a terminal -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Names come from files that somebody else has written. A control character in
// one of them could clear the screen, a mark that reorders text could make a
// message say the opposite, and broken UTF-8 can stop the program that reads
// it. Whatever is printed passes through here.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_FRONTEND_READER_TEXT_H
#define HOVA_FRONTEND_READER_TEXT_H

#include <string>
#include <string_view>

namespace hova::reader {

/// `text` with control characters, marks that reorder text, invisible ones and
/// bytes that are not UTF-8 written as `\u202e` and `\x9b`. The result is its
/// own escaped form.
std::string escaped(std::string_view text);

/// The same line by line: line breaks stay.
std::string escapedLines(std::string_view text);

/// A name for use inside a message: escaped, and cut where it is long.
std::string printable(std::string_view text);

/// `"text"`, printable.
std::string inQuotes(std::string_view text);

/// `text` as the inside of a JSON string, in which everything that `escaped`
/// would change is a JSON escape.
std::string jsonEscaped(std::string_view text);

/// Appends the code point at `at`, escaped if need be, and moves `at` after
/// it; returns its width on screen.
size_t appendShown(std::string &out, std::string_view text, size_t &at);

/// Whether `name` fits `pattern`, in which `*` stands for anything.
bool matchGlob(std::string_view pattern, std::string_view name);

} // namespace hova::reader

#endif // HOVA_FRONTEND_READER_TEXT_H
