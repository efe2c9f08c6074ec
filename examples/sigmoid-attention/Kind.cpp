//===- Kind.cpp - Sigmoid attention as a kind of every attention ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// `"kind": "sigmoid"` in multi_head_attention, attention and omni_attention,
// which bring projections, windows, padding, horizontal and vertical attention.
// What is left for a kind is the way from queries, keys and values to heads.

#include "Kind.h"
#include <cmath>

using namespace hova::frontend;

static ValueRef build(LayerContext &layer, const AttentionInputs &inputs) {
  Shape shape = layer.shape(inputs.query);
  int64_t keys = layer.shape(inputs.key)[1];
  double scale = layer.number("scale", inputs.scale);
  double offset = layer.number("offset", -std::log(double(keys)));
  layer.checkWork({shape[0], shape[1], keys,
                   layer.width(inputs.query) + layer.width(inputs.value)});
  if (layer.hasFailed() || !expectEqualHeads(layer, inputs)) {
    return poison;
  }
  ValueRef sink =
      layer.weight("sink", {inputs.heads}, {Initializer::Kind::Normal, 1});
  LayerContext::Operands operands = {{"query", inputs.query},
                                     {"key", inputs.key},
                                     {"value", inputs.value},
                                     {"sink", sink}};
  if (!addKeyValid(layer, inputs, operands)) {
    return poison;
  }
  shape.back() = layer.width(inputs.value);
  return layer.emit("sigattn.attention", "", std::move(operands),
                    {{"heads", Scalar::ofInteger(inputs.heads)},
                     {"scale", Scalar::ofReal(scale)},
                     {"offset", Scalar::ofReal(offset)}},
                    {DType::F32, std::move(shape)});
}

AttentionKind sigattn::sigmoidKind() {
  AttentionKind kind;
  kind.name = "sigmoid";
  kind.summary = "sigmoids with a sink per head";
  kind.attributes = {attributes::number("offset", "-log(Nk)",
                                        "added to scores before a sigmoid")};
  kind.weights = {"sink"};
  kind.refusals = {
      {{"key_value_heads"},
       "kind sigmoid has as many heads of keys as of queries"},
      {{"score_bias", "mask", "score", "keep", "scores", "causal"},
       "\"%\" has no meaning for kind sigmoid, whose keys all count but for "
       "key_valid"},
      {{"normalize", "temperature", "memory"},
       "\"%\" has no meaning for kind sigmoid, which has no softmax"},
      {{"empty_row"}, "no row of kind sigmoid is empty: it has its sink"},
  };
  kind.build = build;
  return kind;
}
