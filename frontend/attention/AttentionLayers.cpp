//===- AttentionLayers.cpp - Attention and its reweightings ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "frontend/attention/AttentionLayers.h"
#include "frontend/layers/Parts.h"
#include "frontend/layers/Windows.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace hova::frontend {

using reader::inQuotes;
using Kind = Initializer::Kind;

bool readHeads(LayerContext &layer, AttentionInputs &inputs) {
  inputs.heads = layer.integer("heads", 1);
  inputs.keyHeads = layer.integer("key_value_heads", inputs.heads);
  if (!layer.hasFailed() && inputs.heads % inputs.keyHeads != 0) {
    layer.attributeError(
        "key_value_heads",
        "\"key_value_heads\" must divide the " + std::to_string(inputs.heads) +
            " heads of queries, got " + std::to_string(inputs.keyHeads));
  }
  return !layer.hasFailed();
}

/// Relative position bias and the mask of the roll, where there are any.
static bool addWindowBias(LayerContext &layer, const AttentionKind &kind,
                          const Windows &windows, AttentionInputs &inputs) {
  double maskValue = layer.isWord("mask_value", "-inf")
                         ? -std::numeric_limits<double>::infinity()
                         : layer.number("mask_value", -100);
  bool hasScores = !kind.refuses("score_bias");
  if (!hasScores && layer.says("relative_bias")) {
    layer.attributeError("relative_bias",
                         "kind " + kind.name +
                             " has no scores of two tokens that a bias could "
                             "be added to");
  }
  ValueRef table = relativeBias(layer, windows, inputs.heads);
  int64_t classes = windows.classes();
  if (layer.hasFailed() || (!table && classes == 1)) {
    return !layer.hasFailed();
  }
  if (!hasScores) {
    layer.attributeError("shift",
                         "kind " + kind.name +
                             " has no scores of two tokens that the mask of a "
                             "shift could be added to");
    return false;
  }
  LayerContext::Operands operands;
  if (table) {
    operands.push_back({"table", table});
  }
  LayerContext::Attributes attributes = windows.attributes();
  attributes["mask_value"] = Scalar::ofReal(maskValue);
  int64_t tokens = windows.area();
  inputs.windowBias = layer.emit(
      "window_bias", "relative_bias", std::move(operands),
      std::move(attributes),
      {DType::F32, {classes, table ? inputs.heads : 1, tokens, tokens}});
  if (classes > 1) {
    inputs.windowClasses =
        layer.emit("window_classes", "classes", {}, windows.attributes(),
                   {DType::I32, {windows.count()}});
  }
  return !layer.hasFailed();
}

static ValueRef reweight(LayerContext &layer, ValueRef headsInput, ValueRef x,
                         int64_t heads) {
  if (layer.hasFailed()) {
    return poison;
  }
  int64_t part = layer.width(headsInput) / heads;
  layer.checkWork({layer.shape(x)[0], layer.shape(x)[1],
                   layer.width(headsInput) + layer.width(x), part + 1});
  ValueRef head =
      layer.weight("horizontal.head", {part, part}, {Kind::Glorot, 0});
  ValueRef input = layer.weight("horizontal.input", {layer.width(x), part},
                                {Kind::Glorot, 0});
  ValueRef score =
      layer.weight("horizontal.score", {part},
                   {Kind::Normal, 1 / std::sqrt(static_cast<double>(part))});
  ValueRef bias = layer.weight("horizontal.score_bias", {1}, {Kind::Bias, 0});
  return layer.emit(
      "head_reweight", layer.op().name == "head_reweight" ? "" : "horizontal",
      {{"heads_in", headsInput},
       {"x", x},
       {"head_weight", head},
       {"input_weight", input},
       {"score_weight", score},
       {"score_bias", bias}},
      {{"heads", Scalar::ofInteger(heads)}}, ValueType(layer.type(headsInput)));
}

static ValueRef gate(LayerContext &layer, ValueRef gated, ValueRef x,
                     int64_t hidden) {
  if (layer.hasFailed()) {
    return poison;
  }
  int64_t out = layer.width(gated);
  layer.checkWork(
      {layer.shape(x)[0], layer.shape(x)[1], layer.width(x) + 2 * out, hidden});
  ValueRef input = layer.weight("vertical.input", {layer.width(x), hidden},
                                {Kind::Glorot, 0});
  ValueRef output =
      layer.weight("vertical.output", {out, hidden}, {Kind::Glorot, 0});
  ValueRef gate =
      layer.weight("vertical.gate", {hidden, out}, {Kind::Glorot, 0});
  ValueRef bias = layer.weight("vertical.gate_bias", {out}, {Kind::Bias, 0});
  return layer.emit("channel_gate",
                    layer.op().name == "channel_gate" ? "" : "vertical",
                    {{"y", gated},
                     {"x", x},
                     {"input_weight", input},
                     {"output_weight", output},
                     {"gate_weight", gate},
                     {"gate_bias", bias}},
                    {}, ValueType(layer.type(gated)));
}

namespace {
/// What the projections of a layer read.
struct Projected {
  const char *role;
  ValueRef value;
};

struct Sides {
  Projected query, key, value;
};
} // namespace

/// Queries, keys and values as the layer names them; nothing after a mistake.
static std::optional<Sides> readSides(LayerContext &layer) {
  const char *wanted = "[batch, N, D]";
  auto read = [&](const char *role, const char *otherwise) {
    const char *name = layer.reads(role) ? role : otherwise;
    return Projected{name, layer.read(name)};
  };
  Sides sides;
  sides.query = read("query", "input");
  sides.key = read("key", "input");
  sides.value = layer.reads("value") ? read("value", "")
                                     : Projected{"key", sides.key.value};
  if (layer.hasFailed()) {
    return std::nullopt;
  }
  for (const Projected &side : {sides.query, sides.key, sides.value}) {
    if (!layer.expectFloats(side.role, side.value, wanted) ||
        !layer.expectRank(side.role, side.value, 3, wanted)) {
      return std::nullopt;
    }
  }
  const Shape &query = layer.shape(sides.query.value);
  const Shape &key = layer.shape(sides.key.value);
  const Shape &value = layer.shape(sides.value.value);
  if (key[0] != query[0] || value[0] != key[0] || value[1] != key[1]) {
    layer.shapeError(sides.key.role, sides.key.value,
                     "needs one batch for all, and as many values as keys",
                     {sides.query.value, sides.value.value});
    return std::nullopt;
  }
  return sides;
}

/// The norms of the heads of queries and of keys, where the layer asks for any.
static void normHeads(LayerContext &layer, AttentionInputs &inputs) {
  bool bias = layer.boolean("norm_bias", true);
  double eps = layer.number("norm_eps", 0);
  std::string ofQueries = layer.word("query_norm", "none");
  auto apply = [&](const char *name, const std::string &word, int64_t heads,
                   ValueRef &side) {
    if (word == "none" || layer.hasFailed()) {
      return;
    }
    bool isOfLength = word == "l2", isCentred = word == "layer";
    NormOptions options;
    options.eps = layer.given("norm_eps") ? eps : isOfLength ? 1e-12 : 1e-6;
    options.kind = isCentred ? "standard" : word;
    options.gain = !isOfLength;
    options.bias = isCentred && bias;
    options.heads = heads;
    if (!isOfLength || expectEpsOfLengths(layer, "norm_eps", options.eps)) {
      side = norm(layer, side, name, options);
    }
  };
  apply("query_norm", ofQueries, inputs.heads, inputs.query);
  apply("key_norm", layer.word("key_norm", ofQueries.c_str()), inputs.keyHeads,
        inputs.key);
}

ValueRef buildMultiHeadAttention(LayerContext &layer) {
  std::optional<Sides> sides = readSides(layer);
  AttentionInputs inputs;
  if (!sides || !readHeads(layer, inputs)) {
    return poison;
  }
  auto &[query, key, value] = *sides;
  int64_t heads = inputs.heads, in = layer.width(query.value);
  bool whole = layer.given("head_width") ||
               layer.splitsEvenly(query.role, query.value, heads);
  int64_t headWidth = layer.integer("head_width", in / heads);
  int64_t keyWidth = layer.integer("key_head_width", headWidth);
  int64_t valueWidth = layer.integer("value_head_width", headWidth);
  int64_t out = layer.integer("width", in);
  bool bias = layer.boolean("bias", true);
  bool keyBias = layer.boolean("key_bias", bias);
  bool outBias = layer.boolean("output_bias", bias);
  bool horizontal = layer.boolean("horizontal", false);
  std::optional<int64_t> vertical =
      layer.gate("vertical", std::max<int64_t>(1, out / 4));
  std::optional<Windows> windows = windowsOf(layer, query.value);
  const AttentionKind *kind =
      layer.hasFailed() || !whole ? nullptr : readKind(layer);
  if (!kind) {
    return poison;
  }
  inputs.scale = 1 / std::sqrt(static_cast<double>(headWidth));
  inputs.causal = layer.boolean("causal", false);
  if (windows) {
    inputs.windows = windows->count();
    query.value = key.value = value.value =
        partition(layer, query.value, *windows);
    if (layer.hasFailed() || !addWindowBias(layer, *kind, *windows, inputs)) {
      return poison;
    }
  }
  auto project = [&](const char *name, ValueRef x, int64_t width, bool bias) {
    return linear(layer, x, name, width, bias);
  };
  inputs.query =
      project("query", query.value, layer.product(heads, headWidth), bias);
  inputs.key = project("key", key.value,
                       layer.product(inputs.keyHeads, keyWidth), keyBias);
  inputs.value = project("value", value.value,
                         layer.product(inputs.keyHeads, valueWidth), bias);
  normHeads(layer, inputs);
  if (std::optional<RotaryTables> tables = readRotaryTables(layer)) {
    inputs.query = rotate(layer, inputs.query, "query", *tables, inputs.heads);
    inputs.key = rotate(layer, inputs.key, "key", *tables, inputs.keyHeads);
  }
  ValueRef result = layer.hasFailed() ? poison : kind->build(layer, inputs);
  if (horizontal) {
    result = reweight(layer, result, query.value, heads);
  }
  result = linear(layer, result, "output", out, outBias);
  if (vertical) {
    result = gate(layer, result, query.value, *vertical);
  }
  return windows ? reverse(layer, result, *windows) : result;
}

ValueRef buildAttention(LayerContext &layer) {
  AttentionInputs inputs;
  readHeads(layer, inputs);
  inputs.causal = layer.boolean("causal", false);
  inputs.query = layer.read("query");
  inputs.key = layer.read("key");
  inputs.value = layer.read("value");
  if (layer.hasFailed()) {
    return poison;
  }
  struct Input {
    const char *role;
    ValueRef value;
    int64_t heads;
  };
  for (const auto &[role, value, count] :
       {Input{"query", inputs.query, inputs.heads},
        Input{"key", inputs.key, inputs.keyHeads},
        Input{"value", inputs.value, inputs.keyHeads}}) {
    if (!layer.expectFloats(role, value, "[batch, N, heads*width]") ||
        !layer.expectRank(role, value, 3, "[batch, N, heads*width]") ||
        !layer.splitsEvenly(role, value, count)) {
      return poison;
    }
  }
  const Shape &q = layer.shape(inputs.query);
  const Shape &k = layer.shape(inputs.key);
  const Shape &v = layer.shape(inputs.value);
  if (k[0] != q[0] || v[0] != k[0] || v[1] != k[1]) {
    layer.shapeError("key", inputs.key,
                     "needs one batch for all, and as many values as keys",
                     {inputs.query, inputs.value});
    return poison;
  }
  inputs.scale = 1 / std::sqrt(static_cast<double>(q[2] / inputs.heads));
  const AttentionKind *kind = readKind(layer);
  return kind ? kind->build(layer, inputs) : poison;
}

ValueRef buildHeadReweight(LayerContext &layer) {
  ValueRef x = layer.read("input");
  ValueRef headsInput = layer.read("heads_input");
  int64_t heads = layer.integer("heads", 1);
  if (layer.hasFailed() || !layer.expectFloats("input", x, "[batch, N, D]") ||
      !layer.expectRank("input", x, 3, "[batch, N, D]") ||
      !layer.expectFloats("heads_input", headsInput,
                          "[batch, N, heads*width]") ||
      !layer.expectRank("heads_input", headsInput, 3,
                        "[batch, N, heads*width]") ||
      !layer.splitsEvenly("heads_input", headsInput, heads)) {
    return poison;
  }
  if (layer.shape(x)[0] != layer.shape(headsInput)[0] ||
      layer.shape(x)[1] != layer.shape(headsInput)[1]) {
    layer.shapeError("heads_input", headsInput,
                     "needs the batch and tokens of its input", {x});
    return poison;
  }
  return reweight(layer, headsInput, x, heads);
}

ValueRef buildChannelGate(LayerContext &layer) {
  ValueRef x = layer.read("input");
  ValueRef gated = layer.read("gated");
  if (layer.hasFailed() || !layer.expectFloats("input", x, "[batch, N, D]") ||
      !layer.expectRank("input", x, 3, "[batch, N, D]") ||
      !layer.expectFloats("gated", gated, "[batch, N, E]") ||
      !layer.expectRank("gated", gated, 3, "[batch, N, E]")) {
    return poison;
  }
  if (layer.shape(x)[0] != layer.shape(gated)[0] ||
      layer.shape(x)[1] != layer.shape(gated)[1]) {
    layer.shapeError("gated", gated, "needs the batch and tokens of its input",
                     {x});
    return poison;
  }
  int64_t hidden =
      layer.integer("width", std::max<int64_t>(1, layer.width(gated) / 4));
  return gate(layer, gated, x, hidden);
}

} // namespace hova::frontend
