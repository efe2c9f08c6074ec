//===- Constants.cpp - Constants of a program -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Binds the names in the expression of a constant to earlier ones, and keeps
// the elements of equal ones once: a table in a block that is repeated is
// computed for the first repetition.
//
//===----------------------------------------------------------------------===//

#include "frontend/elaborate/ConstantTable.h"
#include "frontend/elaborate/LayerContext.h"

#include <cassert>

namespace hova::frontend {

/// What is read was written down: an input, or a layer that runs.
ConstantPtr LayerContext::constantNamed(const ScoreSpec &spec,
                                        const Reference &reference) {
  ValueUse use = {spec.node, reference};
  ValueRef value = elaborator.resolveOne(use, environment);
  if (!value) {
    return nullptr;
  }
  auto found = elaborator.program->constants.find(value.number());
  if (found != elaborator.program->constants.end()) {
    return found->second;
  }
  reader::Diagnostic &error = elaborator.errorInside(
      *spec.node,
      {reference.begin, reference.end,
       reader::inQuotes(use.text()) +
           " is no constant: only their elements are known while compiling"});
  elaborator.noteValue(error, value);
  return nullptr;
}

ConstantPtr LayerContext::elementsOf(const ScoreSpec &spec,
                                     const ValueType &type) {
  auto terms = static_cast<int64_t>(spec.expression.terms());
  if (!elaborator.spendExpression(*spec.node) ||
      !elaborator.spend(unitsOfTerm * terms, *spec.node)) {
    return nullptr;
  }
  ElementEvaluator evaluator(
      type, elaborator.lookup(environment),
      [&](const std::string &name) {
        return environment.scope->count(name) > 0;
      },
      [&](const Reference &name) { return constantNamed(spec, name); });
  auto report = [&]() -> ConstantPtr {
    const TextError &failure = evaluator.failure();
    if (failure.message.empty()) {
      return nullptr; // reported
    }
    if (spec.node->is(reader::Node::Kind::String)) {
      elaborator.errorInside(*spec.node, failure);
    } else {
      elaborator.error(*spec.node, failure.message);
    }
    return nullptr;
  };
  if (!evaluator.prepare(spec.expression)) {
    return report();
  }
  ConstantPtr &known = elaborator.constants[evaluator.key()];
  if (known) {
    return known;
  }
  int64_t elements = 1;
  for (int64_t size : type.shape) {
    elements *= size;
  }
  ConstantBudget &budget = elaborator.constantBudget;
  budget.elementsLeft -= elements;
  int64_t steps = evaluator.stepsOfElement();
  bool isAffordable =
      budget.elementsLeft >= 0 && steps <= budget.stepsLeft / elements;
  if (!isAffordable) {
    elaborator.error(
        *spec.node,
        "the constants of this model are too large here: together they have at "
        "most " +
            std::to_string(ConstantBudget::mostElements) +
            " elements, for which at most " +
            std::to_string(ConstantBudget::mostSteps) +
            " numbers, names and operators are evaluated; this one has " +
            std::to_string(elements) + " elements of " + std::to_string(steps));
    return nullptr;
  }
  budget.stepsLeft -= steps * elements;
  auto table = std::make_shared<ConstantTable>();
  if (!evaluator.evaluate(*table)) {
    return report();
  }
  return known = std::move(table);
}

ValueRef LayerContext::constant(ValueType type) {
  // A layer without it was refused where it was read.
  assert(layer.elements && "a constant says what its elements are");
  if (failed || !elaborator.checkSize(type.shape, *layer.node)) {
    failed = true;
    return poison;
  }
  ConstantPtr table = elementsOf(*layer.elements, type);
  if (!table) {
    failed = true;
    return poison;
  }
  ValueRef value = emit("constant", "", {}, {}, std::move(type));
  if (value) {
    elaborator.program->constants[value.number()] = std::move(table);
  }
  return value;
}

} // namespace hova::frontend
