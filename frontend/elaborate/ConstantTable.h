//===- ConstantTable.h - The elements of a constant -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// What an expression of indices makes ("cos(row * rate[column])"): it is
// evaluated for each element while a program is made, as parameters are, so
// that every mistake in it is one of the description. What depends on
// parameters alone is evaluated once, and of tables that are read their
// elements have all digits of f64.
//
// A description is foreign input, so the work is bounded before it begins:
// terms are counted, those in a sum as often as it counts.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_FRONTEND_ELABORATE_CONSTANTTABLE_H
#define HOVA_FRONTEND_ELABORATE_CONSTANTTABLE_H

#include "frontend/elaborate/Program.h"
#include "frontend/expression/ExpressionNode.h"

namespace hova::frontend {

class ElementEvaluator {
public:
  /// The constant that a name means; null after a mistake, which was reported.
  using FindTable = std::function<ConstantPtr(const Reference &)>;

  /// Whether a name is that of a value; of a parameter otherwise.
  using IsValue = std::function<bool(const std::string &)>;

  ElementEvaluator(ValueType type, Lookup names, IsValue values,
                   FindTable tablesOfNames)
      : type(std::move(type)), lookup(std::move(names)),
        isValue(std::move(values)), findTable(std::move(tablesOfNames)) {}

  // False after a mistake, which `failure` tells; without a message it was
  // reported.

  /// Takes in what parameters and tables are.
  bool prepare(const Expression &expression);
  /// Computes all elements, after `prepare`.
  bool evaluate(ConstantTable &table);

  const TextError &failure() const { return error; }
  /// Terms that are evaluated for one element, as far as they can be counted.
  int64_t stepsOfElement() const { return steps; }
  /// The same of two constants with the same elements.
  std::string key() const;

private:
  using Node = Expression::Node;
  using NodePtr = std::shared_ptr<const Node>;

  NodePtr fail(const Node &node, std::string message);
  NodePtr prepared(const NodePtr &node);
  NodePtr preparedName(const NodePtr &node);
  NodePtr preparedRead(const NodePtr &node);
  NodePtr preparedSum(const NodePtr &node);
  NodePtr preparedChoice(const NodePtr &node);
  NodePtr preparedOperands(const NodePtr &node);
  NodePtr folded(const NodePtr &node);
  int64_t countSteps(const Node &node) const;
  std::optional<Scalar> read(const Node &node,
                             const std::vector<Scalar> &indices,
                             TextError &failure) const;
  std::string problemOf(const Scalar &value) const;
  std::string place(int64_t element) const;

  const ValueType type;
  const Lookup lookup;
  const IsValue isValue;
  const FindTable findTable;
  TextError error;
  NodePtr tree;
  int64_t steps = 0;
  /// What counts in the sums around what is prepared.
  std::vector<std::string> counters;
  std::map<const Node *, ConstantPtr> tables;
};

} // namespace hova::frontend

#endif // HOVA_FRONTEND_ELABORATE_CONSTANTTABLE_H
