//===- ProgramTiler.h - Kernels as functions over buffers -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What `tile` does for every target: each value gets a buffer (input, output,
// arena, weight image or share of a thread), each kernel structure one
// function, and `main` becomes a list of launches. What stands in a function is
// the target's.

#ifndef HOVA_PASSES_TILE_PROGRAMTILER_H
#define HOVA_PASSES_TILE_PROGRAMTILER_H

#include "mlir/IR/BuiltinOps.h"
#include "passes/tile/KernelStructure.h"

namespace hova {

/// How a target writes kernels.
class KernelCode {
public:
  virtual ~KernelCode() = default;

  /// Bytes of scratch that each thread of the kernel needs.
  virtual int64_t getScratchBytes(KernelOp kernel,
                                  const Schedule &schedule) const = 0;
  /// Multiply-accumulates that a kernel executes for one of its operations;
  /// what its loops skip is not among them.
  virtual int64_t getExecutedMacs(mlir::Operation *op,
                                  const Schedule &schedule) const = 0;
  /// What the first units of the kernel cost, and as many behind them, and so
  /// on; empty where they are alike.
  virtual llvm::SmallVector<int64_t>
  getUnitCosts(KernelOp kernel, const Schedule &schedule) const = 0;
  /// The input whose memory a result may take where nothing reads the input
  /// afterwards: the kernel reads each element before it writes the one that
  /// stands there.
  virtual std::optional<unsigned> getOverwritable(KernelOp kernel,
                                                  unsigned result) const = 0;
  /// The function of a kernel, whose arguments are the buffers, scratch, the
  /// first unit and the end of the units. What passes between its stages in
  /// another layout than rows is in its scratch. Errors are on the operation
  /// that has no code.
  virtual mlir::FailureOr<mlir::func::FuncOp>
  emitFunction(mlir::OpBuilder &builder, llvm::StringRef name,
               const KernelBuffers &buffers) const = 0;
};

/// Rewrites the kernels of `@main`. Does nothing to a module without it, or
/// whose kernels are functions already.
llvm::LogicalResult tileProgram(mlir::ModuleOp module, const KernelCode &code);

} // namespace hova

#endif // HOVA_PASSES_TILE_PROGRAMTILER_H
