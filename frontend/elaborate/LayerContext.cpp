//===- LayerContext.cpp - Attributes, values and results of a layer -------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "frontend/elaborate/LayerContext.h"

#include <algorithm>
#include <cmath>

namespace hova::frontend {

using reader::Diagnostic;
using reader::inQuotes;

std::map<std::string, LayerBuilder> &LayerContext::builders() {
  static std::map<std::string, LayerBuilder> all = {
      {"linear", &LayerContext::buildLinear},
      {"layer_norm", &LayerContext::buildLayerNorm},
      {"activation", &LayerContext::buildActivation},
      {"add", &LayerContext::buildElementwise},
      {"multiply", &LayerContext::buildElementwise},
      {"scale", &LayerContext::buildScale},
      {"concat", &LayerContext::buildConcat},
      {"slice", &LayerContext::buildSlice},
      {"pad", &LayerContext::buildPad},
      {"reshape", &LayerContext::buildReshape},
      {"weight", &LayerContext::buildWeight},
      {"feed_forward", &LayerContext::buildFeedForward},
      {"embedding", &LayerContext::buildEmbedding},
      {"positions", &LayerContext::buildPositions},
      {"patch_embedding", &LayerContext::buildPatchEmbedding},
      {"class_token", &LayerContext::buildClassToken},
      {"pool", &LayerContext::buildPool},
      {"padding_mask", &LayerContext::buildPaddingMask},
      {"mask_rows", &LayerContext::buildMaskRows},
      {"position_ids", &LayerContext::buildPositionIds},
      {"softmax", &LayerContext::buildSoftmax},
      {"multi_head_attention", &LayerContext::buildMultiHeadAttention},
      {"attention", &LayerContext::buildAttention},
      {"head_reweight", &LayerContext::buildHeadReweight},
      {"channel_gate", &LayerContext::buildChannelGate},
      {"omni_attention", &LayerContext::buildOmniAttention},
      {"unfold", &LayerContext::buildUnfold},
      {"windows", &LayerContext::buildWindows},
      {"merge_patches", &LayerContext::buildMergePatches},
  };
  return all;
}

bool LayerContext::addBuilder(const std::string &name, LayerBuilder builder) {
  return builders().emplace(name, std::move(builder)).second;
}

ValueRef LayerContext::build() {
  Program &program = *elaborator.program;
  size_t index = program.layers.size();
  program.layers.push_back({path, layer.op->name, layer.op->plugin,
                            layer.op->site, layer.nameRange});
  ValueRef result = builders().at(layer.op->name)(*this);
  if (failed) {
    return poison;
  }
  if (!result) {
    elaborator.error(*layer.node, layer.op->name + " has made no value");
    return poison;
  }
  program.layers[index].result = result.number();
  return result;
}

int64_t LayerContext::integer(const char *name, int64_t otherwise) {
  auto setting = layer.attributes.find(name);
  if (setting == layer.attributes.end()) {
    return otherwise;
  }
  std::optional<int64_t> value =
      elaborator.integer(setting->second, environment);
  if (!value) {
    failed = true;
    return otherwise;
  }
  const AttributeInfo &info = *layer.op->attribute(name);
  bool tooSmall = info.minimum && static_cast<double>(*value) < *info.minimum;
  if (tooSmall || *value > INT32_MAX) {
    attributeError(
        name, inQuotes(name) + " must be " +
                  (tooSmall ? "at least " + Scalar::ofReal(*info.minimum).str()
                            : "at most 2147483647") +
                  ", got " + std::to_string(*value));
    return otherwise;
  }
  return *value;
}

Shape LayerContext::shapeAttribute(const char *name) {
  Shape shape;
  for (const Setting &dimension : layer.shapes.at(name)) {
    std::optional<int64_t> size = elaborator.integer(dimension, environment);
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

ValueRef LayerContext::read(const char *role) {
  auto kept = carried.find(role);
  if (kept != carried.end()) {
    failed |= !kept->second;
    return kept->second;
  }
  auto uses = layer.reads.find(role);
  ValueRef value = uses == layer.reads.end() || uses->second.empty()
                       ? poison
                       : elaborator.resolveOne(uses->second[0], environment);
  failed |= !value;
  return value;
}

std::vector<ValueRef> LayerContext::readList(const char *role) {
  std::vector<ValueRef> values;
  auto uses = layer.reads.find(role);
  if (uses == layer.reads.end()) {
    failed = true;
    return values;
  }
  for (const ValueUse &use : uses->second) {
    std::optional<Elaborator::Resolved> resolved =
        elaborator.resolve(use, environment);
    if (!resolved) {
      failed = true;
      continue;
    }
    values.insert(values.end(), resolved->values.begin(),
                  resolved->values.end());
  }
  if (values.empty() && !failed) {
    elaborator.error(*layer.node, layer.op->name + " reads an empty list");
    failed = true;
  }
  return values;
}

ValueRef LayerContext::readOptional(const char *role) {
  if (!reads(role)) {
    return absent;
  }
  auto uses = layer.reads.find(role);
  if (uses->second.size() == 1) {
    std::optional<Elaborator::Resolved> resolved =
        elaborator.resolve(uses->second[0], environment);
    if (!resolved) {
      failed = true;
      return poison;
    }
    if (resolved->isList && resolved->values.size() <= 1) {
      return resolved->values.empty() ? absent : resolved->values[0];
    }
  }
  return read(role);
}

/// The place in the file where `role` is named, or the layer.
static const reader::Node &placeOf(const LayerSpec &layer,
                                   const std::string &role) {
  const reader::Node *node = layer.node->get(role);
  return node ? *node : *layer.node;
}

/// What is said of a value that a mistake has made unknown would follow from
/// that mistake alone.
static bool isAnyPoison(ValueRef value, const std::vector<ValueRef> &others) {
  return value.isPoison() ||
         std::any_of(others.begin(), others.end(),
                     [](ValueRef other) { return other.isPoison(); });
}

void LayerContext::shapeError(const char *role, ValueRef value,
                              const std::string &message,
                              const std::vector<ValueRef> &others) {
  failed = true;
  if (isAnyPoison(value, others)) {
    return;
  }
  Diagnostic &error =
      elaborator.error(placeOf(layer, role), message,
                       layer.op->name + " " + inQuotes(path) + " ");
  elaborator.noteValue(error, value);
  for (ValueRef other : others) {
    elaborator.noteValue(error, other);
  }
}

void LayerContext::attributeError(const char *name, const std::string &message,
                                  const std::vector<ValueRef> &others) {
  failed = true;
  if (isAnyPoison(absent, others)) {
    return;
  }
  Diagnostic &error = elaborator.error(placeOf(layer, name), message);
  for (ValueRef other : others) {
    elaborator.noteValue(error, other);
  }
}

bool LayerContext::expectRank(const char *role, ValueRef value, size_t rank,
                              const char *wanted) {
  if (shape(value).size() == rank) {
    return true;
  }
  shapeError(role, value,
             std::string("expects ") + role + " of shape " + wanted + ", got " +
                 type(value).str());
  return false;
}

bool LayerContext::expectFloats(const char *role, ValueRef value,
                                const char *wanted) {
  if (type(value).dtype == DType::F32 && !shape(value).empty()) {
    return true;
  }
  shapeError(role, value,
             std::string("expects ") + role + " of numbers " + wanted +
                 ", got " + type(value).str());
  return false;
}

bool LayerContext::expectIntegers(const char *role, ValueRef value,
                                  const char *wanted) {
  DType dtype = type(value).dtype;
  if (dtype == DType::I32 || dtype == DType::I64) {
    return true;
  }
  shapeError(role, value,
             std::string("expects ") + role + " of integers " + wanted +
                 ", got " + type(value).str());
  return false;
}

int64_t LayerContext::product(int64_t a, int64_t b) {
  int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result) || result > INT32_MAX) {
    failed = true;
    elaborator.error(*layer.node, std::to_string(a) + " * " +
                                      std::to_string(b) +
                                      " is too large for a dimension; the "
                                      "largest is 2147483647");
    return 1;
  }
  return result;
}

void LayerContext::checkWork(const std::vector<int64_t> &factors) {
  if (failed) {
    return;
  }
  int64_t work = 1;
  for (int64_t factor : factors) {
    if (__builtin_mul_overflow(work, factor, &work) ||
        work > (int64_t(1) << 60)) {
      failed = true;
      elaborator.error(*layer.node,
                       "this layer has more than 2^60 multiply-accumulates");
      return;
    }
  }
}

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

ValueRef LayerContext::weight(const std::string &own, Shape shape,
                              Initializer initializer, bool trainable) {
  auto given = layer.initializers.find(own);
  if (given != layer.initializers.end()) {
    const InitializerSpec &spec = given->second;
    using Kind = Initializer::Kind;
    initializer.kind = spec.kind == "normal"     ? Kind::Normal
                       : spec.kind == "uniform"  ? Kind::Uniform
                       : spec.kind == "glorot"   ? Kind::Glorot
                       : spec.kind == "sinusoid" ? Kind::Sinusoid
                                                 : Kind::Constant;
    initializer.value = spec.kind == "ones" ? 1 : 0;
    if (spec.value) {
      std::optional<double> value = elaborator.number(*spec.value, environment);
      failed |= !value;
      initializer.value = value.value_or(0);
      bool isTable = spec.kind == "sinusoid";
      bool spread = spec.kind != "constant" && !isTable;
      if (spread && initializer.value < 0) {
        elaborator.error(*spec.value->node, "a spread must not be negative");
        failed = true;
      }
      double rows = static_cast<double>(shape.front());
      if (isTable && (initializer.value != std::floor(initializer.value) ||
                      initializer.value < 0 || initializer.value > rows)) {
        elaborator.error(*spec.value->node,
                         "\"first\" is the first row of positions, 0 to " +
                             Scalar::ofReal(rows).str() + ", got " +
                             Scalar::ofReal(initializer.value).str());
        failed = true;
      }
      // Values four deviations away must still be numbers of f32.
      constexpr double largest = 8.5e37;
      if (spec.kind == "normal" && initializer.value > largest) {
        elaborator.error(*spec.value->node,
                         "a deviation must be at most 8.5e+37, got " +
                             Scalar::ofReal(initializer.value).str());
        failed = true;
      }
    }
  }
  if (initializer.kind == Initializer::Kind::Sinusoid && shape.size() != 2) {
    elaborator.error(*given->second.node,
                     "a sinusoid initialiser needs a table, got the shape " +
                         str(shape));
    failed = true;
  }
  std::string name = weightPath + "." + own;
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

/// Of the tokens of an operand, where the result has the same ones.
Grid LayerContext::inheritedGrid(ValueRef operand, const Shape &result) const {
  const Shape &from = shape(operand);
  bool isSame = from.size() == 3 && result.size() == 3 &&
                from[0] == result[0] && from[1] == result[1];
  return isSame ? type(operand).grid : Grid();
}

ValueRef LayerContext::emit(const char *mnemonic, const std::string &below,
                            Operands operands, Attributes attributes,
                            ValueType type) {
  for (const auto &[role, value] : operands) {
    if (value.isAbsent() && !failed) {
      elaborator.error(*layer.node, "the operand " + inQuotes(role) + " of " +
                                        inQuotes(mnemonic) + " has no value");
    }
    failed |= !value;
  }
  if (failed || !elaborator.checkSize(type.shape, *layer.node) ||
      !elaborator.spend(unitsOfValue + int64_t(operands.size()), *layer.node) ||
      !elaborator.spendPath(path, *layer.node)) {
    failed = true;
    return poison;
  }
  if (!type.grid && !operands.empty()) {
    type.grid = inheritedGrid(operands.front().second, type.shape);
  }
  ProgramOperation operation;
  operation.mnemonic = mnemonic;
  operation.path = below.empty() ? path : path + "." + below;
  for (const auto &[role, value] : operands) {
    operation.operands.push_back({role, value.number()});
  }
  operation.attributes = std::move(attributes);
  operation.layer = elaborator.program->layers.size() - 1;
  ValueRef result =
      elaborator.addValue(std::move(type), operation.path, layer.nameRange);
  operation.result = result.number();
  // The projections of an attention are linears of their own.
  bool isProjection = operation.mnemonic == "linear" &&
                      layer.op->name != "linear" && layer.op->site.empty();
  if (layer.requireFused && !isProjection) {
    operation.attributes["require"] = Scalar::ofText("fused");
  }
  elaborator.program->operations.push_back(std::move(operation));
  return result;
}

void LayerContext::addResult(const std::string &name, ValueType type,
                             std::vector<std::string> operands) {
  if (failed || !elaborator.checkSize(type.shape, *layer.node) ||
      !elaborator.spend(unitsOfValue, *layer.node) ||
      !elaborator.spendPath(path, *layer.node)) {
    failed = true;
    return;
  }
  ProgramOperation &operation = elaborator.program->operations.back();
  ValueRef value = elaborator.addValue(
      std::move(type), operation.path + "." + name, layer.nameRange);
  elaborator.program->furtherResults[operation.result].push_back(
      {name, value.number()});
  if (!operands.empty()) {
    elaborator.program->operandsOfResult[value.number()] = std::move(operands);
  }
  more.push_back({name, value});
}

} // namespace hova::frontend
