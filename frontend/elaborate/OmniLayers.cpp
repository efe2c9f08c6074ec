//===- OmniLayers.cpp - Attention over the states of several layers -------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
//
// Tay et al., OmniNet: a Transformer block on the tokens of several states
// together, and the maximum over the states of each token. The attention inside
// may be of any kind.

#include "frontend/elaborate/LayerContext.h"

#include <cmath>

namespace hova::frontend {

/// The states as they are read, all of one shape; empty after a mistake.
std::vector<ValueRef> LayerContext::readStates() {
  std::vector<ValueRef> states = readList("inputs");
  for (ValueRef state : states) {
    if (failed || !expectFloats("inputs", state, "[batch, N, D]") ||
        !expectRank("inputs", state, 3, "[batch, N, D]")) {
      return {};
    }
    if (shape(state) != shape(states[0])) {
      shapeError("inputs", states[0],
                 "needs states of one shape, got " + str(shape(states[0])) +
                     " and " + str(shape(state)),
                 {state});
      return {};
    }
  }
  return failed ? std::vector<ValueRef>() : states;
}

/// Row i * K + l is row i of state l.
ValueRef LayerContext::sortStates(const std::vector<ValueRef> &states) {
  Shape sorted = shape(states[0]);
  sorted[1] = product(static_cast<int64_t>(states.size()), sorted[1]);
  Operands operands;
  for (ValueRef state : states) {
    operands.push_back({"states", state});
  }
  return failed ? poison
                : emit("index_sort", "states", std::move(operands), {},
                       {DType::F32, std::move(sorted)});
}

ValueRef LayerContext::buildOmniAttention() {
  std::vector<ValueRef> states = readStates();
  Heads split = readHeads();
  split.featureEps = "feature_eps";
  split.hasFeedForward = true;
  int64_t hidden = integer("hidden", 1);
  std::string active = word("activation", "relu");
  bool normsFirst = word("norm", "pre_ln") == "pre_ln";
  bool poolsLast = word("pool", "after_block") == "after_block";
  std::string causal = word("causal", "none");
  double eps = number("eps", 1e-6);
  bool bias = boolean("bias", true);
  if (failed || states.empty()) {
    return poison;
  }
  auto layers = static_cast<int64_t>(states.size());
  if (causal != "none") {
    split.causal = causal == "block" ? layers : 1;
  }
  int64_t d = width(states[0]);
  if (!given("head_width") && !splitsEvenly("inputs", states[0], split.count)) {
    return poison;
  }
  int64_t headWidth = integer("head_width", d / split.count);
  int64_t inner = product(split.count, headWidth);
  int64_t shared = product(split.keyCount, headWidth);
  ValueRef z = sortStates(states);
  auto pool = [&](ValueRef x) {
    return failed ? poison
                  : emit("layer_pool", "pool", {{"x", x}},
                         {{"layers", Scalar::ofInteger(layers)}},
                         ValueType(type(states[0])));
  };
  ValueRef in = normsFirst ? norm(z, "norm1", eps) : z;
  split.query = linear(in, "query", inner, bias);
  split.key = linear(in, "key", shared, bias);
  split.value = linear(in, "value", shared, bias);
  if (failed) {
    return poison;
  }
  ValueRef heads = attend(split, 1 / std::sqrt(static_cast<double>(headWidth)));
  ValueRef attended = linear(heads, "output", d, bias);
  ValueRef a =
      sum(normsFirst ? attended : norm(attended, "norm1", eps), z, "mid");
  if (!poolsLast) {
    a = pool(a);
  }
  ValueRef normed = normsFirst ? norm(a, "norm2", eps) : a;
  ValueRef inside = linear(normed, "feed_forward.hidden", hidden, true);
  ValueRef result =
      linear(activation(inside, "feed_forward.activation", active),
             "feed_forward.output", d, true);
  result = sum(normsFirst ? result : norm(result, "norm2", eps), a, "out");
  return poolsLast ? pool(result) : result;
}

} // namespace hova::frontend
