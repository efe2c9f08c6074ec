//===- Diagnostics.h - Located messages about a description ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// One description, all its mistakes: messages are collected with their places
// and printed together, in the order of the file, each once. Warnings show what
// is probably a mistake; they are printed where there is no error, since an
// error may have caused them.
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
#include "frontend/reader/Text.h"

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

enum class Severity { Error, Warning, Note };

struct Diagnostic {
  std::string message;
  Range range;
  /// JSON pointer of the offending value; empty outside of the tree.
  std::string pointer;
  std::vector<Note> notes;
  std::vector<FixIt> fixIts;
  /// False for what a command line or another file is to blame for.
  bool placed = true;
  /// What two messages share that tell the same mistake.
  std::string identity = {};
};

/// How messages are printed.
enum class DiagnosticFormat { Text, Json };

/// A message about anything but the text of a description.
struct Message {
  Severity severity = Severity::Error;
  std::string file;
  std::string message;
  std::vector<std::string> notes = {};
  std::optional<Position> place = {};
  /// The line of the place with a caret (excerpt); empty: it is not shown.
  std::string excerpt = {};

  /// Sets the excerpt, if there is a place in `source`.
  void showPlace(const Source &source, bool color);

  /// "FILE:1:2: error: MESSAGE" with excerpt and notes below it, or a JSON
  /// object on one line; with the line break.
  std::string str(DiagnosticFormat format, bool color = false) const;
};

/// The line of `source` in which `range` begins, and below it a caret and a
/// mark as long as the range, as far as it is in the line.
std::string excerpt(const Source &source, Range range, bool color);

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

  /// Adds an error. Messages at the same place that differ in numbers alone are
  /// kept once, so that a layer that is repeated twelve times complains once.
  /// `subject` starts the message and is not compared either: a block may be
  /// used in several layers. The reference may be used to add notes.
  Diagnostic &error(Range range, const std::string &message,
                    std::string pointer = "", const std::string &subject = "");

  /// Adds an error of other messages about this source.
  void add(const Diagnostic &other);

  /// Adds a warning.
  void warning(Range range, std::string message, std::string pointer);

  /// Makes errors of all warnings.
  void promoteWarnings();

  /// Adds an error that has no place in the source.
  Diagnostic &errorElsewhere(const std::string &message);

  /// Adds the note "did you mean ...?" and, for a diagnostic with a place, the
  /// replacement of that place.
  void suggest(Diagnostic &diagnostic, const std::string &word) const;

  /// Suggests the nearest of `candidates` to `word`; false: none is near.
  bool suggestNearest(Diagnostic &diagnostic, std::string_view word,
                      const std::vector<std::string> &candidates) const;

  /// Suggests the nearest of `candidates` to `word`, or lists some of them.
  void suggestFrom(Diagnostic &diagnostic, std::string_view word,
                   const std::vector<std::string> &candidates) const;

  /// Whether further errors are dropped.
  bool isFull() const { return errors.size() >= maxKept; }
  bool hasErrors() const { return !errors.empty(); }
  bool hasWarnings() const { return !warnings.empty(); }
  /// How many errors were reported, those that were dropped included: a larger
  /// number than before says that something in between is wrong.
  size_t mistakes() const { return reported; }
  const std::vector<Diagnostic> &all() const { return errors; }

  /// Prints all errors, or all warnings if there is no error, sorted by place.
  void print(std::ostream &out,
             DiagnosticFormat format = DiagnosticFormat::Text,
             bool color = false) const;

private:
  Severity severity() const {
    return hasErrors() ? Severity::Error : Severity::Warning;
  }
  void printText(std::ostream &out, const Diagnostic &diagnostic,
                 bool color) const;
  void printJson(std::ostream &out, const Diagnostic &diagnostic) const;

  std::shared_ptr<const Source> file;
  std::vector<Diagnostic> errors;
  std::vector<Diagnostic> warnings;
  size_t reported = 0;
  /// Takes the notes of an error that is already known.
  Diagnostic repeated;
};

} // namespace hova::reader

#endif // HOVA_FRONTEND_READER_DIAGNOSTICS_H
