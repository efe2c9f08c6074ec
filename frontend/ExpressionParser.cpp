//===- ExpressionParser.cpp - Parsing of the little languages -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Recursive descent with one function per level of precedence, from `or`
// (loosest) to `**` (tightest). Depth is limited: strings come from untrusted
// files.
//
//===----------------------------------------------------------------------===//

#include "frontend/Expression.h"
#include "frontend/ExpressionNode.h"

#include <cerrno>
#include <cmath>
#include <cstdlib>

namespace hova::frontend {

namespace {

bool isLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isNamePart(char c) { return isLetter(c) || isDigit(c) || c == '_'; }

using Operator = Expression::Node::Operator;

struct Function {
  const char *name;
  Operator op;
  size_t fewest;
  size_t most;
};

constexpr size_t anyNumber = 16;
constexpr Function functions[] = {
    {"if", Operator::If, 3, 3},           {"min", Operator::Min, 1, anyNumber},
    {"max", Operator::Max, 1, anyNumber}, {"abs", Operator::Absolute, 1, 1},
    {"sqrt", Operator::SquareRoot, 1, 1}, {"floor", Operator::FloorCall, 1, 1},
    {"ceil", Operator::Ceiling, 1, 1},    {"log2", Operator::Log2, 1, 1},
};

struct BinaryOperator {
  const char *spelling;
  Operator op;
};

} // namespace

bool isName(std::string_view name) {
  if (name.empty() || !isLetter(name[0])) {
    return false;
  }
  for (char c : name) {
    if (!isNamePart(c)) {
      return false;
    }
  }
  return true;
}

/// Parses one string; positions are bytes of it.
class ExpressionParser {
public:
  using NodePtr = std::shared_ptr<const Expression::Node>;

  ExpressionParser(std::string_view text, TextError &error)
      : text(text), error(error) {}

  /// An expression that ends at the first token that cannot belong to it.
  std::optional<Expression> expression();

  std::optional<Reference> reference();

  void skipSpace() {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\t')) {
      ++at;
    }
  }
  bool atEnd() {
    skipSpace();
    return at == text.size();
  }
  bool take(char c) {
    skipSpace();
    if (at < text.size() && text[at] == c) {
      ++at;
      return true;
    }
    return false;
  }
  std::nullptr_t fail(std::string message) {
    size_t end = at < text.size() ? at + 1 : at;
    error = {at, end, std::move(message)};
    return nullptr;
  }
  std::nullptr_t failHere(const char *wanted) {
    skipSpace();
    if (at == text.size()) {
      return fail(std::string("expected ") + wanted + " at the end");
    }
    return fail(std::string("expected ") + wanted + ", got '" +
                std::string(1, text[at]) + "'");
  }

  size_t at = 0;

private:
  static constexpr int maxDepth = 64;

  NodePtr either();
  NodePtr both();
  NodePtr inverse();
  NodePtr comparison();
  NodePtr sum();
  NodePtr product();
  NodePtr negation();
  NodePtr power();
  NodePtr primary();
  NodePtr number();
  NodePtr quotedText();
  NodePtr word();
  NodePtr callOf(const Function &function, size_t begin);

  std::string_view peekWord();
  bool takeWord(std::string_view wanted);
  bool takeSpelling(std::string_view wanted);
  std::string takeName();
  bool range(Reference::Accessor &accessor);

  NodePtr make(Operator op, size_t begin, std::vector<NodePtr> operands);
  NodePtr leaf(Operator op, size_t begin, Scalar literal);

  std::string_view text;
  TextError &error;
  std::vector<NameUse> uses;
  int depth = 0;
};

ExpressionParser::NodePtr
ExpressionParser::make(Operator op, size_t begin,
                       std::vector<NodePtr> operands) {
  auto node = std::make_shared<Expression::Node>();
  node->op = op;
  node->operands = std::move(operands);
  node->begin = begin;
  node->end = at;
  return node;
}

ExpressionParser::NodePtr ExpressionParser::leaf(Operator op, size_t begin,
                                                 Scalar literal) {
  auto node = std::make_shared<Expression::Node>();
  node->op = op;
  node->literal = std::move(literal);
  node->begin = begin;
  node->end = at;
  return node;
}

std::string_view ExpressionParser::peekWord() {
  skipSpace();
  size_t end = at;
  if (end < text.size() && isLetter(text[end])) {
    while (end < text.size() && isNamePart(text[end])) {
      ++end;
    }
  }
  return text.substr(at, end - at);
}

bool ExpressionParser::takeWord(std::string_view wanted) {
  if (peekWord() != wanted) {
    return false;
  }
  at += wanted.size();
  return true;
}

bool ExpressionParser::takeSpelling(std::string_view wanted) {
  skipSpace();
  if (text.substr(at, wanted.size()) != wanted) {
    return false;
  }
  at += wanted.size();
  return true;
}

ExpressionParser::NodePtr ExpressionParser::either() {
  skipSpace();
  size_t begin = at;
  NodePtr left = both();
  while (left && takeWord("or")) {
    NodePtr right = both();
    left = right ? make(Operator::Or, begin, {left, right}) : nullptr;
  }
  return left;
}

ExpressionParser::NodePtr ExpressionParser::both() {
  skipSpace();
  size_t begin = at;
  NodePtr left = inverse();
  while (left && takeWord("and")) {
    NodePtr right = inverse();
    left = right ? make(Operator::And, begin, {left, right}) : nullptr;
  }
  return left;
}

ExpressionParser::NodePtr ExpressionParser::inverse() {
  skipSpace();
  size_t begin = at;
  if (!takeWord("not")) {
    return comparison();
  }
  if (++depth > maxDepth) {
    return fail("the expression is nested too deeply");
  }
  NodePtr operand = inverse();
  --depth;
  return operand ? make(Operator::Not, begin, {operand}) : nullptr;
}

ExpressionParser::NodePtr ExpressionParser::comparison() {
  // Longer spellings first.
  static constexpr BinaryOperator operators[] = {
      {"==", Operator::Equal},     {"!=", Operator::NotEqual},
      {"<=", Operator::LessEqual}, {">=", Operator::GreaterEqual},
      {"<", Operator::Less},       {">", Operator::Greater}};
  skipSpace();
  size_t begin = at;
  NodePtr left = sum();
  if (!left) {
    return nullptr;
  }
  for (const BinaryOperator &candidate : operators) {
    if (takeSpelling(candidate.spelling)) {
      NodePtr right = sum();
      return right ? make(candidate.op, begin, {left, right}) : nullptr;
    }
  }
  return left;
}

ExpressionParser::NodePtr ExpressionParser::sum() {
  skipSpace();
  size_t begin = at;
  NodePtr left = product();
  while (left) {
    Operator op = Operator::Add;
    if (take('-')) {
      op = Operator::Subtract;
    } else if (!take('+')) {
      break;
    }
    NodePtr right = product();
    left = right ? make(op, begin, {left, right}) : nullptr;
  }
  return left;
}

ExpressionParser::NodePtr ExpressionParser::product() {
  skipSpace();
  size_t begin = at;
  NodePtr left = negation();
  while (left) {
    Operator op = Operator::Multiply;
    if (takeSpelling("//")) {
      op = Operator::Floor;
    } else if (take('/')) {
      op = Operator::Divide;
    } else if (take('%')) {
      op = Operator::Modulo;
    } else if (!take('*')) {
      break;
    }
    NodePtr right = negation();
    left = right ? make(op, begin, {left, right}) : nullptr;
  }
  return left;
}

ExpressionParser::NodePtr ExpressionParser::negation() {
  skipSpace();
  size_t begin = at;
  if (!take('-')) {
    return power();
  }
  if (++depth > maxDepth) {
    return fail("the expression is nested too deeply");
  }
  NodePtr operand = negation();
  --depth;
  return operand ? make(Operator::Negate, begin, {operand}) : nullptr;
}

ExpressionParser::NodePtr ExpressionParser::power() {
  skipSpace();
  size_t begin = at;
  NodePtr base = primary();
  if (!base || !takeSpelling("**")) {
    return base;
  }
  // Right associative, and the exponent may be negative: `2**-1`.
  if (++depth > maxDepth) {
    return fail("the expression is nested too deeply");
  }
  NodePtr exponent = negation();
  --depth;
  return exponent ? make(Operator::Power, begin, {base, exponent}) : nullptr;
}

ExpressionParser::NodePtr ExpressionParser::primary() {
  skipSpace();
  if (at < text.size() && (isDigit(text[at]) || text[at] == '.')) {
    return number();
  }
  if (at < text.size() && text[at] == '\'') {
    return quotedText();
  }
  if (at < text.size() && isLetter(text[at])) {
    return word();
  }
  if (!take('(')) {
    return failHere("a number, a name or '('");
  }
  if (++depth > maxDepth) {
    return fail("the expression is nested too deeply");
  }
  NodePtr inner = either();
  --depth;
  if (inner && !take(')')) {
    return failHere("')'");
  }
  return inner;
}

ExpressionParser::NodePtr ExpressionParser::number() {
  size_t begin = at;
  bool isReal = false;
  while (at < text.size() && (isDigit(text[at]) || text[at] == '.')) {
    isReal |= text[at++] == '.';
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    isReal = true;
    ++at;
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) {
      ++at;
    }
    while (at < text.size() && isDigit(text[at])) {
      ++at;
    }
  }
  std::string spelling(text.substr(begin, at - begin));
  char *end = nullptr;
  errno = 0;
  Scalar value =
      isReal ? Scalar::ofReal(std::strtod(spelling.c_str(), &end))
             : Scalar::ofInteger(std::strtoll(spelling.c_str(), &end, 10));
  bool whole = end == spelling.c_str() + spelling.size();
  if (!whole || errno == ERANGE || !std::isfinite(value.real)) {
    error = {begin, at,
             whole ? "the number is out of range" : "this is not a number"};
    return nullptr;
  }
  return leaf(Operator::Literal, begin, value);
}

ExpressionParser::NodePtr ExpressionParser::quotedText() {
  size_t begin = at++;
  size_t end = text.find('\'', at);
  if (end == std::string_view::npos) {
    error = {begin, text.size(), "missing closing quote (')"};
    return nullptr;
  }
  std::string content(text.substr(at, end - at));
  at = end + 1;
  return leaf(Operator::Literal, begin, Scalar::ofText(std::move(content)));
}

ExpressionParser::NodePtr ExpressionParser::word() {
  size_t begin = at;
  std::string name(peekWord());
  at += name.size();
  if (name == "true" || name == "false") {
    return leaf(Operator::Literal, begin, Scalar::ofBoolean(name == "true"));
  }
  for (const Function &function : functions) {
    if (name == function.name) {
      return callOf(function, begin);
    }
  }
  skipSpace();
  if (at < text.size() && text[at] == '(') {
    error = {begin, at,
             "unknown function \"" + name +
                 "\"; there are if, min, max, abs, sqrt, floor, "
                 "ceil and log2"};
    return nullptr;
  }
  uses.push_back({name, begin});
  NodePtr node = leaf(Operator::Name, begin, Scalar::ofText(name));
  return node;
}

ExpressionParser::NodePtr ExpressionParser::callOf(const Function &function,
                                                   size_t begin) {
  if (!take('(')) {
    return failHere("'('");
  }
  if (++depth > maxDepth) {
    return fail("the expression is nested too deeply");
  }
  std::vector<NodePtr> operands;
  do {
    NodePtr operand = either();
    if (!operand) {
      return nullptr;
    }
    operands.push_back(std::move(operand));
  } while (take(','));
  --depth;
  if (!take(')')) {
    return failHere("',' or ')'");
  }
  if (operands.size() < function.fewest || operands.size() > function.most) {
    error = {begin, at,
             std::string(function.name) + " takes " +
                 (function.most == anyNumber
                      ? "one or more values"
                      : std::to_string(function.most) +
                            (function.most == 1 ? " value" : " values")) +
                 ", got " + std::to_string(operands.size())};
    return nullptr;
  }
  return make(function.op, begin, std::move(operands));
}

std::optional<Expression> ExpressionParser::expression() {
  uses.clear();
  NodePtr root = either();
  if (!root) {
    return std::nullopt;
  }
  Expression expression;
  expression.root = std::move(root);
  expression.uses = uses;
  return expression;
}

std::string ExpressionParser::takeName() {
  std::string name(peekWord());
  at += name.size();
  return name;
}

/// What stands between `[` and `]`.
bool ExpressionParser::range(Reference::Accessor &accessor) {
  accessor.kind = Reference::Accessor::Kind::Range;
  if (take('*')) {
    return true;
  }
  auto isStop = [&](char c) { return at < text.size() && text[at] == c; };
  std::optional<Expression> *slots[] = {&accessor.first, &accessor.last,
                                        &accessor.step};
  for (size_t i = 0; i < 3; ++i) {
    skipSpace();
    if (!isStop(':') && !isStop(']')) {
      *slots[i] = expression();
      if (!*slots[i]) {
        return false;
      }
    }
    skipSpace();
    if (i == 0 && isStop(']')) {
      accessor.kind = Reference::Accessor::Kind::Index;
      if (!accessor.first) {
        failHere("an index, a range or '*'");
        return false;
      }
    }
    if (!take(':')) {
      break;
    }
  }
  return true;
}

std::optional<Reference> ExpressionParser::reference() {
  Reference reference;
  reference.base = takeName();
  if (reference.base.empty()) {
    failHere("the name of a value");
    return std::nullopt;
  }
  while (!atEnd()) {
    Reference::Accessor accessor;
    accessor.begin = at;
    if (take('.')) {
      accessor.member = takeName();
      if (accessor.member.empty()) {
        failHere("the name of a layer after '.'");
        return std::nullopt;
      }
    } else if (!take('[')) {
      failHere("'[', '.' or the end");
      return std::nullopt;
    } else if (!range(accessor)) {
      return std::nullopt;
    } else if (!take(']')) {
      failHere("']'");
      return std::nullopt;
    }
    accessor.end = at;
    reference.accessors.push_back(std::move(accessor));
  }
  return reference;
}

std::optional<Expression> Expression::parse(std::string_view text,
                                            TextError &error) {
  ExpressionParser parser(text, error);
  std::optional<Expression> expression = parser.expression();
  if (expression && !parser.atEnd()) {
    parser.failHere("an operator or the end");
    return std::nullopt;
  }
  return expression;
}

std::optional<Reference> Reference::parse(std::string_view text,
                                          TextError &error) {
  return ExpressionParser(text, error).reference();
}

std::vector<NameUse> Reference::names() const {
  std::vector<NameUse> all;
  for (const Accessor &accessor : accessors) {
    for (const auto *slot : {&accessor.first, &accessor.last, &accessor.step}) {
      if (*slot) {
        all.insert(all.end(), (*slot)->names().begin(), (*slot)->names().end());
      }
    }
  }
  return all;
}

std::optional<PathTemplate> PathTemplate::parse(std::string_view text,
                                                TextError &error) {
  PathTemplate path;
  size_t at = 0;
  while (at < text.size()) {
    size_t brace = text.find('{', at);
    if (brace != at) {
      std::string literal(text.substr(at, brace - at));
      for (size_t i = 0; i < literal.size(); ++i) {
        if (!isNamePart(literal[i]) && literal[i] != '.') {
          error = {at + i, at + i + 1,
                   "a path has letters, digits, underscores and dots only"};
          return std::nullopt;
        }
      }
      path.parts.push_back({std::move(literal), std::nullopt, at});
    }
    if (brace == std::string_view::npos) {
      break;
    }
    size_t close = text.find('}', brace);
    if (close == std::string_view::npos) {
      error = {brace, text.size(), "missing '}'"};
      return std::nullopt;
    }
    std::optional<Expression> expression =
        Expression::parse(text.substr(brace + 1, close - brace - 1), error);
    if (!expression) {
      error.begin += brace + 1;
      error.end += brace + 1;
      return std::nullopt;
    }
    path.parts.push_back({"", std::move(expression), brace + 1});
    at = close + 1;
  }
  if (path.parts.empty()) {
    error = {0, text.size(), "the path is empty"};
    return std::nullopt;
  }
  return path;
}

std::optional<std::string> PathTemplate::evaluate(const Lookup &lookup,
                                                  TextError &error) const {
  std::string path;
  for (const Part &part : parts) {
    if (!part.expression) {
      path += part.text;
      continue;
    }
    std::optional<Scalar> value = part.expression->evaluate(lookup, error);
    if (value && value->is(Scalar::Kind::Real)) {
      error = {0, 0, "expected an integer, got " + value->str()};
      value.reset();
    }
    if (!value) {
      error.begin += part.begin;
      error.end += part.begin;
      return std::nullopt;
    }
    path += value->str();
  }
  return path;
}

std::vector<NameUse> PathTemplate::names() const {
  std::vector<NameUse> all;
  for (const Part &part : parts) {
    if (part.expression) {
      for (const NameUse &use : part.expression->names()) {
        all.push_back({use.name, use.begin + part.begin});
      }
    }
  }
  return all;
}

} // namespace hova::frontend
