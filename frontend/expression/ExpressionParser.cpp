//===- ExpressionParser.cpp - Parsing of the little languages -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "frontend/expression/ExpressionParser.h"
#include "frontend/reader/Text.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <iterator>

namespace hova::frontend {

namespace {

using Operator = Expression::Node::Operator;

using Language = ExpressionParser::Language;

struct Function {
  const char *name;
  Operator op;
  size_t fewest;
  size_t most;
  /// Scores have more functions, but no lists; constants have all. Keys of a
  /// configuration are no parameters.
  enum Users { All, Scores, Others, Constants, Parameters } users = All;

  /// A parameter may be called so, as it could before there was the function.
  bool mayBeName() const {
    return op == Operator::Count || users == Parameters;
  }

  bool isKnown(Language language) const {
    if (users == Parameters) {
      return language != Language::Keys;
    }
    if (users == All || language == Language::Constants) {
      return true;
    }
    return users != Constants &&
           (users == Scores) == (language == Language::Scores);
  }
};

constexpr size_t anyNumber = 16;
constexpr Function functions[] = {
    {"if", Operator::If, 3, 3},
    {"min", Operator::Min, 1, anyNumber},
    {"max", Operator::Max, 1, anyNumber},
    {"abs", Operator::Absolute, 1, 1},
    {"sqrt", Operator::SquareRoot, 1, 1},
    {"floor", Operator::FloorCall, 1, 1},
    {"ceil", Operator::Ceiling, 1, 1},
    {"log2", Operator::Log2, 1, 1},
    {"count", Operator::Count, 1, 1, Function::Others},
    {"largest", Operator::Name, 1, 1, Function::Parameters},
    {"exp", Operator::Exponential, 1, 1, Function::Scores},
    {"log", Operator::Logarithm, 1, 1, Function::Scores},
    {"tanh", Operator::Tangent, 1, 1, Function::Scores},
    {"sigmoid", Operator::Sigmoid, 1, 1, Function::Scores},
    {"sin", Operator::Sine, 1, 1, Function::Constants},
    {"cos", Operator::Cosine, 1, 1, Function::Constants},
    {"sum", Operator::Sum, 3, 3, Function::Constants},
};

/// "if, min and max", as far as the language has them.
std::string functionNames(Language language) {
  std::vector<std::string> names;
  for (const Function &function : functions) {
    if (function.isKnown(language)) {
      names.push_back(function.name);
    }
  }
  if (language != Language::Scores) {
    std::vector<std::string> added = addedFunctionNames();
    names.insert(names.end(), added.begin(), added.end());
  }
  std::string list = names.front();
  for (size_t i = 1; i < names.size(); ++i) {
    list += (i + 1 < names.size() ? ", " : " and ") + names[i];
  }
  return list;
}

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

bool ExpressionParser::knowsFunction(std::string_view name) {
  return std::any_of(std::begin(functions), std::end(functions),
                     [&](const Function &known) { return known.name == name; });
}

ExpressionParser::NodePtr
ExpressionParser::make(Operator op, size_t begin,
                       std::vector<NodePtr> operands) {
  ++nodes;
  auto node = std::make_shared<Expression::Node>();
  node->op = op;
  node->operands = std::move(operands);
  node->begin = begin;
  node->end = at;
  return node;
}

ExpressionParser::NodePtr ExpressionParser::leaf(Operator op, size_t begin,
                                                 Scalar literal) {
  ++nodes;
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
    bool isDotted = language == Language::Keys;
    while (end < text.size() &&
           (isNamePart(text[end]) ||
            (isDotted && text[end] == '.' && end + 1 < text.size() &&
             isLetter(text[end + 1])))) {
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
    return fail(tooDeep());
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
    return fail(tooDeep());
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
    return fail(tooDeep());
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
    return fail(tooDeep());
  }
  NodePtr inner = either();
  --depth;
  if (inner && !take(')')) {
    return failHere("')'");
  }
  return inner;
}

std::nullptr_t ExpressionParser::failHere(const char *wanted) {
  skipSpace();
  std::string message = std::string("expected ") + wanted;
  size_t end = at;
  if (atEnd()) {
    message += " at the end";
  } else {
    message += ", got '";
    reader::appendShown(message, text, end);
    message += "'";
  }
  error = {at, end, std::move(message)};
  return nullptr;
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
  size_t end = at;
  if (name == "true" || name == "false") {
    return leaf(Operator::Literal, begin, Scalar::ofBoolean(name == "true"));
  }
  skipSpace();
  bool isCall = at < text.size() && text[at] == '(';
  for (size_t i = 0; i < std::size(functions); ++i) {
    bool isName = functions[i].mayBeName() && !isCall;
    if (name == functions[i].name && functions[i].isKnown(language) &&
        !isName) {
      return call(i, begin);
    }
  }
  const ExpressionFunction *added =
      isCall ? findExpressionFunction(name) : nullptr;
  if (added && language != Language::Scores) {
    return callAdded(*added, begin);
  }
  if (isCall) {
    error = {begin, at,
             "unknown function \"" + name + "\"; there are " +
                 functionNames(language)};
    return nullptr;
  }
  bool readsValues =
      language == Language::Scores || language == Language::Constants;
  if (readsValues && namesValue()) {
    at = end;
    return elementOf(std::move(name), begin);
  }
  uses.push_back({name, begin});
  NodePtr node = leaf(Operator::Name, begin, Scalar::ofText(name));
  while (node && take('[')) {
    node = elementOfList(std::move(node), begin);
  }
  return node;
}

ExpressionParser::NodePtr ExpressionParser::elementOfList(NodePtr list,
                                                          size_t begin) {
  if (++depth > maxDepth) {
    return fail(tooDeep());
  }
  NodePtr index = either();
  --depth;
  if (index && take(',')) {
    error = {begin, at,
             "a list has one index, and values cannot be read here, only in "
             "the \"score\" and \"keep\" of an attention, and constants in "
             "the \"value\" of a constant"};
    return nullptr;
  }
  if (index && !take(']')) {
    return failHere("']'");
  }
  return index ? make(Operator::Element, begin, {std::move(list), index})
               : nullptr;
}

std::vector<ExpressionParser::NodePtr> ExpressionParser::list() {
  std::vector<NodePtr> operands;
  do {
    NodePtr operand = either();
    if (!operand) {
      return {};
    }
    operands.push_back(std::move(operand));
  } while (take(','));
  return operands;
}

std::vector<ExpressionParser::NodePtr>
ExpressionParser::callOperands(const std::string &name, size_t fewest,
                               size_t most, size_t begin) {
  if (!take('(')) {
    failHere("'('");
    return {};
  }
  if (++depth > maxDepth) {
    fail(tooDeep());
    return {};
  }
  std::vector<NodePtr> operands = list();
  if (operands.empty()) {
    return {};
  }
  --depth;
  if (!take(')')) {
    failHere("',' or ')'");
    return {};
  }
  if (operands.size() < fewest || operands.size() > most) {
    error = {begin, at,
             name + " takes " +
                 (fewest != most ? "one or more values"
                                 : std::to_string(most) +
                                       (most == 1 ? " value" : " values")) +
                 ", got " + std::to_string(operands.size())};
    return {};
  }
  return operands;
}

ExpressionParser::NodePtr ExpressionParser::call(size_t index, size_t begin) {
  const Function &function = functions[index];
  std::vector<NodePtr> operands =
      callOperands(function.name, function.fewest, function.most, begin);
  if (operands.empty()) {
    return nullptr;
  }
  switch (function.op) {
  case Operator::Sum:
    return sumOver(std::move(operands), begin);
  case Operator::Name:
    return largestOf(*operands[0], begin);
  default:
    return make(function.op, begin, std::move(operands));
  }
}

ExpressionParser::NodePtr
ExpressionParser::largestOf(const Expression::Node &parameter, size_t begin) {
  if (parameter.op != Operator::Name) {
    error = {parameter.begin, parameter.end,
             "largest takes the name of a parameter, as in largest(length)"};
    return nullptr;
  }
  std::string name = parameter.literal.text;
  return leaf(Operator::Name, begin, Scalar::ofText("largest(" + name + ")"));
}

ExpressionParser::NodePtr
ExpressionParser::callAdded(const ExpressionFunction &function, size_t begin) {
  std::vector<NodePtr> operands =
      callOperands(function.name, function.values, function.values, begin);
  if (operands.empty()) {
    return nullptr;
  }
  auto node = std::make_shared<Expression::Node>(
      *make(Operator::Call, begin, std::move(operands)));
  node->function = &function;
  return node;
}

ExpressionParser::NodePtr
ExpressionParser::sumOver(std::vector<NodePtr> operands, size_t begin) {
  const Expression::Node &counter = *operands[0];
  if (counter.op != Operator::Name || !isName(counter.literal.text)) {
    error = {counter.begin, counter.end,
             "sum takes a name that counts from 0, how far, and what is added, "
             "as in sum(k, 8, table[row, k])"};
    return nullptr;
  }
  std::string name = counter.literal.text;
  // It means nothing outside of the sum, and nothing else inside of it.
  uses.erase(std::remove_if(uses.begin(), uses.end(),
                            [&](const NameUse &use) {
                              return use.begin >= begin && use.name == name;
                            }),
             uses.end());
  operands.erase(operands.begin());
  auto node = std::make_shared<Expression::Node>(
      *make(Operator::Sum, begin, std::move(operands)));
  node->literal = Scalar::ofText(std::move(name));
  return node;
}

std::optional<Expression> ExpressionParser::expression() {
  uses.clear();
  references.clear();
  nodes = 0;
  NodePtr root = either();
  if (!root) {
    return std::nullopt;
  }
  Expression expression;
  expression.root = std::move(root);
  expression.uses = uses;
  expression.nodes = nodes;
  expression.references = references;
  return expression;
}

/// An expression that is all of the text.
static std::optional<Expression> parseWhole(ExpressionParser parser) {
  std::optional<Expression> expression = parser.expression();
  if (expression && !parser.atEnd()) {
    parser.failHere("an operator or the end");
    return std::nullopt;
  }
  return expression;
}

std::optional<Expression> Expression::parse(std::string_view text,
                                            TextError &error) {
  return parseWhole(ExpressionParser(text, error));
}

std::optional<Expression> Expression::parseScore(std::string_view text,
                                                 TextError &error) {
  return parseWhole(
      ExpressionParser(text, error, ExpressionParser::Language::Scores));
}

std::optional<Expression> Expression::parseConstant(std::string_view text,
                                                    TextError &error) {
  return parseWhole(
      ExpressionParser(text, error, ExpressionParser::Language::Constants));
}

std::optional<Expression> Expression::parseKeys(std::string_view text,
                                                TextError &error) {
  return parseWhole(
      ExpressionParser(text, error, ExpressionParser::Language::Keys));
}

} // namespace hova::frontend
