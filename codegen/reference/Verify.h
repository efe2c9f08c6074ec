//===- Verify.h - A compiled program against the reference evaluator ------===//
// SPDX-License-Identifier: Apache-2.0
//
// Runs a compiled program on random and on edge inputs and compares, by tier T3
// of the numeric policy (Compare.h),
//
// - every output with the evaluation of the program as it was imported;
// - every value that survives between kernels with the evaluation of the
// kernels
//   themselves, so that the first layer that goes wrong has a name;
// - the evaluation of the kernels with that of the imported program, in
// float64:
//   where only this differs, a pass changed the meaning;
// - one thread with several, bit by bit.

#ifndef HOVA_CODEGEN_REFERENCE_VERIFY_H
#define HOVA_CODEGEN_REFERENCE_VERIFY_H

#include "codegen/reference/CompiledProgram.h"
#include "codegen/reference/Evaluator.h"
#include "dialect/Storage.h"

namespace hova {

/// The same program at both ends of the target-neutral phases.
struct VerifiedProgram {
  /// `main` after `import`.
  mlir::func::FuncOp imported;
  /// `main` whose evaluation in f32 is the plain run of the program's type: as
  /// imported, or with storage of 16 bits as it is after that was made explicit
  /// inside of compound operations too.
  mlir::func::FuncOp plain;
  /// `main` and the weight program after `assign`.
  mlir::func::FuncOp kernels;
  mlir::func::FuncOp weightProgram;
  WeightLookup weights;
};

struct VerifyOptions {
  /// 0: random; 1: edges; 2: zeros; 3: large; then random again.
  int64_t cases = 3;
  uint64_t seed = 0;
  int32_t threads = 2;
  /// The program's type, to which inputs are rounded.
  Storage storage = Storage::F32;
};

/// Inputs of a case, in the program's order: ids I64, masks I1, numbers F32
/// that `storage` can hold. Deterministic in `seed` and `index`.
llvm::SmallVector<HostTensor> makeInputs(const hova_program &program,
                                         uint64_t seed, int64_t index,
                                         Storage storage = Storage::F32);

/// Prints a table to `os`. True if everything is within the policy; the line
/// that starts with `differs:` names the first layer that is not.
llvm::Expected<bool> verifyProgram(const VerifiedProgram &reference,
                                   CompiledProgram &compiled,
                                   const VerifyOptions &options,
                                   llvm::raw_ostream &os);

} // namespace hova

#endif // HOVA_CODEGEN_REFERENCE_VERIFY_H
