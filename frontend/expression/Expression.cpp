//===- Expression.cpp - Evaluation of expressions -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "frontend/expression/Expression.h"
#include "frontend/expression/ExpressionNode.h"
#include "frontend/reader/Text.h"

#include <cfloat>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace hova::frontend {

Scalar Scalar::ofInteger(int64_t value) {
  Scalar scalar;
  scalar.integer = value;
  scalar.real = static_cast<double>(value);
  return scalar;
}

Scalar Scalar::ofReal(double value) {
  Scalar scalar;
  scalar.kind = Kind::Real;
  scalar.real = value;
  return scalar;
}

Scalar Scalar::ofBoolean(bool value) {
  Scalar scalar;
  scalar.kind = Kind::Boolean;
  scalar.boolean = value;
  return scalar;
}

Scalar Scalar::ofText(std::string value) {
  Scalar scalar;
  scalar.kind = Kind::Text;
  scalar.text = std::move(value);
  return scalar;
}

Scalar Scalar::ofList(std::vector<Scalar> values) {
  Scalar scalar;
  scalar.kind = Kind::List;
  scalar.elements =
      std::make_shared<const std::vector<Scalar>>(std::move(values));
  return scalar;
}

bool Scalar::operator==(const Scalar &other) const {
  if (isNumber() && other.isNumber()) {
    return kind == Kind::Integer && other.kind == Kind::Integer
               ? integer == other.integer
               : real == other.real;
  }
  if (is(Kind::List) && other.is(Kind::List)) {
    return *elements == *other.elements;
  }
  return kind == other.kind && boolean == other.boolean && text == other.text;
}

std::string Scalar::str() const {
  switch (kind) {
  case Kind::Integer:
    return std::to_string(integer);
  case Kind::Real: {
    // The shortest spelling that reads back as the same number.
    char buffer[40];
    for (int digits = 1; digits <= 17; ++digits) {
      std::snprintf(buffer, sizeof(buffer), "%.*g", digits, real);
      if (std::strtod(buffer, nullptr) == real) {
        break;
      }
    }
    return buffer;
  }
  case Kind::Boolean:
    return boolean ? "true" : "false";
  case Kind::Text:
    return text;
  case Kind::List: {
    std::string list;
    for (const Scalar &element : *elements) {
      bool isText = element.is(Kind::Text);
      list += (list.empty() ? "" : ", ") +
              (isText ? '"' + reader::jsonEscaped(element.text) + '"'
                      : element.str());
    }
    return '[' + list + ']';
  }
  }
  return text;
}

std::string problemInF32(double number) {
  std::string text = Scalar::ofReal(number).str();
  if (std::abs(number) > static_cast<double>(FLT_MAX)) {
    return text + " is beyond the largest number of f32, " +
           Scalar::ofReal(static_cast<double>(FLT_MAX)).str();
  }
  bool vanishes = number != 0 && static_cast<float>(number) == 0;
  return vanishes ? text + " is 0 in f32" : "";
}

const char *describe(Scalar::Kind kind) {
  switch (kind) {
  case Scalar::Kind::Integer:
    return "an integer";
  case Scalar::Kind::Real:
    return "a number";
  case Scalar::Kind::Boolean:
    return "a boolean";
  case Scalar::Kind::Text:
    return "text";
  case Scalar::Kind::List:
    return "a list";
  }
  return "a value";
}

namespace {

using Node = Expression::Node;
using Operator = Node::Operator;

/// Evaluates a tree; the first failure ends it.
class Evaluator {
public:
  Evaluator(const Lookup &lookup, TextError &error, const ReadElement *read)
      : lookup(lookup), error(error), read(read) {}

  std::optional<Scalar> visit(const Node &node);

private:
  std::optional<Scalar> fail(const Node &node, std::string message) {
    error = {node.begin, node.end, std::move(message)};
    return std::nullopt;
  }
  std::optional<Scalar> real(const Node &node, double value) {
    return std::isfinite(value)
               ? std::optional<Scalar>(Scalar::ofReal(value))
               : fail(node, "the result is not a finite number");
  }
  std::optional<Scalar> call(const Node &node);
  std::optional<Scalar> list(const Node &node);
  std::optional<Scalar> element(const Node &node);
  std::optional<Scalar> extreme(const Node &node);
  std::optional<Scalar> rounded(const Node &node, const Scalar &value);
  std::optional<Scalar> logarithm(const Node &node, double value);
  std::optional<Scalar> logic(const Node &node);
  std::optional<Scalar> compare(const Node &node, const Scalar &a,
                                const Scalar &b);
  std::optional<Scalar> arithmetic(const Node &node, const Scalar &a,
                                   const Scalar &b);
  std::optional<Scalar> integers(const Node &node, int64_t a, int64_t b);
  std::optional<Scalar> power(const Node &node, int64_t base, int64_t exponent);
  std::optional<bool> condition(const Node &node);
  std::optional<Scalar> number(const Node &node);

  std::optional<Scalar> readElement(const Node &node);
  std::optional<Scalar> sum(const Node &node);
  std::optional<Scalar> callAdded(const Node &node);

  const Lookup &lookup;
  TextError &error;
  const ReadElement *read;
};

std::optional<bool> Evaluator::condition(const Node &node) {
  std::optional<Scalar> value = visit(node);
  if (value && !value->is(Scalar::Kind::Boolean)) {
    fail(node, std::string("expected a boolean, got ") + describe(value->kind) +
                   " (" + value->str() + ")");
    return std::nullopt;
  }
  return value ? std::optional<bool>(value->boolean) : std::nullopt;
}

std::optional<Scalar> Evaluator::number(const Node &node) {
  std::optional<Scalar> value = visit(node);
  if (value && !value->isNumber()) {
    return fail(node, std::string("expected a number, got ") +
                          describe(value->kind) + " (" + value->str() + ")");
  }
  return value;
}

/// Division that rounds down, and its remainder, which has the sign of `b`.
int64_t floorDivide(int64_t a, int64_t b) {
  return a / b - ((a % b != 0) && ((a < 0) != (b < 0)));
}
int64_t floorRemainder(int64_t a, int64_t b) {
  // Not a - b * floorDivide(a, b): the product may leave the range.
  int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

std::optional<Scalar> Evaluator::power(const Node &node, int64_t base,
                                       int64_t exponent) {
  int64_t result = 1;
  for (int64_t i = 0; i < exponent && result != 0; ++i) {
    if (base == 1 || (base == -1 && i > 0 && exponent > 2)) {
      return Scalar::ofInteger(base == 1 || exponent % 2 == 0 ? 1 : -1);
    }
    if (__builtin_mul_overflow(result, base, &result)) {
      return fail(node, "the result does not fit into 64 bits");
    }
  }
  return Scalar::ofInteger(result);
}

std::optional<Scalar> Evaluator::integers(const Node &node, int64_t a,
                                          int64_t b) {
  int64_t result = 0;
  bool overflow = false;
  switch (node.op) {
  case Operator::Add:
    overflow = __builtin_add_overflow(a, b, &result);
    break;
  case Operator::Subtract:
    overflow = __builtin_sub_overflow(a, b, &result);
    break;
  case Operator::Multiply:
    overflow = __builtin_mul_overflow(a, b, &result);
    break;
  default: {
    if (b == 0) {
      return fail(node, "division by zero");
    }
    // The one quotient that leaves the range.
    if (a == INT64_MIN && b == -1) {
      overflow = true;
    } else if (node.op == Operator::Divide) {
      if (a % b != 0) {
        return real(node, static_cast<double>(a) / static_cast<double>(b));
      }
      result = a / b;
    } else {
      result =
          node.op == Operator::Floor ? floorDivide(a, b) : floorRemainder(a, b);
    }
  }
  }
  if (overflow) {
    return fail(node, "the result does not fit into 64 bits");
  }
  return Scalar::ofInteger(result);
}

std::optional<Scalar> Evaluator::arithmetic(const Node &node, const Scalar &a,
                                            const Scalar &b) {
  bool exact = a.is(Scalar::Kind::Integer) && b.is(Scalar::Kind::Integer);
  if (node.op == Operator::Power) {
    return exact && b.integer >= 0 ? power(node, a.integer, b.integer)
                                   : real(node, std::pow(a.real, b.real));
  }
  if (exact) {
    return integers(node, a.integer, b.integer);
  }
  switch (node.op) {
  case Operator::Add:
    return real(node, a.real + b.real);
  case Operator::Subtract:
    return real(node, a.real - b.real);
  case Operator::Multiply:
    return real(node, a.real * b.real);
  default:
    break;
  }
  if (b.real == 0) {
    return fail(node, "division by zero");
  }
  double quotient = std::floor(a.real / b.real);
  return real(node, node.op == Operator::Divide  ? a.real / b.real
                    : node.op == Operator::Floor ? quotient
                                                 : a.real - quotient * b.real);
}

std::optional<Scalar> Evaluator::compare(const Node &node, const Scalar &a,
                                         const Scalar &b) {
  bool equality = node.op == Operator::Equal || node.op == Operator::NotEqual;
  // An expression costs what its text costs, however long lists are.
  bool isList = a.is(Scalar::Kind::List);
  bool comparable =
      a.isNumber() ? b.isNumber() : equality && a.kind == b.kind && !isList;
  if (!comparable) {
    return fail(node, std::string("cannot compare ") + describe(a.kind) + " (" +
                          a.str() + ") with " + describe(b.kind) + " (" +
                          b.str() + ")");
  }
  bool exact = a.is(Scalar::Kind::Integer) && b.is(Scalar::Kind::Integer);
  bool less = exact ? a.integer < b.integer : a.real < b.real;
  switch (node.op) {
  case Operator::Equal:
    return Scalar::ofBoolean(a == b);
  case Operator::NotEqual:
    return Scalar::ofBoolean(!(a == b));
  case Operator::Less:
    return Scalar::ofBoolean(less);
  case Operator::LessEqual:
    return Scalar::ofBoolean(less || a == b);
  case Operator::Greater:
    return Scalar::ofBoolean(!less && !(a == b));
  default:
    return Scalar::ofBoolean(!less);
  }
}

std::optional<Scalar> Evaluator::logic(const Node &node) {
  std::optional<bool> first = condition(*node.operands[0]);
  if (!first) {
    return std::nullopt;
  }
  if (node.op == Operator::Not) {
    return Scalar::ofBoolean(!*first);
  }
  // Short circuit: `partition > 0 and index % partition == 0`.
  if (*first == (node.op == Operator::Or)) {
    return Scalar::ofBoolean(*first);
  }
  std::optional<bool> second = condition(*node.operands[1]);
  return second ? std::optional<Scalar>(Scalar::ofBoolean(*second))
                : std::nullopt;
}

std::optional<Scalar> Evaluator::extreme(const Node &node) {
  std::optional<Scalar> best;
  for (const auto &operand : node.operands) {
    std::optional<Scalar> value = number(*operand);
    if (!value) {
      return std::nullopt;
    }
    bool better =
        !best || (node.op == Operator::Min ? value->real < best->real
                                           : value->real > best->real);
    if (better) {
      best = value;
    }
  }
  return best;
}

std::optional<Scalar> Evaluator::rounded(const Node &node,
                                         const Scalar &value) {
  double result = node.op == Operator::FloorCall ? std::floor(value.real)
                                                 : std::ceil(value.real);
  constexpr double largest = 9007199254740992.0;
  if (std::fabs(result) > largest) {
    return fail(node, "the result does not fit into an integer");
  }
  return Scalar::ofInteger(static_cast<int64_t>(result));
}

std::optional<Scalar> Evaluator::logarithm(const Node &node, double value) {
  if (value <= 0) {
    return fail(node, "logarithm of a number not above zero");
  }
  bool isBinary = node.op == Operator::Log2;
  return real(node, isBinary ? std::log2(value) : std::log(value));
}

/// What `count` and an index need.
std::optional<Scalar> Evaluator::list(const Node &node) {
  std::optional<Scalar> value = visit(node);
  if (value && !value->is(Scalar::Kind::List)) {
    return fail(node, std::string("expected a list, got ") +
                          describe(value->kind) + " (" + value->str() + ")");
  }
  return value;
}

/// `list[index]`, from 0, or from the end if negative.
std::optional<Scalar> Evaluator::element(const Node &node) {
  std::optional<Scalar> value = list(*node.operands[0]);
  std::optional<Scalar> index = value ? visit(*node.operands[1]) : std::nullopt;
  if (!index) {
    return std::nullopt;
  }
  if (!index->is(Scalar::Kind::Integer)) {
    return fail(*node.operands[1], std::string("an index is an integer, got ") +
                                       describe(index->kind) + " (" +
                                       index->str() + ")");
  }
  auto count = static_cast<int64_t>(value->elements->size());
  int64_t at = index->integer + (index->integer < 0 ? count : 0);
  if (at < 0 || at >= count) {
    return fail(*node.operands[1], "index " + std::to_string(index->integer) +
                                       " is outside of a list of " +
                                       std::to_string(count));
  }
  return (*value->elements)[static_cast<size_t>(at)];
}

std::optional<Scalar> Evaluator::call(const Node &node) {
  if (node.op == Operator::If) {
    std::optional<bool> first = condition(*node.operands[0]);
    return first ? visit(*node.operands[*first ? 1 : 2]) : std::nullopt;
  }
  if (node.op == Operator::Min || node.op == Operator::Max) {
    return extreme(node);
  }
  std::optional<Scalar> value = number(*node.operands[0]);
  if (!value) {
    return std::nullopt;
  }
  bool exact = value->is(Scalar::Kind::Integer);
  switch (node.op) {
  case Operator::Absolute:
  case Operator::Negate: {
    bool keep = node.op == Operator::Absolute && value->real >= 0;
    if (keep) {
      return value;
    }
    if (exact && value->integer == INT64_MIN) {
      return fail(node, "the result does not fit into 64 bits");
    }
    return exact ? Scalar::ofInteger(-value->integer)
                 : Scalar::ofReal(-value->real);
  }
  case Operator::SquareRoot:
    return value->real < 0 ? fail(node, "square root of a negative number")
                           : real(node, std::sqrt(value->real));
  case Operator::Log2:
  case Operator::Logarithm:
    return logarithm(node, value->real);
  case Operator::Exponential:
    return real(node, std::exp(value->real));
  case Operator::Tangent:
    return real(node, std::tanh(value->real));
  case Operator::Sigmoid:
    return real(node, 1 / (1 + std::exp(-value->real)));
  case Operator::Sine:
    return real(node, std::sin(value->real));
  case Operator::Cosine:
    return real(node, std::cos(value->real));
  default:
    return exact ? value : rounded(node, *value);
  }
}

std::optional<Scalar> Evaluator::readElement(const Node &node) {
  if (!read) {
    return fail(node, "an element of a value is known in a program alone");
  }
  std::vector<Scalar> indices;
  for (const auto &operand : node.operands) {
    std::optional<Scalar> index = number(*operand);
    if (!index) {
      return std::nullopt;
    }
    indices.push_back(std::move(*index));
  }
  return (*read)(node, indices, error);
}

std::optional<Scalar> Evaluator::callAdded(const Node &node) {
  std::vector<double> numbers;
  for (const auto &operand : node.operands) {
    std::optional<Scalar> value = number(*operand);
    if (!value) {
      return std::nullopt;
    }
    numbers.push_back(value->real);
  }
  return real(node, node.function->compute(numbers));
}

/// Of integers exact, of numbers one after the other.
std::optional<Scalar> Evaluator::sum(const Node &node) {
  std::optional<Scalar> count = visit(*node.operands[0]);
  if (!count) {
    return std::nullopt;
  }
  Scalar counter = Scalar::ofInteger(0), total = counter;
  Lookup inner = [&](std::string_view name) -> const Scalar * {
    return name == node.literal.text ? &counter : lookup(name);
  };
  Evaluator terms(inner, error, read);
  Node addition;
  addition.op = Operator::Add;
  addition.begin = node.begin;
  addition.end = node.end;
  for (int64_t i = 0; i < count->integer; ++i) {
    counter = Scalar::ofInteger(i);
    std::optional<Scalar> term = terms.number(*node.operands[1]);
    std::optional<Scalar> next =
        term ? arithmetic(addition, total, *term) : std::nullopt;
    if (!next) {
      return std::nullopt;
    }
    total = std::move(*next);
  }
  return total;
}

std::optional<Scalar> Evaluator::visit(const Node &node) {
  switch (node.op) {
  case Operator::Literal:
    return node.literal;
  case Operator::Name: {
    const Scalar *value = lookup(node.literal.text);
    return value ? std::optional<Scalar>(*value)
                 : fail(node, "unknown name \"" + node.literal.text + "\"");
  }
  case Operator::Read:
    return readElement(node);
  case Operator::Sum:
    return sum(node);
  case Operator::Call:
    return callAdded(node);
  case Operator::Element:
    return element(node);
  case Operator::Count: {
    std::optional<Scalar> value = list(*node.operands[0]);
    return value ? std::optional(Scalar::ofInteger(
                       static_cast<int64_t>(value->elements->size())))
                 : std::nullopt;
  }
  case Operator::And:
  case Operator::Or:
  case Operator::Not:
    return logic(node);
  case Operator::Equal:
  case Operator::NotEqual:
  case Operator::Less:
  case Operator::LessEqual:
  case Operator::Greater:
  case Operator::GreaterEqual: {
    std::optional<Scalar> a = visit(*node.operands[0]);
    std::optional<Scalar> b = a ? visit(*node.operands[1]) : std::nullopt;
    return b ? compare(node, *a, *b) : std::nullopt;
  }
  case Operator::Add:
  case Operator::Subtract:
  case Operator::Multiply:
  case Operator::Divide:
  case Operator::Floor:
  case Operator::Modulo:
  case Operator::Power: {
    std::optional<Scalar> a = number(*node.operands[0]);
    std::optional<Scalar> b = a ? number(*node.operands[1]) : std::nullopt;
    return b ? arithmetic(node, *a, *b) : std::nullopt;
  }
  default:
    return call(node);
  }
}

} // namespace

std::optional<Scalar> evaluate(const Expression::Node &node,
                               const Lookup &lookup, TextError &error,
                               const ReadElement *read) {
  return Evaluator(lookup, error, read).visit(node);
}

std::optional<Scalar> Expression::evaluate(const Lookup &lookup,
                                           TextError &error) const {
  return frontend::evaluate(*root, lookup, error);
}

} // namespace hova::frontend
