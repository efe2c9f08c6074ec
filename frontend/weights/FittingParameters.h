//===- FittingParameters.h - Which variant a checkpoint is of ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_FRONTEND_WEIGHTS_FITTINGPARAMETERS_H
#define HOVA_FRONTEND_WEIGHTS_FITTINGPARAMETERS_H

#include "frontend/weights/Checkpoint.h"

namespace hova::frontend {

/// What is tried, and how far: so much that every part that a model may do
/// without, and a few other sizes, are found, and so little that nobody waits.
struct FittingLimits {
  /// Parameters that are changed together, heads and what only two mend apart.
  static constexpr size_t steps = 6;
  static constexpr size_t numbers = 32;
  /// Numbers that are made of those of the file.
  static constexpr size_t derived = 48;
  /// Sides of patches.
  static constexpr int64_t patch = 64;
  /// Of one attention.
  static constexpr int64_t heads = 65536;
  /// Values of a parameter that leave all as it is: no other will be tried.
  static constexpr size_t idle = 2;
  /// Of all programs that are tried: their values, the names of the file for
  /// each, and an eighth of the pairs of weights and rules.
  static constexpr size_t cost = 400000;
  /// Of one program.
  static constexpr int64_t units = maxUnits / 8;
};

/// A value of a parameter with which a file would fit.
struct FittingParameter {
  std::string name, value;
  /// What was given for it; empty: nothing.
  std::string given;
};

struct FittingParameters {
  std::vector<FittingParameter> values;
  /// Parameters that count heads, with their values, where the heads divide
  /// another width than before: no tensor says how many there are.
  std::vector<FittingParameter> heads;
  /// Those of `values` that no tensor says, and that are at most this.
  std::vector<FittingParameter> bounds;
};

/// Values of parameters with which `file` would fit `source` (null: the names
/// of the description): a file may be of another variant, without a head or
/// with another vocabulary. `given`, what the program has been made with,
/// stays, unless that must change for anything to fit. `plan` is that of the
/// program, which does not fit. Empty if nothing was found.
FittingParameters
findFittingParameters(const ModelSpec &spec,
                      const std::vector<ParameterOverride> &given,
                      const CheckpointSpec *source, const TensorFile &file,
                      const Program &program, const CheckpointPlan &plan);

} // namespace hova::frontend

#endif // HOVA_FRONTEND_WEIGHTS_FITTINGPARAMETERS_H
