//===- Evaluate.h - Plain computations shared by reference evaluations ----===//
// SPDX-License-Identifier: Apache-2.0
//
// What the `evaluate` methods of the operations have in common. They are
// templates over the number type, so that one body gives the float64 semantics
// and, on float32 operands, the rounding of a plain unfused float32 run:
//
// - a result has the widest element type among the floating-point operands;
// - in float32 every sum runs in float32, in the order of its index.
//
// The matrix product alone is blocked, because a Vision Transformer has 17
// billion multiply-accumulates; its sums still run in the order of the index.

#ifndef HOVA_DIALECT_EVALUATE_EVALUATE_H
#define HOVA_DIALECT_EVALUATE_EVALUATE_H

#include "dialect/HovaDialect.h"
#include "dialect/Storage.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <cmath>
#include <limits>
#include <optional>

namespace hova {

/// Operands by name: `operands(op.getBias())` is the value of the bias.
class OperandValues {
public:
  OperandValues(mlir::Operation *op, llvm::ArrayRef<HostTensor> values)
      : op(op), values(values) {}

  const HostTensor &operator()(mlir::Value operand) const;
  /// Null where the optional operand is absent.
  const HostTensor *optional(mlir::Value operand) const;
  /// F64 if any floating-point operand is, else F32.
  HostTensor::Element resultElement() const;

private:
  mlir::Operation *op;
  llvm::ArrayRef<HostTensor> values;
};

/// `tensor` with floating-point element type `element`, itself if it has it.
HostTensor castTo(const HostTensor &tensor, HostTensor::Element element);

/// The elements of a tensor as numbers of type T, converted where needed.
template <typename T> class Numbers {
public:
  explicit Numbers(const HostTensor &tensor)
      : tensor(castTo(tensor, sizeof(T) == 8 ? HostTensor::Element::F64
                                             : HostTensor::Element::F32)) {}
  const T *data() const { return tensor.as<T>(); }
  T operator[](int64_t index) const { return data()[index]; }

private:
  HostTensor tensor;
};

/// Calls `body(T())` with T the number type of `element` (F64 or F32).
template <typename Body>
void withNumberType(HostTensor::Element element, Body body) {
  if (element == HostTensor::Element::F32) {
    body(float());
  } else {
    body(double());
  }
}

/// The matrix operand of a product: element (k, j) is at
/// `data[k * rowStride + j * columnStride]`.
template <typename T> struct MatrixView {
  const T *data;
  int64_t rowStride;
  int64_t columnStride;
};

/// `y[i, j] = sum_k x[i, k] w[k, j] + bias[j]`, x and y dense; bias may be
/// null. `parallel` spreads a large product over all threads.
void multiply(const double *x, MatrixView<double> w, const double *bias,
              double *y, int64_t rows, int64_t depth, int64_t columns,
              bool parallel);
void multiply(const float *x, MatrixView<float> w, const float *bias, float *y,
              int64_t rows, int64_t depth, int64_t columns, bool parallel);

/// Threads that evaluation may use.
int64_t evaluationThreads();

/// Calls `body(i)` for every i in `[0, count)`, spread over all threads.
void forEachInParallel(int64_t count, llvm::function_ref<void(int64_t)> body);

/// Product of all dimensions but the last.
int64_t rowCount(llvm::ArrayRef<int64_t> shape);

//===----------------------------------------------------------------------===//
// Operations that compound operations are made of
//===----------------------------------------------------------------------===//

/// `x w + bias`, w `[in, out]`, or `[out, in]` if transposed; bias may be null.
HostTensor evaluateLinear(const HostTensor &x, const HostTensor &weight,
                          const HostTensor *bias, bool transposed,
                          HostTensor::Element element);
HostTensor evaluateActivation(ActivationKind kind, const HostTensor &x,
                              HostTensor::Element element);
/// `lhs + rhs`, where rhs repeats along axes that it has not or in which it has
/// one element.
HostTensor evaluateSum(const HostTensor &lhs, const HostTensor &rhs,
                       HostTensor::Element element);
/// `function(e)` of every element e of the floating-point tensor x; the
/// function returns a number of the type that it is called with.
template <typename Function>
HostTensor evaluateEach(const HostTensor &x, HostTensor::Element element,
                        Function function) {
  HostTensor result(element, x.getShape());
  withNumberType(element, [&](auto zero) {
    using T = decltype(zero);
    Numbers<T> input(x);
    T *output = result.mutableAs<T>();
    for (int64_t i = 0, e = x.size(); i < e; ++i) {
      output[i] = function(input[i]);
    }
  });
  return result;
}
/// exp(x) of scores and features. In float32 what would be a denormal number is
/// 0, as it is in every compiled program: the plain run, which tells what f32
/// makes of the formulas, has to lose the same keys.
template <typename T> T evaluateExponential(T x) {
  T power = std::exp(x);
  bool isDenormal = power < std::numeric_limits<T>::min();
  return sizeof(T) == sizeof(float) && isDenormal ? T(0) : power;
}
/// 1 / (1 + exp(-x)) by the branch that cannot overflow.
template <typename T> T evaluateSigmoid(T x) {
  T small = std::exp(-std::abs(x));
  return (x < T(0) ? small : T(1)) / (T(1) + small);
}

} // namespace hova

#endif // HOVA_DIALECT_EVALUATE_EVALUATE_H
