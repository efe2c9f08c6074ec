//===- WeightLayouts.h - Which weights have panels ------------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_CPU_SCHEDULE_WEIGHTLAYOUTS_H
#define HOVA_CODEGEN_CPU_SCHEDULE_WEIGHTLAYOUTS_H

#include "dialect/program/ProgramOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace hova {

struct CpuFacts;

/// Gives panels to the image weights that kernels read in panels, but for those
/// that have a layout.
void assignCpuWeightLayouts(mlir::func::FuncOp main, const CpuFacts &facts);

/// Whether the layouts are those that the kernels read. A dump may have others.
llvm::LogicalResult verifyCpuWeightLayouts(mlir::func::FuncOp main);

} // namespace hova

#endif // HOVA_CODEGEN_CPU_SCHEDULE_WEIGHTLAYOUTS_H
