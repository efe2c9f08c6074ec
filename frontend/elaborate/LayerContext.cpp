//===- LayerContext.cpp - Values, checks and results of a layer -----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "frontend/elaborate/LayerContext.h"

#include <algorithm>

namespace hova::frontend {

using reader::Diagnostic;
using reader::inQuotes;

std::map<std::string, LayerBuilder> &LayerContext::builders() {
  static std::map<std::string, LayerBuilder> all = builtInBuilders();
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
    // Of a plugin, say, whose builder gave up without a word.
    if (!elaborator.diagnostics.hasErrors()) {
      builderError("gives up and does not say why");
    }
    return poison;
  }
  if (!result) {
    elaborator.error(*layer.node, layer.op->name + " has made no value");
    return poison;
  }
  program.layers[index].result = result.number();
  return result;
}

void LayerContext::builderError(const std::string &mistake) {
  failed = true;
  const std::string &plugin = layer.op->plugin;
  elaborator.error(*layer.node,
                   "operator " + inQuotes(layer.op->name) +
                       (plugin.empty() ? "" : " of plugin '" + plugin + "'") +
                       " " + mistake);
}

bool LayerContext::expectRole(const char *role) {
  if (layer.op->role(role)) {
    return true;
  }
  builderError("reads " + inQuotes(role) + ", which it does not declare");
  return false;
}

ValueRef LayerContext::read(const char *role) {
  auto kept = carried.find(role);
  if (kept != carried.end()) {
    failed |= !kept->second;
    return kept->second;
  }
  if (!expectRole(role)) {
    return poison;
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
  if (!expectRole(role)) {
    return values;
  }
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

bool LayerContext::splitsEvenly(const char *role, ValueRef value,
                                int64_t heads) {
  if (width(value) % heads == 0) {
    return true;
  }
  bool isGiven = given("heads");
  shapeError(isGiven ? "heads" : role, value,
             "cannot split a width of " + std::to_string(width(value)) +
                 " into " + std::to_string(heads) + " heads" +
                 (isGiven ? ": \"heads\" must divide the width of " +
                                reader::inQuotes(role)
                          : "") +
                 (layer.op->attribute("head_width")
                      ? ", or \"head_width\" be given"
                      : ""));
  return false;
}

bool LayerContext::expectValid(const char *role, ValueRef valid,
                               ValueRef tokens) {
  ValueType wanted{DType::Bool, {shape(tokens)[0], shape(tokens)[1]}};
  if (type(valid) == wanted) {
    return true;
  }
  shapeError(role, valid,
             std::string("expects ") + role + " of " + wanted.str() + ", got " +
                 type(valid).str(),
             {tokens});
  return false;
}

bool LayerContext::expectRows(const char *role, ValueRef ids, int64_t rows) {
  auto isOutside = [&](int64_t first, int64_t end) {
    if (first >= 0 && end <= rows) {
      return false;
    }
    shapeError(role, ids,
               "has rows 0 to " + std::to_string(rows - 1) +
                   ", but the ids are in [" + std::to_string(first) + ", " +
                   std::to_string(end) + ")");
    return true;
  };
  for (ProgramInput &input : elaborator.program->inputs) {
    bool isRead = input.value == ids.number();
    if (isRead && !input.range) {
      // Programs check ids before they run; the table tells the range.
      input.range = {0, rows};
    }
    if (isRead && isOutside((*input.range)[0], (*input.range)[1])) {
      return false;
    }
  }
  if (const ConstantTable *table =
          elaborator.program->findConstant(ids.number())) {
    return !isOutside(static_cast<int64_t>(table->low),
                      static_cast<int64_t>(table->high) + 1);
  }
  return !isOutside(0, type(ids).below);
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
                             const std::vector<ValueRef> &operands) {
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
  for (ValueRef operand : operands) {
    elaborator.program->operandsOfResult[value.number()].insert(
        operand.number());
  }
  more.push_back({name, value});
}

} // namespace hova::frontend
