//===- Norm.cpp - Meaning of norms behind products ------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialect/dense/NormOps.h"
#include "dialect/evaluate/Evaluate.h"
#include <cmath>

using namespace mlir;
using namespace hova;

LogicalResult CenterOp::evaluate(ArrayRef<HostTensor> operands,
                                 SmallVectorImpl<HostTensor> &results) {
  OperandValues value(*this, operands);
  const HostTensor &x = value(getX());
  HostTensor result(value.resultElement(), x.getShape());
  int64_t width = x.getShape().back();
  withNumberType(result.getElement(), [&](auto zero) {
    using T = decltype(zero);
    Numbers<T> input(x);
    for (int64_t at = 0; at < x.size(); at += width) {
      T sum = 0;
      for (int64_t i = 0; i < width; ++i) {
        sum += input[at + i];
      }
      T mean = sum / static_cast<T>(width);
      for (int64_t i = 0; i < width; ++i) {
        result.mutableAs<T>()[at + i] = input[at + i] - mean;
      }
    }
  });
  results.push_back(std::move(result));
  return success();
}

LogicalResult RowSquaresOp::evaluate(ArrayRef<HostTensor> operands,
                                     SmallVectorImpl<HostTensor> &results) {
  OperandValues value(*this, operands);
  const HostTensor &x = value(getX());
  int64_t width = x.getShape().back(), rows = x.size() / width;
  auto columns = static_cast<int64_t>(getColumns());
  SmallVector<int64_t> shape(x.getShape());
  shape.back() = getResult().getType().getShape().back();
  HostTensor result(value.resultElement(), shape);
  withNumberType(result.getElement(), [&](auto zero) {
    using T = decltype(zero);
    Numbers<T> input(x);
    for (int64_t row = 0; row < rows; ++row) {
      T *to = result.mutableAs<T>() + row * shape.back();
      std::fill_n(to, shape.back(), T(0));
      for (int64_t j = 0; j < width; ++j) {
        T number = input[row * width + j];
        to[j / columns] += number * number;
      }
    }
  });
  results.push_back(std::move(result));
  return success();
}

LogicalResult DivideByRmsOp::evaluate(ArrayRef<HostTensor> operands,
                                      SmallVectorImpl<HostTensor> &results) {
  OperandValues value(*this, operands);
  const HostTensor &x = value(getX()), &squares = value(getSquares());
  const HostTensor *bias = value.optional(getBias());
  HostTensor result(value.resultElement(), x.getShape());
  int64_t width = x.getShape().back(), parts = squares.getShape().back();
  withNumberType(result.getElement(), [&](auto zero) {
    using T = decltype(zero);
    Numbers<T> input(x), sums(squares);
    std::optional<Numbers<T>> shift;
    if (bias) {
      shift.emplace(*bias);
    }
    auto eps = static_cast<T>(getEps().convertToDouble());
    for (int64_t row = 0; row < x.size() / width; ++row) {
      T sum = 0;
      for (int64_t p = 0; p < parts; ++p) {
        sum += sums[row * parts + p];
      }
      T divisor = std::sqrt(
          sum / static_cast<T>(static_cast<int64_t>(getWidth())) + eps);
      for (int64_t j = 0; j < width; ++j) {
        T normal = input[row * width + j] / divisor;
        result.mutableAs<T>()[row * width + j] =
            shift ? normal + (*shift)[j] : normal;
      }
    }
  });
  results.push_back(std::move(result));
  return success();
}
