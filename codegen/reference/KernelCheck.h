//===- KernelCheck.h - Kernel functions keep what kernels compute ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// From phase `tile` on a kernel is a function over buffers, which operations on
// tensors cannot evaluate. Each is interpreted on its own: its inputs are what
// a plain run of the kernels had there, in buffers of the layouts that `main`
// launches it with, and its results are compared with those of the kernel's
// region in float64, by the numeric policy (Compare.h).
//
// Everything else in those buffers is NaN before the call, so a read of what is
// not there shows in the results. A function is called for several chunks of
// its units, as threads would. One of many units is only called for a few at
// the start, in the middle and at the end; the summary counts them.

#ifndef HOVA_CODEGEN_REFERENCE_KERNELCHECK_H
#define HOVA_CODEGEN_REFERENCE_KERNELCHECK_H

#include "codegen/reference/Compare.h"
#include "codegen/reference/Evaluator.h"
#include "codegen/reference/interpret/Interpreter.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/MapVector.h"
#include <map>

namespace hova {

/// What became of one kernel function.
struct CheckedKernel {
  std::string function; ///< its name
  std::string path;     ///< of the first kernel that calls it
  int64_t results = 0;  ///< compared
  int64_t units = 0, ofUnits = 0;
  /// Why it could not be interpreted, or what differs; at most one of them.
  std::string obstacle, difference;
};

class KernelCheck {
public:
  /// `assigned` has `main` and the folding function as `assign` leaves them.
  static mlir::FailureOr<KernelCheck> make(mlir::ModuleOp assigned,
                                           const WeightLookup &weights,
                                           llvm::ArrayRef<HostTensor> inputs);

  /// Every function that `main` of `tiled` launches, once, or the one named;
  /// none that is as it was when it was checked last. Fails, with an error, if
  /// the launches are not those of the kernels.
  mlir::FailureOr<std::vector<CheckedKernel>>
  check(mlir::ModuleOp tiled, llvm::StringRef onlyFunction = {});

private:
  struct Expectation {
    llvm::SmallVector<HostTensor> operands, results, plain;
    /// Of plain runs on neighbouring inputs; empty before they are asked for.
    llvm::SmallVector<PlainError> others;
  };
  using Buffers = llvm::MapVector<mlir::Value, Memory>;
  using Image = std::map<int64_t, Memory>;

  KernelCheck(mlir::ModuleOp assigned, const WeightLookup &weights);
  mlir::LogicalResult run(llvm::ArrayRef<HostTensor> inputs);
  mlir::LogicalResult evaluateKernel(KernelOp kernel);
  mlir::LogicalResult runNeighbours(KernelOp kernel);
  mlir::LogicalResult pack(mlir::func::FuncOp program, Image &stored);
  Buffers buffersOf(LaunchOp launch, KernelOp kernel);
  std::string differenceOf(KernelOp kernel, unsigned index,
                           const Memory &memory, mlir::MemRefType type,
                           bool isWhole);
  CheckedKernel checkLaunch(LaunchOp launch, KernelOp kernel);

  mlir::OwningOpRef<mlir::ModuleOp> assigned;
  WeightLookup weights;
  /// What a plain run has between kernels.
  llvm::DenseMap<mlir::Value, HostTensor> values;
  llvm::DenseMap<mlir::Operation *, Expectation> expectations;
  /// Weights as the kernels read them, by their place in the image, and tables
  /// by theirs.
  Image image, tables;
  llvm::StringMap<mlir::OperationFingerPrint> lastSeen;
};

} // namespace hova

#endif // HOVA_CODEGEN_REFERENCE_KERNELCHECK_H
