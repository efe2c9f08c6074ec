//===- ExpressionNode.h - The tree of an expression -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Shared by the parser, the evaluator and what makes programs of scores; nobody
// else needs it.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_FRONTEND_EXPRESSION_EXPRESSIONNODE_H
#define HOVA_FRONTEND_EXPRESSION_EXPRESSIONNODE_H

#include "frontend/expression/Expression.h"

namespace hova::frontend {

struct Expression::Node {
  enum class Operator {
    Literal,
    Name,
    Or,
    And,
    Not,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Add,
    Subtract,
    Multiply,
    Divide,
    Floor,
    Modulo,
    Power,
    Negate,
    If,
    Min,
    Max,
    Absolute,
    SquareRoot,
    FloorCall,
    Ceiling,
    Log2,
    // Of lists, which scores do not know.
    Count,
    Element,
    // Of scores alone.
    Exponential,
    Logarithm,
    Tangent,
    Sigmoid,
    Read
  };

  Operator op = Operator::Literal;
  /// The value of a literal; the name, as text, of a name.
  Scalar literal;
  std::vector<std::shared_ptr<const Node>> operands;
  /// The value of a read, whose indices are the operands.
  std::shared_ptr<const Reference> reference;
  size_t begin = 0;
  size_t end = 0;
};

/// The value of a part of an expression; see Expression::evaluate.
std::optional<Scalar> evaluate(const Expression::Node &node,
                               const Lookup &lookup, TextError &error);

} // namespace hova::frontend

#endif // HOVA_FRONTEND_EXPRESSION_EXPRESSIONNODE_H
