//===- LowerLaunchOrderToPtx.cpp - griddepcontrol as pieces of PTX --------===//
// SPDX-License-Identifier: Apache-2.0
//
// LLVM's intrinsics for these instructions touch no memory as far as it knows,
// so that it may move or join loads over them. A piece of text that clobbers
// memory keeps every access on its side.

#include "codegen/cuda/LaunchOps.h"
#include "codegen/cuda/Passes.h"

using namespace mlir;

namespace hova {
#define GEN_PASS_DEF_LOWERLAUNCHORDERTOPTXPASS
#include "codegen/cuda/Passes.h.inc"

static void replaceBy(Operation *op, StringRef text) {
  OpBuilder b(op);
  LLVM::InlineAsmOp::create(
      b, op->getLoc(), TypeRange(), ValueRange(), text, "~{memory}",
      /*has_side_effects=*/true, /*is_align_stack=*/false,
      LLVM::TailCallKind::None,
      LLVM::AsmDialectAttr::get(op->getContext(), LLVM::AsmDialect::AD_ATT),
      ArrayAttr());
  op->erase();
}

namespace {
struct LowerLaunchOrderToPtxPass final
    : impl::LowerLaunchOrderToPtxPassBase<LowerLaunchOrderToPtxPass> {
  using Base::Base;
  void runOnOperation() override {
    getOperation().walk([](Operation *op) {
      if (isa<AwaitLaunchesOp>(op)) {
        replaceBy(op, "griddepcontrol.wait;");
      } else if (isa<AllowLaunchesOp>(op)) {
        replaceBy(op, "griddepcontrol.launch_dependents;");
      }
    });
  }
};
} // namespace
} // namespace hova
