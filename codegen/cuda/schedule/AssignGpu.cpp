//===- AssignGpu.cpp - Which GPU a program is for -------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cuda/HovaCudaDialect.h"
#include "codegen/cuda/Passes.h"
#include "codegen/cuda/facts/GpuFacts.h"

using namespace mlir;

namespace hova {
#define GEN_PASS_DEF_ASSIGNGPUPASS
#include "codegen/cuda/Passes.h.inc"

namespace {
struct AssignGpuPass final : impl::AssignGpuPassBase<AssignGpuPass> {
  using Base::Base;
  void runOnOperation() override {
    if (!findGpu(gpu)) {
      getOperation().emitError("expects a GPU of ")
          << getGpuNames() << ", got '" << gpu << "'";
      return signalPassFailure();
    }
    getOperation()->setAttr(kGpuAttr, StringAttr::get(&getContext(), gpu));
  }
};
} // namespace
} // namespace hova
