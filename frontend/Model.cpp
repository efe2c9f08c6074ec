//===- Model.cpp - A description with its weights, ready to compile -------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "frontend/Model.h"

#include "frontend/folder/ConfigBeside.h"
#include "frontend/folder/KeyErrors.h"
#include "frontend/reader/FileKind.h"
#include "frontend/reader/Suggest.h"
#include "frontend/weights/FittingParameters.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <cerrno>
#include <cstring>
#include <sstream>

namespace hova::frontend {

using reader::Diagnostics;
using reader::inQuotes;

namespace {

void print(const Diagnostics &diagnostics, const ModelOptions &options,
           llvm::raw_ostream &errors) {
  std::ostringstream text;
  diagnostics.print(text, options.format, options.color);
  errors << text.str();
}

/// Prints mistakes of a description, those that keys of a configuration make
/// at their keys.
void print(const Diagnostics &diagnostics, const ModelSpec &spec,
           const DecidingKeys &keys, const ModelOptions &options,
           llvm::raw_ostream &errors) {
  KeyErrors told = tellAtKeys(diagnostics, spec, keys, options.overrides);
  print(told.atKeys, options, errors);
  print(told.others, options, errors);
}

/// Prints an error that has no place in the description; the result is
/// `status`.
ModelStatus fail(const ModelOptions &options, llvm::raw_ostream &errors,
                 const std::string &file, std::string message,
                 std::vector<std::string> notes = {},
                 ModelStatus status = ModelStatus::Rejected) {
  reader::Message error{reader::Severity::Error, file, std::move(message),
                        std::move(notes)};
  errors << error.str(options.format, options.color);
  return status;
}

/// The overrides of the command line and, before them, those of a source: what
/// the configuration beside the weights decides, and what else the source sets.
/// Without `contradictions`, the command line wins silently: enough to see
/// whether names fit.
std::vector<ParameterOverride>
withSource(const ModelOptions &options, const CheckpointSpec *source,
           bool contradictions,
           const std::vector<ParameterOverride> &configured = {}) {
  std::vector<ParameterOverride> all;
  auto isIn = [](const std::vector<ParameterOverride> &list,
                 const std::string &name) {
    return llvm::any_of(list,
                        [&](const auto &other) { return other.name == name; });
  };
  for (const ParameterOverride &value : configured) {
    if (contradictions || !isIn(options.overrides, value.name)) {
      all.push_back(value);
    }
  }
  if (source) {
    for (const auto &[name, value] : source->set) {
      if (value.literal && !isIn(configured, name) &&
          (contradictions || !isIn(options.overrides, name))) {
        all.push_back(
            {name, value.literal->str(), "checkpoint source " + source->name});
      }
    }
  }
  all.insert(all.end(), options.overrides.begin(), options.overrides.end());
  return all;
}

/// A source with the program it asks for and the plan it gives.
struct Candidate {
  const CheckpointSpec *source = nullptr;
  std::unique_ptr<Program> program;
  std::unique_ptr<CheckpointPlan> plan;
};

/// Whether `plan` fits a file better than `other`: a plan without problems
/// does, else the one that finds more of the file's tensors.
bool fitsBetter(const CheckpointPlan &plan, const CheckpointPlan &other) {
  if (plan.problems.empty() || other.problems.empty()) {
    return plan.problems.empty() && !other.problems.empty();
  }
  return plan.found != other.found
             ? plan.found > other.found
             : plan.problems.size() < other.problems.size();
}

/// The candidate that fits `file` best, the names of the description first. It
/// has no plan if the model cannot take what the source sets, which happens
/// to a source that was asked for.
Candidate chooseSource(const ModelOptions &options, const Model &model,
                       const TensorFile &file) {
  std::vector<const CheckpointSpec *> sources;
  if (model.configuredSource) {
    sources.push_back(model.configuredSource);
  } else if (options.checkpoint.empty()) {
    sources.push_back(nullptr);
    for (const CheckpointSpec &source : model.spec->checkpoints) {
      sources.push_back(&source);
    }
  } else {
    sources.push_back(model.spec->findCheckpoint(options.checkpoint));
  }
  Candidate best;
  best.source = sources.front();
  for (const CheckpointSpec *source : sources) {
    Diagnostics quiet(model.spec->source);
    Candidate candidate;
    candidate.source = source;
    candidate.program =
        elaborate(*model.spec,
                  withSource(options, source, false, model.configured), quiet);
    if (!candidate.program) {
      continue;
    }
    candidate.plan = std::make_unique<CheckpointPlan>(
        planCheckpoint(*candidate.program, source, file));
    if (!best.plan || fitsBetter(*candidate.plan, *best.plan)) {
      best = std::move(candidate);
    }
  }
  return best;
}

/// What all names of a file begin with, up to a dot, the shortest first: a
/// model inside of others has one for each of them.
std::vector<std::string> prefixesOf(const TensorFile &file) {
  constexpr size_t mostNested = 4;
  std::vector<std::string> prefixes;
  std::string first, last;
  for (const auto &[name, entry] : file.entries()) {
    if (!entry.isOfModule) {
      first = first.empty() ? name : first;
      last = name;
    }
  }
  // Names are sorted: what the first and the last share, all of them do.
  for (size_t i = 0; i < first.size() && prefixes.size() < mostNested; ++i) {
    if (i >= last.size() || first[i] != last[i]) {
      break;
    }
    if (first[i] == '.') {
      prefixes.push_back(first.substr(0, i + 1));
    }
  }
  return prefixes;
}

/// The candidate that fits best, perhaps without a prefix that all names of the
/// file have and no rule knows; `model.file` is then without it.
Candidate choosePrefix(const ModelOptions &options, Model &model) {
  Candidate best = chooseSource(options, model, *model.file);
  // With a prefix that nobody knows, hardly any name is found.
  if (!best.plan || best.plan->problems.empty() ||
      best.plan->found * 2 > best.plan->wanted) {
    return best;
  }
  std::optional<TensorFile> file;
  for (const std::string &prefix : prefixesOf(*model.file)) {
    TensorFile below = model.file->below(prefix);
    Candidate other = chooseSource(options, model, below);
    bool fits = other.plan && (other.plan->problems.empty() ||
                               other.plan->found > best.plan->found);
    if (fits && fitsBetter(*other.plan, *best.plan)) {
      best = std::move(other);
      file = std::move(below);
    }
  }
  if (file) {
    *model.file = std::move(*file);
  }
  return best;
}

/// After "by the names of ..": why these names and not others.
std::string howItFits(const ModelOptions &options, const Model &model,
                      const CheckpointPlan &plan) {
  std::string known = "the description";
  for (const CheckpointSpec &source : model.spec->checkpoints) {
    known += ", " + source.name;
  }
  bool hasChoice =
      options.checkpoint.empty() && !model.spec->checkpoints.empty();
  if (plan.found == 0 && hasChoice) {
    return ", nor by any other: it has no tensor that is wanted by the names "
           "of " +
           known;
  }
  return std::string(hasChoice ? ", which fit best" : "") + ": it has " +
         std::to_string(plan.found) + " of the " + std::to_string(plan.wanted) +
         " tensors that are wanted";
}

std::string asOption(const std::string &name, const std::string &value) {
  return "--set " + reader::printable(name + "=" + value);
}

/// The settings with which a file would fit that has most of what is wanted, or
/// of which most is wanted.
std::vector<std::string> whatFits(const ModelOptions &options,
                                  const Model &model, const Candidate &best) {
  const CheckpointPlan &plan = *best.plan;
  if (plan.found * 2 < std::min(plan.wanted, model.file->entries().size())) {
    return {};
  }
  FittingParameters found = findFittingParameters(
      *model.spec, withSource(options, best.source, true, model.configured),
      best.source, *model.file, *model.program, plan);
  std::string settings, given, heads;
  for (const auto &[name, value, before] : found.values) {
    settings += " " + asOption(name, value);
    given += before.empty() ? "" : " " + asOption(name, before);
  }
  for (const auto &[name, value, before] : found.heads) {
    heads += (heads.empty() ? "" : " and ") + reader::printable(name) + " is " +
             value;
  }
  std::vector<std::string> notes;
  if (!settings.empty()) {
    notes.push_back("it fits with" + settings +
                    (given.empty() ? "" : ", in the place of" + given));
  }
  if (!heads.empty()) {
    notes.push_back("no tensor says how many heads there are: check that " +
                    heads);
  }
  for (const auto &[name, value, before] : found.bounds) {
    notes.push_back("no tensor says what " + reader::printable(name) +
                    " is: it is at most " + value);
  }
  return notes;
}

/// What is the matter with the whole of a file, the settings with which it
/// would fit, where there are any, and all that a person can read of what does
/// not fit.
std::vector<std::string> whatDoesNotFit(const ModelOptions &options,
                                        const Model &model,
                                        const Candidate &best) {
  constexpr size_t mostListed = 1000;
  const CheckpointPlan &plan = *best.plan;
  std::vector<std::string> notes;
  std::vector<std::string> prefixes = prefixesOf(*model.file);
  if (!model.file->prefix().empty()) {
    notes.push_back("all names of the file begin with " +
                    inQuotes(model.file->prefix()) +
                    ", which is left out here");
  } else if (plan.found == 0 && !prefixes.empty() &&
             model.file->entries().size() > 1) {
    notes.push_back("all names of the file begin with " +
                    inQuotes(prefixes.back()));
  }
  if (!model.moduleProblem.empty()) {
    notes.push_back(model.moduleProblem);
  }
  std::string index = indexBeside(options.weights);
  if (!index.empty()) {
    notes.push_back("the file is one of several, whose index is " +
                    reader::escaped(index));
  }
  std::vector<std::string> settings = whatFits(options, model, best);
  notes.insert(notes.end(), settings.begin(), settings.end());
  size_t listed = std::min(mostListed, plan.problems.size());
  notes.insert(notes.end(), plan.problems.begin(),
               plan.problems.begin() + static_cast<std::ptrdiff_t>(listed));
  if (listed < plan.problems.size()) {
    notes.push_back("and " + std::to_string(plan.problems.size() - listed) +
                    " more");
  }
  return notes;
}

/// Some of `names`, after `text`; nothing of none.
template <typename Names>
std::string namesAfter(const char *text, const Names &names) {
  constexpr size_t mostNamed = 4;
  std::string listed;
  size_t count = 0;
  for (const std::string &name : names) {
    if (count++ < mostNamed) {
      listed += (listed.empty() ? text : ", ") + reader::printable(name);
    }
  }
  if (count > mostNamed) {
    listed += " and " + std::to_string(count - mostNamed) + " more";
  }
  return listed;
}

/// After the names of a file's source: what of the file is not in the model,
/// and what of the model is not in the file.
std::string whatDiffers(const CheckpointPlan &plan) {
  return namesAfter("; the model has no part for ", plan.ignored) +
         namesAfter("; by initialisers: ", plan.initialised);
}

/// A forced source must exist.
ModelStatus checkSourceName(const ModelOptions &options, const Model &model,
                            llvm::raw_ostream &errors) {
  if (options.checkpoint.empty() ||
      model.spec->findCheckpoint(options.checkpoint)) {
    return ModelStatus::Ok;
  }
  std::vector<std::string> names;
  std::string list;
  for (const CheckpointSpec &source : model.spec->checkpoints) {
    names.push_back(source.name);
    list += (list.empty() ? "" : ", ") + source.name;
  }
  std::vector<std::string> notes;
  if (auto best = reader::suggest(options.checkpoint, names)) {
    notes.push_back("did you mean " + inQuotes(*best) + "?");
  }
  return fail(options, errors, options.path,
              "unknown checkpoint source " + inQuotes(options.checkpoint) +
                  (list.empty() ? "; the description has none"
                                : "; the description has " + list),
              std::move(notes));
}

/// Says what the file is if it is of another kind altogether.
ModelStatus checkKind(const ModelOptions &options, llvm::StringRef text,
                      llvm::raw_ostream &errors) {
  auto kind = reader::recognizeFile({text.data(), text.size()});
  // A description says that it is one.
  if (!kind && !text.contains("\"hova\"") && !text.contains("\"layers\"")) {
    kind = reader::recognizeJson({text.data(), text.size()});
  }
  if (!kind) {
    return ModelStatus::Ok;
  }
  std::vector<std::string> notes;
  if (*kind->hint) {
    notes.push_back(kind->hint);
  }
  return fail(options, errors, options.path,
              std::string("this is ") + kind->what + ", not a description",
              std::move(notes));
}

/// Adds the tensors of the modules beside a file, where a source has rules for
/// them. Without the modules the model may still be whole: what cannot be read
/// is told where it is missing.
void addModules(const SentenceModules &modules, Model &model) {
  auto readsModules = [](const RuleSpec &rule) {
    return llvm::any_of(rule.from, [](const std::string &name) {
      return llvm::StringRef(name).starts_with(SentenceModules::tensorPrefix);
    });
  };
  if (llvm::none_of(model.spec->checkpoints, [&](const CheckpointSpec &source) {
        return llvm::any_of(source.rules, readsModules);
      })) {
    return;
  }
  for (const auto &[prefix, path] : modules.tensors()) {
    if (llvm::Error error = model.file->addModule(prefix, path)) {
      model.moduleProblem = llvm::toString(std::move(error));
      return;
    }
  }
}

/// NaN and infinity are found here, where the tensor of the file has a name.
llvm::Error checkValues(const CheckpointPlan &plan, const TensorFile &file) {
  for (const RuleUse &use : plan.uses) {
    for (const std::string &name : use.from) {
      if (llvm::Error error = file.checkFinite(name)) {
        return error;
      }
    }
  }
  return llvm::Error::success();
}

/// Tables are small, and what is wrong with one is said before anything is
/// made of it.
llvm::Error checkTables(const Program &program, WeightSource &weights) {
  for (const ProgramWeight &weight : program.weights) {
    if (weight.blockTable) {
      if (llvm::Error error = weights.load(weight.name).takeError()) {
        return error;
      }
    }
  }
  return llvm::Error::success();
}

/// A file that cannot be read is no mistake in it.
ModelStatus failOnFile(const ModelOptions &options, llvm::raw_ostream &errors,
                       llvm::Error error) {
  ModelStatus status = ModelStatus::Rejected;
  std::string message;
  llvm::handleAllErrors(std::move(error), [&](const llvm::ErrorInfoBase &info) {
    message = info.message();
    std::error_code code = info.convertToErrorCode();
    if (code == std::errc::io_error) {
      status = ModelStatus::Unreadable;
    } else if (code == std::errc::not_enough_memory) {
      status = ModelStatus::OutOfMemory;
    }
  });
  return fail(options, errors, "hova", std::move(message), {}, status);
}

} // namespace

/// The text that was given, or that of the file; null, with errno.
static std::shared_ptr<const reader::Source>
readDescription(const ModelOptions &options) {
  if (options.text) {
    return std::make_shared<reader::Source>(options.path, *options.text);
  }
  return reader::Source::read(options.path, reader::Limits().bytes);
}

ModelStatus readModel(const ModelOptions &options, Model &model,
                      llvm::raw_ostream &errors) {
  std::shared_ptr<const reader::Source> source = readDescription(options);
  if (!source) {
    return fail(options, errors, options.path,
                std::string("cannot read: ") + std::strerror(errno), {},
                ModelStatus::Unreadable);
  }
  std::string_view text = source->text();
  ModelStatus kind = checkKind(options, {text.data(), text.size()}, errors);
  if (kind != ModelStatus::Ok) {
    return kind;
  }
  Diagnostics diagnostics(std::move(source));
  model.spec = readModelSpec(diagnostics);
  if (model.spec) {
    model.spec->tensors = options.tensors;
    // Of a program that is no longer opened with weights, the parameters are
    // those of the weights it was made with.
    const CheckpointSpec *checkpoint =
        options.weights.empty() ? model.spec->findCheckpoint(options.checkpoint)
                                : nullptr;
    // Shape mistakes are found beside mistakes of spelling, where possible.
    model.program = elaborate(
        *model.spec, withSource(options, checkpoint, true), diagnostics);
  }
  if (options.warningsAreErrors) {
    diagnostics.promoteWarnings();
  }
  if (diagnostics.hasErrors() && model.spec && options.folder) {
    print(diagnostics, *model.spec, options.folder->deciding, options, errors);
  } else {
    print(diagnostics, options, errors);
  }
  return diagnostics.hasErrors() ? ModelStatus::Rejected : ModelStatus::Ok;
}

ModelStatus openWeights(const ModelOptions &options, Model &model,
                        llvm::raw_ostream &errors) {
  ModelStatus source = checkSourceName(options, model, errors);
  if (source != ModelStatus::Ok) {
    return source;
  }
  if (options.weights.empty()) {
    bool varied = options.drawing == Drawing::Varied;
    model.weights = drawWeights(*model.program, options.seed, options.drawing);
    model.note = "weights drawn from seed " + std::to_string(options.seed) +
                 (varied ? ", and none of them constant" : "");
    return ModelStatus::Ok;
  }
  llvm::Expected<TensorFile> file = TensorFile::open(options.weights);
  if (!file) {
    return failOnFile(options, errors, file.takeError());
  }
  model.file = std::make_unique<TensorFile>(std::move(*file));
  auto modules = options.modules;
  if (!modules) {
    modules = std::make_shared<SentenceModules>(
        llvm::sys::path::parent_path(options.weights).str());
  }
  addModules(*modules, model);
  std::optional<ConfigBeside> beside = readConfigBeside(
      *model.spec, options.weights, *modules, options.checkpoint,
      options.choices,
      [&](const Diagnostics &refused) { print(refused, options, errors); });
  if (!beside) {
    return ModelStatus::Rejected;
  }
  model.configuredSource = beside->source;
  model.configured = std::move(beside->parameters);
  Candidate best = choosePrefix(options, model);
  Diagnostics diagnostics(model.spec->source);
  model.program = elaborate(
      *model.spec, withSource(options, best.source, true, model.configured),
      diagnostics);
  if (best.source && !best.plan && !best.source->set.empty()) {
    std::string settings;
    for (const auto &[name, value] : best.source->set) {
      settings += " " + name + "=" + value.literal->str();
    }
    diagnostics.errorElsewhere("the model cannot be what checkpoint source " +
                               inQuotes(best.source->name) +
                               " sets:" + reader::printable(settings));
  }
  if (!model.program) {
    print(diagnostics, *model.spec, beside->deciding, options, errors);
    return ModelStatus::Rejected;
  }
  model.checkpoint = best.source ? best.source->name : "";
  std::string names = best.source ? "names of " + best.source->name
                                  : "names of the description";
  if (!best.plan->problems.empty()) {
    return fail(options, errors, options.weights,
                "the file does not fit " + model.spec->name + " by the " +
                    names + howItFits(options, model, *best.plan),
                whatDoesNotFit(options, model, best));
  }
  if (llvm::Error error = checkValues(*best.plan, *model.file)) {
    return failOnFile(options, errors, std::move(error));
  }
  model.plan = std::move(best.plan);
  model.weights = readCheckpoint(*model.program, *model.plan, *model.file);
  if (llvm::Error error = checkTables(*model.program, *model.weights)) {
    return failOnFile(options, errors, std::move(error));
  }
  if (llvm::Error error =
          checkTies(*model.program, *model.plan, *model.file, *model.weights)) {
    return failOnFile(options, errors, std::move(error));
  }
  if (!model.file->prefix().empty()) {
    names += " below " + inQuotes(model.file->prefix());
  }
  if (model.configuredSource) {
    names += ", parameters of the config.json beside it";
  }
  model.note = "weights from " + options.weights + " (" + names +
               whatDiffers(*model.plan) + ")";
  return ModelStatus::Ok;
}

} // namespace hova::frontend
