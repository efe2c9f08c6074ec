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

/// Angles in float64.
float hova::sinusoidAt(const Sinusoid &table, int64_t position,
                       int64_t column) {
  auto [layout, width, base] = table;
  if (layout == SinusoidLayout::interleaved) {
    double rate = std::pow(base, -2.0 * static_cast<double>(column / 2) /
                                     static_cast<double>(width));
    double angle = static_cast<double>(position) * rate;
    return static_cast<float>(column % 2 == 0 ? std::sin(angle)
                                              : std::cos(angle));
  }
  int64_t half = width / 2;
  double rate = std::exp(-static_cast<double>(column % half) * std::log(base) /
                         static_cast<double>(half - 1));
  double angle = static_cast<double>(position) * rate;
  return static_cast<float>(column < half ? std::sin(angle) : std::cos(angle));
}

void SinusoidOp::tabulate(ArrayRef<HostTensor>,
                          SmallVectorImpl<HostTensor> &results) {
  ArrayRef<int64_t> shape = getResult().getType().getShape();
  Sinusoid table{getLayout(), shape[1], getBase().convertToDouble()};
  HostTensor result(Element::F32, shape);
  for (int64_t i = 0, e = result.size(); i < e; ++i) {
    result.mutableAs<float>()[i] =
        sinusoidAt(table, i / shape[1], i % shape[1]);
  }
  results.push_back(result);
}
