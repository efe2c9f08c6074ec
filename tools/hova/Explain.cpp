//===- Explain.cpp - hova explain -----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The verdicts on sites and of passes that rewrite, for people or as one JSON
// object.

#include "codegen/Pipeline.h"
#include "tools/hova/CompileSettings.h"
#include "tools/hova/Files.h"
#include "tools/hova/Verbs.h"
#include "tools/inspect/Verdicts.h"

using namespace mlir;

namespace hova::tool {

/// What the verdicts are read from: behind `assign` the attentions are loops.
static ModuleOp sourceOf(const Arguments &arguments, Session &session) {
  if (!session.isBehind("assign")) {
    return session.module();
  }
  printNote(arguments.model() + " holds loops; the verdicts are those of the "
                                "description behind them");
  return session.imported();
}

int runExplain(Arguments &arguments) {
  Session session(arguments);
  frontend::ModelOptions modelOptions = readModelOptions(arguments);
  bool json = arguments.word(OPT_format, {"text", "json"}) == "json";
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
  if (arguments.failed()) {
    return *arguments.failed();
  }
  PipelineOptions pipeline = options.pipeline();
  PhaseRange range;
  range.stopAfter = "fuse";
  range.dumpDirectory = options.dumpDirectory;
  range.origin = options.origin;
  range.configure = options.configure;
  OwningOpRef<ModuleOp> module =
      cast<ModuleOp>(sourceOf(arguments, session)->clone());
  llvm::Expected<LogicalResult> result = runPhases(*module, pipeline, range);
  if (!result) {
    return trace.finish(reportError(result.takeError()));
  }
  // A site that had to be fused and is not has its verdict too.
  (json ? inspect::printVerdictsJson : inspect::printVerdicts)(*module,
                                                               llvm::outs());
  return trace.finish(succeeded(*result) ? Ok : session.failureStatus());
}

} // namespace hova::tool
