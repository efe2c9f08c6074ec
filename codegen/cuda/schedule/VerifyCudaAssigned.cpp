//===- VerifyCudaAssigned.cpp - The promise of assign ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cuda/Passes.h"
#include "codegen/cuda/facts/GpuFacts.h"
#include "codegen/cuda/recipes/CudaKernelCode.h"
#include "codegen/cuda/schedule/WeightLayouts.h"
#include "passes/Columns.h"

using namespace mlir;

namespace hova {
#define GEN_PASS_DEF_VERIFYCUDAASSIGNEDPASS
#include "codegen/cuda/Passes.h.inc"

namespace {
struct VerifyCudaAssignedPass final
    : impl::VerifyCudaAssignedPassBase<VerifyCudaAssignedPass> {
  using Base::Base;
  void runOnOperation() override {
    markAllAnalysesPreserved();
    WalkResult walked = getOperation().walk([](KernelOp kernel) {
      if (failed(CudaKernelCode().checkSchedule(kernel))) {
        return WalkResult::interrupt();
      }
      auto schedule = cast<CudaScheduleAttr>(kernel.getScheduleAttr());
      const GpuFacts &gpu = gpuOf(kernel);
      if (schedule.getUnderWay() && gpu.groupTiles.empty()) {
        kernel.emitOpError("has products under way, which ")
            << gpu.name << " does not have";
        return WalkResult::interrupt();
      }
      for (Operation &op : kernel.getBody().front().without_terminator()) {
        if (!isa<StageOp>(op) && !isKernelView(&op)) {
          op.emitError("operation of a kernel has no stage");
          return WalkResult::interrupt();
        }
      }
      return WalkResult::advance();
    });
    auto main = getOperation().lookupSymbol<func::FuncOp>("main");
    if (walked.wasInterrupted() ||
        (main && failed(verifyCudaWeightLayouts(main)))) {
      signalPassFailure();
    }
  }
};
} // namespace
} // namespace hova
