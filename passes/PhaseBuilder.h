//===- PhaseBuilder.h - A phase while its passes are listed ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A phase hands its passes to this, one after the other, and each runs on the
// operations that it is written for: nothing is nested by hand. Before and
// after every pass, and the phase as a whole, is an extension point, where who
// compiles may add passes:
//
//   before-fuse, before-hova-decompose-columns, after-hova-decompose-columns,
//   ..., after-fuse, before-hova-verify-fused, after-hova-verify-fused
//
// What is added to a phase is held to its promise: the check comes last.

#ifndef HOVA_PASSES_PHASEBUILDER_H
#define HOVA_PASSES_PHASEBUILDER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "passes/OptionalPasses.h"
#include <functional>

namespace hova {

/// Called at every extension point, in the order of running, with its name; may
/// add passes. A pass that stands several times has its points as often.
using ExtendPipeline =
    std::function<void(llvm::StringRef point, mlir::OpPassManager &manager)>;

/// What of a phase is listed: all of it, or what checks its promise.
enum class PhasePart { All, Check };

class PhaseBuilder {
public:
  PhaseBuilder(mlir::OpPassManager &manager, llvm::StringRef phase,
               const PassSelection &selection, const ExtendPipeline &extend,
               PhasePart part = PhasePart::All);

  /// Runs on the module, or on each function if it is a pass on functions.
  void add(std::unique_ptr<mlir::Pass> pass);

  /// For a pass on any operation: runs on each `OpT` of the module, so that
  /// they are rewritten beside each other.
  template <typename OpT> void addNested(std::unique_ptr<mlir::Pass> pass) {
    addTo(std::move(pass), OpT::getOperationName());
  }

  /// The same as `add`, unless the selection leaves the pass out.
  void addOptional(std::unique_ptr<mlir::Pass> pass);

  /// The last pass: checks the promise of the phase.
  void addCheck(std::unique_ptr<mlir::Pass> pass);

  /// Whether the selection leaves this optional pass in.
  bool runs(llvm::StringRef pass) const { return selection.runs(pass); }

private:
  /// Runs on each `root` of the module; on the module itself if empty.
  void addTo(std::unique_ptr<mlir::Pass> pass, llvm::StringRef root);
  void extendAt(const llvm::Twine &point);

  mlir::OpPassManager &manager;
  llvm::StringRef phase;
  const PassSelection &selection;
  const ExtendPipeline &extend;
  /// Whether passes are listed, as all are, or the check alone.
  bool isListed;
};

} // namespace hova

#endif // HOVA_PASSES_PHASEBUILDER_H
