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
#include "frontend/expression/Functions.h"

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
    // Of scores and constants.
    Exponential,
    Logarithm,
    Tangent,
    Sigmoid,
    Read,
    // Of constants alone.
    Sine,
    Cosine,
    Sum,
    // A function that was added, which scores do not know.
    Call
  };

  Operator op = Operator::Literal;
  /// The value of a literal; the name, as text, of a name, and of what counts
  /// in a sum, whose operands are how far it does and what is added.
  Scalar literal;
  std::vector<std::shared_ptr<const Node>> operands;
  /// The value of a read, whose indices are the operands.
  std::shared_ptr<const Reference> reference;
  /// Of a call.
  const ExpressionFunction *function = nullptr;
  size_t begin = 0;
  size_t end = 0;
};

/// The element that a node reads at indices; on failure fills the error.
using ReadElement = std::function<std::optional<Scalar>(
    const Expression::Node &, const std::vector<Scalar> &, TextError &)>;

/// The value of a part of an expression; see Expression::evaluate. Without
/// `read` no element of a value is known.
std::optional<Scalar> evaluate(const Expression::Node &node,
                               const Lookup &lookup, TextError &error,
                               const ReadElement *read = nullptr);

} // namespace hova::frontend

#endif // HOVA_FRONTEND_EXPRESSION_EXPRESSIONNODE_H
