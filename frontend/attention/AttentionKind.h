//===- AttentionKind.h - A kind of attention ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// What a word of the attribute "kind" stands for. Every operator with an
// attention inside (multi_head_attention, attention, omni_attention) offers
// every kind, with its projections, windows, masks, horizontal and vertical
// attention around it. A kind is one file that has
//
// 1. its attributes and weights, which those operators take then;
// 2. what it refuses of the attributes and values that all attentions have, and
//    why;
// 3. a builder, from queries, keys and values to the result of the heads.
//
// hova's kinds are in this folder; a plugin adds its own (frontend/Operator.h).
// No other file names one.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_FRONTEND_ATTENTION_ATTENTIONKIND_H
#define HOVA_FRONTEND_ATTENTION_ATTENTIONKIND_H

#include "frontend/elaborate/LayerContext.h"

#include <deque>

namespace hova::frontend {

/// What an attention of any kind works on.
struct AttentionInputs {
  /// Heads of queries, and those of keys and values, which divide them:
  /// consecutive heads of queries share one of keys.
  int64_t heads = 0;
  int64_t keyHeads = 0;
  /// [batch, Nq, heads*query_width], [batch, Nk, keyHeads*key_width] and
  /// [batch, Nk, keyHeads*value_width].
  ValueRef query, key, value;
  /// One over the root of a head's width.
  double scale = 1;
  /// Rows that see each other in a causal attention, 1 unless they are the
  /// states of a token; 0: not causal.
  int64_t causal = 0;
  /// Of windows: how many each image has, numbers that are added to scores
  /// [classes, heads or 1, Nq, Nk], and which class each window is of; absent
  /// without. A kind that refuses "score_bias" is given none.
  int64_t windows = 1;
  ValueRef windowBias, windowClasses;
};

/// Attributes and values that a kind has no use for.
struct AttentionRefusal {
  std::vector<std::string> names;
  /// A sentence, where % stands for the name in quotes.
  std::string why;
};

struct AttentionKind {
  /// The word, and what the documentation says of it.
  std::string name;
  std::string summary;
  std::vector<AttributeInfo> attributes;
  /// Names below the layer's path.
  std::vector<std::string> weights;
  std::vector<AttentionRefusal> refusals;
  /// The heads [batch, Nq, heads*value_width], or poison.
  ValueRef (*build)(LayerContext &layer,
                    const AttentionInputs &inputs) = nullptr;
  /// Whether heads of keys may have another width than those of queries.
  bool hasTwoWidths = false;

  bool refuses(std::string_view name) const;
};

/// hova's kinds, then those of plugins. Their addresses stay.
const std::deque<AttentionKind> &attentionKinds();

/// Adds a kind, before any description is read, and its attributes and weights
/// to the operators that offer all kinds. Returns what is wrong with it: a name
/// that another kind has, or an attribute that has a meaning already. Empty: it
/// was added.
std::string addAttentionKind(AttentionKind kind);

/// What a layer calls the attribute `name` of a kind: an operator may have
/// another one of that name.
const char *attributeOfKind(const LayerContext &layer, const char *name);

/// The kind that a layer asks for, and takes what the layer says; null after a
/// mistake.
const AttentionKind *readKind(LayerContext &layer);

/// Reports what the kind refuses, and attributes that other kinds alone have;
/// whether there was nothing.
bool checkRefusals(LayerContext &layer, const AttentionKind &kind);

// What builders of kinds have in common.

/// Which keys there are, absent where the layer does not say it, or poison.
ValueRef readKeyValid(LayerContext &layer, const AttentionInputs &inputs);

/// The same as the operand "key_valid" of an operation that has no scores;
/// false after a mistake.
bool addKeyValid(LayerContext &layer, const AttentionInputs &inputs,
                 LayerContext::Operands &operands);

/// Whether queries and keys have heads of one width; reports if not.
bool expectEqualHeads(LayerContext &layer, const AttentionInputs &inputs);

/// Columns of the result: heads * value_width.
int64_t resultWidth(LayerContext &layer, const AttentionInputs &inputs);

/// The attribute "key_value_heads", where heads of queries share one of keys.
void addKeyHeads(const AttentionInputs &inputs,
                 LayerContext::Attributes &attributes);

} // namespace hova::frontend

#endif // HOVA_FRONTEND_ATTENTION_ATTENTIONKIND_H
