//===- DenseAttention.cpp - What becomes `hova.attention` -----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "frontend/attention/DenseAttention.h"

#include <cmath>

namespace hova::frontend {

using reader::inQuotes;
using Kind = Initializer::Kind;

/// A mask or bias broadcasts to [batch, heads, Nq, Nk]; its last axis is whole.
/// Absent where the layer reads none, poison after a mistake.
static ValueRef readMask(LayerContext &layer, const char *role,
                         const AttentionInputs &inputs) {
  ValueRef mask = layer.readOptional(role);
  if (layer.hasFailed() || !mask) {
    return layer.hasFailed() ? poison : mask;
  }
  const Shape &query = layer.shape(inputs.query);
  const Shape full = {query[0], inputs.heads, query[1],
                      layer.shape(inputs.key)[1]};
  const Shape &given = layer.shape(mask);
  bool isMask = std::string_view(role) == "mask";
  bool fits = layer.type(mask).dtype == (isMask ? DType::Bool : DType::F32) &&
              given.size() == full.size() && given.back() == full.back();
  for (size_t i = 0; fits && i + 1 < full.size(); ++i) {
    fits = given[i] == full[i] || given[i] == 1;
  }
  if (!fits) {
    layer.shapeError(role, mask,
                     std::string("expects ") + role + " of " +
                         (isMask ? "booleans " : "numbers ") + str(full) +
                         " (all axes but the last may be 1), got " +
                         layer.type(mask).str(),
                     {inputs.query, inputs.key});
    return poison;
  }
  return mask;
}

/// What the layer says of its scores without an expression. The operators with
/// windows take no bias beside that of windows.
static BuiltInScores readBuiltIn(LayerContext &layer,
                                 const DenseAttention &attention) {
  const AttentionInputs &inputs = attention.inputs;
  BuiltInScores scores;
  scores.scale = attention.scale;
  scores.temperature = layer.number("temperature", 1);
  scores.causal = inputs.causal;
  scores.bias = inputs.windowBias ? inputs.windowBias
                                  : readMask(layer, "score_bias", inputs);
  scores.biasEntries = inputs.windowClasses;
  scores.mask = readMask(layer, "mask", inputs);
  scores.valid = readKeyValid(layer, inputs);
  return scores;
}

/// Cornia et al., Meshed-Memory Transformer, section 3.1: sqrt(dk) M_k and
/// sqrt(m) M_v after the keys and values.
static bool addMemory(LayerContext &layer, DenseAttention &attention,
                      int64_t slots) {
  const AttentionInputs &inputs = attention.inputs;
  if (!attention.scores.isEmpty()) {
    layer.attributeError("memory",
                         "the slots of a memory are keys without an index, and "
                         "kind " +
                             inQuotes(layer.word("kind", "softmax")) +
                             " asks for indices");
    return false;
  }
  for (const char *name : {"score", "keep"}) {
    if (layer.given(name)) {
      layer.attributeError("memory",
                           "the slots of a memory are keys without an index, "
                           "so " +
                               inQuotes(name) +
                               " cannot be about them: an attention has "
                               "either");
      return false;
    }
  }
  auto add = [&](const std::string &name, ValueRef rows, double spread,
                 double factor) {
    Shape table = {slots, layer.width(rows)};
    ValueRef memory = layer.weight(name, table, {Kind::Normal, spread});
    if (factor == 1) {
      return memory;
    }
    return layer.emit("scale", name + "_scaled", {{"x", memory}},
                      {{"factor", Scalar::ofReal(factor)}},
                      {DType::F32, table});
  };
  double keyWidth =
      static_cast<double>(layer.width(inputs.key) / inputs.keyHeads);
  double count = static_cast<double>(slots);
  attention.memoryKey =
      add("memory.key", inputs.key, 1 / keyWidth, std::sqrt(keyWidth));
  attention.memoryValue =
      add("memory.value", inputs.value, 1 / count, std::sqrt(count));
  return !layer.hasFailed();
}

/// The operands of the operation in the order of their kinds; nothing after a
/// mistake.
static std::optional<LayerContext::Operands>
operandsOf(LayerContext &layer, DenseAttention &attention, int64_t slots,
           const LayerScores &scores) {
  AttentionInputs &inputs = attention.inputs;
  if ((slots > 0 && !addMemory(layer, attention, slots)) ||
      (attention.prepare && !attention.prepare(layer, attention))) {
    return std::nullopt;
  }
  LayerContext::Operands operands = {
      {"query", inputs.query}, {"key", inputs.key}, {"value", inputs.value}};
  auto append = [&](const LayerContext::Operands &more) {
    operands.insert(operands.end(), more.begin(), more.end());
  };
  append(attention.operands);
  if (slots > 0) {
    append({{"memory_key", attention.memoryKey},
            {"memory_value", attention.memoryValue}});
  }
  for (ValueRef value : scores.captured) {
    operands.push_back({"captured", value});
  }
  return operands;
}

/// Without a softmax scores are weights, and what only a softmax gives a
/// meaning to is a mistake.
static bool checkNormalize(LayerContext &layer, const AttentionInputs &inputs,
                           const std::string &normalize) {
  if (normalize == "softmax") {
    return true;
  }
  std::string without = "\"normalize\": " + inQuotes(normalize) + " ";
  if (layer.word("empty_row", "zero") != "zero") {
    layer.attributeError("empty_row", "a row without keys is zero with " +
                                          without + "as all its weights are");
  }
  if (layer.number("temperature", 1) != 1) {
    layer.attributeError("temperature", "\"temperature\" has no meaning with " +
                                            without + "which has no softmax");
  }
  if (inputs.windowClasses && !layer.isWord("mask_value", "-inf")) {
    layer.attributeError("shift",
                         "the mask of a shift is a number that is added to "
                         "scores, which hides a key in front of a softmax "
                         "alone: " +
                             without + "needs \"mask_value\": \"-inf\"");
  }
  return !layer.hasFailed();
}

ValueRef attendDensely(LayerContext &layer, DenseAttention attention) {
  AttentionInputs &inputs = attention.inputs;
  std::string emptyRow = layer.word("empty_row", "zero");
  std::string normalize = layer.word("normalize", "softmax");
  int64_t slots = layer.integer("memory", 0);
  bool givesScores = layer.boolean("scores", false);
  if (layer.hasFailed() || !checkNormalize(layer, inputs, normalize)) {
    return poison;
  }
  Shape query = layer.shape(inputs.query);
  int64_t keys = layer.shape(inputs.key)[1];
  BuiltInScores builtIn = readBuiltIn(layer, attention);
  std::optional<LayerScores> scores;
  if (!layer.hasFailed()) {
    scores = layer.readScores(
        {query[0], inputs.windows, inputs.heads, query[1], keys},
        attention.scores, builtIn);
  }
  auto operands = scores ? operandsOf(layer, attention, slots, *scores)
                         : std::optional<LayerContext::Operands>();
  if (!operands) {
    return poison;
  }
  int64_t width = layer.width(inputs.query) + layer.width(inputs.value);
  if (const auto &blocks = attention.blocks) {
    // Two blocks see all, and the others 5 besides those that are drawn: fewer
    // than 7 on average.
    layer.checkWork({query[0], blocks->count, 7 + blocks->random, blocks->size,
                     blocks->size, width});
  } else {
    layer.checkWork({query[0], query[1], keys + slots, width});
  }
  LayerContext::Attributes attributes = {
      {"similarity", Scalar::ofText(attention.similarity)},
      {"heads", Scalar::ofInteger(inputs.heads)},
      {"normalization", Scalar::ofText(normalize)},
      {"empty_row", Scalar::ofText(emptyRow)}};
  if (attention.blocks) {
    attributes["block"] = Scalar::ofInteger(attention.blocks->size);
  }
  addKeyHeads(inputs, attributes);
  ValueRef pooled = layer.emit(
      "attention", "", std::move(*operands), std::move(attributes),
      {DType::F32, {query[0], query[1], resultWidth(layer, inputs)}});
  layer.attachScores(*scores);
  if (givesScores) {
    // In front of masks and softmax, and of the keys of tokens alone.
    std::vector<ValueRef> read = scores->ofScores;
    read.insert(read.end(), {inputs.query, inputs.key});
    for (const auto &[role, value] : attention.operands) {
      if (role == "score_vector") {
        read.push_back(value);
      }
    }
    layer.addResult(
        "scores", {DType::F32, {query[0], inputs.heads, query[1], keys}}, read);
  }
  return layer.hasFailed() ? poison : pooled;
}

} // namespace hova::frontend
