//===- KernelStructure.h - What `tile` asks of a kernel -------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_PASSES_TILE_KERNELSTRUCTURE_H
#define HOVA_PASSES_TILE_KERNELSTRUCTURE_H

#include "dialect/dense/DenseOps.h"
#include "dialect/program/ProgramOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace hova {

/// A kernel and the buffers of its function: inputs, results, and those values
/// between its stages that the target wants to have buffers.
struct KernelBuffers {
  KernelOp kernel;
  llvm::SmallVector<mlir::Value>
      values; ///< of the region; yielded ones for results
  llvm::SmallVector<mlir::MemRefType> types;
  /// Positions in `values` of results that have the memory of an input, and of
  /// those inputs.
  llvm::SmallVector<unsigned> overwritten;
  LaunchShapeAttrInterface shape; ///< of its launch
  int64_t flops = 0;

  /// How many of `values` are inputs and results; the others stand after.
  size_t countArguments() const;
};

/// The layout of a value that a stage of a kernel hands on.
LayoutAttr layoutOf(mlir::Value value);

/// Type of the buffer that holds `tensor`: a matrix of all but the last axis by
/// the last, with `rowStride` elements between rows (0: dense).
mlir::MemRefType bufferType(mlir::RankedTensorType tensor, int64_t rowStride);

/// Bytes of a buffer, up to where a row after its last one would begin.
int64_t bytesOf(mlir::MemRefType type);

/// Whether the kernel reads its input `index` once and nothing reads it after
/// the kernel.
bool isLastReader(KernelOp kernel, unsigned index);

/// Columns of a strip of a product's weight; nothing where it has no strips.
std::optional<int64_t> columnStripOf(LinearOp product);

/// Where a value of the program or of a kernel comes from. Its path names the
/// buffer in dumps; what a kernel yields is named by who computes it.
mlir::Location originOf(mlir::Value value);

/// Names the first arguments of a function by the values they are buffers of.
void nameBuffers(mlir::Block &entry, llvm::ArrayRef<mlir::Value> values);

/// Dumps call the induction variable by what the loop runs over.
void nameLoop(mlir::scf::ForOp loop, llvm::StringRef name);

/// Two kernels with equal keys are the same code: what their schedules say of
/// it, operations, attributes, types and who reads whom, but not names, places
/// or verdicts.
std::string structureOf(const KernelBuffers &buffers);

} // namespace hova

#endif // HOVA_PASSES_TILE_KERNELSTRUCTURE_H
