//===- Arguments.h - The command line of hova -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One option table (Options.td) and one table of verbs. A verb sees the options
// that list it; every other one is a usage error that names the nearest.

#ifndef HOVA_TOOLS_HOVA_OPTIONS_ARGUMENTS_H
#define HOVA_TOOLS_HOVA_OPTIONS_ARGUMENTS_H

#include "tools/hova/options/Messages.h"
#include "llvm/Option/ArgList.h"
#include "llvm/Option/OptTable.h"
#include "llvm/Support/raw_ostream.h"
#include <optional>

namespace hova::tool {

/// Exit statuses, the same for every verb; 128 + n after signal n.
enum ExitCode : int {
  Ok = 0,
  Rejected = 1, ///< description, weights or inputs
  Usage = 2,
  Differs = 3, ///< numbers
  Internal = 70,
  OutOfMemory = 71,
  InputOutput = 74
};

/// A description that was piped.
constexpr llvm::StringLiteral kStandardInput = "/dev/stdin";

/// The visibilities of Options.td.
enum Visibility : unsigned {
  DefaultVis = llvm::opt::DefaultVis,
  GlobalVerb = 1 << 1,
  CompileVerb = 1 << 2,
  PackVerb = 1 << 3,
  CheckVerb = 1 << 4,
  SummaryVerb = 1 << 5,
  ExplainVerb = 1 << 6,
  VerifyVerb = 1 << 7,
  EvaluateVerb = 1 << 8,
  SchemaVerb = 1 << 9,
  ProfileVerb = 1 << 10,
  CompletionVerb = 1 << 11,
  ViewVerb = 1 << 12,
  ImportVerb = 1 << 13,
};

enum OptionID : unsigned {
  OPT_INVALID = 0,
#define OPTION(...) LLVM_MAKE_OPT_ID(__VA_ARGS__),
#include "tools/hova/options/Options.inc"
#undef OPTION
};

class Arguments;

struct VerbInfo {
  llvm::StringLiteral name; ///< "weights pack" for a verb of two words
  Visibility visibility;
  llvm::StringLiteral usage;    ///< after the name
  llvm::StringLiteral summary;  ///< one line
  llvm::StringLiteral examples; ///< lines, each a command
  /// What the word after the verb is, "a description"; empty: there is none.
  llvm::StringLiteral operand;
  int (*run)(Arguments &);
};

/// Of verbs that read a description.
constexpr llvm::StringLiteral kDescription = "a description";

llvm::ArrayRef<VerbInfo> getVerbs();

struct StatusInfo {
  llvm::StringLiteral status; ///< "0", "128 + n"
  llvm::StringLiteral meaning;
};

/// What `hova` and compiled programs end with.
llvm::ArrayRef<StatusInfo> getStatuses();

/// The options of all verbs.
const llvm::opt::OptTable &getOptions();

/// The words that an option of this table takes, the default first; none where
/// others are possible.
llvm::SmallVector<llvm::StringRef> getWords(llvm::opt::OptSpecifier id);

/// An option that a verb does not have, where it stands on a command line.
struct UnknownOption {
  std::string name;  ///< "--batch"
  std::string value; ///< after `=`, or the next word; may be empty
  std::string model; ///< the description of the line; may be empty
};

/// What follows a verb, parsed. Mistakes in values are found by the readers
/// below, which print a message and leave the status of `failed`.
class Arguments {
public:
  Arguments(const VerbInfo &verb, llvm::ArrayRef<const char *> words);

  /// Why a word must not stand among the options that a file was made with;
  /// empty: it may. A file may say what its program is, and nothing else: no
  /// file that is read or written, and no library that is loaded.
  /// `further` options may stand there too.
  static std::string refuseRecorded(llvm::StringRef word,
                                    llvm::ArrayRef<OptionID> further = {});

  /// Adds the options that the file `origin` was made with, where they are not
  /// given; refuseRecorded has passed each of them. It is a mistake to give
  /// another value for one that is settled.
  void inherit(llvm::ArrayRef<std::string> recorded,
               llvm::ArrayRef<OptionID> settled, llvm::StringRef origin);

  const VerbInfo &verb() const { return *info; }
  /// Usage once any mistake has been reported, or what `fail` says.
  std::optional<int> failed() const { return status; }

  /// The description or what else the verb takes, kStandardInput for `-`; empty
  /// where it takes nothing.
  std::string model() const;
  bool has(OptionID id) const { return list.hasArg(id); }
  /// The last value of an option.
  llvm::StringRef value(OptionID id, llvm::StringRef otherwise = "") const {
    return list.getLastArgValue(id, otherwise);
  }
  std::vector<std::string> values(OptionID id) const {
    return list.getAllArgValues(id);
  }
  /// What `--target` says, the default where it is not given.
  llvm::StringRef target() const;
  /// The names after `--target`, sorted: their order on the command line means
  /// nothing.
  llvm::SmallVector<llvm::StringRef> targets() const;

  /// The option as it is written on the command line, such as `--march`.
  static std::string spelling(OptionID id);

  /// One of the words that the table has for an option, the first where it is
  /// not given.
  llvm::StringRef word(OptionID id) const;
  /// A number in [low, high].
  uint64_t number(OptionID id, uint64_t otherwise, uint64_t low,
                  uint64_t high) const;

  /// Reports a mistake of the command line.
  int usageError(const llvm::Twine &message) const;
  /// Keeps the status of a mistake that has been reported.
  void fail(ExitCode code) const { status = code; }

  /// The words of the command line but for those of these options;
  /// OPT_INPUT is the description.
  std::vector<std::string> wordsWithout(llvm::ArrayRef<OptionID> ids) const;

  /// Everything as it was typed, to run it again.
  std::string commandLine() const;

private:
  UnknownOption unknownOption(const llvm::opt::Arg &argument) const;
  void checkUnknown();
  void checkEmpty();

  const VerbInfo *info;
  std::vector<const char *> given;
  std::vector<std::string> inherited;
  std::string inheritedFrom;
  llvm::opt::InputArgList list;
  mutable std::optional<int> status;
};

/// Why `given` is none of the words that the table has for an option; empty: it
/// is one.
std::string problemWithWord(OptionID id, llvm::StringRef given);

/// The candidate that was probably meant, as "; did you mean 'x'?", or all of
/// them, as "; there is x, y".
std::string suggestionFrom(llvm::StringRef word,
                           const std::vector<std::string> &candidates);

/// The same for a message that lists the candidates, or has too many of them.
std::string suggestion(llvm::StringRef word,
                       const std::vector<std::string> &candidates);

} // namespace hova::tool

#endif // HOVA_TOOLS_HOVA_OPTIONS_ARGUMENTS_H
