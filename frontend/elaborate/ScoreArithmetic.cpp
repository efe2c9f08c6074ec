//===- ScoreArithmetic.cpp - Numbers and integers of scores ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Operators of which an operand is no constant. Integers are exact and have the
// range that theirs have; every one fits into 32 bits, so that products of two
// fit into 64 here.
//
//===----------------------------------------------------------------------===//

#include "frontend/elaborate/ScoreBuilder.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace hova::frontend {

/// Towards negative infinity; `b` is above 0.
static int64_t floorDivide(int64_t a, int64_t b) {
  return a / b - (a % b < 0 ? 1 : 0);
}

/// An operation on integers, whose range is `span`.
ScoreBuilder::Result ScoreBuilder::integers(const Node &node, Op op,
                                            const Operands &operands,
                                            IntegerSpan span) {
  ScoreTerm term = {op, Type::Integer, {}};
  int unknown = -1;
  for (size_t i = 0; i < operands.size(); ++i) {
    const Node &place = i < node.operands.size() ? *node.operands[i] : node;
    std::optional<int> operand = integer(place, operands[i]);
    if (!operand) {
      return std::nullopt;
    }
    term.operands.push_back(*operand);
    unknown = std::max(unknown, operands[i].unknown);
  }
  if (!fitsInto32(node, span, unknown)) {
    return std::nullopt;
  }
  return made(std::move(term), span, unknown);
}

ScoreBuilder::Result ScoreBuilder::numbers(const Node &node, Op op,
                                           const Operands &operands) {
  ScoreTerm term = {op, Type::Number, {}};
  for (size_t i = 0; i < operands.size(); ++i) {
    const Node &place = i < node.operands.size() ? *node.operands[i] : node;
    std::optional<int> operand = number(place, operands[i]);
    if (!operand) {
      return std::nullopt;
    }
    term.operands.push_back(*operand);
  }
  return made(std::move(term));
}

/// Whether ranges of 32 bits can be computed with; of others the mistake is
/// found where their terms are asked for.
static bool areShort(IntegerSpan a, IntegerSpan b) {
  return a.fitsInto32() && b.fitsInto32();
}

ScoreBuilder::Result
ScoreBuilder::arithmetic(const Node &node, const Operand &a, const Operand &b) {
  bool isSum = node.op == Operator::Add;
  Op op = isSum ? Op::Add : Op::Subtract;
  if (!a.isInteger() || !b.isInteger()) {
    return numbers(node, op, {a, b});
  }
  IntegerSpan span;
  if (areShort(a.span, b.span)) {
    span =
        isSum ? IntegerSpan{a.span.low + b.span.low, a.span.high + b.span.high}
              : IntegerSpan{a.span.low - b.span.high, a.span.high - b.span.low};
  }
  return integers(node, op, {a, b}, span);
}

ScoreBuilder::Result ScoreBuilder::product(const Node &node, const Operand &a,
                                           const Operand &b) {
  if (!a.isInteger() || !b.isInteger()) {
    return numbers(node, Op::Multiply, {a, b});
  }
  IntegerSpan span;
  if (areShort(a.span, b.span)) {
    auto [least, most] =
        std::minmax({a.span.low * b.span.low, a.span.low * b.span.high,
                     a.span.high * b.span.low, a.span.high * b.span.high});
    span = {least, most};
    bool isSquare = a.term >= 0 && a.term == b.term;
    if (isSquare) {
      // No square is negative.
      int64_t near = a.span.low > 0    ? a.span.low
                     : a.span.high < 0 ? a.span.high
                                       : 0;
      span.low = near * near;
    }
  }
  return integers(node, Op::Multiply, {a, b}, span);
}

/// `/`, which gives a number of integers, too.
ScoreBuilder::Result ScoreBuilder::quotient(const Node &node,
                                            const Operands &operands) {
  const Operand &divisor = operands[1];
  bool isZero =
      divisor.constant && divisor.isNumber() && divisor.constant->real == 0;
  return isZero ? fail(node, "division by zero")
                : numbers(node, Op::Divide, operands);
}

/// `//` and `%`, of integers by a constant.
ScoreBuilder::Result ScoreBuilder::division(const Node &node,
                                            const Operands &operands) {
  bool isQuotient = node.op == Operator::Floor;
  std::string spelling = isQuotient ? "//" : "%";
  for (size_t i = 0; i < 2; ++i) {
    if (!operands[i].isInteger()) {
      return fail(*node.operands[i], spelling +
                                         " is of integers in scores, got " +
                                         operands[i].str());
    }
  }
  const Operand &a = operands[0], &b = operands[1];
  if (!b.constant) {
    return fail(*node.operands[1],
                spelling + " is by an integer of parameters in scores, got " +
                    b.str());
  }
  int64_t by = b.constant->integer;
  if (by == 0) {
    return fail(node, "division by zero");
  }
  if (!fitsInto32(*node.operands[1], b.span, -1) ||
      !fitsInto32(*node.operands[0], a.span, a.unknown)) {
    return std::nullopt;
  }
  if (by == INT32_MIN) {
    return fail(*node.operands[1], spelling +
                                       " is by an integer above -2147483648, "
                                       "whose opposite fits into 32 bits");
  }
  return isQuotient ? floorQuotient(node, a, by) : floorRest(node, a, by);
}

ScoreBuilder::Result ScoreBuilder::negated(const Node &node, const Operand &a) {
  return integers(node, Op::Negate, {a}, {-a.span.high, -a.span.low});
}

/// a // -b is -a // b. Where -a does not fit into 32 bits, it is
/// -(a // b + min(a % b, 1)).
ScoreBuilder::Result ScoreBuilder::floorQuotient(const Node &node,
                                                 const Operand &a, int64_t by) {
  if (by < 0 && a.span.low > INT32_MIN) {
    Result opposite = negated(node, a);
    return opposite ? floorQuotient(node, *opposite, -by) : std::nullopt;
  }
  int64_t size = std::abs(by);
  IntegerSpan span = {floorDivide(a.span.low, size),
                      floorDivide(a.span.high, size)};
  Result down = integers(node, Op::FloorDivide,
                         {a, constantOf(Scalar::ofInteger(size))}, span);
  if (by > 0 || !down) {
    return down;
  }
  Result rest = floorRest(node, a, size);
  Result more = rest ? integers(node, Op::Minimum,
                                {*rest, constantOf(Scalar::ofInteger(1))},
                                {0, std::min<int64_t>(rest->span.high, 1)})
                     : std::nullopt;
  Result up = more ? integers(node, Op::Add, {*down, *more},
                              {-floorDivide(-a.span.low, size),
                               -floorDivide(-a.span.high, size)})
                   : std::nullopt;
  return up ? negated(node, *up) : std::nullopt;
}

/// a % -b is -(-a % b). Where -a or (a // b) * b does not fit into 32 bits,
/// what is left of a division towards 0 takes the place of a.
ScoreBuilder::Result ScoreBuilder::floorRest(const Node &node, const Operand &a,
                                             int64_t by) {
  int64_t size = std::abs(by), least = floorDivide(a.span.low, size) * size;
  if (least < INT32_MIN || (by < 0 && a.span.low == INT32_MIN)) {
    Result small =
        integers(node, Op::Remainder, {a, constantOf(Scalar::ofInteger(size))},
                 {1 - size, std::clamp<int64_t>(a.span.high, 0, size - 1)});
    return small ? floorRest(node, *small, by) : std::nullopt;
  }
  if (by < 0) {
    Result opposite = negated(node, a);
    Result rest = opposite ? floorRest(node, *opposite, size) : std::nullopt;
    return rest ? negated(node, *rest) : std::nullopt;
  }
  bool isOnePiece = a.span.high - least < by;
  IntegerSpan span = isOnePiece
                         ? IntegerSpan{a.span.low - least, a.span.high - least}
                         : IntegerSpan{0, by - 1};
  return integers(node, Op::Modulo, {a, constantOf(Scalar::ofInteger(by))},
                  span);
}

ScoreBuilder::Result ScoreBuilder::raise(const Node &node, const Operand &base,
                                         int64_t exponent) {
  if (exponent == 1) {
    return base;
  }
  Result half = raise(node, base, exponent / 2);
  Result square = half ? product(node, *half, *half) : std::nullopt;
  return square && exponent % 2 == 1 ? product(node, *square, base) : square;
}

/// By multiplication; of a positive constant `a`, a ** x is exp(x * log(a)).
ScoreBuilder::Result ScoreBuilder::power(const Node &node,
                                         const Operands &operands) {
  constexpr int64_t most = 8;
  const Operand &base = operands[0], &exponent = operands[1];
  bool isExponential = base.constant && base.isNumber() &&
                       base.constant->real > 0 && exponent.isNumber();
  if (isExponential) {
    Operand logarithm =
        constantOf(Scalar::ofReal(std::log(base.constant->real)));
    Result product = numbers(node, Op::Multiply, {logarithm, exponent});
    return product ? numbers(node, Op::Exponential, {*product}) : std::nullopt;
  }
  bool isSmall = exponent.constant && exponent.isInteger() &&
                 exponent.constant->integer >= 0 &&
                 exponent.constant->integer <= most;
  if (!isSmall) {
    return fail(*node.operands[1],
                "the exponent must be an integer of parameters, 0 to 8, unless "
                "the base is a positive number of parameters, got " +
                    exponent.str() + "; a**b is exp(b * log(a))");
  }
  if (!base.isNumber()) {
    return fail(*node.operands[0], "expected a number, got " + base.str());
  }
  if (exponent.constant->integer == 0) {
    return constantOf(Scalar::ofInteger(1));
  }
  return raise(node, base, exponent.constant->integer);
}

/// `-x` and `abs(x)`.
ScoreBuilder::Result ScoreBuilder::sign(const Node &node,
                                        const Operand &operand) {
  bool isNegation = node.op == Operator::Negate;
  Op op = isNegation ? Op::Negate : Op::Absolute;
  if (!operand.isInteger()) {
    return numbers(node, op, {operand});
  }
  IntegerSpan span = operand.span, result;
  if (span.fitsInto32()) {
    int64_t most = std::max(-span.low, span.high);
    int64_t least = std::max({span.low, -span.high, int64_t(0)});
    result = isNegation ? IntegerSpan{-span.high, -span.low}
                        : IntegerSpan{least, most};
  }
  return integers(node, op, {operand}, result);
}

/// A function of one number.
ScoreBuilder::Result ScoreBuilder::function(const Node &node,
                                            const Operand &operand) {
  switch (node.op) {
  case Operator::FloorCall:
    return operand.isInteger() ? Result(operand)
                               : numbers(node, Op::Floor, {operand});
  case Operator::Ceiling:
    return operand.isInteger() ? Result(operand)
                               : numbers(node, Op::Ceiling, {operand});
  case Operator::SquareRoot:
    return numbers(node, Op::SquareRoot, {operand});
  case Operator::Log2:
    return numbers(node, Op::Log2, {operand});
  case Operator::Exponential:
    return numbers(node, Op::Exponential, {operand});
  case Operator::Logarithm:
    return numbers(node, Op::Logarithm, {operand});
  case Operator::Tangent:
    return numbers(node, Op::Tangent, {operand});
  default:
    return numbers(node, Op::Sigmoid, {operand});
  }
}

ScoreBuilder::Result ScoreBuilder::extreme(const Node &node,
                                           const Operands &operands) {
  bool isLeast = node.op == Operator::Min;
  bool areIntegers =
      std::all_of(operands.begin(), operands.end(),
                  [](const Operand &operand) { return operand.isInteger(); });
  auto bound = [&](int64_t a, int64_t b) {
    return isLeast ? std::min(a, b) : std::max(a, b);
  };
  Op op = isLeast ? Op::Minimum : Op::Maximum;
  Type type = areIntegers ? Type::Integer : Type::Number;
  Operand best;
  for (size_t i = 0; i < operands.size(); ++i) {
    const Operand &next = operands[i];
    std::optional<int> term = areIntegers ? integer(*node.operands[i], next,
                                                    /*ofAnySize=*/true)
                                          : number(*node.operands[i], next);
    if (!term) {
      return std::nullopt;
    }
    if (i == 0) {
      best = next;
      best.constant.reset();
      best.type = type;
      best.term = *term;
      continue;
    }
    best = made({op, type, {best.term, *term}},
                {bound(best.span.low, next.span.low),
                 bound(best.span.high, next.span.high)},
                std::max(best.unknown, next.unknown));
  }
  return best;
}

ScoreBuilder::Result ScoreBuilder::compare(const Node &node,
                                           const Operands &operands) {
  bool isEquality = node.op == Operator::Equal || node.op == Operator::NotEqual;
  const Operand &a = operands[0], &b = operands[1];
  bool areNumbers = a.isNumber() && b.isNumber();
  bool areIntegers = a.isInteger() && b.isInteger();
  if (!areNumbers && !(isEquality && a.isBoolean() && b.isBoolean())) {
    return fail(node, "cannot compare " + a.str() + " with " + b.str());
  }
  std::vector<int> terms;
  for (size_t i = 0; i < 2; ++i) {
    const Node &place = *node.operands[i];
    std::optional<int> term =
        areIntegers  ? integer(place, operands[i], /*ofAnySize=*/true)
        : areNumbers ? number(place, operands[i])
                     : boolean(place, operands[i]);
    if (!term) {
      return std::nullopt;
    }
    terms.push_back(*term);
  }
  bool isSwapped =
      node.op == Operator::Greater || node.op == Operator::GreaterEqual;
  if (isSwapped) {
    std::swap(terms[0], terms[1]);
  }
  Op op = node.op == Operator::Equal      ? Op::Equal
          : node.op == Operator::NotEqual ? Op::NotEqual
          : node.op == Operator::Less || node.op == Operator::Greater
              ? Op::Less
              : Op::LessEqual;
  return made({op, Type::Boolean, std::move(terms)});
}

} // namespace hova::frontend
