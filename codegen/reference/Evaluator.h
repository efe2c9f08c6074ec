//===- Evaluator.h - Executes hova IR on host tensors ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The reference semantics of a program: runs straight-line functions of the
// phases `import` to `assign`, and the folding function, operation by operation
// through ReferenceOpInterface. Kernel regions are evaluated in place. A value
// is freed after its last use.
//
// In `Precision::Double` everything that computes does so in float64; weights
// stay in the float32 storage they come in until an operation computes with
// them, so that moving them costs no conversion. `Precision::Single` is the
// plain unfused float32 run whose rounding error is the yardstick of the
// numeric policy (Compare.h). Its sums run in the order of their index, and may
// stay in float32 only because a huge summand meets its opposite in time.
// `Precision::AnyOrder` is the same run, but NaN where the magnitudes of the
// summands (`ReferenceOpInterface::getSummands`) have no sum in float32: what
// is a number there is one in every order of the additions.
//
// A float32 value whose type is bf16 or f16 is rounded to that type. In
// `Precision::Double` those are weights alone, where they are read as matrices
// or tables: they are what the model is. In the others activations are rounded
// too, as the program does.

#ifndef HOVA_CODEGEN_REFERENCE_EVALUATOR_H
#define HOVA_CODEGEN_REFERENCE_EVALUATOR_H

#include "dialect/HostTensor.h"
#include "dialect/Site.h"
#include "dialect/program/ProgramOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"
#include <functional>

namespace hova {

enum class Precision { Double, Single, AnyOrder };

/// The value of a weight, float32 and of the operation's shape. Reports its own
/// errors.
using WeightLookup = std::function<mlir::FailureOr<HostTensor>(WeightOp)>;

/// Called with every result of every operation, kernels included.
using ValueObserver = std::function<void(mlir::OpResult, const HostTensor &)>;

class Evaluator {
public:
  explicit Evaluator(WeightLookup weights,
                     Precision precision = Precision::Double)
      : weights(std::move(weights)), precision(precision) {}

  void setObserver(ValueObserver newObserver) {
    observer = std::move(newObserver);
  }

  /// Of the runs from here on; what the folding function stored stays.
  void setPrecision(Precision newPrecision) { precision = newPrecision; }

  using StoreFunction = llvm::function_ref<llvm::LogicalResult(
      StoreWeightOp, const HostTensor &)>;

  /// Runs the folding function and keeps what it stores for
  /// `hova.image_weight`: as computed for runs in float64, rounded to the
  /// stored type for others.
  llvm::LogicalResult foldWeights(mlir::func::FuncOp program);

  /// As above, but hands every tensor to `store`, rounded to the stored type,
  /// and keeps none. This makes the image of a program: tables are what the
  /// compiler makes of them (TableOpInterface), not what they are defined to
  /// be. Weights are loaded at their first use and freed after the
  /// last: few are in memory.
  llvm::LogicalResult foldWeights(mlir::func::FuncOp program,
                                  StoreFunction store);

  /// Results of `function` on `inputs`: ids are I64, masks I1, numbers F32 or
  /// F64. Errors are reported on the operation they concern.
  mlir::FailureOr<llvm::SmallVector<HostTensor>>
  run(mlir::func::FuncOp function, llvm::ArrayRef<HostTensor> inputs);

  /// The same for the region of a kernel alone.
  mlir::FailureOr<llvm::SmallVector<HostTensor>>
  run(KernelOp kernel, llvm::ArrayRef<HostTensor> inputs);

private:
  using Values = llvm::DenseMap<mlir::Value, HostTensor>;
  /// The values of a function or kernel while it runs, and how often each will
  /// still be read.
  struct Frame {
    Values values;
    llvm::DenseMap<mlir::Value, int64_t> remaining;
  };
  using Results = llvm::SmallVector<HostTensor>;

  mlir::FailureOr<Results> runBlock(mlir::Block &block,
                                    llvm::ArrayRef<HostTensor> arguments);
  /// Runs a block without arguments, or whose arguments are in the frame; what
  /// its terminator hands on.
  mlir::FailureOr<Results> runOperations(mlir::Block &block, Frame &frame);
  /// Rows of inputs and results are where their placements say.
  mlir::FailureOr<Results> runKernel(KernelOp kernel,
                                     llvm::ArrayRef<HostTensor> inputs);
  /// Runs one operation and keeps those of its results that are used.
  llvm::LogicalResult runInto(Values &values, mlir::Operation *op,
                              llvm::MutableArrayRef<HostTensor> operands);
  llvm::LogicalResult runOperation(mlir::Operation *op,
                                   llvm::MutableArrayRef<HostTensor> operands,
                                   llvm::SmallVectorImpl<HostTensor> &results);
  Results inPrecision(llvm::ArrayRef<HostTensor> inputs) const;
  llvm::LogicalResult runStores(mlir::func::FuncOp program,
                                StoreFunction newStore);
  llvm::LogicalResult loadWeight(mlir::Operation *op,
                                 llvm::SmallVectorImpl<HostTensor> &results);

  WeightLookup weights;
  Precision precision;
  ValueObserver observer;
  llvm::StringMap<HostTensor> image;
  bool makesImage = false;
  StoreFunction store;
};

/// `sum |a b| + |c|` for every element of a contraction, an operation that
/// knows its summands, such as `hova.linear`: what tier T2 of the numeric
/// policy measures by.
mlir::FailureOr<HostTensor>
contractionMagnitudes(ReferenceOpInterface op,
                      llvm::ArrayRef<HostTensor> operands);

/// The layer path of result `index` of a kernel: that of the operation in its
/// region that computes it, or the kernel's name.
llvm::StringRef resultPath(KernelOp kernel, unsigned index);

} // namespace hova

#endif // HOVA_CODEGEN_REFERENCE_EVALUATOR_H
