//===- PlainRuns.cpp - What rounding does to neighbouring models ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/reference/PlainRuns.h"
#include "codegen/reference/Inputs.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace hova;

llvm::ArrayRef<PlainRunStep> hova::plainRunSteps() {
  static const PlainRunStep steps[] = {{4, 1e6}, {16, 16}, {64, 2}};
  return steps;
}

PlainRuns::PlainRuns(const VerifiedProgram &program,
                     const hova_program &description, WeightLookup weights,
                     llvm::ArrayRef<HostTensor> inputs,
                     const ReferenceRun &given, Storage storage)
    : program(program), description(description), weights(std::move(weights)),
      inputs(inputs), given(given), storage(storage),
      outputs(description.num_outputs), values(description.num_values) {}

llvm::Error PlainRuns::runNeighbour() {
  uint64_t seed = ++done * 7919;
  // Sums of equal terms stay such sums in every second neighbour.
  Moves moves = done % 2 ? Moves::Each : Moves::Alike;
  llvm::SmallVector<HostTensor> moved;
  for (auto [i, input] : llvm::enumerate(inputs)) {
    HostTensor neighbour =
        moveByUnits(input, seed + static_cast<uint64_t>(i), storage, moves);
    bool isNumber = neighbour.getElement() == HostTensor::Element::F32;
    moved.push_back(isNumber ? roundTo(neighbour, storage) : neighbour);
  }
  // The program rounds weights itself, where it stores them in fewer bits.
  ReferenceModel model(
      program, description, loadOnce([&](WeightOp op) -> FailureOr<HostTensor> {
        FailureOr<HostTensor> value = weights(op);
        if (failed(value)) {
          return failure();
        }
        return moveByUnits(*value, seed ^ llvm::xxh3_64bits(op.getName()),
                           storage, moves);
      }));
  if (llvm::Error error = model.foldWeights()) {
    return error;
  }
  auto want = model.run(Precision::Double, moved);
  auto plain = model.run(Precision::Single, moved);
  if (!want || !plain) {
    return llvm::joinErrors(want.takeError(), plain.takeError());
  }
  for (auto [i, error] : llvm::enumerate(outputs)) {
    error.addRun(plain->outputs[i], want->outputs[i]);
    error.addNeighbour(want->outputs[i], given.outputs[i]);
  }
  for (auto &[i, value] : want->values) {
    values[i].addRun(plain->values.at(i), value);
    values[i].addNeighbour(value, given.values.at(i));
  }
  return llvm::Error::success();
}

llvm::Error PlainRuns::reach(int64_t count) {
  while (done < count) {
    if (llvm::Error error = runNeighbour()) {
      return error;
    }
  }
  return llvm::Error::success();
}
