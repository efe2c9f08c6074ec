//===- MeaningCheck.h - Passes keep what the program computes -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A pass instrumentation that evaluates every function before the first pass
// and again after each one, on the same random inputs and weights in float64,
// and reports the pass after which the numbers are others. Who writes a pass
// gets this check for free. Functions that have left the range of reference
// evaluation (from the phase `tile` on) are no longer compared. Passes on
// single functions are compared only where the context runs on one thread.

#ifndef HOVA_CODEGEN_REFERENCE_MEANINGCHECK_H
#define HOVA_CODEGEN_REFERENCE_MEANINGCHECK_H

#include "dialect/HostTensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "llvm/ADT/StringMap.h"

namespace hova {

class MeaningCheck : public mlir::PassInstrumentation {
public:
  explicit MeaningCheck(uint64_t seed = 0) : seed(seed) {}

  void runBeforePass(mlir::Pass *pass, mlir::Operation *op) override;
  void runAfterPass(mlir::Pass *pass, mlir::Operation *op) override;

  /// Whether any pass changed a result. Errors have been reported.
  bool foundDifference() const { return difference; }

private:
  using Meaning = llvm::StringMap<llvm::SmallVector<HostTensor>>;

  Meaning evaluate(mlir::ModuleOp module) const;
  void compare(mlir::Operation *function, llvm::StringRef pass,
               llvm::ArrayRef<HostTensor> got, llvm::ArrayRef<HostTensor> want);

  uint64_t seed;
  bool started = false;
  bool difference = false;
  Meaning meaning;
};

} // namespace hova

#endif // HOVA_CODEGEN_REFERENCE_MEANINGCHECK_H
