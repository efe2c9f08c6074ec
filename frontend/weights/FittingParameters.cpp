//===- FittingParameters.cpp - Which variant a checkpoint is of -----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// One parameter after the other takes the value that leaves the fewest
// problems: the other boolean, another of the legal values, or a number that
// the file has, or that squares and multiples of patches lead to. Where another
// width is divided into heads, their number changes with it. What makes a file
// fit to its last tensor is no guess; anything less is not spoken of.
//
//===----------------------------------------------------------------------===//

#include "frontend/weights/FittingParameters.h"

#include <charconv>
#include <cmath>

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
      if (error == std::errc() && rest == name.data() + end && index >= 0 &&
          index < INT32_MAX) {
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

/// Sides of images, of grids of patches and of windows: a position table has as
/// many rows as an image of such a side has patches, perhaps with one token or
/// two beside them, and a table of the differences in a window (2 s - 1)^2.
void addSides(const std::set<int64_t> &extents, const Program &program,
              std::set<int64_t> &numbers) {
  std::set<int64_t> patches;
  for (const auto &[name, value] : program.parameters) {
    if (value.is(Scalar::Kind::Integer) && value.integer > 1 &&
        value.integer <= 64) {
      patches.insert(value.integer);
    }
  }
  std::set<int64_t> sides;
  for (int64_t extent : extents) {
    if (sides.size() > 16 * FittingLimits::derived) {
      break;
    }
    for (int64_t beside : {0, 1, 2}) {
      int64_t square = std::max<int64_t>(extent - beside, 0);
      int64_t root = std::llround(std::sqrt(static_cast<double>(square)));
      if (root < 2 || root * root != square || root > INT32_MAX / 64) {
        continue;
      }
      sides.insert(root);
      if (root % 2 && !beside) {
        sides.insert((root + 1) / 2);
      }
      for (int64_t patch : patches) {
        sides.insert(root * patch);
      }
    }
  }
  for (int64_t side : sides) {
    if (numbers.size() < FittingLimits::numbers + FittingLimits::derived) {
      numbers.insert(side);
    }
  }
}

using Names = std::set<std::string>;

/// Adds the names that `setting` reads; returns whether any is new.
bool addNames(const Setting &setting, Names &names) {
  bool isNew = false;
  if (setting.expression) {
    for (const NameUse &use : setting.expression->names()) {
      isNew |= names.insert(use.name).second;
    }
  }
  return isNew;
}

/// The parameters that attentions count their heads by, also where a block
/// hands them on as an argument.
Names headParameters(const ModelSpec &spec) {
  std::vector<const LayerSpec *> layers;
  for (const LayerSpec &layer : spec.layers) {
    layers.push_back(&layer);
  }
  for (const BlockSpec &block : spec.blocks) {
    for (const LayerSpec &layer : block.layers) {
      layers.push_back(&layer);
    }
  }
  Names names;
  for (const LayerSpec *layer : layers) {
    for (const char *attribute : {"heads", "key_value_heads"}) {
      auto found = layer->attributes.find(attribute);
      if (found != layer->attributes.end()) {
        addNames(found->second, names);
      }
    }
  }
  bool isNew = true;
  for (size_t turn = 0; isNew && turn < maxBlockDepth; ++turn) {
    isNew = false;
    for (const LayerSpec *layer : layers) {
      for (const auto &[argument, value] : layer->arguments) {
        isNew |= names.count(argument) && addNames(value, names);
      }
    }
  }
  Names parameters;
  for (const std::string &name : names) {
    if (spec.findParameter(name)) {
      parameters.insert(name);
    }
  }
  return parameters;
}

/// What heads divide in a program.
std::set<int64_t> widthsOfHeads(const Program &program) {
  std::set<int64_t> widths;
  for (const ProgramOperation &operation : program.operations) {
    if (operation.attributes.count("heads") && !operation.operands.empty()) {
      int value = operation.operands.front().second;
      const Shape &shape =
          program.values[static_cast<size_t>(value)].type.shape;
      widths.insert(shape.empty() ? 0 : shape.back());
    }
  }
  return widths;
}

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
  };

  /// The change that leaves the fewest problems, fewer than there are.
  std::optional<Step> findStep(const Program &program,
                               const CheckpointPlan &plan);
  void takeBest(const ParameterSpec &parameter, const Program &program,
                const CheckpointPlan &plan, const std::set<int64_t> &numbers,
                std::optional<Step> &best);
  std::vector<Scalar> alternatives(const ParameterSpec &parameter,
                                   const Scalar &now,
                                   const std::set<int64_t> &numbers) const;
  bool mayChange(const std::string &name) const;
  Step take(Changes changes);
  Step takeWithHeads(const std::string &name, const Scalar &other,
                     const Program &program, const CheckpointPlan &plan);
  std::optional<Changes> headsBy(const Program &program, int64_t now,
                                 int64_t other, bool isKept) const;
  FittingParameters describe(const Program &before, const Program &after) const;

  const ModelSpec &spec;
  const std::vector<ParameterOverride> &given;
  const CheckpointSpec *source;
  const TensorFile &file;
  const bool mayReplace;
  const Names heads;
  /// The changes so far.
  Changes changed;
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

/// What a source sets stays, and so does what was changed before.
bool Search::mayChange(const std::string &name) const {
  return !changed.count(name) &&
         llvm::none_of(given, [&](const ParameterOverride &other) {
           return other.name == name &&
                  !(mayReplace && other.origin == "--set");
         });
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
    if (found == program.parameters.end() || !mayChange(name) ||
        !found->second.is(Scalar::Kind::Integer)) {
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
  std::set<int64_t> numbers = {0};
  addCounts(file, numbers);
  numbers.insert(plan.extents.begin(), plan.extents.end());
  while (numbers.size() > FittingLimits::numbers) {
    numbers.erase(std::prev(numbers.end()));
  }
  addSides(plan.extents, program, numbers);
  std::optional<Step> best;
  for (const ParameterSpec &parameter : spec.parameters) {
    if (mayChange(parameter.name) && program.parameters.count(parameter.name)) {
      takeBest(parameter, program, plan, numbers, best);
    }
  }
  return best;
}

/// Of all changes, in the order of the description.
FittingParameters Search::describe(const Program &before,
                                   const Program &after) const {
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
  for (size_t i = 0; i < FittingLimits::parameters; ++i) {
    std::optional<Step> next =
        last ? findStep(*last->program, last->plan) : findStep(program, plan);
    if (!next) {
      return {};
    }
    changed = next->changes;
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
