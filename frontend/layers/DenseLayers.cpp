//===- DenseLayers.cpp - Linear layers, norms, element-wise operators -----===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "frontend/layers/Layers.h"
#include "frontend/layers/Parts.h"

#include <algorithm>

namespace hova::frontend {

using reader::inQuotes;
using Kind = Initializer::Kind;

/// `shape` with another last dimension.
static Shape withLast(Shape shape, int64_t last) {
  shape.back() = last;
  return shape;
}

/// Rows of a value: everything but the last axis.
static int64_t rows(const Shape &shape) {
  int64_t count = 1;
  for (size_t i = 0; i + 1 < shape.size(); ++i) {
    count *= shape[i];
  }
  return count;
}

ValueRef linear(LayerContext &layer, ValueRef x, const std::string &below,
                int64_t out, bool bias) {
  std::string prefix = below.empty() ? "" : below + ".";
  if (layer.hasFailed()) {
    return poison;
  }
  int64_t in = layer.width(x);
  ValueRef matrix =
      layer.weight(prefix + "weight", {in, out}, {Kind::Glorot, 0});
  layer.checkWork({rows(layer.shape(x)), in, out});
  LayerContext::Operands operands = {{"x", x}, {"weight", matrix}};
  if (bias) {
    operands.push_back(
        {"bias", layer.weight(prefix + "bias", {out}, {Kind::Bias, 0})});
  }
  return layer.emit("linear", below, std::move(operands), {},
                    layer.hasFailed()
                        ? ValueType()
                        : ValueType{DType::F32, withLast(layer.shape(x), out)});
}

/// With the weight of another layer.
static ValueRef buildTiedLinear(LayerContext &layer, ValueRef x, int64_t out) {
  ValueRef value = layer.sharedWeight("weight");
  bool transposed = layer.boolean("transposed", false);
  if (layer.hasFailed()) {
    return poison;
  }
  int64_t in = layer.width(x);
  Shape needed = transposed ? Shape{out, in} : Shape{in, out};
  if (layer.shape(value) != needed) {
    layer.attributeError("weight",
                         "the weight " + inQuotes(layer.sharedPath("weight")) +
                             " has shape " + str(layer.shape(value)) +
                             ", but " + str(needed) + " is needed here",
                         {value, x});
    return poison;
  }
  layer.checkWork({rows(layer.shape(x)), in, out});
  LayerContext::Operands operands = {{"x", x}, {"weight", value}};
  if (layer.boolean("bias", true)) {
    operands.push_back({"bias", layer.weight("bias", {out}, {Kind::Bias, 0})});
  }
  return layer.emit("linear", "", std::move(operands),
                    {{"transposed", Scalar::ofBoolean(transposed)}},
                    {DType::F32, withLast(layer.shape(x), out)});
}

ValueRef buildLinear(LayerContext &layer) {
  ValueRef x = layer.read("input");
  int64_t out = layer.integer("width", 0);
  bool bias = layer.boolean("bias", true);
  layer.boolean("transposed", false);
  if (layer.hasFailed() || !layer.expectFloats("input", x, "[.., in]")) {
    return poison;
  }
  bool tied = layer.given("weight");
  if (!tied && layer.given("transposed")) {
    layer.attributeError("transposed",
                         "\"transposed\" needs \"weight\": an own weight is "
                         "always [in, out]");
  }
  return tied ? buildTiedLinear(layer, x, out)
              : linear(layer, x, "", out, bias);
}

ValueRef norm(LayerContext &layer, ValueRef x, const std::string &below,
              const NormOptions &options) {
  if (layer.hasFailed()) {
    return poison;
  }
  std::string prefix = below.empty() ? "" : below + ".";
  Shape vector = {layer.width(x) / options.heads};
  LayerContext::Operands operands = {{"x", x}};
  if (options.gain) {
    operands.push_back(
        {"gain", layer.weight(prefix + "gain", vector, {Kind::Gain, 0})});
  }
  if (options.bias) {
    operands.push_back(
        {"bias", layer.weight(prefix + "bias", vector, {Kind::Bias, 0})});
  }
  return layer.emit("layer_norm", below, std::move(operands),
                    {{"eps", Scalar::ofReal(options.eps)},
                     {"kind", Scalar::ofText(options.kind)},
                     {"heads", Scalar::ofInteger(options.heads)}},
                    ValueType(layer.type(x)));
}

bool expectEpsOfLengths(LayerContext &layer, const char *name, double eps) {
  if (eps > 0) {
    return true;
  }
  layer.attributeError(name, inQuotes(name) +
                                 " of kind l2 is the least length, and must be "
                                 "above 0");
  return false;
}

static ValueRef combine(LayerContext &layer, const char *mnemonic, ValueRef lhs,
                        ValueRef rhs, const std::string &below) {
  if (layer.hasFailed()) {
    return poison;
  }
  return layer.emit(mnemonic, below, {{"lhs", lhs}, {"rhs", rhs}}, {},
                    ValueType(layer.type(lhs)));
}

ValueRef sum(LayerContext &layer, ValueRef lhs, ValueRef rhs,
             const std::string &below) {
  return combine(layer, "add", lhs, rhs, below);
}

ValueRef product(LayerContext &layer, ValueRef lhs, ValueRef rhs,
                 const std::string &below) {
  return combine(layer, "multiply", lhs, rhs, below);
}

ValueRef buildLayerNorm(LayerContext &layer) {
  ValueRef x = layer.read("input");
  bool isOfLength = layer.word("kind", "standard") == "l2";
  bool isCentred = layer.boolean("center", !isOfLength);
  NormOptions options;
  options.eps = layer.number("eps", isOfLength ? 1e-12 : 1e-5);
  options.kind = isOfLength ? "l2" : isCentred ? "standard" : "rms";
  options.gain = layer.boolean("gain", !isOfLength);
  options.bias = layer.boolean("bias", !isOfLength);
  options.heads = layer.integer("heads", 1);
  if (isOfLength && isCentred) {
    layer.attributeError("center", "\"center\" has no meaning for kind l2, "
                                   "which divides rows by their lengths");
  }
  if (layer.hasFailed() || !layer.expectFloats("input", x, "[.., D]") ||
      !layer.splitsEvenly("input", x, options.heads) ||
      (isOfLength && !expectEpsOfLengths(layer, "eps", options.eps))) {
    return poison;
  }
  return norm(layer, x, "", options);
}

ValueRef activation(LayerContext &layer, ValueRef x, const std::string &below,
                    const std::string &kind) {
  if (layer.hasFailed()) {
    return poison;
  }
  return layer.emit("activation", below, {{"x", x}},
                    {{"kind", Scalar::ofText(kind)}}, ValueType(layer.type(x)));
}

ValueRef buildActivation(LayerContext &layer) {
  ValueRef x = layer.read("input");
  std::string kind = layer.word("kind", "");
  if (layer.hasFailed() || !layer.expectFloats("input", x, "of any shape")) {
    return poison;
  }
  return activation(layer, x, "", kind);
}

/// Whether a value of shape `repeated` repeats to be one of `shape`: along
/// axes, counted from the last, that it has not or in which it has one element.
static bool repeatsTo(const Shape &repeated, const Shape &shape) {
  return repeated.size() <= shape.size() &&
         std::equal(repeated.rbegin(), repeated.rend(), shape.rbegin(),
                    [](int64_t size, int64_t other) {
                      return size == 1 || size == other;
                    });
}

/// The operation of two values or more, from left to right. The dialect's rhs
/// is the one that repeats: where operands have an order, `swapped` says that
/// they changed places.
static ValueRef combineAll(LayerContext &layer, bool isOrdered) {
  std::vector<ValueRef> inputs = layer.readList("inputs");
  if (layer.hasFailed()) {
    return poison;
  }
  ValueRef result = inputs[0];
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!layer.expectFloats("inputs", inputs[i], "of one shape")) {
      return poison;
    }
    if (i == 0) {
      continue;
    }
    ValueRef lhs = result, rhs = inputs[i];
    bool swapped = !repeatsTo(layer.shape(rhs), layer.shape(lhs));
    if (swapped) {
      std::swap(lhs, rhs);
    }
    if (!repeatsTo(layer.shape(rhs), layer.shape(lhs))) {
      layer.shapeError("inputs", result,
                       "cannot combine shapes " + str(layer.shape(result)) +
                           " and " + str(layer.shape(inputs[i])),
                       {inputs[i]});
      return poison;
    }
    // Only the last one carries the layer's own path.
    std::string below = i + 1 == inputs.size() ? "" : std::to_string(i);
    LayerContext::Attributes attributes;
    if (isOrdered) {
      attributes["swapped"] = Scalar::ofBoolean(swapped);
    }
    result =
        layer.emit(layer.op().name.c_str(), below, {{"lhs", lhs}, {"rhs", rhs}},
                   std::move(attributes), ValueType(layer.type(lhs)));
  }
  return result;
}

ValueRef buildElementwise(LayerContext &layer) {
  return combineAll(layer, /*isOrdered=*/false);
}

ValueRef buildOrdered(LayerContext &layer) {
  return combineAll(layer, /*isOrdered=*/true);
}

ValueRef buildExp(LayerContext &layer) {
  ValueRef x = layer.read("input");
  if (layer.hasFailed() || !layer.expectFloats("input", x, "of any shape")) {
    return poison;
  }
  return layer.emit("exp", "", {{"x", x}}, {}, ValueType(layer.type(x)));
}

ValueRef buildSoftmax(LayerContext &layer) {
  ValueRef x = layer.read("input");
  bool log = layer.boolean("log", false);
  if (layer.hasFailed() || !layer.expectFloats("input", x, "[.., D]")) {
    return poison;
  }
  return layer.emit("softmax", "", {{"x", x}},
                    {{"log", Scalar::ofBoolean(log)}},
                    ValueType(layer.type(x)));
}

ValueRef buildScale(LayerContext &layer) {
  ValueRef x = layer.read("input");
  double factor = layer.number("by", 1);
  if (layer.hasFailed() || !layer.expectFloats("input", x, "of any shape")) {
    return poison;
  }
  return layer.emit("scale", "", {{"x", x}},
                    {{"factor", Scalar::ofReal(factor)}},
                    ValueType(layer.type(x)));
}

static int64_t axisOf(LayerContext &layer, ValueRef value) {
  int64_t rank = static_cast<int64_t>(layer.shape(value).size());
  int64_t axis = layer.integer("axis", -1);
  int64_t counted = axis < 0 ? axis + rank : axis;
  if (counted < 0 || counted >= rank) {
    layer.attributeError("axis",
                         "axis " + std::to_string(axis) + " of a value with " +
                             std::to_string(rank) + " axes",
                         {value});
    return 0;
  }
  return counted;
}

ValueRef buildConcat(LayerContext &layer) {
  std::vector<ValueRef> inputs = layer.readList("inputs");
  if (layer.hasFailed() ||
      !layer.expectFloats("inputs", inputs[0], "of any shape")) {
    return poison;
  }
  int64_t axis = axisOf(layer, inputs[0]);
  if (layer.hasFailed()) {
    return poison;
  }
  Shape joined = layer.shape(inputs[0]);
  joined[static_cast<size_t>(axis)] = 0;
  LayerContext::Operands operands;
  for (ValueRef input : inputs) {
    Shape other = layer.shape(input);
    int64_t along = 0;
    if (other.size() == joined.size()) {
      std::swap(along, other[static_cast<size_t>(axis)]);
    }
    Shape expected = joined;
    expected[static_cast<size_t>(axis)] = 0;
    if (other != expected || layer.type(input).dtype != DType::F32) {
      layer.shapeError("inputs", inputs[0],
                       "cannot join " + layer.type(inputs[0]).str() + " and " +
                           layer.type(input).str() + " along axis " +
                           std::to_string(axis),
                       {input});
      return poison;
    }
    joined[static_cast<size_t>(axis)] += along;
    operands.push_back({"inputs", input});
  }
  if (inputs.size() == 1) {
    return inputs[0];
  }
  return layer.emit("concat", "", std::move(operands),
                    {{"axis", Scalar::ofInteger(axis)}}, {DType::F32, joined});
}

ValueRef buildSlice(LayerContext &layer) {
  ValueRef x = layer.read("input");
  if (layer.hasFailed() || !layer.expectFloats("input", x, "of any shape")) {
    return poison;
  }
  int64_t axis = axisOf(layer, x);
  int64_t size = layer.shape(x)[static_cast<size_t>(axis)];
  int64_t start = layer.integer("start", 0);
  int64_t end = layer.integer("end", size);
  if (!layer.hasFailed() && (start >= end || end > size)) {
    layer.attributeError(layer.given("end") ? "end" : "start",
                         "the slice [" + std::to_string(start) + ", " +
                             std::to_string(end) + ") of an axis of " +
                             std::to_string(size),
                         {x});
  }
  if (layer.hasFailed()) {
    return poison;
  }
  Shape part = layer.shape(x);
  part[static_cast<size_t>(axis)] = end - start;
  return layer.emit(
      "slice", "", {{"x", x}},
      {{"axis", Scalar::ofInteger(axis)}, {"offset", Scalar::ofInteger(start)}},
      {DType::F32, part});
}

ValueRef buildPad(LayerContext &layer) {
  ValueRef x = layer.read("input");
  if (layer.hasFailed() || !layer.expectFloats("input", x, "of any shape")) {
    return poison;
  }
  int64_t axis = axisOf(layer, x);
  int64_t before = layer.integer("before", 0),
          after = layer.integer("after", 0);
  if (layer.hasFailed() || before + after == 0) {
    return layer.hasFailed() ? poison : x;
  }
  Shape padded = layer.shape(x);
  int64_t &size = padded[static_cast<size_t>(axis)];
  if (size + before + after > INT32_MAX) {
    layer.attributeError(before > after ? "before" : "after",
                         "an axis of " + std::to_string(size + before + after) +
                             " elements; the largest is 2147483647",
                         {x});
    return poison;
  }
  size += before + after;
  return layer.emit("pad", "", {{"x", x}},
                    {{"axis", Scalar::ofInteger(axis)},
                     {"before", Scalar::ofInteger(before)}},
                    {DType::F32, padded});
}

/// The product, or nothing where it is no 64-bit number.
static std::optional<int64_t> countElements(const Shape &shape) {
  int64_t count = 1;
  for (int64_t dimension : shape) {
    if (__builtin_mul_overflow(count, dimension, &count)) {
      return std::nullopt;
    }
  }
  return count;
}

ValueRef buildReshape(LayerContext &layer) {
  ValueRef x = layer.read("input");
  Shape wanted = layer.shapeAttribute("shape");
  if (layer.hasFailed() || !layer.expectFloats("input", x, "of any shape")) {
    return poison;
  }
  if (countElements(wanted) != countElements(layer.shape(x))) {
    layer.attributeError("shape",
                         "the elements of " + layer.type(x).str() +
                             " do not fill " + str(wanted),
                         {x});
    return poison;
  }
  // What has as many entries as there are items in the largest run may be other
  // ones in a smaller.
  std::optional<ItemsOfRun> items = layer.itemsOfRun();
  if (items && !layer.beginsWithItems("shape") &&
      layer.shape(x)[0] % items->most == 0 && wanted[0] % items->most == 0) {
    layer.attributeError("shape",
                         "items of any number are reshaped to what begins with "
                         "\"" +
                             items->name + "\", not with as many",
                         {x});
    return poison;
  }
  return layer.emit("reshape", "", {{"x", x}}, {}, {DType::F32, wanted});
}

ValueRef buildFeedForward(LayerContext &layer) {
  ValueRef x = layer.read("input");
  int64_t hidden = layer.integer("hidden", 0);
  std::string kind = layer.word("activation", "relu");
  bool bias = layer.boolean("bias", true);
  bool gated = layer.boolean("gate", false);
  if (layer.hasFailed() || !layer.expectFloats("input", x, "[.., D]")) {
    return poison;
  }
  int64_t out = layer.integer("width", layer.width(x));
  ValueRef inner = linear(layer, x, gated ? "gate" : "hidden", hidden, bias);
  ValueRef active = activation(layer, inner, "activation", kind);
  if (gated) {
    ValueRef values = linear(layer, x, "hidden", hidden, bias);
    active = product(layer, active, values, "product");
  }
  return linear(layer, active, "output", out, bias);
}

} // namespace hova::frontend
