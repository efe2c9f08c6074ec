//===- ExpressionParser.h - Parsing of the little languages, internals ----===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Recursive descent with one function per level of precedence, from `or`
// (loosest) to `**` (tightest). Depth is limited: strings come from untrusted
// files.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_FRONTEND_EXPRESSION_EXPRESSIONPARSER_H
#define HOVA_FRONTEND_EXPRESSION_EXPRESSIONPARSER_H

#include "frontend/expression/ExpressionNode.h"

namespace hova::frontend {

inline bool isLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
inline bool isDigit(char c) { return c >= '0' && c <= '9'; }
inline bool isNamePart(char c) { return isLetter(c) || isDigit(c) || c == '_'; }

/// Parses one string; positions are bytes of it.
class ExpressionParser {
public:
  using NodePtr = std::shared_ptr<const Expression::Node>;

  /// What names are, and which functions there are.
  enum class Language { Parameters, Keys, Scores, Constants };

  ExpressionParser(std::string_view text, TextError &error,
                   Language language = Language::Parameters)
      : text(text), error(error), language(language) {}

  /// Whether one of the languages has a function of its own called so.
  static bool knowsFunction(std::string_view name);

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
  /// What is said of more than `maxDepth` parentheses and operators in one
  /// another.
  static std::string tooDeep() {
    return "the expression is nested deeper than " + std::to_string(maxDepth) +
           " levels";
  }
  std::nullptr_t fail(std::string message) {
    size_t end = at < text.size() ? at + 1 : at;
    error = {at, end, std::move(message)};
    return nullptr;
  }
  /// Says that the next character is not what was wanted.
  std::nullptr_t failHere(const char *wanted);

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
  NodePtr elementOfList(NodePtr list, size_t begin);
  /// Call of function number `index`; its name has been read.
  NodePtr call(size_t index, size_t begin);
  NodePtr callAdded(const ExpressionFunction &function, size_t begin);
  /// What is in the parentheses of a call; empty after a mistake.
  std::vector<NodePtr> callOperands(const std::string &name, size_t fewest,
                                    size_t most, size_t begin);
  /// Of a sum, whose first operand is the name that counts in the others.
  NodePtr sumOver(std::vector<NodePtr> operands, size_t begin);
  /// A name that `Lookup` knows as that of a parameter's largest value.
  NodePtr largestOf(const Expression::Node &parameter, size_t begin);
  /// Expressions with commas between them; empty after a mistake.
  std::vector<NodePtr> list();

  // Elements of values (ReadParser.cpp).
  NodePtr elementOf(std::string base, size_t begin);
  void choice(Reference::Accessor &accessor, NodePtr index, size_t firstUse,
              size_t nodesBefore);
  /// Whether what stands here belongs to the name of a value.
  bool namesValue();

  std::string_view peekWord();
  bool takeWord(std::string_view wanted);
  bool takeSpelling(std::string_view wanted);
  std::string takeName();
  bool range(Reference::Accessor &accessor);

  NodePtr make(Expression::Node::Operator op, size_t begin,
               std::vector<NodePtr> operands);
  NodePtr leaf(Expression::Node::Operator op, size_t begin, Scalar literal);

  std::string_view text;
  TextError &error;
  const Language language;
  std::vector<NameUse> uses;
  std::vector<std::shared_ptr<const Reference>> references;
  size_t nodes = 0;
  int depth = 0;
};

} // namespace hova::frontend

#endif // HOVA_FRONTEND_EXPRESSION_EXPRESSIONPARSER_H
