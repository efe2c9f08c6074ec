//===- LowerActivations.cpp - Activations as polynomials ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Programs have no mathematical library: each function becomes arithmetic on
// vectors of f32 (ActivationExpression.cpp). Other types than f32 have no such
// form and stay, as do powers of two where the target has an instruction.

#include "codegen/cpu/HovaCpuDialect.h"
#include "codegen/cpu/Passes.h"
#include "codegen/cpu/lower/ActivationExpression.h"

using namespace mlir;

namespace hova {
#define GEN_PASS_DEF_LOWERACTIVATIONSPASS
#include "codegen/cpu/Passes.h.inc"

/// Whether an operation has one result, which is a vector of f32.
static bool givesFloatVector(Operation *op) {
  auto vector = op->getNumResults() == 1
                    ? dyn_cast<VectorType>(op->getResult(0).getType())
                    : VectorType();
  return vector && vector.getElementType().isF32();
}

namespace {
struct LowerActivationsPass final
    : impl::LowerActivationsPassBase<LowerActivationsPass> {
  using Base::Base;
  void runOnOperation() override {
    getOperation().walk([this](Operation *op) {
      if (!givesFloatVector(op)) {
        return;
      }
      OpBuilder builder(op);
      if (Value result = lower(builder, op)) {
        op->getResult(0).replaceAllUsesWith(result);
        op->erase();
      }
    });
  }

private:
  /// Null where the operation stays.
  Value lower(OpBuilder &builder, Operation *op) {
    auto with = [&](Value x) {
      return ActivationExpression(builder, x.getLoc(), x.getType(), lookups,
                                  exponentials);
    };
    return llvm::TypeSwitch<Operation *, Value>(op)
        .Case([&](ActivationOp activation) {
          return with(activation.getX())
              .activation(activation.getKind(), activation.getX(),
                          isRoundedToBf16(activation.getResult()));
        })
        .Case([&](math::TanhOp tangent) {
          bool isRounded = arith::bitEnumContainsAny(tangent.getFastmath(),
                                                     arith::FastMathFlags::afn);
          return with(tangent.getOperand())
              .tanh(tangent.getOperand(), isRounded);
        })
        .Case([&](math::ExpOp power) {
          return with(power.getOperand()).exp(power.getOperand());
        })
        .Case([&](Exp2Op power) {
          return exponentials
                     ? Value()
                     : with(power.getX())
                           .exp2(power.getX(), power.getExponentOffset());
        })
        .Default(Value());
  }
};
} // namespace
} // namespace hova
