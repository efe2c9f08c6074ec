//===- WindowLayers.cpp - Windows of images, merged and unfolded ones -----===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Swin Transformer, section 3.2: attention inside windows of an image of
// tokens, whose grid may be rolled before; and patch merging. Tokens-to-Token
// ViT, section 3.1: soft splits, which are images unfolded.
//
//===----------------------------------------------------------------------===//

#include "frontend/elaborate/LayerContext.h"

#include <limits>

namespace hova::frontend {

using reader::inQuotes;

static std::string str(const Grid &grid) {
  return std::to_string(grid.height) + " x " + std::to_string(grid.width);
}

/// The image that tokens [batch, N, D] are of: as given, or as embedded.
std::optional<Grid> LayerContext::gridOf(ValueRef tokens) {
  int64_t count = shape(tokens)[1];
  if (!given("grid_height")) {
    Grid grid = type(tokens).grid;
    if (!grid) {
      shapeError("input", tokens,
                 "needs the height of the image that its " +
                     std::to_string(count) +
                     " tokens are of: give \"grid_height\"");
      return std::nullopt;
    }
    return grid;
  }
  int64_t height = integer("grid_height", 1);
  if (!failed && count % height != 0) {
    attributeError("grid_height",
                   std::to_string(count) + " tokens are no image of height " +
                       std::to_string(height),
                   {tokens});
  }
  if (failed) {
    return std::nullopt;
  }
  return Grid{height, count / height};
}

/// The windows that the layer asks for, or nothing where it asks for none.
std::optional<LayerContext::Windows> LayerContext::windowsOf(ValueRef tokens) {
  if (!given("window")) {
    for (const char *name :
         {"shift", "relative_bias", "relative_bias_hidden", "pretrained_window",
          "mask_value", "clamp", "grid_height"}) {
      if (given(name)) {
        attributeError(name, inQuotes(name) + " has no meaning without "
                                              "\"window\"");
      }
    }
    return std::nullopt;
  }
  int64_t side = integer("window", 1), shift = integer("shift", 0);
  std::string clamp = word("clamp", "both");
  for (const char *role :
       {"query", "key", "value", "mask", "key_valid", "score_bias"}) {
    if (reads(role)) {
      shapeError(role, tokens,
                 std::string("has windows of its input alone, where ") + role +
                     " has no meaning");
    }
  }
  if (given("causal") && boolean("causal", false)) {
    attributeError("causal", "\"causal\" has no meaning inside windows");
  }
  if (given("scores") && boolean("scores", false)) {
    attributeError("scores", "scores inside windows have no meaning for a "
                             "layer whose windows are others");
  }
  std::optional<Grid> grid = failed ? std::nullopt : gridOf(tokens);
  if (!grid) {
    failed = true;
    return std::nullopt;
  }
  if (shift >= side) {
    attributeError("shift", "\"shift\" must be less than the window of " +
                                std::to_string(side) + ", got " +
                                std::to_string(shift));
    return std::nullopt;
  }
  Windows windows{{side, side}, {shift, shift}, *grid};
  bool whole = std::min(grid->height, grid->width) <= side;
  if (whole && clamp == "both") {
    int64_t least = std::min(grid->height, grid->width);
    windows.window = {least, least};
    windows.shift = {};
  }
  if (clamp == "per_axis") {
    auto clampAxis = [&](int64_t Grid::*axis) {
      if (windows.grid.*axis <= side) {
        windows.window.*axis = windows.grid.*axis;
        windows.shift.*axis = 0;
      }
    };
    clampAxis(&Grid::height);
    clampAxis(&Grid::width);
  }
  if (grid->height % windows.window.height != 0 ||
      grid->width % windows.window.width != 0) {
    attributeError("window",
                   "windows of " + str(windows.window) +
                       " do not divide an image of " + str(*grid),
                   {tokens});
    return std::nullopt;
  }
  return windows;
}

LayerContext::Attributes
LayerContext::windowAttributes(const Windows &windows) {
  return {{"window_height", Scalar::ofInteger(windows.window.height)},
          {"window_width", Scalar::ofInteger(windows.window.width)},
          {"shift_height", Scalar::ofInteger(windows.shift.height)},
          {"shift_width", Scalar::ofInteger(windows.shift.width)},
          {"grid_height", Scalar::ofInteger(windows.grid.height)},
          {"grid_width", Scalar::ofInteger(windows.grid.width)}};
}

int64_t LayerContext::Windows::count() const {
  return grid.height / window.height * (grid.width / window.width);
}

/// [batch, N, D] to [batch * windows, tokens of one, D].
ValueRef LayerContext::partition(ValueRef tokens, const Windows &windows) {
  int64_t batch = product(shape(tokens)[0], windows.count());
  if (failed) {
    return poison;
  }
  return emit(
      "partition_windows", "windows", {{"x", tokens}},
      windowAttributes(windows),
      {DType::F32, {batch, windows.area(), width(tokens)}, windows.window});
}

/// Back to [batch, N, D].
ValueRef LayerContext::reverse(ValueRef tokens, const Windows &windows) {
  if (failed) {
    return poison;
  }
  int64_t batch = shape(tokens)[0] / windows.count();
  int64_t count = windows.grid.height * windows.grid.width;
  return emit("reverse_windows", "image", {{"x", tokens}},
              windowAttributes(windows),
              {DType::F32, {batch, count, width(tokens)}, windows.grid});
}

/// Swin Transformer V2, Eq. 3 and 4: a network of two layers makes the numbers
/// of a difference of positions, on a logarithmic scale, so that they can be
/// those of another window than the one that it was trained with.
ValueRef LayerContext::continuousBiasTable(const Windows &windows,
                                           int64_t heads) {
  constexpr double largest = 16;
  int64_t hidden = integer("relative_bias_hidden", 512);
  int64_t side = integer("pretrained_window", 0);
  int64_t rows =
      product(2 * windows.window.height - 1, 2 * windows.window.width - 1);
  Attributes attributes = windowAttributes(windows);
  attributes["reference_height"] =
      Scalar::ofInteger(side ? side : windows.window.height);
  attributes["reference_width"] =
      Scalar::ofInteger(side ? side : windows.window.width);
  ValueRef offsets = emit("window_offsets", "relative_bias.offsets", {},
                          std::move(attributes), {DType::F32, {rows, 2}});
  ValueRef inner =
      linear(offsets, "relative_bias.hidden", hidden, /*bias=*/true);
  ValueRef active = activation(inner, "relative_bias.activation", "relu");
  ValueRef logits =
      linear(active, "relative_bias.output", heads, /*bias=*/false);
  ValueRef shares = activation(logits, "relative_bias.sigmoid", "sigmoid");
  return emit("scale", "relative_bias.table", {{"x", shares}},
              {{"factor", Scalar::ofReal(largest)}},
              {DType::F32, {rows, heads}});
}

/// A number for each difference of two positions in a window and each head;
/// absent where there is to be none, and poison after a mistake.
ValueRef LayerContext::biasTable(const Windows &windows, int64_t heads) {
  bool continuous = isWord("relative_bias", "continuous");
  if (!continuous) {
    for (const char *name : {"relative_bias_hidden", "pretrained_window"}) {
      if (given(name)) {
        attributeError(name, inQuotes(name) + " has no meaning where "
                                              "\"relative_bias\" is not "
                                              "continuous");
      }
    }
    if (!boolean("relative_bias", false)) {
      return failed ? poison : absent;
    }
  }
  if (failed) {
    return poison;
  }
  std::string kind = word("kind", "softmax");
  if (kind == "performer" || kind == "linformer" || kind == "bigbird") {
    attributeError("relative_bias",
                   "kind " + kind +
                       " has no scores of two tokens that a bias could be "
                       "added to");
    return poison;
  }
  if (continuous) {
    return continuousBiasTable(windows, heads);
  }
  int64_t rows =
      product(2 * windows.window.height - 1, 2 * windows.window.width - 1);
  return weight("relative_bias", {rows, heads},
                {Initializer::Kind::Normal, 0.2});
}

/// Relative position bias and the mask of the roll, where there are any.
bool LayerContext::addWindowBias(const Windows &windows, Heads &heads) {
  double maskValue = isWord("mask_value", "-inf")
                         ? -std::numeric_limits<double>::infinity()
                         : number("mask_value", -100);
  int64_t classes = (windows.shift.height ? 2 : 1) * //
                    (windows.shift.width ? 2 : 1);
  ValueRef table = biasTable(windows, heads.count);
  if (failed || (!table && classes == 1)) {
    return !failed;
  }
  std::string kind = word("kind", "softmax");
  if (kind == "performer" || kind == "linformer" || kind == "bigbird") {
    attributeError("shift", "kind " + kind +
                                " has no scores of two tokens that the mask of "
                                "a shift could be added to");
    return false;
  }
  Operands operands;
  if (table) {
    operands.push_back({"table", table});
  }
  Attributes attributes = windowAttributes(windows);
  attributes["mask_value"] = Scalar::ofReal(maskValue);
  int64_t tokens = windows.area();
  heads.windowBias =
      emit("window_bias", "relative_bias", std::move(operands),
           std::move(attributes),
           {DType::F32, {classes, table ? heads.count : 1, tokens, tokens}});
  if (classes > 1) {
    heads.windowClasses =
        emit("window_classes", "classes", {}, windowAttributes(windows),
             {DType::I32, {windows.count()}});
  }
  return !failed;
}

ValueRef LayerContext::buildWindows() {
  ValueRef x = read("input");
  int64_t side = integer("window", 1);
  if (failed || !expectFloats("input", x, "[batch, N, D]") ||
      !expectRank("input", x, 3, "[batch, N, D]")) {
    return poison;
  }
  std::optional<Grid> grid = gridOf(x);
  if (!grid) {
    return poison;
  }
  if (grid->height % side != 0 || grid->width % side != 0) {
    attributeError("window",
                   "windows of " + str(Grid{side, side}) +
                       " do not divide an image of " + str(*grid),
                   {x});
    return poison;
  }
  const Grid &known = type(x).grid;
  bool isKnown = known.height == side && known.width == side;
  if (isKnown && shape(x)[1] == side * side) {
    return x; // one window
  }
  return partition(x, {{side, side}, {}, *grid});
}

/// The places of the layer's kernel in an image, or in its squares.
std::optional<Grid> LayerContext::unfoldedGrid(const Grid &image) {
  int64_t kernel = integer("kernel", 1), stride = integer("stride", 1);
  int64_t padding = integer("padding", 0);
  Grid square = image;
  if (given("within")) {
    int64_t side = integer("within", 1);
    square = {side, side};
  }
  if (failed) {
    return std::nullopt;
  }
  if (image.height % square.height != 0 || image.width % square.width != 0) {
    attributeError("within", "squares of " + str(square) +
                                 " do not divide an image of " + str(image));
    return std::nullopt;
  }
  Grid room = {square.height + 2 * padding - kernel,
               square.width + 2 * padding - kernel};
  if (room.height < 0 || room.width < 0) {
    attributeError("kernel", "a kernel of " + str(Grid{kernel, kernel}) +
                                 " is larger than " +
                                 (given("within") ? "a square" : "an image") +
                                 " of " + str(square) + " with a padding of " +
                                 std::to_string(padding));
    return std::nullopt;
  }
  return Grid{room.height / stride + 1, room.width / stride + 1};
}

ValueRef LayerContext::buildUnfold() {
  ValueRef x = read("input");
  const char *wanted = "[batch, channels, height, width] or [batch, N, D]";
  if (failed || !expectFloats("input", x, wanted)) {
    return poison;
  }
  bool isImage = shape(x).size() == 4;
  if (!isImage && !expectRank("input", x, 3, wanted)) {
    return poison;
  }
  if (isImage && given("grid_height")) {
    attributeError("grid_height", "\"grid_height\" has no meaning for an image "
                                  "that is no tokens");
    return poison;
  }
  std::optional<Grid> image =
      isImage ? Grid{shape(x)[2], shape(x)[3]} : gridOf(x);
  std::optional<Grid> places = image ? unfoldedGrid(*image) : std::nullopt;
  if (!places) {
    failed = true;
    return poison;
  }
  int64_t kernel = integer("kernel", 1), squares = 1;
  Attributes attributes = {
      {"kernel", Scalar::ofInteger(kernel)},
      {"stride", Scalar::ofInteger(integer("stride", 1))},
      {"padding", Scalar::ofInteger(integer("padding", 0))}};
  if (given("within")) {
    int64_t side = integer("within", 1);
    squares = product(image->height / side, image->width / side);
    attributes["within"] = Scalar::ofInteger(side);
  }
  if (!isImage) {
    attributes["grid_height"] = Scalar::ofInteger(image->height);
    attributes["grid_width"] = Scalar::ofInteger(image->width);
  }
  Shape result = {product(shape(x)[0], squares),
                  product(places->height, places->width),
                  product(shape(x)[isImage ? 1 : 2], product(kernel, kernel))};
  return emit("unfold", "", {{"x", x}}, std::move(attributes),
              {DType::F32, std::move(result), *places});
}

ValueRef LayerContext::buildMergePatches() {
  ValueRef x = read("input");
  if (failed || !expectFloats("input", x, "[batch, N, D]") ||
      !expectRank("input", x, 3, "[batch, N, D]")) {
    return poison;
  }
  std::optional<Grid> grid = gridOf(x);
  if (!grid) {
    return poison;
  }
  if (grid->height % 2 != 0 || grid->width % 2 != 0) {
    shapeError("input", x,
               "merges blocks of 2 x 2, which do not divide an image of " +
                   str(*grid));
    return poison;
  }
  int64_t columns = product(4, width(x));
  if (failed) {
    return poison;
  }
  return emit("merge_patches", "", {{"x", x}},
              {{"grid_height", Scalar::ofInteger(grid->height)},
               {"grid_width", Scalar::ofInteger(grid->width)}},
              {DType::F32,
               {shape(x)[0], shape(x)[1] / 4, columns},
               {grid->height / 2, grid->width / 2}});
}

} // namespace hova::frontend
