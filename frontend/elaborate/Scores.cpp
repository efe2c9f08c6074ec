//===- Scores.cpp - What an attention says of its scores ------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Binds the names of "score" and "keep" to values of the program, which become
// operands of the attention.
//
//===----------------------------------------------------------------------===//

#include "frontend/elaborate/LayerContext.h"
#include "frontend/elaborate/ScoreBuilder.h"

#include <algorithm>

namespace hova::frontend {

using reader::Diagnostic;
using reader::inQuotes;

/// What an input of integers or what makes them says of their range.
std::optional<IntegerSpan> Elaborator::spanOf(ValueRef value) const {
  const ValueType &type = valueOf(value).type;
  if (type.below > 0) {
    return IntegerSpan{0, type.below - 1};
  }
  for (const ProgramInput &input : program->inputs) {
    if (input.value == value.number() && input.range) {
      return IntegerSpan{(*input.range)[0], (*input.range)[1] - 1};
    }
  }
  return std::nullopt;
}

/// The value that an expression of a score reads, as one that the attention
/// captures.
std::optional<ScoreTable>
LayerContext::findTable(const ScoreSpec &spec, const Reference &reference,
                        std::vector<ValueRef> &captured) {
  ValueUse use = {spec.node, reference};
  ValueRef value = elaborator.resolveOne(use, environment);
  if (!value) {
    return std::nullopt;
  }
  auto place = std::find(captured.begin(), captured.end(), value);
  ScoreTable table;
  table.capture = static_cast<int>(place - captured.begin());
  table.name = use.text();
  table.type = type(value);
  table.span = elaborator.spanOf(value);
  const std::vector<ProgramInput> &inputs = elaborator.program->inputs;
  table.isInput =
      std::any_of(inputs.begin(), inputs.end(), [&](const ProgramInput &input) {
        return input.value == value.number();
      });
  if (place == captured.end()) {
    captured.push_back(value);
  }
  return table;
}

std::optional<LayerScores>
LayerContext::readScores(const ScoreExtents &extents) {
  LayerScores scores;
  if (layer.scores.empty()) {
    return scores;
  }
  const ScoreSpec *reading = nullptr;
  ScoreBuilder builder(extents, elaborator.lookup(environment),
                       [&](const Reference &reference) {
                         return findTable(*reading, reference, scores.captured);
                       });
  for (const char *name : {"score", "keep"}) {
    auto given = layer.scores.find(name);
    if (given == layer.scores.end()) {
      continue;
    }
    const ScoreSpec &spec = given->second;
    reading = &spec;
    if (!elaborator.spendExpression(*spec.node)) {
      break;
    }
    bool isBuilt = given->first == "keep" ? builder.addKeep(spec.expression)
                                          : builder.addScore(spec.expression);
    failed |= !isBuilt;
    if (isBuilt || builder.failure().message.empty()) {
      continue;
    }
    Diagnostic &error = elaborator.errorInside(*spec.node, builder.failure());
    if (builder.failedCapture() >= 0) {
      auto guilty = static_cast<size_t>(builder.failedCapture());
      elaborator.noteValue(error, scores.captured[guilty]);
    }
  }
  auto terms = static_cast<int64_t>(builder.program().terms.size());
  failed |= !elaborator.spend(unitsOfTerm * terms, *layer.node);
  if (failed) {
    return std::nullopt;
  }
  scores.program = std::make_shared<ScoreProgram>(builder.program());
  return scores;
}

void LayerContext::attachScores(const LayerScores &scores) {
  if (failed || !scores.program) {
    return;
  }
  Program &program = *elaborator.program;
  program.operations.back().scores = static_cast<int>(program.scores.size());
  program.scores.push_back(scores.program);
}

} // namespace hova::frontend
