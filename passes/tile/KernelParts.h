//===- KernelParts.h - What the time of a kernel is divided by ------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_PASSES_TILE_KERNELPARTS_H
#define HOVA_PASSES_TILE_KERNELPARTS_H

#include "passes/tile/ProgramTiler.h"

namespace hova {

/// Floating-point operations that a kernel executes.
int64_t countFlops(const KernelCode &code, const KernelBuffers &buffers);

/// What every stage of every kernel computes, as `hova.parts` of `main`: an
/// entry for each path in a stage, with the floating-point operations that are
/// executed for it (twice the multiply-accumulates) and the bytes that its
/// operations compute.
mlir::ArrayAttr describeParts(mlir::Builder &builder, const KernelCode &code,
                              llvm::ArrayRef<KernelBuffers> kernels);

/// The index of each kernel.
llvm::DenseMap<mlir::Operation *, int64_t>
numberKernels(llvm::ArrayRef<KernelBuffers> kernels);

/// The index of the last kernel that reads a result of kernel `number`, through
/// what is assembled of it too; `number` where none does. `numberOf` has the
/// index of each kernel.
int64_t
lastReaderOf(mlir::Value result, int64_t number,
             const llvm::DenseMap<mlir::Operation *, int64_t> &numberOf);

} // namespace hova

#endif // HOVA_PASSES_TILE_KERNELPARTS_H
