//===- PassWatch.cpp - Which pass runs, and which one has failed ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/PassWatch.h"
#include "mlir/Pass/Pass.h"
#include <atomic>
#include <dlfcn.h>

using namespace mlir;

namespace hova {

/// The passes that run on this thread, the innermost last: where functions are
/// rewritten, the first is MLIR's own that hands them out.
static thread_local SmallVector<StringRef, 4> running;

static std::mutex lastFailedMutex;
static std::string lastFailed, lastLibrary;

StringRef getRunningPass() { return running.empty() ? "" : running.back(); }

std::string getLastFailedPass() {
  std::lock_guard<std::mutex> lock(lastFailedMutex);
  return lastFailed;
}

static std::atomic<const CrashKeeper::Keep *> keeper{nullptr};

CrashKeeper::CrashKeeper(Keep keep) : keep(std::move(keep)) {
  keeper = &this->keep;
}

CrashKeeper::~CrashKeeper() { keeper = nullptr; }

std::string keepCrashedProgram(StringRef pass) {
  const CrashKeeper::Keep *keep = keeper;
  return keep ? (*keep)(pass) : std::string();
}

std::string getLastFailedLibrary() {
  std::lock_guard<std::mutex> lock(lastFailedMutex);
  return lastLibrary;
}

/// The library that holds the functions of the pass.
static std::string libraryOf(const Pass *pass) {
  Dl_info info;
  const void *functions = *reinterpret_cast<const void *const *>(pass);
  return dladdr(functions, &info) && info.dli_fname ? info.dli_fname : "";
}

static StringRef nameOf(Pass *pass) {
  return pass->getArgument().empty() ? pass->getName() : pass->getArgument();
}

void PassWatch::runBeforePass(Pass *pass, Operation *op) {
  running.push_back(nameOf(pass));
  auto module = dyn_cast<ModuleOp>(op);
  if (keepsProgram && module && !module->getParentOp()) {
    failure.before = cast<ModuleOp>(module->clone());
    // What repeats a pass on functions is all that share its walk.
    failure.pipeline.clear();
    llvm::raw_string_ostream os(failure.pipeline);
    pass->printAsTextualPipeline(os);
  }
}

void PassWatch::runAfterPass(Pass *, Operation *) { running.pop_back(); }

void PassWatch::runAfterPassFailed(Pass *pass, Operation *) {
  running.pop_back();
  std::lock_guard<std::mutex> lock(mutex);
  if (failure.pass.empty()) {
    failure.pass = nameOf(pass).str();
    std::lock_guard<std::mutex> lastLock(lastFailedMutex);
    lastFailed = failure.pass;
    lastLibrary = libraryOf(pass);
  }
}

} // namespace hova
