//===- AssignPhaseName.cpp - Note which phase a module has gone through ---===//
// SPDX-License-Identifier: Apache-2.0
//
// A dump says itself where its compilation goes on. Never does nothing.

#include "codegen/Passes.h"
#include "codegen/Pipeline.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;

namespace hova {
#define GEN_PASS_DEF_ASSIGNPHASENAMEPASS
#include "codegen/Passes.h.inc"

namespace {
struct AssignPhaseNamePass final
    : impl::AssignPhaseNamePassBase<AssignPhaseNamePass> {
  using Base::Base;
  void runOnOperation() override {
    getOperation()->setAttr(kPhaseAttr, StringAttr::get(&getContext(), phase));
    // The whole program is verified after a pass that may have changed it.
    // Here one attribute of the module did.
    if (failed(mlir::verify(getOperation(), /*verifyRecursively=*/false))) {
      signalPassFailure();
    }
    markAllAnalysesPreserved();
  }
};
} // namespace
} // namespace hova
