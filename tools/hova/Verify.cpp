//===- Verify.cpp - hova verify -------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Compiles to a library that nothing but this process sees, loads it and
// compares it with the reference evaluator.

#include "codegen/reference/Verify.h"
#include "mlir/Pass/PassManager.h"
#include "passes/normalize/Passes.h"
#include "tools/hova/CompileSettings.h"
#include "tools/hova/Guard.h"
#include "tools/hova/Verbs.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/Signals.h"

using namespace mlir;

namespace hova::tool {

namespace {

/// The files of a temporary library: removed when this ends, and when a signal
/// ends the process.
class TemporaryLibrary {
public:
  static llvm::Expected<TemporaryLibrary> create() {
    llvm::SmallString<128> path;
    if (std::error_code code =
            llvm::sys::fs::createTemporaryFile("hova-verify", "so", path)) {
      return llvm::createStringError(code, "cannot make a temporary file: %s",
                                     code.message().c_str());
    }
    return TemporaryLibrary(path.str().str());
  }

  const std::string &path() const { return library; }

private:
  explicit TemporaryLibrary(std::string path)
      : library(std::move(path)),
        header(llvm::StringRef(library).drop_back(2).str() + "h") {
    for (const std::string &file : {library, header}) {
      removers.push_back(std::make_unique<llvm::FileRemover>(file));
      llvm::sys::RemoveFileOnSignal(file);
    }
  }

  std::string library, header;
  SmallVector<std::unique_ptr<llvm::FileRemover>> removers;
};

/// The imported program with storage explicit inside of compound operations.
OwningOpRef<ModuleOp> makePlain(Session &session) {
  OwningOpRef<ModuleOp> plain = cast<ModuleOp>(session.module()->clone());
  PassManager manager(&session.context());
  manager.addNestedPass<func::FuncOp>(createDecomposeCompoundPass());
  manager.addNestedPass<func::FuncOp>(createNormalizeStoragePass());
  return succeeded(manager.run(*plain)) ? std::move(plain) : nullptr;
}

/// The status of a comparison.
int compare(Session &session, CompiledModule &compiled,
            CompiledProgram &program, const VerifyOptions &options) {
  VerifiedProgram reference;
  reference.imported = session.module().lookupSymbol<func::FuncOp>("main");
  reference.plain = reference.imported;
  OwningOpRef<ModuleOp> plain;
  if (options.storage != Storage::F32) {
    plain = makePlain(session);
    if (!plain) {
      return session.failureStatus();
    }
    reference.plain = plain->lookupSymbol<func::FuncOp>("main");
  }
  reference.kernels = compiled.assigned->lookupSymbol<func::FuncOp>("main");
  reference.weightProgram =
      compiled.assigned->lookupSymbol<func::FuncOp>("weights");
  reference.weights = session.weights();
  llvm::Expected<bool> same =
      verifyProgram(reference, program, options, llvm::outs());
  if (!same) {
    return reportError(same.takeError());
  }
  return *same ? Ok : Differs;
}

} // namespace

int runVerify(const Arguments &arguments) {
  frontend::ModelOptions modelOptions = readModelOptions(arguments);
  CompileOptions options = readCompileOptions(arguments);
  VerifyOptions verifyOptions;
  verifyOptions.cases =
      arguments.number(OPT_cases, verifyOptions.cases, 1, 1000);
  verifyOptions.storage = options.storage;
  applyMemoryLimit(arguments);
  if (arguments.failed()) {
    return *arguments.failed();
  }
  TimeTrace trace(arguments);
  Session session(arguments);
  if (int status = session.load(modelOptions, Session::Weights::Opened,
                                options.storage)) {
    return status;
  }
  auto library = TemporaryLibrary::create();
  if (!library) {
    return reportError(library.takeError());
  }
  describeModel(arguments, session, options);
  options.emit = EmitKind::Library;
  options.output = library->path();
  CompiledModule compiled;
  int status = compileStatus(
      compileModule(session.module(), options, session.weights(), &compiled),
      session);
  if (status == Ok) {
    auto program = CompiledProgram::load(library->path(), options.prefix);
    status = program ? compare(session, compiled, *program, verifyOptions)
                     : reportError(program.takeError());
  }
  return trace.finish(status);
}

} // namespace hova::tool
