//===- LayerWeights.cpp - Weights of a layer, own and shared ones ---------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "frontend/elaborate/LayerContext.h"

#include <cmath>

namespace hova::frontend {

using reader::inQuotes;

/// Weights of another layer are all there: one that is missing would be drawn,
/// or read from a file, under that layer's path.
bool LayerContext::mayBorrow(const std::string &name) {
  if (!environment.borrower || elaborator.program->findWeight(name)) {
    return true;
  }
  // What a mistake before has left out is no mistake of this layer.
  if (!failed && !elaborator.diagnostics.hasErrors()) {
    const reader::Node &node = *environment.borrower->weightsNode;
    elaborator.error(node, "no earlier layer has the weight " + inQuotes(name) +
                               ", which " + inQuotes(path) + " needs");
  }
  return false;
}

/// What the layer says instead of an operator's own initializer; nothing after
/// a mistake.
std::optional<Initializer>
LayerContext::initializerOf(const InitializerSpec &spec, const Shape &shape,
                            Initializer initializer) {
  using Kind = Initializer::Kind;
  // Values four deviations away must still be numbers of f32.
  constexpr double largest = 8.5e37;
  initializer.kind = spec.kind == "normal"     ? Kind::Normal
                     : spec.kind == "uniform"  ? Kind::Uniform
                     : spec.kind == "glorot"   ? Kind::Glorot
                     : spec.kind == "sinusoid" ? Kind::Sinusoid
                                               : Kind::Constant;
  initializer.value = spec.kind == "ones" ? 1 : 0;
  bool isTable = initializer.kind == Kind::Sinusoid;
  if (isTable && shape.size() != 2) {
    elaborator.error(*spec.node,
                     "a sinusoid initialiser needs a table, got the shape " +
                         str(shape));
    return std::nullopt;
  }
  if (spec.base) {
    std::optional<double> base = elaborator.number(*spec.base, environment);
    if (base && *base < 1) {
      elaborator.error(*spec.base->node, "a base must be at least 1, got " +
                                             Scalar::ofReal(*base).str());
    }
    if (!base || *base < 1) {
      return std::nullopt;
    }
    initializer.base = *base;
  }
  if (!spec.value) {
    return initializer;
  }
  std::optional<double> given = elaborator.number(*spec.value, environment);
  if (!given) {
    return std::nullopt;
  }
  double value = *given, rows = static_cast<double>(shape.front());
  std::string wrong;
  if (isTable && (value != std::floor(value) || value < 0 || value > rows)) {
    wrong = "\"first\" is the first row of positions, 0 to " +
            Scalar::ofReal(rows).str() + ", got " + Scalar::ofReal(value).str();
  } else if (!isTable && spec.kind != "constant" && value < 0) {
    wrong = "a spread must not be negative";
  } else if (spec.kind == "normal" && value > largest) {
    wrong = "a deviation must be at most 8.5e+37, got " +
            Scalar::ofReal(value).str();
  }
  if (!wrong.empty()) {
    elaborator.error(*spec.value->node, wrong);
    return std::nullopt;
  }
  initializer.value = value;
  return initializer;
}

ValueRef LayerContext::weight(const std::string &below, Shape shape,
                              Initializer initializer, bool trainable) {
  auto given = layer.initializers.find(below);
  if (given != layer.initializers.end()) {
    std::optional<Initializer> wanted =
        initializerOf(given->second, shape, initializer);
    failed |= !wanted;
    initializer = wanted.value_or(initializer);
  }
  std::string name = weightPath + "." + below;
  if (!elaborator.checkSize(shape, *layer.node) ||
      !elaborator.spend(unitsOfValue, *layer.node) ||
      !elaborator.spendPath(weightPath, *layer.node) || !mayBorrow(name)) {
    failed = true;
    return poison;
  }
  ValueRef value =
      elaborator.addWeight(name, std::move(shape), initializer,
                           environment.trainable && trainable, layer.nameRange);
  failed |= !value;
  return value;
}

std::string LayerContext::sharedPath(const char *name) {
  const auto &[node, pattern] = layer.paths.at(name);
  std::optional<std::string> path =
      elaborator.evaluatePath(pattern, *node, environment);
  failed |= !path;
  return path.value_or("");
}

ValueRef LayerContext::sharedWeight(const char *name) {
  std::string path = sharedPath(name);
  const ProgramWeight *shared =
      path.empty() ? nullptr : elaborator.findSharedWeight(path, environment);
  if (shared) {
    return ValueRef::of(shared->value);
  }
  if (!path.empty() && !elaborator.isUnbuilt(path, environment)) {
    elaborator.error(*layer.paths.at(name).first,
                     "no earlier layer has the weight " + inQuotes(path));
  }
  failed = true;
  return poison;
}

ValueRef LayerContext::blockTable(const std::string &below, Shape shape,
                                  BlockTable table) {
  auto given = layer.initializers.find(below);
  if (given != layer.initializers.end()) {
    const std::string &kind = given->second.kind;
    if (!table.allowsRepeats ||
        (kind != "zeros" && kind != "ones" && kind != "constant")) {
      elaborator.error(*given->second.node,
                       "the blocks of a table differ and are drawn; only with "
                       "\"repeats\": \"count\" can they all be one number");
      failed = true;
      return poison;
    }
  }
  ValueRef numbers =
      weight(below, std::move(shape), {Initializer::Kind::Blocks, 0},
             /*trainable=*/false);
  if (!failed) {
    elaborator.describeBlockTable(numbers, table);
  }
  return numbers;
}

} // namespace hova::frontend
