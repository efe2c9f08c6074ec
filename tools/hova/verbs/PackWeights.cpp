//===- PackWeights.cpp - hova weights pack --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The image that `hova compile` would put into the program, from new weights
// and without generating code.

#include "tools/hova/guard/Guard.h"
#include "tools/hova/output/Closing.h"
#include "tools/hova/output/Files.h"
#include "tools/hova/output/Progress.h"
#include "tools/hova/session/CompileSettings.h"
#include "tools/hova/verbs/Verbs.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"

namespace hova::tool {

/// What was packed, for scripts.
static void printJson(const Session &session, llvm::StringRef image) {
  uint64_t bytes = 0;
  // A stream has no size.
  bool known = !llvm::sys::fs::file_size(image, bytes);
  llvm::json::Object report{{"model", session.program().name},
                            {"image", image},
                            {"weights", session.note()}};
  if (known) {
    report["bytes"] = static_cast<int64_t>(bytes);
  }
  llvm::outs() << llvm::formatv("{0:2}\n",
                                llvm::json::Value(std::move(report)));
}

int runPackWeights(Arguments &arguments) {
  Closing closing(arguments);
  Session session(arguments);
  frontend::ModelOptions modelOptions = readModelOptions(arguments);
  CompileOptions options = readCompileOptions(arguments);
  bool json = arguments.word(OPT_format) == "json";
  options.output = arguments.value(OPT_o).str();
  if (options.output.empty() || options.output == "-") {
    arguments.usageError("option '-o' expects the file to write");
  }
  if (modelOptions.weights.empty() && !arguments.has(OPT_init) &&
      !arguments.failed()) {
    arguments.usageError("option '--weights' expects the file to pack");
  }
  applyMemoryLimit(arguments);
  ProgressFormat progressFormat = readProgressFormat(arguments);
  if (arguments.failed()) {
    return *arguments.failed();
  }
  FileUses uses(arguments, modelOptions);
  uses.writes(options.output, "-o");
  uses.writesReports(arguments, options);
  if (int status = uses.check()) {
    return status;
  }
  TimeTrace trace(arguments);
  Progress progress(progressFormat);
  options.onPhase = [&](llvm::StringRef phase) { progress.enter(phase); };
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
  if (arguments.failed()) {
    return *arguments.failed();
  }
  int status = trace.finish(compileStatus(
      packWeights(session.imported(), options, session.weights()), session));
  if (status == Ok && json) {
    printJson(session, options.output);
  }
  progress.end();
  if (status == Ok) {
    closing.wrote(options.output);
  }
  return status;
}

} // namespace hova::tool
