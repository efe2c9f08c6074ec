//===- Linformer.cpp - Few projected keys ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Wang et al., Linformer, Eq. 7: keys and values become sums of all tokens, the
// same ones in all heads, which a softmax attends to.
//
//===----------------------------------------------------------------------===//

#include "frontend/attention/DenseAttention.h"
#include "frontend/attention/Kinds.h"

#include <cmath>

namespace hova::frontend {

using Kind = Initializer::Kind;

static bool projectTokens(LayerContext &layer, AttentionInputs &inputs) {
  int64_t tokens = layer.shape(inputs.key)[1];
  int64_t rows = layer.integer("projected_tokens", 0);
  int64_t most = layer.integer("max_tokens", tokens);
  bool isShared = layer.boolean("shared_projection", true);
  if (layer.hasFailed()) {
    return false;
  }
  if (rows == 0) {
    layer.attributeError(
        layer.given("projected_tokens") ? "projected_tokens" : "kind",
        "kind linformer needs \"projected_tokens\", the number of "
        "sums that keys and values become");
    return false;
  }
  if (most < tokens) {
    layer.attributeError(
        "max_tokens",
        "\"max_tokens\" must be at least the number of keys, " +
            std::to_string(tokens) + ", got " + std::to_string(most),
        {inputs.key});
    return false;
  }
  layer.checkWork({layer.shape(inputs.key)[0], tokens, rows,
                   layer.width(inputs.key) + layer.width(inputs.value)});
  // Rows of a projection are as long as 1 in the mean, whatever their number.
  Initializer initializer = {Kind::Normal,
                             1 / std::sqrt(static_cast<double>(rows))};
  auto matrix = [&](const std::string &name) {
    ValueRef whole = layer.weight(name, {most, rows}, initializer);
    return layer.hasFailed() || most == tokens
               ? whole
               : layer.emit("slice", name + "_rows", {{"x", whole}},
                            {{"axis", Scalar::ofInteger(0)},
                             {"offset", Scalar::ofInteger(0)}},
                            {DType::F32, {tokens, rows}});
  };
  auto project = [&](ValueRef x, ValueRef matrix, const char *below) {
    return layer.hasFailed()
               ? poison
               : layer.emit(
                     "project_tokens", below, {{"x", x}, {"weight", matrix}},
                     {},
                     {DType::F32, {layer.shape(x)[0], rows, layer.width(x)}});
  };
  ValueRef ofKeys = matrix(isShared ? "token_projection" : "key_projection");
  ValueRef ofValues = isShared ? ofKeys : matrix("value_projection");
  inputs.key = project(inputs.key, ofKeys, "projected_key");
  inputs.value = project(inputs.value, ofValues, "projected_value");
  return !layer.hasFailed();
}

static ValueRef build(LayerContext &layer, const AttentionInputs &given) {
  AttentionInputs inputs = given;
  if (!projectTokens(layer, inputs)) {
    return poison;
  }
  double scale = layer.number("scale", inputs.scale);
  if (layer.hasFailed() || !expectEqualHeads(layer, inputs)) {
    return poison;
  }
  return attendDensely(layer, {inputs, "hova.dot", scale});
}

AttentionKind linformerKind() {
  AttentionKind kind;
  kind.name = "linformer";
  kind.summary = "scaled dot product with few projected keys";
  kind.attributes = {
      attributes::integer(
          "projected_tokens", "0",
          "sums of all tokens that a linformer's keys and values become", 0),
      attributes::integer("max_tokens", "Nk",
                          "rows of a linformer's projection, of which the "
                          "first Nk are used"),
      attributes::boolean("shared_projection", "true",
                          "one projection for keys and values of a linformer"),
  };
  kind.weights = {"token_projection", "key_projection", "value_projection"};
  kind.refusals = {
      {{"score_bias", "mask", "key_valid", "score", "keep"},
       "each key of linformer is a sum of all tokens, which no % could change; "
       "its tokens all count"},
      {{"causal"},
       "each key of linformer is a sum of all tokens, so it has no causal "
       "form"},
      {{"empty_row"}, "no row of linformer is without keys"},
  };
  kind.build = build;
  return kind;
}

} // namespace hova::frontend
