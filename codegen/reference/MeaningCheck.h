//===- MeaningCheck.h - Passes keep what the program computes -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A pass instrumentation that evaluates every function before the first pass
// and again after each one, on the same inputs and weights in float64, and
// reports the pass after which the numbers are others. Who writes a pass gets
// this check for free. In the phases `tile` and `vectorize` every kernel
// function is interpreted and compared with its kernel (KernelCheck.h). What
// has left the range of both is no longer compared; the summary says how much
// was. Passes on single functions are compared only where the context runs on
// one thread.

#ifndef HOVA_CODEGEN_REFERENCE_MEANINGCHECK_H
#define HOVA_CODEGEN_REFERENCE_MEANINGCHECK_H

#include "codegen/reference/KernelCheck.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "llvm/ADT/StringSet.h"
#include <optional>

namespace hova {

/// What a check did and found.
struct MeaningSummary {
  int64_t passes = 0;   ///< that ran
  int64_t compared = 0; ///< passes after which a value was compared
  int64_t values = 0;   ///< results compared, one per pass
  /// Runs of kernel functions that were interpreted, and those of them where
  /// that was done for some of many units.
  int64_t interpreted = 0, inPart = 0;
  /// Kernel functions that could not be, and why.
  std::vector<std::string> notInterpreted;
  /// Why there is nothing to compare after some pass; empty: there was.
  std::string obstacle;
  /// The first pass that changes a result, and the layer that computes the
  /// first value that differs; empty where no pass does.
  std::string guiltyPass, guiltyLayer;
  /// Where that pass wrote the loops of a kernel, the operations whose recipes
  /// they are; else empty.
  std::string guiltyRecipes;

  /// Adds what another check did and found later.
  void add(const MeaningSummary &later);
};

class MeaningCheck : public mlir::PassInstrumentation {
public:
  /// Random inputs, and weights that follow from their names.
  explicit MeaningCheck(uint64_t seed = 0);
  /// Given weights and inputs of `main`.
  MeaningCheck(WeightLookup weights, llvm::ArrayRef<HostTensor> inputs)
      : weights(std::move(weights)), inputs(inputs) {}

  void runBeforePass(mlir::Pass *pass, mlir::Operation *op) override;
  void runAfterPass(mlir::Pass *pass, mlir::Operation *op) override;

  /// Differences have been reported as errors too.
  const MeaningSummary &getSummary() const { return summary; }

private:
  using Results = llvm::SmallVector<HostTensor>;
  using Meaning = llvm::StringMap<Results>;

  Meaning evaluate(mlir::ModuleOp module, ValueObserver observer = nullptr);
  mlir::FailureOr<Results> makeArguments(mlir::func::FuncOp function);
  std::string differenceOf(llvm::StringRef function,
                           llvm::ArrayRef<HostTensor> got,
                           llvm::ArrayRef<HostTensor> want);
  void report(mlir::ModuleOp now, llvm::StringRef function,
              llvm::StringRef pass, llvm::StringRef what);
  mlir::Operation *findFirstDifference(mlir::ModuleOp now);
  /// After a pass on a program of kernel functions, or on one of them.
  void compareKernels(mlir::ModuleOp now, llvm::StringRef pass,
                      llvm::StringRef onlyFunction);
  llvm::LogicalResult startKernels();
  void blame(llvm::StringRef pass, llvm::StringRef layer);

  uint64_t seed = 0;
  WeightLookup weights;
  llvm::ArrayRef<HostTensor> inputs;
  bool started = false;
  MeaningSummary summary;
  Meaning meaning;
  /// The program that has it, to find the first value that a pass changed.
  mlir::OwningOpRef<mlir::ModuleOp> previous;
  std::optional<KernelCheck> kernels;
  /// Functions whose difference has been reported.
  llvm::StringSet<> different;
};

} // namespace hova

#endif // HOVA_CODEGEN_REFERENCE_MEANINGCHECK_H
