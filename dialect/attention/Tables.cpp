//===- Tables.cpp - Tables of heads and of blocks -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What stands in the packed weights or among the tables of the program for
// operations whose numbers follow from their attributes. `dialect/evaluate`
// says what it should be, and shares no code with this.

#include "dialect/attention/AttentionOps.h"
#include <cmath>

using namespace mlir;
using namespace hova;

using Element = HostTensor::Element;

void IndexTableOp::tabulate(ArrayRef<HostTensor> operands,
                            SmallVectorImpl<HostTensor> &results) {
  const HostTensor &x = operands.front();
  HostTensor result(Element::I64, x.getShape());
  for (int64_t i = 0, e = x.size(); i < e; ++i) {
    double below = std::floor(x.at(i)), rest = x.at(i) - below;
    bool isUp = rest > 0.5 || (rest == 0.5 && std::fmod(below, 2) != 0);
    double index = isUp ? below + 1 : below;
    bool isOne = index >= 0 && index < 0x1p31;
    result.mutableAs<int64_t>()[i] = isOne ? static_cast<int64_t>(index) : -1;
  }
  results.push_back(result);
}

void HeadFactorsOp::tabulate(ArrayRef<HostTensor> operands,
                             SmallVectorImpl<HostTensor> &results) {
  const HostTensor &logarithms = operands.front();
  double most = getMost().convertToDouble();
  HostTensor result(Element::F64, logarithms.getShape());
  for (int64_t i = 0, e = result.size(); i < e; ++i) {
    double factor = std::exp(logarithms.at(i));
    result.mutableAs<double>()[i] = factor > most ? most : factor;
  }
  results.push_back(result);
}
