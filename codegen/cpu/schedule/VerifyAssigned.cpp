//===- VerifyAssigned.cpp - The promise of assign -------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cpu/CpuSchedule.h"
#include "codegen/cpu/Passes.h"
#include "codegen/cpu/schedule/WeightLayouts.h"
#include "passes/Columns.h"
#include "passes/RowTables.h"

using namespace mlir;

namespace hova {
#define GEN_PASS_DEF_VERIFYASSIGNEDPASS
#include "codegen/cpu/Passes.h.inc"

/// Everything in a kernel is a stage, or an address in a value.
static LogicalResult checkStages(KernelOp kernel) {
  for (Operation &op : kernel.getBody().front().without_terminator()) {
    if (!isa<StageOp>(op) && !isKernelView(&op)) {
      return op.emitError("operation of a kernel has no stage");
    }
  }
  return success();
}

namespace {
struct VerifyAssignedPass final
    : impl::VerifyAssignedPassBase<VerifyAssignedPass> {
  using Base::Base;
  void runOnOperation() override {
    markAllAnalysesPreserved();
    WalkResult walked = getOperation().walk([](KernelOp kernel) {
      bool bad = failed(CpuSchedule::of(kernel)) ||
                 failed(checkRowTables(kernel)) || failed(checkStages(kernel));
      return bad ? WalkResult::interrupt() : WalkResult::advance();
    });
    auto main = getOperation().lookupSymbol<func::FuncOp>("main");
    if (walked.wasInterrupted() ||
        (main && failed(verifyCpuWeightLayouts(main)))) {
      signalPassFailure();
    }
  }
};
} // namespace
} // namespace hova
