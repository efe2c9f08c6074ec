//===- DenseAttention.h - What becomes `hova.attention` -------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// What kinds share whose scores are of a query and a key: masks, biases, scores
// of the description, the sources of keys, and what is read as NAME.scores.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_FRONTEND_ATTENTION_DENSEATTENTION_H
#define HOVA_FRONTEND_ATTENTION_DENSEATTENTION_H

#include "frontend/attention/AttentionKind.h"

namespace hova::frontend {

/// Blocks of keys, of which a query sees a few.
struct KeyBlocks {
  int64_t size = 0;   ///< tokens of each but the last
  int64_t count = 0;  ///< of all tokens
  int64_t random = 0; ///< that a query sees besides those in fixed places
};

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

  /// A mask and a score of the kind itself, which those of the description come
  /// after.
  KindScores scores = {};

  /// Learned rows after those of key and value, which `attendDensely` makes;
  /// absent without.
  ValueRef memoryKey = absent, memoryValue = absent;
  LayerContext::Operands operands = {};
  /// Absent: queries see all keys.
  std::optional<KeyBlocks> blocks = {};
};

/// The heads [batch, Nq, heads*value_width], or poison.
ValueRef attendDensely(LayerContext &layer, DenseAttention attention);

} // namespace hova::frontend

#endif // HOVA_FRONTEND_ATTENTION_DENSEATTENTION_H
