//===- ScalarFunctions.cpp - Functions of one f32 of a thread -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The hardware has 2^x, log2 x, 1 / x and 1 / sqrt x, to about a unit in the
// last place. Bounds are kept by maxima and minima through which NaN passes, so
// that nothing becomes infinity times 0.

#include "codegen/cuda/lower/ScalarFunctions.h"
#include "codegen/ErrorFunction.h"
#include "codegen/SmoothFunctions.h"
#include "dialect/dense/DenseOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;

namespace hova {

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

Value ScalarFunctions::intrinsic(StringRef name, Value x) {
  return LLVM::CallIntrinsicOp::create(b, x.getType(), b.getStringAttr(name),
                                       ValueRange{x})
      .getResult(0);
}
Value ScalarFunctions::exp2(Value x) {
  return intrinsic("llvm.nvvm.ex2.approx.ftz.f", x);
}
Value ScalarFunctions::reciprocal(Value x) {
  return intrinsic("llvm.nvvm.rcp.approx.ftz.f", x);
}
Value ScalarFunctions::constant(double value) {
  return arith::ConstantOp::create(b, b.getF32FloatAttr(value));
}
Value ScalarFunctions::add(Value x, Value y) {
  return arith::AddFOp::create(b, x, y);
}
Value ScalarFunctions::sub(Value x, Value y) {
  return arith::SubFOp::create(b, x, y);
}
Value ScalarFunctions::mul(Value x, Value y) {
  return arith::MulFOp::create(b, x, y);
}
Value ScalarFunctions::fma(Value x, Value y, Value z) {
  return math::FmaOp::create(b, x, y, z);
}
Value ScalarFunctions::magnitude(Value x) { return math::AbsFOp::create(b, x); }
Value ScalarFunctions::atMost(double bound, Value x) {
  return arith::MinimumFOp::create(b, x, constant(bound));
}
Value ScalarFunctions::atLeast(double bound, Value x) {
  return arith::MaximumFOp::create(b, x, constant(bound));
}

Value ScalarFunctions::polynomial(Value x, ArrayRef<double> fallingPowers) {
  Value sum = constant(fallingPowers.front());
  for (double coefficient : fallingPowers.drop_front()) {
    sum = fma(sum, x, constant(coefficient));
  }
  return sum;
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

Value ScalarFunctions::reciprocalOfAny(Value x) {
  // 1 / (s x) is a normal number wherever 1 / x is finite and not 0.
  auto isBeyond = [&](arith::CmpFPredicate predicate, double bound) -> Value {
    return arith::CmpFOp::create(b, predicate, magnitude(x), constant(bound));
  };
  Value scale = arith::SelectOp::create(
      b, isBeyond(arith::CmpFPredicate::OGT, 0x1p100), constant(0x1p-24),
      arith::SelectOp::create(b, isBeyond(arith::CmpFPredicate::OLT, 0x1p-100),
                              constant(0x1p24), constant(1)));
  return mul(reciprocal(mul(x, scale)), scale);
}

Value ScalarFunctions::powerOfProduct(Value x, double factor) {
  double high = static_cast<float>(factor);
  Value product = mul(x, constant(high));
  Value lost = fma(x, constant(high), arith::NegFOp::create(b, product));
  lost = fma(x, constant(factor - high), lost);
  return mul(exp2(product), fma(lost, constant(std::log(2.0)), constant(1)));
}

Value ScalarFunctions::exp(Value x) {
  // Beyond these bounds the power of two is infinity or 0.
  return powerOfProduct(atMost(100, atLeast(-120, x)), 1 / std::log(2.0));
}

/// As exact as the instruction around 1, where its error is absolute.
Value ScalarFunctions::log(Value x) {
  return mul(intrinsic("llvm.nvvm.lg2.approx.f", x), constant(std::log(2.0)));
}

/// Abramowitz and Stegun 7.1.26, absolute error 1.5e-7:
/// 1 - t p(t) exp(-x^2), t = 1 / (1 + 0.3275911 |x|), with the sign of x.
Value ScalarFunctions::erf(Value x) {
  Value t = reciprocal(fma(magnitude(x), constant(0.3275911), constant(1)));
  Value p = polynomial(
      t, {1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592});
  Value power = exp2(mul(mul(x, x), constant(-1.4426950408889634)));
  Value rest = mul(mul(p, t), power);
  return math::CopySignOp::create(b, sub(constant(1), rest), x);
}

/// max(x, 0) - u q(u), u = |x|, q(u) = erfc(u / sqrt 2) / 2 = 2^p(u).
Value ScalarFunctions::geluErf(Value x) {
  // From 13.1 on q is 0 in f32.
  Value u = atMost(13.25, magnitude(x));
  Value tail = exp2(polynomial(u, kErrorFunctionTail));
  return sub(atLeast(0, x), mul(u, tail));
}

/// max(x, 0) - u q(u), u = |x|, q(u) = e / (1 + e),
/// e = exp(-2 sqrt(2/pi) (u + 0.044715 u^3)).
Value ScalarFunctions::geluTanh(Value x) {
  // From 10.1 on e is 0 in f32.
  Value u = atMost(10.5, magnitude(x));
  double slope = -2 * std::sqrt(2 / M_PI) / std::log(2.0);
  Value factor = fma(mul(u, u), constant(0.044715 * slope), constant(slope));
  Value power = exp2(mul(u, factor));
  Value tail = mul(power, reciprocal(add(constant(1), power)));
  return sub(atLeast(0, x), mul(u, tail));
}

/// u + u s p(s), s = u^2, where u = |x| is below 0.6 (relative error 2.8e-9),
/// and 1 - 2 / (1 + exp(2 u)) elsewhere, with the sign of x.
Value ScalarFunctions::tanh(Value x) {
  Value u = magnitude(x), square = mul(u, u);
  Value p = polynomial(square, {-0.005895158061519786, 0.020795971647099565,
                                -0.0537838302712659, 0.133319241265765,
                                -0.3333329800210592});
  Value low = fma(mul(u, square), p, u);
  Value power = exp2(mul(u, constant(2 / std::log(2.0))));
  Value high =
      fma(reciprocal(add(power, constant(1))), constant(-2), constant(1));
  Value isLow =
      arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, u, constant(0.6));
  return math::CopySignOp::create(
      b, arith::SelectOp::create(b, isLow, low, high), x);
}

/// 1 / (1 + e) where x >= 0 and e / (1 + e) elsewhere, e = exp(-|x|): nothing
/// overflows.
Value ScalarFunctions::sigmoid(Value x) {
  Value e = powerOfProduct(atMost(120, magnitude(x)), -1 / std::log(2.0));
  Value isNegative =
      arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, x, constant(0));
  Value numerator = arith::SelectOp::create(b, isNegative, e, constant(1));
  return mul(numerator, reciprocal(add(constant(1), e)));
}

/// max(x, 0) - u e / (1 + e), u = |x|, e = exp(-slope u).
Value ScalarFunctions::swish(Value x, double slope) {
  Value u = atMost(120 / slope, magnitude(x));
  Value power = powerOfProduct(u, -slope / std::log(2.0));
  Value tail = mul(power, reciprocal(add(constant(1), power)));
  return sub(atLeast(0, x), mul(u, tail));
}

/// max(x, 0) + log(1 + e), e = exp(-|x|), where log(1 + e) = 2 artanh(s) =
/// s p(s^2), s = e / (2 + e).
Value ScalarFunctions::softplus(Value x) {
  Value power = powerOfProduct(atMost(120, magnitude(x)), -1 / std::log(2.0));
  Value ratio = mul(power, reciprocal(add(constant(2), power)));
  Value slope = polynomial(mul(ratio, ratio), kTwiceArtanh);
  return fma(ratio, slope, atLeast(0, x));
}

/// The sum is exact next to -3, where the result begins to differ from 0.
Value ScalarFunctions::hardSwish(Value x) {
  Value y = atLeast(-3, x);
  return mul(y, mul(atMost(6, add(y, constant(3))), constant(1.0 / 6)));
}

Value ScalarFunctions::activation(ActivationKind kind, Value x) {
  switch (kind) {
  case ActivationKind::relu:
    return atLeast(0, x);
  case ActivationKind::gelu_erf:
    return geluErf(x);
  case ActivationKind::gelu_tanh:
    return geluTanh(x);
  case ActivationKind::tanh:
    return tanh(x);
  case ActivationKind::sigmoid:
    return sigmoid(x);
  case ActivationKind::silu:
    return swish(x, 1);
  case ActivationKind::quick_gelu:
    return swish(x, kQuickGeluSlope);
  case ActivationKind::softplus:
    return softplus(x);
  case ActivationKind::relu2:
    x = atLeast(0, x);
    return mul(x, x);
  case ActivationKind::hard_swish:
    return hardSwish(x);
  }
  llvm_unreachable("unknown activation");
}

Value ScalarFunctions::emit(Operation &op, ValueRange operands) {
  if (op.getNumResults() != 1 ||
      !getElementTypeOrSelf(op.getResult(0).getType()).isF32()) {
    return {};
  }
  return TypeSwitch<Operation *, Value>(&op)
      .Case<ActivationOp>([&](ActivationOp op) {
        return activation(op.getKind(), operands[0]);
      })
      .Case<Exp2Op>([&](Exp2Op op) {
        int64_t offset = op.getExponentOffset();
        return exp2(offset ? add(operands[0], constant(offset)) : operands[0]);
      })
      .Case<math::Exp2Op>([&](auto) { return exp2(operands[0]); })
      .Case<math::ExpOp>([&](auto) { return exp(operands[0]); })
      .Case<math::LogOp>([&](auto) { return log(operands[0]); })
      .Case<math::Log2Op>([&](auto) {
        return intrinsic("llvm.nvvm.lg2.approx.f", operands[0]);
      })
      .Case<math::TanhOp>([&](auto) { return tanh(operands[0]); })
      .Case<math::ErfOp>([&](auto) { return erf(operands[0]); })
      .Case<math::RsqrtOp>([&](auto) {
        return intrinsic("llvm.nvvm.rsqrt.approx.f", operands[0]);
      })
      .Case<arith::DivFOp>([&](arith::DivFOp op) -> Value {
        // Other quotients are rounded to nearest.
        if (!matchPattern(operands[0], m_OneFloat())) {
          return Value();
        }
        bool isNormal = arith::bitEnumContainsAll(op.getFastmath(),
                                                  arith::FastMathFlags::arcp);
        return isNormal ? reciprocal(operands[1])
                        : reciprocalOfAny(operands[1]);
      })
      .Default([](Operation *) { return Value(); });
}

} // namespace hova
