//===- Suggestions.cpp - Options that were probably meant -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "tools/hova/options/Suggestions.h"
#include "frontend/reader/Json.h"
#include "frontend/reader/Suggest.h"
#include "frontend/reader/Text.h"
#include "llvm/Option/Option.h"
#include "llvm/Support/FileSystem.h"

using namespace llvm;

namespace hova::tool {

std::unique_ptr<frontend::ModelSpec> peekDescription(const VerbInfo &verb,
                                                     StringRef path) {
  // Standard input is the shell's, and what waits in a FIFO is the command's.
  if (verb.operand != kDescription || !sys::fs::is_regular_file(path)) {
    return nullptr;
  }
  auto source = reader::Source::read(path.str(), reader::Limits().bytes);
  if (!source) {
    return nullptr;
  }
  reader::Diagnostics unheard(std::move(source));
  return frontend::readModelSpec(unheard);
}

/// Names that other compilers and libraries have for options of hova, which
/// are spelt otherwise. The first option that the verb has counts.
struct ForeignOption {
  StringLiteral name;
  SmallVector<OptionID> options;
};

static ArrayRef<ForeignOption> foreignOptions() {
  static const ForeignOption options[] = {
      {"--output", {OPT_o, OPT_output_dir}},
      {"--out", {OPT_o, OPT_output_dir}},
      {"--output-file", {OPT_o}},
      {"--outfile", {OPT_o}},
      {"--param", {OPT_set}},
      {"--define", {OPT_set}},
      {"--precision", {OPT_dtype}},
      {"--type", {OPT_dtype}},
      {"--mcpu", {OPT_march}},
      {"--arch", {OPT_march}},
      {"--device", {OPT_target}},
      {"--backend", {OPT_target}},
      {"--seed", {OPT_init}},
  };
  return options;
}

/// Options that programs have and no verb means by another name.
static bool isOfPrograms(StringRef name) {
  static constexpr StringLiteral options[] = {
      "--expected",      "--rtol",       "--atol",    "--random-inputs",
      "--threads",       "--benchmark",  "--warmup",  "--repetitions",
      "--benchmark-out", "--kernel",     "--cold",    "--trace",
      "--check-weights", "--output-dir", "--describe"};
  return is_contained(options, name);
}

static bool takes(const VerbInfo &verb, OptionID id) {
  return getOptions().getOption(id).hasVisibilityFlag(verb.visibility);
}

/// An option as one would write it with a value; parameters stand after
/// `--set`, which `-o` has in common that a space follows.
static std::string withValue(StringRef option, StringRef value) {
  bool isSpaced = option == "-o" || option == "--set";
  return (option + (value.empty() ? "" : isSpaced ? " " : "=") + value).str();
}

/// "--set batch=8" for a parameter that the description has.
static std::string suggestParameter(const VerbInfo &verb,
                                    const UnknownOption &unknown,
                                    bool isExact) {
  auto spec =
      takes(verb, OPT_set) ? peekDescription(verb, unknown.model) : nullptr;
  if (!spec) {
    return "";
  }
  StringRef word = StringRef(unknown.name).ltrim('-');
  std::vector<std::string> names;
  for (const frontend::ParameterSpec &parameter : spec->parameters) {
    names.push_back(parameter.name);
  }
  std::optional<std::string> name = reader::suggest(word.str(), names);
  if (!name || (isExact && *name != word)) {
    return "";
  }
  return "--set " + *name + "=" +
         (unknown.value.empty() ? "VALUE" : reader::escaped(unknown.value));
}

/// The verb's option of another name.
static std::string suggestForeign(const VerbInfo &verb,
                                  const UnknownOption &unknown) {
  for (const ForeignOption &foreign : foreignOptions()) {
    if (foreign.name != unknown.name) {
      continue;
    }
    for (OptionID id : foreign.options) {
      if (takes(verb, id)) {
        return withValue(Arguments::spelling(id),
                         reader::escaped(unknown.value));
      }
    }
  }
  return "";
}

/// The verb's option that is spelt similarly.
static std::string suggestNear(const VerbInfo &verb, StringRef name) {
  std::string nearest;
  unsigned limit = std::max<unsigned>(1, name.size() / 3);
  unsigned distance = getOptions().findNearest(
      name, nearest, opt::Visibility(verb.visibility), 4, limit);
  return distance <= limit ? nearest : "";
}

static std::string asQuestion(const std::string &meant) {
  return meant.empty() ? "" : "; did you mean '" + meant + "'?";
}

std::string suggestOtherOption(const VerbInfo &verb,
                               const UnknownOption &unknown) {
  std::string meant = suggestParameter(verb, unknown, /*isExact=*/true);
  meant = meant.empty() ? suggestForeign(verb, unknown) : meant;
  return meant.empty() && isOfPrograms(unknown.name)
             ? ", which is an option of the compiled program"
             : asQuestion(meant);
}

std::string suggestOption(const VerbInfo &verb, const UnknownOption &unknown) {
  std::string meant = suggestOtherOption(verb, unknown);
  if (!meant.empty()) {
    return meant;
  }
  meant = suggestNear(verb, unknown.name);
  return asQuestion(meant.empty()
                        ? suggestParameter(verb, unknown, /*isExact=*/false)
                        : meant);
}

} // namespace hova::tool
