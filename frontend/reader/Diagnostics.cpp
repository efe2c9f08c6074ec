//===- Diagnostics.cpp - Located messages about a description -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "frontend/reader/Diagnostics.h"

#include <algorithm>
#include <cstdio>

namespace hova::reader {

namespace {

/// Longer names in messages are cut: nobody reads them.
constexpr size_t maxShownText = 120;
/// A longer source line is shown in part.
constexpr size_t maxShownLine = 160;

/// The code point at `at`, which moves behind it; broken bytes decode to U+FFFD
/// one at a time.
uint32_t decode(std::string_view text, size_t &at) {
  unsigned char lead = static_cast<unsigned char>(text[at++]);
  if (lead < 0x80) {
    return lead;
  }
  size_t more = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : lead >= 0xC0 ? 1 : 0;
  if (more == 0 || at + more > text.size()) {
    return 0xFFFD;
  }
  uint32_t point = lead & (0x3Fu >> more);
  for (size_t i = 0; i < more; ++i) {
    unsigned char next = static_cast<unsigned char>(text[at + i]);
    if ((next & 0xC0) != 0x80) {
      return 0xFFFD;
    }
    point = point << 6 | (next & 0x3Fu);
  }
  at += more;
  return point;
}

/// Control characters, marks that reorder text, and zero-width ones: they would
/// let a file forge what a terminal shows.
bool isUnsafe(uint32_t point) {
  return point < 0x20 || (point >= 0x7F && point < 0xA0) ||
         (point >= 0x200B && point <= 0x200F) ||
         (point >= 0x2028 && point <= 0x202E) ||
         (point >= 0x2060 && point <= 0x206F) || point == 0xFEFF ||
         point == 0xFFFD;
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

/// Appends one code point, escaped if unsafe; returns its width on screen.
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
  char escape[16];
  if (point == 0xFFFD && at == begin + 1) {
    std::snprintf(escape, sizeof(escape), "\\x%02x",
                  static_cast<unsigned char>(text[begin]));
  } else {
    std::snprintf(escape, sizeof(escape), "\\u%04x", point);
  }
  out += escape;
  return std::string_view(escape).size();
}

} // namespace

std::string printable(std::string_view text) {
  std::string shown;
  size_t at = 0;
  while (at < text.size()) {
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
  std::string escaped;
  size_t at = 0;
  while (at < text.size()) {
    size_t begin = at;
    uint32_t point = decode(text, at);
    if (point == '"' || point == '\\') {
      escaped += '\\';
      escaped += static_cast<char>(point);
    } else if (point < 0x20 || point == 0x7F || point == 0xFFFD) {
      char escape[16];
      std::snprintf(escape, sizeof(escape), "\\u%04x", point);
      escaped += escape;
    } else {
      escaped += text.substr(begin, at - begin);
    }
  }
  return escaped;
}

Diagnostic &Diagnostics::error(Range range, std::string message,
                               std::string pointer) {
  ++reported;
  if (isFull()) {
    repeated = {};
    return repeated;
  }
  for (Diagnostic &known : errors) {
    if (known.range.begin == range.begin && known.message == message) {
      repeated = {};
      return repeated;
    }
  }
  errors.push_back(
      {std::move(message), range, std::move(pointer), {}, {}, true});
  return errors.back();
}

Diagnostic &Diagnostics::errorElsewhere(std::string message) {
  Diagnostic &added = error({0, 0}, std::move(message));
  added.placed = false;
  return added;
}

void Diagnostics::suggest(Diagnostic &diagnostic,
                          const std::string &word) const {
  diagnostic.notes.push_back(
      {"did you mean " + inQuotes(word) + "?", std::nullopt});
  if (diagnostic.placed && diagnostic.range.begin < file->text().size()) {
    // A whole string keeps its quotes; a part of one has none.
    bool isString = file->text()[diagnostic.range.begin] == '"';
    diagnostic.fixIts.push_back(
        {diagnostic.range, isString ? '"' + word + '"' : word});
  }
}

void Diagnostics::print(std::ostream &out, DiagnosticFormat format,
                        bool color) const {
  std::vector<const Diagnostic *> sorted;
  for (const Diagnostic &diagnostic : errors) {
    sorted.push_back(&diagnostic);
  }
  // All of them lie in one array: at equal places the first one stays first.
  std::sort(sorted.begin(), sorted.end(),
            [](const Diagnostic *a, const Diagnostic *b) {
              return a->range.begin != b->range.begin
                         ? a->range.begin < b->range.begin
                         : a < b;
            });
  for (size_t i = 0; i < sorted.size() && i < maxPrinted; ++i) {
    if (format == DiagnosticFormat::Json) {
      printJson(out, *sorted[i]);
    } else {
      printText(out, *sorted[i], color);
    }
  }
  if (sorted.size() > maxPrinted && format == DiagnosticFormat::Text) {
    out << printable(file->name()) << ": " << sorted.size()
        << (sorted.size() < maxKept ? "" : " or more") << " errors, the first "
        << maxPrinted << " shown\n";
  }
}

void Diagnostics::printExcerpt(std::ostream &out, Range range,
                               bool color) const {
  Position start = file->position(range.begin);
  std::string_view line = file->line(start.line);
  size_t column = std::min(std::min(range.begin, file->text().size()) -
                               file->lineStart(start.line),
                           line.size());
  size_t from = column > maxShownLine / 2 ? column - maxShownLine / 2 : 0;
  while (from > 0 && (static_cast<unsigned char>(line[from]) & 0xC0) == 0x80) {
    --from;
  }
  std::string shown = from > 0 ? "..." : "";
  size_t before = shown.size();
  size_t marked = 0;
  size_t length = std::max(range.end, range.begin + 1) - range.begin;
  for (size_t at = from; at < line.size() && at < from + maxShownLine;) {
    size_t begin = at;
    size_t width = appendShown(shown, line, at);
    if (begin < column) {
      before += width;
    } else if (begin < column + length) {
      marked += width;
    }
  }
  std::string number = std::to_string(start.line);
  std::string margin(number.size() < 5 ? 5 - number.size() : 0, ' ');
  out << margin << number << " | " << shown << '\n'
      << std::string(margin.size() + number.size(), ' ') << " | "
      << std::string(before, ' ') << (color ? "\033[32m" : "") << '^'
      << std::string(marked > 1 ? marked - 1 : 0, '~')
      << (color ? "\033[0m" : "") << '\n';
}

void Diagnostics::printText(std::ostream &out, const Diagnostic &diagnostic,
                            bool color) const {
  Position start = file->position(diagnostic.range.begin);
  out << printable(file->name()) << ':';
  if (diagnostic.placed) {
    out << start.line << ':' << start.column << ':';
  }
  out << (color ? " \033[31merror:\033[0m " : " error: ") << diagnostic.message
      << '\n';
  if (diagnostic.placed) {
    printExcerpt(out, diagnostic.range, color);
  }
  if (!diagnostic.pointer.empty()) {
    out << "  at " << printable(diagnostic.pointer) << '\n';
  }
  for (const Note &note : diagnostic.notes) {
    if (!note.range) {
      out << "  note: " << note.message << '\n';
      continue;
    }
    Position place = file->position(note.range->begin);
    out << "  " << printable(file->name()) << ':' << place.line << ':'
        << place.column << ": note: " << note.message << '\n';
    printExcerpt(out, *note.range, color);
  }
}

void Diagnostics::printJson(std::ostream &out,
                            const Diagnostic &diagnostic) const {
  Position start = file->position(diagnostic.range.begin);
  Position end = file->position(diagnostic.range.end);
  out << "{\"severity\":\"error\",\"message\":\""
      << jsonEscaped(diagnostic.message) << "\",\"file\":\""
      << jsonEscaped(file->name()) << "\",\"line\":" << start.line
      << ",\"column\":" << start.column << ",\"end_line\":" << end.line
      << ",\"end_column\":" << end.column << ",\"pointer\":\""
      << jsonEscaped(diagnostic.pointer) << "\",\"notes\":[";
  for (size_t i = 0; i < diagnostic.notes.size(); ++i) {
    const Note &note = diagnostic.notes[i];
    out << (i > 0 ? "," : "") << "{\"message\":\"" << jsonEscaped(note.message)
        << '"';
    if (note.range) {
      Position place = file->position(note.range->begin);
      out << ",\"line\":" << place.line << ",\"column\":" << place.column;
    }
    out << '}';
  }
  out << "],\"fixits\":[";
  for (size_t i = 0; i < diagnostic.fixIts.size(); ++i) {
    const FixIt &fix = diagnostic.fixIts[i];
    out << (i > 0 ? "," : "") << "{\"begin\":" << fix.range.begin
        << ",\"end\":" << fix.range.end << ",\"replacement\":\""
        << jsonEscaped(fix.replacement) << "\"}";
  }
  out << "]}\n";
}

} // namespace hova::reader
