//===- OmniLayers.cpp - Attention over the states of several layers -------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
//
// Tay et al., OmniNet: a Transformer block on the tokens of several states
// together, and the maximum over the states of each token. The attention inside
// may be of any kind.

#include "frontend/attention/AttentionLayers.h"
#include "frontend/layers/Parts.h"

#include <cmath>

namespace hova::frontend {

/// The states as they are read, all of one shape; empty after a mistake.
static std::vector<ValueRef> readStates(LayerContext &layer) {
  std::vector<ValueRef> states = layer.readList("inputs");
  for (ValueRef state : states) {
    if (layer.hasFailed() ||
        !layer.expectFloats("inputs", state, "[batch, N, D]") ||
        !layer.expectRank("inputs", state, 3, "[batch, N, D]")) {
      return {};
    }
    if (layer.shape(state) != layer.shape(states[0])) {
      layer.shapeError("inputs", states[0],
                       "needs states of one shape, got " +
                           str(layer.shape(states[0])) + " and " +
                           str(layer.shape(state)),
                       {state});
      return {};
    }
  }
  return layer.hasFailed() ? std::vector<ValueRef>() : states;
}

/// Row i * K + l is row i of state l.
static ValueRef sortStates(LayerContext &layer,
                           const std::vector<ValueRef> &states) {
  Shape sorted = layer.shape(states[0]);
  sorted[1] = layer.product(static_cast<int64_t>(states.size()), sorted[1]);
  LayerContext::Operands operands;
  for (ValueRef state : states) {
    operands.push_back({"states", state});
  }
  return layer.hasFailed()
             ? poison
             : layer.emit("index_sort", "states", std::move(operands), {},
                          {DType::F32, std::move(sorted)});
}

ValueRef buildOmniAttention(LayerContext &layer) {
  std::vector<ValueRef> states = readStates(layer);
  AttentionInputs inputs;
  readHeads(layer, inputs);
  int64_t hidden = layer.integer("hidden", 1);
  std::string active = layer.word("activation", "relu");
  bool normsFirst = layer.word("norm", "pre_ln") == "pre_ln";
  bool poolsLast = layer.word("pool", "after_block") == "after_block";
  std::string causal = layer.word("causal", "none");
  double eps = layer.number("eps", 1e-6);
  bool bias = layer.boolean("bias", true);
  if (layer.hasFailed() || states.empty()) {
    return poison;
  }
  auto layers = static_cast<int64_t>(states.size());
  if (causal != "none") {
    inputs.causal = causal == "block" ? layers : 1;
  }
  int64_t d = layer.width(states[0]);
  if (!layer.given("head_width") &&
      !layer.splitsEvenly("inputs", states[0], inputs.heads)) {
    return poison;
  }
  int64_t headWidth = layer.integer("head_width", d / inputs.heads);
  int64_t inner = layer.product(inputs.heads, headWidth);
  int64_t shared = layer.product(inputs.keyHeads, headWidth);
  ValueRef z = sortStates(layer, states);
  auto pool = [&](ValueRef x) {
    return layer.hasFailed()
               ? poison
               : layer.emit("layer_pool", "pool", {{"x", x}},
                            {{"layers", Scalar::ofInteger(layers)}},
                            ValueType(layer.type(states[0])));
  };
  ValueRef in = normsFirst ? norm(layer, z, "norm1", {eps}) : z;
  inputs.query = linear(layer, in, "query", inner, bias);
  inputs.key = linear(layer, in, "key", shared, bias);
  inputs.value = linear(layer, in, "value", shared, bias);
  inputs.scale = 1 / std::sqrt(static_cast<double>(headWidth));
  const AttentionKind *kind = layer.hasFailed() ? nullptr : readKind(layer);
  if (!kind) {
    return poison;
  }
  ValueRef heads = kind->build(layer, inputs);
  ValueRef attended = linear(layer, heads, "output", d, bias);
  ValueRef a =
      sum(layer, normsFirst ? attended : norm(layer, attended, "norm1", {eps}),
          z, "mid");
  if (!poolsLast) {
    a = pool(a);
  }
  ValueRef normed = normsFirst ? norm(layer, a, "norm2", {eps}) : a;
  ValueRef inside = linear(layer, normed, "feed_forward.hidden", hidden, true);
  ValueRef result = linear(
      layer, activation(layer, inside, "feed_forward.activation", active),
      "feed_forward.output", d, true);
  result = sum(layer, normsFirst ? result : norm(layer, result, "norm2", {eps}),
               a, "out");
  return poolsLast ? pool(result) : result;
}

} // namespace hova::frontend
