//===- VerifyVectorized.cpp - The promise of vectorize --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cpu/HovaCpuDialect.h"
#include "codegen/cpu/Passes.h"
#include "codegen/cpu/TileOps.h"
#include "dialect/dense/DenseOps.h"
#include "passes/tile/ProgramAttrs.h"

using namespace mlir;

namespace hova {
#define GEN_PASS_DEF_VERIFYVECTORIZEDPASS
#include "codegen/cpu/Passes.h.inc"

static bool isBeyondRow(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return vector && vector.getRank() > 1;
}

/// `main` launches kernels and the programs that make weights and tables keep
/// their tensors; every other function is a kernel.
static bool isKernelFunction(func::FuncOp function) {
  StringRef name = function.getName();
  return name != "main" && name != kFoldingFunction && name != kTableProgram;
}

static LogicalResult check(Operation *op, bool inKernel) {
  if (inKernel && isa<HovaDialect, HovaCpuDialect>(op->getDialect()) &&
      !isa<BlockProductOp, Exp2Op, LookupOp, PairDotOp>(op)) {
    return op->emitError("vectorized kernel still holds '")
           << op->getName() << "'";
  }
  auto types =
      llvm::concat<const Type>(SmallVector<Type>(op->getOperandTypes()),
                               SmallVector<Type>(op->getResultTypes()));
  for (Type type : types) {
    if (isBeyondRow(type)) {
      return op->emitError("vectorized program still holds ") << type;
    }
  }
  return success();
}

namespace {
struct VerifyVectorizedPass final
    : impl::VerifyVectorizedPassBase<VerifyVectorizedPass> {
  using Base::Base;
  void runOnOperation() override {
    markAllAnalysesPreserved();
    bool failed = false;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      bool inKernel = isKernelFunction(function);
      function.walk(
          [&](Operation *op) { failed |= check(op, inKernel).failed(); });
    }
    if (failed) {
      signalPassFailure();
    }
  }
};
} // namespace
} // namespace hova
