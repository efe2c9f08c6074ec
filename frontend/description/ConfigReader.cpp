//===- ConfigReader.cpp - What a description says of configurations -------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "frontend/description/SpecReader.h"

namespace hova::frontend {

using reader::inQuotes;
using reader::Member;
using reader::Node;

std::vector<std::string> SpecReader::readWords(const Node &node,
                                               const char *what) {
  std::vector<std::string> words;
  if (!expect(node, Node::Kind::Array, what) ||
      !checkCount(node, node.elements.size(), SpecLimits::ruleEntries, what)) {
    return words;
  }
  for (const Node *element : node.elements) {
    if (auto word = stringOf(*element, what)) {
      words.push_back(std::move(*word));
    }
  }
  return words;
}

std::optional<Scalar> plainValue(const Node &node) {
  switch (node.kind) {
  case Node::Kind::Integer:
    return Scalar::ofInteger(node.integer);
  case Node::Kind::Real:
    return Scalar::ofReal(node.real);
  case Node::Kind::Boolean:
    return Scalar::ofBoolean(node.boolean);
  case Node::Kind::String:
    return Scalar::ofText(node.text);
  default:
    return std::nullopt;
  }
}

std::optional<Scalar> SpecReader::plainScalar(const Node &node) {
  std::optional<Scalar> value = plainValue(node);
  if (!value) {
    error(node, std::string("expected a number, a boolean or a word, got ") +
                    reader::describe(node.kind));
  }
  return value;
}

std::optional<Scalar> SpecReader::plainScalarOrList(const Node &node) {
  if (!node.is(Node::Kind::Array)) {
    return plainScalar(node);
  }
  std::vector<Scalar> elements;
  for (const Node *element : node.elements) {
    std::optional<Scalar> value = plainScalar(*element);
    if (!value) {
      return std::nullopt;
    }
    elements.push_back(std::move(*value));
  }
  return Scalar::ofList(std::move(elements));
}

void SpecReader::readConfigWords(const Node &node,
                                 const ParameterSpec &parameter,
                                 ConfigSetting &setting) {
  if (!expect(node, Node::Kind::Object, "\"words\"") ||
      !checkCount(node, node.members.size(), SpecLimits::values, "words")) {
    return;
  }
  for (const Member *member : uniqueMembers(node)) {
    std::optional<Scalar> meaning = plainScalar(*member->value);
    if (!meaning) {
      continue;
    }
    std::string problem = parameter.problemWith(*meaning);
    if (!problem.empty()) {
      error(*member->value, problem);
      continue;
    }
    setting.words.push_back({member->key, std::move(*meaning)});
  }
  if (node.members.empty()) {
    error(node, "an empty list of words");
  }
}

std::vector<std::string> ConfigSetting::keys() const {
  std::vector<std::string> names;
  for (const Expression &value : values) {
    for (const NameUse &use : value.names()) {
      names.push_back(use.name);
    }
  }
  return names;
}

/// One expression.
bool SpecReader::readConfigExpression(const Node &node,
                                      ConfigSetting &setting) {
  TextError failure;
  std::optional<Expression> keys = Expression::parseKeys(node.text, failure);
  if (!keys) {
    errorInside(node, failure);
    return false;
  }
  setting.values.push_back(std::move(*keys));
  return countTerms(node, setting.values.back().terms());
}

/// Several, of which each stands for those behind it.
bool SpecReader::readConfigExpressions(const Node &node,
                                       ConfigSetting &setting) {
  constexpr const char *what = "a list of expressions of keys";
  if (!checkCount(node, node.elements.size(), SpecLimits::values, what)) {
    return false;
  }
  if (node.elements.empty()) {
    error(node, "an empty list of expressions");
  }
  bool isRight = !node.elements.empty();
  for (const Node *element : node.elements) {
    isRight &= expect(*element, Node::Kind::String, what) &&
               readConfigExpression(*element, setting);
  }
  return isRight;
}

/// Either the expressions alone, a number or a boolean, or an object with what
/// else there is to say of them.
bool SpecReader::readConfigValue(const Node &node,
                                 const ParameterSpec &parameter,
                                 ConfigSetting &keys) {
  const Node *value = &node;
  if (node.is(Node::Kind::Object)) {
    checkKeys(node, {"value", "default", "needed", "null", "words"},
              "a value of keys");
    if (const Node *otherwise = node.get("default")) {
      keys.otherwise = plainScalarOrList(*otherwise);
    }
    if (const Node *needed = node.get("needed")) {
      auto when = setting(*needed, SettingKind::Boolean, parameterScope());
      keys.needed = when ? when->expression : std::nullopt;
      if (when && when->literal && when->literal->boolean) {
        keys.otherwise.reset();
      }
    }
    if (const Node *ofNull = node.get("null")) {
      keys.ofNull = plainScalar(*ofNull);
    }
    if (const Node *words = node.get("words")) {
      readConfigWords(*words, parameter, keys);
    }
    value = node.get("value");
    if (!value) {
      missing(node, "value", "missing key \"value\" in a value of keys");
      return false;
    }
  }
  if (value->is(Node::Kind::Array)) {
    return readConfigExpressions(*value, keys);
  }
  if (value->is(Node::Kind::String)) {
    return readConfigExpression(*value, keys);
  }
  keys.otherwise = plainScalar(*value);
  return keys.otherwise.has_value();
}

std::vector<ConfigSetting> SpecReader::readConfigSettings(const Node &node,
                                                          const char *what) {
  std::vector<ConfigSetting> settings;
  if (!expect(node, Node::Kind::Object, what)) {
    return settings;
  }
  for (const Member *member : uniqueMembers(node)) {
    const ParameterSpec *parameter = parameterNames.count(member->key)
                                         ? spec.findParameter(member->key)
                                         : nullptr;
    if (!parameter) {
      reader::Diagnostic &unknown =
          errorAt(member->keyRange, *member->value,
                  "unknown parameter " + inQuotes(member->key) + " in " + what);
      suggestFor(unknown, member->key, parameterScope().allScalars());
      continue;
    }
    ConfigSetting setting;
    setting.parameter = member->key;
    setting.node = member->value;
    if (readConfigValue(*member->value, *parameter, setting)) {
      settings.push_back(std::move(setting));
    }
  }
  return settings;
}

std::optional<ConfigSpec> SpecReader::readConfig(const Node &node) {
  if (!expect(node, Node::Kind::Object, "\"config\"")) {
    return std::nullopt;
  }
  checkKeys(node,
            {"model_type", "architectures", "set", "instead_of", "require",
             "aliases", "ignore"},
            "\"config\"");
  ConfigSpec config;
  config.node = &node;
  if (const Node *types = node.get("model_type")) {
    config.modelTypes = readWords(*types, "\"model_type\"");
  } else {
    missing(node, "model_type",
            "missing key \"model_type\" in \"config\": a list of what "
            "configurations are for");
  }
  const Node *classes = node.get("architectures");
  if (classes && expect(*classes, Node::Kind::Object, "\"architectures\"") &&
      checkCount(*classes, classes->members.size(), SpecLimits::ruleEntries,
                 "architectures")) {
    for (const Member *member : uniqueMembers(*classes)) {
      config.architectures.push_back(
          {member->key, readConfigSettings(*member->value, "an architecture")});
    }
  }
  if (const Node *set = node.get("set")) {
    config.set = readConfigSettings(*set, "\"set\"");
  }
  auto readNames = [&](const char *key, const char *counted, const char *what) {
    std::vector<std::pair<std::string, std::string>> names;
    const Node *object = node.get(key);
    if (object && expect(*object, Node::Kind::Object, inQuotes(key).c_str()) &&
        checkCount(*object, object->members.size(), SpecLimits::ruleEntries,
                   counted)) {
      for (const Member *member : uniqueMembers(*object)) {
        if (auto name = stringOf(*member->value, what)) {
          names.push_back({member->key, std::move(*name)});
        }
      }
    }
    return names;
  };
  config.insteadOf = readNames("instead_of", "keys", "a key");
  config.aliases = readNames("aliases", "aliases", "the key of an alias");
  const Node *require = node.get("require");
  if (require && expect(*require, Node::Kind::Object, "\"require\"") &&
      checkCount(*require, require->members.size(), SpecLimits::ruleEntries,
                 "keys")) {
    for (const Member *member : uniqueMembers(*require)) {
      if (expect(*member->value, Node::Kind::Array, "what a key may be")) {
        config.require.push_back({member->key, member->value});
      }
    }
  }
  if (const Node *ignore = node.get("ignore")) {
    config.ignore = readWords(*ignore, "\"ignore\"");
  }
  return config;
}

} // namespace hova::frontend
