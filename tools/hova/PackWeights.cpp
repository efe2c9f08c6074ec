//===- PackWeights.cpp - hova weights pack --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The image that `hova compile` would put into the program, from new weights
// and without generating code.

#include "tools/hova/CompileSettings.h"
#include "tools/hova/Files.h"
#include "tools/hova/Guard.h"
#include "tools/hova/Progress.h"
#include "tools/hova/Verbs.h"

int hova::tool::runPackWeights(const Arguments &arguments) {
  frontend::ModelOptions modelOptions = readModelOptions(arguments);
  CompileOptions options = readCompileOptions(arguments);
  options.output = arguments.value(OPT_o).str();
  if (options.output.empty() || options.output == "-") {
    arguments.usageError("option '-o' expects the file to write");
  }
  if (!arguments.has(OPT_weights) && !arguments.has(OPT_init)) {
    arguments.usageError("option '--weights' expects the file to pack");
  }
  applyMemoryLimit(arguments);
  if (arguments.failed()) {
    return *arguments.failed();
  }
  FileUses uses(arguments);
  uses.writes(options.output, "-o");
  uses.writesReports(arguments, options);
  if (int status = uses.check()) {
    return status;
  }
  TimeTrace trace(arguments);
  Progress progress(arguments);
  options.onPhase = [&](llvm::StringRef phase) { progress.enter(phase); };
  Session session(arguments);
  if (int status = session.load(modelOptions, Session::Weights::Opened,
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
  return trace.finish(compileStatus(
      packWeights(session.module(), options, session.weights()), session));
}
