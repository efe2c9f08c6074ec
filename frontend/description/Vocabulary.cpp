//===- Vocabulary.cpp - The words of a description ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "frontend/description/OperatorWords.h"

#include <algorithm>
#include <cctype>

namespace hova::frontend {

namespace attributes {

using Kind = AttributeInfo::Kind;

AttributeInfo integer(std::string name, std::string defaultText,
                      std::string summary, double minimum) {
  bool isRequired = defaultText.empty();
  return {std::move(name),
          Kind::Integer,
          isRequired,
          std::move(defaultText),
          {},
          minimum,
          std::move(summary)};
}

AttributeInfo sides(std::string name, std::string defaultText,
                    std::string summary, double minimum) {
  AttributeInfo info = integer(std::move(name), std::move(defaultText),
                               std::move(summary), minimum);
  info.kind = Kind::Sides;
  return info;
}

AttributeInfo number(std::string name, std::string defaultText,
                     std::string summary, std::optional<double> minimum) {
  bool isRequired = defaultText.empty();
  return {std::move(name),        Kind::Number, isRequired,
          std::move(defaultText), {},           minimum,
          std::move(summary)};
}

AttributeInfo boolean(std::string name, std::string defaultText,
                      std::string summary) {
  return {std::move(name), Kind::Boolean,     false, std::move(defaultText), {},
          std::nullopt,    std::move(summary)};
}

AttributeInfo word(std::string name, std::string defaultText,
                   std::vector<std::string> words, std::string summary) {
  bool isRequired = defaultText.empty();
  return {std::move(name),        Kind::Word,       isRequired,
          std::move(defaultText), std::move(words), std::nullopt,
          std::move(summary)};
}

AttributeInfo score(std::string name, std::string defaultText,
                    std::string summary) {
  return {std::move(name), Kind::Score,       false, std::move(defaultText), {},
          std::nullopt,    std::move(summary)};
}

} // namespace attributes

namespace words {

const std::vector<std::string> &activations() {
  static const std::vector<std::string> all = {
      "relu", "gelu_erf",   "gelu_tanh", "tanh",  "sigmoid",
      "silu", "quick_gelu", "softplus",  "relu2", "hard_swish"};
  return all;
}

AttributeInfo axis() {
  return integer("axis", "-1", "counted from 0, or from the end if negative",
                 -8);
}

AttributeInfo gridHeight() {
  return integer("grid_height", "as it was embedded",
                 "rows of the image that the tokens are of");
}

RoleInfo input(std::string summary) {
  return {"input", true, false, std::move(summary)};
}

AttributeInfo orWord(AttributeInfo info, std::vector<std::string> words) {
  info.words = std::move(words);
  return info;
}

OperatorInfo fusable(OperatorInfo op, std::string site) {
  op.fusable = true;
  op.site = std::move(site);
  return op;
}

} // namespace words

const AttributeInfo *OperatorInfo::attribute(std::string_view name) const {
  for (const AttributeInfo &info : attributes) {
    if (info.name == name) {
      return &info;
    }
  }
  return nullptr;
}

const RoleInfo *OperatorInfo::role(std::string_view name) const {
  for (const RoleInfo &info : roles) {
    if (info.name == name) {
      return &info;
    }
  }
  return nullptr;
}

std::deque<OperatorInfo> &growingVocabulary() {
  static std::deque<OperatorInfo> operators = [] {
    std::vector<OperatorInfo> known = builtInOperators();
    return std::deque<OperatorInfo>(known.begin(), known.end());
  }();
  return operators;
}

const std::deque<OperatorInfo> &vocabulary() { return growingVocabulary(); }

bool isOperatorName(std::string_view name) {
  auto isLegal = [](unsigned char c) { return std::isalnum(c) || c == '_'; };
  return !name.empty() && std::isalpha(static_cast<unsigned char>(name[0])) &&
         std::all_of(name.begin(), name.end(), isLegal);
}

bool isCommonLayerKey(std::string_view key) {
  const std::vector<std::string> &common = commonLayerKeys();
  return std::find(common.begin(), common.end(), key) != common.end() ||
         key == "op" || key == "block" || key == "require";
}

std::string addToVocabulary(OperatorInfo info) {
  if (!isOperatorName(info.name)) {
    return "an operator is named by a letter, then letters, digits and "
           "underscores, got '" +
           info.name + "'";
  }
  if (findOperator(info.name)) {
    return "there is an operator '" + info.name + "' already";
  }
  std::vector<std::string> taken, keys;
  for (const RoleInfo &role : info.roles) {
    keys.push_back(role.name);
  }
  for (const AttributeInfo &attribute : info.attributes) {
    keys.push_back(attribute.name);
  }
  for (const std::string &key : keys) {
    if (isCommonLayerKey(key) ||
        std::find(taken.begin(), taken.end(), key) != taken.end()) {
      return "operator '" + info.name + "' gives the key '" + key +
             "' a second meaning";
    }
    taken.push_back(key);
  }
  growingVocabulary().push_back(std::move(info));
  return "";
}

const std::vector<std::string> &commonLayerKeys() {
  static const std::vector<std::string> keys = {"name",    "if",   "repeat",
                                                "weights", "init", "trainable"};
  return keys;
}

const OperatorInfo *findOperator(std::string_view name) {
  for (const OperatorInfo &info : vocabulary()) {
    if (info.name == name) {
      return &info;
    }
  }
  return nullptr;
}

} // namespace hova::frontend
