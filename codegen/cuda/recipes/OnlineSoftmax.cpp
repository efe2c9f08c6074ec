//===- OnlineSoftmax.cpp - Weights of tiles that come one by one ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cuda/recipes/OnlineSoftmax.h"
#include "dialect/dense/DenseOps.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;

namespace hova {

OnlineSoftmax::OnlineSoftmax(KernelBuilder &b, Type element, double scoreFactor,
                             bool isRaw, bool mayBeNone, Expr offset)
    : b(b), element(element), scoreFactor(scoreFactor),
      factor(llvm::numbers::log2e * scoreFactor), isRaw(isRaw),
      mayBeNone(mayBeNone), offset(offset) {}

/// Of raw scores, one multiply-add each: factor x - factor most. The product of
/// the maximum is off by half a unit of its last place, and with it all weights
/// that are relative to it. Where that is more than exponents can bear, scores
/// that differ are so far apart that one has all the weight, whatever the
/// factor is: a power of two makes both products exact. Weights of f16 bear
/// less.
///
/// That power may be twice `scoreFactor`, and then its product overflows where
/// the score is a number yet. A quarter of it takes its place there. Where the
/// power is at most 1, no product is greater than the raw score.
Value OnlineSoftmax::factorsOf(Value most) {
  double bearable = element.isF16() ? 0x1p28 : 0x1p30;
  double exact = std::exp2(std::min(std::round(std::log2(factor)), 127.0));
  return b.map(most.getType(), most, [&](Elements x, Expr, Expr) {
    Expr size = abs(x[0]);
    Expr isFar = size > std::min(bearable / factor, 0x1p127);
    Expr exponent = select(isFar, exact, factor);
    return exact > 1 ? select(size > 0x1p127 / exact, exact / 4, exponent)
                     : exponent;
  });
}

Value OnlineSoftmax::shiftsOf(Value most, Value factors) {
  return b.map(most.getType(), {most, factors}, [&](Elements x, Expr, Expr) {
    return fma(x[0], -x[1], offset);
  });
}

OnlineSoftmax::Weights OnlineSoftmax::weigh(Value scores, Value before,
                                            Value most) {
  if (!isRaw) {
    Value shrink =
        b.map(most.getType(), {before, most}, [&](Elements x, Expr, Expr) {
          return b.power(x[0], x[1], scoreFactor);
        });
    Value weights =
        b.map(scores.getType(), {scores, most}, [&](Elements x, Expr, Expr) {
          return b.power(fma(x[0] - x[1], factor, offset));
        });
    return {weights, shrink};
  }
  Value factors = factorsOf(most), shifts = shiftsOf(most, factors);
  Value shrink =
      b.map(most.getType(), {shifts, shiftsOf(before, factors)},
            [&](Elements x, Expr, Expr) { return b.power(x[0] - x[1]); });
  Value weights = b.map(
      scores.getType(), {scores, factors, shifts},
      [&](Elements x, Expr, Expr) { return b.power(fma(x[0], x[1], x[2])); });
  return {weights, shrink};
}

Value OnlineSoftmax::finite(Value most) {
  if (!mayBeNone) {
    return most;
  }
  return b.map(most.getType(), most, [](Elements x, Expr, Expr) {
    return select(x[0] == -INFINITY, 0, x[0]);
  });
}

Value OnlineSoftmax::evenly(Value weights, Value most, Expr firstKey,
                            Expr end) {
  return b.map(
      weights.getType(), {weights, most}, [&](Elements x, Expr, Expr j) {
        Expr isKey = end ? firstKey + j < end : Expr();
        return select(x[1] == -INFINITY, select(isKey, 1.0, 0.0), x[0]);
      });
}

} // namespace hova
