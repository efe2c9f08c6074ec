//===- DenseModule.cpp - The linear layers behind a pooling ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "frontend/folder/DenseModule.h"

#include <algorithm>

namespace hova::frontend {

using reader::inQuotes;
using reader::Member;
using reader::Node;

namespace {

/// The library calls a class without arguments: GELU is not approximated.
struct ActivationClass {
  std::string_view name;
  const char *kind;
};
constexpr ActivationClass activations[] = {
    {"Identity", "identity"}, {"Tanh", "tanh"},       {"ReLU", "relu"},
    {"GELU", "gelu_erf"},     {"Sigmoid", "sigmoid"}, {"SiLU", "silu"},
};

/// What a dense layer reads, and what it writes.
constexpr std::string_view embedding = "sentence_embedding";

class DenseReader {
public:
  explicit DenseReader(Config &config) : config(config) {}

  bool read(const Member &member);
  bool isComplete();

  DenseModule module;

private:
  bool readFeatures(const Node &value, int64_t &features);
  bool readActivation(const Node &value);
  bool expected(const Node &value, const std::string &what) {
    config.error(value, "expected " + what + ", got " + config.textOf(value));
    return false;
  }

  Config &config;
};

bool DenseReader::readFeatures(const Node &value, int64_t &features) {
  if (!value.is(Node::Kind::Integer) || value.integer < 1) {
    return expected(value, "a number of features");
  }
  features = value.integer;
  return true;
}

bool DenseReader::readActivation(const Node &value) {
  std::string_view path;
  if (value.is(Node::Kind::String)) {
    path = value.text;
  }
  std::string_view name = path.substr(path.rfind('.') + 1);
  auto found = std::find_if(
      std::begin(activations), std::end(activations),
      [&](const ActivationClass &other) { return other.name == name; });
  // A class of that name elsewhere may be any function.
  if (path.substr(0, 6) != "torch." || found == std::end(activations)) {
    std::string known;
    for (const ActivationClass &other : activations) {
      known += (known.empty() ? "" : ", ") + std::string(other.name);
    }
    return expected(value, "a class of torch.nn, one of " + known);
  }
  module.activation = found->kind;
  return true;
}

bool DenseReader::read(const Member &member) {
  const Node &value = *member.value;
  if (member.key == "in_features") {
    return readFeatures(value, module.inputs);
  }
  if (member.key == "out_features") {
    return readFeatures(value, module.outputs);
  }
  if (member.key == "activation_function") {
    return readActivation(value);
  }
  if (member.key == "bias") {
    module.hasBias = value.boolean;
    return value.is(Node::Kind::Boolean) || expected(value, "true or false");
  }
  bool isName =
      member.key == "module_input_name" || member.key == "module_output_name";
  if (isName) {
    bool isUsual = value.is(Node::Kind::String) && value.text == embedding;
    return isUsual || expected(value, inQuotes(embedding));
  }
  config.error(value, "nothing is known of key " + inQuotes(member.key) +
                          " of a dense layer with the value " +
                          config.textOf(value));
  return false;
}

bool DenseReader::isComplete() {
  for (auto [key, features] : {std::pair("in_features", module.inputs),
                               std::pair("out_features", module.outputs)}) {
    if (features == 0) {
      config.errorAtStart("key " + inQuotes(key) + " is missing");
      return false;
    }
  }
  return true;
}

} // namespace

std::optional<DenseModule> readDenseModule(Config &config) {
  DenseReader reader(config);
  for (const Member &member : config.root().members) {
    if (!member.repeated && !reader.read(member)) {
      return std::nullopt;
    }
  }
  return reader.isComplete() ? std::optional(reader.module) : std::nullopt;
}

} // namespace hova::frontend
