//===- LinearAttentionOps.h - Linear attention ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_DIALECT_LINEARATTENTIONOPS_H
#define HOVA_DIALECT_LINEARATTENTIONOPS_H

#include "dialect/HovaDialect.h"

namespace hova {

/// The maximum that a summary of no valid key has. It is finite so that the
/// difference of two such maxima is zero.
inline constexpr double kNoKeyMaximum = -1e30;

/// Rows that a summary has behind those of the features: the sum of the values
/// and the maximum, of softmax features alone.
inline int64_t summaryExtraRows(FeatureMap map) {
  return map == FeatureMap::softmax ? 2 : 0;
}

/// The product of two features counts one over this: the features of the papers
/// have a factor of one over the root of their number, rectified ones none.
inline int64_t featureNormalizer(FeatureMap map, int64_t features) {
  return map == FeatureMap::relu ? 1 : features;
}

} // namespace hova

#define GET_OP_CLASSES
#include "dialect/LinearAttentionOps.h.inc"

#endif // HOVA_DIALECT_LINEARATTENTIONOPS_H
