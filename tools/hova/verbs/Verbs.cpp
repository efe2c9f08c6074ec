//===- Verbs.cpp - What hova can do ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Finds the verb and runs it; each verb is a file of its own.

#include "tools/hova/verbs/Verbs.h"
#include "codegen/Pipeline.h"
#include "codegen/targets/Targets.h"
#include "tools/hova/guard/Guard.h"
#include "tools/hova/options/Completion.h"
#include "tools/hova/options/Help.h"
#include "tools/hova/session/CompileSettings.h"
#include "tools/hova/session/Plugins.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace hova::tool;

namespace {

constexpr VerbInfo verbs[] = {
    {"compile", CompileVerb, "MODEL.json [-o OUT] [options]",
     "Compile a description, or a model's folder, to a program or a library",
     "hova compile model.json -o model\n"
     "hova compile all-MiniLM-L6-v2 -o model\n"
     "hova compile model.json --weights model.safetensors --emit=lib -o model\n"
     "hova compile model.json --march=x86-64-v3,x86-64-v4 -o model\n"
     "hova compile model.json --emit=mlir --stop-after=fuse\n",
     kDescription, runCompile},
    {"import", ImportVerb, "FOLDER [-o MODEL.json] [options]",
     "Write the description of what is in a model's folder",
     "hova import all-MiniLM-L6-v2 -o model.json\n"
     "hova import my-model --models=descriptions -o model.json\n",
     "a model's folder", runImport},
    {"weights pack", PackVerb, "MODEL.json --weights FILE -o IMAGE [options]",
     "Pack new weights for a program that is compiled already",
     "hova weights pack model.json --weights new.safetensors -o new.weights\n",
     kDescription, runPackWeights},
    {"check", CheckVerb, "MODEL.json [options]",
     "Parse and verify a description", "hova check model.json\n", kDescription,
     runCheck},
    {"summary", SummaryVerb, "MODEL.json [options]",
     "Show layers, parameters and work",
     "hova summary model.json --set depth=6\n"
     "hova summary model.json --format=json\n"
     "hova summary model.json --paper\n",
     kDescription, runSummary},
    {"explain", ExplainVerb, "MODEL.json [options]",
     "Tell for every attention whether it is fused, and why",
     "hova explain model.json\n"
     "hova explain model.json --path encoder.3\n"
     "hova explain model.json --diff=--strict\n",
     kDescription, runExplain},
    {"view", ViewVerb, "MODEL.json -o PAGE.html [options]",
     "Show what became of every layer, on a page for a browser",
     "hova view model.json -o model.html\n"
     "hova view model.json --benchmark-file times.json -o model.html\n"
     "hova view model.json --format=json -o model.view.json\n",
     kDescription, runView},
    {"verify", VerifyVerb, "MODEL.json [options]",
     "Compare the compiled program with the reference evaluator",
     "hova verify model.json --cases 5\n", kDescription, runVerify},
    {"evaluate", EvaluateVerb,
     "MODEL.json --input NAME=FILE.npy --output-dir DIR [options]",
     "Run the reference evaluator, in float64",
     "hova evaluate model.json --weights model.safetensors --input x=x.npy "
     "--output-dir out\n",
     kDescription, runEvaluate},
    {"profile", ProfileVerb, "PROGRAM [options] [-- OPTIONS OF THE PROGRAM]",
     "Run a compiled program and tell where its time goes",
     "hova profile ./model\n"
     "hova profile ./model --depth 3 -- --threads 1\n",
     "a program", runProfile},
    {"schema", SchemaVerb, "[options]", "Print the JSON Schema of descriptions",
     "hova schema > hova.schema.json\n", "", runSchema},
    {"completion", CompletionVerb, "bash|zsh|fish",
     "Print what lets a shell complete the words after hova",
     "source <(hova completion bash)\n"
     "hova completion zsh > ~/.zfunc/_hova\n"
     "hova completion fish > ~/.config/fish/completions/hova.fish\n",
     "a shell", runCompletion},
};

int listPhases(StringRef target) {
  auto chosen = hova::getDefaultTarget(target);
  for (const hova::Phase &phase : hova::getPhases()) {
    outs() << left_justify(phase.name, 11) << phase.promise << "\n";
    if (phase.build) {
      outs().indent(11) << "passes: "
                        << join(hova::getPassNames(phase, chosen), ", ")
                        << "\n";
    }
  }
  const hova::TargetFacts &usual = hova::getDefaultFacts();
  if (target == usual.name) {
    const hova::TargetFacts &other = *hova::getTargets()[1];
    outs() << "\nThese are the passes for " << usual.machine
           << "; --target=" << other.name << " lists those for "
           << other.machine << ".\n";
  }
  outs()
      << "\nOption --pass-pipeline adds passes before and after each of these: "
         "'before-fuse(...)',\n'after-hova-normalize-projections(...)'. After "
         "a phase is before the pass that checks it.\n";
  return Ok;
}

/// The verb that the first words name, or null.
const VerbInfo *findVerb(ArrayRef<const char *> words) {
  const VerbInfo *found = find_if(verbs, [&](const VerbInfo &verb) {
    SmallVector<StringRef> parts;
    verb.name.split(parts, ' ');
    return words.size() >= parts.size() &&
           equal(parts, words.take_front(parts.size()));
  });
  return found == std::end(verbs) ? nullptr : found;
}

/// The verbs that begin with `word`, which is less than a verb: "weights".
SmallVector<const VerbInfo *> verbsBelow(StringRef word) {
  SmallVector<const VerbInfo *> below;
  for (const VerbInfo &verb : verbs) {
    if (verb.name.starts_with((word + " ").str())) {
      below.push_back(&verb);
    }
  }
  return below;
}

/// `isTopic`: where a topic may stand too.
int unknownWord(StringRef word, bool isTopic = false) {
  SmallVector<const VerbInfo *> below = verbsBelow(word);
  if (!below.empty()) {
    printError("'hova " + word + "' is not a whole verb; there is '" +
                   below.front()->name + "'",
               {"'hova --help' lists the verbs"});
    return Usage;
  }
  std::vector<std::string> known = {"--help", "--version", "--list-phases",
                                    "help"};
  for (const VerbInfo &verb : verbs) {
    known.push_back(verb.name.str());
  }
  for (const Topic &topic : getTopics()) {
    if (isTopic) {
      known.push_back(topic.name.str());
    }
  }
  printError((word.starts_with("-") ? "unknown option '"
              : isTopic             ? "unknown verb or topic '"
                                    : "unknown verb '") +
                 word + "'" + suggestion(word, known),
             {isTopic ? "'hova --help' lists the verbs and topics"
                      : "'hova --help' lists the verbs"});
  return Usage;
}

/// `hova help`, `hova help VERB`, `hova help TOPIC`, `hova help --man=DIR`.
int runHelp(ArrayRef<const char *> words) {
  if (words.empty()) {
    printHelp(outs());
    return Ok;
  }
  StringRef folder = words.front();
  if (folder.consume_front("--man=")) {
    return writeManPages(folder);
  }
  if (const VerbInfo *verb = findVerb(words)) {
    printHelp(*verb, outs());
    return Ok;
  }
  const Topic *topic = findTopic(words.front());
  if (!topic) {
    return unknownWord(words.front(), /*isTopic=*/true);
  }
  printHelp(*topic, outs());
  return Ok;
}

/// The options of how messages are written, which hold from the first one on.
constexpr OptionID messageOptions[] = {OPT_diagnostics, OPT_color};

/// The one that a word gives, with a value or in front of it.
std::optional<OptionID> messageOption(StringRef word) {
  StringRef name = word.split('=').first;
  const OptionID *found = find_if(messageOptions, [&](OptionID id) {
    return Arguments::spelling(id) == name;
  });
  return found == std::end(messageOptions) ? std::nullopt
                                           : std::optional(*found);
}

/// The words of such an option: itself, and its value if that is the next word;
/// none: it is another word.
size_t countMessageWords(ArrayRef<const char *> words) {
  StringRef word = words.front();
  if (!messageOption(word)) {
    return 0;
  }
  return std::min<size_t>(word.contains('=') ? 1 : 2, words.size());
}

/// The value in words that countMessageWords has counted, empty if there is
/// none.
StringRef messageValue(ArrayRef<const char *> words) {
  return words.size() == 2 ? words[1]
                           : StringRef(words.front()).split('=').second;
}

/// The target that `--target=NAME` names after `--list-phases`, the default if
/// there are no words; none, with an error, for other words.
std::optional<std::string> readListedTarget(ArrayRef<const char *> words) {
  std::vector<std::string> names = hova::getTargetNames();
  if (words.empty()) {
    return names.front();
  }
  StringRef name = words.front();
  if (name == "--target" && words.size() == 1) {
    printError("option '--target' needs a value");
    return std::nullopt;
  }
  bool isTarget = name.consume_front("--target");
  if (isTarget && name.empty()) {
    words = words.drop_front();
    name = words.front();
  } else if (isTarget && !name.consume_front("=")) {
    isTarget = false;
  }
  if (!isTarget || words.size() > 1) {
    printError("unexpected '" + StringRef(isTarget ? words[1] : words.front()) +
                   "' after '--list-phases'",
               {"'--target=NAME' may stand there"});
    return std::nullopt;
  }
  if (!is_contained(names, name)) {
    printError("unknown target '" + name + "'" + suggestion(name, names) +
               "; the targets are " + llvm::join(names, ", "));
    return std::nullopt;
  }
  return name.str();
}

/// Options before any verb.
int runGlobal(ArrayRef<const char *> given) {
  SmallVector<const char *> words;
  for (ArrayRef<const char *> rest = given; !rest.empty();) {
    size_t count = countMessageWords(rest);
    if (count == 0) {
      words.push_back(rest.front());
      rest = rest.drop_front();
      continue;
    }
    std::string problem = problemWithWord(*messageOption(rest.front()),
                                          messageValue(rest.take_front(count)));
    if (!problem.empty()) {
      printError(problem);
      return Usage;
    }
    rest = rest.drop_front(count);
  }
  StringRef word = words.front();
  ArrayRef<const char *> others = ArrayRef(words).drop_front();
  if (word == "--list-phases") {
    std::optional<std::string> target = readListedTarget(others);
    return target ? listPhases(*target) : Usage;
  }
  bool isHelp = word == "--help" || word == "-h";
  if (!isHelp && word != "--version") {
    return unknownWord(word);
  }
  if (!others.empty()) {
    printError("unexpected '" + StringRef(others.front()) + "' after '" + word +
               "'");
    return Usage;
  }
  if (isHelp) {
    printHelp(outs());
  } else {
    outs() << versionText()
           << "\ntargets: " << llvm::join(hova::getTargetNames(), ", ") << "\n";
  }
  return Ok;
}

/// Also of a verb that there is not: in front of it, such an option is as good
/// as after it.
void moveMessageOptions(SmallVectorImpl<const char *> &words) {
  SmallVector<const char *> leading;
  while (size_t count = words.empty() ? 0 : countMessageWords(words)) {
    leading.append(words.begin(), words.begin() + count);
    words.erase(words.begin(), words.begin() + count);
  }
  if (!words.empty()) {
    words.append(leading);
  }
  for (ArrayRef<const char *> rest = words.empty() ? leading : words;
       !rest.empty(); rest = rest.drop_front()) {
    if (size_t count = countMessageWords(rest)) {
      StringRef given = messageValue(rest.take_front(count));
      if (messageOption(rest.front()) == OPT_color) {
        setMessageColor(given);
      } else if (given == "json") {
        setMessageFormat(hova::reader::DiagnosticFormat::Json);
      }
    }
  }
}

} // namespace

ArrayRef<VerbInfo> hova::tool::getVerbs() { return verbs; }

int hova::tool::runCommand(ArrayRef<const char *> given) {
  SmallVector<const char *> moved(given);
  moveMessageOptions(moved);
  ArrayRef<const char *> words = moved;
  if (words.empty() && !given.empty()) {
    printError("a verb is missing", {"'hova --help' lists the verbs"});
    return Usage;
  }
  if (words.empty()) {
    printHelp(errs());
    return Usage;
  }
  if (StringRef(words.front()) == "help") {
    return runHelp(words.drop_front());
  }
  if (isCandidatesCall(words)) {
    return printCandidates(words.drop_front(2));
  }
  const VerbInfo *verb = findVerb(words);
  if (!verb) {
    return runGlobal(words);
  }
  size_t parts = verb->name.count(' ') + 1;
  Arguments arguments(*verb, words.drop_front(parts));
  prepareMessages();
  if (arguments.failed()) {
    return *arguments.failed();
  }
  if (arguments.has(OPT_help)) {
    printHelp(*verb, outs());
    return Ok;
  }
  loadPlugins(arguments);
  if (arguments.failed()) {
    return *arguments.failed();
  }
  return verb->run(arguments);
}
