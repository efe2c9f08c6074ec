//===- Help.cpp - Pages of help -------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "tools/hova/options/Help.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace hova::tool {

static constexpr StatusInfo statuses[] = {
    {"0", "ok"},
    {"1", "rejected input"},
    {"2", "usage"},
    {"3", "numbers differ"},
    {"70", "internal error"},
    {"71", "out of memory or over a limit"},
    {"74", "a file could not be read or written"},
    {"128 + n", "signal n"}};

ArrayRef<StatusInfo> getStatuses() { return statuses; }

/// Words in lines of at most `width` columns.
static void printWrapped(StringRef text, size_t width, raw_ostream &os) {
  size_t column = 0;
  for (StringRef word : split(text, ' ')) {
    bool fits = column + 1 + word.size() <= width;
    os << (column == 0 ? "" : fits ? " " : "\n") << word;
    column = (column == 0 || !fits ? 0 : column + 1) + word.size();
  }
  os << "\n";
}

static void printStatuses(raw_ostream &os) {
  std::string text = "Exit status: ";
  for (const StatusInfo &entry : statuses) {
    text += (entry.status + " " + entry.meaning).str();
    text += &entry == std::end(statuses) - 1 ? "." : ", ";
  }
  printWrapped(text + " docs/compile-a-model.md has the table.", 82, os);
}

void printHelp(const VerbInfo &verb, raw_ostream &os) {
  os << "EXAMPLES:\n";
  for (StringRef line : split(verb.examples.rtrim('\n'), '\n')) {
    os << "  " << line << "\n";
  }
  os << "\n";
  std::string usage = ("hova " + verb.name + " " + verb.usage).str();
  getOptions().printHelp(os, usage.c_str(), verb.summary.data(),
                         /*ShowHidden=*/false, /*ShowAllAliases=*/false,
                         opt::Visibility(verb.visibility));
  printStatuses(os);
}

void printHelp(const Topic &topic, raw_ostream &os) {
  os << topic.text;
  for (const VerbInfo &verb : getVerbs()) {
    if (verb.name.starts_with((topic.name + " ").str())) {
      os << "\n'hova help " << verb.name << "' tells about that verb.\n";
    }
  }
}

void printHelp(raw_ostream &os) {
  os << "hova compiles a description of a Transformer to a native program.\n\n"
        "  hova compile model.json -o model          then: ./model --help\n"
        "  hova compile model.json --weights model.safetensors -o model\n"
        "  hova summary model.json --set depth=6\n"
        "  hova verify model.json                    the program against the "
        "reference\n\n"
        "usage: hova VERB ...                        hova help VERB: its "
        "options\n\n";
  for (const VerbInfo &verb : getVerbs()) {
    os << "  " << left_justify(verb.name, 14) << verb.summary << "\n";
  }
  os << "\ntopics, of hova help TOPIC:\n\n";
  for (const Topic &topic : getTopics()) {
    os << "  " << left_justify(topic.name, 14) << topic.summary << "\n";
  }
  os << "\n  --list-phases Show the phases of a compilation and what each "
        "promises, and with\n"
        "                --target=NAME the passes for that target.\n"
        "  --version     Show the versions of hova and LLVM, and the targets.\n"
        "  --help, -h    Show this text.\n\n";
  printStatuses(os);
}

} // namespace hova::tool
