//===- CapturedTables.h - Tables that scores read ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_CUDA_SCHEDULE_CAPTUREDTABLES_H
#define HOVA_CODEGEN_CUDA_SCHEDULE_CAPTUREDTABLES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace hova {

/// Lengthens rows of weights that attentions alone read, for their scores, to
/// whole sectors of memory, by zeros that no score reads: a bias of 49 keys has
/// rows of 56. A warp reads eight keys of eight queries at once, two a thread.
void alignCapturedTables(mlir::func::FuncOp main);

} // namespace hova

#endif // HOVA_CODEGEN_CUDA_SCHEDULE_CAPTUREDTABLES_H
