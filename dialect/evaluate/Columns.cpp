//===- Columns.cpp - Meaning of operations on columns beside each other ---===//
// SPDX-License-Identifier: Apache-2.0

#include "dialect/columns/ColumnOps.h"
#include "dialect/evaluate/Evaluate.h"

using namespace mlir;
using namespace hova;

LogicalResult RotaryOp::evaluate(ArrayRef<HostTensor> operands,
                                 SmallVectorImpl<HostTensor> &results) {
  OperandValues value(*this, operands);
  const HostTensor &x = value(getX());
  ArrayRef<int64_t> shape = x.getShape();
  int64_t tokens = shape[shape.size() - 2], width = shape.back();
  int64_t pairs = value(getCosines()).getShape()[1];
  int64_t heads = static_cast<int64_t>(getHeads());
  bool inHalves = getPairs() == RotaryPairs::halves;
  HostTensor result(value.resultElement(), shape);
  withNumberType(result.getElement(), [&](auto zero) {
    using T = decltype(zero);
    Numbers<T> input(x), cosine(value(getCosines())), sine(value(getSines()));
    T *to = result.mutableAs<T>();
    std::copy_n(input.data(), x.size(), to);
    for (int64_t head = 0; head < rowCount(shape) * heads; ++head) {
      int64_t begin = head * (width / heads), token = head / heads % tokens;
      for (int64_t pair = 0; pair < pairs; ++pair) {
        int64_t j = begin + (inHalves ? pair : 2 * pair);
        int64_t k = inHalves ? j + pairs : j + 1;
        T c = cosine[token * pairs + pair], s = sine[token * pairs + pair];
        to[j] = input[j] * c - input[k] * s;
        to[k] = input[k] * c + input[j] * s;
      }
    }
  });
  results.push_back(result);
  return success();
}

/// Of every `period` columns, those that are no whole pair are their own.
static int64_t partnerOf(int64_t column, int64_t period, int64_t distance) {
  int64_t within = column % period, place = within % (2 * distance);
  bool isWhole = within - place + 2 * distance <= period;
  int64_t step = place < distance ? distance : -distance;
  return isWhole ? column + step : column;
}

LogicalResult RotateOp::evaluate(ArrayRef<HostTensor> operands,
                                 SmallVectorImpl<HostTensor> &results) {
  OperandValues value(*this, operands);
  const HostTensor &x = value(getX());
  ArrayRef<int64_t> shape = x.getShape();
  int64_t tokens = shape[shape.size() - 2], width = shape.back();
  int64_t period = value(getCosines()).getShape()[1];
  SmallVector<int64_t> partners =
      llvm::map_to_vector(llvm::seq<int64_t>(0, width), [&](int64_t c) {
        return partnerOf(c, period, getDistance());
      });
  HostTensor result(value.resultElement(), shape);
  withNumberType(result.getElement(), [&](auto zero) {
    using T = decltype(zero);
    Numbers<T> input(x), cosine(value(getCosines())), sine(value(getSines()));
    T *to = result.mutableAs<T>();
    for (int64_t row = 0; row < rowCount(shape); ++row) {
      const T *from = input.data() + row * width;
      for (int64_t column = 0; column < width; ++column) {
        int64_t entry = row % tokens * period + column % period;
        *to++ =
            from[column] * cosine[entry] + from[partners[column]] * sine[entry];
      }
    }
  });
  results.push_back(result);
  return success();
}
