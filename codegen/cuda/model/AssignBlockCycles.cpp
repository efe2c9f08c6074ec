//===- AssignBlockCycles.cpp - How long blocks of kernels work ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cuda/HovaCudaDialect.h"
#include "codegen/cuda/Passes.h"
#include "codegen/cuda/model/BlockCycles.h"
#include "dialect/program/ProgramOps.h"

using namespace mlir;

namespace hova {
#define GEN_PASS_DEF_ASSIGNBLOCKCYCLESPASS
#include "codegen/cuda/Passes.h.inc"

namespace {
struct AssignBlockCyclesPass final
    : impl::AssignBlockCyclesPassBase<AssignBlockCyclesPass> {
  using Base::Base;
  void runOnOperation() override {
    ModuleOp code = getOperation();
    const GpuFacts *gpu = findGpu(gpuOf(code).modelledAs);
    auto main = code.lookupSymbol<func::FuncOp>("main");
    if (!main || !gpu) {
      return;
    }
    for (auto launch : main.getOps<LaunchOp>()) {
      auto kernel = code.lookupSymbol<func::FuncOp>(launch.getCallee());
      auto shape = dyn_cast_or_null<CudaLaunchAttr>(launch.getShape());
      // Launches of one kernel have one grid.
      if (!kernel || !shape || kernel->hasAttr(kBlockCyclesAttr)) {
        continue;
      }
      std::array<int64_t, 3> grid = {shape.getX(), shape.getY(), shape.getZ()};
      if (std::optional<BlockCycles> cycles = modelBlock(kernel, grid, *gpu)) {
        kernel->setAttr(kBlockCyclesAttr,
                        DenseF64ArrayAttr::get(
                            &getContext(), {cycles->alone, cycles->beside}));
      }
    }
  }
};
} // namespace
} // namespace hova
