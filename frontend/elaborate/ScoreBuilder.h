//===- ScoreBuilder.h - From an expression to a program of scores ---------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// An expression of a score is one of parameters, with more names and reads of
// values. What depends on parameters alone is evaluated as everywhere; what is
// left has types, and integers have ranges:
//
//   min(query - key, 31)   integer, query - key in [-63, 63] -> [-63, 31]
//   bias[head, .. + 31]    every index is compared with the size of its axis
//
// so that no program reads beside a value, whatever it is fed. A condition
// narrows nothing: `min` and `max` do. What is built in, such as biases and
// masks, adds its terms around those of expressions.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_FRONTEND_ELABORATE_SCOREBUILDER_H
#define HOVA_FRONTEND_ELABORATE_SCOREBUILDER_H

#include "frontend/elaborate/Program.h"
#include "frontend/expression/ExpressionNode.h"

#include <tuple>

namespace hova::frontend {

/// The integers from `low` to `high`.
struct IntegerSpan {
  int64_t low = 0;
  int64_t high = 0;

  bool fitsInto32() const { return low >= INT32_MIN && high <= INT32_MAX; }
};

/// A value whose elements are read.
struct ScoreTable {
  int capture = -1;
  std::string name;
  ValueType type;
  /// Of integers, where it is known.
  std::optional<IntegerSpan> span;
  bool isInput = false;
};

class ScoreBuilder {
public:
  /// The value that a name means; nothing after a mistake, which was reported.
  using FindTable = std::function<std::optional<ScoreTable>(const Reference &)>;

  /// The byte of the description that one of an expression is.
  using FindPlace = std::function<size_t(size_t)>;

  /// Begins with the similarity, whose factor is `scale`.
  ScoreBuilder(const ScoreExtents &extents, double scale);

  /// What names mean in the expressions that follow, and where these stand.
  void enter(Lookup names, FindTable tablesOfNames, FindPlace places) {
    lookup = std::move(names);
    findTable = std::move(tablesOfNames);
    findPlace = std::move(places);
  }

  // Each may be called again: "score" is then what the call before has made,
  // and a key is kept where all say so. False after a mistake, which `failure`
  // tells.
  bool addScore(const Expression &expression);
  bool addKeep(const Expression &expression);

  // What is built in (BuiltInScores.cpp), whose values have the shapes that it
  // asks for.

  /// Adds the element for a batch entry, head, query and key of a value that
  /// broadcasts to [batch, heads, queries, keys]; `entries` [entries]: which
  /// one of its first axis a batch entry has, in turn.
  void addBias(const ScoreTable &bias,
               const std::optional<ScoreTable> &entries);
  /// Divides scores; what others read is in front of it.
  void divide(double temperature);
  /// Keeps keys whose group of `group` rows is not after the query's, the last
  /// queries being beside the last keys: in front of all that is kept so far.
  void keepEarlier(int64_t group);
  /// Keeps keys by booleans [batch, keys], or of what broadcasts as a bias
  /// does.
  void keepValid(const ScoreTable &valid);
  void keepMasked(const ScoreTable &mask);

  /// Without a message, the mistake was reported.
  const TextError &failure() const { return error; }
  /// The captured value that the mistake is about, or -1.
  int failedCapture() const { return guilty; }

  const ScoreProgram &program() const { return result; }

private:
  using Node = Expression::Node;
  using Operator = Node::Operator;
  using Op = ScoreTerm::Op;
  using Type = ScoreTerm::Type;

  /// A constant, or a term.
  struct Operand {
    std::optional<Scalar> constant;
    int term = -1;
    Type type = Type::Number;
    /// Of integers.
    IntegerSpan span;
    /// A captured value of which nothing is known, and which the range comes
    /// from.
    int unknown = -1;

    bool isNumber() const {
      return constant ? constant->isNumber() : type != Type::Boolean;
    }
    bool isInteger() const {
      return constant ? constant->is(Scalar::Kind::Integer)
                      : type == Type::Integer;
    }
    bool isBoolean() const {
      return constant ? constant->is(Scalar::Kind::Boolean)
                      : type == Type::Boolean;
    }
    std::string str() const;
  };
  using Operands = std::vector<Operand>;
  using Result = std::optional<Operand>;

  std::nullopt_t fail(const Node &node, std::string message);
  std::optional<int> finish(const Expression &expression, Type type);

  // Expressions (ScoreBuilder.cpp).
  Result lower(const Node &node);
  Result lowerOperator(const Node &node);
  Result fold(const Node &node, const Operands &operands);
  Result apply(const Node &node, const Operands &operands);
  Result named(const Node &node);
  Operand index(Op op, int64_t size);
  Result tokenCount(const Node &node, int64_t count);
  Result element(const Node &node);
  Result readElement(const Node &node, const ScoreTable &table);
  bool checkIndex(const Node &node, const Operand &index, size_t axis,
                  const ScoreTable &table);
  Result logic(const Node &node);
  Result choose(const Node &node);

  // What is not constant (ScoreArithmetic.cpp).
  Result compare(const Node &node, const Operands &operands);
  Result extreme(const Node &node, const Operands &operands);
  Result arithmetic(const Node &node, const Operand &a, const Operand &b);
  Result quotient(const Node &node, const Operands &operands);
  Result division(const Node &node, const Operands &operands);
  Result negated(const Node &node, const Operand &a);
  Result floorQuotient(const Node &node, const Operand &a, int64_t by);
  Result floorRest(const Node &node, const Operand &a, int64_t by);
  Result power(const Node &node, const Operands &operands);
  Result raise(const Node &node, const Operand &base, int64_t exponent);
  Result product(const Node &node, const Operand &a, const Operand &b);
  Result sign(const Node &node, const Operand &operand);
  Result function(const Node &node, const Operand &operand);
  Result integers(const Node &node, Op op, const Operands &operands,
                  IntegerSpan span);
  Result numbers(const Node &node, Op op, const Operands &operands);

  // Terms.
  static Operand constantOf(Scalar value);
  Operand made(ScoreTerm term, IntegerSpan span = {}, int unknown = -1);
  int add(ScoreTerm term);
  void placeTerms(const Node &node);
  void placeBuiltIn();
  int integerTerm(int64_t value);
  int indexTerm(Op op) { return add({op, Type::Integer, {}}); }
  int broadcastElement(const ScoreTable &table, Type type, int entry);
  void keep(int term);
  std::optional<int> number(const Node &node, const Operand &operand);
  /// `ofAnySize`: one of 64 bits does.
  std::optional<int> integer(const Node &node, const Operand &operand,
                             bool ofAnySize = false);
  std::optional<int> boolean(const Node &node, const Operand &operand);
  bool fitsInto32(const Node &node, IntegerSpan span, int unknown);
  std::string adviceOn(int unknown, IntegerSpan span) const;
  static std::string rangeOf(IntegerSpan span);

  const ScoreExtents extents;
  Lookup lookup;
  FindTable findTable;
  FindPlace findPlace;
  ScoreProgram result;
  /// How many terms have their places.
  size_t placed = 0;
  /// Whether "score" is known: in a "keep" it is not.
  bool knowsScore = false;
  std::map<int, ScoreTable> tables;
  using Key =
      std::tuple<Op, Type, std::vector<int>, double, bool, int64_t, int>;
  std::map<Key, int> known;
  TextError error;
  int guilty = -1;
};

} // namespace hova::frontend

#endif // HOVA_FRONTEND_ELABORATE_SCOREBUILDER_H
