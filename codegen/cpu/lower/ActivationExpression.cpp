//===- ActivationExpression.cpp - Activations as polynomials --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Everything rests on 2^y = 2^n 2^r with n the nearest integer: adding
// 1.5 * 2^23 rounds y to an integer that then stands in the low bits, a
// polynomial gives 2^r, and 2^n is those bits shifted into the exponent. The
// number added also holds the exponent's bias, 127, so the shift yields 2^n
// itself, and exactly 0 for n = -127: arguments are clamped there, which makes
// the exponential of minus infinity 0.
//
// Where the target picks entries of a table for all lanes at once, GELU needs
// no exponential: its tail is a polynomial in 16 pieces, and the piece of an
// argument is found as n is, by an addition that rounds. Results that are only
// rounded to bf16 have a shorter polynomial, and hyperbolic tangents have one:
// where all users round, or where an operation says so (fastmath<afn>).
//
// No function divides by or subtracts nearly equal numbers, so there is no
// tail where digits cancel. Coefficients are least-maximum fits against
// float64 (linear programming on Chebyshev nodes), rounded to f32; intervals
// and errors stand beside them.

#include "codegen/cpu/lower/ActivationExpression.h"
#include "codegen/ErrorFunction.h"
#include "codegen/SmoothFunctions.h"
#include "codegen/cpu/TileOps.h"
#include <cmath>

using namespace mlir;

namespace hova {

/// As kExp2; relative error of r p(r) itself: 1.1e-8.
static constexpr double kExp2MinusOne[] = {
    0.00015403514578808623, 0.0013390734893505611, 0.009618237490995715,
    0.05550357433425767,    0.24022649794917658,   0.6931471879268851};

/// The exponential of this argument and of all below is 0.
static constexpr double kLowestExponent = -127;
/// Exponentials below the least normal number may be 0, from exp(-88) on all
/// are.
static constexpr double kLeastWithoutExponential = 88;
/// Less 1, an exponent beyond this one is no less exact.
static constexpr double kLargeExponent = 64;
/// Rounds to an integer n and leaves n + 127 in the low bits.
static constexpr double kRound = 0x1.8p23 + 127;
/// Rounds to n and leaves n in the low bits.
static constexpr double kRoundToWhole = 0x1.8p23;
/// Rounds to n / 2 and leaves n in the low bits.
static constexpr double kRoundToHalf = 0x1.8p22;

Value ActivationExpression::polynomial(Value x,
                                       ArrayRef<double> fallingPowers) {
  Value sum = constant(fallingPowers.front());
  for (double coefficient : fallingPowers.drop_front()) {
    sum = fma(sum, x, constant(coefficient));
  }
  return sum;
}

ActivationExpression::Split ActivationExpression::splitProduct(Value x,
                                                               double factor) {
  double high = static_cast<float>(factor);
  Value rounded = fma(x, constant(high), constant(kRound));
  Value minusN = sub(constant(kRound), rounded);
  Value rest = fma(x, constant(high), minusN);
  return {rounded, fma(x, constant(factor - high), rest)};
}

Value ActivationExpression::scaleOf(const Split &split) {
  auto bitsType = VectorType::get(type.getShape(), b.getI32Type());
  Value bits = arith::BitcastOp::create(b, bitsType, split.rounded);
  Value places = arith::ConstantOp::create(
      b, DenseElementsAttr::get(bitsType, b.getI32IntegerAttr(23)));
  return arith::BitcastOp::create(b, type,
                                  arith::ShLIOp::create(b, bits, places));
}

Value ActivationExpression::exp2Of(const Split &split) {
  Value exponential =
      fma(polynomial(split.rest, kExp2), split.rest, constant(1));
  // A product, not an addition to the exponent: NaN must stay NaN.
  return mul(exponential, scaleOf(split));
}

Value ActivationExpression::exp2(Value x, int64_t offset) {
  // What rounds to n leaves n + offset + 127 in the low bits.
  Value y = atLeast(kLowestExponent - offset, x);
  Value round = constant(kRound + offset);
  Value rounded = add(y, round);
  return exp2Of({rounded, sub(y, sub(rounded, round))});
}

/// exp(x) with the digits of the change of base that f32 would lose.
Value ActivationExpression::exp(Value x) {
  constexpr double kLog2E = 1.4426950408889634, kLn2 = 0.6931471805599453;
  constexpr double kLeast = -104, kMost = 89; // 0 and infinity
  x = atMost(kMost, atLeast(kLeast, x));
  double low = kLog2E - static_cast<double>(static_cast<float>(kLog2E));
  Value exponent = mul(x, constant(kLog2E));
  Value rest = fma(x, constant(kLog2E), arith::NegFOp::create(b, exponent));
  rest = fma(x, constant(low), rest);
  Value factor = fma(rest, constant(kLn2), constant(1));
  if (exponentials) {
    return mul(Exp2Op::create(b, exponent), factor);
  }
  // 2^n is a number up to n = 127 alone: large results are twice the half.
  Value isLarge = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, exponent,
                                        constant(kLargeExponent));
  auto ifLarge = [&](double then, double otherwise) -> Value {
    return arith::SelectOp::create(b, isLarge, constant(then),
                                   constant(otherwise));
  };
  Value power = exp2(sub(exponent, ifLarge(1, 0)));
  return mul(power, mul(factor, ifLarge(2, 1)));
}

Value ActivationExpression::activation(ActivationKind kind, Value x,
                                       bool isRounded) {
  bool isCoarse = lookups && isRounded;
  switch (kind) {
  case ActivationKind::relu:
    return relu(x);
  case ActivationKind::gelu_erf:
    return isCoarse  ? geluByCoarsePieces(x, kCoarseErrorFunctionPieces)
           : lookups ? geluByPieces(x, kErrorFunctionPieces)
                     : geluErf(x);
  case ActivationKind::gelu_tanh:
    return isCoarse  ? geluByCoarsePieces(x, kCoarseTanhPieces)
           : lookups ? geluByPieces(x, kTanhPieces)
                     : geluTanh(x);
  case ActivationKind::tanh:
    return tanh(x, isRounded);
  case ActivationKind::sigmoid:
    return sigmoid(x);
  case ActivationKind::silu:
    return swish(x, 1);
  case ActivationKind::quick_gelu:
    return swish(x, kQuickGeluSlope);
  case ActivationKind::softplus:
    return softplus(x);
  case ActivationKind::relu2:
    x = relu(x);
    return mul(x, x);
  case ActivationKind::hard_swish:
    return hardSwish(x);
  }
  llvm_unreachable("unknown activation");
}

Value ActivationExpression::relu(Value x) { return atLeast(0, x); }

Value ActivationExpression::geluByPieces(Value x, Pieces pieces) {
  // The last piece is 0; its middle is where larger arguments go.
  Value u = atMost(7.5, abs(x));
  Split split = splitHalves(u);
  return geluByPiece(x, u, split.rounded, split.rest, pieces);
}

ActivationExpression::Split ActivationExpression::splitHalves(Value u) {
  Value rounded = add(u, constant(kRoundToHalf));
  return {rounded, sub(u, sub(rounded, constant(kRoundToHalf)))};
}

Value ActivationExpression::geluByCoarsePieces(Value x, Pieces pieces) {
  // In the last piece, which is 0, whatever is larger.
  Value u = atMost(5.05, abs(x));
  Value slope = fma(u, constant(kCoarseSquare), constant(kCoarseSlope));
  Value rounded = fma(u, slope, constant(kRoundToWhole));
  return geluByPiece(x, u, rounded, u, pieces);
}

Value ActivationExpression::geluByPiece(Value x, Value u, Value rounded,
                                        Value argument, Pieces pieces) {
  Value q = polynomialOfPiece(rounded, argument, pieces);
  return fma(arith::NegFOp::create(b, u), q, relu(x));
}

Value ActivationExpression::polynomialOfPiece(Value rounded, Value argument,
                                              Pieces pieces) {
  Value piece = arith::BitcastOp::create(
      b, VectorType::get(type.getShape(), b.getI32Type()), rounded);
  auto tableType = VectorType::get({kLookupEntries}, type.getElementType());
  Value q;
  for (ArrayRef<float> coefficients : pieces) {
    Value found = LookupOp::create(
        b, type, piece, DenseFPElementsAttr::get(tableType, coefficients));
    q = q ? fma(q, argument, found) : found;
  }
  return q;
}

/// max(x, 0) - u q(u), u = |x|, q(u) = erfc(u / sqrt 2) / 2 = 2^p(u).
Value ActivationExpression::geluErf(Value x) {
  // From 13.1 on q is 0 in f32.
  Value u = atMost(13.25, abs(x));
  Value exponent = polynomial(u, kErrorFunctionTail);
  Value tail = exp2(exponent);
  return sub(relu(x), mul(u, tail));
}

/// max(x, 0) - u q(u), u = |x|, q(u) = e / (1 + e),
/// e = exp(-2 sqrt(2/pi) (u + 0.044715 u^3)).
Value ActivationExpression::geluTanh(Value x) {
  // From 10.1 on e is 0 in f32.
  Value u = atMost(10.5, abs(x));
  double slope = -2 * std::sqrt(2 / M_PI) / std::log(2.0);
  Value square = mul(u, u);
  Value factor = fma(square, constant(0.044715 * slope), constant(slope));
  Value exponential = exp2(mul(u, factor));
  Value tail = div(exponential, add(constant(1), exponential));
  return sub(relu(x), mul(u, tail));
}

/// sign(x) u g(u), u = |x|, g(u) = tanh(u) / u in pieces.
Value ActivationExpression::tanhByCoarsePieces(Value x) {
  Value u = atMost(kCoarseTanhEnd, abs(x));
  Split split = splitHalves(u);
  Value ratio =
      polynomialOfPiece(split.rounded, split.rest, kCoarseTanhRatioPieces);
  return math::CopySignOp::create(b, mul(u, ratio), x);
}

/// sign(x) (1 - e) / (1 + e), e = exp(-2 |x|), by way of e - 1, which keeps
/// its digits where e is nearly 1.
Value ActivationExpression::tanh(Value x, bool isRounded) {
  if (lookups && isRounded) {
    return tanhByCoarsePieces(x);
  }
  // From 9.02 on the result is 1 in f32.
  Value u = atMost(10, abs(x));
  Split split = splitProduct(u, -2 / std::log(2.0));
  Value scale = scaleOf(split);
  Value restMinusOne = mul(polynomial(split.rest, kExp2MinusOne), split.rest);
  Value minusOne = fma(scale, restMinusOne, sub(scale, constant(1)));
  Value one = div(minusOne, sub(constant(-2), minusOne));
  return math::CopySignOp::create(b, one, x);
}

/// 1 / (1 + e) where x >= 0 and e / (1 + e) elsewhere, e = exp(-|x|): nothing
/// overflows.
Value ActivationExpression::sigmoid(Value x) {
  Split split = splitProduct(atMost(kLeastWithoutExponential, abs(x)),
                             -1 / std::log(2.0));
  Value exponential = exp2Of(split);
  Value isNegative =
      arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, x, constant(0));
  Value numerator =
      arith::SelectOp::create(b, isNegative, exponential, constant(1));
  return div(numerator, add(constant(1), exponential));
}

/// max(x, 0) - u e / (1 + e), u = |x|, e = exp(-slope u).
Value ActivationExpression::swish(Value x, double slope) {
  // From here on e is 0, as that of sigmoid.
  Value u = atMost(kLeastWithoutExponential / slope, abs(x));
  Value exponential = exp2Of(splitProduct(u, -slope / std::log(2.0)));
  Value tail = div(exponential, add(constant(1), exponential));
  return sub(relu(x), mul(u, tail));
}

/// max(x, 0) + log(1 + e), e = exp(-|x|), where log(1 + e) = 2 artanh(s) =
/// s p(s^2), s = e / (2 + e).
Value ActivationExpression::softplus(Value x) {
  Value u = atMost(kLeastWithoutExponential, abs(x));
  Value exponential = exp2Of(splitProduct(u, -1 / std::log(2.0)));
  Value ratio = div(exponential, add(constant(2), exponential));
  Value slope = polynomial(mul(ratio, ratio), kTwiceArtanh);
  return fma(ratio, slope, relu(x));
}

/// The sum is exact next to -3, where the result begins to differ from 0.
Value ActivationExpression::hardSwish(Value x) {
  Value y = atLeast(-3, x);
  Value share = mul(atMost(6, add(y, constant(3))), constant(1.0 / 6));
  return mul(y, share);
}

} // namespace hova
