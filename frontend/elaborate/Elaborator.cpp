//===- Elaborator.cpp - Expansion of layers, blocks and repetitions -------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "frontend/elaborate/Elaborator.h"
#include "frontend/elaborate/LayerContext.h"

#include <algorithm>

namespace hova::frontend {

using reader::inQuotes;

namespace {

/// Repetitions of one layer; more would not fit into the units.
constexpr int64_t maxRepeat = 200000;

/// Where the weights of the layer at `path` are unless it says otherwise.
std::string defaultWeightPath(const Environment &environment,
                              const std::string &path) {
  return environment.weightPath + path.substr(environment.path.size());
}

EntityPtr valueEntity(ValueRef value) {
  auto entity = std::make_shared<Entity>();
  entity->value = value;
  return entity;
}

} // namespace

std::unique_ptr<Program>
Elaborator::run(const std::vector<ParameterOverride> &overrides) {
  program->name = spec.name;
  program->source = spec.source;
  if (diagnostics.isFull()) {
    // Reading has stopped half way; nothing more would be said.
    return nullptr;
  }
  ScopeMap scope;
  Environment environment;
  environment.scope = &scope;
  fillParameters(overrides);
  if (program->parameters.size() != spec.parameters.size()) {
    return nullptr;
  }
  for (const InputSpec &input : spec.inputs) {
    addInput(input, environment);
  }
  checkRanges();
  expandLayers(spec.layers, environment);
  addOutputs(environment);
  if (!rangeRead.empty()) {
    diagnostics.error(spec.findParameter(rangeRead)->nameRange,
                      readsRange(rangeRead));
  }
  if (!diagnostics.hasErrors()) {
    checkUnusedWeights();
    checkConstantOutputs();
  }
  return diagnostics.hasErrors() ? nullptr : std::move(program);
}

void Elaborator::expandLayers(const std::vector<LayerSpec> &layers,
                              Environment &environment) {
  for (const LayerSpec &layer : layers) {
    if (exhausted) {
      return;
    }
    EntityPtr entity = expandLayer(layer, environment);
    if (entity->value.isPoison() && spendPath(environment.path, *layer.node)) {
      unbuilt.insert(environment.path + layer.name);
    }
    (*environment.scope)[layer.name] = entity;
  }
}

EntityPtr Elaborator::expandLayer(const LayerSpec &layer,
                                  Environment &environment) {
  if (layer.broken || !spend(1, *layer.node)) {
    return valueEntity(poison);
  }
  if (layer.condition) {
    std::optional<bool> condition = boolean(*layer.condition, environment);
    if (!condition) {
      return valueEntity(poison);
    }
    if (!*condition) {
      return passThrough(layer, environment);
    }
  }
  if (!layer.repeat) {
    return expandOnce(layer, environment, environment.path + layer.name, {});
  }
  std::optional<int64_t> count = integer(*layer.repeat, environment);
  if (!count) {
    return valueEntity(poison);
  }
  if (*count < 0 || *count > maxRepeat) {
    error(*layer.repeat->node, "\"repeat\" must be 0 to " +
                                   std::to_string(maxRepeat) + ", got " +
                                   std::to_string(*count));
    return valueEntity(poison);
  }
  Environment first = environment;
  first.index = Scalar::ofInteger(0);
  EntityPtr entity = passThrough(layer, first);
  auto repeated = std::make_shared<Entity>(*entity);
  repeated->isList = false;
  repeated->indexable = true;
  repeated->elements.clear();
  if (entity->isList) {
    error(*layer.node, "the first input of a repeated layer is one value, not "
                       "a list");
    return valueEntity(poison);
  }
  // The repetitions read the ones before by this name.
  (*environment.scope)[layer.name] = repeated;
  repeatLayer(layer, environment, *count, *repeated);
  return repeated;
}

/// What stands for a layer that does nothing: the first value that it reads,
/// and for each named output of a block the input of that name.
EntityPtr Elaborator::passThrough(const LayerSpec &layer,
                                  Environment &environment) {
  if (layer.op) {
    for (const RoleInfo &role : layer.op->roles) {
      auto read = layer.reads.find(role.name);
      if (read != layer.reads.end() && !read->second.empty()) {
        return passOn(layer, read->second, environment);
      }
    }
    // A layer that reads something and does not is broken.
    return valueEntity(layer.op->roles.empty() ? absent : poison);
  }
  const BlockSpec *block = blockOf(layer, environment);
  if (!block || block->inputs.empty()) {
    return valueEntity(poison);
  }
  auto inputNamed = [&](const std::string &name) -> EntityPtr {
    auto read = layer.reads.find(name);
    if (read == layer.reads.end() && name == block->inputs[0]) {
      read = layer.reads.find("");
    }
    return read == layer.reads.end() ? valueEntity(poison)
                                     : passOn(layer, read->second, environment);
  };
  auto outputs = std::make_shared<ScopeMap>();
  EntityPtr first;
  for (const auto &[name, use] : block->outputs) {
    const std::vector<std::string> &inputs = block->inputs;
    if (std::find(inputs.begin(), inputs.end(), name) != inputs.end()) {
      EntityPtr input = (*outputs)[name] = inputNamed(name);
      first = &use == &block->outputs[0].second ? input : first;
    }
  }
  first = first ? first : inputNamed(block->inputs[0]);
  if (outputs->empty()) {
    return first;
  }
  auto entity = std::make_shared<Entity>(*first);
  entity->outputs = std::move(outputs);
  return entity;
}

/// What is read, as it is; a list as a whole, or nothing if it is empty.
EntityPtr Elaborator::passOn(const LayerSpec &layer,
                             const std::vector<ValueUse> &uses,
                             Environment &environment) {
  if (isNothing(uses, environment)) {
    return valueEntity(absent);
  }
  std::optional<Resolved> resolved = resolve(uses.front(), environment);
  if (!resolved) {
    return valueEntity(poison);
  }
  if (resolved->entity) {
    return resolved->entity;
  }
  if (!spend(int64_t(resolved->values.size()), *layer.node)) {
    return valueEntity(poison);
  }
  auto list = std::make_shared<Entity>();
  list->isList = list->indexable = true;
  for (ValueRef value : resolved->values) {
    list->elements.push_back(valueEntity(value));
  }
  return list;
}

void Elaborator::repeatLayer(const LayerSpec &layer, Environment &environment,
                             int64_t count, Entity &entity) {
  for (int64_t i = 0; i < count && !exhausted; ++i) {
    Environment inner = environment;
    inner.index = Scalar::ofInteger(i);
    Carried carried;
    if (i > 0) {
      carried = carriedFrom(layer, entity, inner);
    }
    std::string path = environment.path + layer.name + "." + std::to_string(i);
    EntityPtr result = expandOnce(layer, inner, path, carried);
    entity.elements.push_back(result);
    entity.value = result->value;
    entity.outputs = result->outputs;
    entity.inside = result->inside;
  }
}

Elaborator::Carried Elaborator::carriedFrom(const LayerSpec &layer,
                                            const Entity &entity,
                                            Environment &environment) {
  if (layer.op) {
    return {{"input", entity.value}};
  }
  const BlockSpec *block = blockOf(layer, environment);
  if (!block || block->inputs.empty()) {
    return {};
  }
  if (!entity.outputs) {
    return {{block->inputs[0], entity.value}};
  }
  Carried carried;
  for (const std::string &name : block->inputs) {
    auto output = entity.outputs->find(name);
    if (output != entity.outputs->end()) {
      carried[name] = output->second->value;
    }
  }
  return carried;
}

EntityPtr Elaborator::expandOnce(const LayerSpec &layer,
                                 Environment &environment,
                                 const std::string &path,
                                 const Carried &carried) {
  if (!spend(1, *layer.node) || !spendPath(path, *layer.node)) {
    return valueEntity(poison);
  }
  Environment inner = environment;
  if (layer.trainable) {
    std::optional<bool> trainable = boolean(*layer.trainable, environment);
    inner.trainable &= trainable.value_or(true);
  }
  std::optional<std::string> weightPath =
      weightPathOf(layer, environment, path);
  if (!weightPath) {
    return valueEntity(poison);
  }
  weightPaths.emplace(path, *weightPath);
  if (*weightPath != defaultWeightPath(environment, path)) {
    inner.borrower = &layer;
  }
  if (layer.block) {
    return expandBlock(layer, inner, path, *weightPath, carried);
  }
  LayerContext context(*this, layer, inner, path, *weightPath, carried);
  EntityPtr entity = valueEntity(context.build());
  for (const auto &[name, value] : context.moreValues()) {
    if (!entity->outputs) {
      entity->outputs = std::make_shared<ScopeMap>();
    }
    (*entity->outputs)[name] = valueEntity(value);
  }
  return entity;
}

std::optional<std::string> Elaborator::weightPathOf(const LayerSpec &layer,
                                                    Environment &environment,
                                                    const std::string &path) {
  if (!layer.weights) {
    return defaultWeightPath(environment, path);
  }
  std::optional<std::string> wanted =
      evaluatePath(*layer.weights, *layer.weightsNode, environment);
  if (!wanted) {
    return std::nullopt;
  }
  for (const std::string &candidate : {environment.path + *wanted, *wanted}) {
    if (candidate == path) {
      // The first use of weights that later ones share.
      return defaultWeightPath(environment, path);
    }
    auto known = weightPaths.find(candidate);
    if (known != weightPaths.end()) {
      return known->second;
    }
  }
  if (!isUnbuilt(*wanted, environment)) {
    error(*layer.weightsNode,
          "no earlier layer has the path " + inQuotes(*wanted));
  }
  return std::nullopt;
}

bool Elaborator::isUnbuilt(std::string_view path,
                           const Environment &environment) const {
  for (std::string candidate :
       {environment.path + std::string(path), std::string(path)}) {
    for (size_t end = candidate.size(); end != std::string::npos && end > 0;
         end = candidate.rfind('.', end - 1)) {
      if (unbuilt.count(candidate.substr(0, end))) {
        return true;
      }
    }
  }
  return false;
}

const BlockSpec *Elaborator::blockOf(const LayerSpec &layer,
                                     Environment &environment) {
  std::optional<Scalar> name = evaluate(*layer.block, environment);
  if (!name) {
    return nullptr;
  }
  const BlockSpec *block = spec.findBlock(name->str());
  if (!block) {
    std::vector<std::string> known;
    for (const BlockSpec &candidate : spec.blocks) {
      known.push_back(candidate.name);
    }
    diagnostics.suggestFrom(
        error(*layer.block->node, "unknown block " + inQuotes(name->str())),
        name->str(), known);
  }
  return block;
}

EntityPtr Elaborator::expandBlock(const LayerSpec &layer,
                                  Environment &environment,
                                  const std::string &path,
                                  const std::string &weightPath,
                                  const Carried &carried) {
  const BlockSpec *block = blockOf(layer, environment);
  if (!block || block->broken) {
    return valueEntity(poison);
  }
  bool recursive =
      std::find(environment.blocks.begin(), environment.blocks.end(), block) !=
      environment.blocks.end();
  if (recursive || environment.blocks.size() >= maxBlockDepth) {
    // Reported before, where the block's name is written down.
    if (!layer.block->literal) {
      error(*layer.block->node,
            "block " + inQuotes(block->name) +
                (recursive ? " uses itself"
                           : " is nested deeper than " +
                                 std::to_string(maxBlockDepth) + " levels"));
    }
    return valueEntity(poison);
  }
  auto scope = std::make_shared<ScopeMap>();
  Environment inner;
  inner.scope = scope.get();
  inner.path = path + ".";
  inner.weightPath = weightPath + ".";
  inner.trainable = environment.trainable;
  inner.borrower = environment.borrower;
  inner.blocks = environment.blocks;
  inner.blocks.push_back(block);
  if (!bindInputs(layer, *block, environment, carried, *scope) ||
      !bindArguments(layer, *block, environment, inner)) {
    return valueEntity(poison);
  }
  expandLayers(block->layers, inner);
  auto entity = std::make_shared<Entity>();
  entity->inside = scope;
  entity->value = poison;
  bool first = true;
  for (const auto &[name, use] : block->outputs) {
    ValueRef value = exhausted ? poison : resolveOne(use, inner);
    if (first) {
      entity->value = value;
      first = false;
    }
    if (!name.empty()) {
      if (!entity->outputs) {
        entity->outputs = std::make_shared<ScopeMap>();
      }
      (*entity->outputs)[name] = valueEntity(value);
    }
  }
  return entity;
}

bool Elaborator::bindInputs(const LayerSpec &layer, const BlockSpec &block,
                            Environment &environment, const Carried &carried,
                            ScopeMap &inner) {
  for (size_t i = 0; i < block.inputs.size(); ++i) {
    const std::string &name = block.inputs[i];
    auto kept = carried.find(name);
    if (kept != carried.end()) {
      if (!spend(1, *layer.node)) {
        return false;
      }
      inner[name] = valueEntity(kept->second);
      continue;
    }
    auto read = layer.reads.find(name);
    if (read == layer.reads.end() && i == 0) {
      read = layer.reads.find("");
    }
    if (read == layer.reads.end()) {
      // Reported where the block's name is written down.
      if (!layer.block->literal) {
        error(*layer.node, "block " + inQuotes(block.name) +
                               " needs the input " + inQuotes(name));
      }
      return false;
    }
    if (isNothing(read->second, environment)) {
      inner[name] = valueEntity(absent);
      continue;
    }
    bool single = read->second.size() == 1;
    auto list = std::make_shared<Entity>();
    list->isList = list->indexable = true;
    for (const ValueUse &use : read->second) {
      std::optional<Resolved> resolved = resolve(use, environment);
      if (!resolved) {
        return false;
      }
      if (single && !resolved->isList) {
        list = resolved->entity ? resolved->entity
                                : valueEntity(resolved->values[0]);
        break;
      }
      if (!spend(int64_t(resolved->values.size()), *use.node)) {
        return false;
      }
      for (ValueRef value : resolved->values) {
        list->elements.push_back(valueEntity(value));
      }
    }
    inner[name] = list;
  }
  return true;
}

bool Elaborator::bindArguments(const LayerSpec &layer, const BlockSpec &block,
                               Environment &environment, Environment &inner) {
  using Arguments = std::map<std::string, Scalar, std::less<>>;
  auto arguments = std::make_shared<Arguments>();
  inner.arguments = arguments;
  auto count = static_cast<int64_t>(block.arguments.size());
  if (!spend(count, *layer.node)) {
    return false;
  }
  for (const auto &[name, initial] : block.arguments) {
    auto given = layer.arguments.find(name);
    std::optional<Scalar> value;
    if (given != layer.arguments.end()) {
      value = evaluate(given->second, environment);
    } else if (initial) {
      value = evaluate(*initial, inner);
    } else if (!layer.block->literal) {
      error(*layer.node, "block " + inQuotes(block.name) +
                             " needs the argument " + inQuotes(name));
    }
    if (!value) {
      return false;
    }
    (*arguments)[name] = *value;
  }
  inner.index = layer.repeat && environment.index ? environment.index
                                                  : Scalar::ofInteger(0);
  return true;
}

std::unique_ptr<Program>
elaborate(const ModelSpec &spec,
          const std::vector<ParameterOverride> &overrides,
          reader::Diagnostics &diagnostics, int64_t units) {
  return Elaborator(spec, diagnostics, units).run(overrides);
}

} // namespace hova::frontend
