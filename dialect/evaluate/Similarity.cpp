//===- Similarity.cpp - Meaning of similarities ---------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialect/HovaDialect.h"
#include <cmath>

using namespace hova;

double DotAttr::evaluateTerm(double query, double key, double) const {
  return query * key;
}

double AdditiveAttr::evaluateTerm(double query, double key,
                                  double weight) const {
  return weight * std::tanh(query + key);
}
