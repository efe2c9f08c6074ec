//===- DenseAttention.h - All keys for all queries ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// What the kinds share that become `hova.attention`: masks, biases, scores of
// the description, the slots of a memory, and what is read as NAME.scores.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_FRONTEND_ATTENTION_DENSEATTENTION_H
#define HOVA_FRONTEND_ATTENTION_DENSEATTENTION_H

#include "frontend/attention/AttentionKind.h"

namespace hova::frontend {

struct DenseAttention {
  AttentionInputs inputs;
  /// What makes a raw score of a query and a key: an attribute of a dialect
  /// that is a similarity (dialect/Similarity.td), without its `#`.
  const char *similarity = "hova.dot";
  /// A factor on raw scores.
  double scale = 1;
  /// Maps queries and keys, and adds the similarity's operands; null where it
  /// has none. Returns false after a mistake.
  bool (*prepare)(LayerContext &layer, DenseAttention &attention) = nullptr;

  /// Learned rows after those of key and value, which `attendDensely` makes;
  /// absent without.
  ValueRef memoryKey = absent, memoryValue = absent;
  LayerContext::Operands operands = {};
};

/// The heads [batch, Nq, heads*value_width], or poison.
ValueRef attendDensely(LayerContext &layer, DenseAttention attention);

} // namespace hova::frontend

#endif // HOVA_FRONTEND_ATTENTION_DENSEATTENTION_H
