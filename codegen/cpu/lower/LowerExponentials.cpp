//===- LowerExponentials.cpp - Exponentials by reduction and scaling ------===//
// SPDX-License-Identifier: Apache-2.0
//
// `vreduceps` subtracts the nearest integer, n = x - r is exact, and
// `vscalefps` multiplies by 2^n: no clamp, no shift, and infinities and NaN
// come out right. What would be a denormal number is 0, under the instruction's
// mask: a multiply-add that meets one takes some 150 cycles, and an attention
// with finite masks of -100 took a hundred times as long. 9 instructions for 16
// lanes where vectors alone take 11.
// Where an exponential is as exact as bf16, 5: `vreduceps` subtracts
// the integer below, so that `vscalefps`, which takes the integer below as
// well, is given x itself, and the polynomial is as exact as bf16 needs.
// AVX-512 alone has both.

#include "codegen/cpu/ActivationTables.h"
#include "codegen/cpu/CpuFacts.h"
#include "codegen/cpu/Passes.h"
#include "codegen/cpu/TileOps.h"
#include "dialect/dense/DenseOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include <cmath>

using namespace mlir;

namespace hova {
#define GEN_PASS_DEF_LOWEREXPONENTIALSPASS
#include "codegen/cpu/Passes.h.inc"

/// Lanes of a register.
static constexpr int64_t kRegister = CpuFacts::registerLanes;
/// The least exponent whose exponential is a normal number.
static constexpr double kLeastNormal = -126;

/// 2^(x + offset) of one register: 2^(r + offset) by a polynomial, times
/// 2^(x - r).
static Value exponentialOfRegister(ImplicitLocOpBuilder &b, Value x,
                                   int64_t offset, bool isCoarse) {
  auto type = cast<VectorType>(x.getType());
  auto constant = [&](double value) -> Value {
    return arith::ConstantOp::create(
        b, DenseElementsAttr::get(type, b.getF32FloatAttr(value)));
  };
  auto call = [&](StringRef name, ValueRange operands) {
    return LLVM::CallIntrinsicOp::create(b, type, b.getStringAttr(name),
                                         operands)
        .getResult(0);
  };
  Value all = arith::ConstantOp::create(b, b.getI16IntegerAttr(-1));
  // Rounding as MXCSR says. No binary places: 0 is to nearest even, 1 down.
  Value current = arith::ConstantOp::create(b, b.getI32IntegerAttr(4));
  Value direction =
      arith::ConstantOp::create(b, b.getI32IntegerAttr(isCoarse ? 1 : 0));
  Value rest = call("llvm.x86.avx512.mask.reduce.ps.512",
                    {x, direction, x, all, current});
  // A power of two in all coefficients changes no digit.
  double factor = std::ldexp(1.0, static_cast<int>(offset));
  auto polynomial = [&](ArrayRef<double> fallingPowers) {
    Value sum = constant(fallingPowers.front() * factor);
    for (double coefficient : fallingPowers.drop_front()) {
      sum = vector::FMAOp::create(b, sum, rest, constant(coefficient * factor));
    }
    return sum;
  };
  if (isCoarse) {
    // Rounding to bf16 makes denormal numbers zero.
    Value exponential = polynomial(kCoarseExp2);
    return call("llvm.x86.avx512.mask.scalef.ps.512",
                {exponential, x, exponential, all, current});
  }
  Value exponential =
      vector::FMAOp::create(b, polynomial(kExp2), rest, constant(factor));
  // NaN is kept.
  Value isNormal = arith::CmpFOp::create(b, arith::CmpFPredicate::UGE, x,
                                         constant(kLeastNormal - offset));
  Value mask = vector::ExtractOp::create(
      b,
      vector::BitCastOp::create(b, VectorType::get({1}, b.getI16Type()),
                                isNormal),
      0);
  return call("llvm.x86.avx512.mask.scalef.ps.512",
              {exponential, arith::SubFOp::create(b, x, rest), constant(0),
               mask, current});
}

/// exp2 -> reduce, polynomial, scalef for each 16 lanes; of fewer lanes, for
/// them and zeros after.
static Value lowerExponential(Exp2Op op) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  auto type = cast<VectorType>(op.getX().getType());
  int64_t lanes = type.getNumElements();
  auto ofRegister = [&](Value x) {
    return exponentialOfRegister(b, x, op.getExponentOffset(),
                                 op.getAccuracy() == Accuracy::bf16);
  };
  auto whole = VectorType::get({kRegister}, type.getElementType());
  if (lanes == kRegister) {
    return ofRegister(op.getX());
  }
  if (lanes < kRegister) {
    Value zero = arith::ConstantOp::create(b, b.getZeroAttr(whole));
    Value wide = vector::InsertStridedSliceOp::create(
        b, op.getX(), zero, ArrayRef<int64_t>{0}, ArrayRef<int64_t>{1});
    return vector::ExtractStridedSliceOp::create(
        b, ofRegister(wide), ArrayRef<int64_t>{0}, ArrayRef<int64_t>{lanes},
        ArrayRef<int64_t>{1});
  }
  Value result = arith::ConstantOp::create(b, b.getZeroAttr(type));
  for (int64_t from = 0; from < lanes; from += kRegister) {
    Value part = vector::ExtractStridedSliceOp::create(
        b, op.getX(), ArrayRef<int64_t>{from}, ArrayRef<int64_t>{kRegister},
        ArrayRef<int64_t>{1});
    result = vector::InsertStridedSliceOp::create(b, ofRegister(part), result,
                                                  ArrayRef<int64_t>{from},
                                                  ArrayRef<int64_t>{1});
  }
  return result;
}

namespace {
struct LowerExponentialsPass final
    : impl::LowerExponentialsPassBase<LowerExponentialsPass> {
  using Base::Base;
  void runOnOperation() override {
    getOperation().walk([](Exp2Op op) {
      op.getResult().replaceAllUsesWith(lowerExponential(op));
      op->erase();
    });
  }
};
} // namespace
} // namespace hova
