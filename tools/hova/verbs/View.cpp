//===- View.cpp - hova view -----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Compiles to text in memory and gathers, in one JSON object, what the other
// verbs print of the way there; the page shows that object and nothing else.

#include "codegen/OutputFile.h"
#include "codegen/PassSteps.h"
#include "codegen/targets/Targets.h"
#include "tools/hova/output/Closing.h"
#include "tools/hova/output/Files.h"
#include "tools/hova/output/Progress.h"
#include "tools/hova/session/CompileSettings.h"
#include "tools/hova/verbs/Benchmark.h"
#include "tools/hova/verbs/Verbs.h"
#include "tools/inspect/KernelCode.h"
#include "tools/inspect/Maps.h"
#include "tools/inspect/Summary.h"
#include "tools/inspect/Verdicts.h"
#include "tools/page/Page.h"

using namespace mlir;

namespace hova::tool {

namespace {

class View {
public:
  explicit View(Arguments &arguments)
      : closing(arguments), arguments(arguments), session(arguments) {}

  int run();

private:
  void readOptions();
  int checkFiles(const frontend::ModelOptions &modelOptions,
                 llvm::ArrayRef<std::string> weightFiles);
  int compile();
  int evaluate();
  llvm::json::Object gather();
  int write(llvm::json::Object document);
  void addPhase(llvm::StringRef name, std::string text);
  void addDump();

  Closing closing;
  Arguments &arguments;
  Session session;
  CompileOptions options;
  CompiledModule compiled;
  PassSteps steps;
  llvm::json::Array phases;
  std::optional<llvm::json::Object> benchmark, maps;
  std::optional<Peak> peak;
  bool isPage = true;
};

} // namespace

void View::readOptions() {
  options = readCompileOptions(arguments);
  options.emit = EmitKind::Assembly;
  options.report = true;
  isPage = arguments.word(OPT_format) == "text";
  peak = readPeak(arguments);
  if (!takeOneLevel(arguments, options)) {
    arguments.usageError("hova view takes one level, got " +
                         llvm::Twine(options.countLevels()));
  }
}

int View::checkFiles(const frontend::ModelOptions &modelOptions,
                     llvm::ArrayRef<std::string> weightFiles) {
  FileUses uses(arguments, modelOptions);
  for (const std::string &file : weightFiles) {
    uses.reads(file, "of --weights");
  }
  uses.reads(arguments.value(OPT_benchmark_file), "--benchmark-file");
  for (const NamedFile &input : inputFiles(arguments)) {
    uses.reads(input.path, "--input");
  }
  llvm::StringRef output = arguments.value(OPT_o, "-");
  uses.writes(output,
              arguments.has(OPT_o) ? "-o" : "the output, as there is no -o");
  uses.writesReports(arguments, options);
  return uses.check();
}

void View::addPhase(llvm::StringRef name, std::string text) {
  phases.push_back(llvm::json::Object{{"name", name},
                                      {"promise", findPhase(name)->promise},
                                      {"passes", toJson(steps.of(name))},
                                      {"text", std::move(text)}});
}

/// Phases before a dump were run by whoever made it: the page has what the dump
/// holds, and the program of its description.
void View::addDump() {
  for (auto [name, module] :
       {std::pair<llvm::StringRef, ModuleOp>("import", session.imported()),
        {phaseOf(session.dump()).name, session.dump()}}) {
    std::string text;
    llvm::raw_string_ostream os(text);
    printModule(module, options.origin, os);
    addPhase(name, std::move(text));
  }
}

int View::compile() {
  if (session.dump()) {
    addDump();
  }
  options.extend = steps.watch(std::move(options.extend));
  options.onDump = [&](llvm::StringRef phase, std::string text) {
    addPhase(phase, std::move(text));
  };
  return compileStatus(
      compileModule(session.imported(), options, session.weights(), &compiled),
      session);
}

/// What attention attends to, if there is something to attend to.
int View::evaluate() {
  if (!arguments.has(OPT_input)) {
    return Ok;
  }
  auto main = session.imported().lookupSymbol<func::FuncOp>("main");
  auto inputs = readInputs(main, inputFiles(arguments));
  if (!inputs) {
    return reportError(inputs.takeError());
  }
  FailureOr<llvm::json::Object> found =
      inspect::mapsJson(session.imported(), session.weights(), *inputs);
  if (failed(found)) {
    return session.failedOnWeights() ? Rejected : session.failureStatus();
  }
  maps = std::move(*found);
  return Ok;
}

llvm::json::Object View::gather() {
  using llvm::json::Object;
  const frontend::Program &program = session.program();
  inspect::Scope scope{"", &program, session.imported()};
  const DeviceReport *report = compiled.report ? &*compiled.report : nullptr;
  const TargetFacts &target = options.target->getFacts();
  inspect::Summary summary = inspect::summarize(program, session.context());
  int64_t flopsPerByte = options.target->getTarget(0)->getFlopsPerByte();
  Object document{
      {"hova", versionText()},
      {"model", program.name},
      {"target", target.name},
      {"level", options.origin.level},
      {"options", llvm::json::Array(options.origin.arguments)},
      {"description", Object{{"file", options.origin.file},
                             {"text", options.origin.description}}},
      {"summary", inspect::summaryJson(summary, program)},
      {"explain", inspect::verdictsJson(*compiled.assigned, scope, report)},
      {"launches", inspect::launchesJson(*compiled.tiled)},
      {"loops", inspect::loopsJson(*compiled.tiled)},
      {"memory", inspect::memoryJson(*compiled.tiled, flopsPerByte)},
      {"phases", std::move(phases)},
      {"code",
       Object{{"kind", target.code}, {"text", std::move(compiled.text)}}}};
  if (maps) {
    document["maps"] = std::move(*maps);
  }
  if (benchmark) {
    const TargetFacts *timed =
        findTarget(benchmark->getString("target").value_or(""));
    (*benchmark)["emulated"] = timed && timed->isEmulated;
    document["benchmark"] = std::move(*benchmark);
  }
  if (peak) {
    document["peak"] = Object{{"gflops", peak->gflops}};
    if (peak->gigabytes > 0) {
      document.getObject("peak")->try_emplace("gbs", peak->gigabytes);
    }
  }
  return document;
}

int View::write(llvm::json::Object document) {
  llvm::Error error = writeFileWhole(
      arguments.value(OPT_o, "-"), 0666, [&](llvm::raw_ostream &os) {
        if (isPage) {
          page::printPage(std::move(document), os);
        } else {
          os << llvm::formatv("{0:2}\n",
                              llvm::json::Value(std::move(document)));
        }
        return llvm::Error::success();
      });
  return error ? reportError(std::move(error)) : Ok;
}

int View::run() {
  frontend::ModelOptions modelOptions = readModelOptions(arguments);
  readOptions();
  if (arguments.failed()) {
    return *arguments.failed();
  }
  if (int status = checkFiles(modelOptions, {})) {
    return status;
  }
  if (arguments.has(OPT_benchmark_file)) {
    if (int status =
            readBenchmark(arguments.value(OPT_benchmark_file), benchmark)) {
      return status;
    }
  }
  TimeTrace trace(arguments);
  Progress progress(readProgressFormat(arguments));
  options.onPhase = [&](llvm::StringRef phase) { progress.enter(phase); };
  // Values need weights, and code needs none.
  auto weights = arguments.has(OPT_input) ? Session::Weights::Opened
                                          : Session::Weights::IfGiven;
  int status = session.load(modelOptions, weights, options.storage);
  // Shards are known only now.
  if (status == Ok) {
    status = checkFiles(modelOptions, session.weightFiles());
  }
  if (status != Ok) {
    return status;
  }
  describeModel(arguments, session, options);
  if (arguments.failed()) {
    return *arguments.failed();
  }
  status = compile();
  if (status == Ok && benchmark) {
    status = checkBenchmark(arguments.value(OPT_benchmark_file), *benchmark,
                            inspect::launchesJson(*compiled.tiled));
  }
  if (status == Ok) {
    status = evaluate();
  }
  if (status == Ok) {
    status = write(gather());
  }
  progress.end();
  if (status == Ok) {
    closing.wrote(arguments.value(OPT_o, "-"));
  }
  return trace.finish(status);
}

int runView(Arguments &arguments) { return View(arguments).run(); }

} // namespace hova::tool
