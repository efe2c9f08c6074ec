//===- Functions.h - Functions of expressions that are added ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A function of numbers, in the expressions of parameters, conditions and
// constants. Scores have none of them: theirs become code of every target.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_FRONTEND_EXPRESSION_FUNCTIONS_H
#define HOVA_FRONTEND_EXPRESSION_FUNCTIONS_H

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace hova::frontend {

struct ExpressionFunction {
  std::string name;
  /// How many numbers it takes.
  size_t values = 1;
  /// The result, which depends on the numbers alone. What is not finite is a
  /// mistake of whoever calls it.
  std::function<double(const std::vector<double> &)> compute;
};

/// Adds a function, before any description is read. Returns what is wrong with
/// it, such as a name that another one has. Empty: it was added.
std::string addExpressionFunction(ExpressionFunction added);

/// The function that was added with this name, or null. Its address stays.
const ExpressionFunction *findExpressionFunction(std::string_view name);

/// Their names.
std::vector<std::string> addedFunctionNames();

} // namespace hova::frontend

#endif // HOVA_FRONTEND_EXPRESSION_FUNCTIONS_H
