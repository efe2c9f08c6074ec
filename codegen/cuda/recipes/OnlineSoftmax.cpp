//===- OnlineSoftmax.cpp - Weights of tiles that come one by one ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cuda/recipes/OnlineSoftmax.h"
#include "dialect/DenseOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>

using namespace mlir;

namespace hova {

static constexpr double kLog2E = 1.4426950408889634;

OnlineSoftmax::OnlineSoftmax(KernelBuilder &b, Type element, double scoreFactor,
                             bool isRaw, bool mayBeNone, int64_t columns)
    : b(b), element(element), scoreFactor(scoreFactor),
      factor(kLog2E * scoreFactor), isRaw(isRaw), mayBeNone(mayBeNone),
      offset(element.isF16() ? 0 : Exp2Op::offsetOfWeights(columns)) {}

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
  return b.map(most.getType(), most, [&](ValueRange x, Value, Value) -> Value {
    Value size = math::AbsFOp::create(b, x[0]), own = b.number(factor);
    auto takeBeyond = [&](double limit, double other) {
      Value isFar = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, size,
                                          b.number(limit));
      own = arith::SelectOp::create(b, isFar, b.number(other), own);
    };
    takeBeyond(std::min(bearable / factor, 0x1p127), exact);
    if (exact > 1) {
      takeBeyond(0x1p127 / exact, exact / 4);
    }
    return own;
  });
}

Value OnlineSoftmax::shiftsOf(Value most, Value factors) {
  return b.map(most.getType(), {most, factors},
               [&](ValueRange x, Value, Value) -> Value {
                 Value factor = arith::NegFOp::create(b, x[1]);
                 return b.fma(x[0], factor, b.number(offset));
               });
}

OnlineSoftmax::Weights OnlineSoftmax::weigh(Value scores, Value before,
                                            Value most) {
  auto power = [&](Value exponent) -> Value {
    return math::Exp2Op::create(b, exponent);
  };
  if (!isRaw) {
    Value shrink =
        b.map(most.getType(), {before, most}, [&](ValueRange x, Value, Value) {
          return b.power(x[0], x[1], scoreFactor);
        });
    Value own = b.map(
        scores.getType(), {scores, most}, [&](ValueRange x, Value, Value) {
          Value difference = arith::SubFOp::create(b, x[0], x[1]);
          return power(b.fma(difference, b.number(factor), b.number(offset)));
        });
    return {own, shrink};
  }
  Value factors = factorsOf(most), shifts = shiftsOf(most, factors);
  Value shrink = b.map(most.getType(), {shifts, shiftsOf(before, factors)},
                       [&](ValueRange x, Value, Value) {
                         return power(arith::SubFOp::create(b, x[0], x[1]));
                       });
  Value own = b.map(scores.getType(), {scores, factors, shifts},
                    [&](ValueRange x, Value, Value) {
                      return power(b.fma(x[0], x[1], x[2]));
                    });
  return {own, shrink};
}

Value OnlineSoftmax::finite(Value most) {
  if (!mayBeNone) {
    return most;
  }
  Value least = b.number(-INFINITY), zero = b.number(0);
  return b.map(most.getType(), most, [&](ValueRange x, Value, Value) {
    Value isNone =
        arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, x[0], least);
    return arith::SelectOp::create(b, isNone, zero, x[0]).getResult();
  });
}

Value OnlineSoftmax::evenly(Value weights, Value most, Value firstKey,
                            Value end) {
  Value least = b.number(-INFINITY), zero = b.number(0), one = b.number(1);
  return b.map(weights.getType(), {weights, most},
               [&](ValueRange x, Value, Value j) -> Value {
                 Value isNone = arith::CmpFOp::create(
                     b, arith::CmpFPredicate::OEQ, x[1], least);
                 Value even = one;
                 if (end) {
                   Value isKey = arith::CmpIOp::create(
                       b, arith::CmpIPredicate::ult, b.sum(firstKey, j), end);
                   even = arith::SelectOp::create(b, isKey, one, zero);
                 }
                 return arith::SelectOp::create(b, isNone, even, x[0]);
               });
}

} // namespace hova
