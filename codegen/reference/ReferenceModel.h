//===- ReferenceModel.h - What a compiled model should compute ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Evaluates a program at both ends of the target-neutral phases: as it was
// imported, and as the kernels that code is generated from, with every value
// that the compiled program keeps between two of them.

#ifndef HOVA_CODEGEN_REFERENCE_REFERENCEMODEL_H
#define HOVA_CODEGEN_REFERENCE_REFERENCEMODEL_H

#include "codegen/reference/Evaluator.h"
#include "runtime/hova_runtime.h"
#include "llvm/Support/Error.h"
#include <map>

namespace hova {

/// The same program at both ends of the target-neutral phases.
struct VerifiedProgram {
  /// `main` after `import`.
  mlir::func::FuncOp imported;
  /// `main` whose evaluation in f32 is the plain run of the program's type: as
  /// imported, or with storage of 16 bits as it is after that was made explicit
  /// inside of compound operations too.
  mlir::func::FuncOp plain;
  /// `main` and the folding function after `assign`.
  mlir::func::FuncOp kernels;
  mlir::func::FuncOp foldingFunction;
  WeightLookup weights;
};

/// One evaluation.
struct ReferenceRun {
  /// Of the program as it was imported.
  llvm::SmallVector<HostTensor> outputs;
  /// Of the kernels, in the order of the outputs.
  llvm::SmallVector<HostTensor> kernelOutputs;
  /// Between kernels, by their index in `hova_program::values`.
  std::map<uint32_t, HostTensor> values;
};

class ReferenceModel {
public:
  /// `weights` takes the place of the program's own. Both references must
  /// outlive this.
  ReferenceModel(const VerifiedProgram &program,
                 const hova_program &description, WeightLookup weights)
      : program(program), description(description),
        evaluator(std::move(weights)) {}

  /// Comes before all runs.
  llvm::Error foldWeights();

  /// In float64, or the plain run of the program's type.
  llvm::Expected<ReferenceRun> run(Precision precision,
                                   llvm::ArrayRef<HostTensor> inputs);

  /// The number of the kernel that computes an output; -1: none does.
  int32_t kernelOfOutput(uint32_t output) const;

private:
  const VerifiedProgram &program;
  const hova_program &description;
  Evaluator evaluator;
};

/// `load` that asks for each weight once: they may be drawn or converted when
/// asked for, and a model is evaluated several times.
WeightLookup loadOnce(const WeightLookup &load);

} // namespace hova

#endif // HOVA_CODEGEN_REFERENCE_REFERENCEMODEL_H
