//===- WindowLayers.cpp - Windows of images, merged and unfolded ones -----===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Swin Transformer, section 3.2: attention inside windows of an image of
// tokens, whose grid may be rolled before; and patch merging. Tokens-to-Token
// ViT, section 3.1: soft splits, which are images unfolded.
//
//===----------------------------------------------------------------------===//

#include "frontend/layers/Layers.h"
#include "frontend/layers/Parts.h"
#include "frontend/layers/Windows.h"

namespace hova::frontend {

using reader::inQuotes;

static std::string str(const Grid &grid) {
  return std::to_string(grid.height) + " x " + std::to_string(grid.width);
}

/// The image that tokens [batch, N, D] are of: as given, or as embedded.
static std::optional<Grid> gridOf(LayerContext &layer, ValueRef tokens) {
  int64_t count = layer.shape(tokens)[1];
  if (!layer.given("grid_height")) {
    Grid grid = layer.type(tokens).grid;
    if (!grid) {
      layer.shapeError("input", tokens,
                       "needs the height of the image that its " +
                           std::to_string(count) +
                           " tokens are of: give \"grid_height\"");
      return std::nullopt;
    }
    return grid;
  }
  int64_t height = layer.integer("grid_height", 1);
  if (!layer.hasFailed() && count % height != 0) {
    layer.attributeError("grid_height",
                         std::to_string(count) +
                             " tokens are no image of height " +
                             std::to_string(height),
                         {tokens});
  }
  if (layer.hasFailed()) {
    return std::nullopt;
  }
  return Grid{height, count / height};
}

std::optional<Windows> windowsOf(LayerContext &layer, ValueRef tokens) {
  if (!layer.given("window")) {
    for (const char *name :
         {"shift", "relative_bias", "relative_bias_hidden", "pretrained_window",
          "mask_value", "clamp", "grid_height"}) {
      if (layer.given(name)) {
        layer.attributeError(name, inQuotes(name) + " has no meaning without "
                                                    "\"window\"");
      }
    }
    return std::nullopt;
  }
  int64_t side = layer.integer("window", 1), shift = layer.integer("shift", 0);
  std::string clamp = layer.word("clamp", "both");
  for (const char *role :
       {"query", "key", "value", "mask", "key_valid", "score_bias"}) {
    if (layer.reads(role)) {
      layer.shapeError(role, tokens,
                       std::string("has windows of its input alone, where ") +
                           role + " has no meaning");
    }
  }
  if (layer.given("causal") && layer.boolean("causal", false)) {
    layer.attributeError("causal", "\"causal\" has no meaning inside windows");
  }
  if (layer.given("scores") && layer.boolean("scores", false)) {
    layer.attributeError("scores",
                         "scores inside windows have no meaning for a "
                         "layer whose windows are others");
  }
  std::optional<Grid> grid =
      layer.hasFailed() ? std::nullopt : gridOf(layer, tokens);
  if (!grid) {
    layer.fail();
    return std::nullopt;
  }
  if (shift >= side) {
    layer.attributeError("shift", "\"shift\" must be less than the window of " +
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
    layer.attributeError("window",
                         "windows of " + str(windows.window) +
                             " do not divide an image of " + str(*grid),
                         {tokens});
    return std::nullopt;
  }
  return windows;
}

LayerContext::Attributes Windows::attributes() const {
  return {{"window_height", Scalar::ofInteger(window.height)},
          {"window_width", Scalar::ofInteger(window.width)},
          {"shift_height", Scalar::ofInteger(shift.height)},
          {"shift_width", Scalar::ofInteger(shift.width)},
          {"grid_height", Scalar::ofInteger(grid.height)},
          {"grid_width", Scalar::ofInteger(grid.width)}};
}

int64_t Windows::count() const {
  return grid.height / window.height * (grid.width / window.width);
}

int64_t Windows::classes() const {
  return (shift.height ? 2 : 1) * (shift.width ? 2 : 1);
}

ValueRef partition(LayerContext &layer, ValueRef tokens,
                   const Windows &windows) {
  int64_t batch = layer.product(layer.shape(tokens)[0], windows.count());
  if (layer.hasFailed()) {
    return poison;
  }
  return layer.emit("partition_windows", "windows", {{"x", tokens}},
                    windows.attributes(),
                    {DType::F32,
                     {batch, windows.area(), layer.width(tokens)},
                     windows.window});
}

ValueRef reverse(LayerContext &layer, ValueRef tokens, const Windows &windows) {
  if (layer.hasFailed()) {
    return poison;
  }
  int64_t batch = layer.shape(tokens)[0] / windows.count();
  int64_t count = windows.grid.height * windows.grid.width;
  return layer.emit(
      "reverse_windows", "image", {{"x", tokens}}, windows.attributes(),
      {DType::F32, {batch, count, layer.width(tokens)}, windows.grid});
}

/// Swin Transformer V2, Eq. 3 and 4: a network of two layers makes the numbers
/// of a difference of positions, on a logarithmic scale, so that they can be
/// those of another window than the one that it was trained with.
static ValueRef continuousBiasTable(LayerContext &layer, const Windows &windows,
                                    int64_t heads) {
  constexpr double largest = 16;
  int64_t hidden = layer.integer("relative_bias_hidden", 512);
  int64_t side = layer.integer("pretrained_window", 0);
  int64_t rows = layer.product(2 * windows.window.height - 1,
                               2 * windows.window.width - 1);
  LayerContext::Attributes attributes = windows.attributes();
  attributes["reference_height"] =
      Scalar::ofInteger(side ? side : windows.window.height);
  attributes["reference_width"] =
      Scalar::ofInteger(side ? side : windows.window.width);
  ValueRef offsets = layer.emit("window_offsets", "relative_bias.offsets", {},
                                std::move(attributes), {DType::F32, {rows, 2}});
  ValueRef inner =
      linear(layer, offsets, "relative_bias.hidden", hidden, /*bias=*/true);
  ValueRef active =
      activation(layer, inner, "relative_bias.activation", "relu");
  ValueRef logits =
      linear(layer, active, "relative_bias.output", heads, /*bias=*/false);
  ValueRef shares =
      activation(layer, logits, "relative_bias.sigmoid", "sigmoid");
  return layer.emit("scale", "relative_bias.table", {{"x", shares}},
                    {{"factor", Scalar::ofReal(largest)}},
                    {DType::F32, {rows, heads}});
}

ValueRef relativeBias(LayerContext &layer, const Windows &windows,
                      int64_t heads) {
  bool continuous = layer.isWord("relative_bias", "continuous");
  if (!continuous) {
    for (const char *name : {"relative_bias_hidden", "pretrained_window"}) {
      if (layer.given(name)) {
        layer.attributeError(name, inQuotes(name) +
                                       " has no meaning where "
                                       "\"relative_bias\" is not continuous");
      }
    }
    if (!layer.boolean("relative_bias", false)) {
      return layer.hasFailed() ? poison : absent;
    }
  }
  if (layer.hasFailed()) {
    return poison;
  }
  if (continuous) {
    return continuousBiasTable(layer, windows, heads);
  }
  int64_t rows = layer.product(2 * windows.window.height - 1,
                               2 * windows.window.width - 1);
  return layer.weight("relative_bias", {rows, heads},
                      {Initializer::Kind::Normal, 0.2});
}

ValueRef buildWindows(LayerContext &layer) {
  ValueRef x = layer.read("input");
  int64_t side = layer.integer("window", 1);
  if (layer.hasFailed() || !layer.expectFloats("input", x, "[batch, N, D]") ||
      !layer.expectRank("input", x, 3, "[batch, N, D]")) {
    return poison;
  }
  std::optional<Grid> grid = gridOf(layer, x);
  if (!grid) {
    return poison;
  }
  if (grid->height % side != 0 || grid->width % side != 0) {
    layer.attributeError("window",
                         "windows of " + str(Grid{side, side}) +
                             " do not divide an image of " + str(*grid),
                         {x});
    return poison;
  }
  const Grid &known = layer.type(x).grid;
  bool isKnown = known.height == side && known.width == side;
  if (isKnown && layer.shape(x)[1] == side * side) {
    return x; // one window
  }
  return partition(layer, x, {{side, side}, {}, *grid});
}

namespace {
/// What an unfold says of its kernel, down and across.
struct Kernel {
  explicit Kernel(LayerContext &layer)
      : size(layer.sides("kernel", 1)), stride(layer.sides("stride", 1)),
        padding(layer.sides("padding", 0)),
        dilation(layer.sides("dilation", 1)) {}

  LayerContext::Attributes attributes() const {
    LayerContext::Attributes all;
    auto add = [&](const std::string &name, const Grid &sides) {
      all[name + "_height"] = Scalar::ofInteger(sides.height);
      all[name + "_width"] = Scalar::ofInteger(sides.width);
    };
    add("kernel", size);
    add("stride", stride);
    add("padding", padding);
    add("dilation", dilation);
    return all;
  }
  /// Pixels from the first that it sees to the last, both included.
  Grid extent() const {
    return {(size.height - 1) * dilation.height + 1,
            (size.width - 1) * dilation.width + 1};
  }

  Grid size, stride, padding, dilation;
};
} // namespace

/// One number where both are the same.
static std::string strOfSides(const Grid &sides) {
  return sides.height == sides.width ? std::to_string(sides.height)
                                     : str(sides);
}

/// The places of the layer's kernel in an image, or in its squares.
static std::optional<Grid> unfoldedGrid(LayerContext &layer, const Grid &image,
                                        const Kernel &kernel) {
  Grid square = image;
  if (layer.given("within")) {
    int64_t side = layer.integer("within", 1);
    square = {side, side};
  }
  if (layer.hasFailed()) {
    return std::nullopt;
  }
  if (image.height % square.height != 0 || image.width % square.width != 0) {
    layer.attributeError("within", "squares of " + str(square) +
                                       " do not divide an image of " +
                                       str(image));
    return std::nullopt;
  }
  Grid extent = kernel.extent();
  Grid room = {square.height + 2 * kernel.padding.height - extent.height,
               square.width + 2 * kernel.padding.width - extent.width};
  if (room.height < 0 || room.width < 0) {
    layer.attributeError("kernel",
                         "a kernel of " + str(extent) + " is larger than " +
                             (layer.given("within") ? "a square" : "an image") +
                             " of " + str(square) + " with a padding of " +
                             strOfSides(kernel.padding));
    return std::nullopt;
  }
  return Grid{room.height / kernel.stride.height + 1,
              room.width / kernel.stride.width + 1};
}

ValueRef buildUnfold(LayerContext &layer) {
  ValueRef x = layer.read("input");
  const char *wanted = "[batch, channels, height, width] or [batch, N, D]";
  if (layer.hasFailed() || !layer.expectFloats("input", x, wanted)) {
    return poison;
  }
  bool isImage = layer.shape(x).size() == 4;
  if (!isImage && !layer.expectRank("input", x, 3, wanted)) {
    return poison;
  }
  if (isImage && layer.given("grid_height")) {
    layer.attributeError("grid_height",
                         "\"grid_height\" has no meaning for an image "
                         "that is no tokens");
    return poison;
  }
  std::optional<Grid> image =
      isImage ? Grid{layer.shape(x)[2], layer.shape(x)[3]} : gridOf(layer, x);
  const Kernel kernel(layer);
  std::optional<Grid> places =
      image ? unfoldedGrid(layer, *image, kernel) : std::nullopt;
  if (!places) {
    layer.fail();
    return poison;
  }
  int64_t squares = 1;
  LayerContext::Attributes attributes = kernel.attributes();
  if (layer.given("within")) {
    int64_t side = layer.integer("within", 1);
    squares = layer.product(image->height / side, image->width / side);
    attributes["within"] = Scalar::ofInteger(side);
  }
  if (!isImage) {
    attributes["grid_height"] = Scalar::ofInteger(image->height);
    attributes["grid_width"] = Scalar::ofInteger(image->width);
  }
  Shape result = {
      layer.product(layer.shape(x)[0], squares),
      layer.product(places->height, places->width),
      layer.product(layer.shape(x)[isImage ? 1 : 2],
                    layer.product(kernel.size.height, kernel.size.width))};
  return layer.emit("unfold", "", {{"x", x}}, std::move(attributes),
                    {DType::F32, std::move(result), *places});
}

ValueRef buildMergePatches(LayerContext &layer) {
  ValueRef x = layer.read("input");
  if (layer.hasFailed() || !layer.expectFloats("input", x, "[batch, N, D]") ||
      !layer.expectRank("input", x, 3, "[batch, N, D]")) {
    return poison;
  }
  std::optional<Grid> grid = gridOf(layer, x);
  if (!grid) {
    return poison;
  }
  if (grid->height % 2 != 0 || grid->width % 2 != 0) {
    layer.shapeError(
        "input", x,
        "merges blocks of 2 x 2, which do not divide an image of " +
            str(*grid));
    return poison;
  }
  int64_t columns = layer.product(4, layer.width(x));
  if (layer.hasFailed()) {
    return poison;
  }
  return layer.emit("merge_patches", "", {{"x", x}},
                    {{"grid_height", Scalar::ofInteger(grid->height)},
                     {"grid_width", Scalar::ofInteger(grid->width)}},
                    {DType::F32,
                     {layer.shape(x)[0], layer.shape(x)[1] / 4, columns},
                     {grid->height / 2, grid->width / 2}});
}

} // namespace hova::frontend
