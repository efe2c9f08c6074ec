//===- TokenLayers.cpp - Embeddings, positions, patches, pooling ----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "frontend/layers/Layers.h"
#include "frontend/layers/Parts.h"

namespace hova::frontend {

using Kind = Initializer::Kind;

namespace {

/// Spread of tables: large enough to matter beside sinusoids, small enough for
/// logits of tied projections.
constexpr Initializer tableInitializer = {Kind::Normal, 0.2};

} // namespace

ValueRef buildEmbedding(LayerContext &layer) {
  ValueRef ids = layer.read("input");
  int64_t vocab = layer.integer("vocab", 0);
  int64_t columns = layer.integer("width", 0);
  if (layer.hasFailed() || !layer.expectIntegers("input", ids, "[batch, N]") ||
      !layer.expectRows("input", ids, vocab)) {
    return poison;
  }
  Shape result = layer.shape(ids);
  result.push_back(columns);
  ValueRef table = layer.weight("weight", {vocab, columns}, tableInitializer);
  return layer.emit("embedding", "", {{"ids", ids}, {"table", table}}, {},
                    {DType::F32, std::move(result)});
}

/// The parameter itself, which no operation makes; or one of it for every item.
ValueRef buildWeight(LayerContext &layer) {
  Shape shape = layer.shapeAttribute("shape");
  int64_t items = layer.items("batch", 0);
  if (layer.hasFailed()) {
    return poison;
  }
  Shape result = shape;
  result.insert(result.begin(), items);
  ValueRef value = layer.weight("weight", std::move(shape), tableInitializer);
  return layer.given("batch") ? layer.emit("repeat", "", {{"x", value}}, {},
                                           {DType::F32, std::move(result)})
                              : value;
}

/// The positions of tokens [batch, N], from `offset` on.
static ValueRef positionIds(LayerContext &layer, ValueRef valid,
                            const std::string &below, int64_t offset,
                            bool counted) {
  ValueType ids{DType::I32, layer.shape(valid)};
  ids.below = layer.shape(valid)[1] + offset;
  return layer.emit("position_ids", below, {{"valid", valid}},
                    {{"offset", Scalar::ofInteger(offset)},
                     {"counted", Scalar::ofBoolean(counted)}},
                    std::move(ids));
}

namespace {
/// Which rows of a position table tokens have.
struct TableRows {
  int64_t length;
  int64_t offset; ///< of the first position
  ValueRef valid; ///< whose tokens are counted; absent: all are
};
} // namespace

/// Nothing after a mistake.
static std::optional<TableRows> readTableRows(LayerContext &layer, ValueRef x) {
  ValueRef valid = layer.readOptional("valid");
  bool counts = !valid.isAbsent();
  int64_t tokens = layer.shape(x)[1];
  int64_t offset = layer.integer("offset", counts ? 1 : 0);
  if (layer.hasFailed() || (counts && !layer.expectValid("valid", valid, x))) {
    layer.fail();
    return std::nullopt;
  }
  if (counts && offset == 0) {
    layer.attributeError("offset", "with \"valid\", masked tokens have row "
                                   "\"offset\" - 1, so it is at least 1");
    return std::nullopt;
  }
  int64_t length = layer.integer("length", offset + tokens);
  if (layer.hasFailed()) {
    return std::nullopt;
  }
  if (length < offset + tokens || length > INT32_MAX) {
    std::string after =
        offset > 0 ? " after the first " + std::to_string(offset) : "";
    layer.attributeError(layer.given("length") ? "length" : "offset",
                         "the table has " + std::to_string(length) +
                             " rows for " + std::to_string(tokens) + " tokens" +
                             after,
                         {x});
    return std::nullopt;
  }
  return TableRows{length, offset, valid};
}

/// The rows that tokens of x have: those from the offset on, or for every item
/// its own.
static ValueRef takeRows(LayerContext &layer, ValueRef x, ValueRef table,
                         const TableRows &rows) {
  if (layer.hasFailed()) {
    return poison;
  }
  int64_t tokens = layer.shape(x)[1];
  if (!rows.valid.isAbsent()) {
    ValueRef ids = positionIds(layer, rows.valid, "ids", rows.offset, true);
    return layer.emit("embedding", "rows", {{"ids", ids}, {"table", table}}, {},
                      ValueType(layer.type(x)));
  }
  if (rows.length == tokens) {
    return table;
  }
  return layer.emit("slice", "rows", {{"x", table}},
                    {{"axis", Scalar::ofInteger(0)},
                     {"offset", Scalar::ofInteger(rows.offset)}},
                    {DType::F32, {tokens, layer.width(x)}});
}

ValueRef buildConstant(LayerContext &layer) {
  Shape shape = layer.shapeAttribute("shape");
  bool isInteger = layer.word("dtype", "f32") == "i32";
  return layer.constant(
      {isInteger ? DType::I32 : DType::F32, std::move(shape)});
}

ValueRef buildPositions(LayerContext &layer) {
  ValueRef x = layer.read("input");
  std::string kind = layer.word("kind", "");
  std::string layout = layer.word("layout", "interleaved");
  double base = layer.number("base", 10000);
  if (layer.hasFailed() || !layer.expectFloats("input", x, "[batch, N, D]") ||
      !layer.expectRank("input", x, 3, "[batch, N, D]")) {
    return poison;
  }
  std::optional<TableRows> rows = readTableRows(layer, x);
  for (const char *word : {"layout", "base"}) {
    if (!layer.hasFailed() && kind == "learned" && layer.given(word)) {
      layer.attributeError(word, '"' + std::string(word) +
                                     "\" has no meaning for kind learned");
    }
  }
  if (!layer.hasFailed() && layout == "split" &&
      (layer.width(x) % 2 != 0 || layer.width(x) < 4)) {
    layer.attributeError("layout",
                         "layout split needs an even width of at least 4", {x});
  }
  if (layer.hasFailed()) {
    return poison;
  }
  ValueType tableType{DType::F32, {rows->length, layer.width(x)}};
  ValueRef table;
  if (kind == "learned") {
    table = layer.weight("weight", tableType.shape, tableInitializer);
  } else {
    table = layer.emit(
        "sinusoid", "table", {},
        {{"layout", Scalar::ofText(layout)}, {"base", Scalar::ofReal(base)}},
        tableType);
  }
  return sum(layer, x, takeRows(layer, x, table, *rows), "");
}

ValueRef buildPatchEmbedding(LayerContext &layer) {
  ValueRef image = layer.read("input");
  int64_t patch = layer.integer("patch", 1);
  int64_t out = layer.integer("width", 0);
  bool bias = layer.boolean("bias", true);
  const char *wanted = "[batch, channels, height, width]";
  if (layer.hasFailed() || !layer.expectFloats("input", image, wanted) ||
      !layer.expectRank("input", image, 4, wanted)) {
    return poison;
  }
  const Shape pixels = layer.shape(image);
  if (pixels[2] % patch != 0 || pixels[3] % patch != 0) {
    std::string side = std::to_string(patch);
    layer.attributeError(
        "patch",
        "patch " + side + " does not divide an image of " +
            std::to_string(pixels[2]) + " x " + std::to_string(pixels[3]) +
            "; unfold with \"kernel\": " + side + " and \"stride\": " + side +
            ", then linear, takes the patches that are whole, or with "
            "\"padding\" adds zeros around the image",
        {image});
    return poison;
  }
  int64_t patches = layer.product(pixels[2] / patch, pixels[3] / patch);
  int64_t in = layer.product(pixels[1], layer.product(patch, patch));
  if (layer.hasFailed()) {
    return poison;
  }
  ValueRef matrix = layer.weight("weight", {in, out}, {Kind::Glorot, 0});
  layer.checkWork({pixels[0], patches, in, out});
  LayerContext::Operands operands = {{"image", image}, {"weight", matrix}};
  if (bias) {
    operands.push_back({"bias", layer.weight("bias", {out}, {Kind::Bias, 0})});
  }
  return layer.emit("patch_embedding", "", std::move(operands),
                    {{"patch", Scalar::ofInteger(patch)}},
                    {DType::F32,
                     {pixels[0], patches, out},
                     {pixels[2] / patch, pixels[3] / patch}});
}

ValueRef buildClassToken(LayerContext &layer) {
  ValueRef x = layer.read("input");
  if (layer.hasFailed() || !layer.expectFloats("input", x, "[batch, N, D]") ||
      !layer.expectRank("input", x, 3, "[batch, N, D]")) {
    return poison;
  }
  Shape result = layer.shape(x);
  result[1] += 1;
  ValueRef token = layer.weight("weight", {layer.width(x)}, tableInitializer);
  return layer.emit("class_token", "", {{"x", x}, {"token", token}}, {},
                    {DType::F32, std::move(result)});
}

ValueRef buildPaddingMask(LayerContext &layer) {
  ValueRef ids = layer.read("input");
  int64_t pad = layer.integer("pad", 0);
  bool classToken = layer.boolean("class_token", false);
  if (layer.hasFailed() || !layer.expectIntegers("input", ids, "[batch, N]") ||
      !layer.expectRank("input", ids, 2, "[batch, N]")) {
    return poison;
  }
  if (layer.type(ids).dtype == DType::I32 && pad < INT32_MIN) {
    layer.attributeError(
        "pad", "\"pad\" is no number of i32: " + std::to_string(pad), {ids});
    return poison;
  }
  Shape result = layer.shape(ids);
  result.back() += classToken ? 1 : 0;
  return layer.emit("padding_mask", "", {{"ids", ids}},
                    {{"pad", Scalar::ofInteger(pad)},
                     {"class_token", Scalar::ofBoolean(classToken)}},
                    {DType::Bool, std::move(result)});
}

/// input * factors, which are 0 for masked rows and 1 for the others.
ValueRef buildMaskRows(LayerContext &layer) {
  ValueRef x = layer.read("input");
  ValueRef valid = layer.read("valid");
  if (layer.hasFailed() || !layer.expectFloats("input", x, "[batch, N, D]") ||
      !layer.expectRank("input", x, 3, "[batch, N, D]") ||
      !layer.expectValid("valid", valid, x)) {
    return poison;
  }
  ValueRef factors =
      layer.emit("mask_factors", "factors", {{"valid", valid}}, {},
                 {DType::F32, {layer.shape(x)[0], layer.shape(x)[1], 1}});
  if (layer.hasFailed()) {
    return poison;
  }
  return layer.emit("multiply", "", {{"lhs", x}, {"rhs", factors}}, {},
                    ValueType(layer.type(x)));
}

ValueRef buildPositionIds(LayerContext &layer) {
  ValueRef valid = layer.read("valid");
  if (layer.hasFailed() || !layer.expectRank("valid", valid, 2, "[batch, N]")) {
    return poison;
  }
  if (layer.type(valid).dtype != DType::Bool) {
    layer.shapeError("valid", valid,
                     "expects valid of booleans [batch, N], got " +
                         layer.type(valid).str());
    return poison;
  }
  return positionIds(layer, valid, "", 1, false);
}

} // namespace hova::frontend
