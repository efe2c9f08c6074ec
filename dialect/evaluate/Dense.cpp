//===- Dense.cpp - Meaning of dense and element-wise operations -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialect/dense/DenseOps.h"
#include "dialect/evaluate/Evaluate.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace hova;

//===----------------------------------------------------------------------===//
// Linear
//===----------------------------------------------------------------------===//

HostTensor hova::evaluateLinear(const HostTensor &x, const HostTensor &weight,
                                const HostTensor *bias, bool transposed,
                                HostTensor::Element element) {
  ArrayRef<int64_t> matrix = weight.getShape();
  int64_t depth = matrix[transposed ? 1 : 0];
  int64_t columns = matrix[transposed ? 0 : 1];
  SmallVector<int64_t> shape(x.getShape());
  shape.back() = columns;
  HostTensor result(element, shape);
  withNumberType(element, [&](auto zero) {
    using T = decltype(zero);
    Numbers<T> input(x), table(weight);
    std::optional<Numbers<T>> shift;
    if (bias) {
      shift.emplace(*bias);
    }
    MatrixView<T> view{table.data(), transposed ? 1 : columns,
                       transposed ? depth : 1};
    multiply(input.data(), view, shift ? shift->data() : nullptr,
             result.mutableAs<T>(), rowCount(shape), depth, columns,
             /*parallel=*/true);
  });
  return result;
}

LogicalResult LinearOp::evaluate(ArrayRef<HostTensor> operands,
                                 SmallVectorImpl<HostTensor> &results) {
  OperandValues value(*this, operands);
  results.push_back(evaluateLinear(value(getX()), value(getWeight()),
                                   value.optional(getBias()), getTransposed(),
                                   value.resultElement()));
  return success();
}

SmallVector<OpOperand *> LinearOp::getSummands() {
  return llvm::to_vector(llvm::make_pointer_range((*this)->getOpOperands()));
}

/// Of each part a product of its columns of x with its rows of the weight.
LogicalResult LinearPartsOp::evaluate(ArrayRef<HostTensor> operands,
                                      SmallVectorImpl<HostTensor> &results) {
  OperandValues value(*this, operands);
  const HostTensor &x = value(getX()), &weight = value(getWeight());
  ArrayRef<int64_t> shape = getResult().getType().getShape();
  int64_t depth = x.getShape().back(), size = depth / shape.front();
  int64_t columns = shape.back(), rows = rowCount(x.getShape());
  bool transposed = getTransposed();
  HostTensor result(value.resultElement(), SmallVector<int64_t>(shape));
  withNumberType(value.resultElement(), [&](auto zero) {
    using T = decltype(zero);
    Numbers<T> input(x), table(weight);
    int64_t rowStep = transposed ? 1 : columns;
    int64_t columnStep = transposed ? depth : 1;
    T *to = result.mutableAs<T>();
    for (int64_t part = 0; part < shape.front(); ++part) {
      for (int64_t row = 0; row < rows; ++row) {
        const T *part0 = input.data() + row * depth + part * size;
        for (int64_t column = 0; column < columns; ++column, ++to) {
          const T *w =
              table.data() + part * size * rowStep + column * columnStep;
          *to = 0;
          for (int64_t k = 0; k < size; ++k) {
            *to += part0[k] * w[k * rowStep];
          }
        }
      }
    }
  });
  results.push_back(std::move(result));
  return success();
}

SmallVector<OpOperand *> LinearPartsOp::getSummands() {
  return llvm::to_vector(llvm::make_pointer_range((*this)->getOpOperands()));
}

LogicalResult SumPartsOp::evaluate(ArrayRef<HostTensor> operands,
                                   SmallVectorImpl<HostTensor> &results) {
  OperandValues value(*this, operands);
  const HostTensor &x = value(getX());
  const HostTensor *bias = value.optional(getBias());
  ArrayRef<int64_t> shape = x.getShape().drop_front();
  int64_t parts = x.getShape().front();
  int64_t elements = rowCount(shape) * shape.back();
  HostTensor result(value.resultElement(), SmallVector<int64_t>(shape));
  withNumberType(value.resultElement(), [&](auto zero) {
    using T = decltype(zero);
    Numbers<T> sums(x);
    std::optional<Numbers<T>> shift;
    if (bias) {
      shift.emplace(*bias);
    }
    T *to = result.mutableAs<T>();
    for (int64_t i = 0; i < elements; ++i) {
      to[i] = 0;
      for (int64_t part = 0; part < parts; ++part) {
        to[i] += sums.data()[part * elements + i];
      }
      to[i] += shift ? shift->data()[i % shape.back()] : T(0);
    }
  });
  results.push_back(std::move(result));
  return success();
}

SmallVector<OpOperand *> SumPartsOp::getSummands() {
  return llvm::to_vector(llvm::make_pointer_range((*this)->getOpOperands()));
}

//===----------------------------------------------------------------------===//
// Layer norm
//===----------------------------------------------------------------------===//

/// What the columns of a head are divided by, after `mean` is subtracted.
template <typename T>
static T normDivisor(NormKind kind, const T *x, T mean, T eps, int64_t width) {
  T squares = 0;
  for (int64_t i = 0; i < width; ++i) {
    squares += (x[i] - mean) * (x[i] - mean);
  }
  return kind == NormKind::l2
             ? std::max(std::sqrt(squares), eps)
             : std::sqrt(squares / static_cast<T>(width) + eps);
}

template <typename T>
static T normMean(NormKind kind, const T *x, int64_t width) {
  T sum = 0;
  for (int64_t i = 0; kind == NormKind::standard && i < width; ++i) {
    sum += x[i];
  }
  return sum / static_cast<T>(width);
}

LogicalResult LayerNormOp::evaluate(ArrayRef<HostTensor> operands,
                                    SmallVectorImpl<HostTensor> &results) {
  OperandValues value(*this, operands);
  const HostTensor &x = value(getX());
  const HostTensor *gain = value.optional(getGain());
  const HostTensor *bias = value.optional(getBias());
  HostTensor result(value.resultElement(), x.getShape());
  withNumberType(result.getElement(), [&](auto zero) {
    using T = decltype(zero);
    Numbers<T> input(x);
    std::optional<Numbers<T>> scale, shift;
    if (gain) {
      scale.emplace(*gain);
    }
    if (bias) {
      shift.emplace(*bias);
    }
    int64_t width = x.getShape().back() / static_cast<int64_t>(getHeads());
    auto eps = static_cast<T>(getEps().convertToDouble());
    for (int64_t at = 0; at < x.size(); at += width) {
      const T *from = input.data() + at;
      T mean = normMean(getKind(), from, width);
      T divisor = normDivisor(getKind(), from, mean, eps, width);
      for (int64_t i = 0; i < width; ++i) {
        T normal = (from[i] - mean) / divisor;
        T scaled = scale ? (*scale)[i] * normal : normal;
        result.mutableAs<T>()[at + i] = shift ? scaled + (*shift)[i] : scaled;
      }
    }
  });
  results.push_back(std::move(result));
  return success();
}

LogicalResult SoftmaxOp::evaluate(ArrayRef<HostTensor> operands,
                                  SmallVectorImpl<HostTensor> &results) {
  OperandValues value(*this, operands);
  const HostTensor &x = value(getX());
  HostTensor result(value.resultElement(), x.getShape());
  int64_t width = x.getShape().back();
  withNumberType(result.getElement(), [&](auto zero) {
    using T = decltype(zero);
    Numbers<T> input(x);
    for (int64_t row = 0; row < rowCount(x.getShape()); ++row) {
      const T *from = input.data() + row * width;
      T *to = result.mutableAs<T>() + row * width;
      T peak = -std::numeric_limits<T>::infinity(), sum = 0;
      for (int64_t j = 0; j < width; ++j) {
        peak = std::max(peak, from[j]); // a NaN makes the sum NaN
      }
      for (int64_t j = 0; j < width; ++j) {
        sum += evaluateExponential(from[j] - peak);
      }
      for (int64_t j = 0; j < width; ++j) {
        to[j] = getLog() ? from[j] - peak - std::log(sum)
                         : evaluateExponential(from[j] - peak) / sum;
      }
    }
  });
  results.push_back(result);
  return success();
}

//===----------------------------------------------------------------------===//
// Element-wise
//===----------------------------------------------------------------------===//

/// Whether an activation is the argument times a share of it that falls to 0.
static bool isShareOfArgument(ActivationKind kind) {
  switch (kind) {
  case ActivationKind::gelu_erf:
  case ActivationKind::gelu_tanh:
  case ActivationKind::silu:
  case ActivationKind::quick_gelu:
  case ActivationKind::hard_swish:
    return true;
  default:
    return false;
  }
}

/// NaN propagates. The two GELUs are written so that their left tails do not
/// cancel: 1 + erf(z) is erfc(-z), and (1 + tanh(z)) / 2 is sigmoid(2 z). At
/// -infinity shares of the argument are their limit, 0, not the NaN of infinity
/// times zero.
template <typename T> static T activate(ActivationKind kind, T x) {
  if (isShareOfArgument(kind) && x == -std::numeric_limits<T>::infinity()) {
    return T(0);
  }
  switch (kind) {
  case ActivationKind::relu:
    return x < T(0) ? T(0) : x;
  case ActivationKind::gelu_erf:
    return T(0.5) * x * std::erfc(-x / std::sqrt(T(2)));
  case ActivationKind::gelu_tanh:
    return x * evaluateSigmoid(T(2) * static_cast<T>(std::sqrt(2 / M_PI)) *
                               (x + T(0.044715) * x * x * x));
  case ActivationKind::tanh:
    return std::tanh(x);
  case ActivationKind::sigmoid:
    return evaluateSigmoid(x);
  case ActivationKind::silu:
    return x * evaluateSigmoid(x);
  case ActivationKind::quick_gelu:
    return x * evaluateSigmoid(T(1.702) * x);
  case ActivationKind::softplus:
    // exp(-|x|) does not overflow, and log1p keeps its digits.
    return (x < T(0) ? T(0) : x) + std::log1p(std::exp(-std::abs(x)));
  case ActivationKind::relu2:
    return x < T(0) ? T(0) : x * x;
  case ActivationKind::hard_swish:
    return x < T(-3) ? T(0) : x > T(3) ? x : x * (x + T(3)) / T(6);
  }
  llvm_unreachable("unknown activation");
}

HostTensor hova::evaluateActivation(ActivationKind kind, const HostTensor &x,
                                    HostTensor::Element element) {
  return evaluateEach(x, element, [&](auto e) { return activate(kind, e); });
}

LogicalResult ActivationOp::evaluate(ArrayRef<HostTensor> operands,
                                     SmallVectorImpl<HostTensor> &results) {
  OperandValues value(*this, operands);
  results.push_back(
      evaluateActivation(getKind(), value(getX()), value.resultElement()));
  return success();
}

/// How far one step along each axis of `shape` leads in a value of the shape
/// `repeated`, whose axes are counted from the last: nowhere where it repeats.
static SmallVector<int64_t> repeatingSteps(ArrayRef<int64_t> repeated,
                                           ArrayRef<int64_t> shape) {
  SmallVector<int64_t> steps(shape.size(), 0);
  int64_t step = 1;
  for (size_t i = 1; i <= repeated.size(); ++i) {
    int64_t size = repeated[repeated.size() - i];
    steps[shape.size() - i] = size == 1 ? 0 : step;
    step *= size;
  }
  return steps;
}

/// Every element of lhs meets the one of rhs at its place.
template <typename Function>
static HostTensor evaluateBinary(const HostTensor &lhs, const HostTensor &rhs,
                                 HostTensor::Element element,
                                 Function function) {
  HostTensor result(element, lhs.getShape());
  withNumberType(element, [&](auto zero) {
    using T = decltype(zero);
    Numbers<T> x(lhs), y(rhs);
    ArrayRef<int64_t> shape = lhs.getShape();
    SmallVector<int64_t> steps = repeatingSteps(rhs.getShape(), shape);
    SmallVector<int64_t> place(shape.size(), 0);
    int64_t at = 0;
    for (int64_t i = 0, e = lhs.size(); i < e; ++i) {
      result.mutableAs<T>()[i] = function(x[i], y[at]);
      for (size_t axis = shape.size(); axis-- > 0;) {
        at += steps[axis];
        if (++place[axis] < shape[axis]) {
          break;
        }
        at -= steps[axis] * shape[axis];
        place[axis] = 0;
      }
    }
  });
  return result;
}

HostTensor hova::evaluateSum(const HostTensor &lhs, const HostTensor &rhs,
                             HostTensor::Element element) {
  return evaluateBinary(lhs, rhs, element,
                        [](auto x, auto y) { return x + y; });
}

LogicalResult AddOp::evaluate(ArrayRef<HostTensor> operands,
                              SmallVectorImpl<HostTensor> &results) {
  OperandValues value(*this, operands);
  results.push_back(
      evaluateSum(value(getLhs()), value(getRhs()), value.resultElement()));
  return success();
}

LogicalResult MultiplyOp::evaluate(ArrayRef<HostTensor> operands,
                                   SmallVectorImpl<HostTensor> &results) {
  OperandValues value(*this, operands);
  results.push_back(evaluateBinary(value(getLhs()), value(getRhs()),
                                   value.resultElement(),
                                   [](auto x, auto y) { return x * y; }));
  return success();
}

/// With operands that may have changed places.
template <typename OpT, typename Function>
static HostTensor evaluateOrdered(OpT op, OperandValues &value,
                                  Function function) {
  bool swapped = op.getSwapped();
  return evaluateBinary(value(op.getLhs()), value(op.getRhs()),
                        value.resultElement(), [&](auto x, auto y) {
                          return swapped ? function(y, x) : function(x, y);
                        });
}

LogicalResult SubtractOp::evaluate(ArrayRef<HostTensor> operands,
                                   SmallVectorImpl<HostTensor> &results) {
  OperandValues value(*this, operands);
  results.push_back(
      evaluateOrdered(*this, value, [](auto x, auto y) { return x - y; }));
  return success();
}

LogicalResult DivideOp::evaluate(ArrayRef<HostTensor> operands,
                                 SmallVectorImpl<HostTensor> &results) {
  OperandValues value(*this, operands);
  results.push_back(
      evaluateOrdered(*this, value, [](auto x, auto y) { return x / y; }));
  return success();
}

LogicalResult ExpOp::evaluate(ArrayRef<HostTensor> operands,
                              SmallVectorImpl<HostTensor> &results) {
  OperandValues value(*this, operands);
  results.push_back(evaluateEach(value(getX()), value.resultElement(),
                                 [](auto x) { return std::exp(x); }));
  return success();
}

/// The evaluator rounds what has a type of 16 bits (Evaluator.h).
LogicalResult ConvertOp::evaluate(ArrayRef<HostTensor> operands,
                                  SmallVectorImpl<HostTensor> &results) {
  results.push_back(operands.front());
  return success();
}

LogicalResult ScaleOp::evaluate(ArrayRef<HostTensor> operands,
                                SmallVectorImpl<HostTensor> &results) {
  OperandValues value(*this, operands);
  double factor = getFactor().convertToDouble();
  results.push_back(
      evaluateEach(value(getX()), value.resultElement(), [&](auto x) {
        return static_cast<decltype(x)>(factor) * x;
      }));
  return success();
}
