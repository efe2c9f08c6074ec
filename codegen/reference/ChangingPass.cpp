//===- ChangingPass.cpp - The pass that changes what a program computes ---===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/reference/ChangingPass.h"

using namespace mlir;
using namespace hova;

namespace {
/// Hands on what it found when its pass manager, one per phase, ends.
class PhaseCheck : public MeaningCheck {
public:
  PhaseCheck(WeightLookup weights, llvm::ArrayRef<HostTensor> inputs,
             MeaningSummary &total)
      : MeaningCheck(std::move(weights), inputs), total(total) {}
  ~PhaseCheck() override { total.add(getSummary()); }

private:
  MeaningSummary &total;
};
} // namespace

MeaningSummary hova::findChangingPass(ModuleOp imported,
                                      const PipelineOptions &options,
                                      const WeightLookup &weights,
                                      llvm::ArrayRef<HostTensor> inputs) {
  MLIRContext *context = imported.getContext();
  ScopedDiagnosticHandler silent(context,
                                 [](Diagnostic &) { return success(); });
  // Functions can only be compared while no other changes.
  bool threaded = context->isMultithreadingEnabled();
  context->disableMultithreading();
  MeaningSummary total;
  PhaseRange range;
  range.stopAfter = "vectorize";
  range.configure = [&](PassManager &manager) {
    manager.addInstrumentation(
        std::make_unique<PhaseCheck>(weights, inputs, total));
  };
  OwningOpRef<ModuleOp> copy = cast<ModuleOp>(imported->clone());
  // Compiling it has succeeded before, and nothing is dumped.
  llvm::Expected<LogicalResult> ran = runPhases(*copy, options, range);
  assert(ran && succeeded(*ran) && "phases run twice as once");
  context->enableMultithreading(threaded);
  return total;
}
