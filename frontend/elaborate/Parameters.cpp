//===- Parameters.cpp - Parameters, inputs and outputs of a program -------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "frontend/elaborate/Elaborator.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>

namespace hova::frontend {

using reader::Diagnostic;
using reader::inQuotes;

std::optional<ParameterOverride> parseOverride(std::string_view text) {
  size_t equals = text.find('=');
  if (equals == std::string_view::npos) {
    return std::nullopt;
  }
  return ParameterOverride{std::string(text.substr(0, equals)),
                           std::string(text.substr(equals + 1)), "--set"};
}

/// A list as it is written in a description; nothing if it is none.
static std::optional<Scalar> parseList(const std::string &text) {
  reader::Diagnostics quiet(std::make_shared<reader::Source>("", text));
  std::unique_ptr<reader::Document> document = reader::parseJson(quiet);
  if (!document || quiet.hasErrors() ||
      document->root()->elements.size() > SpecLimits::values) {
    return std::nullopt;
  }
  std::vector<Scalar> elements;
  for (const reader::Node *node : document->root()->elements) {
    std::optional<Scalar> value = plainValue(*node);
    if (!value) {
      return std::nullopt;
    }
    elements.push_back(std::move(*value));
  }
  return Scalar::ofList(std::move(elements));
}

/// A value as it is written on a command line; text if it is nothing else.
static Scalar parseScalar(const std::string &text) {
  if (text == "true" || text == "false") {
    return Scalar::ofBoolean(text == "true");
  }
  if (!text.empty() && text[0] == '[') {
    return parseList(text).value_or(Scalar::ofText(text));
  }
  const char *begin = text.c_str();
  char *end = nullptr;
  errno = 0;
  long long integer = std::strtoll(begin, &end, 10);
  bool startsAsNumber = !text.empty() && (text[0] == '-' || text[0] == '.' ||
                                          (text[0] >= '0' && text[0] <= '9'));
  if (startsAsNumber && *end == '\0' && errno == 0) {
    return Scalar::ofInteger(integer);
  }
  // Hexadecimal spellings and the like are not numbers of a description.
  bool decimal = text.find_first_not_of("0123456789+-.eE") == std::string::npos;
  double real = std::strtod(begin, &end);
  if (startsAsNumber && decimal && *end == '\0' && std::isfinite(real)) {
    return Scalar::ofReal(real);
  }
  return Scalar::ofText(text);
}

bool Elaborator::checkParameter(const ParameterSpec &parameter,
                                const Scalar &value,
                                const std::string &prefix) {
  std::string problem = parameter.problemWith(value);
  if (problem.empty()) {
    return true;
  }
  Diagnostic &wrong = prefix.empty()
                          ? error(*parameter.value.node, problem)
                          : diagnostics.errorElsewhere(prefix + problem);
  std::vector<std::string> legal;
  for (const Scalar &other : parameter.values) {
    legal.push_back(other.str());
  }
  // All are listed already.
  diagnostics.suggestNearest(wrong, value.str(), legal);
  return false;
}

std::optional<Scalar> Elaborator::overridden(const ParameterSpec &parameter,
                                             const ParameterOverride &value) {
  Scalar given = parseScalar(value.text);
  std::string prefix = value.origin + " " + reader::printable(value.name) +
                       "=" + reader::printable(value.text) + ": ";
  if (!checkParameter(parameter, given, prefix)) {
    return std::nullopt;
  }
  return given;
}

/// Whether the parameters that `setting` names have values: one without has
/// been complained about, and what follows from it stays quiet.
bool Elaborator::dependsOnKnown(const Setting &setting) const {
  if (!setting.expression) {
    return true;
  }
  for (const NameUse &use : setting.expression->names()) {
    if (!program->parameters.count(use.name)) {
      return false;
    }
  }
  return true;
}

void Elaborator::fillParameters(
    const std::vector<ParameterOverride> &overrides) {
  std::map<std::string, const ParameterOverride *> given;
  std::vector<std::string> names;
  for (const ParameterSpec &parameter : spec.parameters) {
    names.push_back(parameter.name);
  }
  for (const ParameterOverride &value : overrides) {
    if (!spec.findParameter(value.name)) {
      Diagnostic &unknown = diagnostics.errorElsewhere(
          value.origin + ": unknown parameter " + inQuotes(value.name));
      diagnostics.suggestFrom(unknown, value.name, names);
      continue;
    }
    const ParameterOverride *&known = given[value.name];
    if (known && known->origin != value.origin &&
        !(parseScalar(known->text) == parseScalar(value.text))) {
      diagnostics.errorElsewhere(value.origin + " needs " + value.name + "=" +
                                 value.text + ", but " + known->origin +
                                 " says " + known->text);
    }
    known = &value;
  }
  Environment environment;
  for (const ParameterSpec &parameter : spec.parameters) {
    std::optional<Scalar> value;
    auto overriding = given.find(parameter.name);
    const ParameterOverride *override =
        overriding == given.end() ? nullptr : overriding->second;
    if (override ? isRange(*override) : parameter.isRange) {
      value = largestOf(parameter, override);
    } else if (overriding != given.end()) {
      value = overridden(parameter, *overriding->second);
    } else if (dependsOnKnown(parameter.value)) {
      value = evaluate(parameter.value, environment);
      if (value && !checkParameter(parameter, *value, "")) {
        value.reset();
      }
    }
    if (value) {
      program->parameters[parameter.name] = *value;
    }
  }
}

static TensorFloat tensorFloat(const std::string &dtype) {
  return dtype == "bf16"  ? TensorFloat::BF16
         : dtype == "f16" ? TensorFloat::F16
                          : TensorFloat::F32;
}

void Elaborator::addInput(const InputSpec &input, Environment &environment) {
  auto entity = std::make_shared<Entity>();
  entity->value = poison;
  (*environment.scope)[input.name] = entity;
  if (input.broken) {
    return;
  }
  if (input.condition) {
    std::optional<bool> holds = boolean(*input.condition, environment);
    if (!holds.value_or(false)) {
      entity->value = holds ? absent : poison;
      return;
    }
  }
  ValueType type;
  type.dtype = input.dtype == "i32"    ? DType::I32
               : input.dtype == "i64"  ? DType::I64
               : input.dtype == "bool" ? DType::Bool
                                       : DType::F32;
  for (const Setting &dimension : input.shape) {
    std::string range = rangeNameOf(dimension);
    std::optional<int64_t> size = range.empty()
                                      ? integer(dimension, environment)
                                      : program->ranges.at(range).most;
    if (!size) {
      return;
    }
    if (*size < 1 || *size > INT32_MAX) {
      Diagnostic &bad =
          error(*dimension.node, "a dimension must be 1 to 2147483647, got " +
                                     std::to_string(*size));
      if (*size < 0) {
        bad.notes.push_back({dimensionHint, std::nullopt});
      }
      return;
    }
    type.shape.push_back(*size);
  }
  if (!checkSize(type.shape, *input.node)) {
    return;
  }
  addRangedAxes(input, type);
  bool isUntyped = type.dtype == DType::F32 && !input.isTyped;
  ProgramInput added;
  added.name = input.name;
  added.stored = tensorFloat(isUntyped ? spec.tensors : input.dtype);
  if (input.range) {
    std::optional<int64_t> low = integer(input.range->first, environment);
    std::optional<int64_t> high = integer(input.range->second, environment);
    if (!low || !high) {
      return;
    }
    int64_t largest = type.dtype == DType::I32 ? INT32_MAX : INT64_MAX - 1;
    int64_t smallest = type.dtype == DType::I32 ? INT32_MIN : INT64_MIN;
    if (*low >= *high || *low < smallest || *high - 1 > largest) {
      error(*input.range->first.node, "the range [" + std::to_string(*low) +
                                          ", " + std::to_string(*high) +
                                          ") has no value of this type or "
                                          "leaves it");
      return;
    }
    added.range = {*low, *high};
  }
  entity->value = addValue(std::move(type), input.name, input.nameRange);
  added.value = entity->value.number();
  program->inputs.push_back(std::move(added));
}

/// A program copies numbers that it hands through, but no ids and no masks.
void Elaborator::checkOutput(const ValueUse &use, ValueRef value) {
  const ValueType &type = valueOf(value).type;
  bool isInput = std::any_of(
      program->inputs.begin(), program->inputs.end(),
      [&](const ProgramInput &input) { return input.value == value.number(); });
  if (isInput && (type.dtype != DType::F32 || type.shape.empty())) {
    error(*use.node, "the input " + inQuotes(use.node->text) + " is " +
                         type.str() +
                         ": only f32 inputs with an axis can be outputs");
  }
}

/// Numbers alone have another type beside a program.
void Elaborator::checkOutputType(size_t output, ValueRef value) {
  const ValueType &type = valueOf(value).type;
  const std::string &dtype = spec.outputDtypes[output];
  if (!dtype.empty() && type.dtype != DType::F32) {
    error(*spec.outputs[output].second.node,
          "this value is " + type.str() +
              ": only numbers of f32 can be an output of " + dtype);
  }
}

void Elaborator::addOutputs(const Environment &environment) {
  size_t leftOut = 0;
  for (size_t i = 0; i < spec.outputs.size(); ++i) {
    const auto &[name, use] = spec.outputs[i];
    const std::optional<Setting> &condition = spec.outputConditions[i];
    std::optional<bool> holds =
        condition ? boolean(*condition, environment) : true;
    if (!holds.value_or(false)) {
      leftOut += holds.has_value();
      continue;
    }
    ValueRef value = exhausted ? poison : resolveOne(use, environment);
    if (value) {
      checkOutput(use, value);
      checkOutputType(i, value);
      bool isUntyped = valueOf(value).type.dtype == DType::F32 &&
                       spec.outputDtypes[i].empty();
      const std::string &dtype =
          isUntyped ? spec.tensors : spec.outputDtypes[i];
      program->outputs.push_back({name, value.number(), tensorFloat(dtype)});
      outputUses.push_back(use.node);
    }
  }
  if (leftOut > 0 && leftOut == spec.outputs.size()) {
    diagnostics.error(spec.outputRanges[0],
                      "a model needs an output, and with these parameters "
                      "every \"if\" is false");
  }
}

/// Whether an operand of `operation` that its further result `value` depends on
/// is one of `values`.
static bool dependsOn(const Program &program, const ProgramOperation &operation,
                      int value, const std::set<int> &values) {
  auto some = program.operandsOfResult.find(value);
  return std::any_of(operation.operands.begin(), operation.operands.end(),
                     [&](const auto &operand) {
                       bool isRead = some == program.operandsOfResult.end() ||
                                     some->second.count(operand.second) > 0;
                       return isRead && values.count(operand.second) > 0;
                     });
}

/// What weights alone make is the same in every run: no program computes it.
void Elaborator::checkConstantOutputs() {
  std::set<int> computed;
  for (const ProgramInput &input : program->inputs) {
    computed.insert(input.value);
  }
  for (const ProgramOperation &operation : program->operations) {
    bool isComputed = std::any_of(
        operation.operands.begin(), operation.operands.end(),
        [&](const auto &operand) { return computed.count(operand.second); });
    if (!isComputed) {
      continue;
    }
    computed.insert(operation.result);
    for (const auto &[name, value] : program->furtherResultsOf(operation)) {
      if (dependsOn(*program, operation, value, computed)) {
        computed.insert(value);
      }
    }
  }
  for (size_t i = 0; i < program->outputs.size(); ++i) {
    const ProgramOutput &output = program->outputs[i];
    if (!computed.count(output.value)) {
      error(*outputUses[i],
            "the output " + inQuotes(output.name) +
                " depends on no input: it is made of weights alone, and is the "
                "same in every run");
    }
  }
}

/// The operands of `operation` that one of the results in `live` depends on.
static void addOperands(const Program &program,
                        const ProgramOperation &operation,
                        std::set<int> &live) {
  bool readsAll = live.count(operation.result) > 0;
  std::set<int> read;
  for (const auto &[name, value] : program.furtherResultsOf(operation)) {
    auto some = program.operandsOfResult.find(value);
    if (live.count(value) && some != program.operandsOfResult.end()) {
      read.insert(some->second.begin(), some->second.end());
    } else {
      readsAll |= live.count(value) > 0;
    }
  }
  for (const auto &[name, value] : operation.operands) {
    if (readsAll || read.count(value)) {
      live.insert(value);
    }
  }
}

/// The values that an output depends on; with `wholeOperations` also those that
/// its operations read for another result.
static std::set<int> liveValues(const Program &program, bool wholeOperations) {
  std::set<int> live;
  for (const ProgramOutput &output : program.outputs) {
    live.insert(output.value);
  }
  for (size_t i = program.operations.size(); i-- > 0;) {
    const ProgramOperation &operation = program.operations[i];
    for (const auto &[name, value] : program.furtherResultsOf(operation)) {
      if (wholeOperations && live.count(value)) {
        live.insert(operation.result);
      }
    }
    addOperands(program, operation, live);
  }
  return live;
}

/// Weights of a layer that nothing reads are a mistake. Those that only another
/// result of an operation needs, as the values of an attention whose scores
/// alone are read, cannot be left out of a description.
void Elaborator::checkUnusedWeights() {
  std::set<int> read = liveValues(*program, /*wholeOperations=*/true);
  std::set<int> live = liveValues(*program, /*wholeOperations=*/false);
  std::set<size_t> layers;
  for (const ProgramOperation &operation : program->operations) {
    if (read.count(operation.result)) {
      layers.insert(operation.layer);
    }
  }
  std::map<size_t, std::string> idle;
  for (const ProgramWeight &weight : program->weights) {
    const ProgramLayer &layer = program->layers[weight.layer];
    if (!read.count(weight.value) && !layers.count(weight.layer)) {
      diagnostics.error(layer.range, "the weights of " + inQuotes(layer.path) +
                                         " are not used: no output depends "
                                         "on this layer");
    } else if (!live.count(weight.value)) {
      std::string &names = idle[weight.layer];
      names += (names.empty() ? "" : ", ") + inQuotes(weight.name);
    }
  }
  // Of a layer that is repeated the first one speaks for all.
  std::set<size_t> warned;
  for (const auto &[number, names] : idle) {
    const ProgramLayer &layer = program->layers[number];
    if (warned.insert(layer.range.begin).second) {
      diagnostics.warning(layer.range,
                          "some weights of " + inQuotes(layer.path) +
                              " are not used: no output depends on " + names,
                          "");
    }
  }
}

} // namespace hova::frontend
