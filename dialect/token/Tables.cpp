//===- Tables.cpp - Tables of positions -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What stands in the packed weights or among the tables of the program for
// operations whose numbers follow from their attributes. `dialect/evaluate`
// says what it should be, and shares no code with this.

#include "dialect/token/TokenOps.h"
#include <cmath>

using namespace mlir;
using namespace hova;

using Element = HostTensor::Element;

float hova::sinusoidAt(SinusoidLayout layout, int64_t position, int64_t column,
                       int64_t width) {
  if (layout == SinusoidLayout::interleaved) {
    double rate = std::pow(10000.0, -2.0 * static_cast<double>(column / 2) /
                                        static_cast<double>(width));
    double angle = static_cast<double>(position) * rate;
    return static_cast<float>(column % 2 == 0 ? std::sin(angle)
                                              : std::cos(angle));
  }
  int64_t half = width / 2;
  double rate = std::exp(-static_cast<double>(column % half) *
                         std::log(10000.0) / static_cast<double>(half - 1));
  double angle = static_cast<double>(position) * rate;
  return static_cast<float>(column < half ? std::sin(angle) : std::cos(angle));
}

void SinusoidOp::tabulate(ArrayRef<HostTensor>,
                          SmallVectorImpl<HostTensor> &results) {
  ArrayRef<int64_t> shape = getResult().getType().getShape();
  HostTensor result(Element::F32, shape);
  for (int64_t i = 0, e = result.size(); i < e; ++i) {
    result.mutableAs<float>()[i] =
        sinusoidAt(getLayout(), i / shape[1], i % shape[1], shape[1]);
  }
  results.push_back(result);
}
