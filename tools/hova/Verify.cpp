//===- Verify.cpp - hova verify -------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Compiles to a library that nothing but this process sees, loads it and
// compares it with the reference evaluator.

#include "codegen/reference/Verify.h"
#include "mlir/Pass/PassManager.h"
#include "passes/normalize/Passes.h"
#include "tools/hova/CompileSettings.h"
#include "tools/hova/Files.h"
#include "tools/hova/Guard.h"
#include "tools/hova/Verbs.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

using namespace mlir;

namespace hova::tool {

namespace {

/// A file for a library that has no name, so that nothing of it stays, however
/// this process ends.
class UnnamedFile {
public:
  static llvm::Expected<UnnamedFile> create() {
    llvm::SmallString<128> folder;
    llvm::sys::path::system_temp_directory(/*ErasedOnReboot=*/true, folder);
    int descriptor = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC,
                            S_IRUSR | S_IWUSR);
    std::error_code code(errno, std::generic_category());
    llvm::SmallString<128> path;
    // Not every file system has files without a name from the start.
    if (descriptor < 0 && code == std::errc::not_supported) {
      code = llvm::sys::fs::createTemporaryFile("hova-verify", "so", descriptor,
                                                path);
      ::unlink(path.c_str());
    }
    if (descriptor < 0) {
      return llvm::createStringError(code,
                                     "cannot make a temporary file in '%s': %s",
                                     folder.c_str(), code.message().c_str());
    }
    return UnnamedFile(descriptor);
  }
  UnnamedFile(UnnamedFile &&other)
      : descriptor(std::exchange(other.descriptor, -1)) {}
  ~UnnamedFile() { ::close(descriptor); }

  std::string path() const {
    return "/proc/self/fd/" + std::to_string(descriptor);
  }

private:
  explicit UnnamedFile(int descriptor) : descriptor(descriptor) {}

  int descriptor;
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
  FileUses uses(arguments);
  uses.writesReports(arguments, options);
  if (int status = uses.check()) {
    return status;
  }
  TimeTrace trace(arguments);
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
  auto library = UnnamedFile::create();
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
