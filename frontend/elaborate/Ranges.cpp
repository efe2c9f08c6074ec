//===- Ranges.cpp - Parameters whose value is that of a run ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A parameter with a least and a largest value and no default, or one that is
// set to `1..512`, is a range: a run may have any of its values. It is the
// items of a run or the tokens of one, by the axis of the inputs that it stands
// at. An item may have two sequences of tokens, such as a sentence and what it
// is translated into. The program is made for the largest values. So nothing
// else may read it: what is computed of the largest would be wrong of all
// others.
//
//===----------------------------------------------------------------------===//

#include "frontend/elaborate/Elaborator.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace hova::frontend {

using reader::inQuotes;

std::string SizeRange::str() const {
  return std::to_string(least) + " to " + std::to_string(most);
}

std::string readsRange(const std::string &name) {
  return "the parameter " + inQuotes(name) +
         " is a range, which only the shapes of inputs may name: what depends "
         "on it would differ from run to run. largest(" +
         name + ") is the largest of its values, and --set " + name +
         "=VALUE fixes it";
}

/// `1..512`; nothing if `text` is something else.
static std::optional<SizeRange> parseRange(const std::string &text) {
  size_t dots = text.find("..");
  if (dots == std::string::npos) {
    return std::nullopt;
  }
  SizeRange range;
  auto parse = [&](size_t from, size_t to, int64_t &number) {
    const char *end = text.data() + to;
    auto [at, problem] = std::from_chars(text.data() + from, end, number);
    return problem == std::errc() && at == end;
  };
  bool isOne =
      parse(0, dots, range.least) && parse(dots + 2, text.size(), range.most);
  return isOne ? std::optional(range) : std::nullopt;
}

bool Elaborator::isRange(const ParameterOverride &given) {
  return parseRange(given.text).has_value();
}

/// Why sizes cannot be these; empty if they can.
static std::string problemWith(const SizeRange &range) {
  return range.least < 1 || range.most > INT32_MAX
             ? "a range is of sizes, 1 to 2147483647"
         : range.least > range.most ? "a range begins with its least value"
                                    : "";
}

std::optional<Scalar> Elaborator::largestOf(const ParameterSpec &parameter,
                                            const ParameterOverride *given) {
  SizeRange range;
  std::string prefix, problem;
  if (given) {
    range = *parseRange(given->text);
    prefix = given->origin + " " + reader::printable(given->name) + "=" +
             reader::printable(given->text) + ": ";
    problem = problemWith(range);
  } else {
    auto isSize = [](double bound) {
      return bound >= 1 && bound <= INT32_MAX && bound == std::floor(bound);
    };
    if (isSize(*parameter.minimum) && isSize(*parameter.maximum)) {
      range = {static_cast<int64_t>(*parameter.minimum),
               static_cast<int64_t>(*parameter.maximum)};
      problem = problemWith(range);
    } else {
      problem = "a parameter without a default is a range of sizes, whole "
                "numbers from 1 to 2147483647";
    }
  }
  if (problem.empty() && !parameter.values.empty()) {
    problem = "a parameter that has one of several values is no range";
  }
  if (!problem.empty()) {
    given ? diagnostics.errorElsewhere(prefix + problem)
          : error(*parameter.value.node, problem);
    return std::nullopt;
  }
  for (int64_t bound : {range.least, range.most}) {
    if (!checkParameter(parameter, Scalar::ofInteger(bound), prefix)) {
      return std::nullopt;
    }
  }
  // One value alone is no range.
  range.name = parameter.name;
  if (range.least < range.most) {
    program->ranges[parameter.name] = range;
  }
  return Scalar::ofInteger(range.most);
}

/// So many sizes of a range are tried, to see what an expression is of each.
static constexpr int64_t kMostTried = 4096;

std::optional<Scalar> Elaborator::valueWith(const Expression &expression,
                                            const std::string &range,
                                            int64_t size) {
  assumed = {range, Scalar::ofInteger(size)};
  TextError ignored;
  std::optional<Scalar> value =
      expression.evaluate(lookup(Environment()), ignored);
  assumed.reset();
  rangeRead.clear();
  return value;
}

std::string Elaborator::rangeNameOf(const Setting &dimension) {
  if (!dimension.expression) {
    return "";
  }
  // The name itself, or what is as many for the sizes of every run, such as
  // `if(pairs, 2*batch, batch)` where there are no pairs.
  for (const NameUse &use : dimension.expression->names()) {
    auto range = program->ranges.find(use.name);
    if (range == program->ranges.end()) {
      continue;
    }
    const auto &[least, most, name] = range->second;
    bool isSize = dimension.node->is(reader::Node::Kind::String) &&
                  dimension.node->text == use.name;
    if (!isSize && most - least < kMostTried) {
      int64_t size = least;
      while (size <= most && valueWith(*dimension.expression, use.name, size) ==
                                 Scalar::ofInteger(size)) {
        ++size;
      }
      isSize = size > most;
    }
    if (isSize) {
      return use.name;
    }
  }
  return "";
}

void Elaborator::addRangedAxes(const InputSpec &input, const ValueType &type) {
  for (size_t axis = 0; axis < input.shape.size(); ++axis) {
    const reader::Node &node = *input.shape[axis].node;
    std::string range = rangeNameOf(input.shape[axis]);
    if (range.empty()) {
      continue;
    }
    if (axis > 1) {
      error(node, "a range is the first axis of inputs, the items of a run, or "
                  "the second, the tokens of one");
      continue;
    }
    // Of tokens there may be two.
    size_t place = axis;
    bool isSecond = axis == 1 && !axisRanges[1].empty() &&
                    axisRanges[1] != range &&
                    (axisRanges[2].empty() || axisRanges[2] == range);
    place += isSecond ? 1 : 0;
    const std::string &known = axisRanges[place];
    if (!known.empty() && known != range) {
      error(node, "the inputs have " +
                      std::string(axis == 0 ? "two" : "three") +
                      " ranges as axis " + std::to_string(axis) + ", " +
                      (axis == 0 ? inQuotes(known) + " and "
                                 : inQuotes(axisRanges[1]) + ", " +
                                       inQuotes(axisRanges[2]) + " and ") +
                      inQuotes(range));
    }
    bool isOtherAxis = axis == 0
                           ? axisRanges[1] == range || axisRanges[2] == range
                           : axisRanges[0] == range;
    if (isOtherAxis) {
      error(node, "the range " + inQuotes(range) +
                      " is the items of a run at one axis and their tokens at "
                      "another");
    }
    axisRanges[place] = range;
  }
}

bool Elaborator::areItems(const Setting &dimension) {
  std::string range = rangeNameOf(dimension);
  return !range.empty() && range == axisRanges[0];
}

int64_t Elaborator::mostItems() const {
  return program->ranges.at(axisRanges[0]).most;
}

void Elaborator::checkRangeOfItems() {
  for (const InputSpec &input : spec.inputs) {
    auto found = std::find_if(
        program->inputs.begin(), program->inputs.end(),
        [&](const ProgramInput &other) { return other.name == input.name; });
    bool isThere = found != program->inputs.end();
    if (isThere && (input.shape.size() < 2 || !areItems(input.shape[0]))) {
      error(*input.node, "beside a range of items every input has them as its "
                         "first axis, and another one");
      return;
    }
  }
  program->sequences = {program->ranges.at(axisRanges[0]), SizeRange{1, 1}};
}

SizeRange Elaborator::sizesOf(const InputSpec &input, const ProgramInput &made,
                              size_t axis) {
  std::string name = rangeNameOf(input.shape[axis]);
  int64_t size = program->values[made.value].type.shape[axis];
  return name.empty() ? SizeRange{size, size} : program->ranges.at(name);
}

static bool areSame(const SizeRange &a, const SizeRange &b) {
  return a.name == b.name && a.least == b.least && a.most == b.most;
}

std::string Elaborator::addSequence(const InputSpec &input, ProgramInput &made,
                                    std::vector<SizeRange> &lengths) {
  const ValueType &type = program->values[made.value].type;
  if (type.shape.size() < 2) {
    return "beside a range every input is [items, tokens] or [items, tokens, "
           "width]";
  }
  SizeRange items = sizesOf(input, made, 0), length = sizesOf(input, made, 1);
  if (lengths.empty()) {
    program->sequences = SequenceSizes{items, length};
  }
  auto known =
      std::find_if(lengths.begin(), lengths.end(), [&](const SizeRange &other) {
        return areSame(other, length);
      });
  made.hasOtherTokens = known - lengths.begin() == 1;
  if (known == lengths.end()) {
    lengths.push_back(length);
  }
  if (type.shape.size() > 3 || lengths.size() > 2 ||
      !areSame(items, program->sequences->items)) {
    return "beside a range all inputs have the same items, as their first "
           "axis, tokens of one sequence or of two, as their second, and three "
           "axes at most";
  }
  // Numbers of two axes are a row of columns for each item.
  return type.shape.size() == 2 && type.dtype == DType::F32
             ? "numbers [items, columns] cannot be beside a range of tokens: a "
               "third axis, of 1, makes the columns tokens"
             : "";
}

void Elaborator::checkRanges() {
  if (program->ranges.empty() || diagnostics.hasErrors()) {
    return;
  }
  for (const auto &[name, range] : program->ranges) {
    if (std::find(axisRanges.begin(), axisRanges.end(), name) ==
        axisRanges.end()) {
      const ParameterSpec *parameter = spec.findParameter(name);
      diagnostics.error(parameter->nameRange,
                        "the parameter " + inQuotes(name) +
                            " is a range, and no input has it as an axis");
      return;
    }
  }
  if (axisRanges[1].empty()) {
    return checkRangeOfItems();
  }
  std::vector<SizeRange> lengths;
  for (const InputSpec &input : spec.inputs) {
    auto made = std::find_if(
        program->inputs.begin(), program->inputs.end(),
        [&](const ProgramInput &other) { return other.name == input.name; });
    std::string wrong =
        made == program->inputs.end() ? "" : addSequence(input, *made, lengths);
    if (!wrong.empty()) {
      error(*input.node, wrong);
      return;
    }
  }
  if (lengths.size() > 1) {
    program->sequences->otherLength = lengths[1];
  }
}

} // namespace hova::frontend
