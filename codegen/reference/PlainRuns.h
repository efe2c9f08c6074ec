//===- PlainRuns.h - What rounding does to neighbouring models ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The error of a plain run is a draw: where one sum of one row makes the
// largest error, the roundings after it may just cancel. More draws come from
// plain runs of neighbouring models, whose weights and inputs differ by at most
// four units in the last place from those given, each against its own
// evaluation in float64.
//
// A sum of m equal terms is rounded the same way again and again: its error is
// up to m/4 units, where that of different terms is about the root of m. So in
// every second neighbour numbers that are equal are moved alike.

#ifndef HOVA_CODEGEN_REFERENCE_PLAINRUNS_H
#define HOVA_CODEGEN_REFERENCE_PLAINRUNS_H

#include "codegen/reference/Compare.h"
#include "codegen/reference/ReferenceModel.h"

namespace hova {

/// A number of neighbours, run for values whose error is over their bound, but
/// at most `mostExcess` times: the others are wrong whatever more runs say.
struct PlainRunStep {
  int64_t neighbours;
  double mostExcess;
};
llvm::ArrayRef<PlainRunStep> plainRunSteps();

class PlainRuns {
public:
  /// `weights` are the model's, and `given` is its own run in float64. All
  /// references must outlive this.
  PlainRuns(const VerifiedProgram &program, const hova_program &description,
            WeightLookup weights, llvm::ArrayRef<HostTensor> inputs,
            const ReferenceRun &given, Storage storage);

  /// Runs neighbours until there have been `count`.
  llvm::Error reach(int64_t count);

  /// The worst of all runs so far.
  const PlainError &ofOutput(uint32_t index) const { return outputs[index]; }
  const PlainError &ofValue(uint32_t index) const { return values[index]; }

private:
  llvm::Error runNeighbour();

  const VerifiedProgram &program;
  const hova_program &description;
  WeightLookup weights;
  llvm::ArrayRef<HostTensor> inputs;
  const ReferenceRun &given;
  Storage storage;
  int64_t done = 0;
  /// By their index in the program.
  llvm::SmallVector<PlainError> outputs, values;
};

} // namespace hova

#endif // HOVA_CODEGEN_REFERENCE_PLAINRUNS_H
