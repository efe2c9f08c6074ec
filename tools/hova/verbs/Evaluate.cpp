//===- Evaluate.cpp - hova evaluate ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "tools/hova/output/Files.h"
#include "tools/hova/session/Session.h"
#include "tools/hova/session/TemporaryProgram.h"
#include "tools/hova/verbs/Verbs.h"

using namespace mlir;

namespace hova::tool {

using Tensors = llvm::SmallVector<HostTensor>;

/// No output may take the place of what is read.
static int checkFiles(const Arguments &arguments, Session &session,
                      const frontend::ModelOptions &options,
                      ArrayRef<NamedFile> inputs) {
  FileUses uses(arguments, options);
  for (const std::string &file : session.weightFiles()) {
    uses.reads(file, "of --weights");
  }
  for (const NamedFile &input : inputs) {
    uses.reads(input.path, "--input");
  }
  auto main = session.imported().lookupSymbol<func::FuncOp>("main");
  uses.writesInto(arguments.value(OPT_output_dir), outputFileNames(main),
                  "--output-dir");
  return uses.check();
}

/// The program as operations, in float64.
static llvm::Expected<Tensors> evaluateOperations(Session &session,
                                                  ArrayRef<HostTensor> inputs) {
  ModuleOp module = session.module();
  Evaluator evaluator(session.weights());
  auto weights = module.lookupSymbol<func::FuncOp>("weights");
  if (!weights || succeeded(evaluator.foldWeights(weights))) {
    auto main = module.lookupSymbol<func::FuncOp>("main");
    FailureOr<Tensors> outputs = evaluator.run(main, inputs);
    if (succeeded(outputs)) {
      return std::move(*outputs);
    }
  }
  return llvm::createStringError("the evaluation failed");
}

/// A dump of loops is compiled to its end and run.
static int evaluateLoops(const Arguments &arguments, Session &session,
                         ArrayRef<NamedFile> inputs) {
  CompileOptions options = readCompileOptions(arguments);
  describeModel(arguments, session, options);
  if (arguments.failed()) {
    return *arguments.failed();
  }
  printNote(arguments.model() +
            " holds loops, which run as they are: compiled, "
            "with sums in f32");
  TemporaryProgram program = compileForUse(session, options);
  if (program.status != Ok) {
    return program.status;
  }
  llvm::Error error = evaluateFiles(
      session.imported().lookupSymbol<func::FuncOp>("main"), inputs,
      arguments.value(OPT_output_dir), [&](ArrayRef<HostTensor> tensors) {
        return program.program->run(tensors, /*threads=*/1);
      });
  return error ? reportError(std::move(error)) : Ok;
}

int runEvaluate(Arguments &arguments) {
  Session session(arguments);
  frontend::ModelOptions options = readModelOptions(arguments);
  std::vector<NamedFile> inputs = inputFiles(arguments);
  if (!arguments.has(OPT_output_dir)) {
    arguments.usageError("option '--output-dir' is missing");
  }
  Storage storage = readStorage(arguments);
  if (arguments.failed()) {
    return *arguments.failed();
  }
  if (int status = session.load(options, Session::Weights::Opened, storage)) {
    return status;
  }
  if (int status = checkFiles(arguments, session, options, inputs)) {
    return status;
  }
  if (session.isAfter("assign")) {
    return evaluateLoops(arguments, session, inputs);
  }
  auto main = session.imported().lookupSymbol<func::FuncOp>("main");
  llvm::Error error =
      evaluateFiles(main, inputs, arguments.value(OPT_output_dir),
                    [&](ArrayRef<HostTensor> tensors) {
                      return evaluateOperations(session, tensors);
                    });
  return error ? reportError(std::move(error)) : Ok;
}

} // namespace hova::tool
