//===- ActivationExpression.h - Activations as arithmetic -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_CPU_LOWER_ACTIVATIONEXPRESSION_H
#define HOVA_CODEGEN_CPU_LOWER_ACTIVATIONEXPRESSION_H

#include "codegen/cpu/ActivationTables.h"
#include "dialect/dense/DenseOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/ArrayRef.h"

namespace hova {

/// Builds f32 arithmetic on values of one vector type.
class ActivationExpression {
public:
  ActivationExpression(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Type type, bool lookups, bool exponentials)
      : b(loc, builder), type(mlir::cast<mlir::VectorType>(type)),
        lookups(lookups), exponentials(exponentials) {}

  /// `isRounded`: all that becomes of the result is bf16.
  mlir::Value activation(ActivationKind kind, mlir::Value x, bool isRounded);
  /// 2^(x + offset); see `hova.exp2`.
  mlir::Value exp2(mlir::Value x, int64_t offset = 0);
  mlir::Value exp(mlir::Value x);
  /// `isRounded`: what becomes of the result is rounded to bf16.
  mlir::Value tanh(mlir::Value x, bool isRounded);

private:
  /// `y = n + r`; `rounded` holds n + 127 in its low bits.
  struct Split {
    mlir::Value rounded, rest;
  };
  /// Splits `x * factor`, whose low digits a product in f32 would lose: where
  /// it is 100, half a unit in the last place is 4e-6, also of 2^y.
  Split splitProduct(mlir::Value x, double factor);
  /// 2^n of a split.
  mlir::Value scaleOf(const Split &split);
  /// 2^(n + r) of a split.
  mlir::Value exp2Of(const Split &split);

  mlir::Value relu(mlir::Value x);
  /// max(x, 0) - u q(u), u = |x|, q in pieces.
  using Pieces = llvm::ArrayRef<float[kLookupEntries]>;
  mlir::Value geluByPieces(mlir::Value x, Pieces pieces);
  /// The same for results that are rounded to bf16.
  mlir::Value geluByCoarsePieces(mlir::Value x, Pieces pieces);
  /// What both come to: `rounded` holds the piece in its low bits, whose
  /// polynomial is of `argument`.
  mlir::Value geluByPiece(mlir::Value x, mlir::Value u, mlir::Value rounded,
                          mlir::Value argument, Pieces pieces);
  mlir::Value tanhByCoarsePieces(mlir::Value x);
  /// Splits u = k / 2 + r; `rounded` holds k in its low bits.
  Split splitHalves(mlir::Value u);
  /// The polynomial of `argument` in the piece in the low bits of `rounded`.
  mlir::Value polynomialOfPiece(mlir::Value rounded, mlir::Value argument,
                                Pieces pieces);
  mlir::Value geluErf(mlir::Value x);
  mlir::Value geluTanh(mlir::Value x);
  /// x sigmoid(slope x).
  mlir::Value swish(mlir::Value x, double slope);
  mlir::Value softplus(mlir::Value x);
  mlir::Value hardSwish(mlir::Value x);
  mlir::Value sigmoid(mlir::Value x);

  mlir::Value constant(double value) {
    return mlir::arith::ConstantOp::create(
        b, mlir::DenseElementsAttr::get(type, b.getF32FloatAttr(value)));
  }
  mlir::Value add(mlir::Value x, mlir::Value y) {
    return mlir::arith::AddFOp::create(b, x, y);
  }
  mlir::Value sub(mlir::Value x, mlir::Value y) {
    return mlir::arith::SubFOp::create(b, x, y);
  }
  mlir::Value mul(mlir::Value x, mlir::Value y) {
    return mlir::arith::MulFOp::create(b, x, y);
  }
  mlir::Value div(mlir::Value x, mlir::Value y) {
    return mlir::arith::DivFOp::create(b, x, y);
  }
  mlir::Value abs(mlir::Value x) { return mlir::math::AbsFOp::create(b, x); }
  mlir::Value fma(mlir::Value x, mlir::Value y, mlir::Value z) {
    return mlir::math::FmaOp::create(b, x, y, z);
  }
  mlir::Value polynomial(mlir::Value x, llvm::ArrayRef<double> fallingPowers);
  /// One instruction on x86, and NaN stays: comparisons with it are false.
  mlir::Value clamp(mlir::arith::CmpFPredicate keepsBound, double bound,
                    mlir::Value x) {
    mlir::Value limit = constant(bound);
    return mlir::arith::SelectOp::create(
        b, mlir::arith::CmpFOp::create(b, keepsBound, limit, x), limit, x);
  }
  mlir::Value atLeast(double bound, mlir::Value x) {
    return clamp(mlir::arith::CmpFPredicate::OGT, bound, x);
  }
  mlir::Value atMost(double bound, mlir::Value x) {
    return clamp(mlir::arith::CmpFPredicate::OLT, bound, x);
  }

  mlir::ImplicitLocOpBuilder b;
  mlir::VectorType type;
  bool lookups, exponentials; ///< of the target
};

} // namespace hova

#endif // HOVA_CODEGEN_CPU_LOWER_ACTIVATIONEXPRESSION_H
