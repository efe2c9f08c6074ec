//===- LayerAttributes.cpp - What a layer says, with its defaults ---------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "frontend/elaborate/LayerContext.h"

#include <algorithm>

namespace hova::frontend {

using reader::inQuotes;

int64_t LayerContext::integer(const char *name, int64_t otherwise) {
  auto setting = layer.attributes.find(name);
  if (setting == layer.attributes.end()) {
    return otherwise;
  }
  return integerOf(setting->second, name, otherwise);
}

int64_t LayerContext::integerOf(const Setting &setting, const char *name,
                                int64_t otherwise) {
  std::optional<int64_t> value = elaborator.integer(setting, environment);
  if (!value) {
    failed = true;
    return otherwise;
  }
  const AttributeInfo &info = *layer.op->attribute(name);
  bool tooSmall = info.minimum && static_cast<double>(*value) < *info.minimum;
  if (tooSmall || *value > INT32_MAX) {
    failed = true;
    elaborator.error(
        *setting.node,
        inQuotes(name) + " must be " +
            (tooSmall ? "at least " + Scalar::ofReal(*info.minimum).str()
                      : "at most 2147483647") +
            ", got " + std::to_string(*value));
    return otherwise;
  }
  return *value;
}

std::optional<ItemsOfRun> LayerContext::itemsOfRun() const {
  std::string name = elaborator.rangeOfItemsAlone();
  return name.empty() ? std::nullopt
                      : std::optional(ItemsOfRun{name, elaborator.mostItems()});
}

bool LayerContext::beginsWithItems(const char *name) const {
  const auto &shape = layer.shapes.at(name);
  return !shape.empty() && elaborator.areItems(shape[0]);
}

int64_t LayerContext::items(const char *name, int64_t otherwise) {
  auto setting = layer.attributes.find(name);
  bool areItems =
      setting != layer.attributes.end() && elaborator.areItems(setting->second);
  return areItems ? elaborator.mostItems() : integer(name, otherwise);
}

Grid LayerContext::sides(const char *name, int64_t otherwise) {
  auto two = layer.shapes.find(name);
  if (two != layer.shapes.end()) {
    return {integerOf(two->second[0], name, otherwise),
            integerOf(two->second[1], name, otherwise)};
  }
  int64_t both = integer(name, otherwise);
  return {both, both};
}

Shape LayerContext::shapeAttribute(const char *name) {
  Shape shape;
  for (const Setting &dimension : layer.shapes.at(name)) {
    // As many items as there are are as many in every run.
    bool areItems =
        shape.empty() && layer.op->name == "reshape" && beginsWithItems(name);
    std::optional<int64_t> size =
        areItems ? elaborator.mostItems()
                 : elaborator.integer(dimension, environment);
    bool fits = size && *size >= 1 && *size <= INT32_MAX;
    if (size && !fits) {
      elaborator.error(*dimension.node,
                       "a dimension must be 1 to 2147483647, got " +
                           std::to_string(*size));
    }
    failed |= !fits;
    shape.push_back(fits ? *size : 1);
  }
  return failed ? Shape() : shape;
}

double LayerContext::number(const char *name, double otherwise) {
  auto setting = layer.attributes.find(name);
  if (setting == layer.attributes.end()) {
    return otherwise;
  }
  std::optional<double> value = elaborator.number(setting->second, environment);
  if (!value) {
    failed = true;
    return otherwise;
  }
  const AttributeInfo &info = *layer.op->attribute(name);
  if (info.minimum && *value < *info.minimum) {
    attributeError(name, inQuotes(name) + " must be at least " +
                             Scalar::ofReal(*info.minimum).str() + ", got " +
                             Scalar::ofReal(*value).str());
  }
  return *value;
}

bool LayerContext::boolean(const char *name, bool otherwise) {
  auto setting = layer.attributes.find(name);
  if (setting == layer.attributes.end()) {
    return otherwise;
  }
  std::optional<bool> value = elaborator.boolean(setting->second, environment);
  failed |= !value;
  return value.value_or(otherwise);
}

std::optional<Scalar> LayerContext::scalar(const char *name) {
  auto setting = layer.attributes.find(name);
  if (setting == layer.attributes.end()) {
    return std::nullopt;
  }
  std::optional<Scalar> value =
      elaborator.evaluate(setting->second, environment);
  failed |= !value;
  return value;
}

std::string LayerContext::word(const char *name, const char *otherwise) {
  std::optional<Scalar> value = scalar(name);
  if (!value) {
    return otherwise;
  }
  const std::vector<std::string> &words = layer.op->attribute(name)->words;
  if (std::find(words.begin(), words.end(), value->str()) == words.end()) {
    std::string list;
    for (const std::string &legal : words) {
      list += (list.empty() ? "" : ", ") + legal;
    }
    attributeError(name, inQuotes(name) + " must be one of " + list + ", got " +
                             value->str());
  }
  return value->str();
}

bool LayerContext::isWord(const char *name, const char *word) {
  std::optional<Scalar> value = scalar(name);
  return value && value->is(Scalar::Kind::Text) && value->text == word;
}

std::optional<int64_t> LayerContext::gate(const char *name, int64_t otherwise) {
  auto gate = layer.gates.find(name);
  if (gate == layer.gates.end()) {
    return std::nullopt;
  }
  const auto &[condition, width] = gate->second;
  if (condition) {
    std::optional<bool> on = elaborator.boolean(*condition, environment);
    failed |= !on;
    if (!on.value_or(false)) {
      return std::nullopt;
    }
  }
  if (!width) {
    return otherwise;
  }
  std::optional<int64_t> given = elaborator.integer(*width, environment);
  if (given && *given >= 1 && *given <= INT32_MAX) {
    return given;
  }
  if (given) {
    elaborator.error(*width->node, "\"width\" must be at least 1, got " +
                                       std::to_string(*given));
  }
  failed = true;
  return std::nullopt;
}

/// A count of 0 says "none" in descriptions whose kind is a parameter; a
/// default may be the value of another attribute.
bool LayerContext::isDefault(const char *name) {
  const AttributeInfo &info = *layer.op->attribute(name);
  std::optional<Scalar> value = scalar(name);
  if (!value) {
    return true; // a mistake, which was reported
  }
  std::string text = value->str();
  if (const AttributeInfo *other = layer.op->attribute(info.defaultText)) {
    std::optional<Scalar> like = scalar(other->name.c_str());
    return (like ? like->str() : other->defaultText) == text;
  }
  bool isCount = info.kind == AttributeInfo::Kind::Integer && info.minimum == 0;
  return text == info.defaultText || (isCount && text == "0");
}

bool LayerContext::says(const char *name) {
  if (layer.op->role(name)) {
    return readOptional(name).isKnown();
  }
  if (!given(name)) {
    return false;
  }
  return layer.attributes.count(name) == 0 || !isDefault(name);
}

} // namespace hova::frontend
