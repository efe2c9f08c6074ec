//===- LayerReader.cpp - The layers of a description ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "frontend/description/SpecReader.h"
#include "frontend/reader/Suggest.h"

#include <algorithm>

namespace hova::frontend {

using reader::Diagnostic;
using reader::inQuotes;
using reader::Member;
using reader::Node;

namespace {

SettingKind settingKind(AttributeInfo::Kind kind) {
  switch (kind) {
  case AttributeInfo::Kind::Integer:
  case AttributeInfo::Kind::Sides:
    return SettingKind::Integer;
  case AttributeInfo::Kind::Number:
    return SettingKind::Number;
  case AttributeInfo::Kind::Word:
    return SettingKind::Word;
  default:
    return SettingKind::Boolean;
  }
}

/// The string member `key` of `node` if it is a name, for scopes.
const Node *nameOf(const Node &node) {
  const Node *name = node.is(Node::Kind::Object) ? node.get("name") : nullptr;
  return name && name->is(Node::Kind::String) ? name : nullptr;
}

} // namespace

std::vector<LayerSpec> SpecReader::readLayers(const Node &node,
                                              NameScope &scope) {
  std::vector<LayerSpec> layers;
  if (!expect(node, Node::Kind::Array, "\"layers\"")) {
    scope.lacksNames = true;
    return layers;
  }
  if (node.elements.empty()) {
    error(node, "an empty list of layers");
    scope.lacksNames = true;
  }
  for (const Node *element : node.elements) {
    if (const Node *name = nameOf(*element)) {
      scope.later.emplace(name->text, name->range);
    } else {
      scope.lacksNames = true;
    }
  }
  layerCount += node.elements.size();
  if (!checkCount(node, layerCount, SpecLimits::layers,
                  "layers in this file")) {
    // Nothing is said about those that read them.
    scope.values.insert(scope.later.begin(), scope.later.end());
    return layers;
  }
  for (const Node *element : node.elements) {
    if (diagnostics.isFull()) {
      break;
    }
    size_t mistakes = mistakesSoFar();
    LayerSpec layer = readLayer(*element, scope);
    layer.broken = mistakesSoFar() > mistakes;
    if (layer.name.empty()) {
      continue;
    }
    auto known = scope.values.emplace(layer.name, layer.nameRange);
    if (!known.second) {
      errorAt(layer.nameRange, *element,
              "the name " + inQuotes(layer.name) + " is given twice")
          .notes.push_back({"first given here", known.first->second});
      // Which of the two is read, and whose weights are whose, nobody knows.
      layer.broken = true;
    }
    layers.push_back(std::move(layer));
  }
  return layers;
}

LayerSpec SpecReader::readLayer(const Node &node, NameScope &scope) {
  LayerSpec layer;
  layer.node = &node;
  if (!expect(node, Node::Kind::Object, "a layer")) {
    return layer;
  }
  const Node *name = node.get("name");
  if (!name) {
    errorAt({node.range.begin, node.range.begin + 1}, node,
            "missing key \"name\" in a layer");
  } else if (auto text = stringOf(*name, "\"name\"")) {
    checkName(*text, name->range, *name, "the name of a layer");
    layer.name = *text;
    layer.nameRange = name->range;
  }
  readConditions(node, layer, scope);
  if (!node.get("repeat")) {
    readBody(node, layer, scope);
    return layer;
  }
  // Repetitions count, and read the ones before.
  bool counts = scope.scalars.insert("index").second;
  bool readsItself = scope.values.emplace(layer.name, layer.nameRange).second;
  readBody(node, layer, scope);
  if (counts) {
    scope.scalars.erase("index");
  }
  if (readsItself) {
    scope.values.erase(layer.name);
  }
  return layer;
}

void SpecReader::readBody(const Node &node, LayerSpec &layer,
                          const NameScope &scope) {
  readCommon(node, layer, scope);
  const Node *op = node.get("op");
  const Node *block = node.get("block");
  if (!op == !block) {
    Diagnostic &neither =
        errorAt({node.range.begin, node.range.begin + 1}, node,
                "a layer has either \"op\" or \"block\"");
    for (const Member *member : uniqueMembers(node)) {
      if (!op && canonicalWord(member->key) == "op") {
        neither.notes.push_back({"did you mean \"op\"?", member->keyRange});
      }
    }
    return;
  }
  if (block) {
    readBlockUse(node, layer, scope);
    return;
  }
  if (auto word = stringOf(*op, "\"op\"")) {
    layer.op = findOperator(*word);
    if (!layer.op) {
      unknownOperator(node);
      return;
    }
    readOperator(node, layer, scope);
  }
}

/// The "op" of a layer, which is none. A block has another key, and what other
/// libraries have is composed.
void SpecReader::unknownOperator(const Node &node) {
  const Member &op = *node.find("op");
  const std::string &word = op.value->text;
  Diagnostic &unknown = error(*op.value, "unknown operator " + inQuotes(word));
  if (diagnostics.isFull()) {
    return;
  }
  std::vector<std::string> operators;
  for (const OperatorInfo &info : vocabulary()) {
    operators.push_back(info.name);
  }
  if (knownBlocks.count(word)) {
    unknown.notes.push_back(
        {inQuotes(word) + " is a block: write \"block\": " + inQuotes(word),
         std::nullopt});
    unknown.fixIts.push_back({op.keyRange, "\"block\""});
    return;
  }
  bool isRenamed = findOperator(canonicalWord(word)) != nullptr;
  std::string advice = isRenamed ? "" : adviceFor(word);
  if (!advice.empty()) {
    unknown.notes.push_back({std::move(advice), std::nullopt});
    return;
  }
  bool isNear = isRenamed || reader::suggest(word, operators);
  std::optional<std::string> block;
  if (!isNear) {
    block = reader::suggest(word, blockNames);
  }
  if (block) {
    unknown.notes.push_back(
        {"did you mean the block " + inQuotes(*block) + "?", std::nullopt});
    return;
  }
  suggestFor(unknown, word, operators);
}

void SpecReader::readConditions(const Node &node, LayerSpec &layer,
                                const NameScope &scope) {
  // These decide about the whole layer, before it repeats.
  if (const Node *condition = node.get("if")) {
    layer.condition = setting(*condition, SettingKind::Boolean, scope);
  }
  if (const Node *repeat = node.get("repeat")) {
    layer.repeat = setting(*repeat, SettingKind::Integer, scope);
  }
}

void SpecReader::readCommon(const Node &node, LayerSpec &layer,
                            const NameScope &scope) {
  if (const Node *trainable = node.get("trainable")) {
    layer.trainable = setting(*trainable, SettingKind::Boolean, scope);
  }
  const Node *weights = node.get("weights");
  if (weights && expect(*weights, Node::Kind::String, "\"weights\"")) {
    TextError failure;
    layer.weights = PathTemplate::parse(weights->text, failure);
    layer.weightsNode = weights;
    if (!layer.weights) {
      errorInside(*weights, failure);
    } else if (countTerms(*weights, layer.weights->terms())) {
      checkScalars(*weights, layer.weights->names(), scope);
    }
  }
}

void SpecReader::readOperator(const Node &node, LayerSpec &layer,
                              const NameScope &scope) {
  const OperatorInfo &op = *layer.op;
  std::vector<std::string> known = commonLayerKeys();
  known.push_back("op");
  for (const RoleInfo &role : op.roles) {
    known.push_back(role.name);
  }
  for (const AttributeInfo &attribute : op.attributes) {
    known.push_back(attribute.name);
  }
  if (op.fusable) {
    known.push_back("require");
  }
  checkKeys(node, known, op.name);
  for (const RoleInfo &role : op.roles) {
    const Node *value = node.get(role.name);
    if (!value) {
      continue;
    }
    std::vector<ValueUse> uses;
    if (role.list) {
      uses = valueUses(*value, scope);
    } else if (auto use = valueUse(*value, scope)) {
      uses.push_back(std::move(*use));
    }
    layer.reads[role.name] = std::move(uses);
  }
  checkRoles(node, layer);
  for (const Member *member : uniqueMembers(node)) {
    if (const AttributeInfo *info = op.attribute(member->key)) {
      readAttribute(*member, *info, layer, scope);
    }
  }
  for (const AttributeInfo &info : op.attributes) {
    if (info.required && !node.get(info.name)) {
      missing(node, info.name,
              op.name + " needs " + inQuotes(info.name) + ": " + info.summary);
    }
  }
  if (const Node *require = node.get("require"); require && op.fusable) {
    layer.requireFused = wordOf(*require, {"fused"}).has_value();
  }
  if (node.get("init")) {
    readInitializers(node, layer, scope);
  }
  if (layer.repeat && !op.role("input")) {
    error(*layer.repeat->node,
          op.name + " cannot be repeated: it does not read one \"input\"");
  }
}

void SpecReader::checkRoles(const Node &node, const LayerSpec &layer) {
  const OperatorInfo &op = *layer.op;
  for (const RoleInfo &role : op.roles) {
    if (role.required && !layer.reads.count(role.name)) {
      missing(node, role.name,
              op.name + " needs " + inQuotes(role.name) + ": " + role.summary);
    }
  }
  if (op.name == "multi_head_attention" && !layer.reads.count("input") &&
      (!layer.reads.count("query") || !layer.reads.count("key"))) {
    missing(node, "input",
            op.name + " needs \"input\", or \"query\" and \"key\"");
  }
}

void SpecReader::readAttribute(const Member &member, const AttributeInfo &info,
                               LayerSpec &layer, const NameScope &scope) {
  const Node &value = *member.value;
  if (info.kind == AttributeInfo::Kind::Gate) {
    readGate(value, info.name, layer, scope);
    return;
  }
  if (info.kind == AttributeInfo::Kind::Path) {
    if (!expect(value, Node::Kind::String, "the path of a weight")) {
      return;
    }
    TextError failure;
    std::optional<PathTemplate> path = PathTemplate::parse(value.text, failure);
    if (!path) {
      errorInside(value, failure);
    } else if (countTerms(value, path->terms()) &&
               checkScalars(value, path->names(), scope)) {
      layer.paths[info.name] = {&value, std::move(*path)};
    }
    return;
  }
  if (info.kind == AttributeInfo::Kind::Sides && value.is(Node::Kind::Array)) {
    readSides(value, info.name, layer, scope);
    return;
  }
  if (info.kind == AttributeInfo::Kind::Shape) {
    if (expect(value, Node::Kind::Array, inQuotes(info.name).c_str())) {
      readShape(value, layer.shapes[info.name], scope);
    }
    return;
  }
  if (info.kind == AttributeInfo::Kind::Score) {
    readScore(value, info.name, layer, scope);
    return;
  }
  if (info.kind == AttributeInfo::Kind::Elements) {
    readElements(value, info.name, layer, scope);
    return;
  }
  if (auto parsed = setting(value, settingKind(info.kind), scope, info.words)) {
    layer.attributes[info.name] = std::move(*parsed);
  }
}

void SpecReader::readSides(const Node &node, const std::string &name,
                           LayerSpec &layer, const NameScope &scope) {
  if (node.elements.size() != 2) {
    error(node, inQuotes(name) + " is an integer, or two: [down, across]");
    return;
  }
  std::vector<Setting> sides;
  for (const Node *side : node.elements) {
    if (auto value = setting(*side, SettingKind::Integer, scope)) {
      sides.push_back(std::move(*value));
    }
  }
  if (sides.size() == 2) {
    layer.shapes[name] = std::move(sides);
  }
}

void SpecReader::readShape(const Node &node, std::vector<Setting> &shape,
                           const NameScope &scope) {
  constexpr const char *writtenOut =
      "every axis is written out, as an expression where it follows from "
      "others, such as \"length*width\"";
  if (node.elements.empty()) {
    error(node, "a shape without axes");
  }
  for (const Node *dimension : node.elements) {
    if (auto value = readDimension(*dimension, scope, writtenOut)) {
      shape.push_back(std::move(*value));
    }
  }
}

/// What is not known, in other libraries, is chosen when a model is compiled.
std::optional<Setting> SpecReader::readDimension(const Node &node,
                                                 const NameScope &scope,
                                                 const char *hint) {
  bool isNegative = node.is(Node::Kind::Integer) && node.integer < 0;
  if (!node.is(Node::Kind::Null) && !isNegative) {
    return setting(node, SettingKind::Integer, scope);
  }
  error(node, "a dimension must be 1 to 2147483647, got " +
                  (isNegative ? std::to_string(node.integer) : "null"))
      .notes.push_back({hint, std::nullopt});
  return std::nullopt;
}

void SpecReader::readGate(const Node &node, const std::string &name,
                          LayerSpec &layer, const NameScope &scope) {
  GateSpec gate;
  if (!node.is(Node::Kind::Object)) {
    gate.condition = setting(node, SettingKind::Boolean, scope);
    layer.gates[name] = std::move(gate);
    return;
  }
  checkKeys(node, {"if", "width"}, inQuotes(name));
  if (const Node *condition = node.get("if")) {
    gate.condition = setting(*condition, SettingKind::Boolean, scope);
  }
  if (const Node *width = node.get("width")) {
    gate.width = setting(*width, SettingKind::Integer, scope);
  }
  layer.gates[name] = std::move(gate);
}

void SpecReader::readInitializers(const Node &node, LayerSpec &layer,
                                  const NameScope &scope) {
  const Node &init = *node.get("init");
  if (!expect(init, Node::Kind::Object, "\"init\"")) {
    return;
  }
  if (const Node *kind = init.get("kind");
      kind && kind->is(Node::Kind::String)) {
    std::string example = layer.op->weights.empty()
                              ? ""
                              : ": {\"" + layer.op->weights.front() +
                                    "\": {\"kind\": " + inQuotes(kind->text) +
                                    ", ...}}";
    error(init, "\"init\" has an initialiser for each weight" + example);
    return;
  }
  checkKeys(init, layer.op->weights, "\"init\" of " + layer.op->name);
  for (const Member *member : uniqueMembers(init)) {
    const Node &value = *member->value;
    if (!expect(value, Node::Kind::Object, "an initialiser")) {
      continue;
    }
    InitializerSpec initializer;
    initializer.node = &value;
    const Node *kind = value.get("kind");
    if (!kind) {
      error(value, "missing key \"kind\" in an initialiser");
      continue;
    }
    auto word = wordOf(*kind, {"normal", "uniform", "glorot", "zeros", "ones",
                               "constant", "sinusoid"});
    if (!word) {
      continue;
    }
    initializer.kind = *word;
    const char *key = initializer.kind == "normal"     ? "std"
                      : initializer.kind == "uniform"  ? "bound"
                      : initializer.kind == "constant" ? "value"
                      : initializer.kind == "sinusoid" ? "first"
                                                       : nullptr;
    std::vector<std::string> known = {"kind"};
    if (key) {
      known.push_back(key);
    }
    const Node *base = nullptr;
    if (initializer.kind == "sinusoid") {
      known.push_back("base");
      base = value.get("base");
    }
    checkKeys(value, known, "a " + initializer.kind + " initialiser");
    const Node *number = key ? value.get(key) : nullptr;
    if (number) {
      initializer.value = setting(*number, SettingKind::Number, scope);
    } else if (key && initializer.kind != "sinusoid") {
      error(value,
            "a " + initializer.kind + " initialiser needs " + inQuotes(key));
    }
    if (base) {
      initializer.base = setting(*base, SettingKind::Number, scope);
    }
    layer.initializers[member->key] = std::move(initializer);
  }
}

void SpecReader::readBlockUse(const Node &node, LayerSpec &layer,
                              const NameScope &scope) {
  std::vector<std::string> known = commonLayerKeys();
  known.insert(known.end(), {"block", "input", "inputs", "arguments"});
  known.erase(std::find(known.begin(), known.end(), "init"));
  checkKeys(node, known, "the use of a block");
  if (knowsBlocks) {
    setBlock(*node.get("block"), layer, scope);
  }
  const Node *single = node.get("input");
  const Node *several = node.get("inputs");
  if (!single == !several) {
    errorAt({node.range.begin, node.range.begin + 1}, node,
            "the use of a block has either \"input\" or \"inputs\"");
  } else if (single) {
    layer.reads[""] = valueUses(*single, scope);
  } else if (expect(*several, Node::Kind::Object,
                    "\"inputs\" of the use of a block")) {
    for (const Member *member : uniqueMembers(*several)) {
      std::vector<ValueUse> &uses = layer.reads[member->key];
      if (!member->value->is(Node::Kind::Null)) {
        uses = valueUses(*member->value, scope);
      }
    }
  }
  const Node *arguments = node.get("arguments");
  if (arguments && expect(*arguments, Node::Kind::Object, "\"arguments\"")) {
    for (const Member *member : uniqueMembers(*arguments)) {
      if (auto value = setting(*member->value, SettingKind::Any, scope)) {
        layer.arguments[member->key] = std::move(*value);
      }
    }
  }
}

/// The name of a block is looked up, as there may be many.
void SpecReader::setBlock(const Node &node, LayerSpec &layer,
                          const NameScope &scope) {
  if (node.is(Node::Kind::String) && isName(node.text) &&
      !knownBlocks.count(node.text) && !scope.hasScalar(node.text)) {
    bool mayBeArgument = !knowsParameters || scope.lacksScalars;
    if (!mayBeArgument || findOperator(node.text)) {
      unknownBlock(node);
    } else {
      ++unsaid;
    }
    return;
  }
  if (!node.is(Node::Kind::String) || !knownBlocks.count(node.text)) {
    layer.block = setting(node, SettingKind::Word, scope, blockNames);
    return;
  }
  layer.block.emplace();
  layer.block->node = &node;
  layer.block->literal = Scalar::ofText(node.text);
}

/// The value of "block", which is the name of none.
void SpecReader::unknownBlock(const Node &node) {
  Diagnostic &unknown = error(node, "unknown block " + inQuotes(node.text));
  if (!findOperator(node.text)) {
    suggestFor(unknown, node.text, blockNames);
    return;
  }
  unknown.notes.push_back(
      {inQuotes(node.text) +
           " is an operator: write \"op\": " + inQuotes(node.text),
       std::nullopt});
  unknown.fixIts.push_back(
      {node.parent->members[node.index].keyRange, "\"op\""});
}

void SpecReader::checkBlockUses(const std::vector<LayerSpec> &layers) {
  for (const LayerSpec &layer : layers) {
    const BlockSpec *block = layer.block && layer.block->literal
                                 ? spec.findBlock(layer.block->literal->text)
                                 : nullptr;
    if (!block || block->broken || layer.broken || diagnostics.isFull()) {
      continue;
    }
    std::vector<std::string> arguments;
    for (const auto &argument : block->arguments) {
      arguments.push_back(argument.first);
      if (!argument.second && !layer.arguments.count(argument.first)) {
        errorAt(layer.nameRange, *layer.node,
                "block " + inQuotes(block->name) + " needs the argument " +
                    inQuotes(argument.first))
            .notes.push_back({"declared here", block->nameRange});
      }
    }
    const Node *given = layer.node->get("arguments");
    if (given && given->is(Node::Kind::Object)) {
      checkKeys(*given, arguments, "the arguments of " + block->name);
    }
    const Node *inputs = layer.node->get("inputs");
    if (inputs && inputs->is(Node::Kind::Object)) {
      checkKeys(*inputs, block->inputs, "the inputs of " + block->name);
    }
    for (size_t i = 0; i < block->inputs.size(); ++i) {
      bool present = layer.reads.count(block->inputs[i]) ||
                     (i == 0 && layer.reads.count(""));
      if (!present) {
        errorAt(layer.nameRange, *layer.node,
                "block " + inQuotes(block->name) + " needs the input " +
                    inQuotes(block->inputs[i]))
            .notes.push_back({"declared here", block->nameRange});
      }
    }
  }
}

} // namespace hova::frontend
