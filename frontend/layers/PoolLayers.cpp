//===- PoolLayers.cpp - One row for all tokens ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "frontend/layers/Layers.h"
#include "frontend/layers/Parts.h"

namespace hova::frontend {

using reader::inQuotes;

/// Whether the layer gives what its kind has a meaning for, and no more.
static bool expectMeaning(LayerContext &layer, const std::string &kind,
                          ValueRef x) {
  auto without = [&](const char *name) {
    return inQuotes(name) + " has no meaning for kind " + kind;
  };
  if (layer.reads("valid") && (kind == "first" || kind == "token")) {
    layer.shapeError("valid", x, without("valid"));
  }
  if (layer.reads("ids") && kind != "token") {
    layer.shapeError("ids", x, without("ids"));
  }
  if (layer.given("id") && kind != "token") {
    layer.attributeError("id", without("id"));
  }
  if (!layer.reads("ids") && kind == "token") {
    layer.attributeError("kind", "kind token finds the token by \"ids\"", {x});
  }
  return !layer.hasFailed();
}

/// Ids of the tokens [batch, N, D].
static bool expectIds(LayerContext &layer, ValueRef ids, ValueRef x) {
  Shape wanted = {layer.shape(x)[0], layer.shape(x)[1]};
  if (!layer.expectIntegers("ids", ids, "[batch, N]")) {
    return false;
  }
  if (layer.shape(ids) != wanted) {
    layer.shapeError("ids", ids,
                     "expects ids of shape " + str(wanted) + ", got " +
                         layer.type(ids).str(),
                     {x});
    return false;
  }
  return true;
}

static ValueRef buildTokenPool(LayerContext &layer, ValueRef x,
                               LayerContext::Attributes attributes,
                               ValueType type) {
  ValueRef ids = layer.read("ids");
  if (layer.hasFailed() || !expectIds(layer, ids, x)) {
    return poison;
  }
  if (layer.given("id")) {
    int64_t id = layer.integer("id", 0);
    bool isNarrow = layer.type(ids).dtype == DType::I32;
    if (!layer.hasFailed() && isNarrow && (id < INT32_MIN || id > INT32_MAX)) {
      layer.attributeError(
          "id", "\"id\" is no number of i32: " + std::to_string(id), {ids});
    }
    attributes["id"] = Scalar::ofInteger(id);
  }
  return layer.emit("pool", "", {{"x", x}, {"by", ids}}, std::move(attributes),
                    std::move(type));
}

ValueRef buildPool(LayerContext &layer) {
  ValueRef x = layer.read("input");
  std::string kind = layer.word("kind", "");
  if (layer.hasFailed() || !layer.expectFloats("input", x, "[batch, N, D]") ||
      !layer.expectRank("input", x, 3, "[batch, N, D]") ||
      !expectMeaning(layer, kind, x)) {
    return poison;
  }
  int64_t batch = layer.shape(x)[0], tokens = layer.shape(x)[1];
  ValueType type{DType::F32, {batch, layer.width(x)}};
  LayerContext::Attributes attributes = {{"kind", Scalar::ofText(kind)}};
  if (kind == "token") {
    return buildTokenPool(layer, x, std::move(attributes), std::move(type));
  }
  ValueRef valid = layer.readOptional("valid");
  if (layer.hasFailed() ||
      (!valid.isAbsent() && !layer.expectValid("valid", valid, x))) {
    return poison;
  }
  LayerContext::Operands operands = {{"x", x}};
  if (!valid.isAbsent()) {
    operands.push_back({"by", valid});
  } else if (kind == "last") {
    // The first of the rows that are left, so that no other row is computed.
    attributes["kind"] = Scalar::ofText("first");
    operands[0].second = layer.emit("slice", "row", {{"x", x}},
                                    {{"axis", Scalar::ofInteger(1)},
                                     {"offset", Scalar::ofInteger(tokens - 1)}},
                                    {DType::F32, {batch, 1, layer.width(x)}});
  }
  return layer.emit("pool", "", std::move(operands), std::move(attributes),
                    std::move(type));
}

} // namespace hova::frontend
