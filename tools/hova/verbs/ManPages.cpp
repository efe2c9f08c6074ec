//===- ManPages.cpp - The manual pages of hova ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// hova(1) and a page for each verb, as of git(1) and git-log(1), and for each
// of the other tools. In the language of man(7); without a date, so that the
// same hova has the same pages.

#include "codegen/OutputFile.h"
#include "tools/hova/options/Help.h"
#include "tools/hova/session/Plugins.h"
#include "tools/hova/session/Session.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Option/Option.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace hova::tool {

namespace {

/// Text in which nothing is a request or an escape.
std::string literal(StringRef text) {
  std::string result;
  if (text.starts_with(".") || text.starts_with("'")) {
    result = "\\&";
  }
  for (char c : text) {
    result += c == '\\' ? "\\e" : c == '-' ? "\\-" : std::string(1, c);
  }
  return result;
}

std::string bold(StringRef text) { return "\\fB" + literal(text) + "\\fR"; }
std::string italic(StringRef text) { return "\\fI" + literal(text) + "\\fR"; }

/// The name of the page of a verb: "hova-weights-pack".
std::string pageOf(const VerbInfo &verb) {
  std::string name = ("hova-" + verb.name).str();
  llvm::replace(name, ' ', '-');
  return name;
}

/// The name of the page of a topic.
std::string pageOf(const Topic &topic) { return "hova-" + topic.name.str(); }

struct Page {
  std::string name;
  StringRef summary;
  /// Of the manual: 1 has programs, 7 formats.
  int section = 1;
};

/// The other programs; their options are LLVM's own.
struct Tool {
  Page page;
  StringLiteral usage;
  StringLiteral description;
};

const Tool tools[] = {
    {{"hova-opt", "run passes of hova and of MLIR on IR"},
     "[options] [FILE.mlir]",
     "hova-opt is mlir-opt with the dialects, passes and pipelines of hova. It "
     "reads IR such as hova compile --emit=mlir and --dump-ir write, runs the "
     "passes that its options name, and writes what they make of it. "
     "hova-opt --help lists the passes and their options."},
    {{"hova-reduce", "make IR that shows a mistake smaller"},
     "[options] FILE.mlir",
     "hova-reduce is mlir-reduce with the dialects of hova: it makes IR "
     "smaller as long as a script still finds in it what is looked for. "
     "hova-reduce --help lists its options."},
    {{"hova-lsp-server", "language server for IR of hova"},
     "[options]",
     "hova-lsp-server is mlir-lsp-server with the dialects of hova. Editors "
     "start it for files of the type .mlir."},
    {{"hova-tblgen", "generate importers for operations of a plugin"},
     "-gen-hova-importers [options] FILE.td",
     "hova-tblgen writes, of the definitions of operations, the functions that "
     "make them from layers of a description. hova_add_plugin of hova's "
     "package for CMake calls it."}};

void printTitle(const Page &page, raw_ostream &os) {
  os << ".TH " << StringRef(page.name).upper() << " " << page.section
     << " \"\" \"hova " << hovaVersion() << "\" \""
     << (page.section == 1 ? "User Commands" : "Miscellaneous") << "\"\n"
     << ".SH NAME\n"
     << literal(page.name) << " \\- " << literal(page.summary) << "\n";
}

/// Examples in the form of `VerbInfo`.
void printExamples(StringRef examples, raw_ostream &os) {
  os << ".SH EXAMPLES\n.nf\n";
  for (StringRef line : split(examples.rtrim('\n'), '\n')) {
    os << literal(line) << "\n";
  }
  os << ".fi\n";
}

/// The spellings of an option: "\-h, \-\-help", "\-\-set=NAME=VALUE".
std::string spellingsOf(unsigned id, Visibility visibility) {
  const opt::OptTable &table = getOptions();
  std::string text;
  for (unsigned other = 1; other <= table.getNumOptions(); ++other) {
    opt::Option option = table.getOption(other);
    // A value as the next word is the same option to its readers.
    bool isShort = option.getAlias().isValid() &&
                   option.getAlias().getID() == id &&
                   option.getKind() == opt::Option::FlagClass;
    if (isShort && option.hasVisibilityFlag(visibility)) {
      text += bold(option.getPrefixedName()) + ", ";
    }
  }
  opt::Option option = table.getOption(id);
  text += bold(option.getPrefixedName());
  if (const char *value = table.getOptionMetaVar(id)) {
    bool isSeparate = option.getKind() == opt::Option::SeparateClass;
    text += (isSeparate ? " " : "") + italic(value);
  }
  return text;
}

/// Those that `printHelp` shows, in its order.
void printOptions(Visibility visibility, raw_ostream &os) {
  const opt::OptTable &table = getOptions();
  std::vector<unsigned> shown;
  for (unsigned id = 1; id <= table.getNumOptions(); ++id) {
    if (table.getOptionHelpText(id) &&
        table.getOption(id).hasVisibilityFlag(visibility)) {
      shown.push_back(id);
    }
  }
  llvm::sort(shown, [&](unsigned left, unsigned right) {
    int order =
        table.getOptionPrefixedName(left).ltrim('-').compare_insensitive(
            table.getOptionPrefixedName(right).ltrim('-'));
    return order != 0 ? order < 0 : left < right;
  });
  os << ".SH OPTIONS\n";
  for (unsigned id : shown) {
    os << ".TP\n"
       << spellingsOf(id, visibility) << "\n"
       << literal(table.getOptionHelpText(id)) << "\n";
  }
}

void printStatuses(raw_ostream &os) {
  os << ".SH EXIT STATUS\n";
  for (const StatusInfo &entry : getStatuses()) {
    os << ".TP\n"
       << bold(entry.status) << "\n"
       << literal(entry.meaning) << "\n";
  }
}

void printVerb(const VerbInfo &verb, raw_ostream &os) {
  printTitle({pageOf(verb), verb.summary}, os);
  os << ".SH SYNOPSIS\n"
     << bold(("hova " + verb.name).str()) << " " << literal(verb.usage) << "\n";
  os << ".SH DESCRIPTION\n"
     << literal(verb.summary)
     << ". The value of an option follows after = or as the next word; options "
        "stand anywhere after the verb.\n";
  printOptions(verb.visibility, os);
  printStatuses(os);
  printExamples(verb.examples, os);
  os << ".SH SEE ALSO\n" << bold("hova") << "(1)\n";
}

void printMain(raw_ostream &os) {
  printTitle({"hova", "compile a description of a Transformer to a program"},
             os);
  os << ".SH SYNOPSIS\n" << bold("hova") << " " << italic("VERB") << " ...\n";
  os << ".br\n"
     << bold("hova help") << " [" << italic("VERB") << "|" << italic("TOPIC")
     << "]\n";
  os << ".SH DESCRIPTION\n"
     << literal("hova compiles a JSON description of a Transformer, and its "
                "weights, to one native program or library for processors or "
                "GPUs, which needs no framework to run.")
     << "\n.SH COMMANDS\n";
  for (const VerbInfo &verb : getVerbs()) {
    os << ".TP\n"
       << bold(pageOf(verb)) << "(1)\n"
       << literal(verb.summary) << ".\n";
  }
  printOptions(GlobalVerb, os);
  printStatuses(os);
  os << ".SH ENVIRONMENT\n.TP\n"
     << bold("NO_COLOR") << "\nWhere it is set to anything, messages have no "
     << "colours unless " << bold("--color=always") << " asks for them.\n.TP\n"
     << bold("CUDA_HOME") << ", " << bold("CUDA_PATH")
     << "\nWhere ptxas, the assembler for GPUs, is looked for after "
     << bold("PATH") << ".\n";
  printExamples(getVerbs().front().examples, os);
  os << ".SH SEE ALSO\n";
  for (const VerbInfo &verb : getVerbs()) {
    os << bold(pageOf(verb)) << "(1),\n";
  }
  for (const Tool &tool : tools) {
    os << bold(tool.page.name) << "(1),\n";
  }
  for (const Topic &topic : getTopics()) {
    bool isLast = &topic == &getTopics().back();
    os << bold(pageOf(topic)) << "(7)" << (isLast ? "" : ",") << "\n";
  }
}

void printTool(const Tool &tool, raw_ostream &os) {
  printTitle(tool.page, os);
  os << ".SH SYNOPSIS\n"
     << bold(tool.page.name) << " " << literal(tool.usage)
     << "\n.SH DESCRIPTION\n"
     << literal(tool.description) << "\n.SH SEE ALSO\n"
     << bold("hova") << "(1)\n";
}

void printTopic(const Topic &topic, raw_ostream &os) {
  printTitle({pageOf(topic), topic.summary, 7}, os);
  os << ".SH DESCRIPTION\n.nf\n";
  for (StringRef line : split(topic.text.rtrim('\n'), '\n')) {
    os << literal(line) << "\n";
  }
  os << ".fi\n.SH SEE ALSO\n" << bold("hova") << "(1)\n";
}

Error writePage(StringRef folder, const Twine &file,
                function_ref<void(raw_ostream &)> print) {
  return writeFileWhole((folder + "/" + file).str(), 0666,
                        [&](raw_ostream &os) {
                          print(os);
                          return Error::success();
                        });
}

} // namespace

int writeManPages(StringRef folder) {
  Error error = writePage(folder, "hova.1", printMain);
  for (const VerbInfo &verb : getVerbs()) {
    if (!error) {
      error = writePage(folder, pageOf(verb) + ".1",
                        [&](raw_ostream &os) { printVerb(verb, os); });
    }
  }
  for (const Tool &tool : tools) {
    if (!error) {
      error = writePage(folder, tool.page.name + ".1",
                        [&](raw_ostream &os) { printTool(tool, os); });
    }
  }
  for (const Topic &topic : getTopics()) {
    if (!error) {
      error = writePage(folder, pageOf(topic) + ".7",
                        [&](raw_ostream &os) { printTopic(topic, os); });
    }
  }
  return error ? reportError(std::move(error)) : int(Ok);
}

} // namespace hova::tool
