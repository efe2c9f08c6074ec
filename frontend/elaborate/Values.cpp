//===- Values.cpp - Values, weights and settings of a program -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "frontend/elaborate/Elaborator.h"

namespace hova::frontend {

using reader::Diagnostic;
using reader::inQuotes;

namespace {

/// Elements of one value: 256 GiB of f32, beyond any host.
constexpr int64_t maxElements = int64_t(1) << 36;
constexpr size_t maxRank = 8;

} // namespace

const char *name(DType dtype) {
  switch (dtype) {
  case DType::F32:
    return "f32";
  case DType::I32:
    return "i32";
  case DType::I64:
    return "i64";
  case DType::Bool:
    return "bool";
  }
  return "f32";
}

std::string str(const Shape &shape) {
  std::string text = "[";
  for (int64_t dimension : shape) {
    text += (text.size() > 1 ? ", " : "") + std::to_string(dimension);
  }
  return text + "]";
}

std::string ValueType::str() const {
  return std::string(name(dtype)) + " " + frontend::str(shape);
}

std::string Initializer::str() const {
  std::string text = "(" + Scalar::ofReal(value).str() + ")";
  switch (kind) {
  case Kind::Glorot:
    return "glorot";
  case Kind::Normal:
    return "normal" + text;
  case Kind::Uniform:
    return "uniform" + text;
  case Kind::Constant:
    return "constant" + text;
  case Kind::Gain:
    return "gain";
  case Kind::Bias:
    return "bias";
  case Kind::Orthogonal:
    return value == 0 ? "orthogonal" : "orthogonal" + text;
  case Kind::Sinusoid:
    return "sinusoid(" + Scalar::ofReal(value).str() + ", " +
           Scalar::ofReal(base).str() + ")";
  case Kind::Blocks:
    return "blocks";
  }
  return "glorot";
}

int ProgramOperation::operand(std::string_view wanted) const {
  for (const auto &[role, value] : operands) {
    if (role == wanted) {
      return value;
    }
  }
  return -1;
}

const std::vector<std::pair<std::string, int>> &
Program::furtherResultsOf(const ProgramOperation &operation) const {
  static const std::vector<std::pair<std::string, int>> none;
  auto found = furtherResults.find(operation.result);
  return found == furtherResults.end() ? none : found->second;
}

const ProgramWeight *Program::findWeight(std::string_view wanted) const {
  auto found = weightIndex.find(wanted);
  return found == weightIndex.end() ? nullptr : &weights[found->second];
}

bool Elaborator::spend(int64_t units, const reader::Node &node) {
  unitsLeft -= exhausted ? 0 : units;
  if (unitsLeft < 0 && !exhausted) {
    exhausted = true;
    error(node, "the model becomes too large here: layers, what they read and "
                "the values they make are counted after all repetitions, up "
                "to " +
                    std::to_string(mostUnits) + " units");
  }
  return !exhausted;
}

Diagnostic &Elaborator::error(const reader::Node &node,
                              const std::string &message,
                              const std::string &subject) {
  return diagnostics.error(node.range, message, node.pointer(), subject);
}

Diagnostic &Elaborator::errorInside(const reader::Node &node,
                                    const TextError &inner) {
  const reader::Source &source = diagnostics.source();
  return diagnostics.error({source.offsetInString(node.range, inner.begin),
                            source.offsetInString(node.range, inner.end)},
                           inner.message, node.pointer());
}

void Elaborator::noteValue(Diagnostic &diagnostic, ValueRef value) {
  if (!value) {
    return;
  }
  const ProgramValue &known = valueOf(value);
  diagnostic.notes.push_back(
      {inQuotes(known.path) + " is " + known.type.str(), known.range});
}

/// `length` of `length` and of `largest(length)`.
static std::string_view parameterOf(std::string_view name) {
  constexpr std::string_view largest = "largest(";
  bool isLargest = name.substr(0, largest.size()) == largest;
  return isLargest
             ? name.substr(largest.size(), name.size() - largest.size() - 1)
             : name;
}

Lookup Elaborator::lookup(const Environment &environment) const {
  return [this, &environment](std::string_view name) -> const Scalar * {
    if (environment.index && name == "index") {
      return &*environment.index;
    }
    if (environment.arguments) {
      auto local = environment.arguments->find(name);
      if (local != environment.arguments->end()) {
        return &local->second;
      }
    }
    if (assumed && assumed->first == name) {
      return &assumed->second;
    }
    std::string_view called = parameterOf(name);
    auto parameter = program->parameters.find(std::string(called));
    if (called == name && program->ranges.count(name)) {
      rangeRead = name;
    }
    return parameter == program->parameters.end() ? nullptr
                                                  : &parameter->second;
  };
}

std::optional<Scalar> Elaborator::evaluate(const Setting &setting,
                                           const Environment &environment) {
  if (setting.literal) {
    return setting.literal;
  }
  if (!setting.expression) {
    return std::nullopt;
  }
  if (!spendExpression(*setting.node)) {
    return std::nullopt;
  }
  TextError failure;
  std::optional<Scalar> value =
      setting.expression->evaluate(lookup(environment), failure);
  if (!value) {
    errorInside(*setting.node, failure);
  }
  if (!rangeRead.empty()) {
    error(*setting.node, readsRange(rangeRead));
    rangeRead.clear();
    return std::nullopt;
  }
  return value;
}

std::optional<int64_t> Elaborator::integer(const Setting &setting,
                                           const Environment &environment) {
  std::optional<Scalar> value = evaluate(setting, environment);
  if (value && !value->is(Scalar::Kind::Integer)) {
    error(*setting.node, std::string("expected an integer, got ") +
                             describe(value->kind) + " (" + value->str() + ")");
    return std::nullopt;
  }
  return value ? std::optional<int64_t>(value->integer) : std::nullopt;
}

std::optional<double> Elaborator::number(const Setting &setting,
                                         const Environment &environment) {
  std::optional<Scalar> value = evaluate(setting, environment);
  if (value && !value->isNumber()) {
    error(*setting.node, std::string("expected a number, got ") +
                             describe(value->kind) + " (" + value->str() + ")");
    return std::nullopt;
  }
  std::string problem = value ? problemInF32(value->real) : "";
  if (!problem.empty()) {
    error(*setting.node, problem);
    return std::nullopt;
  }
  return value ? std::optional<double>(value->real) : std::nullopt;
}

std::optional<bool> Elaborator::boolean(const Setting &setting,
                                        const Environment &environment) {
  std::optional<Scalar> value = evaluate(setting, environment);
  if (value && !value->is(Scalar::Kind::Boolean)) {
    error(*setting.node, std::string("expected a boolean, got ") +
                             describe(value->kind) + " (" + value->str() + ")");
    return std::nullopt;
  }
  return value ? std::optional<bool>(value->boolean) : std::nullopt;
}

std::optional<std::string>
Elaborator::evaluatePath(const PathTemplate &path, const reader::Node &node,
                         const Environment &environment) {
  if (!spendExpression(node)) {
    return std::nullopt;
  }
  TextError failure;
  std::optional<std::string> text = path.evaluate(lookup(environment), failure);
  if (!text) {
    errorInside(node, failure);
  }
  return text;
}

bool Elaborator::checkSize(const Shape &shape, const reader::Node &node) {
  if (shape.size() > maxRank) {
    error(node, "a shape has at most " + std::to_string(maxRank) +
                    " dimensions, got " + std::to_string(shape.size()));
    return false;
  }
  int64_t elements = 1;
  for (int64_t dimension : shape) {
    if (dimension > INT32_MAX ||
        __builtin_mul_overflow(elements, dimension, &elements) ||
        elements > maxElements) {
      error(node, "a value of shape " + str(shape) +
                      " is too large; the largest has " +
                      std::to_string(maxElements) + " elements");
      return false;
    }
  }
  return true;
}

ValueRef Elaborator::addValue(ValueType type, std::string path,
                              reader::Range range) {
  program->values.push_back({std::move(type), std::move(path), range});
  return ValueRef::of(static_cast<int>(program->values.size()) - 1);
}

ValueRef Elaborator::addWeight(const std::string &name, Shape shape,
                               const Initializer &initializer, bool trainable,
                               reader::Range range) {
  auto known = program->weightIndex.find(name);
  if (known != program->weightIndex.end()) {
    ValueRef value = ValueRef::of(program->weights[known->second].value);
    const Shape &first = valueOf(value).type.shape;
    if (first != shape) {
      Diagnostic &clash = diagnostics.error(
          range, "the shared weight " + inQuotes(name) + " has shape " +
                     str(first) + ", but " + str(shape) + " is needed here");
      noteValue(clash, value);
      return poison;
    }
    return value;
  }
  ValueRef value = addValue({DType::F32, std::move(shape)}, name, range);
  program->weightIndex[name] = program->weights.size();
  program->weights.push_back({name, value.number(), initializer, trainable,
                              program->layers.size() - 1});
  return value;
}

const ProgramValue &Elaborator::valueOf(ValueRef value) const {
  static const ProgramValue unknown = {
      {DType::F32, Shape(maxRank, 1)}, "", {0, 0}};
  return value ? program->values[static_cast<size_t>(value.number())] : unknown;
}

/// Two readers of one table must both be content with it.
void Elaborator::describeBlockTable(ValueRef value, BlockTable table) {
  if (!value) {
    return;
  }
  const std::string &name = valueOf(value).path;
  ProgramWeight &weight = program->weights[program->weightIndex.at(name)];
  if (weight.blockTable) {
    table.allowsRepeats &= weight.blockTable->allowsRepeats;
    table.isCausal |= weight.blockTable->isCausal;
  }
  weight.blockTable = table;
}

const ProgramWeight *
Elaborator::findSharedWeight(const std::string &path,
                             const Environment &environment) const {
  for (const std::string &candidate : {environment.path + path, path}) {
    // The longest prefix that is a layer tells where its weights are.
    for (size_t dot = candidate.rfind('.'); dot != std::string::npos && dot > 0;
         dot = candidate.rfind('.', dot - 1)) {
      auto layer = weightPaths.find(candidate.substr(0, dot));
      if (layer == weightPaths.end()) {
        continue;
      }
      auto weight =
          program->weightIndex.find(layer->second + candidate.substr(dot));
      if (weight != program->weightIndex.end()) {
        return &program->weights[weight->second];
      }
    }
  }
  return nullptr;
}

} // namespace hova::frontend
