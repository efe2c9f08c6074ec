//===- Checkpoint.h - Weights of public libraries -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A plan says for every weight of a program which tensors of a file make it, by
// which steps. It is made, and checked down to every shape, before any tensor
// is read; then weights are made one by one.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_FRONTEND_WEIGHTS_CHECKPOINT_H
#define HOVA_FRONTEND_WEIGHTS_CHECKPOINT_H

#include "frontend/weights/TensorFile.h"
#include "frontend/weights/Weights.h"

#include <set>

namespace hova::frontend {

/// One use of a rule: `from` are names in the file, `to` weights.
struct RuleUse {
  /// Null where the tensor is the weight as it is.
  const RuleSpec *rule = nullptr;
  std::vector<std::string> to;
  std::vector<std::string> from;
};

/// A layer that shares the weight of another one, and would have an own one
/// otherwise.
struct Tie {
  const ProgramLayer *layer;
  const ProgramWeight *weight;
  /// What the own one would be called.
  std::string nameOtherwise;
  /// Whether it would be the transpose.
  bool isTransposed;
};

/// All of a program, each once.
std::vector<Tie> findTies(const Program &program);

/// What a file has for such a layer: the part of `use` that would be its own.
struct TiedUse {
  Tie tie;
  RuleUse use;
  size_t part;
};

struct CheckpointPlan {
  std::vector<RuleUse> uses;
  std::vector<TiedUse> ties;
  /// How many tensors of the file are used, of how many that are wanted.
  size_t found = 0, wanted = 0;
  /// Names of floating-point tensors that the source ignores: what the library
  /// has and the model has not.
  std::vector<std::string> ignored;
  /// Names of frozen weights that the file has not, and need not have: their
  /// initialisers make them, the same ones with any seed.
  std::set<std::string> initialised;
  /// Which use makes a weight, and which of its `to` the weight is.
  std::map<std::string, std::pair<size_t, size_t>> useOf;
  /// Everything that does not fit, one sentence each: missing tensors, tensors
  /// that nothing uses, shapes that clash.
  std::vector<std::string> problems;
  /// The dimensions of tensors of the file that nothing uses or whose shapes
  /// clash.
  std::set<int64_t> extents;
};

/// Fits `source` (null: the names of the description itself) to a file.
CheckpointPlan planCheckpoint(const Program &program,
                              const CheckpointSpec *source,
                              const TensorFile &file);

/// Weights by a plan without problems. All arguments must outlive the result.
std::unique_ptr<WeightSource> readCheckpoint(const Program &program,
                                             const CheckpointPlan &plan,
                                             const TensorFile &file);

/// Part `part` of what `use` makes of tensors of the file.
llvm::Expected<HostTensor> loadPart(const Program &program, const RuleUse &use,
                                    size_t part, const TensorFile &file);

/// Fails with both names where a file has other numbers for a layer that shares
/// a weight than for the layer whose weight it is. `weights` are those of the
/// plan.
llvm::Error checkTies(const Program &program, const CheckpointPlan &plan,
                      const TensorFile &file, WeightSource &weights);

/// A tensor on its way through the steps of a rule; without values where only
/// shapes are checked.
struct Piece {
  Shape shape;
  std::optional<HostTensor> values;
};

/// Runs the steps of `rule` on `pieces`, which `count` weights come out of.
/// With `wanted`, only that one is made; the others may stay empty. Fails with
/// a sentence that names the step.
llvm::Error applySteps(const RuleSpec &rule, const Program &program,
                       std::vector<Piece> &pieces, size_t count,
                       std::optional<size_t> wanted);

/// Whether `name` fits `pattern`, in which `{word}` stands for one part between
/// dots, the same each time. Fills `captures`, and respects what is there.
bool matchName(std::string_view pattern, std::string_view name,
               std::map<std::string, std::string> &captures);

/// `pattern` with its captures filled in.
std::string fillName(std::string_view pattern,
                     const std::map<std::string, std::string> &captures);

/// `pattern` as it is in a file of these names: a prefix in brackets at its
/// start, or several, stands there as far as a name begins so. A list of words
/// in brackets, `[weight|gamma]`, stays.
std::string withPrefixes(std::string_view pattern,
                         const std::map<std::string, TensorFile::Entry> &names);

} // namespace hova::frontend

#endif // HOVA_FRONTEND_WEIGHTS_CHECKPOINT_H
