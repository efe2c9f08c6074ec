//===- ConstantTable.cpp - The elements of a constant ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "frontend/elaborate/ConstantTable.h"
#include "frontend/expression/ElementNames.h"

#include <algorithm>
#include <array>
#include <cfloat>
#include <cmath>

namespace hova::frontend {

using reader::inQuotes;
using Operator = Expression::Node::Operator;

namespace {

bool isLiteral(const std::shared_ptr<const Expression::Node> &node) {
  return node->op == Operator::Literal;
}

std::shared_ptr<const Expression::Node> literal(const Expression::Node &place,
                                                Scalar value) {
  auto node = std::make_shared<Expression::Node>();
  node->literal = std::move(value);
  node->begin = place.begin;
  node->end = place.end;
  return node;
}

/// What an index is called once its axis is known: no name begins so.
std::string indexName(size_t axis) {
  return std::string(1, static_cast<char>('0' + axis));
}

/// The product, or far more than any budget.
int64_t times(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product)
             ? INT64_MAX / 4
             : std::min(product, INT64_MAX / 4);
}

} // namespace

ElementEvaluator::NodePtr ElementEvaluator::fail(const Node &node,
                                                 std::string message) {
  error = {node.begin, node.end, std::move(message)};
  return nullptr;
}

//===----------------------------------------------------------------------===//
// What parameters decide
//===----------------------------------------------------------------------===//

/// Indices are called by their axis from here on, everything else is its value.
ElementEvaluator::NodePtr ElementEvaluator::preparedName(const NodePtr &node) {
  const std::string &name = node->literal.text;
  if (std::find(counters.begin(), counters.end(), name) != counters.end()) {
    return node;
  }
  if (auto axis = findElementIndex(name, type.shape.size())) {
    auto index = std::make_shared<Node>(*node);
    index->literal = Scalar::ofText(indexName(*axis));
    return index;
  }
  const Scalar *value = lookup(name);
  return value ? literal(*node, *value)
               : fail(*node, "unknown name " + inQuotes(name));
}

ElementEvaluator::NodePtr ElementEvaluator::preparedRead(const NodePtr &node) {
  const Reference &reference = *node->reference;
  const Scalar *list = reference.accessors.empty() && !isValue(reference.base)
                           ? lookup(reference.base)
                           : nullptr;
  if (list && node->operands.size() == 1) {
    auto element = std::make_shared<Node>(*node);
    element->op = Operator::Element;
    element->operands = {literal(*node, *list), node->operands[0]};
    return preparedOperands(element);
  }
  if (list) {
    return fail(*node, "a list has one index");
  }
  ConstantPtr table = findTable(reference);
  if (!table) {
    error = {};
    return nullptr;
  }
  if (table->shape.size() != node->operands.size()) {
    size_t rank = table->shape.size();
    return fail(*node, "expected " + std::to_string(rank) +
                           (rank == 1 ? " index" : " indices") +
                           ", one for each axis of " +
                           inQuotes(reference.base) + ", got " +
                           std::to_string(node->operands.size()));
  }
  auto read = std::make_shared<Node>(*node);
  for (NodePtr &operand : read->operands) {
    operand = prepared(operand);
    if (!operand) {
      return nullptr;
    }
  }
  tables[read.get()] = std::move(table);
  return read;
}

ElementEvaluator::NodePtr ElementEvaluator::preparedSum(const NodePtr &node) {
  NodePtr count = prepared(node->operands[0]);
  if (!count) {
    return nullptr;
  }
  bool isKnown = isLiteral(count) && count->literal.is(Scalar::Kind::Integer);
  if (!isKnown || count->literal.integer < 0 ||
      count->literal.integer > INT32_MAX) {
    return fail(*count, "how far a sum counts is an integer of parameters, 0 "
                        "to 2147483647" +
                            (isLiteral(count) ? ", got " + count->literal.str()
                                              : std::string()));
  }
  counters.push_back(node->literal.text);
  NodePtr term = prepared(node->operands[1]);
  counters.pop_back();
  if (!term) {
    return nullptr;
  }
  auto sum = std::make_shared<Node>(*node);
  sum->operands = {std::move(count), std::move(term)};
  return sum;
}

/// Of `if`, `and` and `or`, what parameters rule out may be about what there is
/// not.
ElementEvaluator::NodePtr
ElementEvaluator::preparedChoice(const NodePtr &node) {
  NodePtr condition = prepared(node->operands[0]);
  if (!condition) {
    return nullptr;
  }
  bool isDecided =
      isLiteral(condition) && condition->literal.is(Scalar::Kind::Boolean);
  if (isDecided && node->op == Operator::If) {
    return prepared(node->operands[condition->literal.boolean ? 1 : 2]);
  }
  if (isDecided && condition->literal.boolean == (node->op == Operator::Or)) {
    return condition;
  }
  return preparedOperands(node);
}

/// A mistake in what no element needs is none: it stays for those that do.
ElementEvaluator::NodePtr ElementEvaluator::folded(const NodePtr &node) {
  TextError ignored;
  std::optional<Scalar> value = frontend::evaluate(*node, lookup, ignored);
  return value ? literal(*node, std::move(*value)) : node;
}

ElementEvaluator::NodePtr
ElementEvaluator::preparedOperands(const NodePtr &node) {
  auto copy = std::make_shared<Node>(*node);
  bool isConstant = !copy->operands.empty();
  for (NodePtr &operand : copy->operands) {
    operand = prepared(operand);
    if (!operand) {
      return nullptr;
    }
    isConstant &= isLiteral(operand);
  }
  return isConstant ? folded(copy) : copy;
}

ElementEvaluator::NodePtr ElementEvaluator::prepared(const NodePtr &node) {
  switch (node->op) {
  case Operator::Literal:
    return node;
  case Operator::Name:
    return preparedName(node);
  case Operator::Read:
    return preparedRead(node);
  case Operator::Sum:
    return preparedSum(node);
  case Operator::If:
  case Operator::And:
  case Operator::Or:
    return preparedChoice(node);
  default:
    return preparedOperands(node);
  }
}

/// Text costs what copying it does; a sum as often as it counts.
int64_t ElementEvaluator::countSteps(const Node &node) const {
  if (node.op == Operator::Sum) {
    return 2 + times(node.operands[0]->literal.integer,
                     1 + countSteps(*node.operands[1]));
  }
  constexpr int64_t bytesOfStep = 64;
  auto bytes = static_cast<int64_t>(node.literal.text.size());
  int64_t count = 1 + bytes / bytesOfStep;
  for (const NodePtr &operand : node.operands) {
    count = std::min(count + countSteps(*operand), INT64_MAX / 4);
  }
  return count;
}

bool ElementEvaluator::prepare(const Expression &expression) {
  tree = prepared(expression.sharedTree());
  steps = tree ? countSteps(*tree) : 0;
  return tree != nullptr;
}

static void
appendKey(const Expression::Node &node,
          const std::map<const Expression::Node *, ConstantPtr> &tables,
          std::string &key) {
  key += '(' + std::to_string(static_cast<int>(node.op));
  key += ' ' + std::to_string(static_cast<int>(node.literal.kind)) + ' ' +
         node.literal.str();
  key += node.function ? node.function->name : "";
  auto table = tables.find(&node);
  if (table != tables.end()) {
    key +=
        " @" + std::to_string(reinterpret_cast<uintptr_t>(table->second.get()));
  }
  for (const auto &operand : node.operands) {
    appendKey(*operand, tables, key);
  }
  key += ')';
}

std::string ElementEvaluator::key() const {
  std::string key = type.str();
  appendKey(*tree, tables, key);
  return key;
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

std::optional<Scalar> ElementEvaluator::read(const Node &node,
                                             const std::vector<Scalar> &indices,
                                             TextError &failure) const {
  const ConstantTable &table = *tables.at(&node);
  int64_t at = 0;
  for (size_t axis = 0; axis < indices.size(); ++axis) {
    const Scalar &index = indices[axis];
    int64_t size = table.shape[axis];
    double number = index.real;
    bool isWhole = number == std::floor(number);
    if (!isWhole || number < 0 || number >= static_cast<double>(size)) {
      const Node &place = *node.operands[axis];
      std::string elements =
          size == 1 ? " element: 0"
                    : " elements: 0 to " + std::to_string(size - 1);
      failure = {place.begin, place.end,
                 isWhole ? "index " + std::to_string(axis) + " of " +
                               inQuotes(node.reference->base) + " is " +
                               index.str() + ", and this axis has " +
                               std::to_string(size) + elements
                         : "an index is an integer, got " + index.str()};
      return std::nullopt;
    }
    at = at * size + static_cast<int64_t>(number);
  }
  double value = table.elements[static_cast<size_t>(at)];
  return table.dtype == DType::F32
             ? Scalar::ofReal(value)
             : Scalar::ofInteger(static_cast<int64_t>(value));
}

/// Why an element cannot be `value`; empty if it can. A number that is too
/// small for f32 is 0.
std::string ElementEvaluator::problemOf(const Scalar &value) const {
  if (!value.isNumber()) {
    return std::string("expected a number, got ") + describe(value.kind) +
           " (" + value.str() + ")";
  }
  if (type.dtype == DType::F32) {
    return std::abs(value.real) > static_cast<double>(FLT_MAX)
               ? problemInF32(value.real)
               : "";
  }
  if (value.real != std::floor(value.real)) {
    return value.str() + " is no integer";
  }
  bool fits = value.real >= INT32_MIN && value.real <= INT32_MAX;
  return fits ? "" : value.str() + " does not fit into 32 bits";
}

/// " at element [3, 5]".
std::string ElementEvaluator::place(int64_t element) const {
  std::string indices;
  for (size_t axis = type.shape.size(); axis-- > 0;
       element /= type.shape[axis]) {
    indices = std::to_string(element % type.shape[axis]) +
              (indices.empty() ? "" : ", ") + indices;
  }
  return ", at element [" + indices + "]";
}

bool ElementEvaluator::evaluate(ConstantTable &table) {
  table.dtype = type.dtype;
  table.shape = type.shape;
  int64_t count = 1;
  for (int64_t size : type.shape) {
    count *= size;
  }
  table.elements.reserve(static_cast<size_t>(count));
  std::vector<Scalar> indices(type.shape.size(), Scalar::ofInteger(0));
  Lookup indexOf = [&](std::string_view name) -> const Scalar * {
    auto axis = static_cast<size_t>(name[0] - '0');
    return name.size() == 1 && axis < indices.size() ? &indices[axis] : nullptr;
  };
  ReadElement reading = [this](const Node &node, const std::vector<Scalar> &at,
                               TextError &failure) {
    return read(node, at, failure);
  };
  for (int64_t i = 0; i < count; ++i) {
    std::optional<Scalar> value =
        frontend::evaluate(*tree, indexOf, error, &reading);
    std::string problem = value ? problemOf(*value) : error.message;
    if (!problem.empty()) {
      if (value) {
        error = {tree->begin, tree->end, ""};
      }
      error.message = problem + place(i);
      return false;
    }
    // No -0: where it stood for an integer it would differ from it.
    double element = value->real + 0.0;
    table.low = i == 0 ? element : std::min(table.low, element);
    table.high = i == 0 ? element : std::max(table.high, element);
    table.elements.push_back(element);
    for (size_t axis = indices.size(); axis-- > 0;) {
      int64_t next = indices[axis].integer + 1;
      bool isLast = next == type.shape[axis];
      indices[axis] = Scalar::ofInteger(isLast ? 0 : next);
      if (!isLast) {
        break;
      }
    }
  }
  return true;
}

} // namespace hova::frontend
