//===- BlockCycles.h - How long a block works, as a model -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A kernel of group operations says all that its blocks do: which tiles they
// multiply, what they copy, and how often. The model counts that in cycles of a
// multiprocessor, in parts that work side by side: tensor cores, instructions
// that are issued, special functions, shared memory, and what comes in from
// outside. Between two waits a block takes the longest of these, and a share of
// the others. docs/rationale/modelled-times.md compares it with measured times.

#ifndef HOVA_CODEGEN_CUDA_MODEL_BLOCKCYCLES_H
#define HOVA_CODEGEN_CUDA_MODEL_BLOCKCYCLES_H

#include "codegen/cuda/LaunchOps.h"
#include "codegen/cuda/facts/GpuFacts.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <array>

namespace hova {

/// Of a kernel of group operations, on average over the blocks along the first
/// axis of its grid. Nothing where a number of turns is not known while
/// compiling, as where a run has its own lengths.
std::optional<BlockCycles> modelBlock(mlir::func::FuncOp kernel,
                                      const std::array<int64_t, 3> &grid,
                                      const GpuFacts &gpu);

/// Microseconds of a launch behind its start, on the GPU that has cycles and
/// bytes of a time: those of the multiprocessor with most blocks, of which
/// `resident` are there at once, and no less than its `bytes` take.
double modelLaunch(const BlockCycles &cycles, int64_t blocks, int64_t resident,
                   int64_t threads, int64_t bytes, const GpuFacts &gpu);

} // namespace hova

#endif // HOVA_CODEGEN_CUDA_MODEL_BLOCKCYCLES_H
