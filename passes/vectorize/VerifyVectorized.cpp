//===- VerifyVectorized.cpp - The promise of vectorize --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/Passes.h"

using namespace mlir;

namespace hova {
#define GEN_PASS_DEF_VERIFYVECTORIZEDPASS
#include "passes/Passes.h.inc"

static bool hasManyDimensions(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return vector && vector.getRank() > 1;
}

namespace {
struct VerifyVectorizedPass final
    : impl::VerifyVectorizedPassBase<VerifyVectorizedPass> {
  using Base::Base;
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      // Launches and weights are not code of a kernel.
      if (function.getName() == "main" || function.getName() == "weights") {
        continue;
      }
      WalkResult walked = function.walk([](Operation *op) -> WalkResult {
        if (isa<HovaDialect>(op->getDialect())) {
          return op->emitError("vectorized kernel still holds '")
                 << op->getName() << "'";
        }
        if (llvm::any_of(op->getResultTypes(), hasManyDimensions)) {
          return op->emitError("vectorized kernel holds a vector of more than "
                               "one dimension");
        }
        return WalkResult::advance();
      });
      if (walked.wasInterrupted()) {
        return signalPassFailure();
      }
    }
  }
};
} // namespace
} // namespace hova
