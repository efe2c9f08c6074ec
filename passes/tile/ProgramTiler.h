//===- ProgramTiler.h - Kernels as functions over buffers -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What `tile` does for every target: each value gets a buffer (input, output,
// arena or packed weights), each kernel structure one function, and `main`
// becomes a list of launches. What stands in a function, how it is launched,
// and where values between the stages of a kernel lie, is the target's.

#ifndef HOVA_PASSES_TILE_PROGRAMTILER_H
#define HOVA_PASSES_TILE_PROGRAMTILER_H

#include "mlir/IR/BuiltinOps.h"
#include "passes/tile/Arena.h"
#include "passes/tile/KernelStructure.h"

namespace hova {

/// How a target writes kernels. What a schedule says, what the arguments of a
/// function after its buffers are, and where values between stages lie, is
/// known to the target alone.
class KernelCode {
public:
  virtual ~KernelCode() = default;

  /// Whether the kernel has a schedule of this target, with all that its code
  /// needs. Errors are on the kernel. The other functions are called for such
  /// kernels only.
  virtual mlir::LogicalResult checkSchedule(KernelOp kernel) const = 0;
  /// Whether tiles of a stage that begins with `anchor` hold columns of both
  /// halves of its result, in the same places.
  virtual bool holdsHalves(mlir::Operation *anchor) const { return false; }
  /// Whether `op`, which joined a stage, has a column for several of its
  /// anchor's, such as their sum.
  virtual bool sumsColumns(mlir::Operation *op) const { return false; }
  /// Multiply-accumulates that the code of an operation of a kernel executes;
  /// what its loops skip is not among them.
  virtual int64_t getExecutedMacs(mlir::Operation *op) const = 0;
  /// The input whose memory a result may take where nothing reads the input
  /// afterwards: the kernel reads each element before it writes the one that
  /// stands there.
  virtual std::optional<unsigned> getOverwritable(KernelOp kernel,
                                                  unsigned result) const {
    return std::nullopt;
  }
  /// The values between stages of the kernel, in rows, that its launches bring
  /// buffers for. Where others lie is the function's business.
  virtual llvm::SmallVector<mlir::Value>
  getStageBuffers(KernelOp kernel) const {
    return {};
  }
  /// Makes these buffers in front of the launch of kernel `number`: operations
  /// without operands. `blocks` are all values in the arena, at their places.
  virtual llvm::SmallVector<mlir::Value>
  createStageBuffers(mlir::OpBuilder &builder, const KernelBuffers &buffers,
                     llvm::ArrayRef<ArenaBlock> blocks, int64_t number) const {
    return {};
  }
  /// The function of a kernel, whose first arguments are the buffers. What
  /// others it has is as the launch's shape wants it. Errors are on the
  /// operation that has no code.
  virtual mlir::FailureOr<mlir::func::FuncOp>
  emitFunction(mlir::OpBuilder &builder, llvm::StringRef name,
               const KernelBuffers &buffers) const = 0;
};

/// Rewrites the kernels of `@main`. Does nothing to a module without it, or
/// whose kernels are functions already.
llvm::LogicalResult tileProgram(mlir::ModuleOp module, const KernelCode &code);

} // namespace hova

#endif // HOVA_PASSES_TILE_PROGRAMTILER_H
