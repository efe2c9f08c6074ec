//===- RotaryLayers.cpp - Rotary positions --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "frontend/layers/Layers.h"
#include "frontend/layers/Parts.h"

namespace hova::frontend {

std::optional<RotaryTables> readRotaryTables(LayerContext &layer) {
  RotaryTables tables;
  tables.pairs = layer.word("pairs", "halves");
  if (!layer.reads("cosines") && !layer.reads("sines")) {
    if (layer.says("pairs")) {
      layer.attributeError("pairs",
                           "\"pairs\" needs \"cosines\" and \"sines\"");
    }
    return std::nullopt;
  }
  tables.cosines = layer.read("cosines");
  tables.sines = layer.read("sines");
  const char *wanted = "[N, pairs]";
  if (layer.hasFailed() ||
      !layer.expectFloats("cosines", tables.cosines, wanted) ||
      !layer.expectRank("cosines", tables.cosines, 2, wanted) ||
      !layer.expectFloats("sines", tables.sines, wanted)) {
    return std::nullopt;
  }
  if (layer.shape(tables.sines) != layer.shape(tables.cosines)) {
    layer.shapeError("sines", tables.sines, "needs the shape of the cosines",
                     {tables.cosines});
    return std::nullopt;
  }
  return tables;
}

ValueRef rotate(LayerContext &layer, ValueRef x, const std::string &below,
                const RotaryTables &tables, int64_t heads) {
  if (layer.hasFailed()) {
    return poison;
  }
  const Shape &shape = layer.shape(x), &table = layer.shape(tables.cosines);
  int64_t tokens = shape[shape.size() - 2], width = shape.back() / heads;
  if (table[0] != tokens) {
    layer.shapeError(
        "cosines", tables.cosines,
        "needs a row for each of " + std::to_string(tokens) + " tokens", {x});
    return poison;
  }
  if (2 * table[1] > width) {
    layer.shapeError("cosines", tables.cosines,
                     "has more pairs than the " + std::to_string(width) +
                         " columns of a head",
                     {x});
    return poison;
  }
  return layer.emit(
      "rotary", below,
      {{"x", x}, {"cosines", tables.cosines}, {"sines", tables.sines}},
      {{"heads", Scalar::ofInteger(heads)},
       {"pairs", Scalar::ofText(tables.pairs)}},
      ValueType(layer.type(x)));
}

ValueRef buildRotate(LayerContext &layer) {
  ValueRef x = layer.read("input");
  int64_t heads = layer.integer("heads", 1);
  const char *wanted = "[batch, N, heads*width]";
  std::optional<RotaryTables> tables = readRotaryTables(layer);
  if (layer.hasFailed() || !tables || !layer.expectFloats("input", x, wanted) ||
      !layer.expectRank("input", x, 3, wanted) ||
      !layer.splitsEvenly("input", x, heads)) {
    return poison;
  }
  return rotate(layer, x, "", *tables, heads);
}

} // namespace hova::frontend
