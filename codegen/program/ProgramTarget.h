//===- ProgramTarget.h - A target's half of a program ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A program is code for one or more levels, a description of it, and weights.
// The description, the weights and the link are the same for all targets
// (Compile.h); which levels there are and how their code is generated is said
// here.

#ifndef HOVA_CODEGEN_PROGRAM_PROGRAMTARGET_H
#define HOVA_CODEGEN_PROGRAM_PROGRAMTARGET_H

#include "codegen/Target.h"
#include "codegen/TargetFacts.h"
#include "codegen/program/DeviceReport.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/IR/Module.h"
#include <memory>
#include <string>

namespace hova {

struct CompileOptions;

/// Code of a program as the runtime finds it (`hova_level`).
struct LevelCode {
  std::string name;          ///< of the level
  uint64_t requirements = 0; ///< bits of `hova_level::features`
  std::string run;           ///< the function that is a whole run; empty: none
  std::string launches;      ///< the constant that `run` walks; empty: none
  std::string device;        ///< the `hova_device_code`; empty: none
};

/// Adds the description of the program to a module.
using DescribeFunction = llvm::function_ref<void(llvm::Module &)>;

/// The code of one program, which is added level by level.
class ProgramCode {
public:
  virtual ~ProgramCode() = default;

  /// Takes what the phase `target` has made of level `level`.
  virtual void add(mlir::ModuleOp code, size_t level) = 0;

  /// What there is code of, best level first.
  virtual std::vector<LevelCode> describeLevels() const = 0;

  /// Runs what the machine that compiles may have, and hova does not bring, to
  /// make code. Called once, before the next two; an error is the user's, who
  /// asked for it.
  virtual llvm::Error assemble() { return llvm::Error::success(); }

  /// Objects that link to the program's code and, by `describe`, its
  /// description, or one text of both, as `CompileOptions::emit` says. Failures
  /// are reported to the context. Called once, at the end.
  virtual mlir::FailureOr<llvm::SmallVector<std::string>>
  generate(DescribeFunction describe) = 0;

  /// What the kernels take of a GPU; only of targets whose kernels run there.
  virtual DeviceReport report() { return {}; }
};

class ProgramTarget {
public:
  explicit ProgramTarget(const TargetFacts &facts) : facts(facts) {}
  virtual ~ProgramTarget() = default;

  /// Its row in the table of targets.
  const TargetFacts &getFacts() const { return facts; }

  /// Names of the levels that a program has code for, best first; at least one.
  virtual std::vector<std::string> getLevels() const = 0;

  /// Whether a program without code for a level is what was asked for, where
  /// there can be none.
  virtual bool mayLack(size_t) const { return false; }

  /// The same target with its first level alone.
  virtual std::shared_ptr<const ProgramTarget> withFirstLevel() const = 0;

  /// What lowers the code of a level.
  virtual std::shared_ptr<const Target> getTarget(size_t level) const = 0;

  /// Which of hova's runtimes a program is linked with; empty: that of a CPU.
  virtual std::string getRuntime() const { return ""; }

  /// Whether its kernels run on a GPU, and ProgramCode::report knows of them.
  virtual bool runsOnDevice() const { return false; }

  /// `options` outlives the result.
  virtual std::unique_ptr<ProgramCode>
  makeCode(mlir::MLIRContext *context, const CompileOptions &options) const = 0;

private:
  const TargetFacts &facts;
};

} // namespace hova

#endif // HOVA_CODEGEN_PROGRAM_PROGRAMTARGET_H
