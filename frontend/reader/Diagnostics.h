//===- Diagnostics.h - Located messages about a description ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// One description, all its mistakes: messages are collected with their places
// and printed together, in the order of the file, each once:
//
//   model.json:14:15: error: unknown kind "sofmax"
//      14 |       "kind": "sofmax",
//         |               ^~~~~~~~
//     at /layers/2/kind
//     note: did you mean "softmax"?
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_FRONTEND_READER_DIAGNOSTICS_H
#define HOVA_FRONTEND_READER_DIAGNOSTICS_H

#include "frontend/reader/Source.h"

#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

namespace hova::reader {

/// A remark below an error; with a place it shows that line too.
struct Note {
  std::string message;
  std::optional<Range> range;
};

/// A replacement of bytes that would mend the file.
struct FixIt {
  Range range;
  std::string replacement;
};

struct Diagnostic {
  std::string message;
  Range range;
  /// JSON pointer of the offending value; empty outside of the tree.
  std::string pointer;
  std::vector<Note> notes;
  std::vector<FixIt> fixIts;
  /// False for what a command line or another file is to blame for.
  bool placed = true;
};

/// How messages are printed.
enum class DiagnosticFormat { Text, Json };

/// The messages about one source.
class Diagnostics {
public:
  /// More errors than this are counted, not printed.
  static constexpr size_t maxPrinted = 20;
  /// More than this are not even kept.
  static constexpr size_t maxKept = 1000;

  explicit Diagnostics(std::shared_ptr<const Source> source)
      : file(std::move(source)) {}

  const Source &source() const { return *file; }
  std::shared_ptr<const Source> sharedSource() const { return file; }

  /// Adds an error. The same message at the same place is kept once, so that a
  /// block that is used twelve times complains once. The reference may be used
  /// to add notes.
  Diagnostic &error(Range range, std::string message, std::string pointer = "");

  /// Adds an error that has no place in the source.
  Diagnostic &errorElsewhere(std::string message);

  /// Adds the note "did you mean ...?" and, for a diagnostic with a place, the
  /// replacement of that place.
  void suggest(Diagnostic &diagnostic, const std::string &word) const;

  /// Whether further errors are dropped.
  bool isFull() const { return errors.size() >= maxKept; }
  bool hasErrors() const { return !errors.empty(); }
  /// How many errors were reported, those that were dropped included: a larger
  /// number than before says that something in between is wrong.
  size_t mistakes() const { return reported; }
  const std::vector<Diagnostic> &all() const { return errors; }

  /// Prints all messages, sorted by place.
  void print(std::ostream &out,
             DiagnosticFormat format = DiagnosticFormat::Text,
             bool color = false) const;

private:
  void printText(std::ostream &out, const Diagnostic &diagnostic,
                 bool color) const;
  void printJson(std::ostream &out, const Diagnostic &diagnostic) const;
  void printExcerpt(std::ostream &out, Range range, bool color) const;

  std::shared_ptr<const Source> file;
  std::vector<Diagnostic> errors;
  size_t reported = 0;
  /// Takes the notes of an error that is already known.
  Diagnostic repeated;
};

/// `text` with control characters written as escapes and long text cut, for
/// use inside a message.
std::string printable(std::string_view text);

/// `"text"`, printable.
std::string inQuotes(std::string_view text);

/// `text` escaped for use inside a JSON string.
std::string jsonEscaped(std::string_view text);

} // namespace hova::reader

#endif // HOVA_FRONTEND_READER_DIAGNOSTICS_H
