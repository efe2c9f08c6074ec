//===- Tables.cpp - Tables of rows and windows ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What stands in the packed weights or among the tables of the program for
// operations whose numbers follow from their attributes. `dialect/evaluate`
// says what it should be, and shares no code with this.

#include "dialect/placement/PlacementOps.h"
#include <cmath>

using namespace mlir;
using namespace hova;

using Element = HostTensor::Element;

void RowTableOp::tabulate(ArrayRef<HostTensor>,
                          SmallVectorImpl<HostTensor> &results) {
  SmallVector<int32_t> rows = getPlacement().getRows(getSource());
  HostTensor result(Element::I64, static_cast<int64_t>(rows.size()));
  std::copy(rows.begin(), rows.end(), result.mutableAs<int64_t>());
  results.push_back(result);
}

void WindowBiasOp::tabulate(ArrayRef<HostTensor> operands,
                            SmallVectorImpl<HostTensor> &results) {
  const HostTensor *table = getTable() ? &operands.front() : nullptr;
  WindowAttr window = getWindow();
  int64_t height = window.getHeight(), width = window.getWidth();
  int64_t tokens = height * width, heads = table ? table->getShape()[1] : 1;
  int64_t classes = window.countClasses();
  double maskValue = getMaskValue().convertToDouble();
  // What is folded of it rounds once, at its end.
  HostTensor result(Element::F64, {classes, heads, tokens, tokens});
  double *out = result.mutableAs<double>();
  for (int64_t unit = 0; unit < classes * heads * tokens * tokens; ++unit) {
    int64_t j = unit % tokens, i = unit / tokens % tokens;
    int64_t head = unit / (tokens * tokens) % heads;
    int64_t windowClass = unit / (tokens * tokens * heads);
    int64_t down = i / width - j / width + height - 1;
    int64_t right = i % width - j % width + width - 1;
    int64_t row = down * (2 * width - 1) + right;
    bool differs =
        window.regionOf(windowClass, i) != window.regionOf(windowClass, j);
    double bias = table ? table->at(row * heads + head) : 0;
    out[unit] = bias + (differs ? maskValue : 0);
  }
  results.push_back(result);
}

void WindowOffsetsOp::tabulate(ArrayRef<HostTensor>,
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
}

void WindowClassesOp::tabulate(ArrayRef<HostTensor>,
                               SmallVectorImpl<HostTensor> &results) {
  HostTensor result(Element::I64, getWindow().countWindows());
  for (int64_t i = 0, e = result.size(); i < e; ++i) {
    result.mutableAs<int64_t>()[i] = getWindow().classOf(i);
  }
  results.push_back(result);
}
