//===- Placement.cpp - Meaning of rearranged rows -------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialect/PlacementOps.h"
#include "dialect/evaluate/Evaluate.h"

using namespace mlir;
using namespace hova;

using Element = HostTensor::Element;

HostTensor hova::evaluatePlacement(PlacementAttrInterface placement,
                                   const HostTensor &x) {
  if (!placement) {
    return x;
  }
  HostTensor result(x.getElement(), *placement.getPlacedShape(x.getShape()));
  int64_t bytes =
      x.getShape().back() * HostTensor::elementBytes(x.getElement());
  auto *out = static_cast<char *>(result.mutableData());
  for (int64_t row : placement.getRows(x.getShape())) {
    out = std::copy_n(static_cast<const char *>(x.data()) + row * bytes, bytes,
                      out);
  }
  return result;
}

LogicalResult RearrangeOp::evaluate(ArrayRef<HostTensor> operands,
                                    SmallVectorImpl<HostTensor> &results) {
  results.push_back(evaluatePlacement(getPlacement(), operands.front()));
  return success();
}

LogicalResult RowTableOp::evaluate(ArrayRef<HostTensor>,
                                   SmallVectorImpl<HostTensor> &results) {
  SmallVector<int32_t> rows = getPlacement().getRows(getSource());
  HostTensor result(Element::I64, static_cast<int64_t>(rows.size()));
  std::copy(rows.begin(), rows.end(), result.mutableAs<int64_t>());
  results.push_back(result);
  return success();
}

LogicalResult WindowBiasOp::evaluate(ArrayRef<HostTensor> operands,
                                     SmallVectorImpl<HostTensor> &results) {
  const HostTensor *table = OperandValues(*this, operands).optional(getTable());
  WindowAttr window = getWindow();
  int64_t height = window.getHeight(), width = window.getWidth();
  int64_t tokens = height * width, heads = table ? table->getShape()[1] : 1;
  int64_t classes = window.countClasses();
  HostTensor result(table ? table->getElement() : Element::F32,
                    {classes, heads, tokens, tokens});
  double maskValue = getMaskValue().convertToDouble();
  withNumberType(result.getElement(), [&](auto zero) {
    using T = decltype(zero);
    T *out = result.mutableAs<T>();
    for (int64_t unit = 0; unit < classes * heads * tokens * tokens; ++unit) {
      int64_t j = unit % tokens, i = unit / tokens % tokens;
      int64_t head = unit / (tokens * tokens) % heads;
      int64_t windowClass = unit / (tokens * tokens * heads);
      int64_t down = i / width - j / width + height - 1;
      int64_t right = i % width - j % width + width - 1;
      int64_t row = down * (2 * width - 1) + right;
      bool differs =
          window.regionOf(windowClass, i) != window.regionOf(windowClass, j);
      out[unit] = (table ? table->as<T>()[row * heads + head] : T(0)) +
                  (differs ? static_cast<T>(maskValue) : T(0));
    }
  });
  results.push_back(result);
  return success();
}

LogicalResult WindowOffsetsOp::evaluate(ArrayRef<HostTensor>,
                                        SmallVectorImpl<HostTensor> &results) {
  WindowAttr window = getWindow();
  int64_t height = window.getHeight(), width = window.getWidth();
  int64_t columns = 2 * width - 1;
  auto scaled = [](int64_t distance, int64_t reference) {
    double c = 8.0 * distance / std::max<int64_t>(reference - 1, 1);
    return static_cast<float>(std::copysign(std::log2(1 + std::abs(c)) / 3, c));
  };
  HostTensor result(Element::F32, {(2 * height - 1) * columns, 2});
  float *out = result.mutableAs<float>();
  for (int64_t row = 0, e = result.getShape()[0]; row < e; ++row) {
    *out++ = scaled(row / columns - height + 1, getReference()[0]);
    *out++ = scaled(row % columns - width + 1, getReference()[1]);
  }
  results.push_back(result);
  return success();
}

LogicalResult WindowClassesOp::evaluate(ArrayRef<HostTensor>,
                                        SmallVectorImpl<HostTensor> &results) {
  HostTensor result(Element::I64, getWindow().countWindows());
  for (int64_t i = 0, e = result.size(); i < e; ++i) {
    result.mutableAs<int64_t>()[i] = getWindow().classOf(i);
  }
  results.push_back(result);
  return success();
}
