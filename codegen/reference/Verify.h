//===- Verify.h - A compiled program against the reference evaluator ------===//
// SPDX-License-Identifier: Apache-2.0
//
// Runs a compiled program on random and on edge inputs and compares, by tier T3
// of the numeric policy (Compare.h),
//
// - every output with the evaluation of the program as it was imported;
// - every value that survives between kernels with the evaluation of the
//   kernels themselves, so that the first layer that goes wrong has a name;
// - the evaluation of the kernels with that of the imported program, in
//   float64: where only this differs, a pass changed the meaning;
// - one thread with two and with three, bit by bit;
// - the outputs of a program with ranges with the evaluation of the program as
//   it was imported for the sizes of the run;
// - where asked for, a run in which every access out of bounds faults, with one
//   in ordinary memory, bit by bit (GuardedRun.h).
//
// One plain run is the yardstick where it suffices. A value that exceeds it is
// judged by as many plain runs as the policy allows (PlainRuns.h), so that a
// right program is not refused by luck.

#ifndef HOVA_CODEGEN_REFERENCE_VERIFY_H
#define HOVA_CODEGEN_REFERENCE_VERIFY_H

#include "codegen/reference/Compare.h"
#include "codegen/reference/GuardedRun.h"
#include "codegen/reference/ReferenceModel.h"
#include "dialect/Storage.h"
#include <optional>

namespace hova {

struct VerifyOptions {
  /// 0: random; 1: edges; 2: zeros; 3: large; then random again.
  int64_t cases = 3;
  /// The one case to run, instead of the first ones.
  std::optional<int64_t> onlyCase;
  uint64_t seed = 0;
  /// Of a run that is compared with one on one thread; another has one more.
  int32_t threads = 2;
  /// The buffers of the program's launches: run it between guard pages too.
  /// Empty: do not.
  llvm::ArrayRef<GuardedLaunch> guarded;
  /// The program's type, to which inputs are rounded.
  Storage storage = Storage::F32;
  /// The program for a range of sizes that is judged, too, by the evaluation of
  /// the one that is verified, whose sizes are in the range. Null: there is
  /// none.
  CompiledProgram *ranged = nullptr;
};

/// What a value was compared with.
enum class Check {
  Value,   ///< between kernels: the kernels' evaluation
  Output,  ///< the evaluation of the imported program
  Threads, ///< an output on several threads: on one
  Guard,   ///< an output between guard pages: without them
  Meaning, ///< the kernels' evaluation: the imported program's
  Sizes    ///< an output of a program with ranges: the evaluation of this size
};

struct VerifiedValue {
  Check check;
  /// The layer path of a value, the name of an output.
  std::string name;
  /// The number of the kernel that computes it; -1: none does.
  int32_t kernel;
  llvm::SmallVector<int64_t> shape;
  Comparison comparison;

  /// As reports call it: "output y".
  std::string title() const;
};

struct VerifiedCase {
  int64_t index;
  llvm::StringRef inputs; ///< "random", "edges", ...
  /// Those between kernels in the order in which they are computed, then the
  /// outputs.
  std::vector<VerifiedValue> values;
  /// Of a program with ranges, as "length=13"; empty: the largest.
  std::string sizes = {};
};

struct VerifyResult {
  int64_t cases = 0;
  /// The first value that differs, and the case in which it does.
  std::optional<VerifiedValue> difference;
  int64_t caseIndex = 0;
  llvm::StringRef inputs;
  std::string sizes;
  /// Values of which no element was finite in any case.
  llvm::SmallVector<std::string> neverCompared;

  bool passed() const { return !difference && neverCompared.empty(); }
};

/// Inputs of a case, in the program's order: ids I64, masks I1, numbers F32
/// that `storage` can hold. Deterministic in `seed` and `index`.
llvm::SmallVector<HostTensor> makeInputs(const hova_program &program,
                                         uint64_t seed, int64_t index,
                                         Storage storage = Storage::F32);

/// Fails where this machine cannot hold the inputs and outputs of `main`, as
/// imported, in float64: to be asked before anything is compiled or drawn,
/// which would take hours to fail.
llvm::Error checkMemory(mlir::func::FuncOp main);

/// Adds a case to the verdict, as one that `verifyProgram` has run.
void addCase(VerifyResult &verdict, const VerifiedCase &tried);

/// Calls `report` with each case.
llvm::Expected<VerifyResult>
verifyProgram(const VerifiedProgram &reference, CompiledProgram &compiled,
              const VerifyOptions &options,
              llvm::function_ref<void(const VerifiedCase &)> report);

} // namespace hova

#endif // HOVA_CODEGEN_REFERENCE_VERIFY_H
