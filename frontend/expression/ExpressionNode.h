//===- ExpressionNode.h - The tree of an expression -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Shared by the parser and the evaluator; nobody else needs it.
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
    Log2
  };

  Operator op = Operator::Literal;
  /// The value of a literal; the name, as text, of a name.
  Scalar literal;
  std::vector<std::shared_ptr<const Node>> operands;
  size_t begin = 0;
  size_t end = 0;
};

} // namespace hova::frontend

#endif // HOVA_FRONTEND_EXPRESSION_EXPRESSIONNODE_H
