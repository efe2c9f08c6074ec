//===- ScoreBuilder.cpp - From an expression to a program of scores -------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "frontend/elaborate/ScoreBuilder.h"
#include "frontend/expression/ScoreNames.h"

#include <cmath>

namespace hova::frontend {

using reader::inQuotes;

static const char *describe(ScoreTerm::Type type) {
  switch (type) {
  case ScoreTerm::Type::Number:
    return "a number";
  case ScoreTerm::Type::Integer:
    return "an integer";
  case ScoreTerm::Type::Boolean:
    return "a boolean";
  }
  return "a value";
}

/// "an integer (7)", or "an integer" where it is none yet.
std::string ScoreBuilder::Operand::str() const {
  return constant ? describe(constant->kind) + (" (" + constant->str() + ")")
                  : frontend::describe(type);
}

std::nullopt_t ScoreBuilder::fail(const Node &node, std::string message) {
  error = {node.begin, node.end, std::move(message)};
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Whole expressions
//===----------------------------------------------------------------------===//

std::optional<int> ScoreBuilder::finish(const Expression &expression,
                                        Type type) {
  guilty = -1;
  Result value = lower(expression.tree());
  if (!value) {
    return std::nullopt;
  }
  std::optional<int> whole = type == Type::Boolean
                                 ? boolean(expression.tree(), *value)
                                 : number(expression.tree(), *value);
  placeTerms(expression.tree());
  return whole;
}

bool ScoreBuilder::addScore(const Expression &expression) {
  knowsScore = true;
  std::optional<int> term = finish(expression, Type::Number);
  result.score = result.carried = term.value_or(-1);
  return term.has_value();
}

bool ScoreBuilder::addKeep(const Expression &expression) {
  knowsScore = false;
  int before = result.keep;
  std::optional<int> term = finish(expression, Type::Boolean);
  result.keep = term.value_or(-1);
  if (term && before >= 0) {
    result.keep = made({Op::And, Type::Boolean, {before, *term}}).term;
    placeTerms(expression.tree());
  }
  return term.has_value();
}

ScoreBuilder::Result ScoreBuilder::lower(const Node &node) {
  Result value = lowerOperator(node);
  placeTerms(node);
  return value;
}

/// Terms without a place are of `node`: its operands have placed theirs.
void ScoreBuilder::placeTerms(const Node &node) {
  for (; placed < result.terms.size(); ++placed) {
    result.terms[placed].place = findPlace(node.begin);
  }
}

ScoreBuilder::Result ScoreBuilder::lowerOperator(const Node &node) {
  switch (node.op) {
  case Operator::Literal:
    return constantOf(node.literal);
  case Operator::Name:
    return named(node);
  case Operator::Read:
    return element(node);
  case Operator::And:
  case Operator::Or:
  case Operator::Not:
    return logic(node);
  case Operator::If:
    return choose(node);
  default:
    break;
  }
  Operands operands;
  bool isConstant = true;
  for (const auto &operand : node.operands) {
    Result value = lower(*operand);
    if (!value) {
      return std::nullopt;
    }
    isConstant &= value->constant.has_value();
    operands.push_back(std::move(*value));
  }
  return isConstant ? fold(node, operands) : apply(node, operands);
}

/// An operator on constants is the one of parameters.
ScoreBuilder::Result ScoreBuilder::fold(const Node &node,
                                        const Operands &operands) {
  Node folded;
  folded.op = node.op;
  folded.begin = node.begin;
  folded.end = node.end;
  for (size_t i = 0; i < operands.size(); ++i) {
    auto leaf = std::make_shared<Node>();
    leaf->literal = *operands[i].constant;
    leaf->begin = node.operands[i]->begin;
    leaf->end = node.operands[i]->end;
    folded.operands.push_back(std::move(leaf));
  }
  std::optional<Scalar> value = evaluate(folded, lookup, error);
  return value ? Result(constantOf(std::move(*value))) : std::nullopt;
}

ScoreBuilder::Result ScoreBuilder::apply(const Node &node,
                                         const Operands &operands) {
  switch (node.op) {
  case Operator::Equal:
  case Operator::NotEqual:
  case Operator::Less:
  case Operator::LessEqual:
  case Operator::Greater:
  case Operator::GreaterEqual:
    return compare(node, operands);
  case Operator::Min:
  case Operator::Max:
    return extreme(node, operands);
  case Operator::Add:
  case Operator::Subtract:
    return arithmetic(node, operands[0], operands[1]);
  case Operator::Multiply:
    return product(node, operands[0], operands[1]);
  case Operator::Divide:
    return quotient(node, operands);
  case Operator::Floor:
  case Operator::Modulo:
    return division(node, operands);
  case Operator::Power:
    return power(node, operands);
  case Operator::Negate:
  case Operator::Absolute:
    return sign(node, operands[0]);
  default:
    return function(node, operands[0]);
  }
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

ScoreBuilder::Operand ScoreBuilder::index(Op op, int64_t size) {
  // An index with one value is no constant: what is legal to compute from it
  // does not depend on sizes.
  return made({op, Type::Integer, {}}, {0, size - 1});
}

ScoreBuilder::Result ScoreBuilder::tokenCount(const Node &node, int64_t count) {
  if (extents.range.empty()) {
    return constantOf(Scalar::ofInteger(count));
  }
  return fail(node, inQuotes(node.literal.text) +
                        " counts tokens: " + readsRange(extents.range));
}

ScoreBuilder::Result ScoreBuilder::named(const Node &node) {
  const std::string &name = node.literal.text;
  std::optional<ScoreName> found = findScoreName(name);
  if (!found) {
    const Scalar *value = lookup(name);
    if (value && value->is(Scalar::Kind::List)) {
      return fail(node, inQuotes(name) +
                            " is a list, which a score cannot read: hand an "
                            "element of it to the block as an argument");
    }
    return value ? Result(constantOf(*value))
                 : fail(node, "unknown name " + inQuotes(name));
  }
  switch (*found) {
  case ScoreName::Score: {
    if (!knowsScore) {
      return fail(node, "\"score\" is known in \"score\" alone: what is kept "
                        "depends on indices and values");
    }
    Operand before;
    before.term = result.score;
    return before;
  }
  case ScoreName::Batch:
    break;
  case ScoreName::Head:
    return index(Op::Head, extents.heads);
  case ScoreName::Query:
    return index(Op::Query, extents.queries);
  case ScoreName::Key:
    return index(Op::Key, extents.keys);
  case ScoreName::Heads:
    return constantOf(Scalar::ofInteger(extents.heads));
  case ScoreName::Queries:
    return tokenCount(node, extents.queries);
  case ScoreName::Keys:
    return tokenCount(node, extents.keys);
  }
  // The windows of an image are entries of the operation side by side.
  int64_t images = extents.batches / extents.windows;
  if (extents.windows == 1) {
    return index(Op::Batch, images);
  }
  Operand entry = index(Op::Batch, extents.batches);
  std::optional<int> windows =
      integer(node, constantOf(Scalar::ofInteger(extents.windows)));
  return made({Op::FloorDivide, Type::Integer, {entry.term, *windows}},
              {0, images - 1});
}

//===----------------------------------------------------------------------===//
// Elements of values
//===----------------------------------------------------------------------===//

ScoreBuilder::Result ScoreBuilder::element(const Node &node) {
  std::optional<ScoreTable> table = findTable(*node.reference);
  if (!table) {
    error = {};
    return std::nullopt;
  }
  tables.emplace(table->capture, *table);
  return readElement(node, *table);
}

ScoreBuilder::Result ScoreBuilder::readElement(const Node &node,
                                               const ScoreTable &table) {
  const Shape &shape = table.type.shape;
  if (node.operands.size() != shape.size()) {
    guilty = table.capture;
    return fail(node, "expected " + std::to_string(shape.size()) +
                          (shape.size() == 1 ? " index" : " indices") +
                          ", one for each axis of " + inQuotes(table.name) +
                          ", got " + std::to_string(node.operands.size()));
  }
  ScoreTerm term = {Op::Read, Type::Number, {}};
  term.capture = table.capture;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    const Node &place = *node.operands[axis];
    Result index = lower(place);
    if (!index || !checkIndex(place, *index, axis, table)) {
      return std::nullopt;
    }
    term.operands.push_back(*integer(place, *index));
  }
  switch (table.type.dtype) {
  case DType::F32:
    return made(std::move(term));
  case DType::Bool:
    term.type = Type::Boolean;
    return made(std::move(term));
  case DType::I32:
  case DType::I64:
    break;
  }
  term.type = Type::Integer;
  if (table.span) {
    term.range = {table.span->low, table.span->high + 1};
    return made(std::move(term), *table.span);
  }
  bool isShort = table.type.dtype == DType::I32;
  IntegerSpan all = isShort ? IntegerSpan{INT32_MIN, INT32_MAX}
                            : IntegerSpan{INT64_MIN, INT64_MAX};
  return made(std::move(term), all, table.capture);
}

bool ScoreBuilder::checkIndex(const Node &node, const Operand &index,
                              size_t axis, const ScoreTable &table) {
  if (!index.isInteger()) {
    fail(node, "an index is an integer, got " + index.str());
    return false;
  }
  int64_t size = table.type.shape[axis];
  IntegerSpan span = index.span;
  if (span.low >= 0 && span.high < size) {
    return true;
  }
  guilty = table.capture;
  fail(node, "index " + std::to_string(axis) + " of " + inQuotes(table.name) +
                 " " + rangeOf(span) + ", and this axis has " +
                 std::to_string(size) + (size == 1 ? " element" : " elements") +
                 (size == 1 ? ": 0" : ": 0 to " + std::to_string(size - 1)) +
                 adviceOn(index.unknown, span));
  return false;
}

//===----------------------------------------------------------------------===//
// Conditions
//===----------------------------------------------------------------------===//

ScoreBuilder::Result ScoreBuilder::logic(const Node &node) {
  const Node &first = *node.operands[0];
  Result a = lower(first);
  if (!a) {
    return std::nullopt;
  }
  if (!a->isBoolean()) {
    return fail(first, "expected a boolean, got " + a->str());
  }
  if (node.op == Operator::Not) {
    return a->constant ? fold(node, {*a})
                       : made({Op::Not, Type::Boolean, {a->term}});
  }
  bool decides = node.op == Operator::Or;
  if (a->constant && a->constant->boolean == decides) {
    return a;
  }
  const Node &second = *node.operands[1];
  Result b = lower(second);
  if (!b) {
    return std::nullopt;
  }
  if (!b->isBoolean()) {
    return fail(second, "expected a boolean, got " + b->str());
  }
  if (a->constant) {
    return b;
  }
  if (b->constant) {
    return b->constant->boolean == decides ? b : a;
  }
  return made({decides ? Op::Or : Op::And, Type::Boolean, {a->term, b->term}});
}

ScoreBuilder::Result ScoreBuilder::choose(const Node &node) {
  const Node &condition = *node.operands[0];
  Result holds = lower(condition);
  if (!holds) {
    return std::nullopt;
  }
  if (!holds->isBoolean()) {
    return fail(condition, "expected a boolean, got " + holds->str());
  }
  if (holds->constant) {
    // The other one may be about what there is not.
    return lower(*node.operands[holds->constant->boolean ? 1 : 2]);
  }
  const Node &first = *node.operands[1], &second = *node.operands[2];
  Result a = lower(first);
  Result b = a ? lower(second) : std::nullopt;
  if (!b) {
    return std::nullopt;
  }
  bool areBooleans = a->isBoolean() && b->isBoolean();
  if (!areBooleans && !(a->isNumber() && b->isNumber())) {
    return fail(node, "if gives two numbers or two booleans, got " + a->str() +
                          " and " + b->str());
  }
  bool areIntegers = a->isInteger() && b->isInteger();
  auto termOf = [&](const Node &place, const Operand &operand) {
    return areBooleans   ? boolean(place, operand)
           : areIntegers ? integer(place, operand)
                         : number(place, operand);
  };
  std::optional<int> left = termOf(first, *a), right = termOf(second, *b);
  if (!left || !right) {
    return std::nullopt;
  }
  Type type = areBooleans   ? Type::Boolean
              : areIntegers ? Type::Integer
                            : Type::Number;
  IntegerSpan span = {std::min(a->span.low, b->span.low),
                      std::max(a->span.high, b->span.high)};
  return made({Op::Select, type, {holds->term, *left, *right}}, span,
              std::max(a->unknown, b->unknown));
}

//===----------------------------------------------------------------------===//
// Terms
//===----------------------------------------------------------------------===//

ScoreBuilder::Operand ScoreBuilder::constantOf(Scalar value) {
  Operand operand;
  operand.span = {value.integer, value.integer};
  operand.constant = std::move(value);
  return operand;
}

ScoreBuilder::Operand ScoreBuilder::made(ScoreTerm term, IntegerSpan span,
                                         int unknown) {
  Operand operand;
  operand.type = term.type;
  operand.span = span;
  operand.unknown = unknown;
  operand.term = add(std::move(term));
  return operand;
}

/// Equal terms are one.
int ScoreBuilder::add(ScoreTerm term) {
  Key key = {term.op,
             term.type,
             term.operands,
             term.real,
             std::signbit(term.real),
             term.integer,
             term.capture};
  auto [found, isNew] =
      known.emplace(std::move(key), static_cast<int>(result.terms.size()));
  if (isNew) {
    result.terms.push_back(std::move(term));
  }
  return found->second;
}

std::optional<int> ScoreBuilder::number(const Node &node,
                                        const Operand &operand) {
  if (!operand.isNumber()) {
    return fail(node, "expected a number, got " + operand.str());
  }
  if (operand.constant) {
    double value = operand.constant->real;
    std::string problem = problemInF32(value);
    if (!problem.empty()) {
      return fail(node, std::move(problem));
    }
    return add({Op::Constant, Type::Number, {}, value});
  }
  if (operand.type == Type::Number) {
    return operand.term;
  }
  if (!fitsInto32(node, operand.span, operand.unknown)) {
    return std::nullopt;
  }
  return add({Op::ToNumber, Type::Number, {operand.term}});
}

std::optional<int> ScoreBuilder::integer(const Node &node,
                                         const Operand &operand,
                                         bool ofAnySize) {
  if (!operand.isInteger()) {
    return fail(node, "expected an integer, got " + operand.str());
  }
  if (!ofAnySize && !fitsInto32(node, operand.span, operand.unknown)) {
    return std::nullopt;
  }
  return operand.constant ? add({Op::Constant,
                                 Type::Integer,
                                 {},
                                 0,
                                 operand.constant->integer})
                          : operand.term;
}

std::optional<int> ScoreBuilder::boolean(const Node &node,
                                         const Operand &operand) {
  if (!operand.isBoolean()) {
    return fail(node, "expected a boolean, got " + operand.str());
  }
  return operand.constant ? add({Op::Constant,
                                 Type::Boolean,
                                 {},
                                 0,
                                 operand.constant->boolean})
                          : operand.term;
}

bool ScoreBuilder::fitsInto32(const Node &node, IntegerSpan span, int unknown) {
  if (span.fitsInto32()) {
    return true;
  }
  fail(node, "this integer " + rangeOf(span) +
                 ", which does not fit into 32 bits" + adviceOn(unknown, span));
  return false;
}

/// "can be -3 to 4".
std::string ScoreBuilder::rangeOf(IntegerSpan span) {
  if (span.low == INT64_MIN && span.high == INT64_MAX) {
    return "can be any integer";
  }
  return span.low == span.high ? "is " + std::to_string(span.low)
                               : "can be " + std::to_string(span.low) + " to " +
                                     std::to_string(span.high);
}

/// How a range becomes known, if the one that is not is why `span` is large.
std::string ScoreBuilder::adviceOn(int unknown, IntegerSpan span) const {
  auto table = tables.find(unknown);
  bool isBounded = span.low > INT32_MIN && span.high < INT32_MAX;
  if (table == tables.end() || isBounded) {
    return "";
  }
  std::string name = inQuotes(table->second.name);
  return table->second.isInput ? "; give the input " + name + " a \"range\""
                               : "; nothing is known of the integers of " +
                                     name + ", so take their min and max";
}

} // namespace hova::frontend
