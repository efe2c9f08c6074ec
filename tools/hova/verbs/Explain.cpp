//===- Explain.cpp - hova explain -----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The verdicts on sites and of passes that rewrite, for people or as one JSON
// object; with --diff, what differs from those of another compilation.

#include "codegen/JsonText.h"
#include "codegen/Pipeline.h"
#include "tools/hova/output/Files.h"
#include "tools/hova/session/CompileSettings.h"
#include "tools/hova/verbs/Verbs.h"
#include "tools/inspect/DeviceReports.h"
#include "tools/inspect/Differences.h"
#include "tools/inspect/Verdicts.h"
#include "llvm/Support/Allocator.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/StringSaver.h"

using namespace mlir;

namespace hova::tool {

namespace {

/// One compilation up to where the verdicts are.
class Explanation {
public:
  explicit Explanation(Arguments &arguments)
      : arguments(arguments), session(arguments) {}

  /// The exit status. There is something to print if a module was made, also
  /// where it fails: a site that had to be fused and is not has its verdict.
  int make();
  bool isMade() const { return module.get(); }
  /// What became of the keys of a folder's configuration; also of one that is
  /// refused.
  void printKeys() const;
  void print();
  llvm::json::Object json();

private:
  ModuleOp source();
  void checkPath();
  int reportDevice(CompileOptions options);
  const DeviceReport *report() {
    return compiled.report ? &*compiled.report : nullptr;
  }

  Arguments &arguments;
  Session session;
  std::shared_ptr<const frontend::ImportedFolder> folder;
  inspect::Scope scope;
  OwningOpRef<ModuleOp> module;
  CompiledModule compiled;
};

} // namespace

/// What the verdicts are read from: after `assign` the attentions are loops.
ModuleOp Explanation::source() {
  if (!session.isAfter("assign")) {
    return session.module();
  }
  printNote(arguments.model() + " holds loops; the verdicts are those of the "
                                "description after them");
  return session.imported();
}

/// A path at which nothing stands is a mistake.
void Explanation::checkPath() {
  if (scope.path.empty() || inspect::hasPath(*scope.program, scope.path)) {
    return;
  }
  std::vector<std::string> known = inspect::pathsOf(*scope.program);
  std::string nearest = suggestion(scope.path, known);
  arguments.usageError("no layer of '" + scope.program->name +
                       "' is at or below '" + scope.path + "'" +
                       (nearest.empty()
                            ? "; 'hova summary' lists the paths of layers"
                            : nearest));
}

/// What the kernels take of a GPU, if that is what runs them.
int Explanation::reportDevice(CompileOptions options) {
  // Dumps end where the verdicts are.
  options.dumpDirectory.clear();
  options.reportLoops = true;
  int status = compileStatus(
      reportKernels(session.imported(), options, compiled), session);
  if (compiled.report && !scope.path.empty()) {
    inspect::keepKernelsBelow(*compiled.report, *module, scope.path);
  }
  return status;
}

int Explanation::make() {
  frontend::ModelOptions modelOptions = readModelOptions(arguments);
  folder = modelOptions.folder;
  CompileOptions options = readCompileOptions(arguments);
  // Of several levels that are named, the best is explained.
  takeOneLevel(arguments, options);
  if (arguments.failed()) {
    return *arguments.failed();
  }
  FileUses uses(arguments, modelOptions);
  uses.writesReports(arguments, options);
  if (int status = uses.check()) {
    return status;
  }
  if (int status = session.load(modelOptions, Session::Weights::IfGiven,
                                options.storage)) {
    return status;
  }
  for (const std::string &file : session.weightFiles()) {
    uses.reads(file, "of --weights");
  }
  if (int status = uses.check()) {
    return status;
  }
  describeModel(arguments, session, options);
  scope = {arguments.value(OPT_path).str(), &session.program(),
           session.imported()};
  checkPath();
  if (arguments.failed()) {
    return *arguments.failed();
  }
  PhaseRange range;
  range.stopAfter = "assign";
  range.dumpDirectory = options.dumpDirectory;
  range.origin = options.origin;
  range.plugins = options.plugins;
  range.configure = options.configure;
  OwningOpRef<ModuleOp> started = cast<ModuleOp>(source()->clone());
  llvm::Expected<LogicalResult> result =
      runPhases(*started, options.pipeline(), range);
  if (!result) {
    return reportError(result.takeError());
  }
  module = std::move(started);
  return succeeded(*result) ? reportDevice(options) : session.failureStatus();
}

void Explanation::printKeys() const {
  if (!folder || folder->fates.empty()) {
    return;
  }
  unsigned keyWidth = 0, valueWidth = 0;
  for (const frontend::KeyFate &fate : folder->fates) {
    keyWidth = std::max(keyWidth, static_cast<unsigned>(fate.key.size()));
    valueWidth = std::max(valueWidth, static_cast<unsigned>(fate.value.size()));
  }
  llvm::outs() << "keys of config.json\n";
  for (const frontend::KeyFate &fate : folder->fates) {
    llvm::outs() << "  "
                 << llvm::left_justify(reader::escaped(fate.key), keyWidth)
                 << "  " << llvm::left_justify(fate.value, valueWidth) << "  "
                 << fate.fate << "\n";
  }
  llvm::outs() << "\n";
}

void Explanation::print() {
  printKeys();
  inspect::printVerdicts(*module, scope, llvm::outs());
  if (report()) {
    inspect::printDeviceReport(*report(), llvm::outs());
  }
}

llvm::json::Object Explanation::json() {
  llvm::json::Object all = inspect::verdictsJson(*module, scope, report());
  if (folder) {
    llvm::json::Array keys;
    for (const frontend::KeyFate &fate : folder->fates) {
      keys.push_back(llvm::json::Object{
          {"key", fate.key}, {"value", fate.value}, {"fate", fate.fate}});
    }
    all["config"] = std::move(keys);
  }
  return all;
}

//===----------------------------------------------------------------------===//
// Differences
//===----------------------------------------------------------------------===//

/// A report of 100,000 kernels has less.
constexpr uint64_t kMostReportBytes = 256 << 20;

/// What `hova explain --format=json` has written into this file; nothing where
/// it holds something else.
static std::optional<llvm::json::Object> readReport(llvm::StringRef path) {
  uint64_t size = 0;
  if (!llvm::sys::fs::is_regular_file(path) ||
      llvm::sys::fs::file_size(path, size) || size > kMostReportBytes) {
    return std::nullopt;
  }
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer) {
    return std::nullopt;
  }
  auto parsed = parseJsonText((*buffer)->getBuffer());
  if (!parsed) {
    llvm::consumeError(parsed.takeError());
    return std::nullopt;
  }
  llvm::json::Object *object = parsed->getAsObject();
  bool isReport = object && object->getArray("sites") &&
                  object->getArray("kernels") && object->getArray("rewrites");
  return isReport ? std::optional(std::move(*object)) : std::nullopt;
}

/// Makes the report that --diff names, by a command line of its own: this one,
/// with the words of --diff after it.
static int explainOther(const Arguments &arguments, llvm::json::Object &other) {
  llvm::BumpPtrAllocator allocator;
  llvm::StringSaver saver(allocator);
  SmallVector<const char *> added;
  llvm::cl::TokenizeGNUCommandLine(arguments.value(OPT_diff), saver, added);
  bool hasModel = !added.empty() && !llvm::StringRef(added[0]).starts_with("-");
  if (hasModel && added.size() == 1) {
    if (std::optional<llvm::json::Object> report = readReport(added[0])) {
      other = std::move(*report);
      return Ok;
    }
  }
  SmallVector<OptionID> replaced = {OPT_diff, OPT_dump_ir, OPT_time_trace};
  if (hasModel) {
    replaced.push_back(OPT_INPUT);
  }
  SmallVector<const char *> words;
  for (const std::string &word : arguments.wordsWithout(replaced)) {
    words.push_back(saver.save(word).data());
  }
  words.append(added);
  Arguments others(arguments.verb(), words);
  for (OptionID id : {OPT_diff, OPT_dump_ir, OPT_time_trace, OPT_pass_plugin}) {
    // Libraries are loaded already, for both.
    if (others.has(id) &&
        (id != OPT_pass_plugin || others.values(id) != arguments.values(id))) {
      others.usageError("option '" + Arguments::spelling(id) +
                        "' cannot stand in '--diff'");
    }
  }
  if (others.failed()) {
    return *others.failed();
  }
  Explanation explanation(others);
  int status = explanation.make();
  if (explanation.isMade()) {
    other = explanation.json();
    return Ok;
  }
  return status;
}

int runExplain(Arguments &arguments) {
  bool json = arguments.word(OPT_format) == "json";
  if (arguments.failed()) {
    return *arguments.failed();
  }
  llvm::json::Object other;
  if (arguments.has(OPT_diff)) {
    if (int status = explainOther(arguments, other)) {
      return status;
    }
  }
  Explanation explanation(arguments);
  TimeTrace trace(arguments);
  int status = explanation.make();
  if (!explanation.isMade()) {
    if (!json) {
      explanation.printKeys();
    }
    // What must not be written over is not by this file either.
    return status == Usage ? status : trace.finish(status);
  }
  if (arguments.has(OPT_diff)) {
    other = inspect::differencesJson(explanation.json(), other);
    if (!json) {
      inspect::printDifferences(other, llvm::outs());
    }
  } else if (json) {
    other = explanation.json();
  } else {
    explanation.print();
  }
  if (json) {
    llvm::outs() << llvm::formatv("{0:2}\n",
                                  llvm::json::Value(std::move(other)));
  }
  return trace.finish(status);
}

} // namespace hova::tool
