//===- BuiltInScores.cpp - Factors, biases and masks of an attention ------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Terms of what a layer says without an expression. They are of the same
// program as those of "score" and "keep":
//
//   score   ((similarity * scale, or "score" of it) + bias) / temperature
//   keep    earlier and "keep" and valid and masked
//
//===----------------------------------------------------------------------===//

#include "frontend/elaborate/ScoreBuilder.h"

namespace hova::frontend {

ScoreBuilder::ScoreBuilder(const ScoreExtents &extents, double scale)
    : extents(extents) {
  result.score = add({Op::Similarity, Type::Number, {}});
  if (scale != 1) {
    int factor = add({Op::Constant, Type::Number, {}, scale});
    result.score = add({Op::Multiply, Type::Number, {result.score, factor}});
  }
  result.carried = result.score;
  placeBuiltIn();
}

void ScoreBuilder::placeBuiltIn() {
  for (; placed < result.terms.size(); ++placed) {
    result.terms[placed].place = ScoreTerm::ofLayer;
  }
}

int ScoreBuilder::integerTerm(int64_t value) {
  return add({Op::Constant, Type::Integer, {}, 0, value});
}

/// An axis of one element has its first; the last axis is whole.
int ScoreBuilder::broadcastElement(const ScoreTable &table, Type type,
                                   int entry) {
  const Op ops[] = {Op::Batch, Op::Head, Op::Query, Op::Key};
  const Shape &shape = table.type.shape;
  ScoreTerm read = {Op::Read, type, {}};
  read.capture = table.capture;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    bool isShared = shape[axis] == 1 && axis + 1 < shape.size();
    read.operands.push_back(isShared                  ? integerTerm(0)
                            : axis == 0 && entry >= 0 ? entry
                                                      : indexTerm(ops[axis]));
  }
  return add(std::move(read));
}

void ScoreBuilder::addBias(const ScoreTable &bias,
                           const std::optional<ScoreTable> &entries) {
  int entry = -1;
  if (entries) {
    int turn =
        add({Op::Remainder,
             Type::Integer,
             {indexTerm(Op::Batch), integerTerm(entries->type.shape.front())}});
    ScoreTerm read = {Op::Read, Type::Integer, {turn}};
    read.capture = entries->capture;
    read.range = {0, bias.type.shape.front()};
    entry = add(std::move(read));
  }
  int element = broadcastElement(bias, Type::Number, entry);
  result.score = add({Op::Add, Type::Number, {result.score, element}});
  result.carried = result.score;
  placeBuiltIn();
}

void ScoreBuilder::divide(double temperature) {
  result.carried = result.score;
  if (temperature != 1) {
    int divisor = add({Op::Constant, Type::Number, {}, temperature});
    result.score = add({Op::Divide, Type::Number, {result.score, divisor}});
  }
  placeBuiltIn();
}

void ScoreBuilder::keepEarlier(int64_t group) {
  int position = indexTerm(Op::Query), key = indexTerm(Op::Key);
  int64_t shift = extents.keys - extents.queries;
  if (shift != 0) {
    position = add({Op::Add, Type::Integer, {position, integerTerm(shift)}});
  }
  int isEarlier;
  if (group == 1) {
    isEarlier = add({Op::LessEqual, Type::Boolean, {key, position}});
  } else {
    // The first key of the next group.
    int size = integerTerm(group);
    int number = add({Op::FloorDivide, Type::Integer, {position, size}});
    int next = add({Op::Add, Type::Integer, {number, integerTerm(1)}});
    int limit = add({Op::Multiply, Type::Integer, {next, size}});
    isEarlier = add({Op::Less, Type::Boolean, {key, limit}});
  }
  result.keep = result.keep < 0
                    ? isEarlier
                    : add({Op::And, Type::Boolean, {isEarlier, result.keep}});
  placeBuiltIn();
}

void ScoreBuilder::keep(int term) {
  result.keep = result.keep < 0
                    ? term
                    : add({Op::And, Type::Boolean, {result.keep, term}});
  placeBuiltIn();
}

void ScoreBuilder::keepValid(const ScoreTable &valid) {
  ScoreTerm read = {
      Op::Read, Type::Boolean, {indexTerm(Op::Batch), indexTerm(Op::Key)}};
  read.capture = valid.capture;
  keep(add(std::move(read)));
}

void ScoreBuilder::keepMasked(const ScoreTable &mask) {
  keep(broadcastElement(mask, Type::Boolean, -1));
}

} // namespace hova::frontend
