//===- Evaluate.cpp - hova evaluate ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/reference/EvaluateFiles.h"
#include "tools/hova/Files.h"
#include "tools/hova/Session.h"
#include "tools/hova/Verbs.h"

using namespace mlir;

int hova::tool::runEvaluate(const Arguments &arguments) {
  frontend::ModelOptions options = readModelOptions(arguments);
  std::vector<NamedFile> inputs;
  for (llvm::StringRef text : arguments.values(OPT_input)) {
    auto [name, file] = text.split('=');
    inputs.push_back(file.empty() ? NamedFile{"", name.str()}
                                  : NamedFile{name.str(), file.str()});
  }
  if (!arguments.has(OPT_output_dir)) {
    arguments.usageError("option '--output-dir' is missing");
  }
  if (arguments.failed()) {
    return *arguments.failed();
  }
  Session session(arguments);
  if (int status = session.load(options, Session::Weights::Opened)) {
    return status;
  }
  Evaluator evaluator(session.weights());
  auto main = session.module().lookupSymbol<func::FuncOp>("main");
  FileUses uses(arguments);
  for (const std::string &file : session.weightFiles()) {
    uses.reads(file, "of --weights");
  }
  for (const NamedFile &input : inputs) {
    uses.reads(input.path, "--input");
  }
  uses.writesInto(arguments.value(OPT_output_dir), outputFileNames(main),
                  "--output-dir");
  if (int status = uses.check()) {
    return status;
  }
  llvm::Error error =
      evaluateFiles(main, evaluator, inputs, arguments.value(OPT_output_dir));
  return error ? reportError(std::move(error)) : Ok;
}
