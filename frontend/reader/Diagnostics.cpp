//===- Diagnostics.cpp - Located messages about a description -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "frontend/reader/Diagnostics.h"
#include "frontend/reader/Suggest.h"

#include <algorithm>

namespace hova::reader {

namespace {

/// A longer source line is shown in part.
constexpr size_t maxShownLine = 160;
/// Names in a list of what there is.
constexpr size_t maxListed = 64;

const char *name(Severity severity) {
  return severity == Severity::Error     ? "error"
         : severity == Severity::Warning ? "warning"
                                         : "note";
}

/// `text`, in a colour of terminals if `color`.
std::string inColor(const char *sequence, const std::string &text, bool color) {
  return color ? sequence + text + "\033[0m" : text;
}

/// "error:".
std::string label(Severity severity, bool color) {
  const char *sequence = severity == Severity::Error     ? "\033[1;31m"
                         : severity == Severity::Warning ? "\033[1;35m"
                                                         : "\033[1;36m";
  return inColor(sequence, std::string(name(severity)) + ':', color);
}

/// `message` without its numbers.
std::string withoutNumbers(std::string_view message) {
  std::string kept;
  for (char c : message) {
    if (c < '0' || c > '9') {
      kept += c;
    }
  }
  return kept;
}

/// `"key":"value"`.
std::string jsonMember(const char *key, std::string_view value) {
  return std::string("\"") + key + "\":\"" + jsonEscaped(value) + '"';
}

} // namespace

void Message::showPlace(const Source &source, bool color) {
  if (place) {
    size_t offset = source.offset(*place);
    excerpt = reader::excerpt(source, {offset, offset + 1}, color);
  }
}

std::string Message::str(DiagnosticFormat format, bool color) const {
  if (format == DiagnosticFormat::Text) {
    std::string text = escaped(file);
    if (place) {
      text += ':' + std::to_string(place->line) + ':' +
              std::to_string(place->column);
    }
    text += ": " + label(severity, color) + ' ' + escapedLines(message) + '\n' +
            excerpt;
    for (const std::string &note : notes) {
      text +=
          "  " + label(Severity::Note, color) + ' ' + escapedLines(note) + '\n';
    }
    return text;
  }
  std::string list;
  for (const std::string &note : notes) {
    list += (list.empty() ? "{" : ",{") + jsonMember("message", note) + '}';
  }
  std::string where;
  if (place) {
    where = ",\"line\":" + std::to_string(place->line) +
            ",\"column\":" + std::to_string(place->column);
  }
  return '{' + jsonMember("severity", name(severity)) + ',' +
         jsonMember("message", message) + ',' + jsonMember("file", file) +
         where + ",\"notes\":[" + list + "]}\n";
}

Diagnostic &Diagnostics::error(Range range, const std::string &message,
                               std::string pointer,
                               const std::string &subject) {
  ++reported;
  if (isFull()) {
    repeated = {};
    return repeated;
  }
  std::string identity = withoutNumbers(message);
  for (Diagnostic &known : errors) {
    if (known.range.begin == range.begin && known.identity == identity) {
      repeated = {};
      return repeated;
    }
  }
  errors.push_back({subject + message,
                    range,
                    std::move(pointer),
                    {},
                    {},
                    true,
                    std::move(identity)});
  return errors.back();
}

void Diagnostics::add(const Diagnostic &other) {
  ++reported;
  errors.push_back(other);
}

void Diagnostics::warning(Range range, std::string message,
                          std::string pointer) {
  if (warnings.size() < maxKept) {
    warnings.push_back({std::move(message), range, std::move(pointer), {}, {}});
  }
}

void Diagnostics::promoteWarnings() {
  for (Diagnostic &warning : warnings) {
    errors.push_back(std::move(warning));
  }
  warnings.clear();
}

Diagnostic &Diagnostics::errorElsewhere(const std::string &message) {
  Diagnostic &added = error({0, 0}, message);
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

bool Diagnostics::suggestNearest(
    Diagnostic &diagnostic, std::string_view word,
    const std::vector<std::string> &candidates) const {
  std::optional<std::string> best = reader::suggest(word, candidates);
  if (best) {
    suggest(diagnostic, *best);
  }
  return best.has_value();
}

void Diagnostics::suggestFrom(
    Diagnostic &diagnostic, std::string_view word,
    const std::vector<std::string> &candidates) const {
  if (suggestNearest(diagnostic, word, candidates)) {
    return;
  }
  std::string list;
  for (size_t i = 0; i < candidates.size() && i < maxListed; ++i) {
    list += (i > 0 ? ", " : "") + printable(candidates[i]);
  }
  if (!list.empty()) {
    bool isWhole = candidates.size() <= maxListed;
    diagnostic.notes.push_back(
        {"known here: " + list + (isWhole ? "" : ", ..."), std::nullopt});
  }
}

void Diagnostics::print(std::ostream &out, DiagnosticFormat format,
                        bool color) const {
  std::vector<const Diagnostic *> sorted;
  for (const Diagnostic &diagnostic : hasErrors() ? errors : warnings) {
    sorted.push_back(&diagnostic);
  }
  // All of them lie in one array: at equal places the first one stays first.
  std::sort(sorted.begin(), sorted.end(),
            [](const Diagnostic *a, const Diagnostic *b) {
              return a->range.begin != b->range.begin
                         ? a->range.begin < b->range.begin
                         : a < b;
            });
  if (format == DiagnosticFormat::Json) {
    for (const Diagnostic *diagnostic : sorted) {
      printJson(out, *diagnostic);
    }
    return;
  }
  for (size_t i = 0; i < sorted.size() && i < maxPrinted; ++i) {
    printText(out, *sorted[i], color);
  }
  if (sorted.size() > maxPrinted) {
    out << escaped(file->name()) << ": " << sorted.size()
        << (sorted.size() < maxKept ? " " : " or more ") << name(severity())
        << "s, the first " << maxPrinted << " shown\n";
  }
}

std::string excerpt(const Source &source, Range range, bool color) {
  Position start = source.position(range.begin);
  std::string_view line = source.line(start.line);
  size_t column = std::min(std::min(range.begin, source.text().size()) -
                               source.lineStart(start.line),
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
  std::string mark = '^' + std::string(marked > 1 ? marked - 1 : 0, '~');
  return margin + number + " | " + shown + '\n' +
         std::string(margin.size() + number.size(), ' ') + " | " +
         std::string(before, ' ') + inColor("\033[1;32m", mark, color) + '\n';
}

void Diagnostics::printText(std::ostream &out, const Diagnostic &diagnostic,
                            bool color) const {
  Position start = file->position(diagnostic.range.begin);
  out << escaped(file->name()) << ':';
  if (diagnostic.placed) {
    out << start.line << ':' << start.column << ':';
  }
  out << ' ' << label(severity(), color) << ' ' << escaped(diagnostic.message)
      << '\n';
  if (diagnostic.placed) {
    out << excerpt(*file, diagnostic.range, color);
  }
  if (!diagnostic.pointer.empty()) {
    out << "  at " << printable(diagnostic.pointer) << '\n';
  }
  for (const Note &note : diagnostic.notes) {
    if (!note.range) {
      out << "  " << label(Severity::Note, color) << ' '
          << escaped(note.message) << '\n';
      continue;
    }
    Position place = file->position(note.range->begin);
    out << "  " << escaped(file->name()) << ':' << place.line << ':'
        << place.column << ": " << label(Severity::Note, color) << ' '
        << escaped(note.message) << '\n'
        << excerpt(*file, *note.range, color);
  }
}

void Diagnostics::printJson(std::ostream &out,
                            const Diagnostic &diagnostic) const {
  out << '{' << jsonMember("severity", name(severity())) << ','
      << jsonMember("message", diagnostic.message) << ','
      << jsonMember("file", file->name());
  if (diagnostic.placed) {
    Position start = file->position(diagnostic.range.begin);
    Position end = file->position(diagnostic.range.end);
    out << ",\"line\":" << start.line << ",\"column\":" << start.column
        << ",\"end_line\":" << end.line << ",\"end_column\":" << end.column
        << ',' << jsonMember("pointer", diagnostic.pointer);
  }
  out << ",\"notes\":[";
  for (size_t i = 0; i < diagnostic.notes.size(); ++i) {
    const Note &note = diagnostic.notes[i];
    out << (i > 0 ? "," : "") << '{' << jsonMember("message", note.message);
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
