//===- LowerLoopAnnotations.cpp - Annotations of loops on branches --------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cuda/Passes.h"

using namespace mlir;

namespace hova {
#define GEN_PASS_DEF_LOWERLOOPANNOTATIONSPASS
#include "codegen/cuda/Passes.h.inc"

template <typename Branch> static void keep(Branch branch) {
  StringRef name = "llvm.loop_annotation";
  if (auto annotation =
          branch->template getAttrOfType<LLVM::LoopAnnotationAttr>(name)) {
    branch->removeDiscardableAttr(name);
    branch.setLoopAnnotationAttr(annotation);
  }
}

namespace {
struct LowerLoopAnnotationsPass
    : impl::LowerLoopAnnotationsPassBase<LowerLoopAnnotationsPass> {
  void runOnOperation() override {
    getOperation().walk([](LLVM::BrOp branch) { keep(branch); });
    getOperation().walk([](LLVM::CondBrOp branch) { keep(branch); });
  }
};
} // namespace
} // namespace hova
