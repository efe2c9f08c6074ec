//===- FittingHeads.cpp - What heads divide the widths of a model ---------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "frontend/weights/FittingHeads.h"

namespace hova::frontend {

using Names = std::set<std::string>;

namespace {

/// Adds the names that `setting` reads; returns whether any is new.
bool addNames(const Setting &setting, Names &names) {
  bool isNew = false;
  if (setting.expression) {
    for (const NameUse &use : setting.expression->names()) {
      isNew |= names.insert(use.name).second;
    }
  }
  return isNew;
}

} // namespace

Names headParameters(const ModelSpec &spec) {
  std::vector<const LayerSpec *> layers;
  for (const LayerSpec &layer : spec.layers) {
    layers.push_back(&layer);
  }
  for (const BlockSpec &block : spec.blocks) {
    for (const LayerSpec &layer : block.layers) {
      layers.push_back(&layer);
    }
  }
  Names names;
  for (const LayerSpec *layer : layers) {
    for (const char *attribute : {"heads", "key_value_heads"}) {
      auto found = layer->attributes.find(attribute);
      if (found != layer->attributes.end()) {
        addNames(found->second, names);
      }
    }
  }
  bool isNew = true;
  for (size_t turn = 0; isNew && turn < maxBlockDepth; ++turn) {
    isNew = false;
    for (const LayerSpec *layer : layers) {
      for (const auto &[argument, value] : layer->arguments) {
        isNew |= names.count(argument) && addNames(value, names);
      }
    }
  }
  Names parameters;
  for (const std::string &name : names) {
    if (spec.findParameter(name)) {
      parameters.insert(name);
    }
  }
  return parameters;
}

std::set<int64_t> widthsOfHeads(const Program &program) {
  std::set<int64_t> widths;
  for (const ProgramOperation &operation : program.operations) {
    if (operation.attributes.count("heads") && !operation.operands.empty()) {
      int value = operation.operands.front().second;
      const Shape &shape =
          program.values[static_cast<size_t>(value)].type.shape;
      widths.insert(shape.empty() ? 0 : shape.back());
    }
  }
  return widths;
}

} // namespace hova::frontend
