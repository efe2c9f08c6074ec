//===- Expression.h - Arithmetic, value names and paths in strings --------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The little languages that live in the strings of a description: expressions
// ("4*width"), names of values ("encoder[2*index + 1].attn"), paths of weights
// ("encoder.{index}.attn"), and scores, which are expressions that read
// elements of values too ("score + bias[head, query - key + 31]"). They are
// parsed once, where the document is read, and evaluated as often as a block is
// used. Constants are expressions of the indices of their elements ("cos(row *
// rate[column])"), which are evaluated for each.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_FRONTEND_EXPRESSION_EXPRESSION_H
#define HOVA_FRONTEND_EXPRESSION_EXPRESSION_H

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hova::frontend {

/// The value of a parameter, an argument or an expression. The name is that of
/// what most of them are; a list has several.
struct Scalar {
  enum class Kind { Integer, Real, Boolean, Text, List };
  // Descriptions have hundreds of thousands: the order leaves no gap.
  Kind kind = Kind::Integer;
  bool boolean = false;
  int64_t integer = 0;
  /// Set for integers too.
  double real = 0;
  std::string text;
  /// Of a list; null otherwise.
  std::shared_ptr<const std::vector<Scalar>> elements;

  static Scalar ofInteger(int64_t value);
  static Scalar ofReal(double value);
  static Scalar ofBoolean(bool value);
  static Scalar ofText(std::string value);
  static Scalar ofList(std::vector<Scalar> values);

  bool is(Kind other) const { return kind == other; }
  bool isNumber() const { return kind == Kind::Integer || kind == Kind::Real; }
  bool operator==(const Scalar &other) const;

  /// As it would be written in a description.
  std::string str() const;
};

/// "an integer", "a number", ...
const char *describe(Scalar::Kind kind);

/// Why a number cannot be one of f32, in which programs keep all numbers: too
/// large, or so small that it would be 0. Empty if it can.
std::string problemInF32(double number);

/// What is wrong in a string, and where: bytes [begin, end) of it.
struct TextError {
  size_t begin = 0;
  size_t end = 0;
  std::string message;
};

/// A name used in an expression.
struct NameUse {
  std::string name;
  size_t begin = 0;
};

/// Finds the value of a name; null if there is none. `largest(length)` is a name
/// too: that of the parameter's value where it has one, and of the largest where
/// it is a range.
using Lookup = std::function<const Scalar *(std::string_view)>;

struct Reference;

/// A parsed expression.
class Expression {
public:
  struct Node;

  /// Parses the whole of `text`; on failure fills `error`.
  static std::optional<Expression> parse(std::string_view text,
                                         TextError &error);

  /// The same for what an attention says of its scores, which may read elements
  /// of values and has more functions.
  static std::optional<Expression> parseScore(std::string_view text,
                                              TextError &error);

  /// The same for the elements of a constant, which may read elements of values
  /// and have still more functions.
  static std::optional<Expression> parseConstant(std::string_view text,
                                                 TextError &error);

  /// The same for what a parameter becomes by the keys of a configuration:
  /// names are keys, `rope.theta` is a key of the object that `rope` is.
  static std::optional<Expression> parseKeys(std::string_view text,
                                             TextError &error);

  /// The value; on failure (division by zero, overflow, unknown name, wrong
  /// kind of operand) fills `error`.
  std::optional<Scalar> evaluate(const Lookup &lookup, TextError &error) const;

  /// Every name that occurs, but for those of values.
  const std::vector<NameUse> &names() const { return uses; }

  /// The values whose elements are read.
  const std::vector<std::shared_ptr<const Reference>> &reads() const {
    return references;
  }

  /// For those who know what a node is (ExpressionNode.h).
  const Node &tree() const { return *root; }
  const std::shared_ptr<const Node> &sharedTree() const { return root; }

  /// How many numbers, names and operators it has.
  size_t terms() const { return nodes; }

private:
  friend class ExpressionParser;
  std::shared_ptr<const Node> root;
  size_t nodes = 0;
  std::vector<NameUse> uses;
  std::vector<std::shared_ptr<const Reference>> references;
};

/// The name of a value: `encoder[2*index + 1].attn`, `states[1::2]`.
struct Reference {
  struct Accessor {
    enum class Kind { Member, Index, Range };
    Kind kind = Kind::Member;
    std::string member;
    /// Index: `first`. Range: any of the three may be absent; `[*]` has none.
    std::optional<Expression> first, last, step;
    size_t begin = 0;
    size_t end = 0;
  };

  std::string base;
  std::vector<Accessor> accessors;
  /// Where it stands in the string: all of it, or a part of an expression.
  size_t begin = 0;
  size_t end = 0;

  static std::optional<Reference> parse(std::string_view text,
                                        TextError &error);

  /// Every name that occurs in the indices.
  std::vector<NameUse> names() const;

  /// How many accessors it has, and terms in them.
  size_t terms() const;
};

/// A path with expressions in braces: `encoder.{index // 2}.attn`.
class PathTemplate {
public:
  static std::optional<PathTemplate> parse(std::string_view text,
                                           TextError &error);
  std::optional<std::string> evaluate(const Lookup &lookup,
                                      TextError &error) const;
  std::vector<NameUse> names() const;
  /// How many parts it has, and terms in them.
  size_t terms() const;

private:
  struct Part {
    std::string text;
    std::optional<Expression> expression;
    size_t begin = 0;
  };
  std::vector<Part> parts;
};

/// Whether `name` is letters, digits and underscores after a letter.
bool isName(std::string_view name);

} // namespace hova::frontend

#endif // HOVA_FRONTEND_EXPRESSION_EXPRESSION_H
