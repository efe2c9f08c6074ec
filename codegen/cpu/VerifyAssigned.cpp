//===- VerifyAssigned.cpp - The promise of assign -------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cpu/Passes.h"
#include "passes/Schedule.h"

using namespace mlir;

namespace hova {
#define GEN_PASS_DEF_VERIFYASSIGNEDPASS
#include "codegen/cpu/Passes.h.inc"

/// The stage of an operation; that of its source for a column slice.
static int64_t stageOf(Operation *op) {
  while (op && isKernelView(op)) {
    op = op->getOperand(0).getDefiningOp();
  }
  auto stage = op ? op->getAttrOfType<IntegerAttr>(kStageAttr) : IntegerAttr();
  return stage ? stage.getInt() : -1;
}

static LogicalResult checkStages(KernelOp kernel) {
  for (Operation &op : kernel.getBody().front().without_terminator()) {
    if (isKernelView(&op)) {
      continue;
    }
    int64_t stage = stageOf(&op);
    if (stage < 0) {
      return op.emitError("operation of a kernel has no stage");
    }
    for (Value operand : op.getOperands()) {
      if (stageOf(operand.getDefiningOp()) > stage) {
        return op.emitError("operand is computed in a later stage");
      }
    }
  }
  return success();
}

namespace {
struct VerifyAssignedPass final
    : impl::VerifyAssignedPassBase<VerifyAssignedPass> {
  using Base::Base;
  void runOnOperation() override {
    WalkResult walked = getOperation().walk([](KernelOp kernel) {
      bool bad = failed(Schedule::of(kernel)) || failed(checkStages(kernel));
      return bad ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (walked.wasInterrupted()) {
      signalPassFailure();
    }
  }
};
} // namespace
} // namespace hova
