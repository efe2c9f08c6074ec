//===- ScoreProgram.h - What an attention says of its scores ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// What an attention computes for one query and one key, as a list of terms,
// each of which uses earlier ones: its factor, biases and masks as well as
// "score" and "keep" of the description. Names are gone: parameters are
// constants and are folded, equal terms are made once, and values are the
// operands "captured" of the operation. Every index is inside of its axis, and
// every integer fits into 32 bits (but for those of an i64 that are compared or
// bounded), for all that batch, head, query and key can be.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_FRONTEND_ELABORATE_SCOREPROGRAM_H
#define HOVA_FRONTEND_ELABORATE_SCOREPROGRAM_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hova::frontend {

/// How many there are of what an attention has.
struct ScoreExtents {
  int64_t batches = 1; ///< entries of the operation, windows among them
  int64_t windows = 1; ///< of one image
  int64_t heads = 1;
  int64_t queries = 1;
  int64_t keys = 1;
  /// The range that queries and keys are, of which these are the most; empty
  /// where they are fixed.
  std::string range = {};
};

struct ScoreTerm {
  enum class Type { Number, Integer, Boolean };
  enum class Op {
    Constant, ///< `real`, or `integer`, which is 0 or 1 of a boolean
    Similarity,
    // Indices of the operation; in windows, `Batch` counts windows too.
    Batch,
    Head,
    Query,
    Key,
    Read, ///< of captured value `capture`, at the operands
    // Numbers or integers, as the term is.
    Add,
    Subtract,
    Multiply,
    Negate,
    Absolute,
    Minimum,
    Maximum,
    // Integers; the second operand is a constant above 0.
    FloorDivide,
    Modulo,
    Remainder, ///< with the sign of the first operand
    // Numbers.
    ToNumber, ///< of an integer
    Divide,
    Exponential,
    Logarithm,
    Log2,
    Tangent,
    Sigmoid,
    SquareRoot,
    Floor,
    Ceiling,
    // Booleans, of two operands of one type.
    Equal,
    NotEqual,
    Less,
    LessEqual,
    And,
    Or,
    Not,
    Select ///< the second operand where the first holds, else the third
  };

  Op op = Op::Constant;
  Type type = Type::Number;
  std::vector<int> operands;
  double real = 0;
  int64_t integer = 0;
  int capture = -1;
  /// low <= x < high, where it is known of an integer that is read.
  std::optional<std::array<int64_t, 2>> range = {};
  /// The byte of the description where the expression begins that first needed
  /// the term, or `ofLayer` of what is built in; no part of what it computes.
  size_t place = 0;
  static constexpr size_t ofLayer = SIZE_MAX;

  bool operator==(const ScoreTerm &other) const {
    return op == other.op && type == other.type && operands == other.operands &&
           real == other.real && integer == other.integer &&
           capture == other.capture && range == other.range &&
           place == other.place;
  }
};

struct ScoreProgram {
  std::vector<ScoreTerm> terms;
  /// A number: what a softmax takes, and the same in front of a temperature,
  /// which others may read.
  int score = -1, carried = -1;
  /// A boolean; -1: every key is kept.
  int keep = -1;

  bool operator==(const ScoreProgram &other) const {
    return terms == other.terms && score == other.score &&
           carried == other.carried && keep == other.keep;
  }
};

} // namespace hova::frontend

#endif // HOVA_FRONTEND_ELABORATE_SCOREPROGRAM_H
