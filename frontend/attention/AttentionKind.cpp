//===- AttentionKind.cpp - A kind of attention ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "frontend/attention/AttentionKind.h"
#include "frontend/attention/Kinds.h"

#include <algorithm>

namespace hova::frontend {

using reader::inQuotes;

/// All kinds, while plugins may still add some.
static std::deque<AttentionKind> &growingKinds() {
  static std::deque<AttentionKind> kinds = {softmaxKind(),   cosineKind(),
                                            additiveKind(),  performerKind(),
                                            linformerKind(), bigbirdKind()};
  return kinds;
}

const std::deque<AttentionKind> &attentionKinds() { return growingKinds(); }

static const AttentionKind *findKind(std::string_view name) {
  for (const AttentionKind &kind : attentionKinds()) {
    if (kind.name == name) {
      return &kind;
    }
  }
  return nullptr;
}

bool AttentionKind::refuses(std::string_view name) const {
  return std::any_of(
      refusals.begin(), refusals.end(), [&](const AttentionRefusal &refusal) {
        return std::find(refusal.names.begin(), refusal.names.end(), name) !=
               refusal.names.end();
      });
}

static const AttributeInfo *findAttribute(const AttentionKind &kind,
                                          std::string_view name) {
  for (const AttributeInfo &info : kind.attributes) {
    if (info.name == name) {
      return &info;
    }
  }
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Operators that offer all kinds
//===----------------------------------------------------------------------===//

/// What an operator calls an attribute of a kind.
static const char *nameIn(const OperatorInfo &op, const char *name) {
  auto renamed = op.kindNames->find(name);
  return renamed == op.kindNames->end() ? name : renamed->second.c_str();
}

const char *attributeOfKind(const LayerContext &layer, const char *name) {
  return nameIn(layer.op(), name);
}

static bool offers(const OperatorInfo &op, const std::string &kind) {
  const std::vector<std::string> &words = op.attribute("kind")->words;
  return std::find(words.begin(), words.end(), kind) != words.end();
}

/// The attribute of a kind that has another meaning in an operator, or none.
/// Kinds may share an attribute.
static std::optional<std::string> findCollision(const OperatorInfo &op,
                                                const AttentionKind &kind) {
  for (const AttributeInfo &info : kind.attributes) {
    std::string name = nameIn(op, info.name.c_str());
    const AttributeInfo *other = op.attribute(name);
    bool isShared =
        other && std::any_of(attentionKinds().begin(), attentionKinds().end(),
                             [&](const AttentionKind &known) {
                               const AttributeInfo *same =
                                   findAttribute(known, info.name);
                               return same && same->kind == info.kind &&
                                      offers(op, known.name);
                             });
    if (op.role(name) || (other && !isShared)) {
      return name;
    }
  }
  return std::nullopt;
}

bool offerKind(OperatorInfo &op, const AttentionKind &kind) {
  if (!op.kindNames || findCollision(op, kind)) {
    return false;
  }
  for (AttributeInfo &info : op.attributes) {
    if (info.name == "kind") {
      info.summary += (info.words.empty() ? "" : ", ") + kind.summary;
      info.words.push_back(kind.name);
    }
  }
  for (AttributeInfo info : kind.attributes) {
    info.name = nameIn(op, info.name.c_str());
    if (!op.attribute(info.name)) {
      op.attributes.push_back(std::move(info));
    }
  }
  for (const std::string &weight : kind.weights) {
    if (std::find(op.weights.begin(), op.weights.end(), weight) ==
        op.weights.end()) {
      op.weights.push_back(weight);
    }
  }
  return true;
}

std::string addAttentionKind(AttentionKind kind) {
  if (!isOperatorName(kind.name)) {
    return "a kind of attention is named by a letter, then letters, digits and "
           "underscores, got '" +
           kind.name + "'";
  }
  if (findKind(kind.name)) {
    return "there is a kind of attention '" + kind.name + "' already";
  }
  if (!kind.build) {
    return "the kind of attention '" + kind.name + "' has no builder";
  }
  auto problem = [&](const std::string &key) {
    return "the kind of attention '" + kind.name + "' gives the key '" + key +
           "' a second meaning";
  };
  for (const AttributeInfo &info : kind.attributes) {
    if (isCommonLayerKey(info.name)) {
      return problem(info.name);
    }
  }
  // What all operators with an attention have, this one has.
  if (auto taken = findCollision(*findOperator("attention"), kind)) {
    return problem(*taken);
  }
  for (OperatorInfo &op : growingVocabulary()) {
    offerKind(op, kind);
  }
  growingKinds().push_back(std::move(kind));
  return "";
}

//===----------------------------------------------------------------------===//
// What a layer says
//===----------------------------------------------------------------------===//

/// The kinds that have an attribute, as a list.
static std::string ownersOf(const std::string &attribute) {
  std::string owners;
  for (const AttentionKind &kind : attentionKinds()) {
    if (findAttribute(kind, attribute)) {
      owners += (owners.empty() ? "" : ", ") + kind.name;
    }
  }
  return owners;
}

/// Reports attributes that only other kinds have.
static void rejectForeign(LayerContext &layer, const AttentionKind &kind) {
  for (const AttentionKind &other : attentionKinds()) {
    for (const AttributeInfo &info : other.attributes) {
      if (findAttribute(kind, info.name) || !offers(layer.op(), other.name)) {
        continue;
      }
      const char *name = attributeOfKind(layer, info.name.c_str());
      if (layer.says(name)) {
        layer.attributeError(name, inQuotes(name) +
                                       " has no meaning for kind " + kind.name +
                                       ", only for " + ownersOf(info.name));
      }
    }
  }
}

bool checkRefusals(LayerContext &layer, const AttentionKind &kind) {
  rejectForeign(layer, kind);
  for (const AttentionRefusal &refusal : kind.refusals) {
    for (const std::string &name : refusal.names) {
      if (!layer.says(name.c_str())) {
        continue;
      }
      std::string why = refusal.why;
      for (size_t at = 0; (at = why.find('%', at)) != std::string::npos;
           at += name.size()) {
        why.replace(at, 1, name);
      }
      layer.attributeError(name.c_str(), why);
    }
  }
  return !layer.hasFailed();
}

const AttentionKind *readKind(LayerContext &layer) {
  std::string name = layer.word("kind", "softmax");
  const AttentionKind *kind = layer.hasFailed() ? nullptr : findKind(name);
  return kind && checkRefusals(layer, *kind) ? kind : nullptr;
}

//===----------------------------------------------------------------------===//
// What builders have in common
//===----------------------------------------------------------------------===//

ValueRef readKeyValid(LayerContext &layer, const AttentionInputs &inputs) {
  ValueRef valid = layer.readOptional("key_valid");
  if (layer.hasFailed() ||
      (valid && !layer.expectValid("key_valid", valid, inputs.key))) {
    return poison;
  }
  return valid;
}

bool addKeyValid(LayerContext &layer, const AttentionInputs &inputs,
                 LayerContext::Operands &operands) {
  ValueRef valid = readKeyValid(layer, inputs);
  if (valid) {
    operands.push_back({"key_valid", valid});
  }
  return !layer.hasFailed();
}

/// Names of the kinds whose queries and keys may have two widths.
static std::string kindsOfTwoWidths() {
  std::string names;
  for (const AttentionKind &kind : attentionKinds()) {
    if (kind.hasTwoWidths) {
      names += (names.empty() ? "" : ", ") + kind.name;
    }
  }
  return names;
}

bool expectEqualHeads(LayerContext &layer, const AttentionInputs &inputs) {
  int64_t queryWidth = layer.width(inputs.query) / inputs.heads;
  int64_t keyWidth = layer.width(inputs.key) / inputs.keyHeads;
  if (queryWidth == keyWidth) {
    return true;
  }
  layer.shapeError(layer.reads("key") ? "key" : "query", inputs.key,
                   "needs heads of one width for queries and keys, got " +
                       std::to_string(queryWidth) + " and " +
                       std::to_string(keyWidth) +
                       " (two are allowed for kind " + kindsOfTwoWidths() + ")",
                   {inputs.query});
  return false;
}

int64_t resultWidth(LayerContext &layer, const AttentionInputs &inputs) {
  return layer.product(layer.width(inputs.value) / inputs.keyHeads,
                       inputs.heads);
}

void addKeyHeads(const AttentionInputs &inputs,
                 LayerContext::Attributes &attributes) {
  if (inputs.keyHeads != inputs.heads) {
    attributes["key_value_heads"] = Scalar::ofInteger(inputs.keyHeads);
  }
}

} // namespace hova::frontend
