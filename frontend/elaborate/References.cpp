//===- References.cpp - What the name of a value means --------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "frontend/elaborate/Elaborator.h"

#include <algorithm>

namespace hova::frontend {

using reader::Diagnostic;
using reader::inQuotes;

std::optional<Elaborator::Resolved>
Elaborator::resolve(const ValueUse &use, const Environment &environment) {
  auto base = environment.scope->find(use.reference.base);
  if (base == environment.scope->end() || !base->second) {
    // Its layer could not be read; that has been reported.
    return std::nullopt;
  }
  if (!spendExpression(use)) {
    return std::nullopt;
  }
  std::vector<EntityPtr> items = {base->second};
  Resolved resolved;
  for (const Reference::Accessor &accessor : use.reference.accessors) {
    if (!select(use, accessor, environment, items)) {
      return std::nullopt;
    }
    resolved.isList |= accessor.kind == Reference::Accessor::Kind::Range;
  }
  if (!resolved.isList && !items[0]->isList) {
    resolved.entity = items[0];
  }
  for (const EntityPtr &item : items) {
    int64_t read = item->isList ? int64_t(item->elements.size()) : 1;
    if (!spend(read, *use.node)) {
      return std::nullopt;
    }
    if (!item->isList) {
      resolved.values.push_back(item->value);
      continue;
    }
    resolved.isList = true;
    for (const EntityPtr &element : item->elements) {
      resolved.values.push_back(element->value);
    }
  }
  for (ValueRef value : resolved.values) {
    if (value.isAbsent()) {
      errorAt(use, " has no value: it is null here, or its layer was left out");
      return std::nullopt;
    }
    if (value.isPoison()) {
      return std::nullopt;
    }
  }
  return resolved;
}

bool Elaborator::isNothing(const std::vector<ValueUse> &uses,
                           const Environment &environment) const {
  if (uses.size() != 1) {
    return uses.empty();
  }
  const Reference &reference = uses[0].reference;
  auto base = environment.scope->find(reference.base);
  return base != environment.scope->end() && base->second &&
         reference.accessors.empty() && !base->second->isList &&
         base->second->value.isAbsent();
}

ValueRef Elaborator::resolveOne(const ValueUse &use,
                                const Environment &environment) {
  std::optional<Resolved> resolved = resolve(use, environment);
  if (!resolved) {
    return poison;
  }
  if (resolved->isList) {
    errorAt(use, " is a list of " + std::to_string(resolved->values.size()) +
                     " values; expected one value");
    return poison;
  }
  return resolved->values[0];
}

/// What `use` names, up to a place of its string.
static std::string shownUpTo(const ValueUse &use, size_t end) {
  size_t begin = use.reference.begin;
  return inQuotes(use.node->text.substr(begin, end - begin));
}

/// Of a value in an expression, the place is that of its name.
Diagnostic &Elaborator::errorAt(const ValueUse &use,
                                const std::string &message) {
  std::string text = inQuotes(use.text()) + message;
  return use.isWhole() ? error(*use.node, text)
                       : errorInside(*use.node, {use.reference.begin,
                                                 use.reference.end, text});
}

bool Elaborator::select(const ValueUse &use,
                        const Reference::Accessor &accessor,
                        const Environment &environment,
                        std::vector<EntityPtr> &items) {
  if (accessor.kind == Reference::Accessor::Kind::Member) {
    return selectMember(use, accessor, items);
  }
  std::vector<EntityPtr> selected;
  for (const EntityPtr &item : items) {
    if (item->value.isPoison() && item->elements.empty()) {
      return false;
    }
    if (!item->indexable) {
      TextError place{use.reference.begin, accessor.end,
                      shownUpTo(use, accessor.begin) +
                          " is neither repeated nor a list"};
      errorInside(*use.node, place);
      return false;
    }
    if (!selectRange(use, accessor, environment, item, selected)) {
      return false;
    }
  }
  items = std::move(selected);
  return true;
}

bool Elaborator::selectRange(const ValueUse &use,
                             const Reference::Accessor &accessor,
                             const Environment &environment,
                             const EntityPtr &item,
                             std::vector<EntityPtr> &selected) {
  int64_t count = static_cast<int64_t>(item->elements.size());
  auto evaluated = [&](const std::optional<Expression> &expression,
                       int64_t otherwise) -> std::optional<int64_t> {
    if (!expression) {
      return otherwise;
    }
    TextError failure;
    std::optional<Scalar> value =
        expression->evaluate(lookup(environment), failure);
    if (value && !value->is(Scalar::Kind::Integer)) {
      failure = {accessor.begin, accessor.end,
                 "expected an integer, got " + value->str()};
      value.reset();
    }
    if (!value) {
      errorInside(*use.node, failure);
      return std::nullopt;
    }
    return value->integer;
  };
  bool isRange = accessor.kind == Reference::Accessor::Kind::Range;
  std::optional<int64_t> first = evaluated(accessor.first, 0);
  std::optional<int64_t> last = evaluated(accessor.last, count);
  std::optional<int64_t> step = evaluated(accessor.step, 1);
  if (!first || !last || !step) {
    return false;
  }
  if (!isRange) {
    int64_t index = *first < 0 ? *first + count : *first;
    if (index < 0 || index >= count) {
      errorInside(*use.node, {accessor.begin, accessor.end,
                              "index " + std::to_string(*first) + " of " +
                                  std::to_string(count) + " results"});
      return false;
    }
    selected.push_back(item->elements[static_cast<size_t>(index)]);
    return true;
  }
  if (*step < 1) {
    errorInside(*use.node, {accessor.begin, accessor.end,
                            "the step of a range must be positive, got " +
                                std::to_string(*step)});
    return false;
  }
  // As in Python, a range is cut at both ends.
  int64_t from =
      std::clamp(*first < 0 ? *first + count : *first, int64_t(0), count);
  int64_t to = std::clamp(*last < 0 ? *last + count : *last, int64_t(0), count);
  if (!spend(to > from ? (to - from) / *step + 1 : 0, *use.node)) {
    return false;
  }
  for (int64_t i = from; i < to; i += std::min(*step, count)) {
    selected.push_back(item->elements[static_cast<size_t>(i)]);
  }
  return true;
}

bool Elaborator::selectMember(const ValueUse &use,
                              const Reference::Accessor &accessor,
                              std::vector<EntityPtr> &items) {
  for (EntityPtr &item : items) {
    if (item->outputs) {
      auto output = item->outputs->find(accessor.member);
      if (output != item->outputs->end()) {
        item = output->second;
        continue;
      }
    }
    if (item->inside) {
      auto inner = item->inside->find(accessor.member);
      if (inner != item->inside->end()) {
        item = inner->second;
        continue;
      }
    }
    if (item->value.isPoison()) {
      return false;
    }
    TextError place{accessor.begin + 1, accessor.end,
                    shownUpTo(use, accessor.begin) +
                        (item->inside || item->outputs
                             ? " has no layer or output "
                             : " is not a block; it has no ") +
                        inQuotes(accessor.member)};
    Diagnostic &unknown = errorInside(*use.node, place);
    std::vector<std::string> candidates;
    if (item->inside) {
      for (const auto &entry : *item->inside) {
        candidates.push_back(entry.first);
      }
    }
    diagnostics.suggestFrom(unknown, accessor.member, candidates);
    return false;
  }
  return true;
}

} // namespace hova::frontend
