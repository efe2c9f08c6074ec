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
  const ConstantTable *table = program->findConstant(value.number());
  if (table && table->dtype == DType::I32) {
    return IntegerSpan{static_cast<int64_t>(table->low),
                       static_cast<int64_t>(table->high)};
  }
  for (const ProgramInput &input : program->inputs) {
    if (input.value == value.number() && input.range) {
      return IntegerSpan{(*input.range)[0], (*input.range)[1] - 1};
    }
  }
  return std::nullopt;
}

/// A value that a score reads, as one that the attention captures.
ScoreTable LayerContext::capture(ValueRef value, std::string name,
                                 std::vector<ValueRef> &captured) {
  auto place = std::find(captured.begin(), captured.end(), value);
  ScoreTable table;
  table.capture = static_cast<int>(place - captured.begin());
  table.name = std::move(name);
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

/// The expressions of a kind are a builder's: so are their mistakes.
bool LayerContext::addKindScores(const KindScores &kind, ScoreBuilder &builder,
                                 std::vector<ValueRef> &captured) {
  builder.enter(
      [&](std::string_view name) {
        auto found = kind.numbers.find(std::string(name));
        return found == kind.numbers.end() ? nullptr : &found->second;
      },
      [&](const Reference &reference) -> std::optional<ScoreTable> {
        auto found = kind.values.find(reference.base);
        if (found == kind.values.end() || !reference.accessors.empty()) {
          builderError("has a kind whose scores read " +
                       inQuotes(reference.base) + ", which is no value of it");
          return std::nullopt;
        }
        return capture(found->second, reference.base, captured);
      },
      [&](size_t) { return layer.node->range.begin; });
  for (const auto &[name, text] :
       {std::pair("score", &kind.score), std::pair("keep", &kind.keep)}) {
    if (text->empty()) {
      continue;
    }
    TextError error;
    auto expression = Expression::parseScore(*text, error);
    bool isBuilt = false;
    if (expression) {
      isBuilt = text == &kind.keep ? builder.addKeep(*expression)
                                   : builder.addScore(*expression);
      error = builder.failure();
    }
    if (isBuilt) {
      continue;
    }
    if (!error.message.empty()) {
      builderError(std::string("has a kind whose ") + inQuotes(name) + ", '" +
                   reader::escaped(*text) + "', is wrong at column " +
                   std::to_string(error.begin + 1) + ": " + error.message);
    }
    return false;
  }
  return true;
}

/// The expressions of the description.
bool LayerContext::addLayerScores(ScoreBuilder &builder,
                                  std::vector<ValueRef> &captured) {
  const ScoreSpec *reading = nullptr;
  builder.enter(
      elaborator.lookup(environment),
      [&](const Reference &reference) -> std::optional<ScoreTable> {
        ValueUse use = {reading->node, reference};
        ValueRef value = elaborator.resolveOne(use, environment);
        return value ? std::optional(capture(value, use.text(), captured))
                     : std::nullopt;
      },
      [&](size_t byte) {
        return elaborator.program->source->offsetInString(reading->node->range,
                                                          byte);
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
      elaborator.noteValue(error, captured[guilty]);
    }
  }
  return !failed;
}

/// The captured values that a term depends on. Terms use earlier ones.
static std::vector<ValueRef> valuesOf(const ScoreProgram &program, int whole,
                                      const std::vector<ValueRef> &captured) {
  std::vector<bool> isUsed(program.terms.size());
  isUsed[static_cast<size_t>(whole)] = true;
  std::vector<ValueRef> values;
  for (size_t i = program.terms.size(); i-- > 0;) {
    const ScoreTerm &term = program.terms[i];
    for (int operand : term.operands) {
      isUsed[static_cast<size_t>(operand)] =
          isUsed[static_cast<size_t>(operand)] || isUsed[i];
    }
    if (isUsed[i] && term.capture >= 0) {
      values.push_back(captured[static_cast<size_t>(term.capture)]);
    }
  }
  return values;
}

std::optional<LayerScores>
LayerContext::readScores(ScoreExtents extents, const KindScores &kind,
                         const BuiltInScores &builtIn) {
  LayerScores scores;
  if (const auto &sequences = elaborator.program->sequences) {
    // Which of two ranges its queries or keys are does not matter: one of them
    // is named, or the one that is a range.
    bool isOther = sequences->length.name.empty() && sequences->otherLength;
    extents.range =
        isOther ? sequences->otherLength->name : sequences->length.name;
  }
  auto table = [&](ValueRef value) {
    return value ? std::optional(capture(value, "", scores.captured))
                 : std::nullopt;
  };
  std::optional<ScoreTable> bias = table(builtIn.bias),
                            entries = table(builtIn.biasEntries),
                            mask = table(builtIn.mask),
                            valid = table(builtIn.valid);
  ScoreBuilder builder(extents, builtIn.scale);
  size_t before = builder.program().terms.size();
  if (!addKindScores(kind, builder, scores.captured) ||
      !addLayerScores(builder, scores.captured)) {
    return std::nullopt;
  }
  // What is built in is of a bounded size, which the layer's turn pays for.
  auto terms = static_cast<int64_t>(builder.program().terms.size() - before);
  failed |= !elaborator.spend(unitsOfTerm * terms, *layer.node);
  if (failed) {
    return std::nullopt;
  }
  if (bias) {
    builder.addBias(*bias, entries);
  }
  builder.divide(builtIn.temperature);
  if (builtIn.causal > 0) {
    builder.keepEarlier(builtIn.causal);
  }
  if (valid) {
    builder.keepValid(*valid);
  }
  if (mask) {
    builder.keepMasked(*mask);
  }
  scores.program = std::make_shared<ScoreProgram>(builder.program());
  scores.ofScores =
      valuesOf(*scores.program, scores.program->carried, scores.captured);
  return scores;
}

/// Layers beside each other that say the same have one program.
void LayerContext::attachScores(const LayerScores &scores) {
  if (failed) {
    return;
  }
  Program &program = *elaborator.program;
  if (program.scores.empty() || !(*program.scores.back() == *scores.program)) {
    program.scores.push_back(scores.program);
  }
  program.operations.back().scores =
      static_cast<int>(program.scores.size()) - 1;
}

} // namespace hova::frontend
