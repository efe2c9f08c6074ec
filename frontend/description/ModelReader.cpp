//===- ModelReader.cpp - The sections of a description --------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "frontend/description/SpecReader.h"
#include "frontend/description/Unused.h"

#include <algorithm>
#include <functional>

namespace hova::frontend {

using reader::inQuotes;
using reader::Member;
using reader::Node;

NameScope SpecReader::parameterScope() const {
  NameScope scope;
  scope.parameters = &parameterNames;
  return scope;
}

bool SpecReader::read() {
  const Node &root = *spec.document->root();
  if (!expect(root, Node::Kind::Object, "a description")) {
    return false;
  }
  checkKeys(root,
            {"$schema", "hova", "name", "metadata", "parameters", "inputs",
             "blocks", "layers", "outputs", "checkpoints", "published"},
            "a description");
  readName(root);
  for (const char *section : {"inputs", "layers", "outputs"}) {
    if (!root.get(section)) {
      missing(root, section, "missing key " + inQuotes(section));
    }
  }
  auto isObject = [&](const char *key, bool isOptional) {
    const Node *section = root.get(key);
    return section ? section->is(Node::Kind::Object) : isOptional;
  };
  knowsInputs =
      isObject("inputs", false) && !root.get("inputs")->members.empty();
  knowsParameters =
      isObject("parameters", !misspelt.count({&root, "parameters"}));
  knowsBlocks = isObject("blocks", !misspelt.count({&root, "blocks"}));
  if (const Node *parameters = root.get("parameters")) {
    readParameters(*parameters);
  }
  if (const Node *inputs = root.get("inputs")) {
    readInputs(*inputs);
  }
  if (const Node *blocks = root.get("blocks")) {
    readBlocks(*blocks);
  }
  NameScope scope = parameterScope();
  for (const InputSpec &input : spec.inputs) {
    scope.values.emplace(input.name, input.nameRange);
  }
  if (const Node *layers = root.get("layers")) {
    spec.layers = readLayers(*layers, scope);
  }
  if (const Node *outputs = root.get("outputs")) {
    readOutputs(*outputs, scope);
  }
  if (const Node *checkpoints = root.get("checkpoints")) {
    readCheckpoints(*checkpoints);
  }
  if (const Node *published = root.get("published")) {
    readPublished(*published);
  }
  for (const BlockSpec &block : spec.blocks) {
    checkBlockUses(block.layers);
  }
  checkBlockUses(spec.layers);
  checkBlockCycles();
  return knowsInputs && knowsParameters && knowsBlocks;
}

void SpecReader::readName(const Node &root) {
  const Node *version = root.get("hova");
  if (!version) {
    missing(root, "hova", "missing key \"hova\": the version of the format, 1");
  } else if (!version->is(Node::Kind::Integer) || version->integer != 1) {
    error(*version, "this program reads version 1 of the format");
  }
  const Node *name = root.get("name");
  if (!name) {
    missing(root, "name", "missing key \"name\"");
  } else if (std::optional<std::string> text = stringOf(*name, "\"name\"")) {
    checkName(*text, name->range, *name, "the name of a model");
    spec.name = *text;
  }
}

void SpecReader::readParameters(const Node &node) {
  if (!expect(node, Node::Kind::Object, "\"parameters\"")) {
    return;
  }
  if (!checkCount(node, node.members.size(), SpecLimits::parameters,
                  "parameters")) {
    return;
  }
  NameScope scope = parameterScope();
  for (const Member *member : uniqueMembers(node)) {
    scope.laterScalars.emplace(member->key, member->keyRange);
  }
  for (const Member *member : uniqueMembers(node)) {
    readParameter(*member, scope);
    // Only those after it may use it.
    parameterNames.insert(member->key);
  }
}

void SpecReader::readParameter(const Member &member, NameScope &scope) {
  ParameterSpec parameter;
  parameter.name = member.key;
  parameter.nameRange = member.keyRange;
  checkName(member.key, member.keyRange, *member.value, "parameter");
  if (member.key == "index") {
    errorAt(member.keyRange, *member.value,
            "\"index\" is the number of a repetition and cannot be a "
            "parameter");
  }
  if (member.value->is(Node::Kind::Object)) {
    readParameterObject(*member.value, parameter, scope);
  } else if (auto value = parameterValue(*member.value, scope, {})) {
    parameter.value = std::move(*value);
  }
  spec.parameterIndex.emplace(parameter.name, spec.parameters.size());
  spec.parameters.push_back(std::move(parameter));
}

void SpecReader::readParameterObject(const Node &node, ParameterSpec &parameter,
                                     const NameScope &scope) {
  checkKeys(node, {"default", "values", "min", "max"}, "a parameter");
  const Node *values = node.get("values");
  if (values && expect(*values, Node::Kind::Array, "\"values\"") &&
      checkCount(*values, values->elements.size(), SpecLimits::values,
                 "values of a parameter")) {
    for (const Node *value : values->elements) {
      if (value->is(Node::Kind::String)) {
        parameter.values.push_back(Scalar::ofText(value->text));
      } else if (auto literal = setting(*value, SettingKind::Any, scope)) {
        parameter.values.push_back(*literal->literal);
      }
    }
    if (values->elements.empty()) {
      error(*values, "an empty list of values");
    }
  }
  for (auto [key, bound] : {std::pair("min", &parameter.minimum),
                            std::pair("max", &parameter.maximum)}) {
    const Node *value = node.get(key);
    if (value && !value->isNumber()) {
      error(*value, inQuotes(key) + " must be a number, got " +
                        reader::describe(value->kind));
    } else if (value) {
      *bound = value->real;
    }
  }
  const Node *initial = node.get("default");
  if (!initial && parameter.minimum && parameter.maximum && !values) {
    parameter.isRange = true;
    parameter.value.node = &node;
  } else if (!initial) {
    missing(node, "default", "missing key \"default\" in a parameter");
  } else if (auto value = parameterValue(*initial, scope, parameter.values)) {
    parameter.value = std::move(*value);
  }
}

void SpecReader::readInputs(const Node &node) {
  if (!expect(node, Node::Kind::Object, "\"inputs\"")) {
    return;
  }
  if (node.members.empty()) {
    error(node, "a model needs an input");
  }
  checkCount(node, node.members.size(), SpecLimits::inputs, "inputs");
  NameScope scope = parameterScope();
  for (const Member *member : uniqueMembers(node)) {
    readInput(*member, scope);
  }
}

void SpecReader::readInput(const Member &member, const NameScope &scope) {
  size_t mistakes = mistakesSoFar();
  InputSpec input;
  input.name = member.key;
  input.nameRange = member.keyRange;
  input.node = member.value;
  input.dtype = "f32";
  checkName(member.key, member.keyRange, *member.value, "input");
  const Node &node = *member.value;
  if (node.is(Node::Kind::Array)) {
    error(node, "an input must be an object, got a list")
        .notes.push_back(
            {"the list is its shape: write {\"shape\": [...]}", std::nullopt});
  } else if (expect(node, Node::Kind::Object, "an input")) {
    checkKeys(node, {"if", "shape", "dtype", "range"}, "an input");
    if (const Node *when = node.get("if")) {
      input.condition = setting(*when, SettingKind::Boolean, scope);
    }
    const Node *shape = node.get("shape");
    if (!shape) {
      missing(node, "shape", "missing key \"shape\" in an input");
    } else if (expect(*shape, Node::Kind::Array, "\"shape\"")) {
      for (const Node *dimension : shape->elements) {
        if (auto value = readDimension(*dimension, scope, dimensionHint)) {
          input.shape.push_back(std::move(*value));
        }
      }
    }
    bool isTyped = true;
    if (const Node *dtype = node.get("dtype")) {
      std::optional<std::string> known = wordOf(*dtype, inputTypes);
      isTyped = known.has_value();
      input.dtype = known.value_or("f32");
      input.isTyped = true;
    }
    const Node *range = node.get("range");
    if (range &&
        (!range->is(Node::Kind::Array) || range->elements.size() != 2)) {
      error(*range, "\"range\" must be a list of two integers, "
                    "[lowest, after the highest]");
    } else if (range && isTyped && input.dtype != "i32" &&
               input.dtype != "i64") {
      error(*range, "\"range\" is for integers; this input is " + input.dtype);
    } else if (range) {
      auto low = setting(*range->elements[0], SettingKind::Integer, scope);
      auto high = setting(*range->elements[1], SettingKind::Integer, scope);
      if (low && high) {
        input.range = {std::move(*low), std::move(*high)};
      }
    }
  }
  input.broken = mistakesSoFar() > mistakes;
  spec.inputs.push_back(std::move(input));
}

void SpecReader::readBlocks(const Node &node) {
  if (!expect(node, Node::Kind::Object, "\"blocks\"")) {
    return;
  }
  if (!checkCount(node, node.members.size(), SpecLimits::blocks, "blocks")) {
    return;
  }
  for (const Member *member : uniqueMembers(node)) {
    blockNames.push_back(member->key);
  }
  knownBlocks.insert(blockNames.begin(), blockNames.end());
  for (const Member *member : uniqueMembers(node)) {
    readBlock(*member);
  }
}

void SpecReader::readBlock(const Member &member) {
  size_t mistakes = mistakesSoFar();
  BlockSpec block;
  block.name = member.key;
  block.nameRange = member.keyRange;
  block.node = member.value;
  const Node &node = *member.value;
  checkName(member.key, member.keyRange, node, "block");
  if (!expect(node, Node::Kind::Object, "a block")) {
    block.broken = true; // but there: its name is known
    spec.blockIndex.emplace(block.name, spec.blocks.size());
    spec.blocks.push_back(std::move(block));
    return;
  }
  checkKeys(node, {"inputs", "arguments", "layers", "output", "outputs"},
            "a block");
  NameScope scope = parameterScope();
  const Node *inputs = node.get("inputs");
  scope.lacksNames =
      !inputs || !inputs->is(Node::Kind::Array) || inputs->elements.empty();
  if (!inputs) {
    missing(node, "inputs", "missing key \"inputs\" in a block");
  } else if (expect(*inputs, Node::Kind::Array, "\"inputs\" of a block")) {
    checkCount(*inputs, inputs->elements.size(), SpecLimits::blockEntries,
               "inputs of a block");
    for (const Node *input : inputs->elements) {
      if (std::optional<std::string> name =
              stringOf(*input, "the input of a block")) {
        checkName(*name, input->range, *input, "input");
        if (!scope.values.emplace(*name, input->range).second) {
          error(*input, "input " + inQuotes(*name) + " is given twice");
        }
        block.inputs.push_back(*name);
      } else {
        scope.lacksNames = true;
      }
    }
    if (inputs->elements.empty()) {
      error(*inputs, "a block needs an input");
    }
  }
  scope.lacksScalars =
      node.get("arguments") && !node.get("arguments")->is(Node::Kind::Object);
  if (const Node *arguments = node.get("arguments");
      arguments && expect(*arguments, Node::Kind::Object, "\"arguments\"")) {
    checkCount(*arguments, arguments->members.size(), SpecLimits::blockEntries,
               "arguments of a block");
    for (const Member *argument : uniqueMembers(*arguments)) {
      scope.laterScalars.emplace(argument->key, argument->keyRange);
    }
    for (const Member *argument : uniqueMembers(*arguments)) {
      checkName(argument->key, argument->keyRange, *argument->value,
                "argument");
      std::optional<Setting> value;
      if (!argument->value->is(Node::Kind::Null)) {
        value = setting(*argument->value, SettingKind::Any, scope);
      }
      block.arguments.push_back({argument->key, std::move(value)});
      scope.scalars.insert(argument->key);
    }
  }
  scope.scalars.insert("index");
  const Node *layers = node.get("layers");
  if (!layers) {
    missing(node, "layers", "missing key \"layers\" in a block");
    scope.lacksNames = true;
  }
  block.broken = mistakesSoFar() > mistakes;
  if (layers) {
    // Each layer carries its own mistakes.
    block.layers = readLayers(*layers, scope);
  }
  mistakes = mistakesSoFar();
  readBlockOutputs(node, block, scope);
  block.broken |= mistakesSoFar() > mistakes;
  spec.blockIndex.emplace(block.name, spec.blocks.size());
  spec.blocks.push_back(std::move(block));
}

void SpecReader::readBlockOutputs(const Node &node, BlockSpec &block,
                                  const NameScope &scope) {
  const Node *single = node.get("output");
  const Node *several = node.get("outputs");
  if (!single == !several) {
    error(node, "a block has either \"output\" or \"outputs\"");
    return;
  }
  if (single) {
    if (auto use = valueUse(*single, scope)) {
      block.outputs.push_back({"", std::move(*use)});
    }
    return;
  }
  if (!expect(*several, Node::Kind::Object, "\"outputs\"") ||
      !checkCount(*several, several->members.size(), SpecLimits::blockEntries,
                  "outputs of a block")) {
    return;
  }
  for (const Member *member : uniqueMembers(*several)) {
    checkName(member->key, member->keyRange, *member->value, "output");
    if (auto use = valueUse(*member->value, scope)) {
      block.outputs.push_back({member->key, std::move(*use)});
    }
  }
  if (several->members.empty()) {
    error(*several, "a block needs an output");
  }
}

void SpecReader::readOutputs(const Node &node, const NameScope &scope) {
  if (node.is(Node::Kind::Array) || node.is(Node::Kind::String)) {
    error(node, std::string("\"outputs\" must be an object, got ") +
                    reader::describe(node.kind))
        .notes.push_back({"an output has a name of its own: write {\"NAME\": "
                          "\"LAYER\"}",
                          std::nullopt});
    return;
  }
  if (!expect(node, Node::Kind::Object, "\"outputs\"") ||
      !checkCount(node, node.members.size(), SpecLimits::outputs, "outputs")) {
    return;
  }
  if (node.members.empty()) {
    error(node, "a model needs an output");
  }
  for (const Member *member : uniqueMembers(node)) {
    checkName(member->key, member->keyRange, *member->value, "output");
    readOutput(*member, scope);
  }
}

/// A value, or an object that says when it is an output, and of which type.
void SpecReader::readOutput(const Member &member, const NameScope &scope) {
  const Node *value = member.value;
  std::optional<Setting> condition;
  std::string dtype;
  if (value->is(Node::Kind::Object)) {
    checkKeys(*value, {"value", "if", "dtype"}, "an output");
    if (const Node *type = value->get("dtype")) {
      dtype = wordOf(*type, outputTypes).value_or("");
    }
    if (const Node *when = value->get("if")) {
      condition = setting(*when, SettingKind::Boolean, scope);
    }
    value = value->get("value");
    if (!value) {
      missing(*member.value, "value", "missing key \"value\" in an output");
      return;
    }
  }
  if (auto use = valueUse(*value, scope)) {
    spec.outputs.push_back({member.key, std::move(*use)});
    spec.outputRanges.push_back(member.keyRange);
    spec.outputConditions.push_back(std::move(condition));
    spec.outputDtypes.push_back(std::move(dtype));
  }
}

void SpecReader::checkBlockCycles() {
  enum class State { New, Open, Done };
  std::map<const BlockSpec *, State> states;
  std::vector<const BlockSpec *> path;
  std::function<void(const BlockSpec &)> visit = [&](const BlockSpec &block) {
    states[&block] = State::Open;
    path.push_back(&block);
    for (const LayerSpec &layer : block.layers) {
      const BlockSpec *used = layer.block && layer.block->literal
                                  ? spec.findBlock(layer.block->literal->text)
                                  : nullptr;
      if (!used || states[used] == State::Done) {
        continue;
      }
      if (states[used] == State::New) {
        if (path.size() < maxBlockDepth) {
          visit(*used);
        } else {
          error(*layer.block->node, "blocks are nested deeper than " +
                                        std::to_string(maxBlockDepth) +
                                        " levels");
        }
        continue;
      }
      std::string chain;
      auto first = std::find(path.begin(), path.end(), used);
      for (auto step = first; step != path.end(); ++step) {
        chain += (*step)->name + " -> ";
      }
      error(*layer.block->node, "block " + inQuotes(used->name) +
                                    " uses itself: " + chain + used->name);
    }
    path.pop_back();
    states[&block] = State::Done;
  };
  for (const BlockSpec &block : spec.blocks) {
    if (states[&block] == State::New) {
      visit(block);
    }
  }
}

std::unique_ptr<ModelSpec> readModelSpec(reader::Diagnostics &diagnostics) {
  auto spec = std::make_unique<ModelSpec>();
  spec->source = diagnostics.sharedSource();
  spec->document = reader::parseJson(diagnostics);
  if (!spec->document) {
    return nullptr;
  }
  if (!SpecReader(diagnostics, *spec).read()) {
    return nullptr;
  }
  if (!diagnostics.hasErrors()) {
    warnOfUnused(*spec, diagnostics);
  }
  return spec;
}

} // namespace hova::frontend
