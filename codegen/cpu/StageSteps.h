//===- StageSteps.h - Stages that runs of few rows take alone ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A program of few rows divides the columns of its products among threads, and
// one for any number of rows the rows. Kernels of the latter therefore take one
// stage after the other where a run has few rows, each with all rows, and
// threads divide the strips of its product: it is the same code, between other
// limits (`hova_cpu.step_buffer`), and the same sums.

#ifndef HOVA_CODEGEN_CPU_STAGESTEPS_H
#define HOVA_CODEGEN_CPU_STAGESTEPS_H

#include "dialect/program/ProgramOps.h"
#include "llvm/ADT/SmallVector.h"

namespace hova {

/// What is said of a stage in the shape of a launch, in this order
/// (`hova_stage`, runtime/hova_runtime.h).
struct StageStep {
  int64_t strips = 0;    ///< of columns that threads may divide; 0: none
  int64_t leastRows = 0; ///< of a run that divides them
  int64_t part = 0;      ///< rows times strips of a part, at least
  int64_t grain = 1;     ///< rows of a part, at least, where rows are divided
  int64_t rowWork = 0;   ///< floating-point operations, with those of bytes
  int64_t fixedWork = 0; ///< of weights
  static constexpr size_t kNumbers = 6;
};

/// Those of the stages of a kernel, one after the other; empty where runs of no
/// number of rows divide columns of its products.
llvm::SmallVector<int64_t> stageStepsOf(KernelOp kernel);

} // namespace hova

#endif // HOVA_CODEGEN_CPU_STAGESTEPS_H
