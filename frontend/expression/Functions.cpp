//===- Functions.cpp - Functions of expressions that are added ------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "frontend/expression/Functions.h"
#include "frontend/expression/ExpressionParser.h"

#include <map>

namespace hova::frontend {

static std::map<std::string, ExpressionFunction, std::less<>> &added() {
  static std::map<std::string, ExpressionFunction, std::less<>> all;
  return all;
}

std::string addExpressionFunction(ExpressionFunction function) {
  const std::string name = function.name;
  // Of operators, and of conditions.
  bool isWord = name == "and" || name == "or" || name == "not" ||
                name == "true" || name == "false";
  if (!isName(name) || isWord) {
    return "function '" + name +
           "' cannot be called so: a name is a letter, then letters, digits "
           "and "
           "underscores";
  }
  if (ExpressionParser::knowsFunction(name) || findExpressionFunction(name)) {
    return "there is a function '" + name + "' already";
  }
  if (function.values < 1 || function.values > 16 || !function.compute) {
    return "function '" + name + "' must compute something of 1 to 16 numbers";
  }
  added().emplace(name, std::move(function));
  return "";
}

const ExpressionFunction *findExpressionFunction(std::string_view name) {
  auto found = added().find(name);
  return found == added().end() ? nullptr : &found->second;
}

std::vector<std::string> addedFunctionNames() {
  std::vector<std::string> names;
  for (const auto &[name, function] : added()) {
    names.push_back(name);
  }
  return names;
}

} // namespace hova::frontend
