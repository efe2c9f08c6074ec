//===- LowerGroupOps.cpp - Operations of a group to threads ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cuda/Passes.h"
#include "codegen/cuda/lower/ThreadEmitter.h"

using namespace mlir;

namespace hova {
#define GEN_PASS_DEF_LOWERGROUPOPSPASS
#include "codegen/cuda/Passes.h.inc"

namespace {
struct LowerGroupOpsPass : impl::LowerGroupOpsPassBase<LowerGroupOpsPass> {
  void runOnOperation() override {
    for (auto function :
         llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>())) {
      if (failed(ThreadEmitter(function).emit())) {
        return signalPassFailure();
      }
    }
  }
};
} // namespace
} // namespace hova
