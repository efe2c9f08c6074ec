//===- Checkpoint.cpp - Weights of public libraries -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "frontend/weights/Checkpoint.h"

#include "llvm/ADT/StringExtras.h"

namespace hova::frontend {

using reader::inQuotes;

bool matchName(std::string_view pattern, std::string_view name,
               std::map<std::string, std::string> &captures) {
  size_t at = 0;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '{') {
      if (at == name.size() || name[at++] != pattern[i]) {
        return false;
      }
      continue;
    }
    size_t close = pattern.find('}', i);
    std::string word(pattern.substr(i + 1, close - i - 1));
    // A part ends at the next dot, or where the pattern goes on.
    size_t end = name.find('.', at);
    end = end == std::string_view::npos ? name.size() : end;
    char next = close + 1 < pattern.size() ? pattern[close + 1] : '.';
    if (next != '.') {
      end = std::min(end, name.find(next, at + 1));
    }
    std::string part(name.substr(at, end - at));
    auto known = captures.emplace(word, part).first;
    if (part.empty() || known->second != part) {
      return false;
    }
    at = end;
    i = close;
  }
  return at == name.size();
}

std::string fillName(std::string_view pattern,
                     const std::map<std::string, std::string> &captures) {
  std::string name;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '{') {
      name += pattern[i];
      continue;
    }
    size_t close = pattern.find('}', i);
    auto found =
        captures.find(std::string(pattern.substr(i + 1, close - i - 1)));
    name += found == captures.end() ? "" : found->second;
    i = close;
  }
  return name;
}

std::string
withPrefixes(std::string_view pattern,
             const std::map<std::string, TensorFile::Entry> &names) {
  std::string prefix;
  while (!pattern.empty() && pattern[0] == '[') {
    size_t close = pattern.find(']');
    if (pattern.substr(0, close).find('|') != std::string_view::npos) {
      break;
    }
    std::string longer = prefix + std::string(pattern.substr(1, close - 1));
    // The first name that is not smaller begins so, if any does.
    auto next = names.lower_bound(longer);
    if (next != names.end() &&
        next->first.compare(0, longer.size(), longer) == 0) {
      prefix = std::move(longer);
    }
    pattern.remove_prefix(close + 1);
  }
  return prefix + std::string(pattern);
}

namespace {

const Shape &shapeOf(const Program &program, const ProgramWeight &weight) {
  return program.values[static_cast<size_t>(weight.value)].type.shape;
}

int64_t elementCount(const Shape &shape) {
  int64_t count = 1;
  for (int64_t size : shape) {
    count *= size;
  }
  return count;
}

/// Makes a plan: the first rule that fits each weight, then every shape.
class Planner {
  /// Names that are compared with patterns: every real source takes a
  /// thousandth.
  static constexpr size_t mostComparisons = 20000000;

public:
  Planner(const Program &program, const CheckpointSpec *source,
          const TensorFile &file)
      : program(program), source(source), file(file) {}

  CheckpointPlan run();

private:
  void assign(const ProgramWeight &weight);
  /// What makes a weight of that name; nothing where no rule does.
  std::optional<RuleUse> findUse(const std::string &name);
  void addTie(const Tie &tie);
  bool leaveToInitialiser(const ProgramWeight &weight);
  std::string nameInFile(std::string_view pattern,
                         const std::map<std::string, std::string> &captures);
  void addUse(RuleUse use);
  bool readTensors(const RuleUse &use, std::vector<Piece> &pieces);
  void checkShape(const RuleUse &use, const std::string &name,
                  const Shape &given, const std::string &from);
  void checkUse(const RuleUse &use);
  void checkLeftOver();
  void addExtents(const RuleUse &use);

  const Program &program;
  const CheckpointSpec *source;
  const TensorFile &file;
  CheckpointPlan plan;
  std::set<std::string> used;
  size_t comparisons = 0;
};

void Planner::addUse(RuleUse use) {
  for (auto [i, name] : llvm::enumerate(use.to)) {
    plan.useOf.emplace(name, std::make_pair(plan.uses.size(), i));
  }
  used.insert(use.from.begin(), use.from.end());
  plan.uses.push_back(std::move(use));
}

/// The name that a rule calls `pattern`: of a list of words in brackets the
/// first with which a tensor is there, and else the first.
std::string
Planner::nameInFile(std::string_view pattern,
                    const std::map<std::string, std::string> &captures) {
  std::string whole = withPrefixes(pattern, file.entries());
  size_t open = whole.find('['), close = whole.find(']');
  if (open == std::string::npos) {
    return fillName(whole, captures);
  }
  std::string first;
  for (size_t at = open; at < close;) {
    size_t end = std::min(whole.find('|', at + 1), close);
    std::string name =
        fillName(whole.substr(0, open) + whole.substr(at + 1, end - at - 1) +
                     whole.substr(close + 1),
                 captures);
    ++comparisons;
    if (file.entries().count(name)) {
      return name;
    }
    first = at == open ? name : first;
    at = end;
  }
  return first;
}

/// Leaves a weight that no tensor is for to its initialiser, if that may be:
/// tables of positions and factors of 1 were never trained, and libraries save
/// none. What a seed decides is another thing in each file.
bool Planner::leaveToInitialiser(const ProgramWeight &weight) {
  bool isMade = !weight.trainable && weight.initializer.isFixed();
  if (isMade) {
    plan.initialised.insert(weight.name);
  }
  return isMade;
}

void Planner::assign(const ProgramWeight &weight) {
  if (plan.useOf.count(weight.name)) {
    return;
  }
  std::optional<RuleUse> use = findUse(weight.name);
  bool isMissing = !use || (!use->rule && !file.entries().count(weight.name));
  if (isMissing && leaveToInitialiser(weight)) {
    return;
  }
  if (use) {
    addUse(std::move(*use));
  } else if (comparisons <= mostComparisons) {
    plan.problems.push_back("no rule makes weight " + inQuotes(weight.name));
  }
}

std::optional<RuleUse> Planner::findUse(const std::string &name) {
  if (!source) {
    return RuleUse{nullptr, {name}, {name}};
  }
  for (const RuleSpec &rule : source->rules) {
    for (const std::string &pattern : rule.to) {
      if (++comparisons > mostComparisons) {
        return std::nullopt;
      }
      std::map<std::string, std::string> captures;
      if (!matchName(pattern, name, captures)) {
        continue;
      }
      RuleUse use;
      use.rule = &rule;
      for (const std::string &to : rule.to) {
        use.to.push_back(fillName(to, captures));
      }
      for (const std::string &from : rule.from) {
        use.from.push_back(nameInFile(from, captures));
      }
      return use;
    }
  }
  return std::nullopt;
}

/// Libraries may save what two layers share once for each. What the file has
/// for the second is used up, and compared.
void Planner::addTie(const Tie &tie) {
  std::optional<RuleUse> use = findUse(tie.nameOtherwise);
  auto first = plan.useOf.find(tie.weight->name);
  if (!use || use->from.empty() || first == plan.useOf.end() ||
      plan.uses[first->second.first].from == use->from) {
    return;
  }
  std::vector<Piece> pieces;
  for (const std::string &from : use->from) {
    auto entry = file.entries().find(from);
    if (entry == file.entries().end() || !entry->second.isFloat ||
        !entry->second.isRead) {
      return;
    }
    pieces.push_back({entry->second.shape, std::nullopt});
  }
  if (use->rule) {
    if (llvm::Error error = applySteps(*use->rule, program, pieces,
                                       use->to.size(), std::nullopt)) {
      return llvm::consumeError(std::move(error));
    }
  }
  size_t part = llvm::find(use->to, tie.nameOtherwise) - use->to.begin();
  Shape wanted = shapeOf(program, *tie.weight);
  if (tie.isTransposed) {
    std::reverse(wanted.begin(), wanted.end());
  }
  if (pieces[part].shape != wanted) {
    return; // it is left over
  }
  used.insert(use->from.begin(), use->from.end());
  plan.ties.push_back({tie, std::move(*use), part});
}

/// Of all tensors of the file that `use` reads.
void Planner::addExtents(const RuleUse &use) {
  for (const std::string &name : use.from) {
    const Shape &shape = file.entries().at(name).shape;
    plan.extents.insert(shape.begin(), shape.end());
  }
}

/// The shapes of the tensors that a rule reads; false after a mistake.
bool Planner::readTensors(const RuleUse &use, std::vector<Piece> &pieces) {
  std::string target = inQuotes(use.to[0]);
  bool complete = true;
  // What the steps make is never larger than the file and the weights.
  int64_t read = 0, makes = 0;
  std::set<std::string_view> distinct;
  for (const std::string &name : use.to) {
    const ProgramWeight *weight = program.findWeight(name);
    makes += weight ? elementCount(shapeOf(program, *weight)) : 0;
  }
  for (const std::string &name : use.from) {
    auto entry = file.entries().find(name);
    bool isNew = distinct.insert(name).second;
    plan.wanted += isNew;
    plan.found += isNew && entry != file.entries().end();
    if (entry == file.entries().end()) {
      plan.problems.push_back("missing: " + inQuotes(name) +
                              (name == use.to[0] ? "" : " for " + target));
      complete = false;
      continue;
    }
    // Tables are what the libraries keep as integers.
    const ProgramWeight *weight = program.findWeight(use.to[0]);
    bool isTable = weight && weight->blockTable;
    std::string wrong =
        !entry->second.isRead ? ", which hova does not read; save it as f32, "
                                "bf16 or f16"
        : entry->second.isFloat || isTable ? ""
                                           : "; weights are floating-point";
    if (!wrong.empty()) {
      plan.problems.push_back(inQuotes(name) + " has type " +
                              entry->second.dtype + wrong);
      complete = false;
    }
    if (llvm::is_contained(entry->second.shape, 0)) {
      plan.problems.push_back(inQuotes(name) + " has no elements");
      complete = false;
    }
    // Of each, the first time is free.
    read += isNew ? 0 : elementCount(entry->second.shape);
    if (read > makes && complete) {
      plan.problems.push_back("for " + target +
                              ": the rule reads tensors again that have more "
                              "elements together than the weights it makes");
      complete = false;
    }
    pieces.push_back({entry->second.shape, std::nullopt});
  }
  return complete;
}

/// Whether weight `name` has the shape that a rule gives it from tensors that
/// are called `from` in the message.
void Planner::checkShape(const RuleUse &use, const std::string &name,
                         const Shape &given, const std::string &from) {
  const ProgramWeight *weight = program.findWeight(name);
  if (!weight) {
    plan.problems.push_back("a rule makes " + inQuotes(name) +
                            ", which the model does not have");
    return;
  }
  Shape wanted = shapeOf(program, *weight);
  if (wanted == given) {
    return;
  }
  addExtents(use);
  bool hasSteps = use.rule && !use.rule->steps.empty();
  bool isTransposed =
      given.size() == 2 && Shape(given.rbegin(), given.rend()) == wanted;
  plan.problems.push_back(
      "shape: weight " + inQuotes(name) + " is " + str(wanted) + ", but " +
      from + (hasSteps ? " gives " + str(given) : " is in the file") +
      (isTransposed ? ": it has the shape [out, in], as PyTorch keeps it; "
                      "weights are [in, out]"
                    : ""));
}

void Planner::checkUse(const RuleUse &use) {
  std::vector<Piece> pieces;
  if (!readTensors(use, pieces) || (use.rule && use.rule->constant)) {
    return;
  }
  std::string from = use.from.size() == 1
                         ? inQuotes(use.from[0]) + " " + str(pieces[0].shape)
                         : std::to_string(use.from.size()) + " tensors";
  if (use.rule) {
    if (llvm::Error error = applySteps(*use.rule, program, pieces,
                                       use.to.size(), std::nullopt)) {
      addExtents(use);
      plan.problems.push_back("for " + inQuotes(use.to[0]) + " from " + from +
                              ": " + llvm::toString(std::move(error)));
      return;
    }
  }
  for (auto [i, name] : llvm::enumerate(use.to)) {
    checkShape(use, name, pieces[i].shape, from);
  }
}

void Planner::checkLeftOver() {
  // A model without its modules has no part for any of their tensors.
  bool hasModules = llvm::any_of(used, [&](const std::string &name) {
    auto entry = file.entries().find(name);
    return entry != file.entries().end() && entry->second.isOfModule;
  });
  for (const auto &entry : file.entries()) {
    if (entry.second.isOfModule && !hasModules) {
      continue;
    }
    bool ignored = source && llvm::any_of(source->ignore, [&](auto &pattern) {
                     return reader::matchGlob(
                         withPrefixes(pattern, file.entries()), entry.first);
                   });
    if (used.count(entry.first)) {
      continue;
    }
    if (ignored && entry.second.isFloat) {
      plan.ignored.push_back(entry.first);
    }
    if (!ignored) {
      plan.extents.insert(entry.second.shape.begin(), entry.second.shape.end());
      plan.problems.push_back("left over: " + inQuotes(entry.first) + " " +
                              str(entry.second.shape));
    }
  }
}

CheckpointPlan Planner::run() {
  for (const ProgramWeight &weight : program.weights) {
    assign(weight);
  }
  for (const Tie &tie : findTies(program)) {
    addTie(tie);
  }
  if (comparisons > mostComparisons) {
    plan.problems.push_back(
        "too many weights and rules to compare: more than " +
        std::to_string(mostComparisons) + " pairs");
    return std::move(plan);
  }
  for (const RuleUse &use : plan.uses) {
    checkUse(use);
  }
  checkLeftOver();
  return std::move(plan);
}

class CheckpointWeights final : public WeightSource {
public:
  CheckpointWeights(const Program &program, const CheckpointPlan &plan,
                    const TensorFile &file)
      : program(program), plan(plan), file(file) {}

  llvm::Expected<HostTensor> load(llvm::StringRef name) override {
    auto found = plan.useOf.find(name.str());
    const ProgramWeight *weight =
        program.findWeight({name.data(), name.size()});
    if (weight && plan.initialised.count(weight->name)) {
      return drawWeights(program, /*seed=*/0)->load(name);
    }
    if (found == plan.useOf.end() || !weight) {
      return llvm::createStringError("the model has no weight \"" + name +
                                     "\"");
    }
    auto [index, part] = found->second;
    llvm::Expected<HostTensor> tensor = make(plan.uses[index], part, *weight);
    if (!tensor) {
      return tensor;
    }
    if (llvm::Error error = checkValues(*weight, *tensor)) {
      return std::move(error);
    }
    return tensor;
  }

private:
  llvm::Expected<HostTensor> make(const RuleUse &use, size_t part,
                                  const ProgramWeight &weight);

  const Program &program;
  const CheckpointPlan &plan;
  const TensorFile &file;
};

llvm::Expected<HostTensor>
CheckpointWeights::make(const RuleUse &use, size_t part,
                        const ProgramWeight &weight) {
  if (use.rule && use.rule->constant) {
    TextError failure;
    Lookup lookup = [&](std::string_view name) -> const Scalar * {
      auto found = program.parameters.find(std::string(name));
      return found == program.parameters.end() ? nullptr : &found->second;
    };
    std::optional<Scalar> value = use.rule->constant->literal;
    if (!value) {
      value = use.rule->constant->expression->evaluate(lookup, failure);
    }
    if (!value || !value->isNumber()) {
      return llvm::createStringError("the constant of weight \"" + weight.name +
                                     "\" is not a number");
    }
    std::string problem = problemInF32(value->real);
    if (!problem.empty()) {
      return llvm::createStringError("the constant of weight \"" + weight.name +
                                     "\": " + problem);
    }
    HostTensor tensor(HostTensor::Element::F32, shapeOf(program, weight));
    std::fill_n(tensor.mutableAs<float>(), tensor.size(),
                static_cast<float>(value->real));
    return tensor;
  }
  return loadPart(program, use, part, file);
}

} // namespace

llvm::Expected<HostTensor> loadPart(const Program &program, const RuleUse &use,
                                    size_t part, const TensorFile &file) {
  std::vector<Piece> pieces;
  for (const std::string &name : use.from) {
    llvm::Expected<HostTensor> tensor = file.load(name);
    if (!tensor) {
      return tensor;
    }
    pieces.push_back({file.entries().at(name).shape, std::move(*tensor)});
  }
  if (use.rule) {
    if (llvm::Error error =
            applySteps(*use.rule, program, pieces, use.to.size(), part)) {
      return std::move(error);
    }
  }
  return std::move(*pieces[part].values);
}

CheckpointPlan planCheckpoint(const Program &program,
                              const CheckpointSpec *source,
                              const TensorFile &file) {
  return Planner(program, source, file).run();
}

std::unique_ptr<WeightSource> readCheckpoint(const Program &program,
                                             const CheckpointPlan &plan,
                                             const TensorFile &file) {
  return std::make_unique<CheckpointWeights>(program, plan, file);
}

} // namespace hova::frontend
