//===- Additive.cpp - The softmax of Bahdanau's scores --------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Bahdanau et al., Neural Machine Translation by Jointly Learning to Align and
// Translate, section 3.1, on heads: every head maps its query and its key into
// the hidden layer with matrices of its own. They are written as one
// block-diagonal matrix, so that the rest is an ordinary linear. The keys of a
// memory are mapped as the others.
//
//===----------------------------------------------------------------------===//

#include "frontend/attention/DenseAttention.h"
#include "frontend/attention/Kinds.h"

#include <cmath>

namespace hova::frontend {

using Kind = Initializer::Kind;

static int64_t hiddenWidth(LayerContext &layer, int64_t headWidth) {
  return layer.integer(attributeOfKind(layer, "hidden"), headWidth);
}

static bool mapSides(LayerContext &layer, DenseAttention &attention) {
  AttentionInputs &inputs = attention.inputs;
  int64_t hidden = hiddenWidth(layer, layer.width(inputs.query) / inputs.heads);
  struct Side {
    const char *name;
    ValueRef *value;
    int64_t count;
  };
  for (const Side &side : {Side{"query", &inputs.query, inputs.heads},
                           Side{"key", &inputs.key, inputs.keyHeads}}) {
    int64_t columns = layer.product(side.count, hidden);
    if (layer.hasFailed()) {
      return false;
    }
    int64_t part = layer.width(*side.value) / side.count;
    std::string name = std::string("additive.") + side.name;
    ValueRef blocks =
        layer.weight(name, {side.count, part, hidden}, {Kind::Glorot, 0});
    ValueRef matrix =
        layer.emit("block_diagonal", name + "_matrix", {{"blocks", blocks}}, {},
                   {DType::F32, {layer.width(*side.value), columns}});
    if (layer.hasFailed()) {
      return false;
    }
    auto map = [&](ValueRef value, const std::string &below) {
      Shape mapped = layer.shape(value);
      mapped.back() = columns;
      return layer.emit("linear", below, {{"x", value}, {"weight", matrix}}, {},
                        {DType::F32, std::move(mapped)});
    };
    *side.value = map(*side.value, name);
    if (side.value == &inputs.key && attention.memoryKey) {
      attention.memoryKey = map(attention.memoryKey, name + "_memory");
    }
  }
  double deviation = 1 / std::sqrt(static_cast<double>(hidden));
  attention.operands.push_back(
      {"score_vector",
       layer.weight("additive.vector", {layer.product(inputs.heads, hidden)},
                    {Kind::Normal, deviation})});
  return !layer.hasFailed();
}

static ValueRef build(LayerContext &layer, const AttentionInputs &inputs) {
  return attendDensely(layer, {inputs, "hova.additive", 1, mapSides});
}

AttentionKind additiveKind() {
  return {"additive",
          "Bahdanau's additive form",
          {attributes::integer("hidden", "head_width",
                               "width of the additive tanh layer")},
          {"additive.query", "additive.key", "additive.vector"},
          {{{"scale"}, "\"scale\" has no meaning for kind additive"}},
          build,
          /*hasTwoWidths=*/true};
}

} // namespace hova::frontend
