//===- Cosine.cpp - The softmax of cosines --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Cosine scores are products of queries and keys of length one. What each head
// multiplies them with is learned as a logarithm (Swin Transformer V2, Eq. 2:
// its temperature is at least 0.01), and queries take it on.
//
//===----------------------------------------------------------------------===//

#include "frontend/attention/DenseAttention.h"
#include "frontend/attention/Kinds.h"

#include <cmath>

namespace hova::frontend {

static bool normalizeHeads(LayerContext &layer, DenseAttention &attention) {
  constexpr double initial = 10, most = 100, shortest = 1e-12;
  AttentionInputs &inputs = attention.inputs;
  ValueRef logarithms =
      layer.weight("logit_scale", {inputs.heads},
                   {Initializer::Kind::Constant, std::log(initial)});
  ValueRef factors = layer.emit(
      "head_factors", "logit_factors", {{"x", logarithms}},
      {{"most", Scalar::ofReal(most)}}, {DType::F32, {inputs.heads}});
  auto normalize = [&](ValueRef &side, const char *below, int64_t count,
                       ValueRef gain) {
    if (layer.hasFailed()) {
      return;
    }
    LayerContext::Operands operands = {{"x", side}};
    if (gain) {
      operands.push_back({"gain", gain});
    }
    side = layer.emit("normalize_heads", below, std::move(operands),
                      {{"heads", Scalar::ofInteger(count)},
                       {"eps", Scalar::ofReal(shortest)}},
                      ValueType(layer.type(side)));
  };
  normalize(inputs.query, "query_norm", inputs.heads, factors);
  normalize(inputs.key, "key_norm", inputs.keyHeads, absent);
  return !layer.hasFailed();
}

static ValueRef build(LayerContext &layer, const AttentionInputs &inputs) {
  if (!expectEqualHeads(layer, inputs)) {
    return poison;
  }
  return attendDensely(layer, {inputs, "hova.dot", 1, normalizeHeads});
}

AttentionKind cosineKind() {
  return {"cosine",
          "cosine with a learned factor for each head",
          {},
          {"logit_scale"},
          {{{"scale"},
            "\"scale\" has no meaning for kind cosine, whose heads learn one"},
           {{"memory"},
            "the slots of a memory have lengths of their own, which kind "
            "cosine does not see"},
           {{"query_norm", "key_norm"},
            "kind cosine has queries and keys of length one"}},
          build};
}

} // namespace hova::frontend
