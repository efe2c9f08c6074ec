//===- DenseLayers.cpp - Linear layers, norms, element-wise operators -----===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "frontend/elaborate/LayerContext.h"

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

ValueRef LayerContext::linear(ValueRef x, const std::string &below, int64_t out,
                              bool bias) {
  std::string prefix = below.empty() ? "" : below + ".";
  if (failed) {
    return poison;
  }
  int64_t in = width(x);
  ValueRef matrix = weight(prefix + "weight", {in, out}, {Kind::Glorot, 0});
  checkWork({rows(shape(x)), in, out});
  Operands operands = {{"x", x}, {"weight", matrix}};
  if (bias) {
    operands.push_back(
        {"bias", weight(prefix + "bias", {out}, {Kind::Bias, 0})});
  }
  return emit("linear", below, std::move(operands), {},
              failed ? ValueType()
                     : ValueType{DType::F32, withLast(shape(x), out)});
}

ValueRef LayerContext::buildLinear() {
  ValueRef x = read("input");
  int64_t out = integer("width", 0);
  bool bias = boolean("bias", true);
  boolean("transposed", false);
  if (failed || !expectFloats("input", x, "[.., in]")) {
    return poison;
  }
  bool tied = layer.paths.count("weight") > 0;
  if (!tied && given("transposed")) {
    attributeError("transposed", "\"transposed\" needs \"weight\": an own "
                                 "weight is always [in, out]");
  }
  return tied ? buildTiedLinear(x, out) : linear(x, "", out, bias);
}

ValueRef LayerContext::buildTiedLinear(ValueRef x, int64_t out) {
  const auto &[node, pattern] = layer.paths.at("weight");
  std::optional<std::string> wanted =
      elaborator.evaluatePath(pattern, *node, environment);
  if (!wanted) {
    failed = true;
    return poison;
  }
  const ProgramWeight *shared =
      elaborator.findSharedWeight(*wanted, environment);
  if (!shared) {
    if (!elaborator.isUnbuilt(*wanted, environment)) {
      elaborator.error(*node,
                       "no earlier layer has the weight " + inQuotes(*wanted));
    }
    failed = true;
    return poison;
  }
  ValueRef value = ValueRef::of(shared->value);
  bool transposed = boolean("transposed", false);
  Shape needed = transposed ? Shape{out, width(x)} : Shape{width(x), out};
  if (shape(value) != needed) {
    attributeError("weight",
                   "the weight " + inQuotes(*wanted) + " has shape " +
                       str(shape(value)) + ", but " + str(needed) +
                       " is needed here",
                   {value, x});
    return poison;
  }
  checkWork({rows(shape(x)), width(x), out});
  Operands operands = {{"x", x}, {"weight", value}};
  if (boolean("bias", true)) {
    operands.push_back({"bias", weight("bias", {out}, {Kind::Bias, 0})});
  }
  return emit("linear", "", std::move(operands),
              {{"transposed", Scalar::ofBoolean(transposed)}},
              {DType::F32, withLast(shape(x), out)});
}

ValueRef LayerContext::norm(ValueRef x, const std::string &below, double eps) {
  if (failed) {
    return poison;
  }
  std::string prefix = below.empty() ? "" : below + ".";
  Shape vector = {width(x)};
  ValueRef gain = weight(prefix + "gain", vector, {Kind::Gain, 0});
  ValueRef bias = weight(prefix + "bias", vector, {Kind::Bias, 0});
  return emit("layer_norm", below, {{"x", x}, {"gain", gain}, {"bias", bias}},
              {{"eps", Scalar::ofReal(eps)}}, ValueType(type(x)));
}

ValueRef LayerContext::sum(ValueRef lhs, ValueRef rhs,
                           const std::string &below) {
  if (failed) {
    return poison;
  }
  return emit("add", below, {{"lhs", lhs}, {"rhs", rhs}}, {},
              ValueType(type(lhs)));
}

ValueRef LayerContext::buildLayerNorm() {
  ValueRef x = read("input");
  double eps = number("eps", 1e-5);
  if (failed || !expectFloats("input", x, "[.., D]")) {
    return poison;
  }
  return norm(x, "", eps);
}

ValueRef LayerContext::activation(ValueRef x, const std::string &below,
                                  const std::string &kind) {
  if (failed) {
    return poison;
  }
  return emit("activation", below, {{"x", x}}, {{"kind", Scalar::ofText(kind)}},
              ValueType(type(x)));
}

ValueRef LayerContext::buildActivation() {
  ValueRef x = read("input");
  std::string kind = word("kind", "");
  if (failed || !expectFloats("input", x, "of any shape")) {
    return poison;
  }
  return activation(x, "", kind);
}

ValueRef LayerContext::buildElementwise() {
  std::vector<ValueRef> inputs = readList("inputs");
  if (failed) {
    return poison;
  }
  for (ValueRef input : inputs) {
    if (!expectFloats("inputs", input, "of one shape")) {
      return poison;
    }
    const Shape &first = shape(inputs[0]);
    const Shape &other = shape(input);
    bool isSuffix = other.size() <= first.size() &&
                    std::equal(other.rbegin(), other.rend(), first.rbegin());
    bool isColumn = other == withLast(first, 1);
    if (!isSuffix && !isColumn) {
      shapeError("inputs", inputs[0],
                 "cannot combine shapes " + str(first) + " and " + str(other),
                 {input});
      return poison;
    }
  }
  ValueRef result = inputs[0];
  for (size_t i = 1; i < inputs.size(); ++i) {
    // Only the last one carries the layer's own path.
    std::string below = i + 1 == inputs.size() ? "" : std::to_string(i);
    result = emit(layer.op->name.c_str(), below,
                  {{"lhs", result}, {"rhs", inputs[i]}}, {},
                  ValueType(type(result)));
  }
  return result;
}

ValueRef LayerContext::buildSoftmax() {
  ValueRef x = read("input");
  bool log = boolean("log", false);
  if (failed || !expectFloats("input", x, "[.., D]")) {
    return poison;
  }
  return emit("softmax", "", {{"x", x}}, {{"log", Scalar::ofBoolean(log)}},
              ValueType(type(x)));
}

ValueRef LayerContext::buildScale() {
  ValueRef x = read("input");
  double factor = number("by", 1);
  if (failed || !expectFloats("input", x, "of any shape")) {
    return poison;
  }
  return emit("scale", "", {{"x", x}}, {{"factor", Scalar::ofReal(factor)}},
              ValueType(type(x)));
}

int64_t LayerContext::axisOf(ValueRef value) {
  int64_t rank = static_cast<int64_t>(shape(value).size());
  int64_t axis = integer("axis", -1);
  int64_t counted = axis < 0 ? axis + rank : axis;
  if (counted < 0 || counted >= rank) {
    attributeError("axis",
                   "axis " + std::to_string(axis) + " of a value with " +
                       std::to_string(rank) + " axes",
                   {value});
    return 0;
  }
  return counted;
}

ValueRef LayerContext::buildConcat() {
  std::vector<ValueRef> inputs = readList("inputs");
  if (failed || !expectFloats("inputs", inputs[0], "of any shape")) {
    return poison;
  }
  int64_t axis = axisOf(inputs[0]);
  if (failed) {
    return poison;
  }
  Shape joined = shape(inputs[0]);
  joined[static_cast<size_t>(axis)] = 0;
  Operands operands;
  for (ValueRef input : inputs) {
    Shape other = shape(input);
    int64_t along = 0;
    if (other.size() == joined.size()) {
      std::swap(along, other[static_cast<size_t>(axis)]);
    }
    Shape expected = joined;
    expected[static_cast<size_t>(axis)] = 0;
    if (other != expected || type(input).dtype != DType::F32) {
      shapeError("inputs", inputs[0],
                 "cannot join " + type(inputs[0]).str() + " and " +
                     type(input).str() + " along axis " + std::to_string(axis),
                 {input});
      return poison;
    }
    joined[static_cast<size_t>(axis)] += along;
    operands.push_back({"inputs", input});
  }
  if (inputs.size() == 1) {
    return inputs[0];
  }
  return emit("concat", "", std::move(operands),
              {{"axis", Scalar::ofInteger(axis)}}, {DType::F32, joined});
}

ValueRef LayerContext::buildSlice() {
  ValueRef x = read("input");
  if (failed || !expectFloats("input", x, "of any shape")) {
    return poison;
  }
  int64_t axis = axisOf(x);
  int64_t size = shape(x)[static_cast<size_t>(axis)];
  int64_t start = integer("start", 0);
  int64_t end = integer("end", size);
  if (!failed && (start >= end || end > size)) {
    attributeError(given("end") ? "end" : "start",
                   "the slice [" + std::to_string(start) + ", " +
                       std::to_string(end) + ") of an axis of " +
                       std::to_string(size),
                   {x});
  }
  if (failed) {
    return poison;
  }
  Shape part = shape(x);
  part[static_cast<size_t>(axis)] = end - start;
  return emit(
      "slice", "", {{"x", x}},
      {{"axis", Scalar::ofInteger(axis)}, {"offset", Scalar::ofInteger(start)}},
      {DType::F32, part});
}

ValueRef LayerContext::buildPad() {
  ValueRef x = read("input");
  if (failed || !expectFloats("input", x, "of any shape")) {
    return poison;
  }
  int64_t axis = axisOf(x);
  int64_t before = integer("before", 0), after = integer("after", 0);
  if (failed || before + after == 0) {
    return failed ? poison : x;
  }
  Shape padded = shape(x);
  int64_t &size = padded[static_cast<size_t>(axis)];
  if (size + before + after > INT32_MAX) {
    attributeError(before > after ? "before" : "after",
                   "an axis of " + std::to_string(size + before + after) +
                       " elements; the largest is 2147483647",
                   {x});
    return poison;
  }
  size += before + after;
  return emit("pad", "", {{"x", x}},
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

ValueRef LayerContext::buildReshape() {
  ValueRef x = read("input");
  Shape wanted = shapeAttribute("shape");
  if (failed || !expectFloats("input", x, "of any shape")) {
    return poison;
  }
  if (countElements(wanted) != countElements(shape(x))) {
    attributeError("shape",
                   "the elements of " + type(x).str() + " do not fill " +
                       str(wanted),
                   {x});
    return poison;
  }
  return emit("reshape", "", {{"x", x}}, {}, {DType::F32, wanted});
}

ValueRef LayerContext::buildFeedForward() {
  ValueRef x = read("input");
  int64_t hidden = integer("hidden", 0);
  std::string kind = word("activation", "relu");
  bool bias = boolean("bias", true);
  if (failed || !expectFloats("input", x, "[.., D]")) {
    return poison;
  }
  int64_t out = integer("width", width(x));
  ValueRef inner = linear(x, "hidden", hidden, bias);
  ValueRef active = activation(inner, "activation", kind);
  return linear(active, "output", out, bias);
}

} // namespace hova::frontend
