//===- ScalarFunctions.h - Functions of one f32 of a thread -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_CUDA_LOWER_SCALARFUNCTIONS_H
#define HOVA_CODEGEN_CUDA_LOWER_SCALARFUNCTIONS_H

#include "dialect/dense/DenseOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace hova {

/// Builds functions of f32 from what the hardware approximates. docs/gpu.md
/// lists their errors. NaN propagates, and subnormal numbers may count as 0.
class ScalarFunctions {
public:
  explicit ScalarFunctions(mlir::ImplicitLocOpBuilder &builder) : b(builder) {}

  /// What stands for an operation, given its operands as scalars; null: it is
  /// no such function, and an operation of the same name serves.
  mlir::Value emit(mlir::Operation &op, mlir::ValueRange operands);

private:
  using Value = mlir::Value;

  Value activation(ActivationKind kind, Value x);
  Value geluErf(Value x);
  Value geluTanh(Value x);
  /// x sigmoid(slope x).
  Value swish(Value x, double slope);
  Value softplus(Value x);
  Value hardSwish(Value x);
  Value tanh(Value x);
  Value sigmoid(Value x);
  Value exp(Value x);
  Value log(Value x);
  Value erf(Value x);
  /// 2^(factor x), whose low digits a product in f32 would lose: where it is
  /// 100, half a unit in the last place is 4e-6, also of the power. Neither x
  /// nor the product may be infinite.
  Value powerOfProduct(Value x, double factor);

  /// 1 / x, also where one of them is no normal number.
  Value reciprocalOfAny(Value x);

  Value exp2(Value x);
  /// 1 / x, or 0 where x is beyond 2^126 and infinite where it is below 2^-126.
  Value reciprocal(Value x);
  Value intrinsic(llvm::StringRef name, Value x);
  Value constant(double value);
  Value add(Value x, Value y);
  Value sub(Value x, Value y);
  Value mul(Value x, Value y);
  Value fma(Value x, Value y, Value z);
  Value magnitude(Value x);
  Value atMost(double bound, Value x);
  Value atLeast(double bound, Value x);
  Value polynomial(Value x, llvm::ArrayRef<double> fallingPowers);

  mlir::ImplicitLocOpBuilder &b;
};

} // namespace hova

#endif // HOVA_CODEGEN_CUDA_LOWER_SCALARFUNCTIONS_H
