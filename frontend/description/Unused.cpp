//===- Unused.cpp - What a description has and nothing needs --------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A name is used where it is written: in an expression, as a value that is
// read, or in the path of weights. Whether the reader is used itself is not
// asked, because removing it shows the next one.
//
//===----------------------------------------------------------------------===//

#include "frontend/description/Unused.h"
#include "frontend/expression/ScoreNames.h"

#include <set>

namespace hova::frontend {

namespace {

using reader::inQuotes;
using Names = std::set<std::string, std::less<>>;

/// The names in one list of layers.
struct Uses {
  /// Parameters and arguments.
  Names scalars;
  /// Inputs and layers.
  Names values;
};

class UnusedNames {
public:
  UnusedNames(const ModelSpec &spec, reader::Diagnostics &diagnostics)
      : spec(spec), diagnostics(diagnostics) {}

  void run();

private:
  void use(const std::vector<NameUse> &names, Uses &uses);
  void use(const Setting &setting, Uses &uses);
  void use(const std::optional<Setting> &setting, Uses &uses);
  void use(const ValueUse &value, Uses &uses);
  void usePath(const reader::Node &node, const PathTemplate &path, Uses &uses);
  void useBlock(const Setting &block);
  void useSettings(const LayerSpec &layer, Uses &uses);
  void useScore(const ScoreSpec &score, Uses &uses);
  void useElements(const ScoreSpec &elements, Uses &uses);
  void useLayers(const std::vector<LayerSpec> &layers, Uses &uses);
  void useSections(Uses &uses);
  void useCheckpoints(Uses &uses);

  Uses visitBlock(const BlockSpec &block);
  void checkBlock(const BlockSpec &block, const Uses &uses);
  void checkLayers(const std::vector<LayerSpec> &layers, const Uses &uses);
  void warn(reader::Range range, const reader::Node &node, const char *what,
            const std::string &name, const char *why);

  const ModelSpec &spec;
  reader::Diagnostics &diagnostics;
  Names blocks;
  /// A block is chosen by an expression: it may be any that it can spell.
  bool choosesBlocks = false;
  /// Words after a dot and in paths, which name layers of some block.
  Names inside;
};

void UnusedNames::use(const std::vector<NameUse> &names, Uses &uses) {
  for (const NameUse &name : names) {
    uses.scalars.insert(name.name);
  }
}

void UnusedNames::use(const Setting &setting, Uses &uses) {
  if (setting.expression) {
    use(setting.expression->names(), uses);
  }
}

void UnusedNames::use(const std::optional<Setting> &setting, Uses &uses) {
  if (setting) {
    use(*setting, uses);
  }
}

void UnusedNames::use(const ValueUse &value, Uses &uses) {
  uses.values.insert(value.reference.base);
  use(value.reference.names(), uses);
  for (const Reference::Accessor &accessor : value.reference.accessors) {
    inside.insert(accessor.member);
  }
}

void UnusedNames::usePath(const reader::Node &node, const PathTemplate &path,
                          Uses &uses) {
  use(path.names(), uses);
  for (size_t at = 0; at < node.text.size();) {
    size_t dot = std::min(node.text.find('.', at), node.text.size());
    inside.insert(node.text.substr(at, dot - at));
    at = dot + 1;
  }
}

void UnusedNames::useBlock(const Setting &block) {
  if (block.literal) {
    blocks.insert(block.literal->text);
  } else {
    choosesBlocks = true;
  }
}

void UnusedNames::useSettings(const LayerSpec &layer, Uses &uses) {
  for (const auto &attribute : layer.attributes) {
    use(attribute.second, uses);
  }
  for (const auto &shape : layer.shapes) {
    for (const Setting &dimension : shape.second) {
      use(dimension, uses);
    }
  }
  for (const auto &argument : layer.arguments) {
    use(argument.second, uses);
  }
  for (const auto &gate : layer.gates) {
    use(gate.second.condition, uses);
    use(gate.second.width, uses);
  }
  for (const auto &initializer : layer.initializers) {
    use(initializer.second.value, uses);
    use(initializer.second.base, uses);
  }
  for (const std::optional<Setting> *setting :
       {&layer.condition, &layer.repeat, &layer.trainable, &layer.block}) {
    use(*setting, uses);
  }
}

void UnusedNames::useScore(const ScoreSpec &score, Uses &uses) {
  for (const NameUse &name : score.expression.names()) {
    if (!findScoreName(name.name)) {
      uses.scalars.insert(name.name);
    }
  }
  for (const auto &read : score.expression.reads()) {
    use({score.node, *read}, uses);
  }
}

/// A parameter that an index hides counts as used: few are called so. What is
/// read is a constant or a list.
void UnusedNames::useElements(const ScoreSpec &elements, Uses &uses) {
  use(elements.expression.names(), uses);
  for (const auto &read : elements.expression.reads()) {
    use({elements.node, *read}, uses);
    uses.scalars.insert(read->base);
  }
}

void UnusedNames::useLayers(const std::vector<LayerSpec> &layers, Uses &uses) {
  for (const LayerSpec &layer : layers) {
    useSettings(layer, uses);
    if (layer.block) {
      useBlock(*layer.block);
    }
    for (const auto &path : layer.paths) {
      usePath(*path.second.first, path.second.second, uses);
    }
    if (layer.weights) {
      usePath(*layer.weightsNode, *layer.weights, uses);
    }
    bool known = uses.values.count(layer.name) > 0;
    for (const auto &read : layer.reads) {
      for (const ValueUse &value : read.second) {
        use(value, uses);
      }
    }
    for (const auto &score : layer.scores) {
      useScore(score.second, uses);
    }
    if (layer.elements) {
      useElements(*layer.elements, uses);
    }
    // Only a repetition reads itself, and nobody else may.
    if (!known && layer.repeat) {
      uses.values.erase(layer.name);
    }
  }
}

void UnusedNames::warn(reader::Range range, const reader::Node &node,
                       const char *what, const std::string &name,
                       const char *why) {
  diagnostics.warning(
      range, std::string(what) + " " + inQuotes(name) + " is not used: " + why,
      node.pointer());
}

void UnusedNames::checkLayers(const std::vector<LayerSpec> &layers,
                              const Uses &uses) {
  for (const LayerSpec &layer : layers) {
    if (!uses.values.count(layer.name) && !inside.count(layer.name)) {
      warn(layer.nameRange, *layer.node, "layer", layer.name,
           "no layer and no output reads it");
    }
  }
}

Uses UnusedNames::visitBlock(const BlockSpec &block) {
  Uses uses;
  for (const auto &argument : block.arguments) {
    use(argument.second, uses);
  }
  useLayers(block.layers, uses);
  for (const auto &output : block.outputs) {
    use(output.second, uses);
  }
  return uses;
}

void UnusedNames::checkBlock(const BlockSpec &block, const Uses &uses) {
  bool isNamed = blocks.count(block.name) || choosesBlocks;
  if (!isNamed) {
    // What is inside of it is not worth a word then.
    warn(block.nameRange, *block.node, "block", block.name,
         "no layer is made of it");
    return;
  }
  const reader::Node &inputs = *block.node->get("inputs");
  for (size_t i = 0; i < block.inputs.size(); ++i) {
    // With `repeat` the first one takes the result before.
    if (!uses.values.count(block.inputs[i])) {
      warn(inputs.elements[i]->range, *inputs.elements[i], "input",
           block.inputs[i], "no layer of the block reads it");
    }
  }
  for (const auto &argument : block.arguments) {
    const reader::Node &list = *block.node->get("arguments");
    if (!uses.scalars.count(argument.first)) {
      warn(list.find(argument.first)->keyRange, *list.get(argument.first),
           "argument", argument.first, "no expression of the block names it");
    }
  }
  checkLayers(block.layers, uses);
}

void UnusedNames::useCheckpoints(Uses &uses) {
  for (const CheckpointSpec &source : spec.checkpoints) {
    for (const RuleSpec &rule : source.rules) {
      use(rule.constant, uses);
      for (const StepSpec &step : rule.steps) {
        for (const Setting &number : step.numbers) {
          use(number, uses);
        }
        for (const std::optional<Setting> *setting :
             {&step.axis, &step.start, &step.end}) {
          use(*setting, uses);
        }
      }
    }
  }
}

void UnusedNames::useSections(Uses &uses) {
  for (const ParameterSpec &parameter : spec.parameters) {
    use(parameter.value, uses);
  }
  for (const InputSpec &input : spec.inputs) {
    use(input.condition, uses);
    for (const Setting &dimension : input.shape) {
      use(dimension, uses);
    }
    if (input.range) {
      use(input.range->first, uses);
      use(input.range->second, uses);
    }
  }
  useLayers(spec.layers, uses);
  for (const auto &output : spec.outputs) {
    use(output.second, uses);
  }
  for (const std::optional<Setting> &condition : spec.outputConditions) {
    use(condition, uses);
  }
  useCheckpoints(uses);
}

void UnusedNames::run() {
  Uses uses;
  useSections(uses);
  std::vector<Uses> inner;
  for (const BlockSpec &block : spec.blocks) {
    inner.push_back(visitBlock(block));
    // A parameter that an argument hides is not named in that block.
    Names outer = inner.back().scalars;
    for (const auto &argument : block.arguments) {
      outer.erase(argument.first);
    }
    uses.scalars.insert(outer.begin(), outer.end());
  }
  for (const ParameterSpec &parameter : spec.parameters) {
    if (!uses.scalars.count(parameter.name)) {
      warn(parameter.nameRange, *parameter.value.node, "parameter",
           parameter.name, "no expression names it");
    }
  }
  for (const InputSpec &input : spec.inputs) {
    if (!uses.values.count(input.name)) {
      warn(input.nameRange, *input.node, "input", input.name,
           "no layer and no output reads it");
    }
  }
  for (size_t i = 0; i < inner.size(); ++i) {
    checkBlock(spec.blocks[i], inner[i]);
  }
  checkLayers(spec.layers, uses);
}

} // namespace

void warnOfUnused(const ModelSpec &spec, reader::Diagnostics &diagnostics) {
  UnusedNames(spec, diagnostics).run();
}

} // namespace hova::frontend
