//===- TokenLayers.cpp - Embeddings, positions, patches, pooling ----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "frontend/elaborate/LayerContext.h"

namespace hova::frontend {

using Kind = Initializer::Kind;

namespace {

/// Spread of tables: large enough to matter beside sinusoids, small enough for
/// logits of tied projections.
constexpr Initializer tableInitializer = {Kind::Normal, 0.2};

} // namespace

ValueRef LayerContext::buildEmbedding() {
  ValueRef ids = read("input");
  int64_t vocab = integer("vocab", 0);
  int64_t columns = integer("width", 0);
  if (failed || !expectIntegers("input", ids, "[batch, N]")) {
    return poison;
  }
  for (ProgramInput &input : elaborator.program->inputs) {
    bool isRead = input.value == ids.number();
    if (isRead && !input.range) {
      // Programs check ids before they run; the table tells the range.
      input.range = {0, vocab};
    }
    bool outside = isRead && input.range &&
                   ((*input.range)[0] < 0 || (*input.range)[1] > vocab);
    if (outside) {
      shapeError("input", ids,
                 "has rows 0 to " + std::to_string(vocab - 1) +
                     ", but the ids are in [" +
                     std::to_string((*input.range)[0]) + ", " +
                     std::to_string((*input.range)[1]) + ")");
      return poison;
    }
  }
  if (type(ids).below > vocab) {
    shapeError("input", ids,
               "has rows 0 to " + std::to_string(vocab - 1) +
                   ", but the ids are in [0, " +
                   std::to_string(type(ids).below) + ")");
    return poison;
  }
  Shape result = shape(ids);
  result.push_back(columns);
  ValueRef table = weight("weight", {vocab, columns}, tableInitializer);
  return emit("embedding", "", {{"ids", ids}, {"table", table}}, {},
              {DType::F32, std::move(result)});
}

/// The parameter itself, which no operation makes; or one of it for every item.
ValueRef LayerContext::buildWeight() {
  Shape own = shapeAttribute("shape");
  int64_t items = integer("batch", 0);
  if (failed) {
    return poison;
  }
  Shape result = own;
  result.insert(result.begin(), items);
  ValueRef value = weight("weight", std::move(own), tableInitializer);
  return given("batch") ? emit("repeat", "", {{"x", value}}, {},
                               {DType::F32, std::move(result)})
                        : value;
}

ValueRef LayerContext::buildPositions() {
  ValueRef x = read("input");
  std::string kind = word("kind", "");
  std::string layout = word("layout", "interleaved");
  if (failed || !expectFloats("input", x, "[batch, N, D]") ||
      !expectRank("input", x, 3, "[batch, N, D]")) {
    return poison;
  }
  int64_t tokens = shape(x)[1];
  int64_t length = integer("length", tokens);
  if (!failed && length < tokens) {
    attributeError("length",
                   "the table has " + std::to_string(length) + " rows for " +
                       std::to_string(tokens) + " tokens",
                   {x});
  }
  if (!failed && kind == "learned" && given("layout")) {
    attributeError("layout", "\"layout\" has no meaning for kind learned");
  }
  if (!failed && layout == "split" && (width(x) % 2 != 0 || width(x) < 4)) {
    attributeError("layout", "layout split needs an even width of at least 4",
                   {x});
  }
  if (failed) {
    return poison;
  }
  ValueType tableType{DType::F32, {length, width(x)}};
  ValueRef table;
  if (kind == "learned") {
    table = weight("weight", tableType.shape, tableInitializer);
  } else {
    table = emit("sinusoid", "table", {}, {{"layout", Scalar::ofText(layout)}},
                 tableType);
  }
  if (length > tokens && !failed) {
    table =
        emit("slice", "rows", {{"x", table}},
             {{"axis", Scalar::ofInteger(0)}, {"offset", Scalar::ofInteger(0)}},
             {DType::F32, {tokens, width(x)}});
  }
  return sum(x, table, "");
}

ValueRef LayerContext::buildPatchEmbedding() {
  ValueRef image = read("input");
  int64_t patch = integer("patch", 1);
  int64_t out = integer("width", 0);
  bool bias = boolean("bias", true);
  const char *wanted = "[batch, channels, height, width]";
  if (failed || !expectFloats("input", image, wanted) ||
      !expectRank("input", image, 4, wanted)) {
    return poison;
  }
  const Shape pixels = shape(image);
  if (pixels[2] % patch != 0 || pixels[3] % patch != 0) {
    attributeError(
        "patch",
        "patch " + std::to_string(patch) + " does not divide an image of " +
            std::to_string(pixels[2]) + " x " + std::to_string(pixels[3]),
        {image});
    return poison;
  }
  int64_t patches = product(pixels[2] / patch, pixels[3] / patch);
  int64_t in = product(pixels[1], product(patch, patch));
  if (failed) {
    return poison;
  }
  ValueRef matrix = weight("weight", {in, out}, {Kind::Glorot, 0});
  checkWork({pixels[0], patches, in, out});
  Operands operands = {{"image", image}, {"weight", matrix}};
  if (bias) {
    operands.push_back({"bias", weight("bias", {out}, {Kind::Bias, 0})});
  }
  return emit("patch_embedding", "", std::move(operands),
              {{"patch", Scalar::ofInteger(patch)}},
              {DType::F32,
               {pixels[0], patches, out},
               {pixels[2] / patch, pixels[3] / patch}});
}

ValueRef LayerContext::buildClassToken() {
  ValueRef x = read("input");
  if (failed || !expectFloats("input", x, "[batch, N, D]") ||
      !expectRank("input", x, 3, "[batch, N, D]")) {
    return poison;
  }
  Shape result = shape(x);
  result[1] += 1;
  ValueRef token = weight("weight", {width(x)}, tableInitializer);
  return emit("class_token", "", {{"x", x}, {"token", token}}, {},
              {DType::F32, std::move(result)});
}

ValueRef LayerContext::buildPool() {
  ValueRef x = read("input");
  std::string kind = word("kind", "");
  if (failed || !expectFloats("input", x, "[batch, N, D]") ||
      !expectRank("input", x, 3, "[batch, N, D]")) {
    return poison;
  }
  return emit("pool", "", {{"x", x}}, {{"kind", Scalar::ofText(kind)}},
              {DType::F32, {shape(x)[0], width(x)}});
}

ValueRef LayerContext::buildPaddingMask() {
  ValueRef ids = read("input");
  int64_t pad = integer("pad", 0);
  bool classToken = boolean("class_token", false);
  if (failed || !expectIntegers("input", ids, "[batch, N]") ||
      !expectRank("input", ids, 2, "[batch, N]")) {
    return poison;
  }
  if (type(ids).dtype == DType::I32 && pad < INT32_MIN) {
    attributeError("pad", "\"pad\" is no number of i32: " + std::to_string(pad),
                   {ids});
    return poison;
  }
  Shape result = shape(ids);
  result.back() += classToken ? 1 : 0;
  return emit("padding_mask", "", {{"ids", ids}},
              {{"pad", Scalar::ofInteger(pad)},
               {"class_token", Scalar::ofBoolean(classToken)}},
              {DType::Bool, std::move(result)});
}

/// input * factors, which are 0 for masked rows and 1 for the others.
ValueRef LayerContext::buildMaskRows() {
  ValueRef x = read("input");
  ValueRef valid = read("valid");
  if (failed || !expectFloats("input", x, "[batch, N, D]") ||
      !expectRank("input", x, 3, "[batch, N, D]") ||
      !expectValid("valid", valid, x)) {
    return poison;
  }
  ValueRef factors = emit("mask_factors", "factors", {{"valid", valid}}, {},
                          {DType::F32, {shape(x)[0], shape(x)[1], 1}});
  if (failed) {
    return poison;
  }
  return emit("multiply", "", {{"lhs", x}, {"rhs", factors}}, {},
              ValueType(type(x)));
}

ValueRef LayerContext::buildPositionIds() {
  ValueRef valid = read("valid");
  if (failed || !expectRank("valid", valid, 2, "[batch, N]")) {
    return poison;
  }
  if (type(valid).dtype != DType::Bool) {
    shapeError("valid", valid,
               "expects valid of booleans [batch, N], got " +
                   type(valid).str());
    return poison;
  }
  ValueType ids{DType::I32, shape(valid)};
  ids.below = shape(valid)[1] + 1;
  return emit("position_ids", "", {{"valid", valid}}, {}, std::move(ids));
}

} // namespace hova::frontend
