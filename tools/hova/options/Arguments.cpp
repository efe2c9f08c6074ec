//===- Arguments.cpp - The command line of hova ---------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "tools/hova/options/Arguments.h"
#include "codegen/targets/Targets.h"
#include "frontend/reader/Suggest.h"
#include "tools/hova/options/Suggestions.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Option/Arg.h"
#include "llvm/Option/Option.h"

using namespace llvm;

namespace hova::tool {

namespace {

#define OPTTABLE_STR_TABLE_CODE
#include "tools/hova/options/Options.inc"
#undef OPTTABLE_STR_TABLE_CODE

#define OPTTABLE_PREFIXES_TABLE_CODE
#include "tools/hova/options/Options.inc"
#undef OPTTABLE_PREFIXES_TABLE_CODE

constexpr opt::OptTable::Info optionInfos[] = {
#define OPTION(...) LLVM_CONSTRUCT_OPT_INFO(__VA_ARGS__),
#include "tools/hova/options/Options.inc"
#undef OPTION
};

class HovaOptTable : public opt::GenericOptTable {
public:
  HovaOptTable()
      : GenericOptTable(OptionStrTable, OptionPrefixesTable, optionInfos) {
    setDashDashParsing(true);
  }
};

opt::InputArgList parse(ArrayRef<const char *> words, Visibility visibility,
                        unsigned &missing, unsigned &missingCount) {
  return getOptions().ParseArgs(words, missing, missingCount,
                                opt::Visibility(visibility));
}

} // namespace

const opt::OptTable &getOptions() {
  static const HovaOptTable table;
  return table;
}

SmallVector<StringRef> getWords(opt::OptSpecifier id) {
  SmallVector<StringRef> words;
  if (const char *values = optionInfos[id.getID() - 1].Values) {
    StringRef(values).split(words, ',', -1, /*KeepEmpty=*/false);
  }
  return words;
}

std::string problemWithWord(OptionID id, StringRef given) {
  SmallVector<StringRef> words = getWords(id);
  if (is_contained(words, given)) {
    return "";
  }
  std::vector<std::string> known(words.begin(), words.end());
  return ("option '" + Arguments::spelling(id) + "' expects " +
          join(known, ", ") + ", got '" + given + "'" +
          suggestion(given, known))
      .str();
}

std::string suggestion(StringRef word,
                       const std::vector<std::string> &candidates) {
  auto best =
      reader::suggest(std::string_view(word.data(), word.size()), candidates);
  return best ? "; did you mean '" + *best + "'?" : "";
}

std::string suggestionFrom(StringRef word,
                           const std::vector<std::string> &candidates) {
  std::string best = suggestion(word, candidates);
  return best.empty() ? "; there is " + join(candidates, ", ") : best;
}

Arguments::Arguments(const VerbInfo &verb, ArrayRef<const char *> words)
    : info(&verb), given(words.begin(), words.end()) {
  unsigned missing = 0, missingCount = 0;
  list = parse(words, verb.visibility, missing, missingCount);
  if (value(OPT_diagnostics) == "json") {
    setMessageFormat(reader::DiagnosticFormat::Json);
  }
  setMessageColor(value(OPT_color, "auto"));
  if (missingCount != 0) {
    usageError("option '" + Twine(list.getArgString(missing)) +
               "' needs a value");
    return;
  }
  setQuiet(has(OPT_quiet));
  checkUnknown();
  checkEmpty();
  if (status || has(OPT_help)) {
    return;
  }
  std::vector<std::string> inputs = values(OPT_INPUT);
  if (verb.operand.empty() && !inputs.empty()) {
    usageError("unexpected '" + inputs.front() + "'");
  } else if (!verb.operand.empty() && inputs.empty() && !has(OPT_reproduce)) {
    usageError(verb.operand + " is missing");
  } else if (inputs.size() > 1 && verb.visibility != ProfileVerb) {
    // After a program are the words that it is run with.
    usageError("one " + verb.operand.drop_front(StringRef("a ").size()) +
               " at a time, but '" + inputs[0] + "' and '" + inputs[1] +
               "' are given");
  }
}

std::string Arguments::refuseRecorded(StringRef word,
                                      ArrayRef<OptionID> further) {
  SmallVector<OptionID> describing = {OPT_set,    OPT_target,  OPT_gpu_arch,
                                      OPT_march,  OPT_dtype,   OPT_tensors,
                                      OPT_strict, OPT_without, OPT_init};
  describing.append(further.begin(), further.end());
  std::string text = word.str();
  unsigned missing = 0, missingCount = 0;
  opt::InputArgList parsed =
      parse(text.c_str(), CompileVerb, missing, missingCount);
  const opt::Arg *option = parsed.size() == 1 ? *parsed.begin() : nullptr;
  auto kind = llvm::find_if(describing, [&](OptionID id) {
    return option && missingCount == 0 && option->getOption().matches(id);
  });
  bool isKnown = kind != describing.end();
  if (isKnown && (*kind == OPT_strict || *option->getValue() != '\0')) {
    return "";
  }
  std::vector<std::string> known;
  for (OptionID id : describing) {
    known.push_back(spelling(id));
  }
  return (isKnown ? "option '" + spelling(*kind) + "' needs a value"
                  : "'" + word.str() + "' describes no program, as " +
                        join(known, ", ") + " do");
}

static StringRef targetOf(const opt::InputArgList &list) {
  return list.getLastArgValue(OPT_target, getDefaultFacts().name);
}

static SmallVector<StringRef> targetsOf(const opt::InputArgList &list) {
  SmallVector<StringRef> names;
  targetOf(list).split(names, ',');
  llvm::sort(names);
  return names;
}

StringRef Arguments::target() const { return targetOf(list); }

SmallVector<StringRef> Arguments::targets() const { return targetsOf(list); }

void Arguments::inherit(ArrayRef<std::string> recorded,
                        ArrayRef<OptionID> settled, StringRef origin) {
  inheritedFrom = origin.str();
  std::vector<const char *> words;
  for (const std::string &word : recorded) {
    words.push_back(word.c_str());
  }
  unsigned missing = 0, missingCount = 0;
  opt::InputArgList made = parse(words, CompileVerb, missing, missingCount);
  for (OptionID id : settled) {
    std::vector<std::string> before = made.getAllArgValues(id);
    bool isSame =
        made.hasArg(id) && (id == OPT_target ? targets() == targetsOf(made)
                                             : values(id) == before);
    if (has(id) && !isSame) {
      usageError("option '" + spelling(id) + "' cannot change in " + origin +
                 ", which was made with " +
                 (before.empty() ? "none" : "'" + join(before, "', '") + "'"));
    }
  }
  for (const opt::Arg *argument : made) {
    opt::Option option = argument->getOption().getUnaliasedOption();
    if (!has(static_cast<OptionID>(option.getID()))) {
      inherited.push_back(recorded[argument->getIndex()]);
    }
  }
  std::vector<const char *> all;
  for (const std::string &word : inherited) {
    all.push_back(word.c_str());
  }
  all.insert(all.end(), given.begin(), given.end());
  // What is given has passed; what is inherited no verb takes amiss.
  list = parse(all, static_cast<Visibility>(info->visibility | CompileVerb),
               missing, missingCount);
}

/// An option that there is not, or not in this verb. Its value may be the next
/// word, which was taken for another one then.
UnknownOption Arguments::unknownOption(const opt::Arg &argument) const {
  auto [name, value] = StringRef(argument.getSpelling()).split('=');
  size_t next = argument.getIndex() + 1;
  if (value.empty() && next < given.size() && *given[next] != '-') {
    value = given[next];
  }
  std::vector<std::string> inputs = values(OPT_INPUT);
  return {name.str(), value.str(), inputs.empty() ? "" : inputs.front()};
}

/// An option of another verb is known, but not here.
void Arguments::checkUnknown() {
  for (const opt::Arg *argument : list.filtered(OPT_UNKNOWN)) {
    UnknownOption unknown = unknownOption(*argument);
    StringRef name = unknown.name;
    std::string nearest;
    // Of two lengths, because the table holds `--set=` and `--set`.
    if (getOptions().findNearest(name, nearest, opt::Visibility(~0U), 2, 0) ==
            0 ||
        getOptions().findNearest((name + "=").str(), nearest,
                                 opt::Visibility(~0U), 2, 0) == 0) {
      usageError("'hova " + info->name + "' takes no option '" + name + "'" +
                 suggestOtherOption(*info, unknown));
      continue;
    }
    usageError("unknown option '" + StringRef(argument->getSpelling()) + "'" +
               suggestOption(*info, unknown));
  }
}

/// `--weights=` is a variable of a script that is not set, and not the wish to
/// do without.
void Arguments::checkEmpty() {
  for (const opt::Arg *given : list) {
    bool isEmpty = given->getNumValues() == 1 && *given->getValue() == '\0';
    if (isEmpty && !given->getOption().matches(OPT_UNKNOWN)) {
      usageError("option '" + StringRef(given->getSpelling()).rtrim("=") +
                 "' needs a value");
    }
  }
}

std::string Arguments::model() const {
  if (info->operand.empty()) {
    return "";
  }
  std::string path = list.getLastArgValue(OPT_INPUT).str();
  return path == "-" ? kStandardInput.str() : path;
}

std::string Arguments::spelling(OptionID id) {
  return getOptions().getOptionPrefixedName(id).rtrim("=").str();
}

std::vector<std::string> Arguments::wordsWithout(ArrayRef<OptionID> ids) const {
  opt::ArgStringList words;
  for (const opt::Arg *argument : list) {
    bool isLeftOut = any_of(
        ids, [&](OptionID id) { return argument->getOption().matches(id); });
    if (!isLeftOut) {
      argument->render(list, words);
    }
  }
  return {words.begin(), words.end()};
}

StringRef Arguments::word(OptionID id) const {
  StringRef first = getWords(id).front();
  StringRef given = value(id, first);
  std::string problem = problemWithWord(id, given);
  if (problem.empty()) {
    return given;
  }
  usageError(problem);
  return first;
}

uint64_t Arguments::number(OptionID id, uint64_t otherwise, uint64_t low,
                           uint64_t high) const {
  if (!has(id)) {
    return otherwise;
  }
  uint64_t result = 0;
  if (value(id).getAsInteger(10, result) || result < low || result > high) {
    usageError("option '" + spelling(id) + "' expects a whole number from " +
               Twine(low) + " to " + Twine(high) + ", got '" + value(id) + "'");
    return otherwise;
  }
  return result;
}

int Arguments::usageError(const Twine &message) const {
  std::vector<std::string> notes;
  if (!status) {
    if (!inherited.empty()) {
      notes.push_back(inheritedFrom + " was made with " + join(inherited, " "));
    }
    notes.push_back("'hova " + info->name.str() + " --help' lists the options");
  }
  printError(message, std::move(notes));
  status = Usage;
  return Usage;
}

} // namespace hova::tool
