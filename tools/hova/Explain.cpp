//===- Explain.cpp - hova explain -----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The verdicts on sites and of passes that rewrite, for people or as one JSON
// object.

#include "codegen/Pipeline.h"
#include "tools/hova/CompileSettings.h"
#include "tools/hova/Files.h"
#include "tools/hova/Verbs.h"
#include "tools/inspect/DeviceReports.h"
#include "tools/inspect/Places.h"
#include "tools/inspect/Verdicts.h"

using namespace mlir;

namespace hova::tool {

/// What the verdicts are read from: after `assign` the attentions are loops.
static ModuleOp sourceOf(const Arguments &arguments, Session &session) {
  if (!session.isBehind("assign")) {
    return session.module();
  }
  printNote(arguments.model() + " holds loops; the verdicts are those of the "
                                "description after them");
  return session.imported();
}

/// A path at which nothing stands is a mistake.
static void checkPath(const Arguments &arguments, const inspect::Scope &scope) {
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
static int reportDevice(Session &session, CompileOptions options,
                        CompiledModule &compiled) {
  // Dumps end where the verdicts are.
  options.dumpDirectory.clear();
  options.reportLoops = true;
  return compileStatus(reportKernels(session.imported(), options, compiled),
                       session);
}

int runExplain(Arguments &arguments) {
  Session session(arguments);
  frontend::ModelOptions modelOptions = readModelOptions(arguments);
  bool json = arguments.word(OPT_format) == "json";
  CompileOptions options = readCompileOptions(arguments);
  if (arguments.failed()) {
    return *arguments.failed();
  }
  FileUses uses(arguments);
  uses.writesReports(arguments, options);
  if (int status = uses.check()) {
    return status;
  }
  TimeTrace trace(arguments);
  if (int status = session.load(modelOptions, Session::Weights::IfGiven,
                                options.storage)) {
    return status;
  }
  describeModel(arguments, session, options);
  inspect::Scope scope{arguments.value(OPT_path).str(), &session.program()};
  checkPath(arguments, scope);
  if (arguments.failed()) {
    return *arguments.failed();
  }
  PipelineOptions pipeline = options.pipeline();
  PhaseRange range;
  range.stopAfter = "assign";
  range.dumpDirectory = options.dumpDirectory;
  range.origin = options.origin;
  range.plugins = options.plugins;
  range.configure = options.configure;
  OwningOpRef<ModuleOp> module =
      cast<ModuleOp>(sourceOf(arguments, session)->clone());
  llvm::Expected<LogicalResult> result = runPhases(*module, pipeline, range);
  if (!result) {
    return trace.finish(reportError(result.takeError()));
  }
  CompiledModule compiled;
  int status = succeeded(*result) ? reportDevice(session, options, compiled)
                                  : session.failureStatus();
  DeviceReport *report = compiled.report ? &*compiled.report : nullptr;
  if (report && !scope.path.empty()) {
    inspect::keepKernelsBelow(*report, *module, scope.path);
  }
  // A site that had to be fused and is not has its verdict too.
  if (json) {
    llvm::json::Value verdicts = inspect::verdictsJson(*module, scope, report);
    llvm::outs() << llvm::formatv("{0:2}\n", verdicts);
    return trace.finish(status);
  }
  inspect::printVerdicts(*module, scope, llvm::outs());
  if (report) {
    inspect::printDeviceReport(*report, llvm::outs());
  }
  return trace.finish(status);
}

} // namespace hova::tool
