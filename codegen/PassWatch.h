//===- PassWatch.h - Which pass runs, and which one has failed ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A crash and a failed pass are mistakes in a pass, and its author wants to
// know in which, and on what. Every run of a phase is watched: the pass that
// runs is known to whoever reports a crash, and of the one that fails is kept
// what repeats it.

#ifndef HOVA_CODEGEN_PASSWATCH_H
#define HOVA_CODEGEN_PASSWATCH_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassInstrumentation.h"
#include <functional>
#include <mutex>
#include <string>

namespace hova {

/// The argument of the pass that runs on this thread; empty outside of passes.
/// A handler of crashes may ask: nothing is allocated.
llvm::StringRef getRunningPass();

/// The first pass of a run that failed.
struct PassFailure {
  std::string pass; ///< its argument; empty: none has failed
  /// What to run on `before` to see it again, a textual pipeline on a module.
  std::string pipeline;
  /// The program before the pass, or before the passes on functions that it is
  /// one of; null unless it is asked for.
  mlir::OwningOpRef<mlir::ModuleOp> before;
};

/// The argument of the last pass that failed in this process, or nothing.
std::string getLastFailedPass();

/// The file of the library that brings it.
std::string getLastFailedLibrary();

/// As long as it lives, the program before a pass that crashes is kept by
/// `keep`, which is called with the pass and returns the path of the file,
/// empty if there is none. One lives at a time.
class CrashKeeper {
public:
  using Keep = std::function<std::string(llvm::StringRef pass)>;
  explicit CrashKeeper(Keep keep);
  ~CrashKeeper();
  CrashKeeper(const CrashKeeper &) = delete;
  CrashKeeper &operator=(const CrashKeeper &) = delete;

private:
  Keep keep;
};

/// What a handler of crashes asks of the keeper; empty if there is none. It
/// allocates, so what crashed may make it crash too.
std::string keepCrashedProgram(llvm::StringRef pass);

class PassWatch : public mlir::PassInstrumentation {
public:
  /// Fills `failure`, which outlives the pass manager. `keepsProgram` copies
  /// the program before every pass.
  PassWatch(PassFailure &failure, bool keepsProgram)
      : failure(failure), keepsProgram(keepsProgram) {}

  void runBeforePass(mlir::Pass *pass, mlir::Operation *op) override;
  void runAfterPass(mlir::Pass *pass, mlir::Operation *op) override;
  void runAfterPassFailed(mlir::Pass *pass, mlir::Operation *op) override;

private:
  PassFailure &failure;
  bool keepsProgram;
  /// Passes on functions run beside each other.
  std::mutex mutex;
};

} // namespace hova

#endif // HOVA_CODEGEN_PASSWATCH_H
