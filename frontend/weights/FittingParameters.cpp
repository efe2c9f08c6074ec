//===- FittingParameters.cpp - Which variant a checkpoint is of -----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// One parameter after the other takes the value that leaves the fewest
// problems: the other boolean, another of the legal values, or a number that
// the file has, or that squares and multiples of patches lead to. Where another
// width is divided into heads, their number changes with it. Where no parameter
// helps alone, two change together: the sides of patches and of the image that
// they divide, or a length and the number of positions that bounds it. What
// makes a file fit to its last tensor is no guess; anything less is not spoken
// of.
//
//===----------------------------------------------------------------------===//

#include "frontend/weights/FittingParameters.h"

#include "frontend/weights/FittingHeads.h"
#include "frontend/weights/FittingNumbers.h"

namespace hova::frontend {

namespace {

using Names = std::set<std::string>;

class Search {
public:
  /// `mayReplace`: what the caller has set may change.
  Search(const ModelSpec &spec, const std::vector<ParameterOverride> &given,
         const CheckpointSpec *source, const TensorFile &file, bool mayReplace)
      : spec(spec), given(given), source(source), file(file),
        mayReplace(mayReplace), heads(headParameters(spec)) {}

  FittingParameters run(const Program &program, const CheckpointPlan &plan);

private:
  using Changes = std::map<std::string, Scalar>;
  struct Step {
    Changes changes;
    /// Null where there is no such program.
    std::unique_ptr<Program> program;
    CheckpointPlan plan;
    /// The parameter that another one bounds.
    std::string bounded;
  };

  /// The change that leaves the fewest problems, fewer than there are.
  std::optional<Step> findStep(const Program &program,
                               const CheckpointPlan &plan);
  void takeBest(const ParameterSpec &parameter, const Program &program,
                const CheckpointPlan &plan, const std::set<int64_t> &numbers,
                std::optional<Step> &best);
  /// Where no change alone does: that of two numbers.
  std::optional<Step> findPair(const Program &program,
                               const CheckpointPlan &plan);
  void takeBestPair(const std::string &name, int64_t number,
                    const Program &program, const CheckpointPlan &plan,
                    std::optional<Step> &best);
  std::set<int64_t> partners(int64_t now, int64_t before, int64_t number,
                             const Step &alone,
                             const CheckpointPlan &plan) const;
  std::vector<Scalar> alternatives(const ParameterSpec &parameter,
                                   const Scalar &now,
                                   const std::set<int64_t> &numbers) const;
  bool isFree(const std::string &name) const;
  std::optional<int64_t> freeNumber(const std::string &name,
                                    const Program &program) const;
  Step take(Changes changes);
  Step takeWithHeads(const std::string &name, const Scalar &other,
                     const Program &program, const CheckpointPlan &plan);
  std::optional<Changes> headsBy(const Program &program, int64_t now,
                                 int64_t other, bool isKept) const;
  FittingParameters describe(const Program &before, const Program &after);
  bool isMost(const std::string &name, int64_t number);

  const ModelSpec &spec;
  const std::vector<ParameterOverride> &given;
  const CheckpointSpec *source;
  const TensorFile &file;
  const bool mayReplace;
  const Names heads;
  /// The changes so far.
  Changes changed;
  /// Those that another number demanded, since it was less than they were.
  Names bounded;
  size_t cost = 0;
};

/// A model of which less is in the file fits nothing better.
bool isBetter(const CheckpointPlan &plan, const CheckpointPlan &other) {
  return plan.problems.size() < other.problems.size() &&
         plan.found >= other.found && plan.found > 0;
}

std::vector<Scalar>
Search::alternatives(const ParameterSpec &parameter, const Scalar &now,
                     const std::set<int64_t> &numbers) const {
  std::vector<Scalar> others = parameter.values;
  if (others.empty() && now.is(Scalar::Kind::Boolean)) {
    others.push_back(Scalar::ofBoolean(!now.boolean));
  } else if (others.empty() && now.is(Scalar::Kind::Integer)) {
    for (int64_t number : numbers) {
      others.push_back(Scalar::ofInteger(number));
    }
  }
  llvm::erase(others, now);
  return others;
}

/// What a source sets stays.
bool Search::isFree(const std::string &name) const {
  return llvm::none_of(given, [&](const ParameterOverride &other) {
    return other.name == name && !(mayReplace && other.origin == "--set");
  });
}

std::optional<int64_t> Search::freeNumber(const std::string &name,
                                          const Program &program) const {
  auto found = program.parameters.find(name);
  bool isNumber = found != program.parameters.end() && isFree(name) &&
                  found->second.is(Scalar::Kind::Integer) &&
                  found->second.integer > 1 &&
                  spec.findParameter(name)->values.empty();
  return isNumber ? std::optional(found->second.integer) : std::nullopt;
}

Search::Step Search::take(Changes changes) {
  changes.insert(changed.begin(), changed.end());
  std::vector<ParameterOverride> all;
  for (const ParameterOverride &other : given) {
    if (!changes.count(other.name)) {
      all.push_back(other);
    }
  }
  for (const auto &[name, value] : changes) {
    all.push_back({name, value.str()});
  }
  Step step;
  step.changes = std::move(changes);
  reader::Diagnostics quiet(spec.source);
  step.program = elaborate(spec, all, quiet, FittingLimits::units);
  cost += 1 + file.entries().size();
  if (step.program) {
    size_t rules = source ? source->rules.size() : 0;
    cost +=
        step.program->values.size() + step.program->weights.size() * rules / 8;
    step.plan = planCheckpoint(*step.program, source, file);
  }
  return step;
}

/// Numbers of heads for a width that changes from `now` to `other`: as wide as
/// they were, or as many as divide it. Nothing where there are none.
std::optional<Search::Changes> Search::headsBy(const Program &program,
                                               int64_t now, int64_t other,
                                               bool isKept) const {
  Changes changes;
  for (const std::string &name : heads) {
    auto found = program.parameters.find(name);
    if (found == program.parameters.end() || !isFree(name) ||
        changed.count(name) || !found->second.is(Scalar::Kind::Integer)) {
      continue;
    }
    int64_t count = found->second.integer, scaled;
    if (count < 1 || count > FittingLimits::heads ||
        __builtin_mul_overflow(count, other, &scaled)) {
      return std::nullopt;
    }
    if (isKept && (scaled % now != 0 || scaled < now)) {
      return std::nullopt;
    }
    int64_t fitting = isKept ? scaled / now : std::min(count, other);
    while (!isKept && other % fitting != 0) {
      --fitting;
    }
    if (fitting != count) {
      changes[name] = Scalar::ofInteger(fitting);
    }
  }
  return changes.empty() ? std::nullopt : std::optional(changes);
}

/// Where heads divide another width, or do not divide it, with other heads.
Search::Step Search::takeWithHeads(const std::string &name, const Scalar &other,
                                   const Program &program,
                                   const CheckpointPlan &plan) {
  const Scalar &now = program.parameters.at(name);
  Step plain = take({{name, other}});
  bool isWidth = now.is(Scalar::Kind::Integer) && now.integer > 0 &&
                 other.is(Scalar::Kind::Integer) && other.integer > 0 &&
                 (!plain.program ||
                  (isBetter(plain.plan, plan) &&
                   widthsOfHeads(*plain.program) != widthsOfHeads(program)));
  for (bool isKept : {true, false}) {
    std::optional<Changes> others =
        isWidth && (isKept || !plain.program)
            ? headsBy(program, now.integer, other.integer, isKept)
            : std::nullopt;
    if (!others || others->count(name)) {
      continue;
    }
    (*others)[name] = other;
    Step step = take(std::move(*others));
    if (step.program && (!plain.program || step.plan.problems.size() <=
                                               plain.plan.problems.size())) {
      return step;
    }
  }
  return plain;
}

/// Tries the values of one parameter of the program of `plan`.
void Search::takeBest(const ParameterSpec &parameter, const Program &program,
                      const CheckpointPlan &plan,
                      const std::set<int64_t> &numbers,
                      std::optional<Step> &best) {
  size_t idle = 0;
  for (const Scalar &other : alternatives(
           parameter, program.parameters.at(parameter.name), numbers)) {
    if (cost > FittingLimits::cost || idle == FittingLimits::idle) {
      break;
    }
    Step step =
        takeWithHeads(parameter.name, other, program, best ? best->plan : plan);
    idle += step.program && step.plan.problems == plan.problems;
    if (step.program && isBetter(step.plan, best ? best->plan : plan)) {
      best = std::move(step);
    }
  }
}

std::optional<Search::Step> Search::findStep(const Program &program,
                                             const CheckpointPlan &plan) {
  std::set<int64_t> numbers = fittingNumbers(file, plan.extents, program);
  std::optional<Step> best;
  for (const ParameterSpec &parameter : spec.parameters) {
    if (isFree(parameter.name) && !changed.count(parameter.name) &&
        program.parameters.count(parameter.name)) {
      takeBest(parameter, program, plan, numbers, best);
    }
  }
  return best;
}

/// Whether something that does not fit now fits with `plan`.
bool mendsAny(const CheckpointPlan &plan, const CheckpointPlan &now) {
  return llvm::any_of(now.problems, [&](const std::string &problem) {
    return !llvm::is_contained(plan.problems, problem);
  });
}

/// Numbers for a parameter that is `now`, where another one changes from
/// `before` to `number`: as many patches as there were, or as many as a table
/// has rows, or no more than that number where it allows no more.
std::set<int64_t> Search::partners(int64_t now, int64_t before, int64_t number,
                                   const Step &alone,
                                   const CheckpointPlan &plan) const {
  std::set<int64_t> numbers;
  if (!alone.program && now > number) {
    numbers.insert(number);
  }
  if (number <= FittingLimits::patch && before <= FittingLimits::patch) {
    const CheckpointPlan &known = alone.program ? alone.plan : plan;
    for (int64_t grid : gridsOf(known.extents)) {
      numbers.insert(grid * number);
    }
    if (now % before == 0 && now <= INT32_MAX) {
      numbers.insert(now / before * number);
    }
  }
  numbers.erase(now);
  return numbers;
}

/// Tries `number` for the parameter `name`, with others for a second one.
void Search::takeBestPair(const std::string &name, int64_t number,
                          const Program &program, const CheckpointPlan &plan,
                          std::optional<Step> &best) {
  int64_t before = program.parameters.at(name).integer;
  Step alone = take({{name, Scalar::ofInteger(number)}});
  if (alone.program && !mendsAny(alone.plan, plan)) {
    return;
  }
  for (const ParameterSpec &partner : spec.parameters) {
    std::optional<int64_t> now = freeNumber(partner.name, program);
    if (!now || partner.name == name) {
      continue;
    }
    for (int64_t other : partners(*now, before, number, alone, plan)) {
      if (cost > FittingLimits::cost) {
        return;
      }
      Step step = take({{name, Scalar::ofInteger(number)},
                        {partner.name, Scalar::ofInteger(other)}});
      if (step.program && isBetter(step.plan, best ? best->plan : plan)) {
        step.bounded = other == number ? partner.name : "";
        best = std::move(step);
      }
    }
  }
}

std::optional<Search::Step> Search::findPair(const Program &program,
                                             const CheckpointPlan &plan) {
  std::optional<Step> best;
  for (const ParameterSpec &parameter : spec.parameters) {
    std::optional<int64_t> now = freeNumber(parameter.name, program);
    size_t tried = 0;
    for (int64_t number : plan.extents) {
      if (!now || cost > FittingLimits::cost ||
          ++tried > FittingLimits::numbers) {
        break;
      }
      if (number > 0 && number != *now) {
        takeBestPair(parameter.name, number, program, plan, best);
      }
    }
  }
  return best;
}

/// Whether `number` is the most that a parameter can be with the changes, and
/// less of it fits too.
bool Search::isMost(const std::string &name, int64_t number) {
  if (take({{name, Scalar::ofInteger(number + 1)}}).program) {
    return false;
  }
  Step less = take({{name, Scalar::ofInteger(number - 1)}});
  return less.program && less.plan.problems.empty();
}

/// Of all changes, in the order of the description.
FittingParameters Search::describe(const Program &before,
                                   const Program &after) {
  FittingParameters found;
  bool isDivided = widthsOfHeads(before) != widthsOfHeads(after);
  for (const ParameterSpec &parameter : spec.parameters) {
    const std::string &name = parameter.name;
    auto change = changed.find(name);
    auto known = llvm::find_if(given, [&](const ParameterOverride &other) {
      return other.name == name;
    });
    if (change != changed.end()) {
      found.values.push_back({name, change->second.str(),
                              known == given.end() ? "" : known->text});
      if (bounded.count(name) && isMost(name, change->second.integer)) {
        found.bounds.push_back({name, change->second.str(), ""});
      }
    }
    auto value = after.parameters.find(name);
    bool isSaid = change == changed.end() && known != given.end();
    if (isDivided && heads.count(name) && !isSaid &&
        value != after.parameters.end()) {
      found.heads.push_back({name, value->second.str(), ""});
    }
  }
  return found;
}

FittingParameters Search::run(const Program &program,
                              const CheckpointPlan &plan) {
  std::optional<Step> last;
  for (size_t i = 0; i < FittingLimits::steps; ++i) {
    const Program &now = last ? *last->program : program;
    const CheckpointPlan &known = last ? last->plan : plan;
    std::optional<Step> next = findStep(now, known);
    if (!next) {
      next = findPair(now, known);
    }
    if (!next) {
      return {};
    }
    changed = next->changes;
    if (!next->bounded.empty()) {
      bounded.insert(next->bounded);
    }
    if (next->plan.problems.empty()) {
      return describe(program, *next->program);
    }
    last = std::move(next);
  }
  return {};
}

} // namespace

FittingParameters
findFittingParameters(const ModelSpec &spec,
                      const std::vector<ParameterOverride> &given,
                      const CheckpointSpec *source, const TensorFile &file,
                      const Program &program, const CheckpointPlan &plan) {
  FittingParameters found =
      Search(spec, given, source, file, /*mayReplace=*/false)
          .run(program, plan);
  bool isSet = llvm::any_of(given, [](const ParameterOverride &other) {
    return other.origin == "--set";
  });
  if (found.values.empty() && isSet) {
    found = Search(spec, given, source, file, /*mayReplace=*/true)
                .run(program, plan);
  }
  return found;
}

} // namespace hova::frontend
