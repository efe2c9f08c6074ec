//===- Ties.cpp - Weights that layers share -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A description says that two layers have one weight, and a file may have it
// once for each. Where the numbers differ, the file is of another model.
//
//===----------------------------------------------------------------------===//

#include "frontend/weights/Checkpoint.h"

#include "llvm/ADT/StringExtras.h"

namespace hova::frontend {

using reader::inQuotes;

/// What the own weight of a layer would be called below its path that reads
/// `weight` of another layer as `role`; empty: it would have none.
static std::string untiedName(const Program &program,
                              const ProgramOperation &op,
                              const std::string &role,
                              const ProgramWeight &weight) {
  const ProgramLayer &reader = program.layers[op.layer];
  const ProgramLayer &owner = program.layers[weight.layer];
  // A product of its own says whose matrix it takes. What a layer `weight`
  // gives is a value for others.
  if (reader.kind == "linear" && role == "weight") {
    return ".weight";
  }
  bool shares = reader.kind == owner.kind &&
                weight.name.compare(0, owner.path.size(), owner.path) == 0;
  return shares ? weight.name.substr(owner.path.size()) : "";
}

std::vector<Tie> findTies(const Program &program) {
  std::map<int, const ProgramWeight *> weights;
  for (const ProgramWeight &weight : program.weights) {
    weights.emplace(weight.value, &weight);
  }
  std::vector<Tie> ties;
  std::set<std::string> known;
  for (const ProgramOperation &op : program.operations) {
    const ProgramLayer &layer = program.layers[op.layer];
    for (const auto &[role, value] : op.operands) {
      auto found = weights.find(value);
      if (found == weights.end() || found->second->layer == op.layer) {
        continue;
      }
      std::string below = untiedName(program, op, role, *found->second);
      std::string otherwise = layer.path + below;
      if (below.empty() || program.findWeight(otherwise) ||
          !known.insert(otherwise).second) {
        continue;
      }
      auto transposed = op.attributes.find("transposed");
      bool isTransposed = role == "weight" &&
                          transposed != op.attributes.end() &&
                          transposed->second.boolean;
      ties.push_back(
          {&layer, found->second, std::move(otherwise), isTransposed});
    }
  }
  return ties;
}

/// `"a"`, or `"a" and "b"`: the tensors that a rule reads.
static std::string namesOf(const RuleUse &use) {
  std::vector<std::string> quoted;
  for (const std::string &name : use.from) {
    quoted.push_back(inQuotes(name));
  }
  return llvm::join(quoted, " and ");
}

/// The first element of `copy` that is another number in `shared`, of which it
/// may be the transpose; -1: none is.
static int64_t findDifference(const HostTensor &copy, const HostTensor &shared,
                              bool isTransposed) {
  const float *left = copy.as<float>(), *right = shared.as<float>();
  int64_t columns = copy.getShape().empty() ? 1 : copy.getShape().back();
  int64_t rows = copy.size() / columns;
  for (int64_t i = 0, e = copy.size(); i < e; ++i) {
    int64_t other = isTransposed ? i % columns * rows + i / columns : i;
    if (left[i] != right[other]) {
      return i;
    }
  }
  return -1;
}

llvm::Error checkTies(const Program &program, const CheckpointPlan &plan,
                      const TensorFile &file, WeightSource &weights) {
  for (const auto &[tie, use, part] : plan.ties) {
    for (const std::string &name : use.from) {
      if (llvm::Error error = file.checkFinite(name)) {
        return error;
      }
    }
    llvm::Expected<HostTensor> shared = weights.load(tie.weight->name);
    if (!shared) {
      return shared.takeError();
    }
    llvm::Expected<HostTensor> copy = loadPart(program, use, part, file);
    if (!copy) {
      return copy.takeError();
    }
    int64_t place = findDifference(*copy, *shared, tie.isTransposed);
    if (place >= 0) {
      const RuleUse &first = plan.uses[plan.useOf.at(tie.weight->name).first];
      return llvm::createStringError(
          "layer " + inQuotes(tie.layer->path) + " shares weight " +
          inQuotes(tie.weight->name) +
          ", but the file has other numbers for each: " + namesOf(first) +
          " and " + namesOf(use) + ", which differs first at " +
          elementIndex(copy->getShape(), place));
    }
  }
  return llvm::Error::success();
}

} // namespace hova::frontend
