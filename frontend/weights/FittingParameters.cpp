//===- FittingParameters.cpp - Which variant a checkpoint is of -----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// One parameter after the other takes the value that leaves the fewest
// problems: the other boolean, another of the legal values, or a number that
// the file has. What makes a file fit to its last tensor is no guess; anything
// less is not spoken of.
//
//===----------------------------------------------------------------------===//

#include "frontend/weights/FittingParameters.h"

#include <charconv>

namespace hova::frontend {

namespace {

/// How many of a thing the names of a file count: 12 for `layer.0.a` up to
/// `layer.11.b`.
void addCounts(const TensorFile &file, std::set<int64_t> &numbers) {
  std::map<std::string_view, int64_t> counts;
  for (const auto &entry : file.entries()) {
    std::string_view name = entry.first;
    for (size_t at = 0; at < name.size();) {
      size_t end = std::min(name.find('.', at), name.size());
      int64_t index = 0;
      auto [rest, error] =
          std::from_chars(name.data() + at, name.data() + end, index);
      if (error == std::errc() && rest == name.data() + end && index >= 0) {
        int64_t &count = counts[name.substr(0, at)];
        count = std::max(count, index + 1);
      }
      at = end + 1;
    }
  }
  for (const auto &entry : counts) {
    numbers.insert(entry.second);
  }
}

class Search {
public:
  Search(const ModelSpec &spec, std::vector<ParameterOverride> given,
         const CheckpointSpec *source, const TensorFile &file)
      : spec(spec), all(std::move(given)), source(source), file(file),
        givenCount(all.size()) {}

  std::vector<ParameterOverride> run(const Program &program,
                                     const CheckpointPlan &plan);

private:
  struct Step {
    ParameterOverride change;
    std::unique_ptr<Program> program;
    CheckpointPlan plan;
  };
  /// The change that leaves the fewest problems, fewer than there are.
  std::optional<Step> findStep(const Program &program,
                               const CheckpointPlan &plan);
  std::vector<Scalar> alternatives(const ParameterSpec &parameter,
                                   const Scalar &now,
                                   const std::set<int64_t> &numbers) const;
  std::optional<Step> take(ParameterOverride change,
                           const CheckpointPlan &plan);

  const ModelSpec &spec;
  /// Those that were given, and the changes so far.
  std::vector<ParameterOverride> all;
  const CheckpointSpec *source;
  const TensorFile &file;
  size_t givenCount;
  size_t cost = 0;
};

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

std::optional<Search::Step> Search::take(ParameterOverride change,
                                         const CheckpointPlan &plan) {
  if (cost > FittingLimits::cost) {
    return std::nullopt;
  }
  Step step;
  step.change = std::move(change);
  all.push_back(step.change);
  reader::Diagnostics quiet(spec.source);
  step.program = elaborate(spec, all, quiet, FittingLimits::units);
  all.pop_back();
  cost += 1 + file.entries().size();
  if (!step.program) {
    return std::nullopt;
  }
  size_t rules = source ? source->rules.size() : 0;
  cost +=
      step.program->values.size() + step.program->weights.size() * rules / 8;
  step.plan = planCheckpoint(*step.program, source, file);
  // A model of which less is in the file fits nothing better.
  bool isBetter = step.plan.problems.size() < plan.problems.size() &&
                  step.plan.found >= plan.found && step.plan.found > 0;
  return isBetter ? std::optional(std::move(step)) : std::nullopt;
}

std::optional<Search::Step> Search::findStep(const Program &program,
                                             const CheckpointPlan &plan) {
  std::set<int64_t> numbers = {0};
  addCounts(file, numbers);
  numbers.insert(plan.extents.begin(), plan.extents.end());
  while (numbers.size() > FittingLimits::numbers) {
    numbers.erase(std::prev(numbers.end()));
  }
  std::optional<Step> best;
  for (const ParameterSpec &parameter : spec.parameters) {
    bool isSet = llvm::any_of(all, [&](const ParameterOverride &other) {
      return other.name == parameter.name;
    });
    auto now = program.parameters.find(parameter.name);
    if (isSet || now == program.parameters.end()) {
      continue;
    }
    for (const Scalar &other : alternatives(parameter, now->second, numbers)) {
      std::optional<Step> step =
          take({parameter.name, other.str()}, best ? best->plan : plan);
      if (step) {
        best = std::move(step);
      }
    }
  }
  return best;
}

std::vector<ParameterOverride> Search::run(const Program &program,
                                           const CheckpointPlan &plan) {
  std::optional<Step> last;
  for (size_t i = 0; i < FittingLimits::parameters; ++i) {
    std::optional<Step> next =
        last ? findStep(*last->program, last->plan) : findStep(program, plan);
    if (!next) {
      return {};
    }
    all.push_back(next->change);
    if (next->plan.problems.empty()) {
      return {all.begin() + static_cast<std::ptrdiff_t>(givenCount), all.end()};
    }
    last = std::move(next);
  }
  return {};
}

} // namespace

std::vector<ParameterOverride>
findFittingParameters(const ModelSpec &spec,
                      const std::vector<ParameterOverride> &given,
                      const CheckpointSpec *source, const TensorFile &file,
                      const Program &program, const CheckpointPlan &plan) {
  return Search(spec, given, source, file).run(program, plan);
}

} // namespace hova::frontend
