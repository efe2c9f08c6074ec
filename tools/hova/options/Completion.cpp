//===- Completion.cpp - What may follow on a command line -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "tools/hova/options/Completion.h"
#include "codegen/Pipeline.h"
#include "codegen/targets/Extensions.h"
#include "codegen/targets/Targets.h"
#include "passes/OptionalPasses.h"
#include "tools/hova/options/Arguments.h"
#include "tools/hova/options/Suggestions.h"
#include "tools/hova/options/Topics.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Option/Arg.h"
#include "llvm/Option/Option.h"

using namespace llvm;

namespace hova::tool {

namespace {

/// The words between a verb and the one that is typed, and what they say.
class Line {
public:
  Line(const VerbInfo &verb, ArrayRef<const char *> before, StringRef typed)
      : verb(verb), typed(typed) {
    unsigned count = 0;
    words = getOptions().ParseArgs(before, missing, count,
                                   opt::Visibility(verb.visibility));
    isValue = count != 0;
    isAfterDashes = is_contained(before, StringRef("--"));
  }

  void complete() const;

private:
  void offer(const Twine &word, const Twine &what = "") const;
  void offerAll(StringRef prefix, ArrayRef<StringRef> candidates,
                StringRef what = "") const;
  void offerFiles(StringRef prefix, StringRef extensions = "") const;
  void completeValue(unsigned option, StringRef prefix) const;
  void completeList(StringRef prefix, ArrayRef<std::string> candidates) const;
  void completeParameter(StringRef prefix) const;
  void completeInput(StringRef prefix) const;
  void completeOption() const;
  void completeOperand() const;
  unsigned optionOf(StringRef spelling) const;
  std::unique_ptr<frontend::ModelSpec> description() const;

  const VerbInfo &verb;
  StringRef typed;
  opt::InputArgList words;
  /// The option that the typed word is the value of.
  unsigned missing = 0;
  bool isValue = false;
  bool isAfterDashes = false;
};

void print(const Twine &word, const Twine &what) {
  outs() << word << "\t" << what << "\n";
}

} // namespace

void Line::offer(const Twine &word, const Twine &what) const {
  std::string text = word.str();
  if (StringRef(text).starts_with(typed)) {
    print(text, what);
  }
}

void Line::offerAll(StringRef prefix, ArrayRef<StringRef> candidates,
                    StringRef what) const {
  for (StringRef candidate : candidates) {
    offer(prefix + candidate, what);
  }
}

void Line::offerFiles(StringRef prefix, StringRef extensions) const {
  print(":files " + prefix, extensions);
}

/// The option that is written so, `--set=` or `-o`; 0: none.
unsigned Line::optionOf(StringRef spelling) const {
  const opt::OptTable &table = getOptions();
  for (unsigned id = 1; id <= table.getNumOptions(); ++id) {
    opt::Option option = table.getOption(id);
    if (option.hasVisibilityFlag(verb.visibility) &&
        table.getOptionPrefixedName(id) == spelling) {
      return option.getUnaliasedOption().getID();
    }
  }
  return 0;
}

std::unique_ptr<frontend::ModelSpec> Line::description() const {
  return peekDescription(verb, words.getLastArgValue(OPT_INPUT));
}

/// Names that are separated by commas, each once.
void Line::completeList(StringRef prefix,
                        ArrayRef<std::string> candidates) const {
  StringRef list = typed.drop_front(prefix.size());
  StringRef before = list.take_front(list.rfind(',') + 1);
  SmallVector<StringRef> taken;
  before.split(taken, ',');
  for (const std::string &candidate : candidates) {
    if (!is_contained(taken, candidate)) {
      offer(prefix + before + candidate);
    }
  }
}

/// NAME= first, then the values that the description allows.
void Line::completeParameter(StringRef prefix) const {
  auto spec = description();
  if (!spec) {
    return;
  }
  auto [name, value] = typed.drop_front(prefix.size()).split('=');
  bool isNamed = typed.drop_front(prefix.size()).contains('=');
  std::vector<std::string> settings = words.getAllArgValues(OPT_set);
  for (const frontend::ParameterSpec &parameter : spec->parameters) {
    std::string setting = (prefix + parameter.name + "=").str();
    const std::optional<frontend::Scalar> &given = parameter.value.literal;
    if (!isNamed) {
      bool isSet = any_of(settings, [&](StringRef other) {
        return other.split('=').first == parameter.name;
      });
      if (!isSet) {
        offer(setting, given ? "default: " + given->str() : "");
      }
    } else if (parameter.name == name) {
      for (const frontend::Scalar &legal : parameter.values) {
        // Texts stand without quotes in a setting.
        offer(setting + (legal.text.empty() ? legal.str() : legal.text));
      }
      if (given && given->is(frontend::Scalar::Kind::Boolean)) {
        offerAll(setting, {"true", "false"});
      }
    }
  }
}

/// NAME= first, then a file.
void Line::completeInput(StringRef prefix) const {
  StringRef rest = typed.drop_front(prefix.size());
  if (size_t end = rest.find('='); end != StringRef::npos) {
    offerFiles(typed.take_front(prefix.size() + end + 1), "npy");
    return;
  }
  if (auto spec = description()) {
    for (const frontend::InputSpec &input : spec->inputs) {
      offer(prefix + input.name + "=", "input");
    }
  }
}

void Line::completeValue(unsigned option, StringRef prefix) const {
  std::vector<std::string> names;
  switch (option) {
  case OPT_set:
    return completeParameter(prefix);
  case OPT_input:
    return completeInput(prefix);
  case OPT_march:
    return completeList(prefix, getIsaLevelNames());
  case OPT_without:
    for (const OptionalPass &pass : getOptionalPasses()) {
      names.push_back(pass.name.str());
    }
    return completeList(prefix, names);
  case OPT_stop_after:
    for (const Phase &phase : getPhases()) {
      // `emit` makes no IR.
      if (phase.name != "emit") {
        offer(prefix + phase.name, phase.promise);
      }
    }
    return;
  case OPT_pass_pipeline:
    for (const std::string &point : getExtensionPoints(getTargetNames())) {
      offer(prefix + point + "(");
    }
    return;
  case OPT_checkpoint:
    if (auto spec = description()) {
      for (const frontend::CheckpointSpec &source : spec->checkpoints) {
        offer(prefix + source.name);
      }
    }
    return;
  case OPT_weights:
    return offerFiles(prefix, "safetensors json");
  default:
    break;
  }
  offerAll(prefix, getWords(option));
  StringRef value = getOptions().getOptionMetaVar(option);
  if (value.contains("DIR")) {
    print(":folders " + prefix, "");
  } else if (value.contains("FILE") || value.contains("PATH|")) {
    offerFiles(prefix);
  } else if (value.contains(".so")) {
    offerFiles(prefix, "so");
  }
}

void Line::completeOption() const {
  size_t end = typed.find('=');
  if (end != StringRef::npos) {
    StringRef spelling = typed.take_front(end + 1);
    if (unsigned option = optionOf(spelling)) {
      completeValue(option, spelling);
    }
    return;
  }
  for (const std::string &found : getOptions().findByPrefix(
           typed, opt::Visibility(verb.visibility), /*DisableFlags=*/0)) {
    auto [spelling, what] = StringRef(found).split('\t');
    SmallVector<StringRef> joined = spelling.ends_with("=")
                                        ? SmallVector<StringRef>()
                                        : getWords(optionOf(spelling));
    if (joined.empty()) {
      print(spelling, what.split(". ").first.rtrim('.'));
    }
    offerAll(spelling, joined, what);
  }
}

void Line::completeOperand() const {
  if (verb.visibility == CompletionVerb) {
    offerAll("", {"bash", "zsh", "fish"});
  } else if (verb.operand == kDescription) {
    offerFiles("", "json mlir");
  } else if (!verb.operand.empty()) {
    offerFiles("");
  }
}

void Line::complete() const {
  if (isAfterDashes) {
    // Options of another program.
    offerFiles("");
  } else if (isValue) {
    StringRef spelling = words.getArgString(missing);
    if (unsigned option = optionOf(spelling)) {
      completeValue(option, "");
    }
  } else if (typed.starts_with("-")) {
    completeOption();
  } else if (!words.hasArg(OPT_INPUT)) {
    completeOperand();
  }
}

/// The words of verbs that come after `before`, each once.
static void offerVerbs(ArrayRef<const char *> before, StringRef typed) {
  SmallVector<StringRef> offered;
  for (const VerbInfo &verb : getVerbs()) {
    SmallVector<StringRef> parts;
    verb.name.split(parts, ' ');
    bool isBelow = parts.size() > before.size() &&
                   equal(before, ArrayRef(parts).take_front(before.size()));
    if (isBelow && parts[before.size()].starts_with(typed) &&
        !is_contained(offered, parts[before.size()])) {
      offered.push_back(parts[before.size()]);
      print(offered.back(), verb.summary);
    }
  }
}

/// Options and words that stand in the place of a verb.
static void offerGlobal(StringRef typed) {
  if (StringRef("help").starts_with(typed)) {
    print("help", "Tell about a verb");
  }
  if (typed.starts_with("-")) {
    for (const std::string &found : getOptions().findByPrefix(
             typed, opt::Visibility(GlobalVerb), /*DisableFlags=*/0)) {
      outs() << found << "\n";
    }
  }
}

bool isCandidatesCall(ArrayRef<const char *> words) {
  return words.size() > 2 && words[0] == StringRef("completion") &&
         words[1] == StringRef("--candidates");
}

int printCandidates(ArrayRef<const char *> words) {
  ArrayRef<const char *> before = words.drop_back();
  StringRef typed = words.back();
  const VerbInfo *found = find_if(getVerbs(), [&](const VerbInfo &verb) {
    SmallVector<StringRef> parts;
    verb.name.split(parts, ' ');
    return before.size() >= parts.size() &&
           equal(parts, before.take_front(parts.size()));
  });
  if (found != getVerbs().end()) {
    size_t parts = found->name.count(' ') + 1;
    Line(*found, before.drop_front(parts), typed).complete();
    return Ok;
  }
  if (before.empty()) {
    offerGlobal(typed);
  } else if (before.front() == StringRef("help")) {
    before = before.drop_front();
    for (const Topic &topic : getTopics()) {
      bool isVerb = any_of(getVerbs(), [&](const VerbInfo &verb) {
        return verb.name.starts_with((topic.name + " ").str());
      });
      if (before.empty() && !isVerb && topic.name.starts_with(typed)) {
        print(topic.name, topic.summary);
      }
    }
  }
  offerVerbs(before, typed);
  return Ok;
}

} // namespace hova::tool
