//===- LinearAttentionOps.h - Linear attention ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_DIALECT_LINEAR_ATTENTION_LINEARATTENTIONOPS_H
#define HOVA_DIALECT_LINEAR_ATTENTION_LINEARATTENTIONOPS_H

#include "dialect/HovaDialect.h"
#include <cmath>

namespace hova {

/// The maximum that a summary of no valid key has. It is finite so that the
/// difference of two such maxima is zero.
inline constexpr double kNoKeyMaximum = -1e30;

/// Rows that a summary has after those of the features: the sum of the values
/// and the maximum, of softmax features alone.
inline int64_t summaryExtraRows(FeatureMap map) {
  return map == FeatureMap::softmax ? 2 : 0;
}

/// The product of two features counts one over this. The features of the papers
/// have a factor of one over the root of their number, rectified ones none;
/// those that are plain exponentials have theirs in the exponent.
inline int64_t featureNormalizer(FeatureMap map, int64_t features) {
  return map == FeatureMap::softmax ? features : 1;
}

/// What the exponent of a feature, of base e, is lowered by: without a maximum
/// the sum of `features` products would leave f32 so many times too early.
inline double featureExponentShift(FeatureMap map, int64_t features) {
  return map == FeatureMap::exp ? std::log(static_cast<double>(features)) / 2
                                : 0;
}

} // namespace hova

#define GET_OP_CLASSES
#include "dialect/linear_attention/LinearAttentionOps.h.inc"

#endif // HOVA_DIALECT_LINEAR_ATTENTION_LINEARATTENTIONOPS_H
